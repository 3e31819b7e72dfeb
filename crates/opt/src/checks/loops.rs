//! Checks that a loop makes in every iteration, made in front of it.
//!
//! Looked for are checks of objects known before the loop, in loops that stay within one step ([`super::steps`]): then it does not
//! matter at which moment of the step the check is made, only that it is made if and only if the access is. In iteration k of n the locations
//! are those from `start + k · step` on ([`crate::evolution`]). [`super::loop_invariant`] is about a step of 0, [`super::ranges`] about others.
//!
//! **How often.** A check in a block that every way around passes is made in each of the n iterations, unless one of them leaves the loop before.
//! So a check that is made once needs: no exit but the header's from which it has not been made ([`Made::Once`]); a range: no exit but the header's
//! at all ([`Made::Always`]). n is known before the loop from the count that a `for` has, or from a counter and its bound.
//! With a bound, n is too small if the counter passes the largest int before it. After that, with a step of at most 2²⁰, the loop would go on for
//! 2⁴³ iterations and each of these would access another element, for which no array is large enough; if all access the same one, once is enough.
//!
//! **Wrapping.** Locations are computed in wrapping arithmetic. If no bounds check of the loop fails, consecutive locations, which differ by the step, both
//! lie in the object, so the step is small, and no sum of them wraps without passing through locations outside. If one fails, see [`super`].
//!
//! All loops of one height are done before those around them, for which what stands in front of an inner loop is a check of its own.
//! Linear, times the depth of nesting.

use super::steps::Steps;
use super::{Notes, loop_invariant, ranges};
use crate::edit::Definitions;
use crate::effects::is_pure;
use crate::evolution::{Changes, Class, Context, Evolution, Trips, is_outside, is_unconditional};
use crate::linear::{Front, Linear, Sum};
use crate::loop_form::{Nest, jump_arguments};
use crate::not_null::NotNull;
use finishline_ir::loops::{LoopId, Loops};
use finishline_ir::{
    BinaryOp, BlockId, CompareOp, Const, Function, Instruction, Op, Operand, Type, Value,
};
use finishline_model::{AccessId, AccessKind, Pass, Passes, SiteId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The largest step of a counter that is compared with a bound.
const LARGEST_STEP: u64 = 1 << 20;

/// Moves checks in front of the loops of a function.
pub(super) fn move_in_front(
    function: &mut Function,
    nest: &Nest,
    steps: &Steps,
    passes: Passes,
    notes: &mut Notes,
) {
    for height in 0..nest.heights() {
        let definitions = Definitions::of(function);
        let not_null = NotNull::of(function, &definitions, &nest.dominators);
        let found = nest.of_height(height).into_iter();
        let plans: Vec<(LoopId, Plan)> = found
            .filter_map(|id| {
                let context = Context {
                    function,
                    definitions: &definitions,
                    dominators: &nest.dominators,
                    loops: &nest.loops,
                    id,
                };
                let is_object = |value| not_null.holds(value, nest.entry(id), &nest.dominators);
                Some((id, Plan::of(context, steps, passes, is_object)?))
            })
            .collect();
        for (id, plan) in plans {
            plan.carry_out(function, nest.entry(id), notes);
        }
    }
}

/// How often a check is made, if its loop is entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Made {
    /// In every iteration and once more, as the header is.
    InHeader,
    /// In the first iteration, if there is one; then perhaps not.
    Once,
    /// In every iteration, and the loop ends by its header alone.
    Always,
}

/// A check of a loop and where it stands.
pub(super) struct Candidate {
    pub(super) kind: AccessKind,
    pub(super) base: Value,
    pub(super) first: Offset,
    pub(super) count: Operand,
    pub(super) stride: Operand,
    pub(super) access: AccessId,
    pub(super) made: Made,
    block: BlockId,
    at: usize,
    site: SiteId,
}

/// The first location of a check.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Offset {
    Operand(Operand),
    /// An element by its indices, behind a bounds check in the loop.
    Element(Vec<Value>),
}

