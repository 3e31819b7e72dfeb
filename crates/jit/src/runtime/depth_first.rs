//! A depth-first run: to create a task is to call its body.
//!
//! Live tasks and open finishes are two stacks: a task under way takes 16 bytes, an open finish 12.
//! Ended ones take nothing. All runs on one stack, and nothing ever waits.

use super::context::Context;
use super::helpers::Helper;
use super::schedule::{Created, Manner, OpenFinish, Schedule, Serial, Start};
use super::stack::ProgramStack;
use super::{Executable, Runtime};
use crate::End;
use crate::checker::Checker;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use finishline_model::{FinishId, SiteId, TaskId};
use std::ops::Range;

#[derive(Clone, Copy)]
struct LiveTask {
    id: TaskId,
    /// The immediately enclosing finish.
    enclosing: FinishId,
    /// How many finishes were open when it began: those above are its own.
    finishes_below: u32,
    /// How many tasks it has created.
    created: u32,
}

/// More tasks than can be under way.
const ALL_HEARD: usize = usize::MAX;

pub(crate) struct DepthFirst {
    /// The tasks under way, the running one last.
    tasks: Vec<LiveTask>,
    /// How many of these the checker hears of, the first ones; without bound if it hears of all.
    heard_tasks: usize,
    /// The finishes they have open, the innermost last.
    finishes: Vec<OpenFinish>,
    /// Until the program runs on it.
    stack: Option<ProgramStack>,
    stack_base: usize,
    /// How to leave the program's stack; null while nothing runs.
    yielder: *const Yielder<(), ()>,
}

#[cfg(test)]
impl DepthFirst {
    /// For a test on a stack that ends there.
    pub(super) fn on_stack_below(base: usize) -> DepthFirst {
        DepthFirst {
            tasks: Vec::new(),
            heard_tasks: ALL_HEARD,
            finishes: Vec::new(),
            stack: None,
            stack_base: base,
            yielder: std::ptr::null(),
        }
    }
}

impl Serial for DepthFirst {
    fn new(start: Start<'_>) -> Self {
        let [begin, _] = start.sites;
        DepthFirst {
            tasks: vec![LiveTask {
                id: TaskId::MAIN,
                enclosing: FinishId::ROOT,
                finishes_below: 0,
                created: 0,
            }],
            heard_tasks: if start.heard { ALL_HEARD } else { 0 },
            finishes: vec![OpenFinish::root(begin)],
            stack_base: start.stack.base_address(),
            stack: Some(start.stack),
            yielder: std::ptr::null(),
        }
    }

    fn execute<C: Checker>(
        runtime: &mut Runtime<'_, C, Self>,
        executable: &Executable,
        arguments: &[u64],
    ) {
        let Some(stack) = runtime.schedule.stack.take() else {
            unreachable!("a program runs once")
        };
        let this: *mut Runtime<'_, C, Self> = runtime;
        let context = runtime.context.as_ptr();
        let (entry, arguments) = (executable.entry, arguments.as_ptr());
        let body = move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: the runtime outlives the coroutine, and nobody else uses it while the
            // coroutine runs.
            unsafe { (*this).schedule.yielder = yielder };
            // SAFETY: the code was compiled for this checker and module; the context is the
            // runtime's; there are as many arguments as `main` has parameters.
            unsafe { entry(context, arguments, 0) };
            // SAFETY: as above; the code has returned.
            unsafe { (*this).end_main() };
        };
        // SAFETY: the coroutine does not outlive what the closure borrows: it is gone at the end of
        // this function.
        let mut coroutine =
            unsafe { Coroutine::<(), (), (), _>::with_stack_unchecked(stack, body) };
        if let CoroutineResult::Yield(()) = coroutine.resume(()) {
            // SAFETY: the program has failed. Neither its compiled frames nor the runtime's
            // function that left own anything.
            unsafe { coroutine.force_reset() };
        }
    }
}

impl Schedule for DepthFirst {
    const MANNER: Manner = Manner::DepthFirst;

    #[inline]
    fn running(&self) -> TaskId {
        self.tasks.last().map_or(TaskId::MAIN, |task| task.id)
    }

    #[inline]
    fn innermost(&self) -> Option<OpenFinish> {
        let own = self.tasks.last().map_or(0, |task| task.finishes_below) as usize;
        self.finishes[own..].last().copied()
    }

    /// Programs with locks have cooperative runs.
    #[inline]
    fn first_held(&self) -> Option<SiteId> {
        None
    }

    #[inline]
    fn is_heard(&self) -> bool {
        self.tasks.len() <= self.heard_tasks
    }

    #[inline]
    fn reserve_task(&mut self) -> bool {
        self.tasks.try_reserve(1).is_ok()
    }

    #[inline]
    fn reserve_finish(&mut self) -> bool {
        self.finishes.try_reserve(1).is_ok()
    }

    #[inline]
    fn begin_task(&mut self, task: TaskId, heard: bool) -> Created {
        let enclosing = self.innermost().map(|finish| finish.id);
        let finishes_below = self.finishes.len() as u32;
        let Some(parent) = self.tasks.last_mut() else {
            unreachable!("compiled code runs in a task")
        };
        let enclosing = enclosing.unwrap_or(parent.enclosing);
        let (creator, index) = (parent.id, parent.created);
        parent.created += 1;
        self.tasks.push(LiveTask {
            id: task,
            enclosing,
            finishes_below,
            created: 0,
        });
        if !heard {
            self.heard_tasks = self.heard_tasks.min(self.tasks.len() - 1);
        }
        Created {
            creator,
            index,
            enclosing,
        }
    }

    #[inline]
    fn end_task(&mut self) -> Option<TaskId> {
        self.tasks.pop();
        if self.tasks.len() == self.heard_tasks {
            self.heard_tasks = ALL_HEARD;
        }
        self.tasks.last().map(|creator| creator.id)
    }

    #[inline]
    fn open_finish(&mut self, finish: OpenFinish) {
        self.finishes.push(finish);
    }

    #[inline]
    fn close_finish(&mut self) -> Option<FinishId> {
        self.finishes.pop().map(|finish| finish.id)
    }

    fn make_room<C: Checker>(
        runtime: &mut Runtime<'_, C, Self>,
        request: u64,
        stack: u64,
        site: SiteId,
    ) {
        runtime.over_budget(request, stack, site)
    }

    fn visit_stacks(&self, _: &Context, pointer: usize, visit: &mut dyn FnMut(Range<usize>)) {
        visit(pointer..self.stack_base);
    }

    fn address<C: Checker>(_: Helper) -> usize {
        // Nothing is at 0, and no program is compiled that calls it.
        0
    }

    fn leave<C: Checker>(runtime: &mut Runtime<'_, C, Self>, end: End) -> ! {
        runtime.failed = Some(end);
        // SAFETY: set when the coroutine began; this is called from inside it alone.
        let yielder = unsafe { &*runtime.schedule.yielder };
        yielder.suspend(());
        unreachable!("a program that has failed is not resumed")
    }
}
