//! Loop versioning: bounds and null checks leave counted loops.
//!
//! In front of a loop goes a [`Guard`]: the references that the loop uses in every iteration are not null, and the indices that are
//! linear in it stay in bounds from the first to the last iteration. If it holds, control enters a fast copy of the loop in which
//! [`Op::Index`] is plain arithmetic on sizes read before the loop, null checks are gone, and invariant lengths and loads are made once, in
//! the guard. If not, control enters the original loop, which fails when and where it must. Race checks stay in both, with
//! their ids, in their order.
//!
//! Asked about are only checks that every iteration makes: those of a branch might refuse a loop for something it never does. Checks in
//! the header, which is passed once more than the body, only if they are invariant.
//!
//! Innermost loops come first, all of one height in one round; then the loops around them, whose guards settle that the
//! references of inner guards are not null. A loop is copied if it is small and the function has not grown too much for it.

use crate::edit::{Definitions, Renaming, new_value, target};
use crate::evolution::{
    Changes, Class, Context, Evolution, Trips, compared_with_null, header_parameter, is_outside,
    is_unconditional,
};
use crate::guard::Guard;
use crate::linear::{Linear, Sum};
use crate::loop_form::{Copy, Nest, close, copy, jump_arguments, rename_in};
use crate::not_null::NotNull;
use finishline_ir::loops::Loop;
use finishline_ir::{BinaryOp, BlockId, Const, Function, Instruction, Op, Terminator, Type, Value};
use finishline_model::AccessId;
use rustc_hash::{FxHashMap, FxHashSet};

/// Instructions of a loop that is still copied; of a loop around others, where there is less to win.
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

