//! Events, accesses and facts as records.
//!
//! A record is a tag and its numbers. Numbers are written as differences from what both sides
//! expect ([`Predictions`]). Tasks and finishes are numbered in the order in which the trace tells
//! of them. So an id in a file is never greater than the number of records before it.

use crate::accesses::AccessWriter;
use crate::bytes::{put_difference, put_number};
use crate::prediction::{Begin, Pattern, Predictions};
use crate::program::{Program, construct_number};
use crate::record::{Creation, Object, Shape};
use finishline_model::hash::IdMap;
use finishline_model::{
    Access, Event, FinishId, FinishKind, Location, LockId, LockMode, TaskId, TaskKind,
};

/// The first bytes of records.
pub(crate) mod tag {
    pub(crate) const SWITCH: u8 = 0;
    pub(crate) const TASK_BEGIN: u8 = 1;
    pub(crate) const TASK_END: u8 = 2;
    pub(crate) const FINISH_BEGIN: u8 = 3;
    pub(crate) const FINISH_JOIN: u8 = 4;
    pub(crate) const FINISH_END: u8 = 5;
    pub(crate) const ISOLATED_BEGIN: u8 = 6;
    pub(crate) const ISOLATED_END: u8 = 7;
    pub(crate) const PROMISE_SET: u8 = 8;
    pub(crate) const PROMISE_GET: u8 = 9;
    pub(crate) const ALLOC: u8 = 10;
    pub(crate) const OBJECT: u8 = 11;
    pub(crate) const CREATED: u8 = 12;
    /// A task as predicted, with its creation.
    pub(crate) const TASK_AGAIN: u8 = 13;
    pub(crate) const LOCK: u8 = 14;
    pub(crate) const UNLOCK: u8 = 15;
}

pub(crate) const TASK_KINDS: [TaskKind; 3] = [TaskKind::Main, TaskKind::Async, TaskKind::Spawn];
pub(crate) const FINISH_KINDS: [FinishKind; 4] = [
    FinishKind::Root,
    FinishKind::Lexical,
    FinishKind::Dynamic,
    FinishKind::SyncScope,
];

fn number_of<T: PartialEq>(all: &[T], one: &T) -> u8 {
    all.iter().position(|it| it == one).unwrap_or_default() as u8
}

/// An event that this format has no record for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoRecord;

/// Makes records of a stream.
#[derive(Debug)]
pub(crate) struct Encoder {
    predictions: Predictions,
    accesses: AccessWriter,
    /// The latest task that has begun. It may not be written yet, because its creation may be as
    /// predicted.
    begun: Option<Begin>,
    is_unwritten: bool,
    /// The running task as the program numbers it.
    running: TaskId,
    /// The numbers in the trace of tasks and finishes under way.
    tasks: IdMap<TaskId, TaskId>,
    finishes: IdMap<FinishId, FinishId>,
    pub(crate) bytes: Vec<u8>,
}

impl Encoder {
    pub(crate) fn new(program: &Program) -> Encoder {
        Encoder {
            predictions: Predictions::new(program),
            accesses: AccessWriter::new(program.source.accesses.len()),
            begun: None,
            is_unwritten: false,
            running: TaskId::MAIN,
            tasks: IdMap::default(),
            finishes: IdMap::default(),
            bytes: Vec::new(),
        }
    }

    /// Writes what is not yet written.
    pub(crate) fn settle(&mut self) {
        self.accesses.settle(&mut self.bytes);
        if let Some(begin) = self.begun
            && std::mem::take(&mut self.is_unwritten)
        {
            self.bytes.push(tag::TASK_BEGIN);
            self.bytes.push(number_of(&TASK_KINDS, &begin.kind));
            self.put_finish(FinishId(begin.finish));
            self.put_site(begin.site);
        }
    }

    fn record(&mut self, tag: u8) {
        self.settle();
        self.bytes.push(tag);
    }

    /// The number in the trace of a task under way.
    pub(crate) fn task(&self, task: TaskId) -> TaskId {
        self.tasks.get(&task).copied().unwrap_or(TaskId::MAIN)
    }

