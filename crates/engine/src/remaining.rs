//! Which promises a waiting task may still set, if it went on.
//!
//! **What it computes.** In a deadlock no task goes on. But each has code that it has not run, and
//! a `set` may be in there. For each waiting task: a superset of the promises that its remaining
//! code sets, and that of the tasks which this code would create. So a promise that is in no such
//! set has nobody left to set it.
//!
//! **How.** The remaining code is run on what is known of each value, from where the task waits:
//! sparse conditional constant propagation [Wegman and Zadeck, 1991]. At the start the registers of
//! the task are known. Both ways of a branch are taken unless its condition is known. Each call
//! under way is followed on its own. A function that is called or created later is followed once,
//! with all its arguments together.
//!
//! **Memory.** A location is read as it is now, if no remaining code of any task may store there.
//! What is loaded from any other location is unknown. An unknown reference may be to any object
//! that is made where the points-to analysis says ([`References`]). The value of a promise is known
//! if it was set: nothing changes it.
//!
//! **Cost.** A value changes at most [`MOST_OBJECTS`] times. Beyond [`MOST_WORK`] there is no
//! result.

use finishline_ir::dominators::Dominators;
use finishline_ir::machine::{Datum, Handle, Machine, Suspended};
use finishline_ir::{
    BlockId, Function, FunctionId, Instruction, Module, Op, Operand, Target, Terminator, Value,
};
use finishline_model::{AllocationId, TaskId};
use finishline_opt::References;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// The most objects that a reference is known to be one of.
const MOST_OBJECTS: usize = 64;
/// The most locations of an object that are read at once.
const MOST_READ: u64 = 4096;
/// The most instructions and registers that are looked at, for all tasks together.
const MOST_WORK: u64 = 2_000_000;

/// The remaining code of some tasks, which all wait.
pub(crate) struct Remaining<'a, 'm> {
    module: &'m Module,
    machine: &'a Machine<'m>,
    references: References,
    /// Where this code may store: by allocation, a field, or any element of an array.
    stored: FxHashSet<(AllocationId, Option<i64>)>,
    dominators: FxHashMap<FunctionId, Dominators>,
    work_left: u64,
}

/// What a task may set.
#[derive(Default, Debug)]
pub(crate) struct Sets {
    promises: BTreeSet<Handle>,
    /// Any promise made at one of these.
    allocations: BTreeSet<AllocationId>,
}

impl Sets {
    pub(crate) fn contain(&self, promise: Handle, machine: &Machine<'_>) -> bool {
        let allocation = machine.heap().object(promise).allocation;
        self.promises.contains(&promise) || self.allocations.contains(&allocation)
    }
}

impl<'a, 'm> Remaining<'a, 'm> {
    /// None if that is too much work.
    pub(crate) fn of(
        module: &'m Module,
        machine: &'a Machine<'m>,
        tasks: impl Iterator<Item = TaskId>,
    ) -> Option<Self> {
        let mut remaining = Remaining {
            module,
            machine,
            references: References::of(module)?,
            stored: FxHashSet::default(),
            dominators: FxHashMap::default(),
            work_left: MOST_WORK,
        };
        remaining.find_stores(tasks)?;
        Some(remaining)
    }

    /// What the task may set. None if that is too much work.
    pub(crate) fn sets(&mut self, task: TaskId) -> Option<Sets> {
        Run::of(self, task)?.sets()
    }

    fn spend(&mut self, work: usize) -> Option<()> {
        self.work_left = self.work_left.checked_sub(work as u64)?;
        Some(())
    }

    /// Finds the stores of all code that may be left, whatever conditions say.
    fn find_stores(&mut self, tasks: impl Iterator<Item = TaskId>) -> Option<()> {
        let mut seen: FxHashSet<(FunctionId, BlockId, usize)> = FxHashSet::default();
        let mut left: Vec<(FunctionId, BlockId, usize)> = Vec::new();
        for task in tasks {
            let frames = self.machine.suspended(task);
            left.extend(frames.map(|frame| (frame.function, frame.block, frame.next)));
            self.work_left = self.work_left.checked_sub(left.len() as u64)?;
            left.retain(|place| seen.insert(*place));
            while let Some((id, block, from)) = left.pop() {
                let block = self.module.function(id).block(block);
                let instructions = &block.instructions[from..];
                self.spend(1 + instructions.len())?;
                let mut next = |place| {
                    if seen.insert(place) {
                        left.push(place);
                    }
                };
                for instruction in instructions {
                    match &instruction.op {
                        Op::Store { base, offset, .. } => {
                            let part = match offset {
                                Operand::Constant(field) => Some(*field),
                                Operand::Value(_) => None,
                            };
                            let objects = self.references.of_value(id, *base);
                            self.stored.extend(objects.map(|object| (object, part)));
                        }
                        Op::Call { function, .. } | Op::Spawn { function, .. } => {
                            next((*function, Function::ENTRY, 0));
                        }
                        _ => {}
                    }
                }
                for target in block.terminator.targets() {
                    next((id, target.block, 0));
                }
            }
        }
        Some(())
    }

