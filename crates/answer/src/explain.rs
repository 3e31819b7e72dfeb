//! What became of the checks of a program, access by access, in the user's words. The engine fills
//! it in; a report only formats it.

use finishline_model::source::Site;
use finishline_model::{AccessKind, Passes};

/// Which accesses of a program are checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The program's path as the user gave it, and its text.
    pub program: String,
    pub source: String,
    /// The passes that were made.
    pub passes: Passes,
    /// Every shared access of the source, in its order: by place, a read before the write of the
    /// same place.
    pub accesses: Vec<ExplainedAccess>,
}

impl Explanation {
    /// How many accesses have this fate.
    pub fn count(&self, fate: Fate) -> usize {
        let with = self.accesses.iter().filter(|access| access.fate == fate);
        with.count()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedAccess {
    pub kind: AccessKind,
    /// The place accessed, and its text on one line: `B[i]`.
    pub site: Site,
    pub place: String,
    pub function: String,
    pub fate: Fate,
    /// The passes that removed or moved a check of this access.
    pub by: Passes,
    /// The instructions that check it alone, and those that check it with others.
    pub checks: usize,
    pub range_checks: usize,
    /// The prover would call it free of races, if integers did not wrap around.
    pub wraps: bool,
}

/// Why accesses are checked that integers which may wrap around keep from being proved.
pub const WRAPS: &str =
    "not proved: with these arguments integers may leave 64 bits and wrap around";

/// What became of an access's check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Fate {
    Kept,
    /// The same access of the source is checked in one copy of its code and not in another.
    Partly,
    Moved,
    Merged,
    Removed,
    Unreachable,
}

impl Fate {
    /// From what costs most to what costs nothing.
    pub const ALL: [Fate; 6] = [
        Fate::Kept,
        Fate::Partly,
        Fate::Moved,
        Fate::Merged,
        Fate::Removed,
        Fate::Unreachable,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Fate::Kept => "kept",
            Fate::Partly => "partly",
            Fate::Moved => "moved",
            Fate::Merged => "merged",
            Fate::Removed => "removed",
            Fate::Unreachable => "unreachable",
        }
    }

    pub const fn meaning(self) -> &'static str {
        match self {
            Fate::Kept => "checked each time",
            Fate::Partly => "checked each time in some copies of its code, not in others",
            Fate::Moved => "checked elsewhere, less often",
            Fate::Merged => "checked with others, many at once",
            Fate::Removed => "never checked",
            Fate::Unreachable => "in code that can never run",
        }
    }

    /// Whether a run pays anything for it.
    pub const fn is_paid_for(self) -> bool {
        !matches!(self, Fate::Removed | Fate::Unreachable)
    }
}
