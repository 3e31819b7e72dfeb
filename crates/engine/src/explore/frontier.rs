//! Cuts the search into pieces that can be explored independently of each other.
//!
//! The optimal rule of [`tree`](super::tree) needs all plans of a node before the next one is
//! carried out. So two threads can't share a tree. Instead the first few choices are made here: the
//! *crown* of the search. Its leaves are the *pieces*, and below each of them is a tree of its own.
//!
//! **The rule in the crown** is that of source sets. A node has an ordered list of children, the
//! tasks that run their next block there. A task sleeps below its younger siblings, until a block
//! conflicts with what it touches. So no order is met in two pieces. The list is long enough if
//! each order from the node on that no sleeper could begin can begin with one of the children.
//!
//! The children are *guessed* by one run through the node: the task that went on there, and all
//! others that could have, as far as conflicts connect their blocks in the rest of the run. Tasks
//! that conflict with nothing have one child, not one for each. The guess need not be right. Two
//! blocks that conflict, the earlier of them above the frontier, are a [`Reversal`]: if none of the
//! children could begin it, [`Frontier::admit`] adds one that can, and with it further pieces.
//!
//! **Why nothing is lost.** Let *w* be a complete order from a node of the crown that neither a
//! sleeper nor a child could begin. For each child *p*, look at the longest beginning of *w* that
//! does not conflict with *p*, and take the child for which it is longest. Below it an order was
//! run with this beginning, then the block *q* of *w* that conflicts with *p*. So *p* and *q* are a
//! reversal: the blocks that do not happen after *p*, then *q*. It begins with some child *r*. If
//! *r* is in the beginning or is *q*, then *r* could begin *w*. Otherwise nothing in the beginning
//! nor *q* conflicts with *r*, and *r* would have had a longer one. Neither can be. If a sleeper
//! could begin the reversal, it could begin *w* or the run, and a run has no task that sleeps. The
//! same holds at the nodes of a piece, for its own children. There a sleeper from the crown may
//! cover a plan only if it is in it: see [`tree`](super::tree).
//!
//! **What it costs.** A run for each node of the crown but the eldest children. A piece whose
//! sleepers are never woken has only runs that are cut off. The crown, and the order of the pieces,
//! are decided by the program and its input alone.

use super::blocks::Block;
use super::footprint::Footprint;
use super::subtree::{Ended, Explorer, Worker};
use super::task_names::{TaskName, TaskNames};
use super::tree::{Job, Reduction, Reversal, Sleeper, Start, wake};
use super::{Incomplete, Pieces};
use finishline_detect::Failure;
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

/// How many blocks of a run are looked at for choices.
const LOOKAHEAD: usize = 200;

type NodeId = usize;

/// A child that a node of the crown lacks.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Missing {
    /// The number of the node.
    pub node: usize,
    /// The spawn indices that lead to the task.
    pub task: Vec<u32>,
}

/// Why the search could not be cut.
pub(super) enum NotCut {
    Overdue(Incomplete),
    NoDetector(Failure),
}

/// A block of the run through a node.
#[derive(Clone, Debug)]
struct Step {
    task: TaskName,
    footprint: Arc<Footprint>,
    /// The tasks that should run their next block instead, too.
    others: Vec<TaskName>,
}

#[derive(Debug)]
struct Node {
    parent: Option<NodeId>,
    task: TaskName,
    depth: usize,
    sleepers: Vec<Sleeper>,
    /// The eldest first.
    children: Vec<(Sleeper, NodeId)>,
    /// The run through the node, from there on, as far as it was looked at.
    ahead: Vec<Step>,
}

impl Node {
    /// The logarithm of how many orders there may be: the product of the choices on the way (Knuth:
    /// Estimating the efficiency of backtrack programs, 1975).
    fn size(&self) -> f64 {
        let choices = self.ahead.iter().map(|step| step.others.len() as f64 + 1.0);
        choices.map(f64::log2).sum()
    }
}

/// The crown of the search, and its pieces.
pub(super) struct Frontier {
    nodes: Vec<Node>,
    /// The leaves, in the order of the pieces.
    pieces: Vec<NodeId>,
    /// The size from which a piece is cut.
    limit: f64,
    /// How many runs the crown took.
    pub(super) runs: u64,
}

const ROOT: NodeId = 0;

