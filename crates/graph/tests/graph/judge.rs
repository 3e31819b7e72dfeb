//! The comparison of all checkers with the oracle on one run.

use finishline_detect::Failure;
use finishline_detect::oracle::{Mode, Oracle};
use finishline_detect::order::PROMISES;
use finishline_graph::closure::TransitiveClosure;
use finishline_graph::labels::{AnyOrderLabels, DepthFirstLabels, Online};
use finishline_graph::zipper::Zipper;
use finishline_graph::{CHECKERS, Checker, Graph, RacingLocation};
use finishline_model::Location;
use finishline_model::event::{Record, replay};
use std::collections::BTreeSet;

pub(crate) fn graph_of(records: &[Record]) -> Graph {
    Graph::of(|builder| replay(records, builder)).unwrap()
}

/// The racing locations of a run, if all checkers agree with the oracle on them; else the first
/// disagreement.
pub(crate) fn judge(records: &[Record]) -> Result<BTreeSet<Location>, String> {
    let mut oracle = Oracle::new(5_000);
    replay(records, &mut oracle);
    if oracle.gave_up() {
        return Err("the oracle gave up".into());
    }
    let racing = oracle.racing_locations(Mode::Observed);
    let graph = graph_of(records);
    for checker in CHECKERS {
        match checker.check(&graph) {
            Err(Failure::Unsupported(PROMISES))
                if checker.name() == Zipper.name() && graph.constructs().promises => {}
            Err(failure) => return Err(format!("{}: {failure}", checker.name())),
            Ok(found) => agree(checker.name(), &graph, &found, &racing)?,
        }
    }

    let online = online::<AnyOrderLabels>(records)?;
    agree("labels online, any order", &graph, &online, &racing)?;
    if !graph.constructs().turns && !graph.constructs().promises {
        let online = self::online::<DepthFirstLabels>(records)?;
        agree("labels online, depth-first", &graph, &online, &racing)?;
    }
    Ok(racing)
}

fn online<L: Online>(records: &[Record]) -> Result<Vec<RacingLocation>, String> {
    let mut labels = L::new().map_err(|failure| failure.to_string())?;
    replay(records, &mut labels);
    labels.finish().map_err(|failure| failure.to_string())
}

fn agree(
    who: &str,
    graph: &Graph,
    found: &[RacingLocation],
    racing: &BTreeSet<Location>,
) -> Result<(), String> {
    let locations: BTreeSet<Location> = found.iter().map(|race| race.location).collect();
    if locations != *racing {
        return Err(format!("{who} finds {locations:?}, the oracle {racing:?}"));
    }
    for &RacingLocation { location, nodes } in found {
        let [first, second] = nodes;
        let mut conflicts = false;
        graph.conflicts(first, second, |other| conflicts |= other == location);
        let ordered = TransitiveClosure::happens_before(graph, first, second);
        if first >= second || !conflicts || ordered.unwrap() {
            return Err(format!("{who}: {first:?} and {second:?} do not race"));
        }
    }
    Ok(())
}
