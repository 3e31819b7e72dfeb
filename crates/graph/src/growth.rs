//! Runs of any size, to measure checkers by. They have no races.
//!
//! Every run is depth-first. `main` creates tasks in rounds, each in a finish of its own or all in
//! one. A task makes a fixed number of accesses: it writes places of its own and reads them again,
//! and it reads places that all tasks read. With isolated blocks, some tasks also count in one. So
//! all constructs of Zipper's graphs occur, and every access has to be checked.

use finishline_model::{
    Access, AccessId, AccessKind, Event, FinishId, FinishKind, Location, Observer, SiteId, TaskId,
    TaskKind,
};

/// The size and shape of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Growth {
    /// The least number of nodes.
    pub nodes: usize,
    /// The number of accesses for each node, about.
    pub accesses_a_node: usize,
    /// Every how many tasks there is an isolated block. None has one if this is 0.
    pub isolated_every: usize,
    /// The number of tasks in a finish. All are in one if this is 0.
    pub tasks_a_finish: usize,
}

const SITE: SiteId = SiteId(0);

/// Locations that all tasks read.
const SHARED: u64 = 1000;
/// The location that isolated blocks count in. Those of tasks follow.
const COUNTER: u64 = SHARED;

struct Run<'a, O> {
    observer: &'a mut O,
    nodes: usize,
    tasks: u32,
    finishes: u32,
    next_location: u64,
    accesses: u32,
}

impl Growth {
    /// Tells the run to an observer.
    pub fn tell(&self, observer: &mut impl Observer) {
        let mut run = Run {
            observer,
            nodes: 0,
            tasks: 0,
            finishes: 0,
            next_location: COUNTER + 1,
            accesses: 0,
        };
        run.begin_task(TaskKind::Main, FinishId::ROOT);
        let root = run.begin_finish(FinishKind::Root);
        for place in 0..SHARED {
            run.access(TaskId::MAIN, AccessKind::Write, place);
        }
        while run.nodes < self.nodes {
            let finish = run.begin_finish(FinishKind::Lexical);
            let mut left = match self.tasks_a_finish {
                0 => usize::MAX,
                tasks => tasks,
            };
            while left > 0 && run.nodes < self.nodes {
                left -= 1;
                self.task(&mut run, finish);
            }
            run.end_finish(finish);
        }
        run.end_finish(root);
        run.end_task(TaskId::MAIN);
    }

    fn task(&self, run: &mut Run<'_, impl Observer>, finish: FinishId) {
        // A task is two nodes, its own and what its creator does next.
        let accesses = 2 * self.accesses_a_node;
        let task = run.begin_task(TaskKind::Async, finish);
        let own = run.next_location;
        run.next_location += accesses as u64 / 4;
        for k in 0..accesses as u64 {
            let (kind, place) = match k % 4 {
                0 => (AccessKind::Write, own + k / 4),
                1 => (AccessKind::Read, own + k / 4),
                _ => (AccessKind::Read, (u64::from(task.0) * 7 + k) % SHARED),
            };
            run.access(task, kind, place);
        }
        if self.isolated_every > 0 && (task.0 as usize).is_multiple_of(self.isolated_every) {
            run.event(&Event::IsolatedBegin { task, site: SITE });
            run.access(task, AccessKind::Read, COUNTER);
            run.access(task, AccessKind::Write, COUNTER);
            run.event(&Event::IsolatedEnd { task, site: SITE });
        }
        run.end_task(task);
    }
}

impl<O: Observer> Run<'_, O> {
    fn event(&mut self, event: &Event) {
        self.observer.event(event);
        self.nodes += match event {
            Event::TaskBegin { parent: None, .. } => 1,
            Event::TaskBegin { .. } => 2,
            Event::TaskEnd { .. } => 0,
            _ => 1,
        };
    }

    fn access(&mut self, task: TaskId, kind: AccessKind, place: u64) {
        let id = AccessId(self.accesses);
        self.accesses = self.accesses.wrapping_add(1);
        self.observer.access(&Access {
            task,
            kind,
            first: Location(place),
            count: 1,
            stride: 1,
            id,
        });
    }

    fn begin_task(&mut self, kind: TaskKind, finish: FinishId) -> TaskId {
        let task = TaskId(self.tasks);
        self.tasks += 1;
        self.event(&Event::TaskBegin {
            task,
            parent: (task != TaskId::MAIN).then_some(TaskId::MAIN),
            kind,
            finish,
            site: SITE,
        });
        task
    }

    fn end_task(&mut self, task: TaskId) {
        self.event(&Event::TaskEnd { task });
    }

    fn begin_finish(&mut self, kind: FinishKind) -> FinishId {
        let finish = FinishId(self.finishes);
        self.finishes += 1;
        self.event(&Event::FinishBegin {
            task: TaskId::MAIN,
            finish,
            kind,
            site: SITE,
        });
        finish
    }

    fn end_finish(&mut self, finish: FinishId) {
        self.event(&Event::FinishEnd {
            task: TaskId::MAIN,
            finish,
            site: SITE,
        });
    }
}
