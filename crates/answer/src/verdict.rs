//! What an answer means: the verdict words, the detectors and the guarantee behind each.
//!
//! These sentences are written here once; help text, documentation and reports print them.

use finishline_model::kinds::rayon::{Division, MOST_DIVISIONS, MOST_LEVELS};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What was established about a program. The words are a contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub enum Verdict {
    Proved,
    Certified,
    CertifiedOrder,
    Explored,
    Observed,
    Race,
    Apparent,
    Trap,
    Deadlock,
    Unknown,
}

impl Verdict {
    pub const ALL: [Verdict; 10] = [
        Verdict::Proved,
        Verdict::Certified,
        Verdict::CertifiedOrder,
        Verdict::Explored,
        Verdict::Observed,
        Verdict::Race,
        Verdict::Apparent,
        Verdict::Trap,
        Verdict::Deadlock,
        Verdict::Unknown,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Proved => "proved",
            Verdict::Certified => "certified",
            Verdict::CertifiedOrder => "certified-order",
            Verdict::Explored => "explored",
            Verdict::Observed => "observed",
            Verdict::Race => "race",
            Verdict::Apparent => "apparent",
            Verdict::Trap => "trap",
            Verdict::Deadlock => "deadlock",
            Verdict::Unknown => "unknown",
        }
    }

    /// What the verdict says, in one sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Verdict::Proved => {
                "free of races in every schedule of every input; without isolated blocks and locks, the result does not depend on the schedule"
            }
            Verdict::Certified => {
                "free of races in every schedule of this input, so the result does not depend on the schedule"
            }
            Verdict::CertifiedOrder => {
                "free of races in every schedule of this input that runs the isolated and locked blocks in the observed order; another order may compute something else"
            }
            Verdict::Explored => {
                "free of races in every schedule of this input: every order of its isolated and locked blocks that can differ was run; the order may still decide what is computed"
            }
            Verdict::Observed => {
                "no race was seen in the schedule that was observed; another one may have some"
            }
            Verdict::Race => {
                "two conflicting accesses that nothing orders: the result may depend on the schedule"
            }
            Verdict::Apparent => {
                "conflicting accesses that only the observed order of isolated and locked blocks separates: another order might show a race or exclude it"
            }
            Verdict::Trap => {
                "the program failed; nothing is established about what would have followed"
            }
            Verdict::Deadlock => {
                "each task that is left waits for another, or for a value that never comes; so it is in every schedule of this input that runs the isolated and locked blocks in the observed order"
            }
            Verdict::Unknown => "nothing was established",
        }
    }

    /// The meaning of how a run ended, if the verdict is another one. With a race, the run may end
    /// otherwise in another schedule.
    pub const fn meaning_besides(self) -> &'static str {
        match self {
            Verdict::Deadlock => {
                "each task that is left waits for another, or for a value that never comes; so it is in this run, and another schedule may go on"
            }
            _ => self.meaning(),
        }
    }

    /// The meaning of an answer that was established without running the program.
    pub const fn proof_meaning(self) -> &'static str {
        match self {
            Verdict::Unknown => "whether some input has a race was not established",
            _ => self.meaning(),
        }
    }

    /// The meaning of a proof for a stated range of the parameters.
    pub const fn ranged_proof_meaning(self) -> &'static str {
        match self {
            Verdict::Proved => {
                "free of races in every schedule of every input in the stated range; without isolated blocks and locks, the result does not depend on the schedule"
            }
            _ => self.proof_meaning(),
        }
    }

    /// The same of an instrumented program, which synchronises by locks and atomics where Fin has
    /// isolated blocks, for an answer of this extent. Its parallel iterators were divided as finely
    /// as this.
    pub const fn native_meaning(self, extent: Extent, division: Division) -> &'static str {
        match self {
            Verdict::Certified => match division {
                Division::None | Division::Items => self.meaning(),
                Division::Threads | Division::Partly => {
                    "free of races in every schedule of this input that divides parallel iterators as this run did; another one may have some between items that ran as one piece here"
                }
            },
            Verdict::CertifiedOrder if matches!(extent, Extent::ObservedThreads) => {
                "free of data races in every schedule of this input that keeps the observed order of locks, of atomics and of tasks on one thread; another order may compute something else"
            }
            Verdict::CertifiedOrder => {
                "free of data races in every schedule of this input that keeps the observed order of locks and atomics; another order may compute something else"
            }
            _ => self.meaning(),
        }
    }
}

