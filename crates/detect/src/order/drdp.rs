//! DRDP: the order of tasks with promises by a structure tree, and by a walk over the promises that
//! were got.
//!
//! [DRDP §4.1] The [structure tree](super::structure_tree) knows tasks and finishes. A get is a
//! *non-tree join*. Tasks joined by finishes form disjoint sets. A set keeps its non-tree joins
//! (nt) and the lowest ancestor that had any when the task was created (its *least significant
//! ancestor*, lsa). Only sets of live tasks are asked for, so a set is what its live task keeps. A
//! promise that is set counts as an empty task that its setter creates:
//!
//! ```text
//! T creates U          nt(U) = {}    lsa(U) = (T, nt(T)) if nt(T) is not empty, else lsa(T)
//! T sets p             as if T created an empty task; p stands for it
//! T gets p             nt(T) = nt(T) ∪ {p}
//! a finish of T ends   nt(T) = nt(T) ∪ nt(X), for each task X in it
//! ```
//!
//! [DRDP Fig. 9] a precedes b if the tree says so, or if the tree says that a precedes the empty
//! task of a promise that can be reached from b's task by nt and lsa.
//!
//! DIVERGENCE: the set, the lsa and the tree node of the empty task are not in the figure. They are
//! made as for any other task, and so the walk goes on from a promise to its setter's joins.
//!
//! DIVERGENCE: the figure looks up nt and lsa of a task where the walk arrives, as they are now. A
//! task that has got more since, or has become part of another set by the end of a finish, then
//! offers a path that is not there:
//! `async { finish { async { p.set } async { r.get } } } async { x = 1; r.set } p.get; read x`.
//! Here an lsa is a frozen record: a prefix of nt, and the lsa of that time.
//!
//! DIVERGENCE: line 7 of PRECEDE answers true while the task of a is active. It is unsound and left
//! out: `async { p.get; q.get } async { x = 1; p.set } read x; q.set`.

use super::structure_tree::{Node, NodeKind, ROOT, StructureTree};
use super::{ESCAPING, NOBODY, Order, RELEASES, SUSPENDED, Stamp};
use crate::Failure;
use crate::table::{make_room, make_room_in};
use finishline_model::hash::{IdMap, IdSet};
use finishline_model::{Event, FinishId, Location, TaskId};
use std::collections::VecDeque;

/// The number of a task. Empty tasks have numbers too.
type Number = u32;

/// In which order the walk goes over non-tree joins [DRDP §4.4.1].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traversal {
    pub depth_first: bool,
    /// The oldest join of a task first.
    pub from_front: bool,
}

impl Traversal {
    pub const ALL: [Traversal; 4] = {
        let mut all = [Traversal::BEST; 4];
        all[0].depth_first = true;
        all[1].depth_first = true;
        all[1].from_front = true;
        all[3].from_front = true;
        all
    };
    /// The paper's choice.
    pub const BEST: Traversal = Traversal {
        depth_first: false,
        from_front: false,
    };
}

/// [DRDP Table 3] The tasks visited by the walks that the tree could not spare.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Visits {
    pub walks: u64,
    pub least: u64,
    pub most: u64,
    pub all: u64,
}

/// A frozen least significant ancestor.
#[derive(Clone, Copy, Debug)]
struct Lsa {
    /// The ancestor, and how many of its joins count.
    task: Number,
    joins: u32,
    above: Option<u32>,
}

#[derive(Clone, Debug, Default)]
struct TaskSet {
    /// The empty tasks of the promises got.
    nt: Vec<Number>,
    lsa: Option<u32>,
}

#[derive(Clone, Debug)]
struct LiveTask {
    number: Number,
    /// The task's node, or that of the innermost finish it has open.
    inside: Node,
    step: Node,
    finish: FinishId,
    innermost: Option<FinishId>,
}

#[derive(Clone, Debug)]
struct OpenFinish {
    /// The tasks that it waits for.
    tasks: Vec<Number>,
    /// The node around it, and the finish around it in the same task.
    outside: Node,
    outer: Option<FinishId>,
}

/// A moment of a live task.
#[derive(Clone, Copy, Default, Debug)]
pub struct Position {
    number: Number,
    step: Node,
}

#[derive(Debug)]
pub struct Drdp {
    traversal: Traversal,
    tree: StructureTree,
    /// By number.
    sets: Vec<TaskSet>,
    lsas: Vec<Lsa>,
    /// By number of an empty task: its step. [`ROOT`] for other tasks.
    steps: Vec<Node>,
    promises: IdMap<Location, Number>,
    live: IdMap<TaskId, LiveTask>,
    finishes: IdMap<FinishId, OpenFinish>,
    visits: Visits,
    /// [DRDP Table 2] The joins so far.
    tree_joins: u64,
    non_tree_joins: u64,
}

impl Drdp {
    pub fn with(traversal: Traversal) -> Self {
        Drdp {
            traversal,
            tree: StructureTree::new(),
            sets: Vec::new(),
            lsas: Vec::new(),
            steps: Vec::new(),
            promises: IdMap::default(),
            live: IdMap::default(),
            finishes: IdMap::default(),
            visits: Visits::default(),
            tree_joins: 0,
            non_tree_joins: 0,
        }
    }

