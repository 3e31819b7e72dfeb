//! What compiled code calls: tasks, finishes, objects, output, failures, and the slow half of a
//! check.
//!
//! A [`Schedule`] decides how tasks run. A program without promises runs depth-first on a stack of
//! its own ([`depth_first`], [`stack`]): creating a task is calling its body. In a program with
//! promises a task that may wait has a stack of its own ([`cooperative`], [`strands`],
//! [`stacks`], [`switch`]). On several workers every task may have one ([`parallel`]). Then each
//! worker has a runtime.
//!
//! The code of a function calls the runtime by address. [`helpers`] lists the functions that it can
//! call; each subject has a file. They are compiled for each kind of [`Checker`] and each schedule,
//! so that a plain run pays nothing for listeners, and a depth-first one nothing for promises.
//!
//! A failure of the program is a call that never returns: it notes the [`Trap`] and switches back
//! to the stack of the caller who runs the program. Nothing is unwound, and nothing on the
//! program's stacks needs it: compiled frames own nothing, and the runtime's functions own nothing
//! where they leave.

pub(crate) mod checks;
pub(crate) mod context;
pub(crate) mod cooperative;
pub(crate) mod depth_first;
pub(crate) mod helpers;
mod locks;
mod memory;
mod numbering;
mod numbers;
mod output;
pub(crate) mod parallel;
mod promises;
pub(crate) mod schedule;
mod seen;
mod stack;
mod stack_room;
mod stacks;
mod strands;
mod switch;
pub(crate) mod tasks;
mod traps;

use crate::End;
use crate::checker::Checker;
use crate::heap::layout::{Cells, field_offset};
use crate::heap::{Heap, Shapes};
use context::{Context, Current};
use finishline_ir::listener::Shape;
use finishline_ir::machine::{Datum, Handle, Limits, Trap, TrapKind};
use finishline_ir::{Const, Module, Type, cost};
use finishline_model::{AllocationId, Event, FinishId, FinishKind, SiteId, TaskId, TaskKind};
use numbering::{Numbers, Unused};
use schedule::{Schedule, Serial, Start};
use seen::Seen;
use stack::ProgramStack;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Mutex, PoisonError};
use tasks::SpawnSite;

/// Calls a function with arguments from memory, on top of so many bytes of frames and tasks.
pub(crate) type Entry = unsafe extern "C" fn(*mut Context, *const u64, u64);

/// Compiled code to run.
pub(crate) struct Executable {
    /// Takes the context and the arguments of `main` as words.
    pub(crate) entry: Entry,
    /// The same for the functions of tasks that may wait, by function.
    pub(crate) strand_entries: Vec<Option<Entry>>,
    /// The most bytes of machine stack that a frame takes for a byte that the budget counts for it.
    pub(crate) stack_factor: u64,
    /// By the numbers that the code calls them by.
    pub(crate) spawns: Vec<SpawnSite>,
    /// Whether it has any checks: without, no object needs cells.
    pub(crate) checking: bool,
    /// The elements and the number of dimensions of the arrays that it makes.
    pub(crate) arrays: Vec<(Type, usize)>,
    /// Whether the checker hears of tasks that it could do without.
    pub(crate) heard: bool,
    /// Of a parallel run: what its code looks at in every loop.
    pub(crate) signals: Box<AtomicU32>,
}

pub(crate) struct Runtime<'a, C, S> {
    context: Current,
    seen: Box<Seen>,
    module: &'a Module,
    spawns: &'a [SpawnSite],
    /// By function.
    strand_entries: &'a [Option<Entry>],
    limits: Limits,
    checker: &'a mut C,
    heap: Heap,
    /// Who runs, and who goes on.
    schedule: S,
    task_numbers: Numbers<'a>,
    finish_numbers: Numbers<'a>,
    locks_made: &'a AtomicU64,
    /// A line in the making, or the message of an assertion.
    line: Vec<u8>,
    output: &'a Output<'a>,
    progress: &'a AtomicU64,
    /// The budget for frames, tasks and finishes, less what ended tasks and open finishes take.
    budget_left: u64,
    /// What fits on the stack, as the budget counts it: less than the budget if the system refused
    /// so much.
    stack_room: u64,
    failed: Option<End>,
}

