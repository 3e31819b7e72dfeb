//! Generated programs with promises and futures: every detector that can judge them agrees with the
//! oracle, and with every interleaving of small ones.
//!
//! `FINISHLINE_SEEDS` and `FINISHLINE_SEED` run more, or others (`cargo xtask soak`).

use crate::common::{Checked, Judge, check};
use finishline_engine::interleavings::{Budget, Granularity, Outcome, explore};
use finishline_generate::campaign::{in_parallel_with, setting};
use finishline_generate::small::{Small, Vocabulary};
use finishline_generate::{Settings, program, render, shrink};
use finishline_ir::machine::{Limits, Trap, TrapKind};
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAMS: u64 = 4_000;
const FUEL: u64 = 10_000_000;

fn is_deadlock(trap: &Option<Trap>) -> bool {
    let kind = trap.as_ref().map(|trap| &trap.kind);
    matches!(kind, Some(TrapKind::Deadlock { .. }))
}

#[test]
fn detectors_agree_with_the_oracle() {
    let first = setting("FINISHLINE_SEED", 1);
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    let (racy, deadlocks) = (AtomicU64::new(0), AtomicU64::new(0));
    in_parallel_with(first..first + count, Judge::new, |judge, seed| {
        let program = program(seed, &Settings::promises(seed));
        match check(judge, &program, FUEL) {
            Ok(checked) => {
                let races = !checked.judged.racing.is_empty();
                racy.fetch_add(u64::from(races), Ordering::Relaxed);
                let deadlock = is_deadlock(&checked.trap);
                deadlocks.fetch_add(u64::from(deadlock), Ordering::Relaxed);
            }
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
    if count >= 1000 {
        let (racy, deadlocks) = (racy.into_inner(), deadlocks.into_inner());
        assert!(
            racy > count / 5 && racy < count * 9 / 10,
            "{racy} of {count} race"
        );
        assert!(
            deadlocks > count / 20 && deadlocks < count / 2,
            "{deadlocks} of {count} deadlock"
        );
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
    let races = !checked.judged.racing.is_empty();
    // After a failure nothing more was seen.
    if !races && checked.trap.is_some() && !is_deadlock(&checked.trap) {
        return Ok(());
    }
    if races == all.conflicts.is_empty() {
        return Err(format!(
            "races: {races}, in some schedule: {:?}",
            all.conflicts
        ));
    }
    if races {
        return Ok(());
    }
    let [outcome] = &all.outcomes.iter().collect::<Vec<_>>()[..] else {
        return Err(format!("free of races, but ends as {:?}", all.outcomes));
    };
    let same = match outcome {
        Outcome::Finished { .. } => checked.trap.is_none(),
        Outcome::Deadlock { .. } => is_deadlock(&checked.trap),
        Outcome::Trapped { .. } => false,
    };
    match same {
        true => Ok(()),
        false => Err(format!("ends as {:?}, or as {outcome:?}", checked.trap)),
    }
}

#[test]
fn every_schedule_of_small_programs_says_the_same() {
    let statements = setting("FINISHLINE_STATEMENTS", 4) as usize;
    for statements in 0..=statements {
        let small = Small::over(Vocabulary::Promises, statements);
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