/// Versions the loops of one height. Whether any was; loads that were moved away from their checks are noted.
pub(crate) fn version(
    function: &mut Function,
    height: u32,
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
    let mut any = false;
    for id in ready {
        let (this, entry) = (nest.loops.get(id), nest.entry(id));
        if !budget.allows(function, this) {
            continue;
        }
        let Some(plan) = Plan::of(Context {
            function,
            definitions: &definitions,
            dominators: &nest.dominators,
            loops: &nest.loops,
            id,
        }) else {
            continue;
        };
        let known = |reference| facts.holds(reference, entry, &nest.dominators);
        if make(function, this, &plan, entry, known, &constants, moved) {
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

/// What to do about a loop.
struct Plan {
    /// What the guard computes, in the order of the loop.
    needed: Vec<(Value, Source)>,
    /// Bounds checks that become arithmetic: the result, the array, the indices.
    indices: Vec<(Value, Value, Vec<Value>)>,
    /// Invariant loads, lengths and offsets, which the guard makes.
    hoisted: Vec<Value>,
    /// References the guard asks about, as the loop names them.
    not_null: Vec<Value>,
    trips: Option<Trips>,
}

/// Where a value that the guard computes comes from.
enum Source {
    Counter {
        at: usize,
        step: Value,
        shrinks: bool,
    },
    Operation {
        op: Op,
        ty: Type,
    },
}

impl Plan {
    fn of(context: Context<'_>) -> Option<Plan> {
        let changes = Changes::of(context);
        let evolution = Evolution::of(context, &changes);
        let mut plan = Plan {
            needed: Vec::new(),
            indices: Vec::new(),
            hoisted: Vec::new(),
            not_null: Vec::new(),
            trips: None,
        };
        plan.find_checks(context, &evolution);
        if plan.indices.is_empty() && plan.hoisted.is_empty() && plan.not_null.is_empty() {
            return None;
        }
        plan.find_needed(context, &evolution);
        Some(plan)
    }

    /// The checks that the guard can make once for all iterations.
    fn find_checks(&mut self, context: Context<'_>, evolution: &Evolution) {
        let this = context.loops.get(context.id);
        let class = |value: Value| evolution.class(context, value);
        let mut not_null = FxHashSet::default();
        for &block in &this.blocks {
            if !is_unconditional(context, block) {
                continue;
            }
            for instruction in &context.function.block(block).instructions {
                if let (Some(result), Op::Load { .. } | Op::Length { .. } | Op::Index { .. }) =
                    (instruction.result, &instruction.op)
                    && class(result) == Class::Invariant
                {
                    self.hoisted.push(result);
                }
                let reference = match &instruction.op {
                    Op::NonNull(reference) => *reference,
                    Op::Length { array, .. } => *array,
                    Op::Index { array, indices } => {
                        let all_linear = indices.iter().all(|i| class(*i) != Class::Varying);
                        let some_change = indices.iter().any(|i| class(*i) != Class::Invariant);
                        if let Some(result) = instruction.result
                            && class(*array) == Class::Invariant
                            && all_linear
                            && some_change
                            && block != this.header
                            && evolution.trips.is_some()
                        {
                            self.indices.push((result, *array, indices.clone()));
                        }
                        *array
                    }
                    op => match compared_with_null(context, op) {
                        Some(reference) => reference,
                        None => continue,
                    },
                };
                if class(reference) == Class::Invariant && not_null.insert(reference) {
                    self.not_null.push(reference);
                }
            }
        }
    }

    /// What the checks are made of, back to what is known before the loop.
    fn find_needed(&mut self, context: Context<'_>, evolution: &Evolution) {
        let this = context.loops.get(context.id);
        let mut wanted: FxHashSet<Value> = FxHashSet::default();
        for (_, array, indices) in &self.indices {
            wanted.insert(*array);
            wanted.extend(indices);
        }
        wanted.extend(&self.not_null);
        wanted.extend(&self.hoisted);
        if !self.indices.is_empty() {
            self.trips = evolution.trips;
            if let Some(Trips::Bound { bound, .. }) = self.trips {
                wanted.insert(bound);
            }
        }
        let instructions = this
            .blocks
            .iter()
            .rev()
            .flat_map(|block| context.function.block(*block).instructions.iter().rev());
        for instruction in instructions {
            if let Some(result) = instruction.result
                && wanted.contains(&result)
            {
                instruction.op.for_each_use(|value| {
                    wanted.insert(value);
                });
                let (op, ty) = (instruction.op.clone(), context.function.ty(result));
                self.needed.push((result, Source::Operation { op, ty }));
            }
        }
        for value in wanted {
            if let Some(at) = header_parameter(context, value)
                && let Some(counter) = evolution.counters.get(&value)
            {
                debug_assert!(is_outside(context, counter.step));
                let source = Source::Counter {
                    at,
                    step: counter.step,
                    shrinks: counter.shrinks,
                };
                self.needed.push((value, source));
            }
        }
        self.needed.reverse();
    }
}

/// Carries a plan out, unless its guard could never hold.
fn make(
    function: &mut Function,
    this: &Loop,
    plan: &Plan,
    entry: BlockId,
    known: impl Fn(Value) -> bool,
    constants: &FxHashMap<Value, i64>,
    moved: &mut Vec<AccessId>,
) -> bool {
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
        return false;
    }
    guard.settle();
    // The sizes of inner dimensions, for the arithmetic in the loop.
    let sizes: Vec<Vec<Value>> = plan
        .indices
        .iter()
        .map(|(_, array, indices)| {
            let array = emitted.value(&mut guard, *array);
            (1..indices.len() as u32)
                .map(|dimension| guard.length(array, dimension))
                .collect()
        })
        .collect();
    let invariants: FxHashMap<Value, Value> = plan
        .needed
        .iter()
        .filter(|(_, source)| matches!(source, Source::Operation { .. }))
        .filter(|(value, _)| emitted.linear[value].is_invariant())
        .map(|(value, _)| (*value, emitted.value(&mut guard, *value)))
        .collect();
    let fast = copy(guard.front.function, &this.blocks);
    let first = guard.finish(target(fast.block(this.header), arguments.clone()));
    moved.append(&mut emitted.moved);
    function.blocks[entry.index()].terminator = Terminator::Jump(target(first, Vec::new()));
    simplify(function, this, plan, &fast, &sizes, &invariants);
    true
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
    fast: &Copy,
    sizes: &[Vec<Value>],
    invariants: &FxHashMap<Value, Value>,
) {
    let mut renaming = Renaming::new(function);
    for (original, before) in invariants {
        renaming.set(fast.value(*original), *before);
    }
    let settled: FxHashSet<Value> = plan.not_null.iter().map(|r| fast.value(*r)).collect();
    let hoisted: FxHashSet<Value> = invariants.keys().map(|v| fast.value(*v)).collect();
    let arithmetic: FxHashMap<Value, &[Value]> = plan
        .indices
        .iter()
        .zip(sizes)
        .map(|((result, ..), sizes)| (fast.value(*result), &sizes[..]))
        .collect();
    let copies: Vec<BlockId> = this.blocks.iter().map(|b| fast.block(*b)).collect();
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
    rename_in(function, &copies, &mut renaming);
}
