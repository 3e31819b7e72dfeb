//! Groups of nodes, so that the drawing of a large graph stays readable.
//!
//! A graph with few nodes is not changed: each node is a group. Otherwise three steps follow, each
//! only if the one before leaves too many groups.
//!
//! 1. Like iterations are one. The nodes of a task are a sequence of letters. The letter of a node
//!    stands for the event that it begins with, the places of its accesses in the source, and the
//!    task that was created just before it, as a word of letters itself. If a part of the sequence
//!    repeats, the repetitions are laid on top of each other, with all tasks in them. Short parts
//!    come first, so loops inside loops are found from the inside out. How often a part repeats is
//!    not in its letter: two tasks are alike even if their loops run differently often.
//! 2. Deep tasks are folded: a task and everything in it are one group. The tasks at the greatest
//!    depth are folded first.
//! 3. The rest is left out, from the end. [`Collapsed::left_out`] counts it.
//!
//! Some nodes are kept, those that race. A kept node has a letter of its own, so nothing that
//! contains it is like anything else. A task that contains it is not folded.
//!
//! The cost is linear in nodes and accesses, times the logarithm of the depth of tasks if tasks are
//! folded. Letters are hashes of 64 bits. If two were equal by chance, unlike nodes would share a
//! group, and nothing worse.

use crate::graph::{Graph, NodeId};
use finishline_detect::steps::Begins;
use finishline_model::hash::IdHasher;
use finishline_model::{AccessKind, Event};
use std::hash::Hasher;

/// The longest part of a task's sequence whose repetitions are found, in letters.
const LONGEST_PART: usize = 16;

/// Nodes that are drawn as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// The node that stands for the others.
    pub node: NodeId,
    /// The number of its nodes.
    pub nodes: usize,
    /// The number of tasks that begin in it.
    pub tasks: usize,
    /// Its nodes are tasks with everything in them.
    pub folded: bool,
}

/// A graph in groups.
#[derive(Debug)]
pub struct Collapsed {
    /// In the order of the nodes that stand for them.
    pub groups: Vec<Group>,
    /// The number of nodes that are in no group.
    pub left_out: usize,
    group_of: Vec<u32>,
}

const NO_GROUP: u32 = u32::MAX;
const NO_TASK: u32 = u32::MAX;

impl Collapsed {
    /// The index of the group that a node is in. None if the node is left out.
    pub fn group_of(&self, node: NodeId) -> Option<usize> {
        let group = self.group_of[node.index()];
        (group != NO_GROUP).then_some(group as usize)
    }
}

/// Makes at most `most` groups, or as many as there are kept nodes.
pub fn collapse(graph: &Graph, keep: &[NodeId], most: usize) -> Collapsed {
    let whole = Merged::none(graph.len());
    if graph.len() <= most {
        return whole.groups(graph, keep, most);
    }
    let tasks = Tasks::new(graph, keep);
    let merge = |unfolded: usize| Merging::new(graph, &tasks, unfolded).merge();
    let mut merged = merge(usize::MAX);
    if merged.count() > most {
        // The greatest depth from which on all must be folded. Main has depth 0.
        let (mut fits, mut exceeds) = (1, tasks.deepest + 1);
        while fits + 1 < exceeds {
            let middle = fits.midpoint(exceeds);
            match merge(middle).count() <= most {
                true => fits = middle,
                false => exceeds = middle,
            }
        }
        merged = merge(fits);
    }
    merged.groups(graph, keep, most)
}

/// The tasks of a graph, in the order in which they began.
struct Tasks {
    /// The nodes of all tasks, each task's together.
    nodes: Vec<NodeId>,
    /// For each task the start of its nodes, then the end of the last one.
    starts: Vec<usize>,
    depths: Vec<usize>,
    deepest: usize,
    /// Whether a kept node is in the task or in a task that it contains.
    keeps: Vec<bool>,
    /// The task that was created just before the node, or `NO_TASK`.
    created_before: Vec<u32>,
    letters: Vec<u64>,
}

