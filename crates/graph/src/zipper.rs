//! `zipper`: nodes are filed by the isolated blocks and the branches around them, and pairs are
//! looked for only where they can be concurrent.
//!
//! [Zipper §3] Every async node begins two *branches*: the new task, and what its creator does up
//! to the wait node that joins both. A traversal goes through one branch, then through the other,
//! then on behind the wait node. While it is in the second branch, all branches inside the first
//! are *parallel* to it: they are in its bag. So structure alone is decided by branches.
//!
//! The isolated blocks of the run are a chain, numbered from 0. A node is filed twice:
//!
//! ```text
//! Z↓[i]   the nodes whose first block by structure is i, if i is followed by another block
//! Z↓λ[b]  the nodes of branch b that no such block follows
//! Z↑[i]   the nodes whose last block by structure is i, if i follows another block
//! Z↑λ[b]  the nodes of branch b that follow no such block
//! ```
//!
//! Two *sliders* go with the node n that is visited: slider↓ is the last block before n, slider↑
//! the first one after it. A node n' of a parallel branch happens before n iff its first block is
//! before slider↓. So going down, only Z↓ from slider↓ on and Z↓λ are looked at. n happens before
//! n' iff slider↑ is before the last block of n'. So going up, only Z↑ up to slider↑ and Z↑λ are
//! looked at. A pair that is found both ways is concurrent. This is the argument of
//! [`finishline_detect::order::isolation`], with sets of nodes instead of two numbers a node.
//!
//! Cost: O(M (T + I)) to find pairs of M nodes, T branches and I blocks, and an intersection of
//! access sets for each of up to M² pairs. Nothing recurses. Promises, locks, releases and tasks
//! that escape are refused: with them a graph is not made of branches.
//!
//! **Repairs.** The printed procedures, with these repairs where they can be run without them, are
//! in the tests of this crate, which reproduce Table 2 and show what each repair is for.
//! DIVERGENCE, all of them:
//!
//! 1. Line 21 of async_node visits n', not n, with the branch `id`. As printed it never ends.
//! 2. recursive_analyze chooses one of three: as printed, async and wait nodes are visited again as
//!    other nodes.
//! 3. A slider that is NULL is before all blocks going down and behind all going up.
//! 4. checkDown and checkUp go through the blocks of the bag, not through those of the branch
//!    itself, which precede or follow the node: `async{ ra isolated{ } } wa isolated{ }` is missed.
//! 5. checkUp skips blocks from slider↑ on. Printed is the comparison of checkDown. If blocks run
//!    in the order of the text and the second branch is visited first, `async{ ra isolated{ } }
//!    isolated{ } wa` is a false alarm.
//! 6. get_async of a wait node is the first async of its finish. The wait node is visited when that
//!    one has returned, not earlier.
//! 7. Lines 25 to 28 also join the bags of `new_bag_id`, what the branch has itself collected:
//!    `async{ async{ wa } } ra` is missed. Here a bag holds ranges of branches, because numbers are
//!    given in the order of visits. So nothing inside a branch can be left out.
//! 8. slider↑ is set before checkUp. If not, a block is checked with the slider of the node behind
//!    it, and Fig. 2, `async{ isolated{ wa } } isolated{ } ra`, is a false alarm if the second
//!    branch is visited first.
//! 9. Nodes are filed by structure, in two full traversals before anything is checked. As printed
//!    they are filed by the blocks of their own branch alone, and what is behind a wait node is
//!    visited after the branches that it joins. `finish{ async{ finish{ async{ wa } } isolated{ } }
//!    isolated{ } ra }` is a false alarm: nothing tells that the block follows the write.
//! 10. Blocks behind a wait node are in no parallel branch, but now nodes are filed under them:
//!     `finish{ async{ wa } wa } isolated{ } isolated{ }` would be missed. So all blocks beyond the
//!     slider are looked at, and the branch of the node found there must be in the bag.
//! 11. Both sliders are known when a node is visited, so it is checked both ways at once, and C
//!     holds the pairs of one node.
//! 12. Async and wait nodes may have accesses here, so they are filed and checked like others.
//! 13. The comparisons with sliders leave in the block of the slider itself. A block may have
//!     several nodes: in `isolated{ async{ wa } finish{ async{ wa } } }` both tasks have the same
//!     block before and behind them.

use crate::check::{Checker, FirstRaces, RacingLocation, refuse_what_is_missing};
use crate::graph::{Graph, NodeId};
use finishline_detect::Failure;
use finishline_detect::order::{ESCAPING, PROMISES};
use finishline_detect::steps::Begins;
use finishline_model::TaskId;
use finishline_model::hash::IdMap;
use std::ops::Range;

pub struct Zipper;

type Branch = u32;

/// The branches parallel to the one that is visited: ascending and apart.
type Bag = Vec<Range<Branch>>;

