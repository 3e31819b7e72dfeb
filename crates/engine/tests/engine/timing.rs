//! A timed run is the run that a check makes: the same lines, the same findings.

use finishline_engine::depth_first::End;
use finishline_engine::executor::{Executor, Forms};
use finishline_engine::question::Question;
use finishline_engine::timing::{self, NotReady};
use finishline_ir::Module;
use finishline_ir::machine::Limits;
use finishline_model::Detector;
use finishline_model::Passes;
use std::sync::atomic::AtomicU64;

fn module(source: &str) -> Module {
    match finishline_fin::compile("timed.fin", source.as_bytes()) {
        Ok(program) => program.module,
        Err(errors) => panic!("{}", errors.render(false)),
    }
}

fn question(module: &Module) -> Question<'_> {
    Question {
        module,
        forms: Forms::new(module, Executor::Compiled, Passes::SEQUENTIAL),
        words: Vec::new(),
        arguments: Vec::new(),
        limits: Limits::default(),
        max_races: 0,
        suppressions: None,
        watch: None,
        schedule: None,
        progress: AtomicU64::new(0),
    }
}

/// Three tasks, two of which write A[0]; A[1] is written by one.
const RACY: &str = "
fn main() {
    let A = new int[2];
    finish {
        async { A[0] = 1; }
        async { A[0] = 2; }
        async { A[1] = 3; }
    }
    print(A[0], A[1]);
}
";

#[test]
fn without_a_detector_nothing_is_found() {
    let module = module(RACY);
    let question = question(&module);
    let ready = timing::prepare(&question, None).expect("it compiles");
    let mut printed = Vec::new();
    let ran = ready.run(&mut printed);
    assert!(matches!(ran.end, End::Finished), "{:?}", ran.end);
    assert!(ran.findings.is_none());
    assert_eq!(printed, b"2 3\n");
}

#[test]
fn a_detector_finds_what_it_finds_in_a_check() {
    let module = module(RACY);
    let question = question(&module);
    let ready = timing::prepare(&question, Some(Detector::EspBags)).expect("it compiles");
    let mut printed = Vec::new();
    let ran = ready.run(&mut printed);
    assert_eq!(printed, b"2 3\n");
    let findings = ran.findings.expect("a detector").expect("it can judge");
    assert_eq!(findings.racing.len(), 1);
    // The tasks and `main`.
    assert_eq!(findings.statistics.tasks, 4);
    // Those of `main` after the finish need no check.
    assert_eq!(findings.statistics.accesses, 3);
}

#[test]
fn a_failure_is_told() {
    let module = module("fn main() { let A = new int[1]; A[1] = 0; }");
    let question = question(&module);
    let ready = timing::prepare(&question, None).expect("it compiles");
    let ran = ready.run(&mut Vec::new());
    assert!(matches!(ran.end, End::Trapped(_)), "{:?}", ran.end);
}

#[test]
fn the_oracle_can_not_be_timed() {
    let module = module(RACY);
    let question = question(&module);
    let refused = timing::prepare(&question, Some(Detector::Oracle));
    let Err(why) = refused else {
        panic!("the oracle has no compiled form");
    };
    assert!(matches!(why, NotReady::Detector(Detector::Oracle)));
    assert!(why.to_string().contains("oracle"));
}