    /// What a load reads from one of these objects.
    fn load(&self, objects: &BTreeSet<Handle>, offset: &Known) -> Known {
        let mut loaded = Known::Nothing;
        for object in objects {
            let object = self.machine.heap().object(*object);
            let is_array = !object.sizes().is_empty();
            let offsets = match offset {
                Known::Value(Datum::Int(offset)) => match u64::try_from(*offset) {
                    Ok(offset) if offset < object.count() => offset..offset + 1,
                    _ => continue,
                },
                _ if object.count() <= MOST_READ => 0..object.count(),
                _ => return Known::Anything,
            };
            for offset in offsets {
                let part = (!is_array).then_some(offset as i64);
                if self.stored.contains(&(object.allocation, part)) {
                    return Known::Anything;
                }
                loaded.join(Known::from(object.get(offset)));
                if loaded == Known::Anything {
                    return loaded;
                }
            }
        }
        match loaded {
            // Every way fails. Nothing is gained by knowing that.
            Known::Nothing => Known::Anything,
            loaded => loaded,
        }
    }

    /// The value of one of these promises.
    fn get(&self, promises: &BTreeSet<Handle>) -> Known {
        let mut value = Known::Nothing;
        for promise in promises {
            match self.machine.value_of(*promise) {
                Some(set) => {
                    value.join(Known::from(set));
                }
                None => return Known::Anything,
            }
        }
        match value {
            Known::Nothing => Known::Anything,
            value => value,
        }
    }
}

/// What is known of a value, over all ways to run the remaining code.
#[derive(Clone, PartialEq, Debug)]
enum Known {
    /// No way to its definition was found so far.
    Nothing,
    /// It is this value, and no float: of two equal ones there may be two.
    Value(Datum),
    /// It is null, one of these objects, or, if so marked, an object that does not exist yet.
    Objects {
        objects: BTreeSet<Handle>,
        or_new: bool,
    },
    Anything,
}

impl From<Datum> for Known {
    fn from(datum: Datum) -> Known {
        match datum {
            Datum::Float(_) => Known::Anything,
            datum => Known::Value(datum),
        }
    }
}

impl Known {
    const NEW: Known = Known::Objects {
        objects: BTreeSet::new(),
        or_new: true,
    };

    fn value(&self) -> Option<Datum> {
        match self {
            Known::Value(datum) => Some(*datum),
            _ => None,
        }
    }

    /// The objects it may be, and whether it may be a new one. None if that is not known.
    fn objects(&self) -> Option<(BTreeSet<Handle>, bool)> {
        match self {
            Known::Value(Datum::Ref(object)) => Some((object.iter().copied().collect(), false)),
            Known::Objects { objects, or_new } => Some((objects.clone(), *or_new)),
            Known::Nothing | Known::Value(_) | Known::Anything => None,
        }
    }

    /// Adds what it may be besides. True if that is new.
    fn join(&mut self, other: Known) -> bool {
        if *self == other || other == Known::Nothing || *self == Known::Anything {
            return false;
        }
        let joined = match (self.objects(), other.objects()) {
            _ if *self == Known::Nothing => other,
            (Some((mut objects, or_new)), Some((others, or_other_new))) => {
                objects.extend(others);
                match objects.len() <= MOST_OBJECTS {
                    true => Known::Objects {
                        objects,
                        or_new: or_new || or_other_new,
                    },
                    false => Known::Anything,
                }
            }
            _ => Known::Anything,
        };
        let changed = *self != joined;
        *self = joined;
        changed
    }
}

/// The run of one task's remaining code.
struct Run<'r, 'a, 'm> {
    remaining: &'r mut Remaining<'a, 'm>,
    /// First the calls under way, the outermost first. Then functions that are called or created.
    activations: Vec<Activation>,
    called: FxHashMap<FunctionId, usize>,
    /// Activations to be looked at again.
    left: BTreeSet<usize>,
    /// Sets that may happen: the activation, and the promise.
    sets: BTreeSet<(usize, Value)>,
}