impl Checker for Zipper {
    fn name(&self) -> &'static str {
        "zipper"
    }

    fn check(&self, graph: &Graph) -> Result<Vec<RacingLocation>, Failure> {
        refuse(graph)?;
        let shape = Shape::of(graph);
        let filing = Filing::by_shape(graph, &shape);
        let mut races = FirstRaces::default();
        // The pairs of the node visited last that were found going down.
        let mut found_down: Vec<Option<NodeId>> = vec![None; graph.len()];
        shape.traverse(|node, _, bag| {
            if graph.accesses(node).is_empty() {
                return;
            }
            filing.each_below(node, bag, |other| {
                found_down[other.index()] = Some(node);
            });
            filing.each_above(node, bag, |other| {
                if found_down[other.index()] == Some(node) {
                    graph.conflicts(other, node, |location| races.add(location, [other, node]));
                }
            });
        });
        Ok(races.into_list())
    }
}

fn refuse(graph: &Graph) -> Result<(), Failure> {
    refuse_what_is_missing(graph)?;
    let constructs = graph.constructs();
    match (constructs.promises, constructs.escaping) {
        (true, _) => Err(Failure::Unsupported(PROMISES)),
        (_, true) => Err(Failure::Unsupported(ESCAPING)),
        _ => Ok(()),
    }
}

/// Where the traversal goes from each node.
struct Shape {
    after: Vec<After>,
    /// For a wait node the first async of its finish.
    first_async: Vec<Option<NodeId>>,
}

#[derive(Clone, Copy)]
enum After {
    /// The last node of a task.
    End,
    Next(NodeId),
    Async {
        /// The first nodes of the two branches.
        child: NodeId,
        rest: NodeId,
        join: Option<NodeId>,
    },
}

/// An async node whose branches are being visited.
struct Visited {
    branch: Branch,
    child_branch: Branch,
    /// The second branch, until its visit begins.
    rest: Option<NodeId>,
    join: Option<NodeId>,
    node: NodeId,
    /// The size of the bag at the async node.
    bag: usize,
}

impl Shape {
    fn of(graph: &Graph) -> Shape {
        let mut after = vec![After::End; graph.len()];
        let mut first_async: Vec<Option<NodeId>> = vec![None; graph.len()];
        let mut created_by: IdMap<TaskId, NodeId> = IdMap::default();
        for node in graph.nodes() {
            let [previous, joined @ ..] = graph.predecessors(node) else {
                continue;
            };
            match graph.begins(node) {
                // A task and what its creator does next have neighbouring numbers.
                Begins::Task => {
                    created_by.insert(graph.task(node), *previous);
                    after[previous.index()] = After::Async {
                        child: node,
                        rest: NodeId(node.0 + 1),
                        join: None,
                    };
                }
                Begins::AfterCreation => {}
                _ => after[previous.index()] = After::Next(node),
            }
            for last in joined {
                let Some(&creator) = created_by.get(&graph.task(*last)) else {
                    continue;
                };
                if let After::Async { join, .. } = &mut after[creator.index()] {
                    *join = Some(node);
                }
                let first = &mut first_async[node.index()];
                *first = Some(first.map_or(creator, |first| first.min(creator)));
            }
        }
        Shape { after, first_async }
    }

    /// Visits each node, with its branch and with the branches visited before that are parallel.
    fn traverse(&self, mut visit: impl FnMut(NodeId, Branch, &Bag)) {
        let mut at = (!self.after.is_empty()).then_some(NodeId(0));
        let (mut branch, mut next_branch): (Branch, Branch) = (0, 1);
        let mut stack: Vec<Visited> = Vec::new();
        let mut bag = Bag::new();
        loop {
            if let Some(node) = at {
                visit(node, branch, &bag);
                at = match self.after[node.index()] {
                    After::End => None,
                    // [Zipper wait_node 7–10] The branch ends, others have to be visited first.
                    After::Next(next) if self.first_async[next.index()].is_some() => None,
                    After::Next(next) => Some(next),
                    // [Zipper async_node 10–21]
                    After::Async { child, rest, join } => {
                        stack.push(Visited {
                            branch,
                            child_branch: next_branch,
                            rest: Some(rest),
                            join,
                            node,
                            bag: bag.len(),
                        });
                        branch = next_branch;
                        next_branch += 1;
                        Some(child)
                    }
                };
                continue;
            }
            let Some(async_node) = stack.last_mut() else {
                return;
            };
            if let Some(rest) = async_node.rest.take() {
                // [Zipper async_node 25–28] What was visited inside is parallel to the second one.
                bag.push(async_node.child_branch..next_branch);
                branch = next_branch;
                next_branch += 1;
                at = Some(rest);
            } else if let Some(returned) = stack.pop() {
                // [Zipper async_node 31–33, wait_node 2–6] Both have been visited.
                bag.truncate(returned.bag);
                branch = returned.branch;
                let is_first =
                    |wait: &NodeId| self.first_async[wait.index()] == Some(returned.node);
                at = returned.join.filter(is_first);
            }
        }
    }
}

