//! A parallel run from its beginning to its end: the crew, its threads, and `main`.

use super::super::context::{Context, Current};
use super::super::numbering::{Numbers, Unused};
use super::super::schedule::{OpenFinish, Schedule};
use super::super::seen::Seen;
use super::super::switch::{self, Passed};
use super::super::{Executable, Output, Run, Runtime, ended, tell_main, word};
use super::crew::{Crew, Item};
use super::finish::Finish;
use super::pool::Pool;
use super::signals::OVER;
use super::strand::LiveTask;
use super::tasks::end_strand_address;
use super::{ENOUGH_TASKS_EACH, MOST_BUDGET_AT_ONCE, Parallel, TIMES_TO_TAKE_BUDGET};
use crate::End;
use crate::checker::Checker;
use crate::heap::Heap;
use crossbeam_deque::Worker;
use finishline_ir::machine::{Limits, Trap, TrapKind};
use finishline_ir::{Module, cost};
use finishline_model::TaskId;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// What the workers of a run have in common besides the crew.
#[derive(Clone, Copy)]
struct Shared<'a> {
    module: &'a Module,
    executable: &'a Executable,
    limits: Limits,
    crew: &'a Crew<'a>,
    tasks: &'a Unused,
    finishes: &'a Unused,
    locks_made: &'a AtomicU64,
    output: &'a Output<'a>,
    progress: &'a AtomicU64,
    /// How many tasks for others are enough for a worker.
    enough_tasks: usize,
}

impl<'a> Shared<'a> {
    fn runtime<C: Checker>(
        self,
        number: usize,
        deque: Worker<Item>,
        heap: Heap,
        checker: &'a mut C,
    ) -> Runtime<'a, C, Parallel<'a>> {
        let mut home = Box::new(Context::new());
        let crew = self.crew;
        Runtime {
            // SAFETY: it lives as long as the schedule, and no code runs with it.
            context: unsafe { Current::new(NonNull::from(&mut *home)) },
            seen: Box::new(Seen::new()),
            module: self.module,
            spawns: &self.executable.spawns,
            strand_entries: &self.executable.strand_entries,
            limits: self.limits,
            checker,
            heap,
            schedule: Parallel {
                crew,
                number,
                deque,
                strand: None,
                home,
                pointer: 0,
                strands: Pool::new(&crew.strands),
                records: Pool::new(&crew.records),
                finishes: Pool::new(&crew.finishes),
                enough_tasks: self.enough_tasks,
                has_enough: false,
                victim: number,
                budget_at_once: MOST_BUDGET_AT_ONCE
                    .min(self.limits.memory / (TIMES_TO_TAKE_BUDGET * crew.workers() as u64)),
                stack_factor: usize::try_from(self.executable.stack_factor).unwrap_or(usize::MAX),
                era: 0,
            },
            task_numbers: Numbers::new(self.tasks),
            finish_numbers: Numbers::new(self.finishes),
            locks_made: self.locks_made,
            line: Vec::new(),
            output: self.output,
            progress: self.progress,
            budget_left: 0,
            stack_room: 0,
            failed: None,
        }
    }
}

/// Ends the run if its thread panics: the others must not wait for it.
struct EndsByPanic<'a, 'b>(&'a Crew<'b>);

impl Drop for EndsByPanic<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end(Some(End::Stopped));
        }
    }
}

impl Executable {
    /// Ends a parallel run under way.
    pub(crate) fn stop(&self) {
        // As in `signals`.
        self.signals.fetch_or(OVER, Ordering::Relaxed);
    }
}

