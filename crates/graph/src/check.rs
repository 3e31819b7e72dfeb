//! The interface of checkers: a graph in, its racing locations out.
//!
//! A location races if two concurrent nodes access it and one of them writes. Concurrent means that
//! neither task structure nor the observed order of isolated blocks orders them, so two isolated
//! accesses never race. Each racing location comes with one such pair of nodes. Which pair is the
//! checker's choice. A checker that has no rule for a construct refuses the graph and names the
//! construct.

use crate::closure::TransitiveClosure;
use crate::graph::{Graph, NodeId};
use crate::labels::Labels;
use crate::zipper::Zipper;
use finishline_detect::Failure;
use finishline_detect::order::{LOCKS, RELEASES};
use finishline_model::Location;
use std::collections::BTreeMap;

/// A racing location and two nodes that race there, in the order of their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RacingLocation {
    pub location: Location,
    pub nodes: [NodeId; 2],
}

pub trait Checker {
    fn name(&self) -> &'static str;

    /// The racing locations of a graph, in ascending order.
    fn check(&self, graph: &Graph) -> Result<Vec<RacingLocation>, Failure>;
}

/// All checkers, the slowest first.
pub const CHECKERS: [&dyn Checker; 3] = [&TransitiveClosure, &Zipper, &Labels];

/// The first race found at each location.
#[derive(Debug, Default)]
pub(crate) struct FirstRaces(BTreeMap<Location, [NodeId; 2]>);

impl FirstRaces {
    #[cold]
    pub(crate) fn add(&mut self, location: Location, mut nodes: [NodeId; 2]) {
        nodes.sort();
        self.0.entry(location).or_insert(nodes);
    }

    pub(crate) fn into_list(self) -> Vec<RacingLocation> {
        let races = self.0.into_iter();
        races
            .map(|(location, nodes)| RacingLocation { location, nodes })
            .collect()
    }
}

/// Refuses what has no place in a graph.
pub(crate) fn refuse_what_is_missing(graph: &Graph) -> Result<(), Failure> {
    let constructs = graph.constructs();
    match (constructs.locks, constructs.releases) {
        (true, _) => Err(Failure::Unsupported(LOCKS)),
        (_, true) => Err(Failure::Unsupported(RELEASES)),
        _ => Ok(()),
    }
}
