//! What a program in Fin runs under when it is measured, and the words for it on the command line
//! of the process that measures.

use super::drdp::suite::{TRAVERSALS, traversal, traversal_word};
use finishline_engine::timing::Traversal;
use finishline_model::checks::NoSuchPass;
use finishline_model::{Detector, Passes};
use std::num::NonZero;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Under {
    Nothing,
    /// The detector that `finishline check` would choose, with the checks that these passes leave.
    Check(Passes),
    /// DRDP, with the checks that these passes leave.
    Drdp(Passes, Traversal),
    /// On as many threads. Without checks, or by a detector with the checks that these passes
    /// leave.
    Threads(NonZero<usize>, Option<(Detector, Passes)>),
    /// All of `finishline check`, to count races.
    Races,
}

impl Under {
    /// `run`; `check:` or `drdp:` and a value of `--checks`, for the latter also a colon and an
    /// order of walking; `threads:` and their number, with a detector and a value of `--checks`
    /// behind further colons if there are checks; `races`.
    pub(crate) fn word(self) -> String {
        match self {
            Under::Nothing => "run".to_owned(),
            Under::Check(passes) => format!("check:{passes}"),
            Under::Drdp(passes, walk) => format!("drdp:{passes}:{}", traversal_word(walk)),
            Under::Threads(threads, None) => format!("threads:{threads}"),
            Under::Threads(threads, Some((detector, passes))) => {
                format!("threads:{threads}:{detector}:{passes}")
            }
            Under::Races => "races".to_owned(),
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Under, String> {
        let passes = |text: &str| text.parse().map_err(|error: NoSuchPass| error.to_string());
        let threads = |text: &str| {
            let number = text.parse();
            number.map_err(|_| format!("`{text}` is no number of threads"))
        };
        let words: Vec<&str> = text.split(':').collect();
        match words[..] {
            ["run"] => Ok(Under::Nothing),
            ["races"] => Ok(Under::Races),
            ["check", checks] => Ok(Under::Check(passes(checks)?)),
            ["drdp", checks, walk] => match traversal(walk) {
                Some(traversal) => Ok(Under::Drdp(passes(checks)?, traversal)),
                None => Err(format!("the orders are {}", TRAVERSALS.join(", "))),
            },
            ["threads", count] => Ok(Under::Threads(threads(count)?, None)),
            ["threads", count, name, checks] => match Detector::from_name(name) {
                Some(detector) => {
                    let checked = Some((detector, passes(checks)?));
                    Ok(Under::Threads(threads(count)?, checked))
                }
                None => Err(format!("there is no detector `{name}`")),
            },
            _ => Err(
                "run, check:CHECKS, drdp:CHECKS:ORDER, threads:N, threads:N:DETECTOR:CHECKS or races"
                    .to_owned(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_runs_under_is_known_by_its_words() {
        for text in [
            "run",
            "races",
            "check:full",
            "check:optimised",
            "drdp:full:dfs-front",
            "threads:2",
            "threads:16:spd3:sequential",
        ] {
            assert_eq!(Under::parse(text).expect(text).word(), text);
        }
        for text in [
            "",
            "walk",
            "run:full",
            "check",
            "check:x",
            "drdp:full",
            "drdp:full:up",
            "threads",
            "threads:0",
            "threads:2:spd3",
            "threads:2:nobody:full",
            "threads:2:spd3:x",
        ] {
            assert!(Under::parse(text).is_err(), "{text}");
        }
    }
}
