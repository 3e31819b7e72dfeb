//! The exit status that belongs to an answer. It is part of the same contract as the JSON fields.
//!
//! | status | for |
//! |---|---|
//! | 66 | a race that is neither suppressed nor known, apparent ones included, also if the program failed afterwards; a deadlock; final states that differ, if that was asked |
//! | 3 | a program that failed, or used memory after it was freed |
//! | 4 | `unknown` |
//! | otherwise | 0, or the status that a process ended with |
//!
//! Of a process, every pair counts that it lists: pairs that locks or atomics order are listed only
//! on demand.

use crate::answer::{About, Answer, Suite};
use crate::finding::{Finding, Rule};
use crate::verdict::Verdict;

const FOUND: u8 = 66;
const FAILED: u8 = 3;
const UNKNOWN: u8 = 4;

pub fn exit_status(answer: &Answer) -> u8 {
    let of_program = answer.process().map_or(0, |process| process.status);
    trouble(answer).unwrap_or(of_program)
}

/// Whether there is something that is not suppressed.
pub fn has_findings(answer: &Answer) -> bool {
    trouble(answer) == Some(FOUND)
}

/// The exit status of an answer that is not that nothing was found.
pub fn trouble(answer: &Answer) -> Option<u8> {
    let racy = matches!(answer.verdict, Verdict::Race | Verdict::Apparent);
    let found = match &answer.about {
        About::Check(_) => (racy || answer.distinct > 0) && !answer.all_suppressed(),
        About::Process(_) => {
            let accepted = answer.suppressed_count() + answer.known_count();
            let shown = answer.findings.len() as u64;
            answer.distinct > accepted + shown || answer.findings.iter().any(is_conflict)
        }
        // A finding that no run confirms does not count.
        About::Proof(_) => racy,
    };
    let failed = match &answer.about {
        About::Process(_) => has_use_after_free(answer),
        About::Check(_) | About::Proof(_) => answer.verdict == Verdict::Trap,
    };
    let failed = failed || answer.failure.is_some();
    let explored = answer.check().and_then(|check| check.exploration.as_ref());
    let determinacy = explored.and_then(|explored| explored.determinacy.as_ref());
    let depends = determinacy.is_some_and(|determinacy| determinacy.states > 1);
    if found || depends || answer.verdict == Verdict::Deadlock {
        Some(FOUND)
    } else if failed {
        Some(FAILED)
    } else if answer.verdict == Verdict::Unknown {
        Some(UNKNOWN)
    } else {
        None
    }
}

/// Whether memory was used after it was freed, and that is not suppressed.
pub fn has_use_after_free(answer: &Answer) -> bool {
    !answer.findings.iter().all(is_conflict)
}

/// Whether it is about what the schedule decides. Else it is a failure of the program.
fn is_conflict(finding: &Finding) -> bool {
    finding.rule != Rule::UseAfterFree
}

/// The exit status of a command: the first of 66, 3 and 4 that any process has, else that of a
/// program.
///
/// A process in which nothing was parallel counts only if all are like that: many tests of a crate
/// have nothing to do with rayon, but if none has, nothing was checked. If the command was
/// interrupted, that is worth 4 as well. A part of the tests in which nothing was parallel says
/// nothing about the other parts, so its status is 0. All parts together have the status of the
/// whole.
pub fn suite_exit_status(suite: &Suite) -> u8 {
    let answers = suite.answers.iter();
    let working: Vec<&Answer> = answers.filter(|answer| !answer.is_idle()).collect();
    if working.is_empty() {
        return match suite.elsewhere > 0 && !suite.interrupted {
            true => 0,
            false => UNKNOWN,
        };
    }
    let has = |status: &u8| working.iter().any(|one| trouble(one) == Some(*status));
    let worst = [FOUND, FAILED].into_iter().find(has);
    let worst = worst.or((suite.interrupted || has(&UNKNOWN)).then_some(UNKNOWN));
    let statuses = working.iter().filter_map(|answer| answer.process());
    let of_program = || statuses.map(|process| process.status).find(|own| *own != 0);
    worst.or_else(of_program).unwrap_or(0)
}