impl Offset {
    fn values(&self) -> &[Value] {
        match self {
            Offset::Operand(Operand::Value(value)) => std::slice::from_ref(value),
            Offset::Operand(Operand::Constant(_)) => &[],
            Offset::Element(indices) => indices,
        }
    }
}

/// What is done about the checks of a loop.
struct Plan {
    chosen: Vec<(Candidate, Pass)>,
    trips: Option<Trips>,
    /// What these are made of, in the order of the loop.
    needed: Vec<(Value, Op, Type)>,
    /// Header parameters that grow: which, by what, whether it is subtracted.
    counters: Vec<(Value, usize, Value, bool)>,
    constants: FxHashMap<Value, i64>,
}

impl Plan {
    fn of(
        context: Context<'_>,
        steps: &Steps,
        passes: Passes,
        is_object: impl Fn(Value) -> bool,
    ) -> Option<Plan> {
        let this = context.loops.get(context.id);
        let instructions = || {
            let blocks = this.blocks.iter();
            blocks.flat_map(|block| &context.function.block(*block).instructions)
        };
        if instructions().any(|instruction| steps.may_end(&instruction.op)) {
            return None;
        }
        let evolution = Evolution::of(context, &Changes::everything());
        let computable = computable(context, &evolution);
        let class = |value: Value| match is_outside(context, value) {
            true => Class::Invariant,
            false if computable.contains(&value) => evolution.class(context, value),
            false => Class::Varying,
        };
        let trips = evolution.trips.filter(|trips| match trips {
            Trips::Count { .. } => true,
            Trips::Bound { step, bound, .. } => {
                step.unsigned_abs() <= LARGEST_STEP && class(*bound) == Class::Invariant
            }
        });
        let mut chosen = Vec::new();
        for candidate in candidates(context, trips.is_some(), is_object) {
            let invariant = |operand: Operand| {
                operand.value().is_none_or(|value| class(value) == Class::Invariant)
            };
            if !is_outside(context, candidate.base)
                || !invariant(candidate.count)
                || !invariant(candidate.stride)
            {
                continue;
            }
            let first = candidate.first.values().iter().map(|value| class(*value));
            let pass = match first.fold(Class::Invariant, changes_more) {
                Class::Invariant => Pass::LoopInvariant,
                Class::Linear if ranges::applies(&candidate) => Pass::Ranges,
                _ => continue,
            };
            if passes.contains(pass) {
                chosen.push((candidate, pass));
            }
        }
        if chosen.is_empty() {
            return None;
        }
        let mut plan = Plan {
            chosen,
            trips,
            needed: Vec::new(),
            counters: Vec::new(),
            constants: FxHashMap::default(),
        };
        plan.find_needed(context, &evolution);
        Some(plan)
    }

    /// What the chosen checks are made of, back to what is known before the loop.
    fn find_needed(&mut self, context: Context<'_>, evolution: &Evolution) {
        let function = context.function;
        let this = context.loops.get(context.id);
        let mut wanted: FxHashSet<Value> = FxHashSet::default();
        for (candidate, _) in &self.chosen {
            wanted.extend(candidate.first.values());
            wanted.extend([candidate.count, candidate.stride].into_iter().filter_map(Operand::value));
        }
        if let Some(Trips::Bound { bound, .. }) = self.trips {
            wanted.insert(bound);
        }
        let blocks = this.blocks.iter().rev();
        for instruction in blocks.flat_map(|b| function.block(*b).instructions.iter().rev()) {
            if let Some(result) = instruction.result
                && wanted.contains(&result)
            {
                instruction.op.for_each_use(|value| {
                    wanted.insert(value);
                });
                let needed = (result, instruction.op.clone(), function.ty(result));
                self.needed.push(needed);
            }
        }
        self.needed.reverse();
        for parameter in &function.block(this.header).parameters {
            if let Some(counter) = evolution.counters.get(parameter) {
                wanted.insert(counter.step);
                let counter = (*parameter, counter.at, counter.step, counter.shrinks);
                self.counters.push(counter);
            }
        }
        let arguments = jump_arguments_of_entry(context);
        for value in wanted.into_iter().chain(arguments) {
            if let Some(int) = context.definitions.int(function, value) {
                self.constants.insert(value, int);
            }
        }
    }

