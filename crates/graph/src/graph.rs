//! The computation graph of one run, built from its events.
//!
//! [Zipper §2.2] Nodes are steps, numbered in the order in which they began, so every edge goes
//! from a smaller number to a greater one. [`finishline_detect::steps`] makes them. Structural
//! edges are kept as lists of predecessors. The isolated blocks are numbered in the order in which
//! they ran, and each has an edge to the next. With each node goes its access set: each location
//! with each kind of access once, in ascending order.
//!
//! A node is an *async* node if its task creates another one at its end, a *wait* node if it begins
//! with the end or join of a finish. It may be both. DIVERGENCE: the nodes of [Zipper Fig. 3] are
//! one or the other and access nothing. Here such nodes may access locations like others: `x = 1;
//! async { } …` has the write in the async node. Their number is that of the paper's Table 3: two
//! for a task, two for a finish, two for an isolated block, one for the beginning of `main`.
//!
//! The graph also keeps the run's events. [`Graph::replay`] tells them again. Each node's accesses
//! are told together at the end of the node. No answer changes by that: a node runs in parallel to
//! all that happens between its beginning and its end, except for its own task.
//!
//! What has no place in the graph is noted and refused by checkers: locks, and releases with their
//! acquires.

use finishline_detect::Failure;
use finishline_detect::steps::{Begins, Observed, STEPS_OF_AN_EVENT, Step, StepGraph, Steps};
use finishline_detect::table::TableError;
use finishline_model::hash::IdMap;
use finishline_model::{Access, AccessId, AccessKind, Event, Location, Observer, TaskId};
use std::iter::repeat_n;
use std::mem::take;

/// A node of a graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

impl NodeId {
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Graphs have fewer than 2³² nodes.
    #[inline]
    pub(crate) fn at(index: usize) -> NodeId {
        NodeId(index as u32)
    }
}

/// What a node is called in a picture of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// Its task creates another one at its end.
    Async,
    /// It begins with the end or join of a finish.
    Wait,
    Isolated,
    Step,
}

/// An entry of an access set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeAccess {
    pub location: Location,
    pub kind: AccessKind,
    /// The first access of the node that this entry stands for.
    pub id: AccessId,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    task: TaskId,
    begins: Begins,
    creates: bool,
    /// The isolated block that it is in, or `NO_BLOCK`.
    block: u32,
    /// The first node of the innermost task or finish that it is in. `main` begins with its own.
    inside: NodeId,
    /// The index of the event that it begins with.
    event: usize,
}

const NO_BLOCK: u32 = u32::MAX;

/// More nodes than this have no numbers.
const MOST_NODES: usize = u32::MAX as usize - 1;

/// With fewer accesses than this, repeated ones stay until the end.
const FEW_ACCESSES: usize = 1 << 20;

/// An event, and the node that it ends.
#[derive(Clone, Copy, Debug)]
struct Told {
    event: Event,
    ended: Option<NodeId>,
}

/// The constructs of a run that not every checker has a rule for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Constructs {
    pub promises: bool,
    pub locks: bool,
    /// Releases, acquires and glimpses.
    pub releases: bool,
    /// Tasks that are waited for further out than they are created.
    pub escaping: bool,
    /// Tasks took turns: the run is not the depth-first one.
    pub turns: bool,
}

#[derive(Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    predecessors: Lists<NodeId>,
    accesses: Lists<NodeAccess>,
    /// The first and the last node of each isolated block.
    blocks: Vec<[NodeId; 2]>,
    told: Vec<Told>,
    /// The nodes that had not ended when the run did.
    unended: Vec<NodeId>,
    constructs: Constructs,
}