    pub fn visits(&self) -> Visits {
        self.visits
    }

    /// The height of the tree.
    pub fn height(&self) -> u32 {
        self.tree.height()
    }

    /// The joins by finishes, and those by promises.
    pub fn joins(&self) -> [u64; 2] {
        [self.tree_joins, self.non_tree_joins]
    }

    fn new_task(&mut self, step: Node, creator: Option<Number>) -> Result<Number, Failure> {
        const TABLE: &str = "tasks and promises";
        let lsa = match creator {
            None => None,
            Some(creator) => {
                let set = &self.sets[creator as usize];
                if set.nt.is_empty() {
                    set.lsa
                } else {
                    let frozen = Lsa {
                        task: creator,
                        joins: set.nt.len() as u32,
                        above: set.lsa,
                    };
                    make_room(&mut self.lsas, 1, TABLE)?;
                    self.lsas.push(frozen);
                    Some(self.lsas.len() as u32 - 1)
                }
            }
        };
        make_room(&mut self.sets, 1, TABLE)?;
        make_room(&mut self.steps, 1, TABLE)?;
        self.sets.push(TaskSet {
            nt: Vec::new(),
            lsa,
        });
        self.steps.push(step);
        Ok(self.sets.len() as Number - 1)
    }

    /// The task goes on with a new step.
    fn next_step(&mut self, task: TaskId) -> Result<(), Failure> {
        if let Some(task) = self.live.get_mut(&task) {
            task.step = self.tree.add(task.inside, NodeKind::Step)?;
        }
        Ok(())
    }

    fn begin_task(
        &mut self,
        task: TaskId,
        parent: Option<TaskId>,
        finish: FinishId,
    ) -> Result<(), Failure> {
        let creator = parent.and_then(|parent| self.live.get(&parent).cloned());
        let inside = match &creator {
            None => ROOT,
            Some(creator) => {
                if creator.innermost.unwrap_or(creator.finish) != finish {
                    return Err(Failure::Unsupported(ESCAPING));
                }
                self.tree.add(creator.inside, NodeKind::Task)?
            }
        };
        let number = self.new_task(ROOT, creator.map(|creator| creator.number))?;
        if let Some(finish) = self.finishes.get_mut(&finish) {
            make_room(&mut finish.tasks, 1, "tasks of a finish")?;
            finish.tasks.push(number);
        }
        let step = self.tree.add(inside, NodeKind::Step)?;
        make_room_in(&mut self.live, "live tasks")?;
        self.live.insert(
            task,
            LiveTask {
                number,
                inside,
                step,
                finish,
                innermost: None,
            },
        );
        match parent {
            Some(parent) => self.next_step(parent),
            None => Ok(()),
        }
    }

    fn begin_finish(&mut self, task: TaskId, finish: FinishId) -> Result<(), Failure> {
        if let Some(owner) = self.live.get_mut(&task) {
            let inside = self.tree.add(owner.inside, NodeKind::Finish)?;
            make_room_in(&mut self.finishes, "open finishes")?;
            self.finishes.insert(
                finish,
                OpenFinish {
                    tasks: Vec::new(),
                    outside: owner.inside,
                    outer: owner.innermost,
                },
            );
            owner.inside = inside;
            owner.innermost = Some(finish);
        }
        self.next_step(task)
    }

    /// Ends the innermost finish of a task.
    fn end_finish(&mut self, task: TaskId) -> Result<Option<FinishId>, Failure> {
        let Some(owner) = self.live.get_mut(&task) else {
            return Ok(None);
        };
        let ended = owner.innermost;
        let Some(finish) = ended.and_then(|ended| self.finishes.remove(&ended)) else {
            return Ok(None);
        };
        (owner.inside, owner.innermost) = (finish.outside, finish.outer);
        let number = owner.number as usize;
        for joined in finish.tasks {
            // The joins of the task itself stay, because frozen records count on them.
            let nt = self.sets[joined as usize].nt.clone();
            make_room(&mut self.sets[number].nt, nt.len(), "non-tree joins")?;
            self.sets[number].nt.extend(nt);
            self.tree_joins += 1;
        }
        self.next_step(task)?;
        Ok(ended)
    }

    /// Ends a finish and begins it again, with those that are open inside.
    fn join(&mut self, task: TaskId, joined: FinishId) -> Result<(), Failure> {
        let mut inside = Vec::new();
        while let Some(ended) = self.end_finish(task)? {
            inside.push(ended);
            if ended == joined {
                break;
            }
        }
        for finish in inside.into_iter().rev() {
            self.begin_finish(task, finish)?;
        }
        Ok(())
    }

