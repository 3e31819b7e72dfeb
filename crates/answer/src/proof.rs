//! What `finishline prove` found out about a program for every input, in the user's words.
//!
//! The prover divides a program into *kernels*: its outermost finishes, which order everything inside them before
//! and after everything outside, and, if main leaves tasks to the end of the program, the program itself. Each kernel is
//! proved, refuted or left open with reasons. `poly` fills this in; a report only formats it.

use crate::summary::Place;
use crate::verdict::Verdict;
use finishline_model::{AccessId, AccessKind};
use std::time::Duration;

/// The whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The program's path as the user gave it.
    pub program: String,
    /// `proved` if every kernel is, `race` if one has a race, else `unknown`.
    pub verdict: Verdict,
    /// The parameters of main, in order.
    pub parameters: Vec<String>,
    /// The inputs that the answer covers, a bound for each parameter that has one. Empty: every input.
    pub range: Vec<ParameterRange>,
    /// In the order of the source.
    pub kernels: Vec<Kernel>,
    /// Questionable, but no race: dead writes, reads of what nobody wrote.
    pub remarks: Vec<Remark>,
    /// For each read whose producers are known: who wrote what it reads.
    pub sources: Vec<ReadSources>,
    /// Whether remarks and sources are all there is to say.
    pub dataflow: Dataflow,
    pub time: Duration,
}

impl Proof {
    /// Whether the answer is about these arguments of main.
    pub fn covers(&self, arguments: &[i64]) -> bool {
        self.range.iter().all(|range| {
            let mut all = self.parameters.iter().zip(arguments);
            let argument = all.find(|(name, _)| **name == range.parameter);
            argument.is_none_or(|(_, value)| {
                range.least.is_none_or(|least| least <= *value)
                    && range.greatest.is_none_or(|greatest| *value <= greatest)
            })
        })
    }
}

/// The values of a parameter for which an answer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterRange {
    pub parameter: String,
    /// None: however small.
    pub least: Option<i64>,
    /// None: however large.
    pub greatest: Option<i64>,
}

/// A part of the program that was judged by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// `finish`, `forall`, `begin_finish`, `sync scope`, `program`, or `call` for one that could not be unfolded.
    pub construct: &'static str,
    pub place: Place,
    /// `proved`, `race` or `unknown`.
    pub verdict: Verdict,
    /// Distinct pairs of accesses of the source that race, by location, most certain and then smallest witness first.
    pub races: Vec<StaticRace>,
    /// Why nothing more is known. Empty if proved.
    pub reasons: Vec<Reason>,
    /// How many accesses of the source were compared, and how many pairs.
    pub accesses: usize,
    pub pairs: usize,
    pub time: Duration,
}

/// Two accesses of the source that race for some input.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticRace {
    pub first: StaticAccess,
    pub second: StaticAccess,
    /// What they both access, in terms of the parameters and, if need be, of counters: `B[N]`, `A[i + 1]`.
    pub location: String,
    /// For which parameters, and where it takes counters to say so, for which instances: `N ≥ 1`. Empty: always.
    pub condition: String,
    /// The smallest case, or a larger one that a run has confirmed.
    pub witness: Option<Witness>,
    /// Larger cases, should runs on smaller ones fail before they get there.
    pub larger: Vec<Witness>,
    /// The race can't change what the program computes; it is a race all the same.
    pub benign: Option<Benign>,
}

