//! Strength reduction: offsets that are linear in a loop grow by addition.
//!
//! The offset of an element in a loop is `start + k · step` for two values known before it
//! ([`crate::evolution`]), in wrapping arithmetic and so without conditions. It becomes a parameter
//! of the header that starts at `start` and grows by `step` on every way around: no multiplication
//! is left in the loop, and often the counter itself is of no use any more. Offsets that differ by
//! a constant, as in a stencil, share a parameter. So do other linear values that cost a
//! multiplication.
//!
//! The parameter has the same value in all of an iteration, and as it is defined in the header it
//! is at hand wherever the value that it replaces was. Loops of one height are done in one round,
//! inner ones first; linear.

use crate::changes::Changes;
use crate::edit::{Definitions, Renaming, new_value};
use crate::evolution::{Class, Context, Evolution};
use crate::linear::{Front, Linear, Sum};
use crate::loop_form::{Nest, add_counter, jump_arguments};
use finishline_ir::loops::{Loop, LoopId};
use finishline_ir::{BinaryOp, BlockId, Const, Function, Instruction, Op, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Parameters that a loop may get: each one takes a register.
const MOST_PARAMETERS: usize = 6;

/// Reduces the loops of a function.
pub(crate) fn reduce(function: &mut Function, nest: &Nest) {
    for height in 0..nest.heights() {
        let definitions = Definitions::of(function);
        let context = |id| Context {
            function,
            definitions: &definitions,
            dominators: &nest.dominators,
            loops: &nest.loops,
            id,
        };
        let found = nest.of_height(height).into_iter();
        let plans = found.filter_map(|id| Some((id, Plan::of(context(id))?)));
        let plans: Vec<(LoopId, Plan)> = plans.collect();
        if plans.is_empty() {
            continue;
        }
        let mut renaming = Renaming::new(function);
        for (id, plan) in plans {
            let (this, entry) = (nest.loops.get(id), nest.entry(id));
            carry_out(function, this, entry, plan, &mut renaming);
        }
        renaming.apply(function);
    }
}

/// The linear values of a loop that are worth a parameter.
struct Plan {
    /// What they are made of, in the order of the loop.
    needed: Vec<(Value, Op)>,
    /// Header parameters that grow: which, the step, whether it is subtracted.
    counters: Vec<(Value, usize, Value, bool)>,
    roots: Vec<Value>,
    constants: FxHashMap<Value, i64>,
}

impl Plan {
    fn of(context: Context<'_>) -> Option<Plan> {
        let Context {
            function,
            definitions,
            loops,
            id,
            ..
        } = context;
        let this = loops.get(id);
        let evolution = Evolution::of(context, &Changes::everything());
        let class = |value| evolution.class(context, value);
        let mut roots = Vec::new();
        let mut wanted = FxHashSet::default();
        let mut multiplied = FxHashSet::default();
        for &block in &this.blocks {
            for instruction in &function.block(block).instructions {
                let root = match (&instruction.op, instruction.result) {
                    (
                        Op::Load { offset, .. }
                        | Op::Store { offset, .. }
                        | Op::Check { first: offset, .. },
                        _,
                    ) => offset.value(),
                    (Op::Binary(op, a, b), Some(result)) if class(result) == Class::Linear => {
                        let heavy = *op == BinaryOp::Multiply
                            || multiplied.contains(a)
                            || multiplied.contains(b);
                        if heavy {
                            multiplied.insert(result);
                        }
                        None
                    }
                    (op, _) => {
                        // Something else made of it: worth it if a multiplication goes.
                        op.for_each_use(|value| {
                            if multiplied.contains(&value) && wanted.insert(value) {
                                roots.push(value);
                            }
                        });
                        None
                    }
                };
                if let Some(root) = root
                    && class(root) == Class::Linear
                    && !evolution.counters.contains_key(&root)
                    && wanted.insert(root)
                {
                    roots.push(root);
                }
            }
        }
        if roots.is_empty() {
            return None;
        }
        let mut plan = Plan {
            needed: Vec::new(),
            counters: Vec::new(),
            roots,
            constants: FxHashMap::default(),
        };
        let blocks = this.blocks.iter().rev();
        for instruction in blocks.flat_map(|b| function.block(*b).instructions.iter().rev()) {
            if let Some(result) = instruction.result
                && wanted.contains(&result)
            {
                instruction.op.for_each_use(|value| {
                    wanted.insert(value);
                });
                plan.needed.push((result, instruction.op.clone()));
            }
        }
        plan.needed.reverse();
        for parameter in &function.block(this.header).parameters {
            if let Some(counter) = evolution.counters.get(parameter) {
                wanted.insert(counter.step);
                let counter = (*parameter, counter.at, counter.step, counter.shrinks);
                plan.counters.push(counter);
            }
        }
        for value in wanted {
            if let Some(int) = definitions.int(function, value) {
                plan.constants.insert(value, int);
            }
        }
        Some(plan)
    }
}

/// Gives the loop its parameters and lets them stand for the roots.
fn carry_out(
    function: &mut Function,
    this: &Loop,
    entry: BlockId,
    plan: Plan,
    renaming: &mut Renaming,
) {
    let arguments = jump_arguments(function, entry).to_vec();
    let mut front = Front::new(function, entry);
    let outside = |value: Value| match plan.constants.get(&value) {
        Some(int) => Sum::int(*int),
        None => Sum::of(value),
    };
    let mut lines: FxHashMap<Value, Linear> = FxHashMap::default();
    // What grows already: by the value it starts from and its step.
    let mut growing: FxHashMap<(Option<Value>, Sum), (Value, i64)> = FxHashMap::default();
    for (parameter, at, step, shrinks) in &plan.counters {
        let (start, mut step) = (outside(arguments[*at]), outside(*step));
        if *shrinks {
            step = front.subtract(Sum::ZERO, step);
        }
        lines.insert(*parameter, Linear { start, step });
        growing.insert((start.value, step), (*parameter, start.constant));
    }
    let inside: FxHashSet<Value> = plan.needed.iter().map(|(value, _)| *value).collect();
    for (value, op) in &plan.needed {
        let get = |value: Value| match lines.get(&value) {
            Some(line) => Some(*line),
            None if inside.contains(&value) => None,
            None => Some(Linear::invariant(outside(value))),
        };
        if let Some(line) = front.follow(op, get) {
            lines.insert(*value, line);
        }
    }
    let mut added = 0;
    let mut replaced: FxHashMap<Value, (Value, i64)> = FxHashMap::default();
    for root in &plan.roots {
        let Some(Linear { start, step }) = lines.get(root).copied() else {
            continue;
        };
        let (parameter, offset) = match growing.get(&(start.value, step)) {
            Some(known) => *known,
            None if added == MOST_PARAMETERS => continue,
            None => {
                added += 1;
                let (first, by) = (front.value(start), front.value(step));
                let parameter = add_counter(front.function, this, entry, first, by);
                growing.insert((start.value, step), (parameter, start.constant));
                (parameter, start.constant)
            }
        };
        replaced.insert(*root, (parameter, start.constant.wrapping_sub(offset)));
    }
    replace(function, this, &replaced, renaming);
}

/// A root becomes its parameter, or the sum of that and a constant where it was computed.
fn replace(
    function: &mut Function,
    this: &Loop,
    replaced: &FxHashMap<Value, (Value, i64)>,
    renaming: &mut Renaming,
) {
    for block in &this.blocks {
        let instructions = std::mem::take(&mut function.blocks[block.index()].instructions);
        let mut kept = Vec::with_capacity(instructions.len());
        for mut instruction in instructions {
            let root = instruction.result.and_then(|result| replaced.get(&result));
            match (root, instruction.result) {
                (Some((parameter, 0)), Some(result)) => renaming.set(result, *parameter),
                (Some((parameter, offset)), _) => {
                    let constant = new_value(function, Type::Int);
                    kept.push(Instruction {
                        op: Op::Const(Const::Int(*offset)),
                        result: Some(constant),
                        site: instruction.site,
                    });
                    instruction.op = Op::Binary(BinaryOp::Add, *parameter, constant);
                    kept.push(instruction);
                }
                _ => kept.push(instruction),
            }
        }
        function.blocks[block.index()].instructions = kept;
    }
}
