//! Which orders of isolated blocks have to be run: optimal dynamic partial-order reduction.
//!
//! Two orders are *equivalent* if exchanging neighbours that do not conflict leads from one to the
//! other. Equivalent orders do the same, so one of each class is enough. The algorithm is that of
//! source sets and wakeup trees (Abdulla, Aronis, Jonsson, Sagonas: Source Sets, 2017), with
//! isolated blocks as its events.
//!
//! The tree has a node for each sequence of blocks that was run, and below it the tasks that ran
//! next. A run adds a path to it. Then each pair of blocks in the run that conflict, and that
//! nothing else orders, is looked at: the other order is another class. If *e* came first and *e'*
//! later, then at the node before *e* a sequence is *planned* ([`Plan`]): all blocks of the run
//! after *e* that do not happen after *e*, then the task of *e'*. It is left out if some task that
//! was run at the node, or is planned there, could come first in it or in what follows it (a *weak
//! initial*): then the class is met below that task.
//!
//! A task *sleeps* that was run at an earlier node, with nothing that conflicts since: what would
//! follow is equivalent to what followed there. A run does not go on with a task that sleeps. So no
//! two complete runs are equivalent. A run in which all tasks that could go on sleep is *cut off*.
//!
//! **What is not known before it is run.** What the last block of a plan touches may differ from
//! what *e'* touched, since it does not see what *e* wrote. If *e'* was not steered by anything
//! that *e* wrote, it touches the same. Otherwise the plan is *tried* before anything else is run
//! at the node: a run follows it up to that block. Then it is known what the block touches, and the
//! plan is compared like any other. (To carry out other plans first would lose classes: what is
//! asleep below them is left out there because of plans that are to come here.)
//!
//! **Below a frontier.** A tree may begin after a sequence of blocks, with tasks that sleep there
//! ([`Start`]). Such a task was run at a node above, in another tree. Plans for that node do not
//! come from here, and none of its plans comes to this tree. So the task covers a plan only if it
//! is in it and could come first (an *initial*): then all that follows the plan is met in the other
//! tree. If the task is not in the plan, something that conflicts with it may still follow. What
//! the tree would plan at a node above is handed out ([`Reversal`]).
//!
//! Nodes below which nothing is left to do are given back.

use super::blocks::{Block, Blocked};
use super::footprint::Footprint;
use super::task_names::TaskName;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Which orders are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reduction {
    /// One of each class of equivalent orders.
    #[default]
    Optimal,
    /// All.
    None,
}

/// A block by its task and its number there: the same in equivalent orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct BlockName {
    task: TaskName,
    ordinal: u32,
}

/// A block to be run.
#[derive(Clone, Debug)]
struct Planned {
    block: BlockName,
    /// What it will touch, and which blocks of the plan happen before it. None if unknown.
    known: Option<Known>,
}

#[derive(Clone, Debug)]
struct Known {
    footprint: Arc<Footprint>,
    after: Vec<BlockName>,
}

/// Sequences of blocks to be run, as a tree.
#[derive(Clone, Debug)]
struct Plan {
    first: Planned,
    /// What comes then. Without any, whatever comes.
    then: Vec<Plan>,
}

/// A task that was run at a node, and what its block touched.
#[derive(Clone, Debug)]
pub struct Sleeper {
    pub task: TaskName,
    pub footprint: Arc<Footprint>,
    /// It was run above the beginning of the tree.
    pub is_outside: bool,
}

impl Sleeper {
    pub fn outside(task: TaskName, footprint: Arc<Footprint>) -> Sleeper {
        Sleeper {
            task,
            footprint,
            is_outside: true,
        }
    }

    /// Whether what follows the sequence is met below this task.
    fn covers(&self, sequence: &[Planned]) -> bool {
        match self.is_outside {
            true => is_initial(self.task, &self.footprint, sequence) == Some(true),
            false => is_weak_initial(self.task, &self.footprint, sequence),
        }
    }
}

/// Where a tree begins: after the blocks of these tasks. The default is the root of everything.
#[derive(Clone, Debug, Default)]
pub struct Start {
    pub prefix: Vec<TaskName>,
    pub sleepers: Vec<Sleeper>,
}

/// A sequence of blocks that leads to another class, from a node above the beginning of the tree.
pub struct Reversal {
    /// How many blocks lead to the node.
    pub depth: usize,
    sequence: Vec<Planned>,
}

impl Reversal {
    /// A task that could come first.
    pub fn first(&self) -> Option<TaskName> {
        self.sequence.first().map(|planned| planned.block.task)
    }