impl<C: Checker + Send> Run<'_, C> {
    /// Runs the code on several workers: this thread and one for each of the other checkers.
    pub(crate) fn run_parallel(self, executable: &Executable, others: &mut [C]) -> End {
        if let Err(kind) = self.afford_main() {
            return self.trapped(kind);
        }
        let mut heap = match self.new_heap(executable) {
            Ok(heap) => heap,
            Err(kind) => {
                tell_main(self.checker, self.module.function(self.module.main).site);
                self.checker.ended(0);
                return self.trapped(kind);
            }
        };
        let workers = 1 + others.len();
        let largest_stack = self.limits.memory.saturating_mul(executable.stack_factor);
        let largest_stack = usize::try_from(largest_stack).unwrap_or(usize::MAX / 2);
        let (crew, mut deques) = Crew::new(
            workers,
            &executable.signals,
            self.limits.memory - cost::TASK_RECORD,
            largest_stack.min(usize::MAX / 2),
        );
        let arguments: Vec<u64> = self.arguments.iter().copied().map(word).collect();
        let output: Output = Mutex::new(self.output);
        let shared = Shared {
            module: self.module,
            executable,
            limits: self.limits,
            crew: &crew,
            tasks: &Unused::new(1, self.limits.tasks, workers),
            finishes: &Unused::new(1, self.limits.finishes, workers),
            locks_made: &AtomicU64::new(0),
            output: &output,
            progress: self.progress,
            // One worker alone calls every task.
            enough_tasks: match workers {
                1 => 0,
                _ => ENOUGH_TASKS_EACH * (workers + 1),
            },
        };
        let heaps = heap.for_more_workers(others.len());
        thread::scope(|scope| {
            let rest = deques.split_off(1).into_iter().zip(heaps).zip(others);
            for (number, ((deque, heap), checker)) in (1..).zip(rest) {
                scope.spawn(move || {
                    let _ends = EndsByPanic(shared.crew);
                    shared.runtime(number, deque, heap, checker).work();
                });
            }
            if let Some(deque) = deques.pop() {
                let _ends = EndsByPanic(&crew);
                let mut runtime = shared.runtime(0, deque, heap, self.checker);
                runtime.begin_main(executable, &arguments);
            }
        });
        ended(&output, crew.failed())
    }
}

impl<C: Checker> Runtime<'_, C, Parallel<'_>> {
    /// A worker that begins with nothing to do.
    fn work(&mut self) {
        if let Some(passed) = self.find_work() {
            self.enter(passed);
        }
        self.leave_crew();
    }

    /// The worker has done its part. What its strands have counted is the checker's: each strand is
    /// asked once, by the first worker.
    fn leave_crew(&mut self) {
        let crew = self.schedule.crew;
        crew.retire();
        if self.schedule.number == 0 {
            let (mut accesses, mut checks, mut locations) = (0, 0, 0);
            crew.strands.each(|strand| {
                accesses += strand.context.accesses;
                checks += strand.context.spared_checks;
                locations += strand.context.spared_locations;
            });
            self.checker.spared(checks, locations);
            self.checker.ended(accesses);
        }
    }

    fn begin_main(&mut self, executable: &Executable, arguments: &[u64]) {
        let main = self.module.function(self.module.main);
        tell_main(self.checker, main.site);
        self.initialise_globals();
        let frame = cost::LIVE_TASK + cost::frame(main);
        let affordable = Parallel::more_budget(self, frame) && self.schedule.reserve_finish();
        let Some(place) = self.take_strand(frame).filter(|_| affordable) else {
            let kind = TrapKind::SystemMemory { request: frame };
            let trap = Trap::new(kind, main.site, TaskId::MAIN);
            self.schedule.crew.end(Some(End::Trapped(trap)));
            self.leave_crew();
            return;
        };
        let root = OpenFinish::root(main.site);
        let carried = self.checker.begin_main();
        let Some(root) = self
            .schedule
            .finishes
            .take(|| Some(Finish::new(root, None)))
        else {
            unreachable!("there is memory for the list of finishes")
        };
        let mut strand = place;
        // SAFETY: the strand was idle.
        let strand = unsafe { strand.as_mut() };
        strand.push(LiveTask {
            id: TaskId::MAIN,
            enclosing: root,
            innermost: Some(root),
            created: 0,
            record: None,
            carried,
        });
        let (base, context) = (strand.room.base(), &raw mut strand.context);
        // SAFETY: nobody uses the stack, and there are as many arguments as `main` has parameters.
        let pointer = unsafe {
            let end = end_strand_address::<C>();
            switch::prepare(base, arguments, context, executable.entry, end)
        };
        strand.context.strand_pointer = pointer as u64;
        let passed = self.resume(place);
        Parallel::was_opened(self);
        self.enter(passed);
        self.leave_crew();
    }

    /// Lets a strand run. Returns when the worker leaves the program.
    fn enter(&mut self, passed: Passed) {
        let pointer = &raw mut self.schedule.pointer;
        // SAFETY: the code was compiled for this checker and module; the context is that of a
        // strand that can go on.
        unsafe { switch::enter(passed.context(), pointer) };
    }
}