impl StaticRace {
    /// Whether it is still to be called a race: not if the run on its case does not have it.
    pub fn stands(&self) -> bool {
        let refuted = |witness: &Witness| {
            matches!(
                witness.confirmation,
                Confirmation::Failed(_) | Confirmation::Contradicted
            )
        };
        !self.witness.as_ref().is_some_and(refuted)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct StaticAccess {
    pub id: AccessId,
    pub kind: AccessKind,
    pub isolated: bool,
    pub place: Place,
    pub function: String,
    /// Which instances: counters of the enclosing loops in terms of the parameters, `i = N`.
    pub instance: Vec<(String, String)>,
}

/// Values for which the race occurs.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// There is none with smaller arguments.
    pub smallest: bool,
    /// The arguments of main.
    pub arguments: Vec<i64>,
    pub location: String,
    /// The counters of both accesses.
    pub first: Vec<(String, i64)>,
    pub second: Vec<(String, i64)>,
    /// The command that shows the race in a run.
    pub replay: String,
    /// What such a run showed. The prover runs nothing, and leaves it at `NotRun`.
    pub confirmation: Confirmation,
}

/// What a run with the arguments of a witness showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confirmation {
    /// Nothing: there was none.
    #[default]
    NotRun,
    /// Nothing: it would have taken too much time or memory.
    TooCostly,
    /// The race.
    Confirmed,
    /// It failed, by this error, and had no such race until then.
    Failed(String),
    /// It ended, and had no such race.
    Contradicted,
}

impl Confirmation {
    /// A word for machines.
    pub const fn word(&self) -> &'static str {
        match self {
            Confirmation::NotRun => "not-run",
            Confirmation::TooCostly => "too-costly",
            Confirmation::Confirmed => "confirmed",
            Confirmation::Failed(_) => "failed",
            Confirmation::Contradicted => "contradicted",
        }
    }
}

/// Why a race is harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Benign {
    /// Both write the same value.
    SameValue,
    /// No read can see what either writes.
    NeverRead,
}

impl Benign {
    pub const fn word(self) -> &'static str {
        match self {
            Benign::SameValue => "same-value",
            Benign::NeverRead => "never-read",
        }
    }

    pub const fn meaning(self) -> &'static str {
        match self {
            Benign::SameValue => "both write the same value",
            Benign::NeverRead => "no read can see what either writes",
        }
    }
}

/// What the prover could not see through.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    pub kind: ReasonKind,
    pub place: Place,
    /// What it makes undecided, e.g. `the write of a[b[i]] at 12:9`.
    pub concerns: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReasonKind {
    /// An index, a bound or a condition that is read from shared memory.
    Indirect,
    /// Arithmetic that is no sum of multiples of counters and parameters.
    NonAffine,
    /// Arithmetic that may leave 64 bits.
    Wraps,
    /// A condition that depends on data.
    DataDependent,
    /// A local that a loop changes, not by a constant in every iteration.
    Carried,
    /// A function that calls itself.
    Recursive,
    /// A `while` loop of no counted shape, or a loop that `break` or `return` leaves.
    Unbounded,
    /// `begin_finish` and `end_finish` in a program in which some don't pair up in one block.
    DynamicFinish,
    /// References that may be to the same object.
    Aliasing,
    /// The time allowed was over.
    Timeout,
    /// More accesses after inlining than are compared.
    TooLarge,
}

impl ReasonKind {
    pub const ALL: [ReasonKind; 11] = [
        ReasonKind::Indirect,
        ReasonKind::NonAffine,
        ReasonKind::Wraps,
        ReasonKind::DataDependent,
        ReasonKind::Carried,
        ReasonKind::Recursive,
        ReasonKind::Unbounded,
        ReasonKind::DynamicFinish,
        ReasonKind::Aliasing,
        ReasonKind::Timeout,
        ReasonKind::TooLarge,
    ];

