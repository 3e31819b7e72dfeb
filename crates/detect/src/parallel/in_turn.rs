//! A shared order and its history over a run that is told event by event.
//!
//! What live tasks and open finishes carry is kept here. In a parallel run it goes with them.

use super::{CarriedByFinish, CarriedByTask, Shared, SharedHistory, SharedOrder, Value, Worker};
use crate::Failure;
use crate::detectors::Uses;
use crate::findings::Findings;
use crate::locations::MOST_LOCATIONS;
use crate::order::ESCAPING;
use crate::table::{Table, make_room, make_room_in};
use finishline_model::hash::IdMap;
use finishline_model::{Access, Event, FinishId, Location, Observer, SiteId, TaskId};

struct LiveTask<O: SharedOrder> {
    carried: CarriedByTask<O>,
    /// The finish that waits for it, and its owner.
    finish: FinishId,
    owner: TaskId,
    /// The finishes that it has open, innermost last.
    open: Vec<(FinishId, CarriedByFinish<O>)>,
}

pub struct InTurn<O: SharedOrder, H: SharedHistory<O>> {
    shared: Shared<O, H>,
    worker: Worker<O, H>,
    live: IdMap<TaskId, LiveTask<O>>,
    cells: Table<Value<O, H>>,
}

impl<O: SharedOrder, H: SharedHistory<O>> InTurn<O, H> {
    /// A detector for programs that use these constructs.
    pub fn new(uses: Uses) -> Result<Self, Failure> {
        Ok(InTurn {
            shared: Shared::new(uses, 1)?,
            worker: Worker::new(0)?,
            live: IdMap::default(),
            cells: Table::reserve("locations", MOST_LOCATIONS)?,
        })
    }

    /// The findings of a run that has ended or was cut short.
    pub fn finish(self) -> Result<Findings, Failure> {
        let cells = self.cells.used_bytes();
        Worker::together(&self.shared, vec![self.worker], cells)
    }

    fn follow(&mut self, event: &Event) -> Result<(), Failure> {
        match *event {
            Event::TaskBegin {
                task,
                parent,
                finish,
                site,
                ..
            } => self.begin_task(task, parent, finish, site),
            Event::TaskEnd { task } => {
                self.end_task(task);
                Ok(())
            }
            Event::FinishBegin { task, finish, .. } => self.open(task, finish),
            Event::FinishEnd { task, finish, .. } => self.close(task, finish).map(drop),
            Event::FinishJoin { task, finish, .. } => {
                let inside = self.close(task, finish)?;
                inside.into_iter().try_for_each(|it| self.open(task, it))
            }
            _ => {
                if let Some(task) = self.live.get_mut(&event.task()) {
                    self.worker
                        .synchronise(&self.shared, &mut task.carried, event);
                }
                Ok(())
            }
        }
    }

    fn begin_task(
        &mut self,
        task: TaskId,
        parent: Option<TaskId>,
        finish: FinishId,
        site: SiteId,
    ) -> Result<(), Failure> {
        make_room_in(&mut self.live, "live tasks")?;
        let Some((parent, creator)) = parent.and_then(|id| Some((id, self.live.get_mut(&id)?)))
        else {
            let carried = self.worker.main(&self.shared);
            let begun = LiveTask {
                carried,
                finish,
                owner: task,
                open: Vec::new(),
            };
            self.live.insert(task, begun);
            // The finish around `main` has no beginning of its own in every stream.
            return self.open(task, finish);
        };
        let innermost = creator.open.last();
        let (innermost, owner) = match innermost {
            Some((id, _)) => (*id, parent),
            None => (creator.finish, creator.owner),
        };
        if innermost != finish {
            return Err(Failure::Unsupported(ESCAPING));
        }
        let carried = self.worker.create(&self.shared, &mut creator.carried, site);
        let begun = LiveTask {
            carried,
            finish,
            owner,
            open: Vec::new(),
        };
        self.live.insert(task, begun);
        Ok(())
    }

    fn end_task(&mut self, task: TaskId) {
        if let Some(ended) = self.live.remove(&task)
            && let Some(owner) = self.live.get(&ended.owner)
            && let Some((_, finish)) = owner.open.iter().find(|(id, _)| *id == ended.finish)
        {
            self.worker.end(&self.shared, ended.carried, finish);
        }
    }

    fn open(&mut self, task: TaskId, finish: FinishId) -> Result<(), Failure> {
        if let Some(owner) = self.live.get_mut(&task) {
            if owner.open.iter().any(|(id, _)| *id == finish) {
                return Ok(());
            }
            make_room(&mut owner.open, 1, "open finishes")?;
            let carried = self.worker.open(&self.shared, &mut owner.carried);
            owner.open.push((finish, carried));
        }
        Ok(())
    }

    /// Closes the finishes of a task up to this one. Returns them, outermost first.
    fn close(&mut self, task: TaskId, finish: FinishId) -> Result<Vec<FinishId>, Failure> {
        let mut closed = Vec::new();
        if let Some(owner) = self.live.get_mut(&task) {
            while let Some((id, carried)) = owner.open.pop() {
                self.worker.close(&self.shared, &mut owner.carried, carried);
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
        if let Some(task) = self.live.get_mut(&access.task) {
            let value = &mut self.cells[index];
            self.worker.access_alone(
                &self.shared,
                access.kind,
                value,
                &mut task.carried,
                location,
            );
        }
        Ok(())
    }

    fn noted(&mut self, result: Result<(), Failure>) {
        if let Err(failure) = result {
            self.worker.fail(failure);
        }
    }
}

impl<O: SharedOrder, H: SharedHistory<O>> Observer for InTurn<O, H> {
    fn event(&mut self, event: &Event) {
        self.worker.event(event);
        if self.worker.failure().is_none() {
            let followed = self.follow(event);
            self.noted(followed);
        }
    }

    fn access(&mut self, access: &Access) {
        self.worker.count_access(access);
        for location in access.locations() {
            if self.worker.failure().is_none() {
                let checked = self.check(access, location);
                self.noted(checked);
            }
        }
    }
}
