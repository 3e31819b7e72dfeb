//! `cg`: the transitive closure of the graph, then every pair of concurrent nodes.
//!
//! [Nakade et al. 2018; Zipper §2.2] Each node has a row of bits, one for each smaller node: those
//! that happen before it. Nodes come in the order of their numbers, so the row of a node is the
//! union of the rows of its predecessors, of the node that an isolation edge leads from, and of
//! these themselves. Two nodes are concurrent if the greater one's row lacks the smaller one. The
//! access sets of concurrent nodes are intersected.
//!
//! Right by definition, and quadratic: n²/16 bytes for n nodes, n² bits to look at, and an
//! intersection for each concurrent pair. Beyond a gibibyte of rows the graph is refused.

use crate::check::{Checker, FirstRaces, RacingLocation, refuse_what_is_missing};
use crate::graph::{Graph, NodeId, make_room};
use finishline_detect::Failure;

pub struct TransitiveClosure;

/// The rows of more nodes take more than a gibibyte.
pub const MOST_NODES: usize = 1 << 17;

const BITS: usize = u64::BITS as usize;

/// For each node, which smaller nodes happen before it.
struct Rows {
    starts: Vec<usize>,
    words: Vec<u64>,
}

impl Rows {
    fn of(graph: &Graph) -> Result<Rows, Failure> {
        let mut rows = Rows {
            starts: Vec::new(),
            words: Vec::new(),
        };
        let all = (0..graph.len()).map(|node| node.div_ceil(BITS)).sum();
        make_room(&mut rows.words, all)?;
        make_room(&mut rows.starts, graph.len() + 1)?;
        for node in graph.nodes() {
            let start = rows.words.len();
            rows.starts.push(start);
            rows.words.resize(start + node.index().div_ceil(BITS), 0);
            for &predecessor in graph.predecessors(node) {
                rows.add(start, predecessor);
            }
            if let Some(block) = graph.isolation_edge_to(node) {
                rows.add(start, block);
            }
        }
        Ok(rows)
    }

    /// Adds a node and all that happens before it to the newest row.
    fn add(&mut self, newest: usize, predecessor: NodeId) {
        let index = predecessor.index();
        let (older, row) = self.words.split_at_mut(newest);
        let before = &older[self.starts[index]..][..index.div_ceil(BITS)];
        for (word, bits) in row.iter_mut().zip(before) {
            *word |= bits;
        }
        row[index / BITS] |= 1 << (index % BITS);
    }

    fn row(&self, node: NodeId) -> &[u64] {
        &self.words[self.starts[node.index()]..][..node.index().div_ceil(BITS)]
    }
}

impl TransitiveClosure {
    /// Whether a node happens before a greater one. It takes as long as the whole closure.
    pub fn happens_before(graph: &Graph, node: NodeId, greater: NodeId) -> Result<bool, Failure> {
        let row = Rows::of(graph)?;
        let (word, bit) = (node.index() / BITS, node.index() % BITS);
        Ok(row.row(greater)[word] >> bit & 1 == 1)
    }
}

impl Checker for TransitiveClosure {
    fn name(&self) -> &'static str {
        "cg"
    }

    fn check(&self, graph: &Graph) -> Result<Vec<RacingLocation>, Failure> {
        refuse_what_is_missing(graph)?;
        if graph.len() > MOST_NODES {
            return Err(Failure::TooMany {
                what: "nodes",
                limit: MOST_NODES,
            });
        }
        let rows = Rows::of(graph)?;
        let mut races = FirstRaces::default();
        // Nodes without accesses conflict with nothing.
        let mut accessing = vec![0u64; graph.len().div_ceil(BITS)];
        for node in graph.nodes() {
            if graph.accesses(node).is_empty() {
                continue;
            }
            for (index, (before, with)) in rows.row(node).iter().zip(&accessing).enumerate() {
                let mut concurrent = with & !before;
                while concurrent != 0 {
                    let other = NodeId::at(index * BITS + concurrent.trailing_zeros() as usize);
                    concurrent &= concurrent - 1;
                    graph.conflicts(other, node, |location| races.add(location, [other, node]));
                }
            }
            accessing[node.index() / BITS] |= 1 << (node.index() % BITS);
        }
        Ok(races.into_list())
    }
}
