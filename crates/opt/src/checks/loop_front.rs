//! The place in front of a loop for checks of the loop. The values of the loop are known there as
//! lines.

use super::loops::{Candidate, Offset};
use crate::evolution::Trips;
use crate::linear::{Front, Linear, Sum};
use crate::loop_form::jump_arguments;
use finishline_ir::{
    BinaryOp, BlockId, CompareOp, Const, Function, Instruction, Op, Operand, Type, Value,
};
use rustc_hash::FxHashMap;

/// In front of a loop, where values of it are known as lines.
pub(super) struct LoopFront<'f, 'p> {
    front: Front<'f>,
    /// With which the loop is entered.
    arguments: Vec<Value>,
    lines: FxHashMap<Value, Linear>,
    constants: &'p FxHashMap<Value, i64>,
    /// How many iterations there will be.
    trips: Option<Sum>,
    /// Whether there will be any, as a bool; none if there surely are.
    any_trips: Option<Value>,
}

impl<'f, 'p> LoopFront<'f, 'p> {
    /// In the block in front of a loop. Of some values the constants are known.
    pub(super) fn new(
        function: &'f mut Function,
        entry: BlockId,
        constants: &'p FxHashMap<Value, i64>,
    ) -> LoopFront<'f, 'p> {
        let arguments = jump_arguments(function, entry).to_vec();
        LoopFront {
            front: Front::new(function, entry),
            arguments,
            lines: FxHashMap::default(),
            constants,
            trips: None,
            any_trips: None,
        }
    }

    /// Computes values of the loop: its counters, and what is made of them, in the order of the
    /// loop.
    pub(super) fn follow(
        &mut self,
        counters: &[(Value, usize, Value, bool)],
        needed: &[(Value, Op, Type)],
    ) {
        for (parameter, at, step, shrinks) in counters {
            let (start, mut step) = (self.outside(self.arguments[*at]), self.outside(*step));
            if *shrinks {
                step = self.front.subtract(Sum::ZERO, step);
            }
            self.lines.insert(*parameter, Linear { start, step });
        }
        for (value, op, ty) in needed {
            self.compute(*value, op, *ty);
        }
    }

    /// Adds a check. The loop has not asked yet whether its locations exist. So its count is a
    /// value, if a constant one: then the check asks.
    pub(super) fn add(&mut self, mut check: Instruction) {
        if let Op::Check { count, .. } = &mut check.op
            && let Operand::Constant(constant) = *count
        {
            *count = self.value(Sum::int(constant));
        }
        let block = &mut self.front.function.blocks[self.front.block.index()];
        block.instructions.push(check);
    }

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
            Operand::Value(value) => {
                let start = self.line(value).start;
                self.sum(start)
            }
            constant => constant,
        }
    }

    /// Where a check begins in each iteration.
    pub(super) fn line_of(&mut self, candidate: &Candidate) -> Linear {
        match &candidate.first {
            Offset::Operand(Operand::Constant(offset)) => Linear::invariant(Sum::int(*offset)),
            Offset::Operand(Operand::Value(offset)) => self.line(*offset),
            Offset::Element(indices) => {
                let array = candidate.check.base;
                let mut line = self.line(indices[0]);
                for (dimension, index) in (1..).zip(&indices[1..]) {
                    let size = Op::SizeOrZero { array, dimension };
                    let size = Sum::of(self.front.emit(size, Type::Int));
                    let index = self.line(*index);
                    let front = &mut self.front;
                    let start = front.multiply(line.start, size);
                    let step = front.multiply(line.step, size);
                    line = Linear {
                        start: front.add(start, index.start),
                        step: front.add(step, index.step),
                    };
                }
                line
            }
        }
    }

    /// Where a check begins in the first iteration.
    pub(super) fn first(&mut self, candidate: &Candidate) -> Operand {
        match candidate.first {
            Offset::Operand(constant @ Operand::Constant(_)) => constant,
            _ => {
                let start = self.line_of(candidate).start;
                self.value(start)
            }
        }
    }

    /// What a parameter of the header is in the first iteration.
    pub(super) fn argument(&self, at: usize) -> Operand {
        Operand::Value(self.arguments[at])
    }

    /// A sum as the offset of an element, which is a value, never a constant.
    pub(super) fn value(&mut self, sum: Sum) -> Operand {
        Operand::Value(self.front.value(sum))
    }

    /// A sum as an operand.
    pub(super) fn sum(&mut self, sum: Sum) -> Operand {
        match sum.as_int() {
            Some(int) => Operand::Constant(int),
            None => Operand::Value(self.front.value(sum)),
        }
    }

    /// How often the loop will run.
    pub(super) fn find_trips(&mut self, trips: Option<Trips>) {
        match trips {
            None => {}
            Some(Trips::Count { at }) => {
                let count = self.outside(self.arguments[at]);
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
                let start = self.arguments[counter.at];
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

    /// How many iterations there will be, and so many more if there will be any.
    pub(super) fn trips_and(&mut self, more: i64) -> Operand {
        let Some(trips) = self.trips else {
            unreachable!("a range in front is chosen if the number of iterations is known");
        };
        let more = match self.any_trips {
            None => Sum::int(more),
            Some(_) if more == 0 => Sum::ZERO,
            Some(any) => {
                let any = self.front.emit(Op::Convert(any, Type::Int), Type::Int);
                self.front.multiply(Sum::of(any), Sum::int(more))
            }
        };
        let count = self.front.add(trips, more);
        self.sum(count)
    }

    /// The product of invariants.
    pub(super) fn multiply(&mut self, a: Operand, b: Operand) -> Operand {
        let product = self.front.multiply(self.invariant(a), self.invariant(b));
        self.sum(product)
    }

    /// The sum of invariants.
    pub(super) fn plus(&mut self, a: Operand, b: Operand) -> Operand {
        let sum = self.front.add(self.invariant(a), self.invariant(b));
        self.sum(sum)
    }

    fn invariant(&self, operand: Operand) -> Sum {
        match operand {
            Operand::Value(value) => self.outside(value),
            Operand::Constant(int) => Sum::int(int),
        }
    }

    /// 1 if the invariants compare like that, and else 0.
    pub(super) fn compare(&mut self, compare: CompareOp, [a, b]: [Operand; 2]) -> Operand {
        let [a, b] = [a, b].map(|operand| match operand {
            Operand::Value(value) => value,
            Operand::Constant(int) => self.front.value(Sum::int(int)),
        });
        let holds = self.front.emit(Op::Compare(compare, a, b), Type::Bool);
        Operand::Value(self.front.emit(Op::Convert(holds, Type::Int), Type::Int))
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