/// Where lines go. One worker at a time prints.
type Output<'a> = Mutex<&'a mut (dyn io::Write + Send)>;

/// What the runtime needs to be told.
pub(crate) struct Run<'a, C> {
    pub(crate) module: &'a Module,
    pub(crate) arguments: &'a [Datum],
    pub(crate) limits: Limits,
    pub(crate) checker: &'a mut C,
    pub(crate) output: &'a mut (dyn io::Write + Send),
    pub(crate) progress: &'a AtomicU64,
}

impl<C: Checker> Run<'_, C> {
    /// Runs the code on one worker. The accesses checked are told to the checker at the end.
    pub(crate) fn run<S: Serial>(self, executable: &Executable) -> End {
        if let Err(kind) = self.afford_main() {
            // `main` has not begun, so there is nothing to tell.
            return self.trapped(kind);
        }
        let stack_bytes = self.limits.memory.saturating_mul(executable.stack_factor);
        let stack_bytes = stack_bytes.saturating_add(RUNTIME_STACK);
        let stack = ProgramStack::new(usize::try_from(stack_bytes).unwrap_or(usize::MAX));
        let stack = stack.ok_or(TrapKind::SystemMemory {
            request: stack_bytes,
        });
        let main = self.module.function(self.module.main);
        let (stack, heap) = match stack.and_then(|stack| Ok((stack, self.new_heap(executable)?))) {
            Ok(both) => both,
            Err(kind) => {
                // `main` has begun when its globals are made.
                tell_main(self.checker, main.site);
                self.checker.ended(0);
                return self.trapped(kind);
            }
        };
        let stack_room = (stack.bytes() as u64 - RUNTIME_STACK) / executable.stack_factor;
        let mut context = Context::new();
        let tasks = Unused::new(1, self.limits.tasks, 1);
        let finishes = Unused::new(1, self.limits.finishes, 1);
        let output: Output = Mutex::new(self.output);
        let mut runtime = Runtime {
            // SAFETY: the context outlives the runtime, and compiled code alone uses it besides.
            context: unsafe { Current::new(NonNull::from(&mut context)) },
            seen: Box::new(Seen::new()),
            module: self.module,
            spawns: &executable.spawns,
            strand_entries: &executable.strand_entries,
            limits: self.limits,
            checker: self.checker,
            heap,
            schedule: S::new(Start {
                executable,
                stack,
                sites: [main.site, main.end],
                heard: !C::STYLE.counts_idle_tasks() || executable.heard,
            }),
            task_numbers: Numbers::new(&tasks),
            finish_numbers: Numbers::new(&finishes),
            locks_made: &AtomicU64::new(0),
            line: Vec::new(),
            output: &output,
            progress: self.progress,
            budget_left: self.limits.memory - cost::TASK_RECORD,
            stack_room,
            failed: None,
        };
        runtime.context.runtime = (&raw mut runtime).cast();
        runtime.context.seen = &raw mut *runtime.seen;
        runtime
            .checker
            .attach(NonNull::from(&mut runtime.context.fast));
        runtime.limit_stack();
        tell_main(runtime.checker, main.site);
        runtime.initialise_globals();
        let arguments: Vec<u64> = self.arguments.iter().copied().map(word).collect();
        S::execute(&mut runtime, executable, &arguments);
        let Context {
            spared_checks,
            spared_locations,
            accesses,
            ..
        } = *runtime.context;
        runtime.checker.spared(spared_checks, spared_locations);
        runtime.checker.ended(accesses);
        let end = runtime.failed.take();
        ended(&output, end)
    }

    /// What `main` costs.
    fn cost_of_main(&self) -> u64 {
        let main = self.module.function(self.module.main);
        cost::TASK_RECORD + cost::LIVE_TASK + cost::frame(main)
    }

    fn afford_main(&self) -> Result<(), TrapKind> {
        let (request, budget) = (self.cost_of_main(), self.limits.memory);
        match request > budget {
            false => Ok(()),
            true => Err(TrapKind::Memory {
                request: Some(request),
                used: 0,
                budget,
            }),
        }
    }

    fn new_heap(&self, executable: &Executable) -> Result<Heap, TrapKind> {
        let globals: Vec<Type> = self.module.globals.iter().map(|g| g.initial.ty()).collect();
        let cells = match executable.checking {
            true => C::STYLE.cells(),
            false => Cells::None,
        };
        let shapes = Shapes {
            structs: &self.module.structs,
            globals: &globals,
            arrays: &executable.arrays,
        };
        Heap::new(shapes, self.limits.memory, cells)
    }

    /// `main` fails before it does anything.
    fn trapped(&self, kind: TrapKind) -> End {
        End::Trapped(Trap {
            kind,
            site: self.module.function(self.module.main).site,
            task: TaskId::MAIN,
        })
    }
}

