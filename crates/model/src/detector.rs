//! The names of the detectors, the constructs that each judges, and the guarantee behind its
//! answer.
//!
//! The guarantees are written here once. Help text, documentation and reports print them.

use crate::construct::Construct;
use std::fmt;

/// A detector: one row of `finishline detectors`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Detector {
    /// S and P bags per procedure instance; last writer, one reader.
    SpBags,
    /// Bags per task and per finish; last writer, one reader, and the same for isolated accesses.
    EspBags,
    /// A structure tree with non-tree joins; last writer, a list of readers.
    Drdp,
    /// Labels for structure, chains of joins; last writer, all readers that nothing stands for.
    Finishline,
    /// The closed computation graph, structure only.
    Oracle,
}

impl Detector {
    pub const ALL: [Detector; 5] = [
        Detector::SpBags,
        Detector::EspBags,
        Detector::Drdp,
        Detector::Finishline,
        Detector::Oracle,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Detector::SpBags => "sp-bags",
            Detector::EspBags => "esp-bags",
            Detector::Drdp => "drdp",
            Detector::Finishline => "finishline",
            Detector::Oracle => "oracle",
        }
    }

    pub const fn order(self) -> &'static str {
        match self {
            Detector::SpBags => "S and P bags of procedure instances",
            Detector::EspBags => "S bags of tasks, P bags of tasks and finishes",
            Detector::Drdp => "structure tree, disjoint sets with non-tree joins and ancestors",
            Detector::Finishline => "two lists of steps with labels, chains of joins",
            Detector::Oracle => "the computation graph, closed with bit sets",
        }
    }

    pub const fn history(self) -> &'static str {
        match self {
            Detector::SpBags => "last writer, one reader",
            Detector::EspBags => "last writer, one reader, one isolated writer and reader",
            Detector::Drdp => "last writer, list of readers",
            Detector::Finishline => "last writer, set of readers; by lockset in isolated blocks",
            Detector::Oracle => "every access of every step",
        }
    }

    pub const fn runs(self) -> &'static str {
        match self {
            Detector::SpBags | Detector::EspBags => "serial, depth-first",
            Detector::Drdp | Detector::Finishline => "serial, cooperative",
            Detector::Oracle => "serial, after the run; quadratic",
        }
    }

    /// Whether the detector has a rule for the construct.
    pub const fn judges(self, construct: Construct) -> bool {
        match self {
            Detector::SpBags => matches!(construct, Construct::Spawn | Construct::Sync),
            Detector::EspBags => !matches!(construct, Construct::Promise | Construct::Future),
            Detector::Drdp => !matches!(construct, Construct::Isolated),
            Detector::Finishline | Detector::Oracle => true,
        }
    }

    /// The constructs that the detector has rules for, as a list in words.
    pub fn constructs(self) -> String {
        let judged = Construct::ALL
            .into_iter()
            .filter(|construct| self.judges(*construct));
        judged.map(Construct::word).collect::<Vec<_>>().join(", ")
    }

    /// The guarantee, in one sentence.
    pub const fn guarantee(self) -> &'static str {
        match self {
            Detector::SpBags | Detector::EspBags | Detector::Drdp | Detector::Finishline => {
                "every schedule with this run's task structure: a location is reported exactly if it races by that structure"
            }
            Detector::Oracle => {
                "every schedule with this run's task structure, by definition: of each location all pairs of accesses are compared"
            }
        }
    }

    pub fn from_name(name: &str) -> Option<Detector> {
        Detector::ALL.into_iter().find(|d| d.name() == name)
    }
}

impl fmt::Display for Detector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