    fn carry_out(self, function: &mut Function, entry: BlockId, notes: &mut Notes) {
        let arguments = jump_arguments(function, entry).to_vec();
        let mut place = Place {
            front: Front::new(function, entry),
            lines: FxHashMap::default(),
            constants: &self.constants,
            trips: None,
            any_trips: None,
        };
        for (parameter, at, step, shrinks) in &self.counters {
            let (start, mut step) = (place.outside(arguments[*at]), place.outside(*step));
            if *shrinks {
                step = place.front.subtract(Sum::ZERO, step);
            }
            place.lines.insert(*parameter, Linear { start, step });
        }
        for (value, op, ty) in &self.needed {
            place.compute(*value, op, *ty);
        }
        place.find_trips(self.trips, &arguments);
        let mut gone: Vec<(BlockId, usize)> = Vec::new();
        let mut made = Vec::new();
        for (candidate, pass) in &self.chosen {
            let (first, count, stride) = match pass {
                Pass::LoopInvariant => loop_invariant::in_front(candidate, &mut place),
                _ => ranges::in_front(candidate, &mut place),
            };
            made.push(Instruction {
                op: Op::Check {
                    kind: candidate.kind,
                    base: candidate.base,
                    first,
                    count,
                    stride,
                    access: candidate.access,
                },
                result: None,
                site: candidate.site,
            });
            gone.push((candidate.block, candidate.at));
            notes.push((candidate.access, *pass));
        }
        function.blocks[entry.index()].instructions.extend(made);
        gone.sort_unstable();
        for (block, at) in gone.into_iter().rev() {
            function.blocks[block.index()].instructions.remove(at);
        }
    }
}

fn changes_more(a: Class, b: Class) -> Class {
    match (a, b) {
        (Class::Varying, _) | (_, Class::Varying) => Class::Varying,
        (Class::Linear, _) | (_, Class::Linear) => Class::Linear,
        _ => Class::Invariant,
    }
}

/// The values of a loop that can be computed in front of it whatever the loop does: counters, and what operations that can't fail make of them.
fn computable(context: Context<'_>, evolution: &Evolution) -> FxHashSet<Value> {
    let Context {
        function,
        definitions,
        loops,
        id,
        ..
    } = context;
    let mut found: FxHashSet<Value> = evolution.counters.keys().copied().collect();
    for block in &loops.get(id).blocks {
        for instruction in &function.block(*block).instructions {
            let Some(result) = instruction.result else {
                continue;
            };
            let mut known = is_pure(function, definitions, &instruction.op);
            instruction.op.for_each_use(|value| {
                known &= is_outside(context, value) || found.contains(&value);
            });
            if known {
                found.insert(result);
            }
        }
    }
    found
}

/// The arguments that the loop is entered with.
fn jump_arguments_of_entry(context: Context<'_>) -> Vec<Value> {
    let header = context.loops.get(context.id).header;
    let outside = |(index, _): &(usize, _)| {
        !context.loops.contains(context.id, BlockId::from_index(*index))
    };
    let blocks = context.function.blocks.iter().enumerate().filter(outside);
    let edges = blocks.flat_map(|(_, block)| block.terminator.targets());
    let edges = edges.filter(|target| target.block == header);
    edges.flat_map(|target| target.arguments.clone()).collect()
}

/// The checks that are made in every iteration.
fn candidates(
    context: Context<'_>,
    trips_are_known: bool,
    is_object: impl Fn(Value) -> bool,
) -> Vec<Candidate> {
    let Context {
        function,
        definitions,
        dominators,
        loops,
        id,
    } = context;
    let this = loops.get(id);
    let exits = exiting_blocks(function, loops, id);
    let mut found = Vec::new();
    for &block in &this.blocks {
        if !is_unconditional(context, block) {
            continue;
        }
        let made = if block == this.header {
            Made::InHeader
        } else if !trips_are_known || !exits.iter().all(|exit| dominators.dominates(block, *exit)) {
            continue;
        } else if exits.is_empty() {
            Made::Always
        } else {
            Made::Once
        };
        for (at, instruction) in function.block(block).instructions.iter().enumerate() {
            let Op::Check {
                kind,
                base,
                first,
                count,
                stride,
                access,
            } = instruction.op
            else {
                continue;
            };
            let index = first.value().filter(|v| !is_outside(context, *v));
            let first = match index.and_then(|value| definitions.op(function, value)) {
                Some(Op::Index { array, indices })
                    if *array == base && (indices.len() == 1 || is_object(base)) =>
                {
                    Offset::Element(indices.clone())
                }
                _ => Offset::Operand(first),
            };
            found.push(Candidate {
                kind,
                base,
                first,
                count,
                stride,
                access,
                made,
                block,
                at,
                site: instruction.site,
            });
        }
    }
    found
}

