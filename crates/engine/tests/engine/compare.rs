//! What is said when a detector and the oracle disagree. A set of accesses that are wrongly called
//! harmless makes a detector miss races.

use crate::common::compile;
use finishline_engine::compare::{Said, compare};
use finishline_engine::executor::{Executor, Forms};
use finishline_engine::question::Question;
use finishline_ir::Module;
use finishline_ir::machine::Limits;
use finishline_model::{AccessId, Detector, Passes};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;

/// `x` races at one place, `B[1]` and `B[2]` at another.
const RACY: &str = "var x: int;
fn main() {
    let B = new int[4];
    finish {
        async { x = 1; }
        x = 2;
        async { B[1] = 1; B[2] = 1; }
        B[1] = 2; B[2] = 2;
    }
}";

fn asked<'m>(module: &'m Module, harmless: BTreeSet<AccessId>) -> Question<'m> {
    Question {
        module,
        forms: Forms::new(module, Executor::Compiled, Passes::ALL).with_harmless(harmless),
        words: Vec::new(),
        arguments: Vec::new(),
        limits: Limits::default(),
        max_races: usize::MAX,
        suppressions: None,
        watch: None,
        schedule: None,
        progress: AtomicU64::new(0),
    }
}

#[test]
fn a_disagreement_names_the_location() {
    let module = compile(RACY).expect("a program");
    let of_elements = |id: &AccessId| {
        let place = module.source.access(*id).place;
        module.source.snippet(place).starts_with('B')
    };
    let all = (0..module.source.accesses.len()).map(AccessId::from_index);
    let comparison = compare(&asked(&module, all.filter(of_elements).collect()));
    let comparison = comparison.expect("an answer");
    assert_eq!(
        comparison.disagreements,
        [
            "esp-bags finds 1 racing location, the oracle 3: by the oracle B[1] races, by esp-bags not",
            "drdp finds 1 racing location, the oracle 3: by the oracle B[1] races, by drdp not",
            "spd3 finds 1 racing location, the oracle 3: by the oracle B[1] races, by spd3 not",
            "ptracer finds 1 racing location, the oracle 3: by the oracle B[1] races, by ptracer not",
            "c-racer finds 1 racing location, the oracle 3: by the oracle B[1] races, by c-racer not",
            "fasttrack finds 1 racing location, the oracle 3: by the oracle B[1] races, by fasttrack not",
            "fastracer finds 1 racing location, the oracle 3: by the oracle B[1] races, by fastracer not",
            "finishline finds 1 racing location, the oracle 3: by the oracle B[1] races, by finishline not",
        ]
    );
    let said = |detector| {
        let mut answers = comparison.answers.iter();
        answers.find_map(|(of, said)| (*of == detector).then_some(said))
    };
    assert!(matches!(said(Detector::EspBags), Some(Said::Racing(1))));
    assert!(matches!(said(Detector::Oracle), Some(Said::Racing(3))));
}

#[test]
fn without_wrong_proofs_they_agree() {
    let module = compile(RACY).expect("a program");
    let comparison = compare(&asked(&module, BTreeSet::new())).expect("an answer");
    assert!(comparison.judged);
    assert_eq!(comparison.disagreements, [""; 0]);
}