    fn finish(&self, finish: FinishId) -> FinishId {
        self.finishes
            .get(&finish)
            .copied()
            .unwrap_or(FinishId::ROOT)
    }

    /// What follows is about this task.
    fn switch(&mut self, task: TaskId) {
        if self.is_unwritten {
            self.settle();
        }
        let numbered = self.task(task);
        if numbered != self.predictions.task {
            self.record(tag::SWITCH);
            let from = u64::from(self.predictions.task.0);
            put_difference(&mut self.bytes, from, u64::from(numbered.0));
            self.predictions.task = numbered;
        }
        self.running = task;
    }

    #[inline]
    pub(crate) fn access(&mut self, access: &Access) {
        if access.task != self.running {
            self.switch(access.task);
        }
        let now = Access {
            task: self.predictions.task,
            ..*access
        };
        self.accesses.write(&now, &mut self.bytes);
    }

    pub(crate) fn event(&mut self, event: &Event) -> Result<(), NoRecord> {
        match *event {
            Event::TaskBegin {
                task,
                parent,
                kind,
                finish,
                site,
            } => {
                if let Some(parent) = parent {
                    self.switch(parent);
                }
                let finish = self.finish(finish).0;
                self.settle();
                self.begun = Some(Begin {
                    kind,
                    finish,
                    site: site.0,
                });
                self.is_unwritten = true;
                self.tasks.insert(task, self.predictions.begin());
                self.forget_running();
            }
            Event::TaskEnd { task } => {
                self.switch(task);
                self.record(tag::TASK_END);
                self.tasks.remove(&task);
                self.predictions.end();
                self.forget_running();
            }
            Event::FinishBegin {
                task,
                finish,
                kind,
                site,
            } => {
                self.switch(task);
                self.record(tag::FINISH_BEGIN);
                self.bytes.push(number_of(&FINISH_KINDS, &kind));
                self.put_site(site.0);
                let number = FinishId(self.predictions.finishes);
                self.predictions.finishes += 1;
                self.predictions.finish = number.0;
                self.finishes.insert(finish, number);
            }
            Event::FinishJoin { task, finish, site } => {
                self.joined(tag::FINISH_JOIN, task, finish, site.0);
            }
            Event::FinishEnd { task, finish, site } => {
                self.joined(tag::FINISH_END, task, finish, site.0);
                self.finishes.remove(&finish);
            }
            Event::IsolatedBegin { task, site } => self.placed(tag::ISOLATED_BEGIN, task, site.0),
            Event::IsolatedEnd { task, site } => self.placed(tag::ISOLATED_END, task, site.0),
            Event::PromiseSet {
                task,
                promise,
                site,
            } => self.promise(tag::PROMISE_SET, task, promise, site.0),
            Event::PromiseGet {
                task,
                promise,
                site,
            } => self.promise(tag::PROMISE_GET, task, promise, site.0),
            Event::Alloc {
                task,
                allocation,
                first,
                count,
            } => {
                self.switch(task);
                self.record(tag::ALLOC);
                put_number(&mut self.bytes, u64::from(allocation.0));
                self.put_locations(first, count);
            }
            Event::Lock {
                task,
                lock,
                mode: LockMode::Exclusive,
            } => self.locked(tag::LOCK, task, lock),
            Event::Unlock { task, lock } => self.locked(tag::UNLOCK, task, lock),
            Event::Lock { .. }
            | Event::Release { .. }
            | Event::Acquire { .. }
            | Event::Relay { .. }
            | Event::Glimpse { .. }
            | Event::GlimpseEnd { .. }
            | Event::Suspend { .. }
            | Event::Resume { .. } => return Err(NoRecord),
        }
        Ok(())
    }

    /// A number that no task has lets the next record find out which task is running: after a task
    /// has ended, and while one that has begun is not yet written.
    fn forget_running(&mut self) {
        self.running = TaskId(u32::MAX);
    }

    fn joined(&mut self, tag: u8, task: TaskId, finish: FinishId, site: u32) {
        self.switch(task);
        let finish = self.finish(finish);
        self.record(tag);
        self.put_finish(finish);
        self.put_site(site);
    }