/// Blocks by which control leaves a loop, other than its header.
fn exiting_blocks(function: &Function, loops: &Loops, id: LoopId) -> Vec<BlockId> {
    let this = loops.get(id);
    let leaves = |block: &&BlockId| {
        let terminator = &function.block(**block).terminator;
        terminator.targets().next().is_none()
            || terminator.targets().any(|target| !loops.contains(id, target.block))
    };
    let inside = this.blocks.iter().filter(|block| **block != this.header);
    inside.filter(leaves).copied().collect()
}

/// In front of a loop, where values of it are known as lines.
pub(super) struct Place<'f, 'p> {
    front: Front<'f>,
    lines: FxHashMap<Value, Linear>,
    constants: &'p FxHashMap<Value, i64>,
    /// How many iterations there will be.
    trips: Option<Sum>,
    /// Whether there will be any, as a bool; none if there surely are.
    any_trips: Option<Value>,
}

impl Place<'_, '_> {
    fn outside(&self, value: Value) -> Sum {
        match self.constants.get(&value) {
            Some(int) => Sum::int(*int),
            None => Sum::of(value),
        }
    }

    fn line(&self, value: Value) -> Linear {
        match self.lines.get(&value) {
            Some(line) => *line,
            None => Linear::invariant(self.outside(value)),
        }
    }

    /// Computes an operation of the loop, whose operands are known here.
    fn compute(&mut self, value: Value, op: &Op, ty: Type) {
        let (front, lines, constants) = (&mut self.front, &self.lines, self.constants);
        let get = |value: Value| {
            Some(match (lines.get(&value), constants.get(&value)) {
                (Some(line), _) => *line,
                (None, Some(int)) => Linear::invariant(Sum::int(*int)),
                (None, None) => Linear::invariant(Sum::of(value)),
            })
        };
        let line = match front.follow(op, get) {
            Some(line) if ty == Type::Int => line,
            _ => {
                let mut op = op.clone();
                op.for_each_use_mut(|operand| *operand = self.value_of(*operand));
                Linear::invariant(Sum::of(self.front.emit(op, ty)))
            }
        };
        self.lines.insert(value, line);
    }

    /// An invariant of the loop as a value.
    fn value_of(&mut self, value: Value) -> Value {
        match self.lines.get(&value) {
            Some(line) => self.front.value(line.start),
            None => value,
        }
    }

    /// An invariant of the loop.
    pub(super) fn operand(&mut self, operand: Operand) -> Operand {
        match operand {
            Operand::Value(value) => match self.line(value).start {
                Sum {
                    value: None,
                    constant,
                } => Operand::Constant(constant),
                sum => Operand::Value(self.front.value(sum)),
            },
            constant => constant,
        }
    }

    /// Where a check begins in the first iteration, and how far on in each later one.
    pub(super) fn first(&mut self, candidate: &Candidate) -> (Operand, Operand) {
        match &candidate.first {
            Offset::Operand(Operand::Constant(offset)) => {
                (Operand::Constant(*offset), Operand::Constant(0))
            }
            Offset::Operand(Operand::Value(offset)) => {
                let line = self.line(*offset);
                self.ends(line)
            }
            Offset::Element(indices) => {
                let mut line = self.line(indices[0]);
                for (dimension, index) in (1..).zip(&indices[1..]) {
                    let size = Op::Length {
                        array: candidate.base,
                        dimension,
                    };
                    let size = Sum::of(self.front.emit(size, Type::Int));
                    let index = self.line(*index);
                    let front = &mut self.front;
                    let (start, step) = (front.multiply(line.start, size), front.multiply(line.step, size));
                    line = Linear {
                        start: front.add(start, index.start),
                        step: front.add(step, index.step),
                    };
                }
                self.ends(line)
            }
        }
    }

