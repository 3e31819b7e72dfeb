//! The reference interpreter: what a program means.
//!
//! Tasks are data. An executor picks a task and lets it make one [`Machine::step`]; the machine
//! keeps the frames, the heap, the open finishes and who is in an isolated block, and tells a
//! [`Listener`] what happens. It never chooses a task itself, so one machine serves depth-first
//! runs, cooperative runs and the enumeration of all interleavings.
//!
//! - A step is one instruction or terminator. One that fails or blocks changes nothing that the
//!   program can see.
//! - A [`Op::Check`] is told to the listener; a [`Op::Load`] or [`Op::Store`] is the access itself
//!   and tells nothing.
//! - A task's frames and registers are freed when it ends; what stays is a record of its name.
//!
//! The module must have passed [`crate::verify`]; on one that has not, a step may panic.
//!
//! `tasks` has frames, calls and the creation and end of tasks, `finishes` waiting and isolation,
//! `promises` values that tasks wait for, `locks` what one task at a time can hold, `suspended`
//! what a waiting task has still to do, [`heap`] the objects, `collector` what becomes of those
//! that nothing refers to, `arithmetic` the operators, [`trap`] the failures, `canonical` the state
//! as it is in every schedule that leads to it.

pub mod arithmetic;
mod canonical;
mod collector;
pub mod datum;
mod finishes;
pub mod heap;
mod locks;
mod promises;
mod suspended;
mod tasks;
pub mod trap;

pub use canonical::ObjectName;
pub use datum::Datum;
pub use heap::{Handle, Heap, Object};
pub use suspended::Suspended;
pub use tasks::Status;
pub use trap::{Ended, Trap, TrapKind, Waiting, WaitsFor};

use crate::listener::{Allocated, Listener, Shape};
use crate::module::*;
use crate::range;
use finishes::Finish;
use finishline_model::{
    Access, AccessId, AccessKind, AllocationId, Event, FinishId, FinishKind, Location, LockId,
    SiteId, TaskId, TaskKind,
};
use heap::Request;
use locks::Held;
use std::io::Write;
use tasks::{Record, Task};

/// What a program may use up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of objects that can be reached, and as many again for frames, registers and records of
    /// tasks.
    pub memory: u64,
    /// Calls nested in one task.
    pub call_depth: u32,
    pub tasks: u32,
    pub finishes: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory: 4 << 30,
            call_depth: 100_000,
            tasks: 1 << 30,
            finishes: 1 << 30,
        }
    }
}

/// What a step did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    Continue,
    /// The step created this task; the creator can go on too.
    Created(TaskId),
    /// The task must wait; the step did nothing. [`Machine::status`] says for what.
    Blocked,
    /// The task gave this promise its value. Tasks that wait for it can go on.
    Set(Location),
    /// The task gave up this lock. One of the tasks that wait for it can go on.
    Released(Location),
    /// The task has ended.
    Ended,
}

/// What the next step of a task would do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// A load, a store, or a `set` of a promise.
    Access {
        kind: AccessKind,
        object: Handle,
        offset: u64,
        location: Location,
        access: AccessId,
    },
    /// Enters an isolated block, or waits for that.
    EnterIsolated,
    /// Acquires a lock, or waits for that.
    Acquire,
    /// Something no other task can observe or prevent, or a failure, or a wait for a finish or a
    /// promise.
    Local,
    /// Nothing: the task has ended.
    Done,
}

/// A program in the middle of its run.
#[derive(Clone)]
pub struct Machine<'m> {
    module: &'m Module,
    limits: Limits,
    heap: Heap,
    /// By task id, of every task ever created.
    records: Vec<Record>,
    /// Live tasks; idle places are used again.
    tasks: Vec<Task<'m>>,
    idle_tasks: Vec<u32>,
    /// Open finishes; idle places are used again.
    finishes: Vec<Finish>,
    idle_finishes: Vec<u32>,
    finishes_opened: u32,
    /// The task inside an isolated block.
    isolated: Option<TaskId>,
    /// The finish of the task that ended last, if that left it without tasks.
    emptied: Option<FinishId>,
    /// The locks that tasks hold, in the order in which they were acquired.
    held: Vec<Held>,
    locks_made: usize,
    /// Bytes of frames, registers and records.
    stacks: u64,
    /// Block arguments on their way to the parameters.
    moving: Vec<Datum>,
    /// What `print` wrote; the executor takes it out.
    pub output: Vec<u8>,
}