struct Activation {
    function: FunctionId,
    /// By value.
    values: Vec<Known>,
    /// By block: whether it may be run from its start.
    reached: Vec<bool>,
    /// Where a call under way goes on, once it may.
    goes_on: Option<(BlockId, usize)>,
    /// None if it does not return, as far as it is known.
    returned: Option<Known>,
    /// A call under way: the one below it, and the value there that its result becomes.
    returns_to: Option<(usize, Option<Value>)>,
    /// A function that is called: from where.
    callers: BTreeSet<usize>,
}

impl<'r, 'a, 'm> Run<'r, 'a, 'm> {
    fn of(remaining: &'r mut Remaining<'a, 'm>, task: TaskId) -> Option<Self> {
        let frames: Vec<Suspended<'a>> = remaining.machine.suspended(task).collect();
        let mut activations = Vec::new();
        for (index, frame) in frames.iter().enumerate() {
            // What the call above returns is not there yet.
            let awaited = frames.get(index + 1).and_then(|above| above.result);
            remaining.spend(frame.registers.len())?;
            let function = remaining.module.function(frame.function);
            let dominators = remaining.dominators.entry(frame.function);
            let dominators = dominators.or_insert_with(|| Dominators::of(function));
            activations.push(Activation {
                function: frame.function,
                values: values_at(function, frame, awaited, dominators),
                reached: vec![false; function.blocks.len()],
                goes_on: (index + 1 == frames.len()).then_some((frame.block, frame.next)),
                returned: None,
                returns_to: index.checked_sub(1).map(|below| (below, frame.result)),
                callers: BTreeSet::new(),
            });
        }
        let mut run = Run {
            remaining,
            left: activations.len().checked_sub(1).into_iter().collect(),
            activations,
            called: FxHashMap::default(),
            sets: BTreeSet::new(),
        };
        while let Some(next) = run.left.pop_last() {
            let goes_on = run.look_at(next)?;
            if let (Some((below, result)), Some(value)) = goes_on {
                let frame = &frames[below];
                let caller = &mut run.activations[below];
                let known =
                    result.is_some_and(|result| caller.values[result.index()].join(value.clone()));
                let starts = caller.goes_on.replace((frame.block, frame.next)).is_none();
                if known || starts {
                    run.left.insert(below);
                }
            }
        }
        Some(run)
    }

    /// What the run has shown.
    fn sets(self) -> Option<Sets> {
        let mut sets = Sets::default();
        for (activation, promise) in self.sets {
            let activation = &self.activations[activation];
            match activation.values[promise.index()].objects() {
                Some((promises, _)) => sets.promises.extend(promises),
                None => {
                    let references = &self.remaining.references;
                    let made = references.of_value(activation.function, promise);
                    sets.allocations.extend(made);
                }
            }
        }
        Some(sets)
    }

    /// Runs what may be run of an activation, until nothing new is known. Returns where it returns
    /// to, and what.
    #[expect(clippy::type_complexity, reason = "taken apart at once")]
    fn look_at(&mut self, index: usize) -> Option<(Option<(usize, Option<Value>)>, Option<Known>)> {
        let module = self.remaining.module;
        let function = module.function(self.activations[index].function);
        loop {
            let mut changed = false;
            if let Some((block, next)) = self.activations[index].goes_on {
                changed |= self.block(index, function, block, next)?;
            }
            for number in 0..function.blocks.len() {
                if self.activations[index].reached[number] {
                    let block = BlockId::from_index(number);
                    changed |= self.block(index, function, block, 0)?;
                }
            }
            if !changed {
                let activation = &self.activations[index];
                return Some((activation.returns_to, activation.returned.clone()));
            }
        }
    }