    /// Whether the class is met below one of the tasks. They were run at the node.
    pub fn begins_with(&self, mut tasks: impl Iterator<Item = Sleeper>) -> bool {
        tasks.any(|it| is_initial(it.task, &it.footprint, &self.sequence) == Some(true))
    }
}

type NodeId = usize;

#[derive(Debug, Default)]
struct Node {
    parent: Option<NodeId>,
    /// The task whose block led here.
    task: TaskName,
    depth: usize,
    sleepers: Vec<Sleeper>,
    /// The tasks that were run here.
    run: Vec<Sleeper>,
    /// The nodes they led to, as far as there is something left to do there.
    open: Vec<NodeId>,
    planned: Vec<Plan>,
    /// Plans whose last block is unknown.
    unknown: Vec<Vec<Planned>>,
}

impl Node {
    fn has_plans(&self) -> bool {
        !self.planned.is_empty() || !self.unknown.is_empty()
    }

    /// Whether a task that was run here, or sleeps, could come first in the sequence or in what
    /// follows it.
    fn covers(&self, sequence: &[Planned]) -> bool {
        let mut done = self.sleepers.iter().chain(&self.run);
        done.any(|it| it.covers(sequence))
    }
}

/// An order to be run.
#[derive(Clone, Debug, Default)]
pub struct Job {
    node: NodeId,
    /// The tasks whose blocks come first. Then whatever comes, but no sleeper.
    pub guide: Vec<TaskName>,
    /// How many of them lead to the node.
    from: usize,
    sleepers: Vec<Sleeper>,
    /// The run is over after these, which are to be [tried](Tree::tried).
    pub is_trial: bool,
}

/// Follows the order of a [`Job`] during its run.
pub struct Guided<'a> {
    job: &'a Job,
    sleepers: Vec<Sleeper>,
    /// How many blocks of the run the sleepers know of.
    followed: usize,
}

impl Job {
    /// The order of the prefix, then whatever comes, but no sleeper. Those that sleep after `from`
    /// blocks are given.
    pub fn first(prefix: Vec<TaskName>, from: usize, sleepers: Vec<Sleeper>) -> Job {
        Job {
            node: ROOT,
            guide: prefix,
            from,
            sleepers,
            is_trial: false,
        }
    }
}

impl<'a> Guided<'a> {
    pub fn new(job: &'a Job) -> Guided<'a> {
        Guided {
            job,
            sleepers: job.sleepers.clone(),
            followed: job.from,
        }
    }

    /// Which of the tasks goes on after these blocks. None if all of them sleep.
    pub fn choose(&mut self, waiting: &[TaskName], blocks: &[Block]) -> Option<usize> {
        while self.followed < blocks.len() {
            wake(&mut self.sleepers, &blocks[self.followed].footprint);
            self.followed += 1;
        }
        match self.job.guide.get(blocks.len()) {
            Some(task) => waiting.iter().position(|it| it == task),
            None if self.job.is_trial => None,
            None => waiting.iter().position(|task| !self.sleeps(*task)),
        }
    }

    /// Whether the task sleeps after the blocks of the last choice.
    pub fn sleeps(&self, task: TaskName) -> bool {
        self.sleepers.iter().any(|it| it.task == task)
    }
}

/// A block runs: who conflicts with it sleeps no more.
pub fn wake(sleepers: &mut Vec<Sleeper>, footprint: &Footprint) {
    sleepers.retain(|it| !it.footprint.conflicts(footprint));
}

/// The orders that were run, and those that are still to be run.
#[derive(Debug)]
pub struct Tree {
    reduction: Reduction,
    prefix: Vec<TaskName>,
    nodes: Vec<Node>,
    idle: Vec<NodeId>,
    /// Nodes that may have plans, by depth. The deepest come first, so few are open at a time.
    unfinished: BTreeSet<(usize, NodeId)>,
    begun: bool,
}

const ROOT: NodeId = 0;

impl Tree {
    pub fn new(reduction: Reduction, start: Start) -> Tree {
        let root = Node {
            depth: start.prefix.len(),
            sleepers: start.sleepers,
            ..Node::default()
        };
        Tree {
            reduction,
            prefix: start.prefix,
            nodes: vec![root],
            idle: Vec::new(),
            unfinished: BTreeSet::new(),
            begun: false,
        }
    }

    /// Whether it begins at the root of everything.
    pub fn is_whole(&self) -> bool {
        self.prefix.is_empty()
    }

