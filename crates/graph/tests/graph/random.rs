//! Random runs against the oracle: depth-first ones of every kind, the same programs with tasks
//! that take turns, so that isolated blocks run in other orders, and programs with promises.
//!
//! `FINISHLINE_SEEDS=n` runs n programs instead of 3,000 of each kind, `FINISHLINE_SEED=s` starts
//! at seed s. A failure prints the seed and the program after removing whatever can be removed.

use crate::interleaved::{self, POLICIES, recorded};
use crate::judge::judge;
use crate::streams::{self, LOCATIONS};
use crate::words::{Open, Word, from_environment, show, shrink, tell};
use finishline_model::event::Record;

fn depth_first(words: &[Word]) -> Vec<Record> {
    let mut records = Vec::new();
    tell(words, LOCATIONS, &mut records);
    records
}

/// The depth-first run, and one for each policy. How many of them race.
fn judge_program(words: &[Word], depth_first_too: bool, seed: u64) -> Result<usize, String> {
    let mut racy = 0;
    if depth_first_too {
        let racing = judge(&depth_first(words)).map_err(|why| format!("depth-first: {why}"))?;
        racy += usize::from(!racing.is_empty());
    }
    // Who tells runs of tasks that take turns knows no spawn.
    if !Word::uses(words, Open::Spawn) {
        for policy in POLICIES {
            let records = recorded(words, policy, seed);
            let racing = judge(&records).map_err(|why| format!("{policy:?}: {why}"))?;
            racy += usize::from(!racing.is_empty());
        }
    }
    Ok(racy)
}

fn compare(program: impl Fn(u64) -> Vec<Word>, depth_first_too: bool) {
    let (first, seeds) = (
        from_environment("FINISHLINE_SEED", 1),
        from_environment("FINISHLINE_SEEDS", 3_000),
    );
    let mut racy = 0;
    for seed in first..first + seeds {
        let words = program(seed);
        let judge = |words: &[Word]| judge_program(words, depth_first_too, seed);
        match judge(&words) {
            Ok(runs) => racy += runs,
            Err(why) => {
                let small = shrink(words, &mut |words| judge(words).is_err());
                let why = judge(&small).err().unwrap_or(why);
                panic!(
                    "FINISHLINE_SEED={seed} FINISHLINE_SEEDS=1: {why}\n{}",
                    show(&small)
                );
            }
        }
    }
    let seeds = seeds as usize;
    assert!(
        racy >= seeds / 2 && racy <= 5 * seeds * 9 / 10,
        "{racy} of {seeds}"
    );
}

#[test]
fn random_programs_agree_with_the_oracle() {
    compare(streams::Generator::program, true);
}

#[test]
fn random_programs_with_promises_agree_with_the_oracle() {
    compare(interleaved::Generator::program, false);
}