    /// Runs a block from an instruction on. True if something new is known.
    fn block(
        &mut self,
        index: usize,
        function: &Function,
        block: BlockId,
        from: usize,
    ) -> Option<bool> {
        let block = function.block(block);
        let instructions = &block.instructions[from..];
        self.remaining.spend(1 + instructions.len())?;
        let mut changed = false;
        for instruction in instructions {
            let Some(result) = self.instruction(index, instruction) else {
                // A call that does not return.
                return Some(changed);
            };
            if let Some(value) = instruction.result {
                changed |= self.activations[index].values[value.index()].join(result);
            }
        }
        match &block.terminator {
            Terminator::Jump(target) => changed |= self.reach(index, function, target),
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.activations[index].values[condition.index()].value();
                if condition != Some(Datum::Bool(false)) {
                    changed |= self.reach(index, function, then);
                }
                if condition != Some(Datum::Bool(true)) {
                    changed |= self.reach(index, function, otherwise);
                }
            }
            Terminator::Return(value) => {
                let activation = &mut self.activations[index];
                let returned = match value {
                    Some(value) => activation.values[value.index()].clone(),
                    None => Known::Anything,
                };
                let is_new = match &mut activation.returned {
                    Some(known) => known.join(returned),
                    none => none.replace(returned).is_none(),
                };
                if is_new {
                    self.left.extend(&activation.callers);
                }
            }
        }
        Some(changed)
    }

    fn reach(&mut self, index: usize, function: &Function, target: &Target) -> bool {
        let activation = &mut self.activations[index];
        let mut changed = !activation.reached[target.block.index()];
        activation.reached[target.block.index()] = true;
        let parameters = &function.block(target.block).parameters;
        for (argument, parameter) in target.arguments.iter().zip(parameters) {
            let argument = activation.values[argument.index()].clone();
            changed |= activation.values[parameter.index()].join(argument);
        }
        changed
    }

    /// The result of an instruction. None if control does not come past it.
    fn instruction(&mut self, index: usize, instruction: &Instruction) -> Option<Known> {
        let values = &self.activations[index].values;
        let known = |value: &Value| &values[value.index()];
        Some(match &instruction.op {
            Op::NewStruct { .. }
            | Op::NewArray { .. }
            | Op::NewLock { .. }
            | Op::NewPromise { .. } => Known::NEW,
            Op::Load { base, offset, .. } => match known(base).objects() {
                Some((objects, false)) => {
                    let offset = match offset {
                        Operand::Value(value) => known(value).clone(),
                        Operand::Constant(offset) => Known::Value(Datum::Int(*offset)),
                    };
                    self.remaining.load(&objects, &offset)
                }
                _ => Known::Anything,
            },
            Op::PromiseGet(promise) => match known(promise).objects() {
                Some((promises, false)) => self.remaining.get(&promises),
                _ => Known::Anything,
            },
            Op::PromiseSet { promise, .. } => {
                self.sets.insert((index, *promise));
                Known::Nothing
            }
            Op::Call {
                function,
                arguments,
            } => {
                let callee = self.enter(index, *function, arguments);
                self.activations[callee].callers.insert(index);
                self.activations[callee].returned.clone()?
            }
            Op::Spawn {
                function,
                arguments,
                ..
            } => {
                self.enter(index, *function, arguments);
                Known::Nothing
            }
            op => {
                let value = |value: Value| known(&value).value();
                let result = self.remaining.machine.foresee(op, value);
                result.map_or(Known::Anything, Known::from)
            }
        })
    }

    /// The activation of a function that is called or created with these arguments.
    fn enter(&mut self, from: usize, function: FunctionId, arguments: &[Value]) -> usize {
        let code = self.remaining.module.function(function);
        let callee = *self.called.entry(function).or_insert_with(|| {
            let mut reached = vec![false; code.blocks.len()];
            reached[Function::ENTRY.index()] = true;
            self.activations.push(Activation {
                function,
                values: vec![Known::Nothing; code.values.len()],
                reached,
                goes_on: None,
                returned: None,
                returns_to: None,
                callers: BTreeSet::new(),
            });
            self.left.insert(self.activations.len() - 1);
            self.activations.len() - 1
        });
        let parameters = &code.block(Function::ENTRY).parameters;
        for (argument, parameter) in arguments.iter().zip(parameters) {
            let argument = self.activations[from].values[argument.index()].clone();
            if self.activations[callee].values[parameter.index()].join(argument) {
                self.left.insert(callee);
            }
        }
        callee
    }
}

/// What the registers of a call under way say of its values: those whose definitions control has
/// passed on every way to where the call goes on.
fn values_at(
    function: &Function,
    frame: &Suspended<'_>,
    awaited: Option<Value>,
    dominators: &Dominators,
) -> Vec<Known> {
    let mut values = vec![Known::Nothing; function.values.len()];
    let mut note = |value: Value| {
        if Some(value) != awaited {
            values[value.index()] = Known::from(frame.registers[value.index()]);
        }
    };
    for (block, id) in function.blocks.iter().zip((0..).map(BlockId)) {
        let passed = match id == frame.block {
            true => frame.next,
            false if dominators.dominates(id, frame.block) => block.instructions.len(),
            false => continue,
        };
        block.parameters.iter().copied().for_each(&mut note);
        let passed = &block.instructions[..passed];
        let results = passed.iter().filter_map(|instruction| instruction.result);
        results.for_each(&mut note);
    }
    values
}

#[cfg(test)]
mod tests;