    /// The next order to be run. None if nothing is left to do.
    pub fn next_job(&mut self) -> Option<Job> {
        if !std::mem::replace(&mut self.begun, true) {
            let sleepers = self.nodes[ROOT].sleepers.clone();
            return Some(Job::first(self.prefix.clone(), self.prefix.len(), sleepers));
        }
        loop {
            let &(_, deepest) = self.unfinished.last()?;
            if let Some(job) = self.job_at(deepest) {
                return Some(job);
            }
            self.unfinished
                .remove(&(self.nodes[deepest].depth, deepest));
            self.close(deepest);
        }
    }

    /// The next plan of the node: one to be tried, or the first one.
    fn job_at(&mut self, node: NodeId) -> Option<Job> {
        let mut guide = self.path(node);
        let from = guide.len();
        let it = &mut self.nodes[node];
        let to_try = it.unknown.pop();
        let is_trial = to_try.is_some();
        guide.extend(to_try.iter().flatten().map(|planned| planned.block.task));
        let mut plans = &it.planned;
        while let Some(plan) = plans.first().filter(|_| !is_trial) {
            guide.push(plan.first.block.task);
            plans = &plan.then;
        }
        if guide.len() == from {
            return None;
        }
        let sleepers = match self.reduction {
            Reduction::Optimal => it.sleepers.iter().chain(&it.run).cloned().collect(),
            Reduction::None => Vec::new(),
        };
        Some(Job {
            node,
            guide,
            from,
            sleepers,
            is_trial,
        })
    }

    /// Learns what the last block of a plan touches.
    pub fn tried(&mut self, job: &Job, blocks: &[Block]) {
        let numbers: Vec<usize> = (job.from..blocks.len()).collect();
        let known = numbers.iter().map(|&number| Planned {
            block: BlockName::of(&blocks[number]),
            known: Some(Known::of(blocks, number, &numbers)),
        });
        let sequence: Vec<Planned> = known.collect();
        let node = &mut self.nodes[job.node];
        if blocks.len() == job.guide.len() && !node.covers(&sequence) {
            add(&mut node.planned, sequence);
        }
        self.close(job.node);
    }

    /// The tasks whose blocks lead to the node.
    fn path(&self, node: NodeId) -> Vec<TaskName> {
        let above = |node: &NodeId| self.nodes[*node].parent;
        let nodes = std::iter::successors(Some(node), above);
        let mut path: Vec<TaskName> = nodes
            .take_while(|node| *node != ROOT)
            .map(|node| self.nodes[node].task)
            .collect();
        path.extend(self.prefix.iter().rev());
        path.reverse();
        path
    }

    /// Learns from the run of a job. `choices` has, for each block, the tasks that could have run
    /// one instead; it is needed without reduction alone. After a failure that ended the run,
    /// `others` are those that could have run instead of its last block. `blocked` are those that
    /// wait for locks at the end: they could have come before the block that acquired it. `above`
    /// hears what is to be run from nodes above the beginning of the tree.
    pub fn learn(
        &mut self,
        job: &Job,
        blocks: &[Block],
        choices: &[Vec<TaskName>],
        others: Option<&[TaskName]>,
        blocked: &[Blocked],
        above: &mut dyn FnMut(Reversal),
    ) {
        let path = self.grow(job, blocks, choices);
        let begin = self.prefix.len();
        if self.reduction == Reduction::Optimal {
            for (later, block) in blocks.iter().enumerate() {
                for &earlier in &block.reversible {
                    match earlier.checked_sub(begin) {
                        Some(place) => {
                            let plan = reversal(blocks, earlier, later, blocks.len());
                            self.insert(path[place], plan);
                        }
                        // What comes after the later one does not matter above.
                        None => above(Reversal {
                            depth: earlier,
                            sequence: reversal(blocks, earlier, later, later),
                        }),
                    }
                }
            }
            if let (Some(others), Some(last)) = (others, blocks.len().checked_sub(1)) {
                for &task in others {
                    let ordinal = blocks[..last].iter().filter(|it| it.task == task).count();
                    let block = BlockName {
                        task,
                        ordinal: ordinal as u32,
                    };
                    let sequence = vec![Planned { block, known: None }];
                    match last.checked_sub(begin) {
                        Some(place) => self.insert(path[place], sequence),
                        None => above(Reversal {
                            depth: last,
                            sequence,
                        }),
                    }
                }
            }
            for it in blocked {
                let independent = after(blocks, it.acquired, blocks.len());
                let known = |number| Planned {
                    block: BlockName::of(&blocks[number]),
                    known: Some(Known::of(blocks, number, &independent)),
                };
                let block = BlockName {
                    task: it.task,
                    ordinal: it.ordinal,
                };
                let mut sequence: Vec<Planned> = independent.iter().copied().map(known).collect();
                sequence.push(Planned { block, known: None });
                match it.acquired.checked_sub(begin) {
                    Some(place) => self.insert(path[place], sequence),
                    None => above(Reversal {
                        depth: it.acquired,
                        sequence,
                    }),
                }
            }
        }
        for &node in &path {
            let it = &self.nodes[node];
            if it.has_plans() {
                self.unfinished.insert((it.depth, node));
            }
        }
        if let Some(&deepest) = path.last() {
            self.close(deepest);
        }
    }