impl Frontier {
    /// Cuts the search of the explorer.
    pub(super) fn new(explorer: &Explorer<'_>, worker: &mut Worker) -> Result<Frontier, NotCut> {
        let mut frontier = Frontier {
            nodes: Vec::new(),
            pieces: Vec::new(),
            limit: 0.0,
            runs: 0,
        };
        let root = Node {
            parent: None,
            task: TaskName::MAIN,
            depth: 0,
            sleepers: Vec::new(),
            children: Vec::new(),
            ahead: Vec::new(),
        };
        frontier.look(explorer, worker, root, Job::default())?;
        let Pieces { share, least } = explorer.options.pieces;
        let share = frontier.nodes[ROOT].size() - f64::from(share).log2();
        frontier.limit = share.max(f64::from(least).log2());
        frontier.cut(explorer, worker, ROOT)?;
        Ok(frontier)
    }

    pub(super) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// Where the tree of a piece begins.
    pub(super) fn start(&self, piece: usize) -> Start {
        let node = self.pieces[piece];
        Start {
            prefix: self.prefix(node),
            sleepers: self.nodes[node].sleepers.clone(),
        }
    }

    /// The child that is needed for a reversal in a piece. None if the node has one already.
    pub(super) fn missing(
        &self,
        piece: usize,
        reversal: &Reversal,
        names: &TaskNames,
    ) -> Option<Missing> {
        let leaf = self.pieces[piece];
        let node = self
            .path(leaf)
            .find(|node| self.nodes[*node].depth == reversal.depth)?;
        let Node {
            sleepers, children, ..
        } = &self.nodes[node];
        let children = children.iter().map(|(child, _)| child);
        let is_met = reversal.begins_with(sleepers.iter().chain(children).cloned());
        let task = reversal.first().filter(|_| !is_met)?;
        let task = names.path(task);
        Some(Missing { node, task })
    }

    /// Adds children and what is below them, as further pieces.
    pub(super) fn admit(
        &mut self,
        explorer: &Explorer<'_>,
        worker: &mut Worker,
        missing: &BTreeSet<Missing>,
    ) -> Result<(), NotCut> {
        for Missing { node, task } in missing {
            // Whoever wrote the number down may have had another crown.
            if *node >= self.nodes.len() {
                return Err(NotCut::Overdue(Incomplete::Lost));
            }
            let task = worker.names.named(task);
            let child = self.add_child(explorer, worker, *node, task)?;
            self.cut(explorer, worker, child)?;
        }
        Ok(())
    }

    /// The nodes from this one up to the root.
    fn path(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(Some(node), |node| self.nodes[*node].parent)
    }

    fn prefix(&self, node: NodeId) -> Vec<TaskName> {
        let nodes = self.path(node).take_while(|node| *node != ROOT);
        let mut prefix: Vec<TaskName> = nodes.map(|node| self.nodes[node].task).collect();
        prefix.reverse();
        prefix
    }

    /// Cuts what is below a leaf until no piece is too large. The largest is cut first, so that all
    /// become small before the limit of pieces is reached.
    fn cut(
        &mut self,
        explorer: &Explorer<'_>,
        worker: &mut Worker,
        below: NodeId,
    ) -> Result<(), NotCut> {
        let mut large = BinaryHeap::from([Large(self.nodes[below].size(), below)]);
        let mut leaves = 1;
        while let Some(Large(size, node)) = large.pop()
            && size > self.limit
            && leaves < MOST_LEAVES
        {
            let Node {
                sleepers,
                ahead,
                depth,
                ..
            } = &mut self.nodes[node];
            let mut steps = std::mem::take(ahead).into_iter();
            let Some(step) = steps.next() else {
                continue;
            };
            // The eldest child goes on as the run through the node did.
            let mut below = sleepers.clone();
            wake(&mut below, &step.footprint);
            let eldest = Node {
                parent: Some(node),
                task: step.task,
                depth: *depth + 1,
                sleepers: below,
                children: Vec::new(),
                ahead: steps.collect(),
            };
            let mut added = vec![self.push(eldest, step.footprint)];
            for task in step.others {
                added.push(self.add_child(explorer, worker, node, task)?);
            }
            leaves += added.len() - 1;
            large.extend(added.into_iter().map(|it| Large(self.nodes[it].size(), it)));
        }
        self.number(below);
        Ok(())
    }

    /// Makes the leaves below a node pieces, the eldest first.
    fn number(&mut self, below: NodeId) {
        let mut open = vec![below];
        while let Some(node) = open.pop() {
            let children = &self.nodes[node].children;
            match children.is_empty() {
                true => self.pieces.push(node),
                false => open.extend(children.iter().rev().map(|(_, child)| *child)),
            }
        }
    }

    fn push(&mut self, child: Node, footprint: Arc<Footprint>) -> NodeId {
        let number = self.nodes.len();
        let sleeper = Sleeper::outside(child.task, footprint);
        if let Some(parent) = child.parent {
            self.nodes[parent].children.push((sleeper, number));
        }
        self.nodes.push(child);
        number
    }

