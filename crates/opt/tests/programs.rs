//! Every program of `programs/` that compiles: the same events, output and failures after [`finishline_opt::for_speed`], and after
//! [`finishline_opt::sequential`] the same but for the accesses whose checks went. Also with the two in a row, either way around.

mod common;

use common::suite::{load, programs};
use common::{run, same};
use finishline_ir::Module;
use finishline_ir::machine::{Datum, Limits};
use finishline_ir::verify::verify;
use finishline_model::Passes;
use finishline_model::event::Record;
use finishline_opt::{for_speed, reduce};
use std::path::Path;

/// Steps after which a program is given up: the failures of deep recursion and of memory are met before.
const FUEL: u64 = 4_000_000;

#[test]
fn every_program_runs_as_before() {
    let limits = Limits {
        memory: 1 << 28,
        ..Limits::default()
    };
    let mut compared = 0;
    for path in programs() {
        let Some((module, arguments)) = load(&path) else {
            continue;
        };
        match same(
            &module,
            &for_speed(&module, Passes::NONE),
            &arguments,
            limits,
            FUEL,
        ) {
            Ok(runs) => compared += usize::from(runs.is_some()),
            Err(error) => panic!("{}: {error}", path.display()),
        }
        let without = reduce(&module, Passes::SEQUENTIAL);
        if let Err(error) = same(
            &without,
            &for_speed(&without, Passes::NONE),
            &arguments,
            limits,
            FUEL,
        ) {
            panic!("{} without sequential checks: {error}", path.display());
        }
        for after in [
            without,
            reduce(&for_speed(&module, Passes::NONE), Passes::SEQUENTIAL),
        ] {
            verify(&after).unwrap_or_else(|v| panic!("{}: {}", path.display(), v[0]));
            fewer_accesses(&module, &after, &arguments, limits, &path);
        }
    }
    assert!(compared > 100, "only {compared} programs were run");
}

/// The same run, in which some of the accesses that have no check somewhere are not told.
fn fewer_accesses(
    before: &Module,
    after: &Module,
    arguments: &[Datum],
    limits: Limits,
    path: &Path,
) {
    let expected = run(before, arguments, limits, FUEL);
    if expected.end.is_none() {
        return;
    }
    let found = run(after, arguments, limits, 8 * FUEL);
    assert_eq!(expected.end, found.end, "{}", path.display());
    assert_eq!(expected.output, found.output, "{}", path.display());
    let mut told = found.records.iter().peekable();
    for record in &expected.records {
        let untold = told.next_if_eq(&record).is_none();
        let may_go =
            matches!(record, Record::Access(access) if after.unchecked.contains_key(&access.id));
        assert!(!untold || may_go, "{}: no {record:?}", path.display());
    }
    assert_eq!(told.next(), None, "{}", path.display());
}
