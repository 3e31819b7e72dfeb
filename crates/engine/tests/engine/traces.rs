//! A recorded run has the answer that a check of the program has, by every detector. A trace that
//! was cut off claims nothing that the whole one does not, and one that was changed is refused or
//! judged, but never breaks the analysis.

use crate::common::{compile, takes_turns};
use crate::damage::{Random, Taken};
use finishline_answer::{About, Answer, Verdict};
use finishline_engine::check::{check, unsupported};
use finishline_engine::executor::{Executor, Forms, on_threads};
use finishline_engine::question::Question;
use finishline_engine::record::record;
use finishline_engine::recorded::{AnalyzeError, Asked, analyze, compare};
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::{Program, Settings, program, render, shrink};
use finishline_ir::Module;
use finishline_ir::machine::Limits;
use finishline_model::{Construct, Detector, Passes};
use finishline_trace::Trace;
use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::sync::atomic::AtomicU64;

const PROGRAMS: u64 = 200;
const FIRST_SEED: u64 = 1;

fn question(module: &Module, executor: Executor) -> Question<'_> {
    Question {
        module,
        forms: Forms::new(module, executor, Passes::UNPROVED),
        words: Vec::new(),
        arguments: Vec::new(),
        limits: Limits::default(),
        max_races: 50,
        suppressions: None,
        watch: None,
        schedule: None,
        progress: AtomicU64::new(0),
    }
}

/// The bytes of a trace.
fn traced(question: &Question) -> Vec<u8> {
    let mut file: File = tempfile::tempfile().expect("a file");
    record(question, &file, &mut std::io::sink()).expect("a trace");
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).expect("a file");
    file.read_to_end(&mut bytes).expect("a file");
    bytes
}

fn analyzed(bytes: &[u8], detector: Option<Detector>) -> Result<Answer, AnalyzeError> {
    let asked = Asked {
        detector,
        max_races: 50,
        suppressions: None,
        judged: None,
        progress: &AtomicU64::new(0),
    };
    let trace = Trace::open(Cursor::new(bytes)).map_err(AnalyzeError::Trace)?;
    analyze(trace, asked)
}

/// The answer without counts that depend on how a run is told: those of ranges always, because a
/// range of one location may count as none, and those of accesses unless they are comparable.
fn comparable(mut answer: Answer, accesses: bool) -> Answer {
    if let About::Check(check) = &mut answer.about {
        // How many orders an exploration would take can't be told without the program.
        let explore = |words: &String| !words.contains("finishline explore");
        check.stronger = check.stronger.take().filter(explore);
        let counts = &mut check.statistics;
        (counts.ranges, counts.in_ranges) = (0, 0);
        if !accesses {
            counts.accesses = 0;
        }
    }
    answer
}

/// Compares the answers about a program and about its trace.
fn compared(program: &Program, executor: Executor) -> Result<Verdict, String> {
    let module = compile(&render(program))?;
    let question = question(&module, executor);
    let bytes = traced(&question);
    let mut verdict = Verdict::Unknown;
    for detector in Detector::ALL {
        if unsupported(detector, &module).is_some() {
            continue;
        }
        let checked = check(&question, detector, &mut std::io::sink());
        let checked = checked.map_err(|error| error.to_string())?;
        let found = analyzed(&bytes, Some(detector)).map_err(|error| format!("{error:?}"))?;
        // The bags refuse a run in which a task has waited for a lock. A trace need not tell of it.
        let bags = matches!(detector, Detector::SpBags | Detector::EspBags);
        if bags && takes_turns(&module) && checked.verdict == Verdict::Unknown {
            continue;
        }
        // A trace does not tell of blocks in which nothing is checked, which might have ordered
        // something.
        let used = |construct| module.uses(construct).is_some();
        let excludes = used(Construct::Isolated) || used(Construct::Lock);
        if detector.orders_by_locks() && excludes {
            continue;
        }
        verdict = found.verdict;
        // The oracle of a check hears every access.
        let accesses = match detector {
            Detector::Oracle | Detector::Drdp => false,
            Detector::Finishline => true,
            other => !on_threads(other),
        };
        let of = |answer: &Answer| comparable(answer.clone(), accesses);
        let same = of(&checked) == of(&found);
        if !same {
            return Err(format!("{detector} differs: {checked:#?}\n{found:#?}"));
        }
    }
    let asked = Asked {
        detector: None,
        max_races: 50,
        suppressions: None,
        judged: None,
        progress: &AtomicU64::new(0),
    };
    let trace = Trace::open(Cursor::new(&bytes)).map_err(|error| error.to_string())?;
    let comparison = compare(trace, &asked).map_err(|error| format!("{error:?}"))?;
    match comparison.disagreements.is_empty() {
        true => Ok(verdict),
        false => Err(comparison.disagreements.join("; ")),
    }
}

fn settings(seed: u64) -> Settings {
    match seed % 5 {
        0 => Settings::promises(seed / 5),
        1 => Settings::locks(seed / 5),
        _ => Settings::of_seed(seed),
    }
}

#[test]
fn a_trace_has_the_answer_of_a_check() {
    let first = setting("FINISHLINE_SEED", FIRST_SEED);
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    in_parallel(first..first + count, |seed| {
        let program = program(seed, &settings(seed));
        let executor = match seed % 5 {
            0 => Executor::Interpreted,
            _ => Executor::Compiled,
        };
        if let Err(error) = compared(&program, executor) {
            let differs = |error: &str| error.contains("differs");
            let small = shrink(&program, &mut |program| {
                let compared = compared(program, executor);
                compared.is_err_and(|small| differs(&small) == differs(&error))
            });
            let said = compared(&small, executor).expect_err("a shrunk program still fails");
            panic!("seed {seed}: {error}\nshrunk: {said}\n{}", render(&small));
        }
    });
}

#[test]
fn a_trace_that_was_cut_off_claims_nothing_more() {
    in_parallel(1..40, |seed| {
        let program = program(seed, &settings(seed));
        let module = compile(&render(&program)).expect("a program");
        let bytes = traced(&question(&module, Executor::Compiled));
        let whole = analyzed(&bytes, None).expect("an answer");
        let taken = Taken::apart(&bytes);
        for chunks in 1..taken.chunks.len() {
            let cut = analyzed(&taken.cut(chunks), None).expect("an answer");
            let has_end = taken.chunks[..chunks].iter().any(|(kind, _)| *kind == 3);
            let count = |answer: &Answer| {
                let check = answer.check().expect("a check");
                check.racing_locations.count
            };
            assert!(count(&cut) <= count(&whole), "seed {seed}");
            if has_end {
                assert_eq!(count(&cut), count(&whole), "seed {seed}");
            } else {
                let modest = [Verdict::Unknown, Verdict::Race, Verdict::Apparent];
                assert!(
                    modest.contains(&cut.verdict),
                    "seed {seed}: {}",
                    cut.verdict
                );
                let stronger = cut.check().and_then(|check| check.stronger.clone());
                assert!(stronger.is_some(), "seed {seed}");
            }
        }
    });
}

#[test]
fn a_changed_trace_never_breaks_the_analysis() {
    in_parallel(1..60, |seed| {
        let program = program(seed, &settings(seed));
        let module = compile(&render(&program)).expect("a program");
        let taken = Taken::apart(&traced(&question(&module, Executor::Compiled)));
        let mut random = Random(seed);
        for round in 0..40 {
            let mut damaged = taken.clone();
            damaged.damage(&mut random);
            let detector = Detector::ALL[round % Detector::ALL.len()];
            let _ = analyzed(&damaged.sealed(), Some(detector));
        }
    });
}