    /// Adds the path of a run. Returns its nodes, the root first: each before one of the blocks
    /// that follow the prefix, and one after the last.
    fn grow(&mut self, job: &Job, blocks: &[Block], choices: &[Vec<TaskName>]) -> Vec<NodeId> {
        let above = |node: &NodeId| self.nodes[*node].parent;
        let mut path: Vec<NodeId> = std::iter::successors(Some(job.node), above).collect();
        path.reverse();
        let mut sleepers = job.sleepers.clone();
        let mut node = job.node;
        for (number, block) in blocks.iter().enumerate().skip(job.from) {
            if self.reduction == Reduction::None && number >= job.guide.len() {
                let others = choices[number].iter().filter(|task| **task != block.task);
                let plans = others.map(|task| Plan {
                    first: Planned {
                        block: BlockName {
                            task: *task,
                            ordinal: 0,
                        },
                        known: None,
                    },
                    then: Vec::new(),
                });
                self.nodes[node].planned = plans.collect();
            }
            let is_planned = number < job.guide.len();
            let mut then = Vec::new();
            if is_planned {
                then = self.nodes[node].planned.remove(0).then;
            }
            wake(&mut sleepers, &block.footprint);
            let below = Node {
                parent: Some(node),
                task: block.task,
                depth: number + 1,
                sleepers: sleepers.clone(),
                planned: then,
                ..Node::default()
            };
            let below = match self.idle.pop() {
                Some(idle) => {
                    self.nodes[idle] = below;
                    idle
                }
                None => {
                    self.nodes.push(below);
                    self.nodes.len() - 1
                }
            };
            let above = &mut self.nodes[node];
            above.open.push(below);
            above.run.push(Sleeper {
                task: block.task,
                footprint: block.footprint.clone(),
                is_outside: false,
            });
            path.push(below);
            node = below;
        }
        if blocks.len() < job.guide.len() {
            // The run ended early, by a race or a failure, and so would any other one.
            self.nodes[node].planned.clear();
        }
        path
    }

    /// Plans a sequence at a node, unless it leads to nothing new.
    fn insert(&mut self, node: NodeId, sequence: Vec<Planned>) {
        let node = &mut self.nodes[node];
        let is_known = sequence.iter().all(|it| it.known.is_some());
        if is_known {
            if !node.covers(&sequence) {
                add(&mut node.planned, sequence);
            }
            return;
        }
        let mut done = node.sleepers.iter().chain(&node.run);
        let same = |other: &Vec<Planned>| {
            let blocks = other.iter().map(|it| it.block);
            blocks.eq(sequence.iter().map(|it| it.block))
        };
        if !done.any(|it| is_initial(it.task, &it.footprint, &sequence) == Some(true))
            && !node.unknown.iter().any(same)
        {
            node.unknown.push(sequence);
        }
    }

    /// Gives a node back, and those above it, as far as nothing is left to do there.
    fn close(&mut self, mut node: NodeId) {
        loop {
            let it = &self.nodes[node];
            if it.has_plans() || !it.open.is_empty() {
                return;
            }
            let Some(parent) = it.parent else {
                return;
            };
            self.unfinished.remove(&(it.depth, node));
            self.nodes[node] = Node::default();
            self.idle.push(node);
            self.nodes[parent].open.retain(|open| *open != node);
            node = parent;
        }
    }
}

impl BlockName {
    fn of(block: &Block) -> BlockName {
        BlockName {
            task: block.task,
            ordinal: block.ordinal,
        }
    }
}

impl Known {
    /// What is known of a block of a run, in a sequence of these blocks.
    fn of(blocks: &[Block], number: usize, sequence: &[usize]) -> Known {
        let before = |other: &&usize| **other < number && blocks[number].before.contains(**other);
        Known {
            footprint: blocks[number].footprint.clone(),
            after: (sequence.iter().filter(before))
                .map(|other| BlockName::of(&blocks[*other]))
                .collect(),
        }
    }