    fn set(&mut self, task: TaskId, promise: Location) -> Result<(), Failure> {
        let Some(&LiveTask { number, inside, .. }) = self.live.get(&task) else {
            return Ok(());
        };
        let empty = self.tree.add(inside, NodeKind::Task)?;
        let step = self.tree.add(empty, NodeKind::Step)?;
        let empty = self.new_task(step, Some(number))?;
        make_room_in(&mut self.promises, "promises")?;
        self.promises.insert(promise, empty);
        self.next_step(task)
    }

    fn get(&mut self, task: TaskId, promise: Location) -> Result<(), Failure> {
        if let (Some(&empty), Some(task)) = (self.promises.get(&promise), self.live.get(&task)) {
            let nt = &mut self.sets[task.number as usize].nt;
            make_room(nt, 1, "non-tree joins")?;
            nt.push(empty);
            self.non_tree_joins += 1;
        }
        Ok(())
    }

    /// [DRDP Fig. 9, lines 11 to 62] Whether a step precedes a promise that can be reached from a
    /// task by joins and ancestors.
    fn walk(&mut self, earlier: Node, task: Number) -> bool {
        let mut visited: IdSet<Number> = IdSet::default();
        let mut promises = VecDeque::new();
        let mut ancestors = VecDeque::new();
        let Traversal {
            depth_first,
            from_front,
        } = self.traversal;
        let add = |promises: &mut VecDeque<Number>, joins: &[Number]| {
            // A stack hands out last what comes last.
            if from_front != depth_first {
                promises.extend(joins);
            } else {
                promises.extend(joins.iter().rev());
            }
        };
        let take = |queue: &mut VecDeque<u32>| match depth_first {
            true => queue.pop_back(),
            false => queue.pop_front(),
        };
        let set = &self.sets[task as usize];
        add(&mut promises, &set.nt);
        ancestors.extend(set.lsa);
        let found = 'walk: loop {
            while let Some(promise) = take(&mut promises) {
                if !visited.insert(promise) {
                    continue;
                }
                if self.tree.precedes(earlier, self.steps[promise as usize]) {
                    break 'walk true;
                }
                ancestors.extend(self.sets[promise as usize].lsa);
            }
            let Some(lsa) = take(&mut ancestors) else {
                break false;
            };
            let lsa = self.lsas[lsa as usize];
            let joins = &self.sets[lsa.task as usize].nt[..lsa.joins as usize];
            add(&mut promises, joins);
            ancestors.extend(lsa.above);
        };
        let count = visited.len() as u64;
        if count > 0 {
            let visits = &mut self.visits;
            visits.least = if visits.walks == 0 {
                count
            } else {
                visits.least.min(count)
            };
            visits.walks += 1;
            visits.most = visits.most.max(count);
            visits.all += count;
        }
        found
    }
}

impl Order for Drdp {
    type Strand = Position;

    fn new() -> Result<Self, Failure> {
        Ok(Drdp::with(Traversal::BEST))
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        match *event {
            Event::TaskBegin {
                task,
                parent,
                finish,
                ..
            } => self.begin_task(task, parent, finish),
            Event::TaskEnd { task } => {
                self.live.remove(&task);
                Ok(())
            }
            Event::FinishBegin { task, finish, .. } => self.begin_finish(task, finish),
            Event::FinishJoin { task, finish, .. } => self.join(task, finish),
            Event::FinishEnd { task, .. } => self.end_finish(task).map(drop),
            Event::PromiseSet { task, promise, .. } => self.set(task, promise),
            Event::PromiseGet { task, promise, .. } => self.get(task, promise),
            Event::Release { .. }
            | Event::Acquire { .. }
            | Event::Relay { .. }
            | Event::Glimpse { .. }
            | Event::GlimpseEnd { .. } => Err(Failure::Unsupported(RELEASES)),
            Event::Suspend { .. } | Event::Resume { .. } => Err(Failure::Unsupported(SUSPENDED)),
            Event::IsolatedBegin { .. }
            | Event::IsolatedEnd { .. }
            | Event::Lock { .. }
            | Event::Unlock { .. }
            | Event::Alloc { .. } => Ok(()),
        }
    }

    fn strand(&self, task: TaskId) -> Position {
        match self.live.get(&task) {
            Some(&LiveTask { number, step, .. }) => Position { number, step },
            None => Position::default(),
        }
    }

    #[inline]
    fn stamp(&self, strand: Position) -> Stamp {
        strand.step
    }

    fn parallel(&mut self, strand: Position, earlier: Stamp) -> bool {
        earlier != NOBODY
            && !self.tree.precedes(earlier, strand.step)
            && !self.walk(earlier, strand.number)
    }

    fn clear(&mut self) {
        *self = Drdp::with(self.traversal);
    }

    fn used_bytes(&self) -> usize {
        let joins: usize = self.sets.iter().map(|set| set.nt.capacity()).sum();
        self.tree.used_bytes()
            + joins * size_of::<Number>()
            + self.sets.capacity() * size_of::<TaskSet>()
            + self.lsas.capacity() * size_of::<Lsa>()
            + self.steps.capacity() * size_of::<Node>()
            + self.promises.capacity() * size_of::<(Location, Number)>()
    }
}