/// How a run ended whose output is complete.
fn ended(output: &Output<'_>, failed: Option<End>) -> End {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    // A failure of the program says more than one of the output.
    match (output.flush(), failed.unwrap_or(End::Finished)) {
        (Err(error), End::Finished) => End::OutputError(error),
        (_, end) => end,
    }
}

/// Room on the program's stack for the runtime's own functions, above what the budget counts.
const RUNTIME_STACK: u64 = 1 << 20;

impl<C: Checker, S: Schedule> Runtime<'_, C, S> {
    /// Tells of the object of globals and fills it in.
    fn initialise_globals(&mut self) {
        let object = self.heap.globals();
        self.tell_alloc(object, AllocationId(0), Shape::Globals);
        let globals = object.address();
        self.context.globals = globals;
        for (index, global) in (0..).zip(&self.module.globals) {
            let field = globals.wrapping_add_signed(field_offset(index).into()) as *mut u64;
            // SAFETY: the object of globals has a field for each of them.
            unsafe { field.write(word(Datum::from(global.initial))) };
        }
    }

    /// # Safety
    ///
    /// The context must be that of a runtime with this kind of checker, and nothing else may be
    /// using the runtime.
    unsafe fn of<'r>(context: *mut Context) -> &'r mut Self {
        // SAFETY: a context knows its runtime while code runs.
        unsafe { &mut *(*context).runtime.cast() }
    }

    /// Ends the run. Never returns.
    fn leave(&mut self, end: End) -> ! {
        S::leave(self, end)
    }

    fn running(&self) -> TaskId {
        self.schedule.running()
    }

    fn fail(&mut self, kind: TrapKind, site: SiteId) -> ! {
        let trap = Trap::new(kind, site, self.running());
        self.leave(End::Trapped(trap))
    }
}

/// Tells that `main` begins, and the finish around it.
fn tell_main(checker: &mut impl Checker, site: SiteId) {
    let (task, finish) = (TaskId::MAIN, FinishId::ROOT);
    checker.event(&Event::TaskBegin {
        task,
        parent: None,
        kind: TaskKind::Main,
        finish,
        site,
    });
    checker.event(&Event::FinishBegin {
        task,
        finish,
        kind: FinishKind::Root,
        site,
    });
}

/// A value as a word of a register or a field.
pub(crate) fn word(datum: Datum) -> u64 {
    match datum {
        Datum::Int(value) => value as u64,
        Datum::Float(value) => value.to_bits(),
        Datum::Bool(value) => u64::from(value),
        Datum::Byte(value) => u64::from(value),
        // Constants and arguments are never objects.
        Datum::Ref(_) => 0,
    }
}

/// A word of a register or a field as a value.
pub(crate) fn datum(ty: Type, word: u64) -> Datum {
    match ty {
        Type::Int => Datum::Int(word as i64),
        Type::Float => Datum::Float(f64::from_bits(word)),
        Type::Bool => Datum::Bool(word as u8 != 0),
        Type::Byte => Datum::Byte(word as u8),
        Type::Ref if word == 0 => Datum::from(Const::Null),
        Type::Ref => Datum::Ref(Some(Handle(u32::MAX))),
    }
}
