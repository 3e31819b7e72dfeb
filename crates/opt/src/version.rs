//! Loop versioning: bounds and null checks leave counted loops.
//!
//! In front of a loop goes a [`Guard`]: the references that the loop uses in every iteration are
//! not null, and the indices that are linear in it stay in bounds from the first to the last
//! iteration. If it holds, control enters a fast copy of the loop in which [`Op::Index`] is plain
//! arithmetic on sizes read before the loop, null checks are gone, and invariant lengths and loads
//! are made once, in the guard. If not, control enters the original loop, which fails when and
//! where it must. Race checks stay in both, with their ids, in their order.
//!
//! Asked about are only checks that every iteration makes: those of a branch might refuse a loop
//! for something it never does. Checks in the header, which is passed once more than the body, only
//! if they are invariant.
//!
//! Innermost loops come first, all of one height in one round; then the loops around them, whose
//! guards settle that the references of inner guards are not null. A loop is copied if it is small
//! and the function has not grown too much for it.

use crate::changes::Calls;
use crate::edit::{Definitions, Renaming, new_value, target};
use crate::evolution::{Context, Trips};
use crate::guard::Guard;
use crate::linear::{Linear, Sum};
use crate::loop_form::{Copy, Nest, close, copy, jump_arguments, rename_in};
use crate::not_null::NotNull;
use crate::plan::{Plan, Source};
use finishline_ir::loops::Loop;
use finishline_ir::{BinaryOp, BlockId, Const, Function, Instruction, Op, Terminator, Type, Value};
use finishline_model::AccessId;
use rustc_hash::{FxHashMap, FxHashSet};

/// Instructions of a loop that is still copied; of a loop around others, where there is less to
/// win.
const LARGEST_LOOP: usize = 400;
const LARGEST_NEST: usize = 150;
/// Loops with so many loops nested in them are left alone.
pub(crate) const HIGHEST: u32 = 2;
/// A function may grow by so many instructions, or by as many as it has.
const GROWTH: usize = 300;

/// What versioning one function may still add.
pub(crate) struct Budget(usize);

impl Budget {
    pub(crate) fn of(function: &Function) -> Budget {
        let size: usize = function.blocks.iter().map(|b| b.instructions.len()).sum();
        Budget(GROWTH.max(size))
    }

    fn allows(&self, function: &Function, this: &Loop) -> bool {
        let largest = if this.height == 0 {
            LARGEST_LOOP
        } else {
            LARGEST_NEST
        };
        size(function, this) <= largest.min(self.0)
    }
}

/// Versions the loops of one height. Whether any was; loads that were moved away from their checks
/// are noted.
pub(crate) fn version(
    function: &mut Function,
    height: u32,
    calls: &Calls,
    budget: &mut Budget,
    moved: &mut Vec<AccessId>,
) -> bool {
    let Some(nest) = Nest::of(function) else {
        return false;
    };
    let mut ids = nest.of_height(height);
    ids.retain(|id| budget.allows(function, nest.loops.get(*id)));
    if ids.is_empty() {
        return false;
    }
    // What is learnt about a closed loop stays true when another one is copied.
    let ready = close(function, &nest, &Definitions::of(function), ids);
    let definitions = Definitions::of(function);
    let facts = NotNull::of(function, &definitions, &nest.dominators);
    let constants = int_constants(function);
    let mut renaming = Renaming::new(function);
    let mut any = false;
    for id in ready {
        let (this, entry) = (nest.loops.get(id), nest.entry(id));
        if !budget.allows(function, this) {
            continue;
        }
        let context = Context {
            function,
            definitions: &definitions,
            dominators: &nest.dominators,
            loops: &nest.loops,
            id,
        };
        let Some(plan) = Plan::of(context, calls) else {
            continue;
        };
        let known = |reference| facts.holds(reference, entry, &nest.dominators);
        if let Some(fast) = make(function, this, &plan, entry, known, &constants) {
            simplify(function, this, &plan, &fast, &mut renaming);
            moved.extend(fast.moved);
            budget.0 -= size(function, this);
            any = true;
        }
    }
    any
}

fn size(function: &Function, this: &Loop) -> usize {
    let blocks = this.blocks.iter();
    blocks
        .map(|block| function.block(*block).instructions.len() + 1)
        .sum()
}

