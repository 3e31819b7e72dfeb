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
    /// The closed computation graph, structure only.
    Oracle,
}

impl Detector {
    pub const ALL: [Detector; 3] = [Detector::SpBags, Detector::EspBags, Detector::Oracle];

    pub const fn name(self) -> &'static str {
        match self {
            Detector::SpBags => "sp-bags",
            Detector::EspBags => "esp-bags",
            Detector::Oracle => "oracle",
        }
    }

    pub const fn order(self) -> &'static str {
        match self {
            Detector::SpBags => "S and P bags of procedure instances",
            Detector::EspBags => "S bags of tasks, P bags of tasks and finishes",
            Detector::Oracle => "the computation graph, closed with bit sets",
        }
    }

    pub const fn history(self) -> &'static str {
        match self {
            Detector::SpBags => "last writer, one reader",
            Detector::EspBags => "last writer, one reader, one isolated writer and reader",
            Detector::Oracle => "every access of every step",
        }
    }

    pub const fn runs(self) -> &'static str {
        match self {
            Detector::SpBags | Detector::EspBags => "serial, depth-first",
            Detector::Oracle => "serial, after the run; quadratic",
        }
    }

    /// Whether the detector has a rule for the construct.
    pub const fn judges(self, construct: Construct) -> bool {
        match self {
            Detector::SpBags => matches!(construct, Construct::Spawn | Construct::Sync),
            Detector::EspBags | Detector::Oracle => true,
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
            Detector::SpBags | Detector::EspBags => {
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