    /// A word for machines.
    pub const fn word(self) -> &'static str {
        match self {
            ReasonKind::Indirect => "indirect",
            ReasonKind::NonAffine => "non-affine",
            ReasonKind::Wraps => "wraps",
            ReasonKind::DataDependent => "data-dependent",
            ReasonKind::Carried => "carried",
            ReasonKind::Recursive => "recursive",
            ReasonKind::Unbounded => "unbounded",
            ReasonKind::DynamicFinish => "dynamic-finish",
            ReasonKind::Aliasing => "aliasing",
            ReasonKind::Timeout => "timeout",
            ReasonKind::TooLarge => "too-large",
        }
    }

    /// What the words mean for the place they are said of.
    pub const fn meaning(self) -> &'static str {
        match self {
            ReasonKind::Indirect => "this value is read from shared memory",
            ReasonKind::NonAffine => {
                "this is no sum of constant multiples of counters and parameters"
            }
            ReasonKind::Wraps => "this may not fit 64 bits, and then it wraps around",
            ReasonKind::DataDependent => "this condition depends on data",
            ReasonKind::Carried => "what a loop makes of the variable set here is not known",
            ReasonKind::Recursive => "this function calls itself, so it can't be unfolded",
            ReasonKind::Unbounded => "how often this loop runs is not known",
            ReasonKind::DynamicFinish => {
                "what this `begin_finish` or `end_finish` is paired with is not seen in the text"
            }
            ReasonKind::Aliasing => "these references may be to one object or to several",
            ReasonKind::Timeout => "the time allowed for this kernel was over",
            ReasonKind::TooLarge => "with all calls unfolded the kernel has too many accesses",
        }
    }

    /// What would make it provable.
    pub const fn help(self) -> &'static str {
        match self {
            ReasonKind::Indirect => {
                "use an index computed from loop counters, or check this input with `finishline check`"
            }
            ReasonKind::NonAffine => {
                "write it with additions and constant factors, e.g. a two-dimensional array instead of `i * n + j`"
            }
            ReasonKind::Wraps => {
                "say by an assertion how large its operands are, or check this input with `finishline check`"
            }
            ReasonKind::DataDependent => {
                "access the same locations on both sides, or check this input with `finishline check`"
            }
            ReasonKind::Carried => {
                "compute it from the counter of the loop, or change it by a constant in every iteration"
            }
            ReasonKind::Recursive => {
                "write it as loops, or check this input with `finishline check`"
            }
            ReasonKind::Unbounded => "write it as a `for` loop over a range",
            ReasonKind::DynamicFinish => "use `finish { … }`",
            ReasonKind::Aliasing => {
                "give each object a name of its own, and store each reference once"
            }
            ReasonKind::Timeout => "give it more time with `--timeout`",
            ReasonKind::TooLarge => {
                "divide the kernel, or check this input with `finishline check`"
            }
        }
    }
}

/// How far the question was followed who produces what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dataflow {
    NotAsked,
    Complete,
    /// The time allowed was over.
    CutShort,
}

impl Dataflow {
    pub const ALL: [Dataflow; 3] = [Dataflow::NotAsked, Dataflow::Complete, Dataflow::CutShort];

    pub const fn word(self) -> &'static str {
        match self {
            Dataflow::NotAsked => "not-asked",
            Dataflow::Complete => "complete",
            Dataflow::CutShort => "cut-short",
        }
    }
}

/// Something questionable.
#[derive(Clone, Debug, PartialEq)]
pub struct Remark {
    pub kind: RemarkKind,
    pub place: Place,
    /// What is accessed, `B[i]`, and for which instances and parameters.
    pub location: String,
    pub condition: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemarkKind {
    /// No read can see what is written here.
    DeadWrite,
    /// What is read here has not been written: it has its starting value.
    NeverWritten,
}

impl RemarkKind {
    pub const ALL: [RemarkKind; 2] = [RemarkKind::DeadWrite, RemarkKind::NeverWritten];

    pub const fn word(self) -> &'static str {
        match self {
            RemarkKind::DeadWrite => "dead-write",
            RemarkKind::NeverWritten => "never-written",
        }
    }

    pub const fn meaning(self) -> &'static str {
        match self {
            RemarkKind::DeadWrite => "no read can see what is written here",
            RemarkKind::NeverWritten => "this reads what nothing has written",
        }
    }
}

/// Who wrote what a read of the source reads.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadSources {
    pub place: Place,
    /// As written: `B[k]`.
    pub location: String,
    pub sources: Vec<Source>,
}

/// One producer, with the instances of the read that see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The write; none: the starting value.
    pub write: Option<Place>,
    /// The counters of the write in terms of those of the read and of the parameters: `i = k`.
    pub instance: Vec<(String, String)>,
    /// For which instances of the read: `1 ≤ k ≤ N`.
    pub condition: String,
}
