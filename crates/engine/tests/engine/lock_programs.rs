//! Generated programs with locks: every detector that can judge them agrees with the oracle, and
//! with every interleaving of small ones.
//!
//! `FINISHLINE_SEEDS` and `FINISHLINE_SEED` run more, or others (`cargo xtask soak`).

use crate::common::{Checked, Judge, check};
use finishline_engine::interleavings::{Budget, Granularity, Interleavings, Outcome, explore};
use finishline_generate::campaign::{in_parallel_with, setting};
use finishline_generate::small::{Small, Vocabulary};
use finishline_generate::{Settings, program, render, shrink};
use finishline_ir::machine::Limits;
use std::collections::BTreeMap;
use std::sync::Mutex;

const PROGRAMS: u64 = 4_000;
const FUEL: u64 = 10_000_000;

/// What became of a program, in one word.
fn word(checked: &Checked) -> &'static str {
    let judged = &checked.judged;
    match &checked.trap {
        _ if !judged.real.is_empty() => "race",
        _ if !judged.racing.is_empty() => "apparent",
        Some(trap) => trap.kind.word(),
        None if judged.conflict => "conflict",
        None if judged.lock_cycle => "cycle",
        None => "certified",
    }
}

#[test]
fn detectors_agree_with_the_oracle() {
    let first = setting("FINISHLINE_SEED", 1);
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    let words: Mutex<BTreeMap<&str, u64>> = Mutex::default();
    in_parallel_with(first..first + count, Judge::new, |judge, seed| {
        let program = program(seed, &Settings::locks(seed));
        match check(judge, &program, FUEL) {
            Ok(checked) => *words.lock().unwrap().entry(word(&checked)).or_default() += 1,
            Err(error) => {
                let refused = error.starts_with("error");
                let small = shrink(&program, &mut |program| match check(judge, program, FUEL) {
                    Ok(_) => false,
                    Err(error) => error.starts_with("error") == refused,
                });
                panic!("seed {seed}: {error}\n{}", render(&small));
            }
        }
    });
    let words = words.into_inner().unwrap();
    if count >= 1000 {
        for (word, least) in [
            ("race", count / 4),
            ("apparent", count / 200),
            ("conflict", count / 200),
            ("certified", count / 50),
            ("deadlock", count / 200),
            ("wait-under-lock", 1),
            ("release-not-held", 0),
            ("lock-never-released", 1),
        ] {
            let found = words.get(word).copied().unwrap_or_default();
            assert!(found >= least, "{word}: {words:?}");
        }
    }
}

/// What a run establishes, against every schedule.
fn compare_with_all_schedules(checked: &Checked) -> Result<(), String> {
    let limits = Limits::default();
    let budget = Budget::default();
    let all = explore(&checked.module, &[], limits, Granularity::Visible, budget);
    if all.gave_up {
        return Err("too many schedules".to_owned());
    }
    let word = word(checked);
    let agrees = match word {
        "race" => !all.conflicts.is_empty(),
        "certified" => all.conflicts.is_empty() && only_finishes(&all),
        // The data does not depend on the order, but tasks may wait for each other for ever.
        "cycle" => all.conflicts.is_empty() && !fails(&all),
        // Another order may do anything.
        "apparent" | "conflict" => true,
        // What the run did some schedule does.
        _ => all.outcomes.iter().any(|outcome| match outcome {
            Outcome::Deadlock { .. } => word == "deadlock",
            Outcome::Trapped { word: other, .. } => *other == word,
            Outcome::Finished { .. } => false,
        }),
    };
    match agrees {
        true => Ok(()),
        false => Err(format!(
            "{word}, but in all schedules: {:?} {:?}",
            all.conflicts, all.outcomes
        )),
    }
}

fn only_finishes(all: &Interleavings) -> bool {
    matches!(
        &all.outcomes.iter().collect::<Vec<_>>()[..],
        [Outcome::Finished { .. }]
    )
}

fn fails(all: &Interleavings) -> bool {
    let mut outcomes = all.outcomes.iter();
    outcomes.any(|outcome| matches!(outcome, Outcome::Trapped { .. }))
}

#[test]
fn every_schedule_of_small_programs_says_the_same() {
    let statements = setting("FINISHLINE_STATEMENTS", 4) as usize;
    for statements in 0..=statements {
        let small = Small::over(Vocabulary::Locks, statements);
        let numbers = 0..small.count();
        in_parallel_with(numbers, Judge::new, |judge, number| {
            let program = small.program(number);
            let compared = check(judge, &program, FUEL)
                .and_then(|checked| compare_with_all_schedules(&checked));
            if let Err(error) = compared {
                panic!(
                    "program {number} of {statements} statements: {error}\n{}",
                    render(&program)
                );
            }
        });
    }
}
