//! The table of detectors, in words: the name of each, the constructs that it judges, and the
//! guarantee behind its answer. The order and the history that each is made of stand in the second
//! half of the table, `detectors.rs` of the crate `detect`.
//!
//! Help text, documentation and reports print what is written here.

use crate::construct::Construct;
use std::fmt;

/// A detector: one row of `finishline detectors`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Detector {
    SpBags,
    EspBags,
    Drdp,
    Spd3,
    Ptracer,
    CRacer,
    FastTrack,
    FastRacer,
    Finishline,
    Oracle,
}

struct Row {
    detector: Detector,
    name: &'static str,
    order: &'static str,
    history: &'static str,
    runs: &'static str,
    /// Whether it has a rule for a construct.
    judges: fn(Construct) -> bool,
    guarantee: &'static str,
}

const BY_STRUCTURE: &str = "every schedule with this run's task structure: a location is reported exactly if it races by that structure";

#[rustfmt::skip]
const TABLE: [Row; 10] = [
    Row {
        detector: Detector::SpBags,
        name: "sp-bags",
        order: "S and P bags of procedure instances",
        history: "last writer, one reader; by lockset under locks",
        runs: "serial, depth-first",
        judges: |it| matches!(it, Construct::Spawn | Construct::Sync | Construct::Lock),
        guarantee: BY_STRUCTURE,
    },
    Row {
        detector: Detector::EspBags,
        name: "esp-bags",
        order: "S bags of tasks, P bags of tasks and finishes",
        history: "last writer, one reader, one isolated writer and reader; by lockset under locks",
        runs: "serial, depth-first",
        judges: |it| !matches!(it, Construct::Promise | Construct::Future),
        guarantee: BY_STRUCTURE,
    },
    Row {
        detector: Detector::Drdp,
        name: "drdp",
        order: "structure tree, disjoint sets with non-tree joins and ancestors",
        history: "last writer, list of readers",
        runs: "serial, cooperative",
        judges: |it| !matches!(it, Construct::Isolated | Construct::Lock),
        guarantee: BY_STRUCTURE,
    },
    Row {
        detector: Detector::Spd3,
        name: "spd3",
        order: "structure tree, lowest common ancestors",
        history: "last writer, two readers",
        runs: "parallel",
        judges: |it| Detector::Drdp.judges(it) && Detector::EspBags.judges(it),
        guarantee: BY_STRUCTURE,
    },
    Row {
        detector: Detector::Ptracer,
        name: "ptracer",
        order: "structure tree, lowest common ancestors",
        history: "two writers and two readers by lockset",
        runs: "parallel",
        judges: |it| Detector::EspBags.judges(it),
        guarantee: BY_STRUCTURE,
    },
    Row {
        detector: Detector::CRacer,
        name: "c-racer",
        order: "two lists of steps with labels",
        history: "last writer, outermost readers",
        runs: "parallel",
        judges: |it| Detector::Spd3.judges(it),
        guarantee: BY_STRUCTURE,
    },
    Row {
        detector: Detector::FastTrack,
        name: "fasttrack",
        order: "a vector clock for each task and lock",
        history: "last writer, one reader or all that are parallel",
        runs: "parallel",
        judges: |_| true,
        guarantee: "this run: a location is reported exactly if it races by the task structure and the order in which locks were taken; with neither isolated nor locks every schedule with this structure",
    },
    Row {
        detector: Detector::FastRacer,
        name: "fastracer",
        order: "vector clocks that tasks share parts of, sets of joined tasks",
        history: "two writers and two readers by lockset",
        runs: "parallel",
        judges: |it| Detector::EspBags.judges(it),
        guarantee: BY_STRUCTURE,
    },
    Row {
        detector: Detector::Finishline,
        name: "finishline",
        order: "two lists of steps with labels, chains of joins; in parallel paths packed into words",
        history: "last writer, set of readers; by lockset under locks and in isolated blocks",
        runs: "serial, cooperative; parallel",
        judges: |_| true,
        guarantee: BY_STRUCTURE,
    },
    Row {
        detector: Detector::Oracle,
        name: "oracle",
        order: "the computation graph, closed with bit sets",
        history: "every access of every step",
        runs: "serial, after the run; quadratic",
        judges: |_| true,
        guarantee: "every schedule with this run's task structure, by definition: of each location all pairs of accesses are compared",
    },
];

impl Detector {
    pub const ALL: [Detector; TABLE.len()] = {
        let mut all = [Detector::SpBags; TABLE.len()];
        let mut row = 0;
        while row < TABLE.len() {
            all[row] = TABLE[row].detector;
            assert!(
                all[row] as usize == row,
                "the rows stand in the order of the names"
            );
            row += 1;
        }
        all
    };

    const fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    pub const fn name(self) -> &'static str {
        self.row().name
    }

    pub const fn order(self) -> &'static str {
        self.row().order
    }

    pub const fn history(self) -> &'static str {
        self.row().history
    }

    pub const fn runs(self) -> &'static str {
        self.row().runs
    }

    /// Whether the detector has a rule for the construct.
    pub fn judges(self, construct: Construct) -> bool {
        (self.row().judges)(construct)
    }

    /// Whether locks order accesses for it as they did in the run. Then it says nothing of other
    /// orders of critical sections.
    pub fn orders_by_locks(self) -> bool {
        self == Detector::FastTrack
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
        self.row().guarantee
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
