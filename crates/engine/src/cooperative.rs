//! The run of a program with promises or locks on one worker.
//!
//! It is depth-first as far as that goes: a new task runs before its creator goes on. A task that
//! gets an empty promise waits, and the task on top of the stack of ready tasks goes on, most often
//! its creator. A `set` makes the tasks ready that wait for the promise. They run at once, in the
//! order in which they came to wait, and then the task that set it. A task that acquires a lock
//! which is held waits, too. A release makes the task ready that has waited longest. It runs at
//! once, and then the task that released the lock. The task that a finish waits
//! for last makes the owner of the finish ready, if that has come to its end.
//!
//! A `set` inside an isolated block resumes nobody before the end of the block. So no task ever
//! finds another one inside an isolated block.
//!
//! If no task is ready, each one waits for another: a deadlock.

use crate::run::Schedule;
use finishline_ir::machine::{Machine, Progress, Status};
use finishline_model::{FinishId, Location, TaskId};
use std::collections::{HashMap, VecDeque};

#[derive(Default)]
pub struct Cooperative {
    /// The tasks that can go on, the next one last.
    ready: Vec<TaskId>,
    /// By promise: the tasks that wait for it, in the order in which they came.
    getting: HashMap<Location, Vec<TaskId>>,
    /// By lock: the tasks that wait for it, in the order in which they came.
    acquiring: HashMap<Location, VecDeque<TaskId>>,
    /// By finish: its owner, which waits for the tasks in it.
    joining: HashMap<FinishId, TaskId>,
    /// Tasks whose promise was set by the isolated block under way.
    woken: Vec<TaskId>,
}

impl Cooperative {
    /// Notes what the task waits for.
    fn wait(&mut self, task: TaskId, machine: &Machine<'_>) {
        match machine.status(task) {
            Status::WaitingForPromise(promise) => {
                self.getting.entry(promise).or_default().push(task);
            }
            Status::WaitingForLock { lock, .. } => {
                self.acquiring.entry(lock).or_default().push_back(task);
            }
            Status::WaitingForFinish(finish) => {
                self.joining.insert(finish, task);
            }
            status @ (Status::Runnable | Status::WaitingForIsolation | Status::Done) => {
                unreachable!("a task that waits is {status:?}")
            }
        }
    }

    /// The task that goes on if the running one does not.
    pub(crate) fn pop(&mut self) -> Option<TaskId> {
        self.ready.pop()
    }

    /// Lets tasks that have waited go on before the running one.
    fn resume(&mut self, mut waiters: Vec<TaskId>, running: TaskId) -> Option<TaskId> {
        self.ready.push(running);
        waiters.reverse();
        self.ready.append(&mut waiters);
        self.ready.pop()
    }
}

impl Schedule for Cooperative {
    #[inline]
    fn next(
        &mut self,
        current: TaskId,
        progress: Progress,
        machine: &Machine<'_>,
    ) -> Option<TaskId> {
        match progress {
            Progress::Continue if self.woken.is_empty() => Some(current),
            Progress::Continue if machine.isolated() == Some(current) => Some(current),
            Progress::Continue => {
                let woken = std::mem::take(&mut self.woken);
                self.resume(woken, current)
            }
            Progress::Created(task) => {
                self.ready.push(current);
                Some(task)
            }
            Progress::Set(promise) => {
                let Some(mut waiters) = self.getting.remove(&promise) else {
                    return Some(current);
                };
                if machine.isolated() == Some(current) {
                    self.woken.append(&mut waiters);
                    return Some(current);
                }
                self.resume(waiters, current)
            }
            Progress::Released(lock) => {
                let waiting = self.acquiring.get_mut(&lock);
                match waiting.and_then(VecDeque::pop_front) {
                    Some(first) => self.resume(vec![first], current),
                    None => Some(current),
                }
            }
            Progress::Blocked => {
                self.wait(current, machine);
                self.ready.pop()
            }
            Progress::Ended => {
                let owner = machine.emptied().and_then(|it| self.joining.remove(&it));
                owner.or_else(|| self.ready.pop())
            }
        }
    }
}