impl Graph {
    /// The graph of a recorded or live run.
    pub fn of(run: impl FnOnce(&mut GraphBuilder)) -> Result<Graph, Failure> {
        let mut builder = GraphBuilder::new();
        run(&mut builder);
        builder.finish()
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId::at)
    }

    pub fn kind(&self, node: NodeId) -> NodeKind {
        let Node {
            begins,
            creates,
            block,
            ..
        } = self.nodes[node.index()];
        match begins {
            _ if creates => NodeKind::Async,
            Begins::Wait => NodeKind::Wait,
            _ if block != NO_BLOCK => NodeKind::Isolated,
            _ => NodeKind::Step,
        }
    }

    pub fn task(&self, node: NodeId) -> TaskId {
        self.nodes[node.index()].task
    }

    pub fn begins(&self, node: NodeId) -> Begins {
        self.nodes[node.index()].begins
    }

    /// The event that the node begins with.
    pub fn event(&self, node: NodeId) -> &Event {
        &self.told[self.nodes[node.index()].event].event
    }

    /// The first node of the innermost task or finish that this node is in. None for the first node
    /// of `main`.
    pub fn inside(&self, node: NodeId) -> Option<NodeId> {
        let inside = self.nodes[node.index()].inside;
        (inside != node).then_some(inside)
    }

    /// The isolated block that the node is in.
    pub fn block(&self, node: NodeId) -> Option<u32> {
        let block = self.nodes[node.index()].block;
        (block != NO_BLOCK).then_some(block)
    }

    /// The number of isolated blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The nodes that precede this one by structure, without those in between. The first is the
    /// previous node of its task, or the one that created the task.
    pub fn predecessors(&self, node: NodeId) -> &[NodeId] {
        self.predecessors.of(node)
    }

    /// The node that an isolation edge leads from to this one.
    pub fn isolation_edge_to(&self, node: NodeId) -> Option<NodeId> {
        let block = self.block(node)? as usize;
        let [first, _] = self.blocks[block];
        let [_, previous] = self.blocks[block.checked_sub(1)?];
        (first == node).then_some(previous)
    }

    /// The access set of a node, by location, a read before a write.
    pub fn accesses(&self, node: NodeId) -> &[NodeAccess] {
        self.accesses.of(node)
    }

    /// The sum of the sizes of all access sets.
    pub fn access_count(&self) -> usize {
        self.accesses.list.len()
    }

    pub fn constructs(&self) -> Constructs {
        self.constructs
    }

    /// Calls a function for each location that both nodes access and one of them writes.
    pub fn conflicts(&self, a: NodeId, b: NodeId, mut found: impl FnMut(Location)) {
        let (mut left, mut right) = (self.accesses(a), self.accesses(b));
        while let ([a, ..], [b, ..]) = (left, right) {
            if a.location < b.location {
                left = after(left, a.location);
            } else if b.location < a.location {
                right = after(right, b.location);
            } else {
                let (of_a, of_b);
                (of_a, left) = split_after(left, a.location);
                (of_b, right) = split_after(right, a.location);
                if of_a
                    .iter()
                    .chain(of_b)
                    .any(|it| it.kind == AccessKind::Write)
                {
                    found(a.location);
                }
            }
        }
    }

    /// Whether a path leads from one node to another. Edges between isolated blocks count if asked.
    pub fn precedes(&self, earlier: NodeId, later: NodeId, by_isolation: bool) -> bool {
        if later <= earlier {
            return earlier == later;
        }
        // Edges go to greater numbers, so nothing outside of the range is on a path.
        let mut reached = vec![false; later.index() - earlier.index()];
        let mut to_visit = vec![later];
        while let Some(node) = to_visit.pop() {
            let isolation = by_isolation.then(|| self.isolation_edge_to(node)).flatten();
            for before in self.predecessors(node).iter().copied().chain(isolation) {
                if before == earlier {
                    return true;
                }
                if before > earlier && !reached[before.index() - earlier.index()] {
                    reached[before.index() - earlier.index()] = true;
                    to_visit.push(before);
                }
            }
        }
        false
    }

    /// Tells the run again, each node's accesses at its end.
    pub fn replay(&self, observer: &mut impl Observer) {
        for Told { event, ended } in &self.told {
            ended.iter().for_each(|&node| self.tell(node, observer));
            observer.event(event);
        }
        for &node in &self.unended {
            self.tell(node, observer);
        }
    }

    fn tell(&self, node: NodeId, observer: &mut impl Observer) {
        for access in self.accesses(node) {
            observer.access(&Access {
                task: self.task(node),
                kind: access.kind,
                first: access.location,
                count: 1,
                stride: 1,
                id: access.id,
            });
        }
    }
}

/// What comes after the entries of a location, which are first.
fn after(set: &[NodeAccess], location: Location) -> &[NodeAccess] {
    split_after(set, location).1
}

/// The entries of a location, which are first and at most two, and the others.
fn split_after(set: &[NodeAccess], location: Location) -> (&[NodeAccess], &[NodeAccess]) {
    let entries = set.iter().take_while(|entry| entry.location == location);
    set.split_at(entries.count())
}

/// A list for each node.
#[derive(Debug)]
struct Lists<T> {
    /// For each node the start of its list, then the end of the last one.
    starts: Vec<usize>,
    list: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Lists {
            starts: vec![0],
            list: Vec::new(),
        }
    }
}