/// No block.
const NONE: Option<u32> = None;

/// Where each node is filed.
#[derive(Debug)]
pub struct Filing {
    /// The first block from each node on, and the last up to it.
    first: Vec<Option<u32>>,
    last: Vec<Option<u32>>,
    branch: Vec<Branch>,
    /// Z↓ and Z↑, by block.
    down: Vec<Vec<NodeId>>,
    up: Vec<Vec<NodeId>>,
    /// Z↓λ and Z↑λ, by branch.
    down_lambda: Vec<Vec<NodeId>>,
    up_lambda: Vec<Vec<NodeId>>,
}

impl Filing {
    /// Files the nodes of a graph.
    pub fn of(graph: &Graph) -> Result<Filing, Failure> {
        refuse(graph)?;
        Ok(Filing::by_shape(graph, &Shape::of(graph)))
    }

    /// The nodes in Z↓[block] and in Z↑[block].
    pub fn of_block(&self, block: usize) -> [&[NodeId]; 2] {
        [&self.down[block], &self.up[block]]
    }

    /// The nodes in Z↓λ[branch] and in Z↑λ[branch].
    pub fn of_branch(&self, branch: usize) -> [&[NodeId]; 2] {
        [&self.down_lambda[branch], &self.up_lambda[branch]]
    }

    /// The number of branches. The first is what `main` does outside all of them.
    pub fn branches(&self) -> usize {
        self.down_lambda.len()
    }

    fn by_shape(graph: &Graph, shape: &Shape) -> Filing {
        let mut branch = vec![0; graph.len()];
        shape.traverse(|node, of, _| branch[node.index()] = of);
        let branches = branch.iter().max().map_or(1, |&most| most as usize + 1);
        let blocks = graph.blocks();
        let mut filing = Filing {
            first: vec![NONE; graph.len()],
            last: vec![NONE; graph.len()],
            branch,
            down: vec![Vec::new(); blocks],
            up: vec![Vec::new(); blocks],
            down_lambda: vec![Vec::new(); branches],
            up_lambda: vec![Vec::new(); branches],
        };
        // Down: predecessors come first.
        for node in graph.nodes() {
            let before = graph.predecessors(node).iter();
            let before = before.filter_map(|node| filing.last[node.index()]).max();
            filing.last[node.index()] = graph.block(node).or(before);
        }
        // Up: successors come first, and tell their predecessors.
        for node in graph.nodes().rev() {
            let behind = filing.first[node.index()];
            let first = graph.block(node).or(behind);
            filing.first[node.index()] = first;
            for before in graph.predecessors(node) {
                let known = &mut filing.first[before.index()];
                *known = match (*known, first) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
            }
        }
        for node in graph.nodes() {
            let (index, branch) = (node.index(), filing.branch[node.index()] as usize);
            // [Zipper other_node 6, 20] Only a block with an outgoing edge orders what is before
            // it, and only one with an incoming edge what is behind it.
            match filing.first[index] {
                Some(block) if block as usize + 1 < blocks => {
                    filing.down[block as usize].push(node)
                }
                _ => filing.down_lambda[branch].push(node),
            }
            match filing.last[index] {
                Some(block) if block > 0 => filing.up[block as usize].push(node),
                _ => filing.up_lambda[branch].push(node),
            }
        }
        filing
    }

    /// [Zipper checkDown] Those of parallel branches that don't happen before the node.
    fn each_below(&self, node: NodeId, bag: &Bag, mut found: impl FnMut(NodeId)) {
        for branch in bag.iter().flat_map(Range::clone) {
            self.down_lambda[branch as usize]
                .iter()
                .copied()
                .for_each(&mut found);
        }
        let slider = self.last[node.index()].unwrap_or(0);
        let filed = self.down[slider as usize..].iter().flatten();
        filed
            .copied()
            .filter(|&other| self.is_in(bag, other))
            .for_each(found);
    }

    /// [Zipper checkUp] Those of parallel branches that the node does not happen before.
    fn each_above(&self, node: NodeId, bag: &Bag, mut found: impl FnMut(NodeId)) {
        for branch in bag.iter().flat_map(Range::clone) {
            self.up_lambda[branch as usize]
                .iter()
                .copied()
                .for_each(&mut found);
        }
        let behind = self.first[node.index()].map_or(self.up.len(), |slider| slider as usize + 1);
        let filed = self.up[..behind].iter().flatten();
        filed
            .copied()
            .filter(|&other| self.is_in(bag, other))
            .for_each(found);
    }

    fn is_in(&self, bag: &Bag, node: NodeId) -> bool {
        let branch = self.branch[node.index()];
        let before = bag.partition_point(|range| range.start <= branch);
        before
            .checked_sub(1)
            .is_some_and(|at| bag[at].contains(&branch))
    }
}