    /// The same, if only the blocks of the sequence will have run before it.
    fn without_others(blocks: &[Block], number: usize, sequence: &[usize]) -> Known {
        let block = &blocks[number];
        let direct = |other: usize| {
            block.structural.contains(other) || blocks[other].footprint.conflicts(&block.footprint)
        };
        let earlier = || sequence.iter().copied().filter(|it| *it < number);
        let reasons: Vec<usize> = earlier().filter(|it| direct(*it)).collect();
        let before = |other: &usize| {
            let mut reasons = reasons.iter();
            reasons.any(|reason| reason == other || blocks[*reason].before.contains(*other))
        };
        Known {
            footprint: block.footprint.clone(),
            after: (earlier().filter(before))
                .map(|other| BlockName::of(&blocks[other]))
                .collect(),
        }
    }
}

/// The sequence that brings block `later` before block `earlier` of a run. It has the blocks up to
/// `end` that do not happen after the earlier one.
fn reversal(blocks: &[Block], earlier: usize, later: usize, end: usize) -> Vec<Planned> {
    let independent = after(blocks, earlier, end);
    let planned = |number: usize, known: Option<Known>| Planned {
        block: BlockName::of(&blocks[number]),
        known,
    };
    let last = &blocks[later];
    // The blocks that will not have run. If locks order the two, some of them come before the later
    // one.
    let left_out = (earlier + 1..later).filter(|&number| blocks[number].before.contains(earlier));
    let left_out = left_out.filter(|&number| last.before.contains(number));
    let left_out: Vec<usize> = std::iter::once(earlier).chain(left_out).collect();
    let changes =
        (left_out.iter()).any(|&number| last.footprint.depends_on(&blocks[number].footprint));
    let sequence = independent.iter();
    let sequence = sequence.map(|&it| planned(it, Some(Known::of(blocks, it, &independent))));
    let known = match &left_out[..] {
        _ if changes => None,
        [_] => Some(Known::of(blocks, later, &independent)),
        _ => Some(Known::without_others(blocks, later, &independent)),
    };
    sequence.chain([planned(later, known)]).collect()
}

/// The blocks up to `end` that come after a block in the run and do not happen after it.
fn after(blocks: &[Block], earlier: usize, end: usize) -> Vec<usize> {
    (earlier + 1..end)
        .filter(|&number| !blocks[number].before.contains(earlier))
        .collect()
}

/// Adds a sequence to some plans, unless it leads to nothing new.
fn add(mut plans: &mut Vec<Plan>, mut sequence: Vec<Planned>) {
    loop {
        let next = plans.iter().position(|plan| {
            let Planned { block, known } = &plan.first;
            let known = known.as_ref();
            known.is_some_and(|known| is_weak_initial(block.task, &known.footprint, &sequence))
        });
        let Some(next) = next else {
            break;
        };
        let task = plans[next].first.block.task;
        if let Some(place) = sequence.iter().position(|it| it.block.task == task) {
            sequence.remove(place);
        }
        plans = &mut plans[next].then;
        // What is planned already, followed by anything, leads to the same.
        if plans.is_empty() {
            return;
        }
    }
    let mut then = Vec::new();
    while let Some(first) = sequence.pop() {
        then = vec![Plan { first, then }];
    }
    plans.append(&mut then);
}

/// Whether the block of the task in the sequence could come first. None if it has none there.
///
/// It could if nothing before it happens before it. If that is unknown, what the block touches when
/// it does come first decides: if it conflicts with nothing in between, it touches the same later,
/// and otherwise it can't come first.
fn is_initial(task: TaskName, footprint: &Footprint, sequence: &[Planned]) -> Option<bool> {
    let place = sequence.iter().position(|it| it.block.task == task)?;
    let before = &sequence[..place];
    Some(match &sequence[place].known {
        Some(known) => before.iter().all(|it| !known.after.contains(&it.block)),
        None => is_independent(footprint, before),
    })
}

/// Whether the task, whose next block touches this, could come first in the sequence, or in the
/// sequence followed by that block.
fn is_weak_initial(task: TaskName, footprint: &Footprint, sequence: &[Planned]) -> bool {
    let initial = is_initial(task, footprint, sequence);
    initial.unwrap_or_else(|| is_independent(footprint, sequence))
}

/// Whether a block conflicts with none of the sequence, as far as that is known.
fn is_independent(footprint: &Footprint, sequence: &[Planned]) -> bool {
    sequence.iter().all(|it| {
        let known = it.known.as_ref();
        known.is_some_and(|known| !known.footprint.conflicts(footprint))
    })
}
