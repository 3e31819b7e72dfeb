//! Findings: two accesses that conflict, where, and why nothing orders them.

use crate::claim::{Claim, Witness};
use crate::location::{Location, Object};
use crate::place::Place;
use crate::stored;
use crate::task::{Stack, Task, WhyParallel};
use finishline_model::AccessId;
use finishline_model::kinds::{ConflictClass, NativeAccessKind, SynchroniserKind};
use serde::{Deserialize, Serialize};

/// Two conflicting accesses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub rule: Rule,
    /// The location of the first occurrence.
    pub location: Location,
    /// In a run the earlier access comes first.
    pub first: FoundAccess,
    pub second: FoundAccess,
    /// None in a proof, which knows no tasks of a run.
    pub why: Option<WhyParallel>,
    /// Where the object was allocated; none for a global variable, and for bytes, which know it.
    pub allocated: Option<Place>,
    /// What a run saw of the pair.
    pub seen: Seen,
    /// What orders the two although they conflict, if that is more than that both are atomic.
    pub ordered_by: Option<OrderedBy>,
    /// What a proof says about the pair.
    #[serde(skip)]
    pub claim: Option<Claim>,
    /// Not the first race of the run: it may be a consequence of an earlier one.
    pub may_follow: bool,
    /// The order of the isolated blocks in which it was seen, if one was asked for.
    pub schedule: Option<String>,
    /// The command that shows it again; empty if there is none.
    pub replay: String,
}

impl Finding {
    /// The case by which a proof shows the pair.
    pub fn witness(&self) -> Option<&Witness> {
        self.claim.as_ref()?.witness.as_ref()
    }
}

/// What makes a pair of accesses a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Rule {
    /// Nothing orders them.
    Race,
    /// Only the observed order of isolated blocks separates them.
    Apparent,
    /// A proof claims the race, and a run on its case does not have it.
    Unconfirmed,
    /// Both are in isolated blocks.
    IsolationOrdered,
    /// A lock: both held it, or one gave it up behind its access and the other took it then.
    LockOrdered,
    /// Both are atomic and happen at once, in either order; or a release and an acquire came in
    /// between.
    AtomicOrdered,
    /// Both tasks were on one thread, and had asked which one that is.
    ThreadOrdered,
    /// The first frees a block, and the second uses the block later.
    UseAfterFree,
}

impl Rule {
    /// The word of text reports and of the `class` of JSON reports.
    pub const fn word(self) -> &'static str {
        match self {
            Rule::Race => "race",
            Rule::Apparent => "apparent race",
            Rule::Unconfirmed => "unconfirmed race",
            Rule::IsolationOrdered => "isolation-ordered",
            Rule::LockOrdered => "lock-ordered",
            Rule::AtomicOrdered => "atomic-ordered",
            Rule::ThreadOrdered => "thread-ordered",
            Rule::UseAfterFree => "use-after-free",
        }
    }
}

impl From<ConflictClass> for Rule {
    fn from(class: ConflictClass) -> Rule {
        match class {
            ConflictClass::Race => Rule::Race,
            ConflictClass::LockOrdered => Rule::LockOrdered,
            ConflictClass::AtomicOrdered => Rule::AtomicOrdered,
            ConflictClass::ThreadOrdered => Rule::ThreadOrdered,
            ConflictClass::UseAfterFree => Rule::UseAfterFree,
        }
    }
}

/// How often a run saw a pair, and where.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Seen {
    /// Every location at which the pair conflicts. Bytes of a process are only counted.
    pub locations: Names,
    pub times: u64,
}

/// Some locations out of possibly very many.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Names {
    pub shown: Vec<Location>,
    pub count: u64,
}

/// One access of a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundAccess {
    /// The access of the source; none in a process.
    #[serde(skip)]
    pub id: Option<AccessId>,
    #[serde(with = "stored::access_kind")]
    pub kind: NativeAccessKind,
    pub isolated: bool,
    /// Where it was made: one frame in Fin.
    pub stack: Stack,
    /// None in a proof.
    pub task: Option<Task>,
    /// In a proof, which instances: counters of the enclosing loops in terms of the parameters, `i
    /// = N`.
    pub instance: Vec<(String, String)>,
    /// Only in a process.
    pub machine: Option<MachineAccess>,
}

impl FoundAccess {
    pub fn place(&self) -> Option<&Place> {
        self.stack.place()
    }
}

/// What is known of an access of a process alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineAccess {
    pub atomic: bool,
    pub address: u64,
    pub size: u64,
    pub locks: Vec<HeldLock>,
}

/// A lock held at an access.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldLock {
    pub lock: Synchroniser,
    /// Where it was taken.
    pub place: Option<Place>,
}

/// A variable that keeps tasks in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Synchroniser {
    #[serde(with = "stored::synchroniser_kind")]
    pub kind: SynchroniserKind,
    pub address: u64,
    /// What it is a part of.
    pub object: Object,
}

/// What keeps the two accesses of a pair in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OrderedBy {
    /// In a process.
    Synchroniser {
        synchroniser: Synchroniser,
        /// Both were made under it, so they exclude each other. Else it was released behind the
        /// first access and acquired before the second.
        excludes: bool,
    },
    /// Both hold this lock of a Fin program, which was made there.
    Lock {
        name: Option<Location>,
        made: Option<Place>,
    },
    /// Both are in isolated blocks.
    Isolation,
}

/// The findings that the user does not want to hear of. They are findings all the same: the
/// verdict does not know of suppressions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suppressed {
    /// The file of suppressions, as the user gave it.
    pub file: String,
    /// In the order found; at most `--max-races`.
    pub findings: Vec<Finding>,
    /// How many there were in all.
    pub count: u64,
    /// Entries of the file that match nothing of this run.
    pub unmatched: Vec<SuppressionEntry>,
}

/// One entry of a file of suppressions, as it is written there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuppressionEntry {
    pub line: usize,
    pub text: String,
}
