//! Every program of `programs/` that compiles: [`for_speed`] leaves the same events, output and
//! failures. [`reduce`] leaves the same but for the accesses without a check. Also with the two in
//! a row, in both orders. And the text of each form is read back.

use crate::common::round_trip::round_trip;
use crate::common::suite::{load, programs};
use crate::common::{run, same};
use finishline_ir::Module;
use finishline_ir::machine::{Datum, Limits};
use finishline_ir::verify::verify;
use finishline_model::event::Record;
use finishline_model::{Pass, Passes};
use finishline_opt::{for_speed, reduce};
use std::path::Path;

/// A program is given up after this number of steps. Deep recursion and want of memory fail before.
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

/// The lowered module, and what each pass and all passes together make of it.
#[test]
fn every_form_of_every_program_is_read_back() {
    let mut read = 0;
    for path in programs() {
        let Some((module, _)) = load(&path) else {
            continue;
        };
        let single = Pass::ALL.map(|pass| reduce(&module, Passes::NONE.with(pass)));
        let all = reduce(&module, Passes::ALL);
        let fast = [
            for_speed(&module, Passes::NONE),
            for_speed(&module, Passes::ALL),
        ];
        for form in [&module, &all].into_iter().chain(&single).chain(&fast) {
            round_trip(form).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            read += 1;
        }
    }
    assert!(read > 1000, "only {read} modules were read");
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
