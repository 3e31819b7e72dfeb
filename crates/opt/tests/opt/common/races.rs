//! What a detector finds in two recorded runs of a program, with and without some of its checks.

use super::{Run, run, takes_turns};
use finishline_detect::any_order::AnyOrder;
use finishline_detect::history::{History, Isolated, LastWriterOneReader};
use finishline_detect::order::{EspBags, Labelled};
use finishline_detect::serial::Serial;
use finishline_ir::machine::{Datum, Limits};
use finishline_ir::verify::verify;
use finishline_ir::{Construct, Module};
use finishline_model::event::{Record, replay};
use finishline_model::{Location, Observer, Passes};
use finishline_opt::reduce;
use std::collections::BTreeSet;

/// Racing locations, by the detector that fits.
pub(crate) fn racing(module: &Module, records: &[Record]) -> BTreeSet<Location> {
    fn found<H: History>(records: &[Record]) -> BTreeSet<Location>
    where
        Serial<EspBags, H>: Observer,
    {
        let mut detector = Serial::<EspBags, H>::new().expect("memory for a detector");
        replay(records, &mut detector);
        detector.racing().in_order().iter().copied().collect()
    }
    if takes_turns(module) {
        let mut detector = AnyOrder::<Labelled>::new().expect("memory for a detector");
        replay(records, &mut detector);
        let findings = detector.finish().expect("a verdict");
        findings.racing.in_order().iter().copied().collect()
    } else if module.uses(Construct::Isolated).is_some() {
        found::<Isolated>(records)
    } else {
        found::<LastWriterOneReader>(records)
    }
}

fn structure(records: &[Record]) -> Vec<&Record> {
    let is_event = |record: &&Record| matches!(record, Record::Event(_));
    records.iter().filter(is_event).collect()
}

/// A recorded run with every check, and what the detector finds in it.
pub(crate) struct Checked<'a> {
    module: &'a Module,
    arguments: &'a [Datum],
    limits: Limits,
    run: Run,
    racing: BTreeSet<Location>,
}

/// Far more than a random program executes; a longer run is not looked at.
const FUEL: u64 = 4_000_000;

impl<'a> Checked<'a> {
    pub(crate) fn new(module: &'a Module, arguments: &'a [Datum], limits: Limits) -> Self {
        let run = run(module, arguments, limits, FUEL);
        Checked {
            racing: racing(module, &run.records),
            module,
            arguments,
            limits,
            run,
        }
    }

    pub(crate) fn races(&self) -> bool {
        !self.racing.is_empty()
    }

    /// That nothing changes if some passes leave out checks, but how many there are: how many are
    /// left out.
    pub(crate) fn without(&self, passes: Passes) -> Result<usize, String> {
        let after = reduce(self.module, passes);
        verify(&after).map_err(|violations| format!("{passes}: {}", violations[0]))?;
        if self.run.end.is_none() {
            return Ok(0);
        }
        let (expected, found) = (&self.run, run(&after, self.arguments, self.limits, FUEL));
        if (&expected.output, &expected.end) != (&found.output, &found.end) {
            return Err(format!("{passes}: the run ends otherwise"));
        }
        if structure(&expected.records) != structure(&found.records) {
            return Err(format!("{passes}: other events"));
        }
        let racing = racing(&after, &found.records);
        if racing != self.racing {
            return Err(format!("{passes}: {racing:?} race, not {:?}", self.racing));
        }
        Ok(expected.records.len() - found.records.len())
    }
}
