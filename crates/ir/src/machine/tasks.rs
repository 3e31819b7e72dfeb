//! Live tasks: their creation and end, their frames and registers.
//!
//! A live task holds its frames, one flat file of registers for all of them, and its open finishes,
//! innermost last. An ended task gives its place back. Live frames and registers count against the
//! memory budget: endless recursion of calls or of tasks ends in an error of the program.

use super::*;
use crate::cost;
use crate::listener::Creation;
use finishline_model::FinishId;
use std::mem::size_of;

/// What is kept of every task, also when it has ended: objects it made are named by its path.
#[derive(Clone, Copy)]
pub(super) struct Record {
    /// Of `main` this and the index mean nothing.
    parent: TaskId,
    /// How many tasks its creator had created before.
    index: u32,
    /// Its place among the live tasks.
    pub(super) slot: Slot,
}

/// A place among the live tasks, or none, in 4 bytes. There are fewer than `u32::MAX` tasks.
#[derive(Clone, Copy)]
pub(super) struct Slot(u32);

impl Slot {
    const NONE: Slot = Slot(u32::MAX);

    #[inline]
    pub(super) fn expect(self, message: &str) -> u32 {
        assert!(self.0 != u32::MAX, "{message}");
        self.0
    }

    #[inline]
    fn get(self) -> Option<usize> {
        (self.0 != u32::MAX).then_some(self.0 as usize)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    Runnable,
    /// At the end of this finish, or at a `sync`, with tasks to wait for.
    WaitingForFinish(FinishId),
    /// Another task is in an isolated block.
    WaitingForIsolation,
    /// At a `get` of this promise, which is empty.
    WaitingForPromise(Location),
    /// At an `acquire` of this lock, which that task holds.
    WaitingForLock {
        lock: Location,
        holder: TaskId,
    },
    Done,
}

#[derive(Clone)]
pub(super) struct Frame<'m> {
    pub(super) function: FunctionId,
    pub(super) block: BlockId,
    pub(super) code: &'m Block,
    /// Index of the next instruction of the block; past the last one, the terminator.
    pub(super) next: usize,
    /// Where its registers begin.
    pub(super) base: usize,
    /// The caller's register for the result.
    pub(super) result: Option<Value>,
}

#[derive(Clone)]
pub(super) struct Task<'m> {
    pub(super) id: TaskId,
    /// The immediately enclosing finish, as an index of the open ones.
    pub(super) enclosing: u32,
    pub(super) frames: Vec<Frame<'m>>,
    pub(super) registers: Vec<Datum>,
    /// Finishes this task has opened and not closed, as indices of the open ones.
    pub(super) open: Vec<u32>,
    pub(super) created: u32,
    pub(super) allocated: u32,
}

/// What a `Spawn` instruction asks for.
#[derive(Clone, Copy)]
pub(super) struct Spawn<'m> {
    pub(super) kind: TaskKind,
    pub(super) construct: Construct,
    pub(super) function: FunctionId,
    pub(super) arguments: &'m [Value],
    pub(super) site: SiteId,
}

