//! Who runs, and who goes on: the difference between a [depth-first](super::depth_first) run, a
//! [cooperative](super::cooperative) one and a [parallel](super::parallel) one.
//!
//! A schedule knows the live tasks and the finishes that they have open. The rules, the order of
//! events and the failures are the same for all, in [`super::tasks`].

use super::context::Context;
use super::helpers::Helper;
use super::stack::ProgramStack;
use super::{Executable, Runtime};
use crate::End;
use crate::checker::{Carried, Checker};
use finishline_model::{Event, FinishId, FinishKind, SiteId, TaskId};
use std::ops::Range;

/// A finish that a task has open.
#[derive(Clone, Copy)]
pub(crate) struct OpenFinish {
    pub(crate) id: FinishId,
    pub(crate) kind: FinishKind,
    pub(crate) begin: SiteId,
}

impl OpenFinish {
    /// The finish around `main`.
    pub(super) const fn root(begin: SiteId) -> OpenFinish {
        OpenFinish {
            id: FinishId::ROOT,
            kind: FinishKind::Root,
            begin,
        }
    }
}

/// How a new task came to be.
pub(crate) struct Created {
    pub(crate) creator: TaskId,
    /// How many tasks its creator had created before.
    pub(crate) index: u32,
    /// The immediately enclosing finish.
    pub(crate) enclosing: FinishId,
}

/// What a schedule starts with.
pub(crate) struct Start<'a> {
    pub(crate) executable: &'a Executable,
    /// The stack of `main`.
    pub(crate) stack: ProgramStack,
    /// Where `main` begins and ends.
    pub(crate) sites: [SiteId; 2],
    /// Whether the checker hears of `main`.
    pub(crate) heard: bool,
}

/// How the tasks of a program run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Manner {
    DepthFirst,
    Cooperative,
    Parallel,
}

impl Manner {
    /// Whether tasks may run on stacks of their own, and the runtime on the worker's.
    pub(crate) const fn has_strands(self) -> bool {
        !matches!(self, Manner::DepthFirst)
    }
}

/// A schedule of one worker.
pub(crate) trait Serial: Schedule {
    fn new(start: Start<'_>) -> Self;

    /// Runs `main` to its end, or until the program fails.
    fn execute<C: Checker>(
        runtime: &mut Runtime<'_, C, Self>,
        executable: &Executable,
        arguments: &[u64],
    );
}

pub(crate) trait Schedule: Sized {
    const MANNER: Manner;

    fn running(&self) -> TaskId;

    /// The innermost finish that the running task itself has open.
    fn innermost(&self) -> Option<OpenFinish>;

    /// Whether the checker hears of the running task.
    fn is_heard(&self) -> bool;

    /// Whether there is memory for another task, and for another finish.
    fn reserve_task(&mut self) -> bool;
    fn reserve_finish(&mut self) -> bool;

    /// A task begins that its creator calls. The creator goes on when the task has ended.
    fn begin_task(&mut self, task: TaskId, heard: bool) -> Created;

    /// The running task ends, and its caller goes on. Returns the caller, if the checker is to hear
    /// of it.
    fn end_task(&mut self) -> Option<TaskId>;

    /// The running task opens a finish, and closes its innermost one.
    fn open_finish(&mut self, finish: OpenFinish);
    fn close_finish(&mut self) -> Option<FinishId>;

    /// The running task enters or leaves an isolated block.
    fn isolate<C: Checker>(_: &mut Runtime<'_, C, Self>, _inside: bool) {}

    /// Takes more of the budget for frames, tasks and finishes, if it is shared. False if there is
    /// no more.
    fn more_budget<C: Checker>(_: &mut Runtime<'_, C, Self>, _needed: u64) -> bool {
        false
    }

    /// Where the running task acquired the first of the locks that it holds.
    fn first_held(&self) -> Option<SiteId>;

    /// Makes room on the running stack for `request` bytes on top of `stack`, as the budget counts
    /// them, or fails.
    fn make_room<C: Checker>(
        runtime: &mut Runtime<'_, C, Self>,
        request: u64,
        stack: u64,
        site: SiteId,
    );

    /// Visits the stacks in use, while a function of the runtime runs with this stack pointer.
    fn visit_stacks(&self, context: &Context, pointer: usize, visit: &mut dyn FnMut(Range<usize>));

    /// Does something while no other worker runs; the stack pointer is as above.
    fn stop_others(&self, _: &Context, _pointer: usize, work: &mut dyn FnMut()) {
        work();
    }

    /// The address of a function that not all programs call.
    fn address<C: Checker>(helper: Helper) -> usize;

    /// What is left of the budget that [`Schedule::more_budget`] takes from.
    fn shared_budget(&self) -> u64 {
        0
    }

    // Of a parallel run: what tasks and finishes carry for the checker changes.

    /// What the running task carries.
    fn carried(&mut self) -> &mut Carried {
        unreachable!("there is one worker")
    }

    /// The running task was called by its creator, from such a place.
    fn was_called<C: Checker>(_: &mut Runtime<'_, C, Self>, _: SiteId) {}

    /// The running task has opened its innermost finish, or is about to close it.
    fn was_opened<C: Checker>(_: &mut Runtime<'_, C, Self>) {}
    fn will_close<C: Checker>(_: &mut Runtime<'_, C, Self>) {}

    /// The checker was told of an event of the running task.
    fn was_told<C: Checker>(_: &mut Runtime<'_, C, Self>, _: &Event) {}

    /// Another step runs.
    fn begin_step<C: Checker>(_: &mut Runtime<'_, C, Self>) {}

    /// The running step has a stamp now, or another one.
    fn name_step<C: Checker>(_: &mut Runtime<'_, C, Self>) {}

    /// Ranges that the running step has checked so far are [forgotten](super::seen).
    fn begin_era<C: Checker>(runtime: &mut Runtime<'_, C, Self>) {
        runtime.context.fast.limits.era += 1;
    }

    /// Heeds the signals of other workers.
    fn poll<C: Checker>(_: &mut Runtime<'_, C, Self>) {}

    /// Ends the run from inside the program. Never returns. The functions that are left must own
    /// nothing.
    fn leave<C: Checker>(runtime: &mut Runtime<'_, C, Self>, end: End) -> !;
}