impl<'m> Machine<'m> {
    /// A program about to run `main`. Tells of the task `main`, the root finish and the object of
    /// globals, in this order.
    ///
    /// The arguments must be as many as the parameters of `main`, and of their types.
    pub fn new<L: Listener>(
        module: &'m Module,
        arguments: &[Datum],
        limits: Limits,
        listener: &mut L,
    ) -> Result<Self, Trap> {
        let mut machine = Machine {
            module,
            limits,
            heap: Heap::new(limits.memory),
            records: Vec::new(),
            tasks: Vec::new(),
            idle_tasks: Vec::new(),
            finishes: Vec::new(),
            idle_finishes: Vec::new(),
            finishes_opened: 0,
            isolated: None,
            emptied: None,
            held: Vec::new(),
            locks_made: 0,
            stacks: 0,
            moving: Vec::new(),
            output: Vec::new(),
        };
        let site = module.function(module.main).site;
        machine
            .begin_main(arguments, listener)
            .map_err(|kind| Trap {
                kind,
                site,
                task: TaskId::MAIN,
            })?;
        Ok(machine)
    }

    pub fn heap(&self) -> &Heap {
        &self.heap
    }

    /// The task inside an isolated block.
    pub fn isolated(&self) -> Option<TaskId> {
        self.isolated
    }

    /// The finish that lost its last task when the task ended that ended last.
    pub fn emptied(&self) -> Option<FinishId> {
        self.emptied
    }

    /// From now on objects stay that nothing refers to, so that states can be compared with all
    /// their objects. The budget bounds what can be reached all the same.
    pub fn keep_dead_objects(&mut self) {
        self.heap.keep_dead();
    }

    /// One instruction or terminator of a task. On an error or `Blocked` nothing has changed.
    ///
    /// # Panics
    ///
    /// If the task has ended or never was, and on modules that the verifier rejects.
    #[inline]
    pub fn step<L: Listener>(&mut self, task: TaskId, listener: &mut L) -> Result<Progress, Trap> {
        let slot = self.records[task.index()].slot.expect("the task has ended") as usize;
        let frame = self.tasks[slot].frame();
        match frame.code.instructions.get(frame.next) {
            Some(instruction) => self
                .execute(slot, instruction, listener)
                .map_err(|kind| Trap::new(kind, instruction.site, task)),
            None => {
                let (code, end) = (frame.code, self.module.function(frame.function).end);
                self.terminate(slot, &code.terminator, listener)
                    .map_err(|kind| Trap::new(kind, end, task))
            }
        }
    }

