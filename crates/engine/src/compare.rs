//! Asks every detector and the oracle the same question. If they disagree, one of them has a bug.
//!
//! Every detector is compared with the oracle in three respects:
//! - the set of racing locations, by the structure of tasks;
//! - whether parallel isolated or locked blocks conflict;
//! - the locations with a race that is not only apparent, by the observed order of isolated and
//!   locked blocks.

use crate::check::unsupported;
use crate::executor::uses;
use crate::question::{Again, CheckError, Question, Subject};
use crate::rerun::Rerun;
use finishline_detect::detectors::{ORACLE_STEPS, runs_on_threads};
use finishline_detect::lock_chains::LockChains;
use finishline_detect::oracle::{Mode, Oracle};
use finishline_detect::{Failure, Findings, second_pass};
use finishline_ir::ConstructUse;
use finishline_ir::listener::EventsAlone;
use finishline_model::{Detector, Location};
use std::collections::BTreeSet;

/// The answer of one detector.
#[derive(Debug)]
pub enum Said {
    /// The number of racing locations.
    Racing(usize),
    /// The detector has no rule for this construct.
    NotApplicable(ConstructUse),
    GaveUp(Failure),
}

#[derive(Debug)]
pub struct Comparison {
    pub answers: Vec<(Detector, Said)>,
    /// One sentence each. Empty if all agree.
    pub disagreements: Vec<String>,
    /// Whether the oracle could judge. If not, the detectors were not compared with it.
    pub judged: bool,
}

/// Asks every detector. The program's output is dropped.
pub fn compare(question: &Question) -> Result<Comparison, CheckError> {
    compare_any(question)
}

/// The same of a program or of a recorded run.
pub(crate) fn compare_any<'m>(subject: &impl Subject<'m>) -> Result<Comparison, CheckError> {
    let mut oracle = Oracle::new(ORACLE_STEPS);
    let ending = subject.again(&mut EventsAlone(LockChains(&mut oracle)));
    let mut comparison = Comparison {
        answers: Vec::new(),
        disagreements: Vec::new(),
        judged: !oracle.gave_up(),
    };
    for detector in Detector::ALL {
        let said = match (detector, unsupported(detector, subject.module())) {
            (_, Some(used)) => Said::NotApplicable(used),
            (Detector::Oracle, None) if comparison.judged => {
                Said::Racing(oracle.racing_locations(Mode::Structure).len())
            }
            (_, None) => match subject.judge(detector)? {
                (did, Ok(findings)) => {
                    // A run that ran out of the system's memory is a different run.
                    comparison.judged &= did == ending;
                    if comparison.judged {
                        comparison.judge(subject, detector, &findings, &oracle);
                    }
                    Said::Racing(findings.racing.len())
                }
                (_, Err(failure)) => Said::GaveUp(failure),
            },
        };
        comparison.answers.push((detector, said));
    }
    Ok(comparison)
}

impl Comparison {
    fn judge<'m>(
        &mut self,
        subject: &impl Subject<'m>,
        detector: Detector,
        findings: &Findings,
        oracle: &Oracle,
    ) {
        let found: BTreeSet<Location> = findings.racing.in_order().iter().copied().collect();
        let mut expected = oracle.racing_locations(Mode::Structure);
        let used = uses(subject.module());
        let has_exclusive = used.isolated || used.locks;
        if has_exclusive && detector.orders_by_locks() {
            // It may miss races, and must not invent any.
            expected.retain(|location| found.contains(location));
        }
        if let Some(first) = found.symmetric_difference(&expected).next() {
            let mut objects = Rerun::new(subject.module(), &[*first], None);
            subject.again(&mut objects);
            let (says, denies) = match found.contains(first) {
                true => (detector.name(), "the oracle"),
                false => ("the oracle", detector.name()),
            };
            self.disagreements.push(format!(
                "{detector} finds {}, the oracle {}: by {says} {} races, by {denies} not",
                racing_locations(found.len()),
                expected.len(),
                objects.names.location(*first),
            ));
        }
        // Without isolated and locked blocks there is nothing more to compare, and SP-bags has no
        // rule for them.
        if !has_exclusive || detector.orders_by_locks() {
            return;
        }
        let conflict = findings.isolated_conflict || findings.overlap;
        // Where there is a race, detectors of parallel runs forget what else may conflict.
        let forgets = runs_on_threads(detector) && !found.is_empty();
        if conflict == oracle.overlapping_locations().is_empty() && !forgets {
            let says = match conflict {
                true => "conflict",
                false => "do not conflict",
            };
            self.disagreements.push(format!(
                "{detector} says that isolated or locked blocks {says}, the oracle the opposite"
            ));
        }
        if findings.lock_cycle != oracle.locks_form_a_cycle() {
            self.disagreements.push(format!(
                "{detector} and the oracle disagree whether locks are taken in a cycle"
            ));
        }
        let again = Again::new(subject, ());
        match second_pass(detector, used, &findings.racing, again) {
            Err(failure) => self
                .disagreements
                .push(format!("{detector} failed in its second pass: {failure}")),
            Ok((_, pairs)) => {
                let real = pairs
                    .as_slice()
                    .iter()
                    .filter(|pair| !pair.race.ordered_by_isolation);
                let found: BTreeSet<Location> = real
                    .flat_map(|pair| pair.locations.iter().copied())
                    .collect();
                let expected = oracle.racing_locations(Mode::Observed);
                if found != expected {
                    self.disagreements.push(format!(
                        "in the observed order of isolated and locked blocks {detector} finds {}, the oracle {}",
                        racing_locations(found.len()),
                        expected.len()
                    ));
                }
            }
        }
    }
}

/// `3 racing locations`.
pub fn racing_locations(count: usize) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} racing location{plural}")
}