    /// Adds the youngest child of a node.
    fn add_child(
        &mut self,
        explorer: &Explorer<'_>,
        worker: &mut Worker,
        node: NodeId,
        task: TaskName,
    ) -> Result<NodeId, NotCut> {
        let mut prefix = self.prefix(node);
        let depth = prefix.len();
        prefix.push(task);
        let parent = &self.nodes[node];
        let elder = parent.children.iter().map(|(child, _)| child);
        let sleepers: Vec<Sleeper> = match explorer.options.reduction {
            Reduction::Optimal => parent.sleepers.iter().chain(elder).cloned().collect(),
            Reduction::None => Vec::new(),
        };
        let child = Node {
            parent: Some(node),
            task,
            depth: depth + 1,
            sleepers: sleepers.clone(),
            children: Vec::new(),
            ahead: Vec::new(),
        };
        self.look(explorer, worker, child, Job::first(prefix, depth, sleepers))
    }

    /// Runs through a new node, and adds it.
    fn look(
        &mut self,
        explorer: &Explorer<'_>,
        worker: &mut Worker,
        mut node: Node,
        job: Job,
    ) -> Result<NodeId, NotCut> {
        let run = explorer.run(&job, worker, true);
        self.runs += 1;
        match run.ended {
            Ended::Overdue => return Err(NotCut::Overdue(explorer.why_overdue())),
            Ended::Lost => return Err(NotCut::Overdue(Incomplete::Lost)),
            Ended::NoDetector(failure) => return Err(NotCut::NoDetector(failure)),
            _ => {}
        }
        // A block that did not come to its end keeps nobody asleep.
        let last = run.blocks[..node.depth.min(run.blocks.len())].last();
        let footprint = match last {
            Some(last) if run.blocks.len() >= node.depth => last.footprint.clone(),
            _ => Arc::new(Footprint::everything()),
        };
        wake(&mut node.sleepers, &footprint);
        let end = run.blocks.len().min(node.depth + LOOKAHEAD);
        node.ahead = (node.depth..end)
            .map(|number| Step {
                task: run.blocks[number].task,
                footprint: run.blocks[number].footprint.clone(),
                others: match explorer.options.reduction {
                    Reduction::Optimal => {
                        connected(&run.blocks, number, &run.choices[number], &worker.names)
                    }
                    Reduction::None => {
                        let others = run.choices[number].iter();
                        let task = run.blocks[number].task;
                        others.filter(|it| **it != task).copied().collect()
                    }
                },
            })
            .collect();
        Ok(self.push(node, footprint))
    }
}

/// The most leaves below a node that is cut. Sizes are estimates, and may be far too great.
const MOST_LEAVES: usize = 4096;

/// A leaf with its size. The largest is the greatest, and the first of equals.
struct Large(f64, NodeId);

impl Ord for Large {
    fn cmp(&self, other: &Large) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(other.1.cmp(&self.1))
    }
}

impl PartialOrd for Large {
    fn partial_cmp(&self, other: &Large) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Large {
    fn eq(&self, other: &Large) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Large {}

/// Those of the tasks at a block of a run that conflicts connect with the block's task, in this
/// block and those that follow. The blocks of a task that does not exist yet count for the one that
/// is to create it.
fn connected(
    blocks: &[Block],
    from: usize,
    tasks: &[TaskName],
    names: &TaskNames,
) -> Vec<TaskName> {
    let mut groups = Groups::default();
    let mut owners: FxHashMap<TaskName, TaskName> = FxHashMap::default();
    let mut owner = |task: TaskName| {
        *owners.entry(task).or_insert_with(|| {
            let mut above = std::iter::successors(Some(task), |it| names.parent(*it));
            above.find(|it| tasks.contains(it)).unwrap_or(task)
        })
    };
    for block in &blocks[from..] {
        for &earlier in block.reversible.iter().filter(|it| **it >= from) {
            groups.join(owner(blocks[earlier].task), owner(block.task));
        }
    }
    let task = blocks[from].task;
    let group = groups.of(task);
    let others = tasks.iter().copied().filter(|it| *it != task);
    others.filter(|it| groups.of(*it) == group).collect()
}

/// Disjoint groups of tasks.
#[derive(Default)]
struct Groups(FxHashMap<TaskName, TaskName>);

impl Groups {
    fn of(&mut self, mut task: TaskName) -> TaskName {
        while let Some(&above) = self.0.get(&task) {
            if let Some(&top) = self.0.get(&above) {
                self.0.insert(task, top);
            }
            task = above;
        }
        task
    }

    fn join(&mut self, a: TaskName, b: TaskName) {
        let (a, b) = (self.of(a), self.of(b));
        if a != b {
            self.0.insert(a, b);
        }
    }
}
