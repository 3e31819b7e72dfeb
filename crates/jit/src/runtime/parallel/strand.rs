//! A strand: a stack with tasks on it, the context of their code, and what they hold.
//!
//! The task on top runs. Each task below waits for the one above it: it has called that task
//! because it had created enough of them already, or it is at the end of a finish and has taken one
//! of its tasks. So the tasks of a strand run, wait and go on together, on whichever worker takes
//! the strand.

use super::super::context::Context;
use super::super::stack_room::StackRoom;
use super::finish::Finish;
use super::record::Record;
use crate::checker::Carried;
use finishline_model::{LockId, SiteId, TaskId};
use std::ops::Range;
use std::ptr::{NonNull, null_mut};

/// What is known of a live task besides its stack.
#[derive(Clone, Copy)]
pub(super) struct LiveTask {
    pub(super) id: TaskId,
    /// The immediately enclosing finish.
    pub(super) enclosing: NonNull<Finish>,
    /// The innermost finish that it has open itself.
    pub(super) innermost: Option<NonNull<Finish>>,
    /// How many tasks it has created.
    pub(super) created: u32,
    /// If it was handed over.
    pub(super) record: Option<NonNull<Record>>,
    /// For the checker.
    pub(super) carried: Carried,
}

impl LiveTask {
    /// A task that begins, by its record.
    pub(super) fn handed_over(place: NonNull<Record>, record: &Record) -> LiveTask {
        LiveTask {
            id: record.task,
            enclosing: record.finish,
            innermost: None,
            created: 0,
            record: Some(place),
            carried: record.carried,
        }
    }
}

/// A lock that a task holds.
pub(super) struct Held {
    pub(super) lock: LockId,
    pub(super) holder: TaskId,
    pub(super) acquired: SiteId,
}

/// What a strand waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaits {
    /// To be taken by a worker, or it runs, or it is idle.
    Nothing,
    /// The promise with this address.
    Promise(usize),
    /// The lock with this address.
    Lock(usize),
    Finish(NonNull<Finish>),
}

#[repr(C, align(128))]
pub(super) struct Strand {
    /// First, so that its address is the strand's.
    pub(super) context: Context,
    pub(super) room: StackRoom,
    /// What its frames and tasks take while it is suspended, as the budget counts it.
    pub(super) bytes: u64,
    /// Whether anything is on its stack.
    pub(super) in_use: bool,
    /// Its tasks, the running one last.
    tasks: Vec<LiveTask>,
    /// The locks that its tasks hold.
    pub(super) held: Vec<Held>,
    /// Whether the lock that it waited for is its own now.
    pub(super) granted: bool,
    pub(super) awaits: Awaits,
    /// Where it waits.
    pub(super) site: SiteId,
    /// The next one that waits for the same promise.
    pub(super) next: *mut Strand,
}

// SAFETY: whoever has taken a strand has it for itself.
unsafe impl Send for Strand {}

impl Strand {
    /// On a stack that nobody has used.
    pub(super) fn idle(room: StackRoom) -> Strand {
        Strand {
            context: Context::new(),
            room,
            bytes: 0,
            in_use: false,
            tasks: Vec::new(),
            held: Vec::new(),
            granted: false,
            awaits: Awaits::Nothing,
            site: SiteId(0),
            next: null_mut(),
        }
    }

    /// The task on top.
    #[inline]
    pub(super) fn task(&self) -> &LiveTask {
        match self.tasks.last() {
            Some(task) => task,
            None => unreachable!("compiled code runs in a task"),
        }
    }

    #[inline]
    pub(super) fn task_mut(&mut self) -> &mut LiveTask {
        match self.tasks.last_mut() {
            Some(task) => task,
            None => unreachable!("compiled code runs in a task"),
        }
    }

    /// A task and the one that it has called.
    pub(super) fn two_on_top(&mut self) -> [&mut LiveTask; 2] {
        match &mut self.tasks[..] {
            [.., caller, called] => [caller, called],
            _ => unreachable!("a task was called by another one"),
        }
    }

    /// Whether there is memory for another task.
    pub(super) fn reserve_task(&mut self) -> bool {
        self.tasks.try_reserve(1).is_ok()
    }

    /// A task begins on top. There must be memory for it.
    #[inline]
    pub(super) fn push(&mut self, task: LiveTask) {
        self.tasks.push(task);
    }

    /// The task on top has ended. The one below it, if there is any.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<&LiveTask> {
        self.tasks.pop();
        self.tasks.last()
    }

    /// Where its tasks may keep references, while it is suspended or its worker is in the runtime.
    pub(super) fn roots(&self) -> Option<Range<usize>> {
        let pointer = self.context.strand_pointer as usize;
        self.in_use.then(|| self.room.above(pointer))
    }
}