impl<'m> Task<'m> {
    #[inline]
    pub(super) fn frame(&self) -> &Frame<'m> {
        self.frames.last().expect("a live task has a frame")
    }

    #[inline]
    pub(super) fn frame_mut(&mut self) -> &mut Frame<'m> {
        self.frames.last_mut().expect("a live task has a frame")
    }

    /// The registers of the innermost frame.
    #[inline]
    pub(super) fn window(&self) -> &[Datum] {
        &self.registers[self.frame().base..]
    }

    #[inline]
    pub(super) fn get(&self, value: Value) -> Datum {
        self.window()[value.index()]
    }

    #[inline]
    pub(super) fn set(&mut self, value: Option<Value>, datum: Datum) {
        if let Some(value) = value {
            let base = self.frame().base;
            self.registers[base + value.index()] = datum;
        }
    }

    #[inline]
    pub(super) fn advance(&mut self) {
        self.frame_mut().next += 1;
    }

    pub(super) fn request(&self, allocation: AllocationId) -> Request {
        Request {
            allocation,
            creator: self.id,
            ordinal: self.allocated,
        }
    }

    /// Enters a function: its registers, and a frame at the start of its entry block. The caller
    /// fills in the parameters.
    fn push_frame(
        &mut self,
        module: &'m Module,
        function: FunctionId,
        result: Option<Value>,
    ) -> Result<(), std::collections::TryReserveError> {
        let code = module.function(function).block(Function::ENTRY);
        let count = module.function(function).values.len();
        let base = self.registers.len();
        if self.frames.is_empty() {
            // Most tasks make no call.
            self.frames.try_reserve_exact(1)?;
            self.registers.try_reserve_exact(count)?;
        } else {
            self.frames.try_reserve(1)?;
            self.registers.try_reserve(count)?;
        }
        self.registers.resize(base + count, Datum::Int(0));
        self.frames.push(Frame {
            function,
            block: Function::ENTRY,
            code,
            next: 0,
            base,
            result,
        });
        Ok(())
    }
}