/// What an answer of `finishline prove` is worth, in one sentence.
pub const PROOF_GUARANTEE: &str = "every input and every schedule, up to where the program \
     fails or exceeds 2^56 steps, 2^48 elements in an array or 2^30 tasks; integers wrap around at 64 bits";

/// What an answer of `finishline explore` is worth, in one sentence.
pub const EXPLORATION_GUARANTEE: &str = "every schedule of this input: two orders of isolated and locked \
     blocks that were not both run differ by exchanging blocks that do not conflict";

/// What `finishline explore` has established about the orders that it ran, if it did not run all
/// that can differ.
pub const ORDERS_RUN_GUARANTEE: &str =
    "every schedule that runs its conflicting isolated and locked blocks in an order that was run";

/// For which schedules the answer about a run of an instrumented program holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub enum Extent {
    EverySchedule,
    ObservedSynchronisation,
    ObservedThreads,
    ThisSchedule,
    SeenOperations,
    /// Some tasks had not begun when the process ended.
    BegunTasks,
    Nothing,
}

impl Extent {
    pub const ALL: [Extent; 7] = [
        Extent::EverySchedule,
        Extent::ObservedSynchronisation,
        Extent::ObservedThreads,
        Extent::ThisSchedule,
        Extent::SeenOperations,
        Extent::BegunTasks,
        Extent::Nothing,
    ];

    /// The guarantee, in one sentence; `{division}` stands for [`divided`].
    pub const fn guarantee(self) -> &'static str {
        match self {
            Extent::EverySchedule => {
                "every schedule with this run's task structure{division}; accesses of code compiled with checks"
            }
            Extent::ObservedSynchronisation => {
                "every schedule with this run's task structure{division}, and with the observed order of locks and atomics; accesses of code compiled with checks"
            }
            Extent::ObservedThreads => {
                "every schedule with this run's task structure{division}, and with the observed order of locks and atomics, in which tasks share a thread if they did so here, having asked for it; accesses of code compiled with checks"
            }
            Extent::ThisSchedule => {
                "the schedule that was observed: threads took part whose order may differ in the next run; accesses of code compiled with checks"
            }
            Extent::SeenOperations => {
                "the schedule that was observed, as far as its atomic operations are seen; accesses of code compiled with checks"
            }
            Extent::BegunTasks => {
                "the schedule that was observed, up to where a task ended the process; accesses of code compiled with checks"
            }
            Extent::Nothing => "none",
        }
    }
}

/// How finely the parallel iterators of a run were divided: a part of a guarantee. Rayon was told
/// this number of threads.
pub fn divided(division: Division, threads: u32) -> String {
    match division {
        Division::None => String::new(),
        Division::Threads => format!(", parallel iterators divided as for {threads} threads"),
        Division::Items => ", parallel iterators divided as far as they can be".to_owned(),
        Division::Partly => format!(
            ", parallel iterators divided as far as they can be up to a limit, and then as for {threads} threads"
        ),
    }
}

/// What would divide the iterators of a run further, if anything would.
pub fn divides_further(division: Division) -> Option<String> {
    match division {
        Division::None | Division::Items => None,
        Division::Threads => {
            Some("`--divide items` divides parallel iterators down to single items".to_owned())
        }
        Division::Partly => Some(format!(
            "on a smaller input parallel iterators can be divided down to single items: the limit is {MOST_LEVELS} levels, and {MOST_DIVISIONS} divisions in all"
        )),
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}