fn int_constants(function: &Function) -> FxHashMap<Value, i64> {
    let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions
        .filter_map(|instruction| match (&instruction.op, instruction.result) {
            (Op::Const(Const::Int(int)), Some(result)) => Some((result, *int)),
            _ => None,
        })
        .collect()
}

/// The second copy of a loop, and what its guard has computed for it.
struct Fast {
    copy: Copy,
    /// For each index of the plan: the sizes of all dimensions but the first.
    sizes: Vec<Vec<Value>>,
    /// Values of the loop, each with what stands for it in front of it.
    invariants: FxHashMap<Value, Value>,
    /// Loads that stand before their checks now.
    moved: Vec<AccessId>,
}

/// Makes the guard and the copy, unless the guard could never hold.
fn make(
    function: &mut Function,
    this: &Loop,
    plan: &Plan,
    entry: BlockId,
    known: impl Fn(Value) -> bool,
    constants: &FxHashMap<Value, i64>,
) -> Option<Fast> {
    let (blocks, values) = (function.blocks.len(), function.values.len());
    let arguments = jump_arguments(function, entry).to_vec();
    let mut emitted = Emitted {
        linear: FxHashMap::default(),
        arguments: &arguments,
        constants,
        moved: Vec::new(),
    };
    let mut guard = Guard::new(function, target(this.header, arguments.clone()));
    emitted.conditions(&mut guard, plan, known);
    if guard.impossible {
        function.blocks.truncate(blocks);
        function.values.truncate(values);
        return None;
    }
    guard.settle();
    let sizes = plan.indices.iter().map(|(_, array, indices)| {
        let array = emitted.value(&mut guard, *array);
        let inner = 1..indices.len() as u32;
        inner.map(|d| guard.length(array, d)).collect()
    });
    let sizes = sizes.collect();
    let computed = plan.needed.iter().filter(|(value, source)| {
        matches!(source, Source::Operation { .. }) && emitted.linear[value].is_invariant()
    });
    let invariants = computed.map(|(value, _)| (*value, emitted.value(&mut guard, *value)));
    let invariants = invariants.collect();
    let copy = copy(guard.front.function, &this.blocks);
    let first = guard.finish(target(copy.block(this.header), arguments.clone()));
    function.blocks[entry.index()].terminator = Terminator::Jump(target(first, Vec::new()));
    Some(Fast {
        copy,
        sizes,
        invariants,
        moved: emitted.moved,
    })
}

/// What the guard has computed of the values of the loop.
struct Emitted<'a> {
    linear: FxHashMap<Value, Linear>,
    /// With which the loop is entered.
    arguments: &'a [Value],
    constants: &'a FxHashMap<Value, i64>,
    /// Loads that stand before their checks now.
    moved: Vec<AccessId>,
}