    /// Offsets of elements are values, never constants.
    fn ends(&mut self, line: Linear) -> (Operand, Operand) {
        let first = Operand::Value(self.front.value(line.start));
        let step = match line.step.as_int() {
            Some(step) => Operand::Constant(step),
            None => Operand::Value(self.front.value(line.step)),
        };
        (first, step)
    }

    fn find_trips(&mut self, trips: Option<Trips>, arguments: &[Value]) {
        match trips {
            None => {}
            Some(Trips::Count { at }) => {
                let count = self.outside(arguments[at]);
                self.trips = Some(count);
                if count.as_int().is_none_or(|count| count == 0) {
                    let (count, zero) = (self.front.value(count), self.front.value(Sum::ZERO));
                    let any = Op::Compare(CompareOp::NotEqual, count, zero);
                    self.any_trips = Some(self.front.emit(any, Type::Bool));
                }
            }
            Some(Trips::Bound {
                counter,
                step,
                bound,
                inclusive,
            }) => {
                let start = arguments[counter.at];
                let end = self.value_of(bound);
                let step_value = self.front.value(Sum::int(step));
                let count = Op::RangeCount {
                    start,
                    end,
                    step: step_value,
                    inclusive,
                };
                self.trips = Some(Sum::of(self.front.emit(count, Type::Int)));
                let holds = match (step > 0, inclusive) {
                    (true, false) => CompareOp::Less,
                    (true, true) => CompareOp::LessEqual,
                    (false, false) => CompareOp::Greater,
                    (false, true) => CompareOp::GreaterEqual,
                };
                let any = Op::Compare(holds, start, end);
                self.any_trips = Some(self.front.emit(any, Type::Bool));
            }
        }
    }

    /// How many iterations there will be.
    pub(super) fn trips(&mut self) -> Operand {
        match self.trips {
            Some(Sum {
                value: None,
                constant,
            }) => Operand::Constant(constant),
            Some(sum) => Operand::Value(self.front.value(sum)),
            None => unreachable!("a check in the body is chosen if the number of iterations is known"),
        }
    }

    /// The count if there will be an iteration, and else 0.
    pub(super) fn if_any(&mut self, count: Operand) -> Operand {
        let Some(any) = self.any_trips else {
            return count;
        };
        let count = match count {
            // What is 0 or 1 stays so: `settle` knows it by its form.
            Operand::Value(value) => match self.is_bool(value) {
                Some(before) => {
                    let both = Op::Binary(BinaryOp::And, before, any);
                    let both = self.front.emit(both, Type::Bool);
                    self.front.emit(Op::Convert(both, Type::Int), Type::Int)
                }
                None => {
                    let one = self.front.emit(Op::Convert(any, Type::Int), Type::Int);
                    let product = Op::Binary(BinaryOp::Multiply, value, one);
                    self.front.emit(product, Type::Int)
                }
            },
            Operand::Constant(1) => self.front.emit(Op::Convert(any, Type::Int), Type::Int),
            Operand::Constant(count) => {
                let one = self.front.emit(Op::Convert(any, Type::Int), Type::Int);
                let count = self.front.emit(Op::Const(Const::Int(count)), Type::Int);
                let product = Op::Binary(BinaryOp::Multiply, count, one);
                self.front.emit(product, Type::Int)
            }
        };
        Operand::Value(count)
    }

    /// The bool that an int was made of in this place.
    fn is_bool(&self, value: Value) -> Option<Value> {
        let function = &*self.front.function;
        let mut instructions = function.block(self.front.block).instructions.iter().rev();
        let made = instructions.find(|instruction| instruction.result == Some(value))?;
        match made.op {
            Op::Convert(from, _) if function.ty(from) == Type::Bool => Some(from),
            _ => None,
        }
    }
}