    #[inline]
    fn execute<L: Listener>(
        &mut self,
        slot: usize,
        instruction: &'m Instruction,
        listener: &mut L,
    ) -> Result<Progress, TrapKind> {
        let task = &mut self.tasks[slot];
        let registers = task.window();
        let get = |value: Value| registers[value.index()];
        let offset = |operand: Operand| match operand {
            Operand::Value(value) => get(value).int(),
            Operand::Constant(constant) => constant,
        };
        let result = match &instruction.op {
            Op::Const(constant) => Datum::from(*constant),
            Op::Unary(op, a) => arithmetic::unary(*op, get(*a)),
            Op::Binary(op, a, b) => arithmetic::binary(*op, get(*a), get(*b))?,
            Op::Compare(op, a, b) => Datum::Bool(arithmetic::compare(*op, get(*a), get(*b))),
            Op::Convert(a, to) => arithmetic::convert(get(*a), *to),
            Op::Math(function, operands) => match operands[..] {
                [a] => arithmetic::math(*function, &[get(a)]),
                [a, b] => arithmetic::math(*function, &[get(a), get(b)]),
                _ => panic!(
                    "the module is not verified: operands of {}",
                    function.word()
                ),
            },
            Op::RangeCount {
                start,
                end,
                step,
                inclusive,
            } => Datum::Int(arithmetic::range_count(
                get(*start).int(),
                get(*end).int(),
                get(*step).int(),
                *inclusive,
            )?),

            Op::NewStruct { layout, allocation } => {
                let fields = &self.module.structs[layout.index()].fields;
                let initial = fields.iter().map(|(_, ty)| Const::zero(*ty));
                let request = task.request(*allocation);
                let roots = tasks::roots(&self.tasks);
                let object = self.heap.new_record(request, initial, roots)?;
                self.allocated(slot, object, |_| Shape::Struct(*layout), listener)
            }
            Op::NewArray {
                element,
                sizes,
                allocation,
            } => {
                let sizes: Vec<i64> = sizes.iter().map(|size| get(*size).int()).collect();
                let request = task.request(*allocation);
                let roots = tasks::roots(&self.tasks);
                let object = self.heap.new_array(*element, &sizes, request, roots)?;
                self.allocated(slot, object, |array| Shape::Array(array.sizes()), listener)
            }
            Op::NewLock { allocation } => {
                let request = task.request(*allocation);
                let number = LockId::from_index(self.locks_made);
                let roots = tasks::roots(&self.tasks);
                let object = self.heap.new_lock(request, number, roots)?;
                self.locks_made += 1;
                self.allocated(slot, object, |_| Shape::Lock, listener)
            }
            Op::NewPromise {
                carried,
                allocation,
            } => {
                let request = task.request(*allocation);
                let roots = tasks::roots(&self.tasks);
                let object =
                    self.heap
                        .new_record(request, promises::empty(*carried).into_iter(), roots)?;
                self.allocated(slot, object, |_| Shape::Promise, listener)
            }
            Op::Acquire(lock) => return self.acquire(slot, *lock, instruction.site, listener),
            Op::Release(lock) => return self.release(slot, *lock, listener),
            Op::PromiseSet { promise, value, .. } => {
                return self.set_promise(slot, *promise, *value, instruction.site, listener);
            }
            Op::PromiseGet(promise) => {
                return self.get_promise(slot, *promise, instruction, listener);
            }
            Op::Globals => Datum::Ref(Some(Handle::GLOBALS)),
            Op::NonNull(a) => {
                get(*a).reference().ok_or(TrapKind::NullUse)?;
                task.advance();
                return Ok(Progress::Continue);
            }
            Op::Index { array, indices } => {
                let array = get(*array).reference().ok_or(TrapKind::NullUse)?;
                let indices = indices.iter().map(|index| get(*index).int());
                Datum::Int(self.heap.object(array).element(indices)?)
            }
            Op::Length { array, dimension } => {
                let array = get(*array).reference().ok_or(TrapKind::NullUse)?;
                Datum::Int(self.heap.object(array).sizes()[*dimension as usize] as i64)
            }
            Op::SizeOrZero { array, dimension } => {
                let array = get(*array).reference();
                Datum::Int(self.heap.size_or_zero(array, *dimension))
            }

            Op::Check {
                kind,
                base,
                first,
                count,
                stride,
                access,
            } => {
                if let Some(base) = get(*base).reference() {
                    let object = self.heap.object(base);
                    let (first, count) = (offset(*first), offset(*count) as u64);
                    let covered = range::covered(first, count, offset(*stride), object.count());
                    if let Some(covered) = covered {
                        listener.access(&Access {
                            task: task.id,
                            kind: *kind,
                            first: object.first().offset(covered.first),
                            count: covered.count,
                            stride: covered.stride,
                            id: *access,
                        });
                    }
                }
                task.advance();
                return Ok(Progress::Continue);
            }
            Op::Load {
                base, offset: at, ..
            } => {
                let base = get(*base).reference().ok_or(TrapKind::NullUse)?;
                self.heap.object(base).get(offset(*at) as u64)
            }
            Op::Store {
                base,
                offset: at,
                value,
                ..
            } => {
                let base = get(*base).reference().ok_or(TrapKind::NullUse)?;
                self.heap.store(base, offset(*at) as u64, get(*value));
                task.advance();
                return Ok(Progress::Continue);
            }

            Op::Print(parts) => {
                write_parts(&mut self.output, parts, get);
                self.output.push(b'\n');
                task.advance();
                return Ok(Progress::Continue);
            }
            Op::Assert { condition, message } => {
                if !get(*condition).bool() {
                    let mut text = Vec::new();
                    write_parts(&mut text, message, get);
                    let message = String::from_utf8_lossy(&text).into_owned();
                    return Err(TrapKind::AssertFailed { message });
                }
                task.advance();
                return Ok(Progress::Continue);
            }

            Op::Call {
                function,
                arguments,
            } => {
                return self.call(slot, *function, arguments, instruction.result);
            }
            Op::CallRoom(nested) => {
                self.call_room(slot, nested)?;
                self.tasks[slot].advance();
                return Ok(Progress::Continue);
            }
            Op::Spawn {
                kind,
                construct,
                function,
                arguments,
            } => {
                let spawn = tasks::Spawn {
                    kind: *kind,
                    construct: *construct,
                    function: *function,
                    arguments,
                    site: instruction.site,
                };
                return self.spawn(slot, spawn, listener);
            }
            Op::FinishBegin(kind) => {
                return self.begin_finish(slot, *kind, instruction.site, listener);
            }
            Op::FinishEnd(kind) => return self.end_finish(slot, *kind, instruction.site, listener),
            Op::Sync => return self.sync(slot, instruction.site, listener),
            Op::IsolatedBegin => return Ok(self.enter_isolated(slot, instruction.site, listener)),
            Op::IsolatedEnd => return Ok(self.leave_isolated(slot, instruction.site, listener)),
        };
        let task = &mut self.tasks[slot];
        task.set(instruction.result, result);
        task.advance();
        Ok(Progress::Continue)
    }