    fn placed(&mut self, tag: u8, task: TaskId, site: u32) {
        self.switch(task);
        self.record(tag);
        self.put_site(site);
    }

    fn locked(&mut self, tag: u8, task: TaskId, lock: LockId) {
        self.switch(task);
        self.record(tag);
        put_number(&mut self.bytes, u64::from(lock.0));
    }

    fn promise(&mut self, tag: u8, task: TaskId, promise: Location, site: u32) {
        self.switch(task);
        self.record(tag);
        put_difference(&mut self.bytes, self.predictions.promise, promise.0);
        self.predictions.promise = promise.0;
        self.put_site(site);
    }

    fn put_finish(&mut self, finish: FinishId) {
        let before = u64::from(self.predictions.finish);
        put_difference(&mut self.bytes, before, u64::from(finish.0));
        self.predictions.finish = finish.0;
    }

    fn put_site(&mut self, site: u32) {
        let before = u64::from(self.predictions.site);
        put_difference(&mut self.bytes, before, u64::from(site));
        self.predictions.site = site;
    }

    fn put_locations(&mut self, first: Location, count: u64) {
        put_difference(&mut self.bytes, self.predictions.next_location, first.0);
        put_number(&mut self.bytes, count);
        self.predictions.next_location = first.0.wrapping_add(count);
    }

    pub(crate) fn object(&mut self, object: &Object<'_>) {
        self.switch(object.task);
        self.record(tag::OBJECT);
        put_number(&mut self.bytes, u64::from(object.allocation.0));
        let first = (self.predictions.next_location, object.first.0);
        put_difference(&mut self.bytes, first.0, first.1);
        self.bytes.push(object.shape.number());
        match object.shape {
            Shape::Globals | Shape::Promise | Shape::Lock => {}
            Shape::Struct(number) => put_number(&mut self.bytes, u64::from(number)),
            Shape::Array(sizes) => {
                put_number(&mut self.bytes, sizes.len() as u64);
                for size in sizes {
                    put_number(&mut self.bytes, *size);
                }
            }
        }
        let earlier = &mut self.predictions.earlier[object.allocation.index()];
        put_difference(&mut self.bytes, *earlier, object.earlier);
        *earlier = object.earlier.wrapping_add(1);
        self.predictions.next_location = object.first.0.wrapping_add(object.count);
    }

    /// Of the task that has just begun.
    pub(crate) fn created(&mut self, creation: &Creation<'_>) {
        let now = creation.captures.iter().copied();
        let latest = self.predictions.functions.get(creation.function as usize);
        let Some(latest) = latest.filter(|it| it.captures.len() == creation.captures.len()) else {
            // Not in the tables, so nobody could read it.
            self.settle();
            return;
        };
        let pattern = self.begun.map(|begin| Pattern {
            begin,
            function: creation.function,
            construct: creation.construct,
        });
        let is_next = creation.index == latest.index.wrapping_add(1);
        if self.is_unwritten
            && pattern == self.predictions.pattern
            && is_next
            && latest.next().eq(now.clone())
        {
            self.again(creation.function);
        } else {
            self.record(tag::CREATED);
            let out = &mut self.bytes;
            put_number(out, u64::from(creation.function));
            out.push(construct_number(creation.construct));
            let latest = &mut self.predictions.functions[creation.function as usize];
            put_difference(out, u64::from(latest.index), u64::from(creation.index));
            for (before, now) in latest.captures.iter().zip(now.clone()) {
                put_difference(out, *before, now);
            }
            latest.learn(creation.index, now);
            self.predictions.pattern = pattern;
        }
        self.running = creation.task;
    }

    /// The task that has just begun is as predicted, and so is its creation.
    fn again(&mut self, function: u32) {
        self.is_unwritten = false;
        self.record(tag::TASK_AGAIN);
        if let Some(begin) = self.begun {
            self.predictions.finish = begin.finish;
            self.predictions.site = begin.site;
        }
        self.predictions.repeat(function);
    }
}