impl<T> Lists<T> {
    fn of(&self, node: NodeId) -> &[T] {
        &self.list[self.starts[node.index()]..self.starts[node.index() + 1]]
    }
}

/// Listens to a run and builds its graph.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    steps: Steps,
    graph: Graph,
    /// The accesses so far, and the node of each. Repeated ones are removed now and then.
    recorded: Vec<NodeAccess>,
    made_by: Vec<NodeId>,
    /// The number of accesses without repeated ones, when these were last removed.
    distinct: usize,
    /// The live tasks, as long as the run is depth-first.
    live: Vec<TaskId>,
    /// The first nodes of each live task and of the finishes that it has open, innermost last.
    open: IdMap<TaskId, Vec<NodeId>>,
    failure: Option<Failure>,
}

impl GraphBuilder {
    pub fn new() -> Self {
        GraphBuilder::default()
    }

    /// The graph of a run that has ended or was cut short.
    pub fn finish(mut self) -> Result<Graph, Failure> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let mut ended = vec![false; self.graph.len()];
        for told in &self.graph.told {
            if let Some(node) = told.ended {
                ended[node.index()] = true;
            }
        }
        let unended = self.graph.nodes().filter(|node| !ended[node.index()]);
        self.graph.unended = unended.collect();
        self.graph.accesses = access_sets(self.graph.len(), self.recorded, self.made_by)?;
        Ok(self.graph)
    }

    /// Whether the run can still be the depth-first one, after an event or access of this task.
    fn is_running(&self, task: TaskId) -> bool {
        self.live.last() == Some(&task)
    }

    fn note_constructs(&mut self, event: &Event) {
        let mut running = true;
        match *event {
            Event::TaskBegin {
                task,
                parent,
                finish,
                ..
            } => {
                if let Some(parent) = parent {
                    running = self.is_running(parent);
                    self.graph.constructs.escaping |= self.steps.innermost(parent) != Some(finish);
                }
                self.live.push(task);
            }
            Event::TaskEnd { task } => {
                running = self.is_running(task);
                self.live.pop();
            }
            Event::Suspend { .. } | Event::Resume { .. } => running = false,
            Event::Lock { .. } | Event::Unlock { .. } => self.graph.constructs.locks = true,
            Event::Release { .. }
            | Event::Acquire { .. }
            | Event::Relay { .. }
            | Event::Glimpse { .. }
            | Event::GlimpseEnd { .. } => self.graph.constructs.releases = true,
            Event::PromiseSet { .. } | Event::PromiseGet { .. } => {
                self.graph.constructs.promises = true;
            }
            Event::FinishBegin { task, .. }
            | Event::FinishJoin { task, .. }
            | Event::FinishEnd { task, .. }
            | Event::IsolatedBegin { task, .. }
            | Event::IsolatedEnd { task, .. } => running = self.is_running(task),
            Event::Alloc { .. } => {}
        }
        self.graph.constructs.turns |= !running;
    }

    fn follow(&mut self, event: &Event) -> Result<(), Failure> {
        if self.graph.len() + STEPS_OF_AN_EVENT > MOST_NODES {
            return Err(Failure::TooMany {
                what: "nodes",
                limit: MOST_NODES,
            });
        }
        self.note_constructs(event);
        let actor = match *event {
            Event::TaskBegin { parent, .. } => parent,
            _ => Some(event.task()),
        };
        let before = actor.map(|task| self.steps.now(task).step);
        let first_new = self.graph.len();
        self.steps.event(event, &mut self.graph);
        self.place(first_new, event);
        let after = actor.map(|task| self.steps.now(task).step);
        let ends = before != after || matches!(event, Event::TaskEnd { .. });
        let ended = before.filter(|_| ends).map(NodeId::at);
        if let (Event::TaskBegin { .. }, Some(creator)) = (event, ended) {
            self.graph.nodes[creator.index()].creates = true;
        }
        make_room(&mut self.graph.told, 1)?;
        self.graph.told.push(Told {
            event: *event,
            ended,
        });
        Ok(())
    }

    /// Notes the event of the nodes from `first_new` on, and what they are in.
    fn place(&mut self, first_new: usize, event: &Event) {
        if let Event::FinishEnd { task, .. } = event {
            self.open.entry(*task).or_default().pop();
        }
        for index in first_new..self.graph.len() {
            let (new, node) = (NodeId::at(index), &mut self.graph.nodes[index]);
            let of_task = match *event {
                Event::TaskBegin { parent, .. } => parent.unwrap_or(node.task),
                _ => node.task,
            };
            let outer = self.open.get(&of_task).and_then(|open| open.last());
            (node.event, node.inside) = (self.graph.told.len(), outer.copied().unwrap_or(new));
            if matches!(node.begins, Begins::Task | Begins::Finish) {
                self.open.entry(node.task).or_default().push(new);
            }
        }
        if let Event::TaskEnd { task } = event {
            self.open.remove(task);
        }
    }

    fn record(&mut self, access: &Access) -> Result<(), Failure> {
        self.graph.constructs.turns |= !self.is_running(access.task);
        let node = NodeId::at(self.steps.now(access.task).step);
        for location in access.locations() {
            make_room(&mut self.recorded, 1)?;
            make_room(&mut self.made_by, 1)?;
            self.recorded.push(NodeAccess {
                location,
                kind: access.kind,
                id: access.id,
            });
            self.made_by.push(node);
            if self.recorded.len() >= (2 * self.distinct).max(FEW_ACCESSES) {
                self.remove_repeated()?;
            }
        }
        Ok(())
    }

    fn remove_repeated(&mut self) -> Result<(), Failure> {
        let (recorded, made_by) = (take(&mut self.recorded), take(&mut self.made_by));
        let sets = access_sets(self.graph.len(), recorded, made_by)?;
        self.distinct = sets.list.len();
        make_room(&mut self.made_by, self.distinct)?;
        for node in self.graph.nodes() {
            let count = sets.of(node).len();
            self.made_by.extend(repeat_n(node, count));
        }
        self.recorded = sets.list;
        Ok(())
    }
}

