//! The rules of a well-formed stream, checked record by record.
//!
//! Detectors rely on the rules in `finishline_model::event`, and on ids that are in their tables.
//! A file may say anything. So the reader passes nothing on that breaks a rule. Tasks and finishes
//! are numbered by the reader itself, and a location must belong to an object that was told of.
//!
//! Memory: the tasks and finishes under way, the locks that are held, and the promises that have
//! been set.

use crate::error::Wrong;
use crate::program::Program;
use finishline_model::hash::{IdMap, IdSet};
use finishline_model::{
    Access, Event, FinishId, FinishKind, Location, LockId, SiteId, TaskId, TaskKind,
};

/// No object ends behind this location.
pub(crate) const MOST_LOCATIONS: u64 = 1 << 36;
/// The most tasks, and the most finishes.
pub(crate) const MOST_TASKS: u32 = 1 << 30;

#[derive(Debug)]
struct Live {
    /// The finish that waits for it.
    finish: FinishId,
    /// The finishes that it has open, the innermost last.
    open: Vec<FinishId>,
    isolated: bool,
}

#[derive(Debug)]
pub(crate) struct Validity<'p> {
    program: &'p Program,
    depth_first: bool,
    tasks: IdMap<TaskId, Live>,
    /// The open finishes, each with the number of tasks that it has to wait for.
    finishes: IdMap<FinishId, u32>,
    /// Of a depth-first run: the tasks under way, the running one last.
    running: Vec<TaskId>,
    begun: bool,
    /// Locations from here on belong to no object yet.
    end: u64,
    /// The locations of the largest object.
    largest: u64,
    set: IdSet<Location>,
    locks_made: u32,
    held: IdMap<LockId, TaskId>,
}

type Checked = Result<(), Wrong>;

fn rule(holds: bool, otherwise: &'static str) -> Checked {
    match holds {
        true => Ok(()),
        false => Err(Wrong::Impossible(otherwise)),
    }
}

