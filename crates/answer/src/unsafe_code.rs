//! The `unsafe` code of the user's crates, and whether parallel tasks were seen in it.
//!
//! Safe code has no data races, so this code is what a check is for. That a task was seen in it is
//! certain. That none was seen does not mean that none came there: of accesses that repeat what the
//! same part of a task did before, only the first is remembered.

use crate::answer::{About, Suite};
use crate::place::Place;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A block, a function or an implementation that is marked as `unsafe`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsafeCode {
    pub kind: UnsafeKind,
    /// Where it begins.
    pub place: Place,
    /// The line and the column behind its end.
    pub end: [u32; 2],
    /// Whether a parallel task was seen in it. For an implementation, in a function of its type, or
    /// in one that has the type among its variables or its type parameters.
    pub reached: bool,
}

/// What is marked as `unsafe`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum UnsafeKind {
    Block,
    /// A function with a body, by its name.
    Function(String),
    /// `Sync for Output<T>`: `Send` or `Sync`, and the type, as it is written.
    Implementation(String),
}

impl UnsafeKind {
    /// The words of JSON reports.
    pub const WORDS: [&str; 3] = ["block", "function", "impl"];

    /// The word of JSON reports.
    pub const fn word(&self) -> &'static str {
        match self {
            UnsafeKind::Block => Self::WORDS[0],
            UnsafeKind::Function(_) => Self::WORDS[1],
            UnsafeKind::Implementation(_) => Self::WORDS[2],
        }
    }

    pub fn name(&self) -> Option<&str> {
        match self {
            UnsafeKind::Block => None,
            UnsafeKind::Function(name) | UnsafeKind::Implementation(name) => Some(name),
        }
    }
}

/// Unsafe code of several processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SurveyedCode {
    pub code: UnsafeCode,
    /// In how many processes parallel tasks were seen in it.
    pub processes: u64,
    /// The first of these: its test, or its program.
    pub first: Option<String>,
}

impl UnsafeCode {
    /// The order in the source. Only the same code is equal.
    fn order(&self, other: &UnsafeCode) -> Ordering {
        let key = |it: &UnsafeCode| {
            let place = &it.place;
            (
                place.file.clone(),
                place.line,
                place.column,
                it.end,
                it.kind.clone(),
            )
        };
        key(self).cmp(&key(other))
    }
}

impl Suite {
    /// Takes the unsafe code out of the answers, and makes one list of it, in the order of the
    /// source. The list stays unknown if that of no answer is known.
    pub fn survey(&mut self) {
        for answer in &mut self.answers {
            let name = answer.process_name().to_owned();
            let About::Process(process) = &mut answer.about else {
                continue;
            };
            let Some(code) = process.unsafe_code.take() else {
                continue;
            };
            let surveyed = code.into_iter().map(|code| SurveyedCode {
                processes: u64::from(code.reached),
                first: code.reached.then(|| name.clone()),
                code,
            });
            add(&mut self.unsafe_code, surveyed);
        }
    }
}

/// Adds what was surveyed of processes that come later.
pub(crate) fn add(
    known: &mut Option<Vec<SurveyedCode>>,
    more: impl IntoIterator<Item = SurveyedCode>,
) {
    let all = known.get_or_insert_default();
    for other in more {
        match all.binary_search_by(|known| known.code.order(&other.code)) {
            Ok(at) => {
                let known = &mut all[at];
                known.code.reached |= other.code.reached;
                known.processes += other.processes;
                known.first = known.first.take().or(other.first);
            }
            Err(at) => all.insert(at, other),
        }
    }
}
