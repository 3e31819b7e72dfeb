//! A shared order and its history over a run that is told event by event.
//!
//! The strands of live tasks and what open finishes carry are kept here. In a parallel run the
//! tasks carry them.

use super::{SharedHistory, SharedOrder};
use crate::Failure;
use crate::findings::{Findings, Found};
use crate::locations::MOST_LOCATIONS;
use crate::order::{ESCAPING, Effort, LOCKS, PROMISES, RELEASES, SUSPENDED};
use crate::table::{Table, make_room, make_room_in};
use finishline_model::hash::IdMap;
use finishline_model::{Access, Event, FinishId, Location, Observer, TaskId};

struct LiveTask<O: SharedOrder> {
    strand: O::Strand,
    /// The finish that waits for it.
    finish: FinishId,
    /// The finishes that it has open, innermost last.
    open: Vec<(FinishId, O::Finish)>,
}

pub struct InTurn<O: SharedOrder, H: SharedHistory<O>> {
    order: O,
    live: IdMap<TaskId, LiveTask<O>>,
    cells: Table<H::Cell>,
    found: Found,
}

impl<O: SharedOrder, H: SharedHistory<O>> InTurn<O, H> {
    pub fn new() -> Result<Self, Failure> {
        Ok(InTurn {
            order: O::new()?,
            live: IdMap::default(),
            cells: Table::reserve("locations", MOST_LOCATIONS)?,
            found: Found::new()?,
        })
    }

    /// The findings of a run that has ended or was cut short.
    pub fn finish(self) -> Result<Findings, Failure> {
        let (order, cells) = (self.order.used_bytes(), self.cells.used_bytes());
        self.found.finish_with(Effort::default(), order, cells)
    }

    fn follow(&mut self, event: &Event) -> Result<(), Failure> {
        self.found.statistics.event(event);
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
            Event::FinishBegin { task, finish, .. } => self.open(task, finish),
            Event::FinishEnd { task, finish, .. } => self.close(task, finish).map(drop),
            Event::FinishJoin { task, finish, .. } => {
                let inside = self.close(task, finish)?;
                inside.into_iter().try_for_each(|it| self.open(task, it))
            }
            Event::IsolatedBegin { .. } | Event::IsolatedEnd { .. } => {
                Err(Failure::Unsupported("isolated"))
            }
            Event::Lock { .. } | Event::Unlock { .. } => Err(Failure::Unsupported(LOCKS)),
            Event::PromiseSet { .. } | Event::PromiseGet { .. } => {
                Err(Failure::Unsupported(PROMISES))
            }
            Event::Release { .. }
            | Event::Acquire { .. }
            | Event::Relay { .. }
            | Event::Glimpse { .. }
            | Event::GlimpseEnd { .. } => Err(Failure::Unsupported(RELEASES)),
            Event::Suspend { .. } | Event::Resume { .. } => Err(Failure::Unsupported(SUSPENDED)),
            Event::Alloc { .. } => Ok(()),
        }
    }

    fn begin_task(
        &mut self,
        task: TaskId,
        parent: Option<TaskId>,
        finish: FinishId,
    ) -> Result<(), Failure> {
        let creator = parent.and_then(|parent| self.live.get_mut(&parent));
        let strand = match creator {
            None => self.order.main()?,
            Some(creator) => {
                let innermost = creator.open.last().map_or(creator.finish, |(id, _)| *id);
                if innermost != finish {
                    return Err(Failure::Unsupported(ESCAPING));
                }
                self.order.create(&mut creator.strand)?
            }
        };
        make_room_in(&mut self.live, "live tasks")?;
        let open = Vec::new();
        let begun = LiveTask {
            strand,
            finish,
            open,
        };
        self.live.insert(task, begun);
        Ok(())
    }

    fn open(&mut self, task: TaskId, finish: FinishId) -> Result<(), Failure> {
        if let Some(owner) = self.live.get_mut(&task) {
            make_room(&mut owner.open, 1, "open finishes")?;
            owner
                .open
                .push((finish, self.order.open(&mut owner.strand)?));
        }
        Ok(())
    }

    /// Closes the finishes of a task up to this one. Returns them, outermost first.
    fn close(&mut self, task: TaskId, finish: FinishId) -> Result<Vec<FinishId>, Failure> {
        let mut closed = Vec::new();
        if let Some(owner) = self.live.get_mut(&task) {
            while let Some((id, carried)) = owner.open.pop() {
                self.order.close(&mut owner.strand, carried)?;
                closed.insert(0, id);
                if id == finish {
                    break;
                }
            }
        }
        Ok(closed)
    }

    fn check(&mut self, access: &Access, location: Location) -> Result<(), Failure> {
        let index = location.0 as usize;
        self.cells.grow_to(index.saturating_add(1))?;
        if let Some(task) = self.live.get(&access.task) {
            let cell = &mut self.cells[index];
            let (after, races) = H::access(*cell, access.kind, &self.order, &task.strand);
            *cell = after;
            if races {
                self.found.race(location);
            }
        }
        Ok(())
    }
}

impl<O: SharedOrder, H: SharedHistory<O>> Observer for InTurn<O, H> {
    fn event(&mut self, event: &Event) {
        if self.found.failure.is_none() {
            self.found.failure = self.follow(event).err();
        }
    }

    fn access(&mut self, access: &Access) {
        self.found.statistics.access(access);
        for location in access.locations() {
            if self.found.failure.is_none()
                && let Err(failure) = self.check(access, location)
            {
                self.found.fail(failure);
            }
        }
    }
}