impl<'p> Validity<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        Validity {
            program,
            depth_first: program.is_depth_first(),
            tasks: IdMap::default(),
            finishes: IdMap::default(),
            running: Vec::new(),
            begun: false,
            end: 0,
            largest: 0,
            set: IdSet::default(),
            locks_made: 0,
            held: IdMap::default(),
        }
    }

    fn site(&self, site: SiteId) -> Checked {
        match site.index() < self.program.source.sites.len() {
            true => Ok(()),
            false => Err(Wrong::NoSuch("place")),
        }
    }

    /// The task, if it can do something now.
    fn live(&mut self, task: TaskId) -> Result<&mut Live, Wrong> {
        if self.depth_first {
            let runs = self.running.last() == Some(&task);
            rule(runs, "a task goes on while a task that it created runs")?;
        }
        let live = self.tasks.get_mut(&task);
        live.ok_or(Wrong::Impossible("a task does something that is not alive"))
    }

    /// The task, if it can do something now that isolated blocks can't.
    fn free(&mut self, task: TaskId) -> Result<&mut Live, Wrong> {
        let live = self.live(task)?;
        let what = "a task creates or joins tasks, or waits, inside an isolated block";
        rule(!live.isolated, what)?;
        Ok(live)
    }

    #[inline]
    pub(crate) fn access(&mut self, access: &Access) -> Checked {
        let runs = match self.depth_first {
            true => self.running.last() == Some(&access.task),
            false => self.tasks.contains_key(&access.task),
        };
        rule(runs, "a task accesses something that does not run")?;
        let steps = access.count.wrapping_sub(1);
        let last = (steps.checked_mul(access.stride))
            .and_then(|extent| access.first.0.checked_add(extent));
        rule(
            steps < self.largest && access.stride > 0 && last.is_some_and(|last| last < self.end),
            "an access leaves the objects that there are",
        )
    }

    /// Of `Alloc`, and of objects.
    pub(crate) fn object(&mut self, task: TaskId, first: Location, count: u64) -> Checked {
        self.live(task)?;
        let end = first.0.checked_add(count);
        let end = end.filter(|end| *end <= MOST_LOCATIONS);
        let end = end.ok_or(Wrong::Impossible("an object is too large"))?;
        rule(first.0 >= self.end, "an object lies where another one is")?;
        self.end = end;
        self.largest = self.largest.max(count);
        Ok(())
    }

    pub(crate) fn event(&mut self, event: &Event) -> Checked {
        match *event {
            Event::TaskBegin {
                task,
                parent,
                kind,
                finish,
                site,
            } => {
                self.site(site)?;
                self.begin(task, parent, kind, finish)
            }
            Event::TaskEnd { task } => {
                self.without_locks(task)?;
                let live = self.free(task)?;
                rule(live.open.is_empty(), "a task ends inside a finish")?;
                let finish = live.finish;
                if let Some(waits_for) = self.finishes.get_mut(&finish) {
                    *waits_for = waits_for.saturating_sub(1);
                }
                self.tasks.remove(&task);
                self.running.pop();
                Ok(())
            }
            Event::FinishBegin {
                task,
                finish,
                kind,
                site,
            } => {
                self.site(site)?;
                let is_root = finish == FinishId::ROOT && task == TaskId::MAIN;
                rule(
                    is_root == (kind == FinishKind::Root),
                    "only the first finish is the root",
                )?;
                self.without_locks(task)?;
                self.free(task)?.open.push(finish);
                self.finishes.insert(finish, 0);
                Ok(())
            }
            Event::FinishJoin { task, finish, site } => self.joined(task, finish, site),
            Event::FinishEnd { task, finish, site } => {
                self.joined(task, finish, site)?;
                self.finishes.remove(&finish);
                self.free(task)?.open.pop();
                Ok(())
            }
            Event::IsolatedBegin { task, site } => {
                self.site(site)?;
                let parallel = self.finishes.contains_key(&FinishId::ROOT);
                rule(parallel, "an isolated block is outside of everything")?;
                self.free(task)?.isolated = true;
                Ok(())
            }
            Event::IsolatedEnd { task, site } => {
                self.site(site)?;
                let live = self.live(task)?;
                rule(live.isolated, "an isolated block ends that never began")?;
                live.isolated = false;
                Ok(())
            }
            Event::PromiseSet {
                task,
                promise,
                site,
            } => {
                self.site(site)?;
                self.promise(promise)?;
                self.live(task)?;
                rule(self.set.insert(promise), "a promise is set twice")
            }
            Event::PromiseGet {
                task,
                promise,
                site,
            } => {
                self.site(site)?;
                self.promise(promise)?;
                self.without_locks(task)?;
                self.free(task)?;
                rule(
                    self.set.contains(&promise),
                    "a promise is got before it is set",
                )
            }
            Event::Alloc {
                task, first, count, ..
            } => self.object(task, first, count),
            Event::Lock { task, lock, .. } => {
                self.free(task)?;
                rule(lock.0 < self.locks_made, "there is no such lock")?;
                let before = self.held.insert(lock, task);
                rule(before.is_none(), "a lock is acquired that is held")
            }
            Event::Unlock { task, lock } => {
                self.free(task)?;
                let holder = self.held.remove(&lock);
                rule(
                    holder == Some(task),
                    "a task releases what it does not hold",
                )
            }
            Event::Release { .. }
            | Event::Acquire { .. }
            | Event::Relay { .. }
            | Event::Glimpse { .. }
            | Event::GlimpseEnd { .. }
            | Event::Suspend { .. }
            | Event::Resume { .. } => Err(Wrong::NoSuch("record")),
        }
    }

    fn begin(
        &mut self,
        task: TaskId,
        parent: Option<TaskId>,
        kind: TaskKind,
        finish: FinishId,
    ) -> Checked {
        let what = "only the first task is main";
        rule(parent.is_some() == self.begun, what)?;
        rule(parent.is_none() == (kind == TaskKind::Main), what)?;
        rule(task.0 < MOST_TASKS, "there are too many tasks")?;
        self.begun = true;
        if let Some(parent) = parent {
            let live = self.free(parent)?;
            let innermost = live.open.last().copied().unwrap_or(live.finish);
            rule(
                finish == innermost,
                "a task is outside its creator's finish",
            )?;
            let waits_for = self.finishes.get_mut(&finish);
            *waits_for.ok_or(Wrong::NoSuch("finish"))? += 1;
        }
        let live = Live {
            finish,
            open: Vec::new(),
            isolated: false,
        };
        self.tasks.insert(task, live);
        self.running.push(task);
        Ok(())
    }

    /// The innermost finish of a task is joined. All its tasks must have ended.
    fn joined(&mut self, task: TaskId, finish: FinishId, site: SiteId) -> Checked {
        self.site(site)?;
        self.without_locks(task)?;
        let innermost = self.free(task)?.open.last().copied();
        rule(innermost == Some(finish), "a finish is joined out of order")?;
        let waits_for = self.finishes.get(&finish).copied();
        rule(waits_for == Some(0), "a finish ends before its tasks do")
    }

    /// Of an object that is a lock.
    pub(crate) fn lock_made(&mut self) {
        self.locks_made = self.locks_made.saturating_add(1);
    }

    /// What a task does now it may not do while it holds a lock. Few locks are held at a time.
    fn without_locks(&self, task: TaskId) -> Checked {
        let holds = self.held.values().any(|holder| *holder == task);
        rule(!holds, "a task waits or ends while it holds a lock")
    }

    fn promise(&self, promise: Location) -> Checked {
        rule(
            !self.depth_first && promise.0 < self.end,
            "there is no such promise",
        )
    }
}