impl Tasks {
    fn new(graph: &Graph, keep: &[NodeId]) -> Tasks {
        let mut is_kept = vec![false; graph.len()];
        keep.iter().for_each(|node| is_kept[node.index()] = true);
        // Tasks are numbered in the order in which they begin, but not all numbers need occur.
        let most = graph.nodes().map(|node| graph.task(node).index() + 1);
        let mut number = vec![NO_TASK; most.max().unwrap_or(0)];
        let mut created_before = vec![NO_TASK; graph.len()];
        // The task that a node creates at its end.
        let mut created_by = created_before.clone();
        let (mut depths, mut parents, mut of_node) = (Vec::new(), Vec::new(), Vec::new());
        for node in graph.nodes() {
            let before = graph.predecessors(node).first();
            match graph.begins(node) {
                Begins::Task => {
                    let this = depths.len() as u32;
                    number[graph.task(node).index()] = this;
                    let parent = before.map(|creator| {
                        created_by[creator.index()] = this;
                        of_node[creator.index()] as usize
                    });
                    depths.push(parent.map_or(0, |parent| depths[parent] + 1));
                    parents.push(parent);
                }
                Begins::AfterCreation => {
                    let created = before.map(|creator| created_by[creator.index()]);
                    created_before[node.index()] = created.unwrap_or(NO_TASK);
                }
                _ => {}
            }
            of_node.push(number[graph.task(node).index()]);
        }
        let mut starts = vec![0; depths.len() + 1];
        for task in &of_node {
            starts[*task as usize + 1] += 1;
        }
        for task in 0..depths.len() {
            starts[task + 1] += starts[task];
        }
        let mut ends = starts.clone();
        let mut nodes = vec![NodeId(0); graph.len()];
        let mut keeps = vec![false; depths.len()];
        for (node, task) in graph.nodes().zip(&of_node) {
            let task = *task as usize;
            nodes[ends[task]] = node;
            ends[task] += 1;
            keeps[task] |= is_kept[node.index()];
        }
        for task in (0..depths.len()).rev() {
            if let (true, Some(parent)) = (keeps[task], parents[task]) {
                keeps[parent] = true;
            }
        }
        let letter = |node: NodeId| letter(graph, node, is_kept[node.index()]);
        Tasks {
            nodes,
            starts,
            deepest: depths.iter().copied().max().unwrap_or(0),
            depths,
            keeps,
            created_before,
            letters: graph.nodes().map(letter).collect(),
        }
    }

    fn of(&self, task: usize) -> &[NodeId] {
        &self.nodes[self.starts[task]..self.starts[task + 1]]
    }
}

/// The letter of a node, without the task before it.
fn letter(graph: &Graph, node: NodeId, is_kept: bool) -> u64 {
    let mut hasher = IdHasher::default();
    if is_kept {
        hasher.write_u32(node.0);
        hasher.write_u64(u64::MAX);
        return hasher.finish();
    }
    hasher.write_u32(graph.begins(node) as u32);
    let site = graph.event(node).site();
    hasher.write_u32(site.map_or(u32::MAX, |site| site.0));
    if let Event::FinishBegin { kind, .. } = graph.event(node) {
        hasher.write_u32(*kind as u32);
    }
    let accesses = graph.accesses(node).iter();
    let mut places: Vec<(u32, bool)> = accesses
        .map(|access| (access.id.0, access.kind == AccessKind::Write))
        .collect();
    places.sort_unstable();
    places.dedup();
    for (place, writes) in places {
        hasher.write_u64(u64::from(place) << 1 | u64::from(writes));
    }
    hasher.finish()
}

/// For each node the one that it is merged into, itself if none.
struct Merged {
    into: Vec<NodeId>,
    folded: Vec<bool>,
}

impl Merged {
    fn none(nodes: usize) -> Merged {
        Merged {
            into: (0..nodes).map(NodeId::at).collect(),
            folded: vec![false; nodes],
        }
    }

    fn merge(&mut self, node: NodeId, into: NodeId) {
        self.into[node.index()] = into;
    }

    fn count(&self) -> usize {
        let nodes = self.into.iter().enumerate();
        nodes.filter(|(index, into)| into.index() == *index).count()
    }

    /// The node that stands for this one.
    fn find(&mut self, mut node: NodeId) -> NodeId {
        while self.into[node.index()] != node {
            let next = self.into[node.index()];
            self.into[node.index()] = self.into[next.index()];
            node = next;
        }
        node
    }

    fn groups(mut self, graph: &Graph, keep: &[NodeId], most: usize) -> Collapsed {
        let mut is_kept = vec![false; graph.len()];
        for node in keep {
            is_kept[self.find(*node).index()] = true;
        }
        let kept = is_kept.iter().filter(|is_kept| **is_kept).count();
        let mut others = most.saturating_sub(kept);
        let mut collapsed = Collapsed {
            groups: Vec::new(),
            left_out: 0,
            group_of: vec![NO_GROUP; graph.len()],
        };
        for node in graph.nodes() {
            let is_kept = is_kept[node.index()];
            if self.into[node.index()] == node && (is_kept || others > 0) {
                others -= usize::from(!is_kept);
                collapsed.group_of[node.index()] = collapsed.groups.len() as u32;
                collapsed.groups.push(Group {
                    node,
                    nodes: 0,
                    tasks: 0,
                    folded: self.folded[node.index()],
                });
            }
        }
        for node in graph.nodes() {
            let group = collapsed.group_of[self.find(node).index()];
            collapsed.group_of[node.index()] = group;
            match collapsed.groups.get_mut(group as usize) {
                Some(group) => {
                    group.nodes += 1;
                    group.tasks += usize::from(graph.begins(node) == Begins::Task);
                }
                None => collapsed.left_out += 1,
            }
        }
        collapsed
    }
}