    /// Tells of a new object of the task.
    fn allocated<L: Listener>(
        &mut self,
        slot: usize,
        id: Handle,
        shape: impl FnOnce(&Object) -> Shape<&[u64]>,
        listener: &mut L,
    ) -> Datum {
        let task = &mut self.tasks[slot];
        task.allocated += 1;
        let object = self.heap.object(id);
        let (allocation, first, count) = (object.allocation, object.first(), object.count());
        listener.event(&Event::Alloc {
            task: task.id,
            allocation,
            first,
            count,
        });
        listener.allocated(&Allocated {
            allocation,
            first,
            count,
            shape: shape(object),
            earlier: None,
        });
        Datum::Ref(Some(id))
    }

    #[inline]
    fn terminate<L: Listener>(
        &mut self,
        slot: usize,
        terminator: &'m Terminator,
        listener: &mut L,
    ) -> Result<Progress, TrapKind> {
        match terminator {
            Terminator::Jump(target) => self.jump(slot, target),
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => {
                let taken = self.tasks[slot].get(*condition).bool();
                self.jump(slot, if taken { then } else { otherwise });
            }
            Terminator::Return(value) if self.tasks[slot].frames.len() > 1 => {
                self.return_to_caller(slot, *value);
            }
            Terminator::Return(_) => return self.end_task(slot, listener),
        }
        Ok(Progress::Continue)
    }

    #[inline]
    fn jump(&mut self, slot: usize, target: &'m Target) {
        let task = &mut self.tasks[slot];
        let function = task.frame().function;
        let code = &self.module.function(function).blocks[target.block.index()];
        // All arguments are read before the first parameter is written: a loop may swap two values.
        if let ([argument], [parameter]) = (&target.arguments[..], &code.parameters[..]) {
            let value = task.get(*argument);
            task.set(Some(*parameter), value);
        } else if !target.arguments.is_empty() {
            let registers = task.window();
            self.moving.clear();
            self.moving
                .extend(target.arguments.iter().map(|a| registers[a.index()]));
            for (parameter, value) in code.parameters.iter().zip(&self.moving) {
                task.set(Some(*parameter), *value);
            }
        }
        let frame = task.frame_mut();
        frame.block = target.block;
        frame.code = code;
        frame.next = 0;
    }

    /// Whether the next step of a task enters an isolated block or acquires a lock, or waits for
    /// that.
    #[inline]
    pub fn is_before_block(&self, task: TaskId) -> bool {
        let Some(task) = self.task(task) else {
            return false;
        };
        let frame = task.frame();
        match frame.code.instructions.get(frame.next).map(|it| &it.op) {
            Some(Op::IsolatedBegin) => true,
            // The step fails if it is null.
            Some(Op::Acquire(lock)) => task.get(*lock).reference().is_some(),
            _ => false,
        }
    }

    /// Where the next step of a task is. None if the task has ended.
    pub fn next_site(&self, task: TaskId) -> Option<SiteId> {
        self.task(task).map(|task| self.site(task))
    }

    fn site(&self, task: &Task<'_>) -> SiteId {
        let frame = task.frame();
        match frame.code.instructions.get(frame.next) {
            Some(instruction) => instruction.site,
            None => self.module.function(frame.function).end,
        }
    }

    /// What the next step of a task would do.
    pub fn next(&self, task: TaskId) -> Next {
        let Some(task) = self.task(task) else {
            return Next::Done;
        };
        let frame = task.frame();
        let Some(instruction) = frame.code.instructions.get(frame.next) else {
            return Next::Local;
        };
        let (kind, base, offset, access) = match &instruction.op {
            Op::Load {
                base,
                offset,
                access,
            } => (AccessKind::Read, base, offset, access),
            Op::Store {
                base,
                offset,
                access,
                ..
            } => (AccessKind::Write, base, offset, access),
            Op::PromiseSet {
                promise,
                access: Some(access),
                ..
            } => (AccessKind::Write, promise, &Operand::Constant(0), access),
            Op::IsolatedBegin => return Next::EnterIsolated,
            Op::Acquire(_) => return Next::Acquire,
            _ => return Next::Local,
        };
        let Some(object) = task.get(*base).reference() else {
            return Next::Local;
        };
        let offset = match *offset {
            Operand::Value(value) => task.get(value).int(),
            Operand::Constant(constant) => constant,
        };
        let offset = offset as u64;
        Next::Access {
            kind,
            object,
            offset,
            location: self.heap.object(object).first().offset(offset),
            access: *access,
        }
    }
}

/// The parts separated by spaces.
fn write_parts(into: &mut Vec<u8>, parts: &[PrintPart], get: impl Fn(Value) -> Datum) {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            into.push(b' ');
        }
        match part {
            PrintPart::Text(text) => into.extend_from_slice(text.as_bytes()),
            PrintPart::Value(value) => {
                write!(into, "{}", get(*value)).expect("writing to a vector does not fail");
            }
        }
    }
}
