//! `cargo xtask soak`: long campaigns of random programs, from a seed nobody has tried.
//!
//! Some tests go through random programs, event streams or damaged sources. `FINISHLINE_SEEDS` is
//! their number, `FINISHLINE_SEED` the first seed. `cargo xtask test` runs a fixed range of seeds.
//! Soak runs many new seeds. It also goes through all small programs with promises of up to
//! [`STATEMENTS`] operations, two more than the tests do. At the end real programs run on several
//! threads, half an hour on two and half an hour on eight. All campaigns run, even if one fails.
//! The last lines name each failed campaign by the command that repeats it.

mod on_threads;

use crate::command::CommandLine;
use crate::{Failure, Outcome, prerequisites};
use std::time::{SystemTime, UNIX_EPOCH};

const CAMPAIGNS: [&str; 5] = [
    "cargo test --release --quiet --package finishline-engine --test engine",
    "cargo test --release --quiet --package finishline-opt --test opt",
    "cargo test --release --quiet --package finishline-ir --test ir text::",
    "cargo test --release --quiet --package finishline-detect",
    "cargo test --release --quiet --package finishline-fin --test any_bytes",
];

/// Campaigns that ask the prover, each with how many programs of the others take as long as one of
/// theirs.
const OF_THE_PROVER: [(&str, u64); 4] = [
    // As `finishline check` asks it: 100,000 programs of each generator by default. Tells how far
    // it is.
    (
        "cargo test --release --package finishline-poly --test poly default_check:: -- --nocapture",
        10,
    ),
    (
        "cargo test --release --package finishline-poly --test poly metamorphic:: -- --nocapture",
        50,
    ),
    // For every input and by instance.
    (
        "cargo test --release --quiet --package finishline-poly --test poly random_programs::",
        100,
    ),
    (
        "cargo test --release --quiet --package finishline-poly --test poly any_programs::",
        100,
    ),
];

const DEFAULT_PROGRAMS: u64 = 1_000_000;
/// It takes some minutes.
const STATEMENTS: u64 = 6;
/// For the programs on several threads.
const MINUTES: u64 = 30;

#[derive(Debug, PartialEq, Eq)]
struct Campaign {
    programs: u64,
    /// None: a fresh one.
    seed: Option<u64>,
    /// On each number of threads.
    minutes: u64,
}

pub(crate) fn run(arguments: &[String]) -> Outcome {
    let Campaign {
        programs,
        seed,
        minutes,
    } = parse(arguments)?;
    prerequisites::ensure_build()?;
    let seed = seed.unwrap_or_else(fresh_seed);
    println!("{programs} programs from seed {seed}");
    let mut failed = Vec::new();
    let of_the_prover =
        OF_THE_PROVER.map(|(line, as_long_as)| (line, programs.div_ceil(as_long_as)));
    let campaigns = CAMPAIGNS.map(|line| (line, programs)).into_iter();
    let campaigns = campaigns.chain(of_the_prover);
    for (line, programs) in campaigns.filter(|(_, programs)| *programs > 0) {
        let campaign = CommandLine::new(line)
            .env("FINISHLINE_SEEDS", programs)
            .env("FINISHLINE_SEED", seed)
            .env("FINISHLINE_STATEMENTS", STATEMENTS);
        println!("== {campaign}");
        if !campaign.status()?.success() {
            failed.push(campaign.to_string());
        }
    }
    failed.extend(on_threads::go_through(minutes)?);
    if failed.is_empty() {
        println!("no disagreement in {programs} programs from seed {seed}");
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "failed; to repeat:\n  {}",
        failed.join("\n  ")
    )))
}

fn parse(arguments: &[String]) -> Result<Campaign, Failure> {
    let mut campaign = Campaign {
        programs: DEFAULT_PROGRAMS,
        seed: None,
        minutes: MINUTES,
    };
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        let mut number = || {
            let value = rest
                .next()
                .ok_or_else(|| Failure::Usage(format!("`{option}` needs a number")))?;
            value
                .parse::<u64>()
                .map_err(|error| Failure::Usage(format!("`{option} {value}`: {error}")))
        };
        match option.as_str() {
            "--programs" => campaign.programs = number()?,
            "--seed" => campaign.seed = Some(number()?),
            "--minutes" => campaign.minutes = number()?,
            _ => return Err(Failure::Usage(format!("`soak` has no option `{option}`"))),
        }
    }
    Ok(campaign)
}

/// A seed from the clock, spread over 48 bits: short enough to type, with room to count up from.
fn fresh_seed() -> u64 {
    let nanoseconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64);
    // Fibonacci hashing: campaigns started close together must not overlap.
    nanoseconds.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Campaign, Failure> {
        let arguments: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        parse(&arguments)
    }

    #[test]
    fn options_in_any_order() {
        let all = Ok(Campaign {
            programs: 5,
            seed: Some(9),
            minutes: 2,
        });
        let five_from_nine = ["--programs", "5", "--seed", "9"];
        assert_eq!(
            parsed(&[&five_from_nine[..], &["--minutes", "2"]].concat()),
            all
        );
        assert_eq!(
            parsed(&["--minutes", "2", "--seed", "9", "--programs", "5"]),
            all
        );
        assert_eq!(
            parsed(&[]),
            Ok(Campaign {
                programs: DEFAULT_PROGRAMS,
                seed: None,
                minutes: MINUTES,
            })
        );
    }

    #[test]
    fn a_number_that_is_none_is_refused() {
        assert!(parsed(&["--seed", "-1"]).is_err());
        assert!(parsed(&["--seed"]).is_err());
        assert!(parsed(&["--seed", "18446744073709551616"]).is_err());
    }

    #[test]
    fn a_fresh_seed_leaves_room_to_count_up() {
        assert!(fresh_seed() < 1 << 48);
    }
}