// The budget counts at least what is really taken.
const _: () = {
    assert!(size_of::<Frame<'_>>() as u64 <= cost::FRAME);
    assert!(size_of::<Datum>() as u64 <= cost::REGISTER);
    assert!(size_of::<Task<'_>>() as u64 <= cost::LIVE_TASK);
    assert!(size_of::<Record>() as u64 <= cost::TASK_RECORD);
};

/// What the registers of live tasks and the globals refer to. An ended task has no registers.
pub(super) fn roots(tasks: &[Task<'_>]) -> impl Iterator<Item = Handle> {
    let registers = tasks.iter().flat_map(|task| &task.registers);
    let held = registers.filter_map(|register| match register {
        Datum::Ref(object) => *object,
        _ => None,
    });
    std::iter::once(Handle::GLOBALS).chain(held)
}

/// Room that a task may leave to the next one at its place.
const KEPT_REGISTERS: usize = 256;
const KEPT_FRAMES: usize = 16;

impl<'m> Machine<'m> {
    pub(super) fn begin_main<L: Listener>(
        &mut self,
        arguments: &[Datum],
        listener: &mut L,
    ) -> Result<(), TrapKind> {
        let module = self.module;
        let main = module.function(module.main);
        let parameters = &main.block(Function::ENTRY).parameters;
        assert_eq!(arguments.len(), parameters.len(), "arguments of main");
        self.charge(cost::TASK_RECORD + cost::LIVE_TASK + cost::frame(main))?;
        let slot = self
            .new_task(TaskId::MAIN, 0, module.main)
            .map_err(|_| self.refused(0))?;
        let task = &mut self.tasks[slot as usize];
        for (parameter, argument) in parameters.iter().zip(arguments) {
            assert_eq!(argument.ty(), main.ty(*parameter), "arguments of main");
            task.set(Some(*parameter), *argument);
        }
        self.records.push(Record {
            parent: TaskId::MAIN,
            index: 0,
            slot: Slot(slot),
        });
        listener.event(&Event::TaskBegin {
            task: TaskId::MAIN,
            parent: None,
            kind: TaskKind::Main,
            finish: FinishId::ROOT,
            site: main.site,
        });
        self.open_finish(slot as usize, FinishKind::Root, main.site, listener);
        let initial = module.globals.iter().map(|global| global.initial);
        let request = self.tasks[slot as usize].request(AllocationId(0));
        let globals = self.heap.new_record(request, initial, std::iter::empty())?;
        self.allocated(slot as usize, globals, |_| Shape::Globals, listener);
        Ok(())
    }

    /// A live task at the start of a function, its parameters not yet filled in.
    fn new_task(
        &mut self,
        id: TaskId,
        enclosing: u32,
        function: FunctionId,
    ) -> Result<u32, std::collections::TryReserveError> {
        let slot = match self.idle_tasks.pop() {
            Some(slot) => slot,
            None => {
                self.tasks.try_reserve(1)?;
                self.tasks.push(Task {
                    id,
                    enclosing,
                    frames: Vec::new(),
                    registers: Vec::new(),
                    open: Vec::new(),
                    created: 0,
                    allocated: 0,
                });
                (self.tasks.len() - 1) as u32
            }
        };
        let task = &mut self.tasks[slot as usize];
        (task.id, task.enclosing, task.created, task.allocated) = (id, enclosing, 0, 0);
        if let Err(error) = task.push_frame(self.module, function, None) {
            self.idle_tasks.push(slot);
            return Err(error);
        }
        Ok(slot)
    }

    /// Counts bytes of frames, registers and records against the budget.
    pub(super) fn charge(&mut self, bytes: u64) -> Result<(), TrapKind> {
        match self.stacks.checked_add(bytes) {
            Some(total) if total <= self.limits.memory => {
                self.stacks = total;
                Ok(())
            }
            _ => Err(self.over(bytes)),
        }
    }

    fn over(&self, bytes: u64) -> TrapKind {
        TrapKind::Memory {
            request: Some(bytes),
            used: self.stacks,
            budget: self.limits.memory,
        }
    }

    /// The system refused what the budget allowed.
    fn refused(&mut self, bytes: u64) -> TrapKind {
        self.stacks -= bytes;
        TrapKind::SystemMemory { request: bytes }
    }

    pub(super) fn spawn<L: Listener>(
        &mut self,
        creator: usize,
        spawn: Spawn<'_>,
        listener: &mut L,
    ) -> Result<Progress, TrapKind> {
        if self.records.len() >= self.limits.tasks as usize {
            return Err(TrapKind::TooManyTasks {
                limit: self.limits.tasks,
            });
        }
        let function = self.module.function(spawn.function);
        let bytes = cost::TASK_RECORD + cost::LIVE_TASK + cost::frame(function);
        self.charge(bytes)?;
        if self.records.try_reserve(1).is_err() {
            return Err(self.refused(bytes));
        }
        let id = TaskId::from_index(self.records.len());
        let enclosing = match self.tasks[creator].open.last() {
            Some(&innermost) => innermost,
            None => self.tasks[creator].enclosing,
        };
        let Ok(slot) = self.new_task(id, enclosing, spawn.function) else {
            return Err(self.refused(bytes));
        };
        let parameters = &function.block(Function::ENTRY).parameters;
        for (parameter, argument) in parameters.iter().zip(spawn.arguments) {
            let value = self.tasks[creator].get(*argument);
            self.tasks[slot as usize].set(Some(*parameter), value);
        }
        self.finishes[enclosing as usize].live += 1;
        let creator = &mut self.tasks[creator];
        let (parent, index) = (creator.id, creator.created);
        creator.created += 1;
        creator.advance();
        let Spawn {
            kind,
            construct,
            function,
            site,
            ..
        } = spawn;
        self.records.push(Record {
            parent,
            index,
            slot: Slot(slot),
        });
        listener.event(&Event::TaskBegin {
            task: id,
            parent: Some(parent),
            kind,
            finish: self.finishes[enclosing as usize].id,
            site,
        });
        let task = &self.tasks[slot as usize];
        let captures = || parameters.iter().map(|p| task.get(*p)).collect();
        listener.created(
            id,
            &Creation {
                parent,
                index,
                site,
                construct,
                function,
                captures: &captures,
            },
        );
        Ok(Progress::Created(id))
    }

    pub(super) fn call(
        &mut self,
        slot: usize,
        function: FunctionId,
        arguments: &[Value],
        result: Option<Value>,
    ) -> Result<Progress, TrapKind> {
        self.call_room(slot, &[function])?;
        let callee = self.module.function(function);
        let bytes = cost::frame(callee);
        self.charge(bytes)?;
        let task = &mut self.tasks[slot];
        let caller = task.frame().base;
        if task.push_frame(self.module, function, result).is_err() {
            return Err(self.refused(bytes));
        }
        let base = task.frame().base;
        let parameters = &callee.block(Function::ENTRY).parameters;
        for (parameter, argument) in parameters.iter().zip(arguments) {
            task.registers[base + parameter.index()] = task.registers[caller + argument.index()];
        }
        // The caller goes on behind its call.
        let depth = task.frames.len();
        task.frames[depth - 2].next += 1;
        Ok(Progress::Continue)
    }

    /// Whether the task may call the last of these functions, from the first ones nested in each
    /// other.
    pub(super) fn call_room(&self, slot: usize, nested: &[FunctionId]) -> Result<(), TrapKind> {
        if self.tasks[slot].frames.len() + nested.len() - 1 > self.limits.call_depth as usize {
            return Err(TrapKind::CallDepth {
                limit: self.limits.call_depth,
            });
        }
        let mut used = self.stacks;
        for function in nested {
            let bytes = cost::frame(self.module.function(*function));
            match used.checked_add(bytes) {
                Some(total) if total <= self.limits.memory => used = total,
                _ => {
                    return Err(TrapKind::Memory {
                        request: Some(bytes),
                        used,
                        budget: self.limits.memory,
                    });
                }
            }
        }
        Ok(())
    }

    pub(super) fn return_to_caller(&mut self, slot: usize, value: Option<Value>) {
        let task = &mut self.tasks[slot];
        let value = value.map(|value| task.get(value));
        let frame = task.frames.pop().expect("a live task has a frame");
        task.registers.truncate(frame.base);
        self.stacks -= cost::frame(self.module.function(frame.function));
        if let Some(value) = value {
            task.set(frame.result, value);
        }
    }

    /// The outermost function of a task returns. `main` waits for the root finish and closes it
    /// first.
    pub(super) fn end_task<L: Listener>(
        &mut self,
        slot: usize,
        listener: &mut L,
    ) -> Result<Progress, TrapKind> {
        if let Some(acquired) = self.first_held(self.tasks[slot].id) {
            return Err(TrapKind::LockNeverReleased { acquired });
        }
        if let Some(&innermost) = self.tasks[slot].open.last() {
            let finish = &self.finishes[innermost as usize];
            match finish.kind {
                FinishKind::Root if finish.live > 0 => return Ok(Progress::Blocked),
                FinishKind::Root => {
                    let main = self.module.function(self.module.main);
                    self.close_finish(slot, main.end, listener);
                }
                FinishKind::Dynamic => {
                    let begin = finish.begin;
                    return Err(TrapKind::BeginFinishNeverEnded {
                        begin,
                        ended: Ended::Task,
                    });
                }
                FinishKind::Lexical | FinishKind::SyncScope => {
                    panic!(
                        "the module is not verified: a task ends inside a {:?}",
                        finish.kind
                    )
                }
            }
        }
        let task = &mut self.tasks[slot];
        let id = task.id;
        let frame = task.frames.pop().expect("a live task has a frame");
        self.stacks -= cost::LIVE_TASK + cost::frame(self.module.function(frame.function));
        task.registers.clear();
        task.registers.shrink_to(KEPT_REGISTERS);
        task.frames.shrink_to(KEPT_FRAMES);
        self.emptied = None;
        if id != TaskId::MAIN {
            let finish = &mut self.finishes[task.enclosing as usize];
            finish.live -= 1;
            self.emptied = (finish.live == 0).then_some(finish.id);
        }
        self.records[id.index()].slot = Slot::NONE;
        self.idle_tasks.push(slot as u32);
        listener.event(&Event::TaskEnd { task: id });
        Ok(Progress::Ended)
    }

    #[inline]
    pub(super) fn task(&self, task: TaskId) -> Option<&Task<'m>> {
        self.records[task.index()]
            .slot
            .get()
            .map(|slot| &self.tasks[slot])
    }

    /// Whether a task can make a step, and if not, what it waits for.
    pub fn status(&self, task: TaskId) -> Status {
        let Some(slot) = self.records[task.index()].slot.get() else {
            return Status::Done;
        };
        let task = &self.tasks[slot];
        let frame = task.frame();
        let id = task.id;
        let innermost = self.innermost(slot);
        let waits_for = |kind: Option<FinishKind>| match innermost {
            Some(finish) if finish.live > 0 && kind.is_none_or(|kind| kind == finish.kind) => {
                Status::WaitingForFinish(finish.id)
            }
            _ => Status::Runnable,
        };
        match frame
            .code
            .instructions
            .get(frame.next)
            .map(|instruction| &instruction.op)
        {
            // The step fails.
            Some(Op::FinishEnd(_) | Op::Sync | Op::PromiseGet(_))
                if self.first_held(id).is_some() =>
            {
                Status::Runnable
            }
            Some(Op::FinishEnd(kind)) => waits_for(Some(*kind)),
            Some(Op::Sync) if innermost.is_some_and(|f| f.kind == FinishKind::Dynamic) => {
                Status::Runnable
            }
            Some(Op::Sync) => waits_for(None),
            Some(Op::IsolatedBegin) if self.isolated.is_some() => Status::WaitingForIsolation,
            Some(Op::PromiseGet(promise)) => self.waits_for_promise(slot, *promise),
            Some(Op::Acquire(lock)) => self.waits_for_lock(slot, *lock),
            None if task.frames.len() == 1
                && self.first_held(id).is_none()
                && matches!(frame.code.terminator, Terminator::Return(_)) =>
            {
                waits_for(Some(FinishKind::Root))
            }
            _ => Status::Runnable,
        }
    }

    /// How many tasks were created, `main` included. They are numbered from 0.
    pub fn tasks_created(&self) -> usize {
        self.records.len()
    }

    /// The spawn indices that lead from `main` to a task.
    pub fn path(&self, task: TaskId) -> Vec<u32> {
        let parent = |task: &TaskId| Some(self.records[task.index()].parent);
        let mut path: Vec<u32> = std::iter::successors(Some(task), parent)
            .take_while(|task| *task != TaskId::MAIN)
            .map(|task| self.records[task.index()].index)
            .collect();
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of one block.
    fn function(role: Role, operations: impl Iterator<Item = Op>) -> Function {
        let site = SiteId(0);
        let instructions = operations.map(|op| Instruction {
            op,
            result: None,
            site,
        });
        Function {
            name: "f".into(),
            role,
            parameters: Vec::new(),
            result: None,
            blocks: vec![Block {
                parameters: Vec::new(),
                instructions: instructions.collect(),
                terminator: Terminator::Return(None),
            }],
            values: Vec::new(),
            frame: 0,
            site,
            end: site,
        }
    }

    #[test]
    fn ended_tasks_and_closed_finishes_give_their_places_back() {
        let create = Op::Spawn {
            kind: TaskKind::Async,
            construct: Construct::Async,
            function: FunctionId(1),
            arguments: Vec::new(),
        };
        let (begin, end) = (
            Op::FinishBegin(FinishKind::Lexical),
            Op::FinishEnd(FinishKind::Lexical),
        );
        let round = [begin, create, end];
        let main = function(Role::Function, round.iter().cycle().take(30).cloned());
        let module = Module {
            source: Default::default(),
            structs: Vec::new(),
            globals: Vec::new(),
            functions: vec![main, function(Role::AsyncBody, std::iter::empty())],
            main: FunctionId(0),
            constructs: Vec::new(),
            unchecked: Default::default(),
        };
        let mut machine = Machine::new(&module, &[], Limits::default(), &mut ()).unwrap();
        let before = machine.stacks;
        for _ in 0..30 {
            if let Progress::Created(child) = machine.step(TaskId::MAIN, &mut ()).unwrap() {
                assert_eq!(machine.step(child, &mut ()), Ok(Progress::Ended));
            }
        }
        assert_eq!((machine.tasks.len(), machine.finishes.len()), (2, 2));
        assert_eq!(machine.stacks, before + 10 * cost::TASK_RECORD);
    }
}
