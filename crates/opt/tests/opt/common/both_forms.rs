//! Whether a program without some of its checks shows the same races.

use super::harmless::harmless;
use super::{Run, asking_for_null, run, takes_turns};
use finishline_detect::Findings;
use finishline_detect::detectors::{self, Uses};
use finishline_ir::machine::Limits;
use finishline_ir::verify::verify;
use finishline_ir::{Construct, Module};
use finishline_model::event::Record;
use finishline_model::{Detector, Location, Pass, Passes};
use finishline_opt::{HOLD_IN_FAILED_RUNS, for_speed, reduce, without_proved};
use std::collections::BTreeSet;

/// The racing locations, and whether isolated or locked blocks conflict.
fn found(module: &Module, records: &[Record]) -> (BTreeSet<Location>, bool) {
    let uses = Uses {
        isolated: module.uses(Construct::Isolated).is_some(),
        promises: takes_turns(module),
        locks: module.uses(Construct::Lock).is_some(),
    };
    let detector = match uses.turns() {
        true => Detector::Finishline,
        false => Detector::EspBags,
    };
    let ((), findings): ((), Findings) =
        detectors::first_pass(detector, uses, records).expect("a verdict");
    let racing = findings.racing.in_order().iter().copied().collect();
    (racing, findings.isolated_conflict || findings.overlap)
}

/// How many locations race; none if the fuel is used up.
pub(crate) fn racing(module: &Module, fuel: u64) -> Option<usize> {
    let run = run(module, &[], Limits::default(), fuel);
    run.end.as_ref()?;
    Some(found(module, &run.records).0.len())
}

fn structure(records: &[Record]) -> Vec<&Record> {
    let is_event = |record: &&Record| matches!(record, Record::Event(_));
    records.iter().filter(is_event).collect()
}

fn accesses(records: &[Record]) -> usize {
    records.len() - structure(records).len()
}

/// Both ways to leave checks out must give the same races as all checks, in a run that does the
/// same. If the program fails, those passes are made that hold then, as the engine does. What is
/// proved is what the oracle says, or a part of it. One that uses up the fuel is given up. How many
/// checks fewer are made, in the form that is interpreted.
pub(crate) fn same(module: &Module, passes: Passes, fuel: u64) -> Result<usize, String> {
    let limits = Limits::default();
    let expected = run(module, &[], limits, fuel);
    let Some(end) = &expected.end else {
        return Ok(0);
    };
    let harmless = match passes.contains(Pass::Proved) {
        true => harmless(module, &expected.records),
        false => BTreeSet::new(),
    };
    let unproved = without_proved(module, &harmless);
    let mut spared = 0;
    for (form, make) in [
        ("reduce", reduce as fn(&Module, Passes) -> Module),
        ("for_speed", for_speed),
    ] {
        let after = make(&unproved, passes);
        let run_of = |after: &Module| -> Result<Run, String> {
            let told = |what: &str| format!("{form} with {passes}: {what}");
            verify(after).map_err(|violations| told(&format!("{}\n{after}", violations[0])))?;
            let found = run(&asking_for_null(after), &[], limits, 8 * fuel);
            if (&expected.output, &expected.end) != (&found.output, &found.end) {
                let ends = format!("ends with {:?}, not {:?}", found.end, expected.end);
                return Err(told(&ends));
            }
            if structure(&expected.records) != structure(&found.records) {
                return Err(told("other events"));
            }
            Ok(found)
        };
        let mut ran = run_of(&after)?;
        if end.is_err() {
            ran = run_of(&make(&unproved, passes.intersection(HOLD_IN_FAILED_RUNS)))?;
        }
        let (with, without) = (
            found(module, &expected.records),
            found(module, &ran.records),
        );
        if with != without {
            return Err(format!(
                "{form} with {passes}: {without:?} race, not {with:?}\n{after}"
            ));
        }
        if form == "reduce" {
            spared = accesses(&expected.records).saturating_sub(accesses(&ran.records));
        }
    }
    Ok(spared)
}
