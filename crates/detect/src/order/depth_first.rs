//! An order of depth-first runs, for programs with locks.
//!
//! A program whose tasks take locks is run depth-first as long as nobody waits. A task that wants a
//! lock of the task that created it must wait, and from there on tasks take turns. The orders of
//! depth-first runs have no rule for that, and would not notice. So this one keeps the stack of
//! live tasks, and **refuses the run as soon as another task goes on than the one on top**. Until
//! then the run is depth-first, and every answer is that of the order inside.
//!
//! With the histories by lockset this is ALL-SETS [Cheng et al. 1998], for SP-bags as there, and
//! for ESP-bags.

use crate::Failure;
use crate::order::{Effort, Order, Running, Stamp};
use crate::table::make_room;
use finishline_model::{Event, TaskId};

const TURNS: &str = "tasks that take turns, as they do when one waits for a lock";

#[derive(Debug)]
pub struct DepthFirst<O> {
    order: O,
    live: Vec<TaskId>,
}

impl<O: Order<Strand = Running>> Order for DepthFirst<O> {
    type Strand = Running;

    /// It may be told of any run, and must hear which task goes on.
    const DEPTH_FIRST: bool = false;

    fn new() -> Result<Self, Failure> {
        Ok(DepthFirst {
            order: O::new()?,
            live: Vec::new(),
        })
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        match *event {
            Event::TaskBegin { task, parent, .. } => {
                parent.map_or(Ok(()), |parent| self.goes_on(parent))?;
                make_room(&mut self.live, 1, "live tasks")?;
                self.live.push(task);
            }
            Event::TaskEnd { task } => {
                self.goes_on(task)?;
                self.live.pop();
            }
            _ => self.goes_on(event.task())?,
        }
        self.order.event(event)
    }

    fn goes_on(&mut self, task: TaskId) -> Result<(), Failure> {
        match self.live.last() {
            Some(top) if *top != task => Err(Failure::Unsupported(TURNS)),
            _ => Ok(()),
        }
    }

    fn strand(&self, task: TaskId) -> Running {
        self.order.strand(task)
    }

    fn stamp(&self, strand: Running) -> Stamp {
        self.order.stamp(strand)
    }

    fn parallel(&mut self, strand: Running, earlier: Stamp) -> bool {
        self.order.parallel(strand, earlier)
    }

    fn stands_for_now(&self, strand: Running, parallel: Stamp) -> bool {
        self.order.stands_for_now(strand, parallel)
    }

    fn stands_for(&mut self, strand: Running, earlier: Stamp, later: Stamp) -> bool {
        self.order.stands_for(strand, earlier, later)
    }

    fn precedes_all(&mut self, strand: Running, earlier: Stamp) -> bool {
        self.order.precedes_all(strand, earlier)
    }

    fn knows_more(&self, strand: Running) -> bool {
        self.order.knows_more(strand)
    }

    fn serial_below(&self, strand: Running) -> Stamp {
        self.order.serial_below(strand)
    }

    fn parallel_above(&self, strand: Running) -> Stamp {
        self.order.parallel_above(strand)
    }

    fn effort(&self) -> Effort {
        self.order.effort()
    }

    fn clear(&mut self) {
        self.order.clear();
        self.live.clear();
    }

    fn used_bytes(&self) -> usize {
        self.order.used_bytes() + self.live.capacity() * size_of::<TaskId>()
    }
}