impl Emitted<'_> {
    fn linear(&self, value: Value) -> Linear {
        match self.linear.get(&value) {
            Some(linear) => *linear,
            None => Linear::invariant(self.outside(value)),
        }
    }

    fn outside(&self, value: Value) -> Sum {
        match self.constants.get(&value) {
            Some(int) => Sum::int(*int),
            None => Sum::of(value),
        }
    }

    /// An invariant as a value.
    fn value(&self, guard: &mut Guard<'_>, value: Value) -> Value {
        guard.front.value(self.linear(value).start)
    }

    /// All that the guard asks.
    fn conditions(&mut self, guard: &mut Guard<'_>, plan: &Plan, known: impl Fn(Value) -> bool) {
        let computed: FxHashSet<Value> = plan.needed.iter().map(|(value, _)| *value).collect();
        for &reference in &plan.not_null {
            if known(reference) {
                guard.is_not_null(reference);
            } else if !computed.contains(&reference) {
                guard.require_not_null(reference);
            }
        }
        if let Some(Trips::Count { at }) = plan.trips {
            guard.trips(self.outside(self.arguments[at]));
        }
        for (value, source) in &plan.needed {
            let linear = match source {
                Source::Counter { at, step, shrinks } => {
                    let step = self.outside(*step);
                    Linear {
                        start: self.outside(self.arguments[*at]),
                        step: if *shrinks {
                            guard.front.subtract(Sum::ZERO, step)
                        } else {
                            step
                        },
                    }
                }
                Source::Operation { op, ty } => self.operation(guard, op, *ty),
            };
            self.linear.insert(*value, linear);
        }
        if let Some(Trips::Bound {
            counter,
            step,
            bound,
            inclusive,
        }) = plan.trips
        {
            let start = self.outside(self.arguments[counter.at]);
            guard.trips_to_bound(start, step, self.linear(bound).start, inclusive);
        }
        for &reference in &plan.not_null {
            let reference = self.value(guard, reference);
            guard.require_not_null(reference);
        }
        for (_, array, indices) in &plan.indices {
            let array = self.value(guard, *array);
            for (dimension, index) in indices.iter().enumerate() {
                let size = Sum::of(guard.length(array, dimension as u32));
                guard.require_in_bounds(self.linear(*index), size);
            }
        }
    }

    /// Computes an operation of the loop in the guard.
    fn operation(&mut self, guard: &mut Guard<'_>, op: &Op, ty: Type) -> Linear {
        if ty == Type::Int
            && let Some(linear) = guard.front.follow(op, |value| Some(self.linear(value)))
        {
            return linear;
        }
        let value = match op {
            Op::Length { array, dimension } => {
                let array = self.value(guard, *array);
                guard.length(array, *dimension)
            }
            Op::Index { array, indices } => {
                let array = self.value(guard, *array);
                let mut offset = Sum::ZERO;
                for (dimension, index) in indices.iter().enumerate() {
                    let size = Sum::of(guard.length(array, dimension as u32));
                    let index = self.linear(*index);
                    guard.require_in_bounds(index, size);
                    offset = guard.front.multiply(offset, size);
                    offset = guard.front.add(offset, index.start);
                }
                guard.front.value(offset)
            }
            other => {
                let mut op = other.clone();
                op.for_each_use_mut(|operand| *operand = self.value(guard, *operand));
                match op {
                    Op::Load { base, access, .. } => {
                        self.moved.push(access);
                        guard.load(op, base, ty)
                    }
                    op => guard.front.emit(op, ty),
                }
            }
        };
        Linear::invariant(Sum::of(value))
    }
}

/// Takes out of the copy what the guard has settled.
fn simplify(
    function: &mut Function,
    this: &Loop,
    plan: &Plan,
    fast: &Fast,
    renaming: &mut Renaming,
) {
    let copied = |value: &Value| fast.copy.value(*value);
    for (original, before) in &fast.invariants {
        renaming.set(copied(original), *before);
    }
    let settled: FxHashSet<Value> = plan.not_null.iter().map(copied).collect();
    let hoisted: FxHashSet<Value> = fast.invariants.keys().map(copied).collect();
    let results = plan.indices.iter().map(|(result, ..)| copied(result));
    let arithmetic: FxHashMap<Value, &Vec<Value>> = results.zip(&fast.sizes).collect();
    let copies = this.blocks.iter().map(|block| fast.copy.block(*block));
    let copies: Vec<BlockId> = copies.collect();
    for block in &copies {
        let instructions = std::mem::take(&mut function.blocks[block.index()].instructions);
        let mut kept = Vec::with_capacity(instructions.len());
        for instruction in instructions {
            match (&instruction.op, instruction.result) {
                (Op::NonNull(reference), _) if settled.contains(reference) => {}
                (_, Some(result)) if hoisted.contains(&result) => {}
                (Op::Index { indices, .. }, Some(result)) if arithmetic.contains_key(&result) => {
                    let mut offset = indices[0];
                    for (index, size) in indices[1..].iter().zip(arithmetic[&result]) {
                        for (op, operand) in [(BinaryOp::Multiply, size), (BinaryOp::Add, index)] {
                            let next = new_value(function, Type::Int);
                            kept.push(Instruction {
                                op: Op::Binary(op, offset, *operand),
                                result: Some(next),
                                site: instruction.site,
                            });
                            offset = next;
                        }
                    }
                    renaming.set(result, offset);
                }
                _ => kept.push(instruction),
            }
        }
        function.blocks[block.index()].instructions = kept;
    }
    rename_in(function, &copies, renaming);
}