/// A letter or a word: some nodes of a task, and all that is in the tasks before them. Items
/// with equal letters have like nodes at like places.
struct Item {
    letter: u64,
    nodes: Vec<NodeId>,
}

impl Item {
    /// Several items as one.
    fn of(items: Vec<Item>, mark: u64) -> Item {
        let mut hasher = IdHasher::default();
        hasher.write_u64(mark);
        items.iter().for_each(|item| hasher.write_u64(item.letter));
        // The longest list is not copied: tasks may be nested deeply.
        let mut items: Vec<Vec<NodeId>> = items.into_iter().map(|item| item.nodes).collect();
        items.sort_by_key(|nodes| std::cmp::Reverse(nodes.len()));
        let mut lists = items.into_iter();
        let mut nodes = lists.next().unwrap_or_default();
        lists.for_each(|list| nodes.extend(list));
        Item {
            letter: hasher.finish(),
            nodes,
        }
    }
}

/// What made an item of several: a node and the task before it, a whole task, a repetition.
const CREATION: u64 = 1;
const TASK: u64 = 2;
const REPETITION: u64 = 3;

struct Merging<'a> {
    graph: &'a Graph,
    tasks: &'a Tasks,
    /// Tasks at this depth and below are folded.
    unfolded: usize,
    merged: Merged,
}

impl<'a> Merging<'a> {
    fn new(graph: &'a Graph, tasks: &'a Tasks, unfolded: usize) -> Self {
        let merged = Merged::none(graph.len());
        Merging {
            graph,
            tasks,
            unfolded,
            merged,
        }
    }

    fn merge(mut self) -> Merged {
        let count = self.tasks.depths.len();
        let mut of_tasks: Vec<Option<Item>> = (0..count).map(|_| None).collect();
        // Tasks begin after the one that creates them. From the last to the first, every task that
        // a task creates has its item already.
        for task in (0..count).rev() {
            let nodes = self.tasks.of(task);
            let items = nodes.iter().map(|node| {
                let created = self.tasks.created_before[node.index()];
                let own = Item {
                    letter: self.tasks.letters[node.index()],
                    nodes: vec![*node],
                };
                match of_tasks.get_mut(created as usize).and_then(Option::take) {
                    Some(task) => Item::of(vec![own, task], CREATION),
                    None => own,
                }
            });
            let items: Vec<Item> = items.collect();
            let folds = self.tasks.depths[task] >= self.unfolded && !self.tasks.keeps[task];
            of_tasks[task] = Some(match folds {
                true => self.fold(nodes[0], items),
                false => Item::of(self.repetitions(items), TASK),
            });
        }
        self.merged
    }

    /// A task and all tasks in it as one node. Such tasks are alike if they were created at the
    /// same place.
    fn fold(&mut self, first: NodeId, items: Vec<Item>) -> Item {
        for node in items.iter().flat_map(|item| &item.nodes) {
            self.merged.merge(*node, first);
        }
        self.merged.folded[first.index()] = true;
        let site = self.graph.event(first).site();
        Item {
            letter: u64::from(site.map_or(u32::MAX, |site| site.0)),
            nodes: vec![first],
        }
    }

    /// The items with repetitions as one item each.
    fn repetitions(&mut self, mut items: Vec<Item>) -> Vec<Item> {
        loop {
            let before = items.len();
            for length in 1..=LONGEST_PART {
                items = self.repetitions_of(length, items);
            }
            if items.len() == before {
                return items;
            }
        }
    }

    /// Merges the repetitions of parts of this length.
    fn repetitions_of(&mut self, length: usize, items: Vec<Item>) -> Vec<Item> {
        let repeats = |at: usize| {
            let (part, rest) = items[at..].split_at(length);
            let next = rest.get(..length)?;
            let mut pairs = part.iter().zip(next);
            pairs
                .all(|(a, b)| a.letter == b.letter && a.nodes.len() == b.nodes.len())
                .then_some(at + length)
        };
        // For each part that repeats, its start and the start of its last repetition.
        let mut parts = Vec::new();
        let mut at = 0;
        while at + 2 * length <= items.len() {
            let mut last = at;
            while let Some(next) = (last + 2 * length <= items.len())
                .then(|| repeats(last))
                .flatten()
            {
                last = next;
            }
            if last > at {
                parts.push((at, last));
            }
            at = if last > at { last + length } else { at + 1 };
        }
        if parts.is_empty() {
            return items;
        }
        let mut kept = Vec::new();
        let mut rest = items.into_iter();
        let mut done = 0;
        for (from, last) in parts {
            kept.extend(rest.by_ref().take(from - done));
            let part: Vec<Item> = rest.by_ref().take(length).collect();
            for index in 0..last - from {
                let Some(item) = rest.next() else { break };
                let into = &part[index % length].nodes;
                for (node, into) in item.nodes.iter().zip(into) {
                    self.merged.merge(*node, *into);
                }
            }
            kept.push(Item::of(part, REPETITION));
            done = last + length;
        }
        kept.extend(rest);
        kept
    }
}