/// Makes room for more entries. Adding them then can't fail.
pub(crate) fn make_room<T>(entries: &mut Vec<T>, more: usize) -> Result<(), Failure> {
    entries.try_reserve(more).map_err(|_| {
        let bytes = (entries.len() + more).saturating_mul(size_of::<T>());
        let table = "the computation graph";
        Failure::Memory(TableError::Refused { table, bytes })
    })
}

/// Sorts accesses by node, location and kind, and keeps one of each.
fn access_sets(
    nodes: usize,
    recorded: Vec<NodeAccess>,
    made_by: Vec<NodeId>,
) -> Result<Lists<NodeAccess>, Failure> {
    let mut starts = vec![0; nodes + 1];
    for node in &made_by {
        starts[node.index() + 1] += 1;
    }
    for node in 0..nodes {
        starts[node + 1] += starts[node];
    }
    let mut list = Vec::new();
    make_room(&mut list, recorded.len())?;
    list.extend_from_slice(&recorded);
    let mut ends = starts.clone();
    for (node, access) in made_by.iter().zip(&recorded) {
        let end = &mut ends[node.index()];
        list[*end] = *access;
        *end += 1;
    }
    let mut kept = 0;
    for node in 0..nodes {
        let (from, to) = (starts[node], starts[node + 1]);
        starts[node] = kept;
        let key = |access: &NodeAccess| (access.location, access.kind == AccessKind::Write);
        list[from..to].sort_by_key(key);
        for index in from..to {
            if kept == starts[node] || key(&list[kept - 1]) != key(&list[index]) {
                list[kept] = list[index];
                kept += 1;
            }
        }
    }
    starts[nodes] = kept;
    list.truncate(kept);
    Ok(Lists { starts, list })
}

impl StepGraph for Graph {
    fn step(&mut self, step: Step, predecessors: &[usize]) {
        let node = NodeId::at(self.nodes.len());
        let mut block = NO_BLOCK;
        if step.isolated {
            if step.begins == Begins::Isolated {
                self.blocks.push([node; 2]);
            }
            block = self.blocks.len() as u32 - 1;
            self.blocks[block as usize][1] = node;
        }
        self.nodes.push(Node {
            task: step.task,
            begins: step.begins,
            creates: false,
            block,
            inside: node,
            event: 0,
        });
        let predecessors = predecessors.iter().copied().map(NodeId::at);
        self.predecessors.list.extend(predecessors);
        self.predecessors.starts.push(self.predecessors.list.len());
    }

    /// Those between isolated blocks follow from the numbers of the blocks. Others are refused.
    fn observed(&mut self, _: usize, _: usize, _: Observed) {}

    fn after_glimpse(&mut self, step: Step, previous: usize, _: usize) {
        self.step(step, &[previous]);
    }
}

impl Observer for GraphBuilder {
    fn event(&mut self, event: &Event) {
        if self.failure.is_none() {
            self.failure = self.follow(event).err();
        }
    }

    fn access(&mut self, access: &Access) {
        if self.failure.is_none() {
            self.failure = self.record(access).err();
        }
    }
}
