//! What a proof says besides its findings: kernels, reasons, remarks and producers.
//!
//! The prover divides a program into *kernels*: its outermost finishes, which order everything
//! inside them before and after everything outside, and, if main leaves tasks to the end of the
//! program, the program itself. Each kernel is proved, refuted or left open with reasons.

use crate::place::Place;
use crate::verdict::Verdict;
use std::time::Duration;

/// The part of an answer that only a proof has.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The parameters of main, in order.
    pub parameters: Vec<String>,
    /// The inputs that the answer covers, a bound for each parameter that has one. Empty: every
    /// input.
    pub range: Vec<ParameterRange>,
    /// Control may not come past some loop, join or assertion, on some input. What comes behind it
    /// need not happen.
    pub may_stop: bool,
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
    /// `finish`, `forall`, `begin_finish`, `sync scope`, `program`, or `call` for one that could
    /// not be unfolded.
    pub construct: &'static str,
    pub place: Place,
    /// `proved`, `race` or `unknown`.
    pub verdict: Verdict,
    /// Why nothing more is known. Empty if proved.
    pub reasons: Vec<Reason>,
    /// How many accesses of the source were compared, and how many pairs.
    pub accesses: usize,
    pub pairs: usize,
    pub time: Duration,
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
    /// A promise or a future.
    Promises,
    /// A lock, which may keep accesses apart.
    Locks,
    /// The time allowed was over.
    Timeout,
    /// More accesses after inlining than are compared.
    TooLarge,
}

impl ReasonKind {
    pub const ALL: [ReasonKind; 13] = [
        ReasonKind::Indirect,
        ReasonKind::NonAffine,
        ReasonKind::Wraps,
        ReasonKind::DataDependent,
        ReasonKind::Carried,
        ReasonKind::Recursive,
        ReasonKind::Unbounded,
        ReasonKind::DynamicFinish,
        ReasonKind::Aliasing,
        ReasonKind::Promises,
        ReasonKind::Locks,
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
            ReasonKind::Promises => "promises",
            ReasonKind::Locks => "locks",
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
            ReasonKind::Promises => "what a promise or a future orders, or its value, is not known",
            ReasonKind::Locks => "what this lock keeps apart is not known",
            ReasonKind::Timeout => "the time allowed for this kernel was over",
            ReasonKind::TooLarge => {
                "with all calls unfolded there are too many accesses, or they are too deep"
            }
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
            ReasonKind::Promises | ReasonKind::Locks => "check this input with `finishline check`",
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
