//! The place in front of a loop, where checks of the loop are made before it starts: what the loop's values will be is known there as lines.

use super::loops::{Candidate, Offset};
use crate::evolution::Trips;
use crate::linear::{Front, Linear, Sum};
use crate::loop_form::jump_arguments;
use finishline_ir::{
    BinaryOp, BlockId, CompareOp, Const, Function, Instruction, Op, Operand, Type, Value,
};
use rustc_hash::FxHashMap;

/// In front of a loop, where values of it are known as lines.
pub(super) struct Place<'f, 'p> {
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

impl<'f, 'p> Place<'f, 'p> {
    /// In the block in front of a loop. Of some values the constants are known.
    pub(super) fn new(
        function: &'f mut Function,
        entry: BlockId,
        constants: &'p FxHashMap<Value, i64>,
    ) -> Place<'f, 'p> {
        let arguments = jump_arguments(function, entry).to_vec();
        Place {
            front: Front::new(function, entry),
            arguments,
            lines: FxHashMap::default(),
            constants,
            trips: None,
            any_trips: None,
        }
    }

    /// Computes values of the loop: its counters, and what is made of them, in the order of the loop.
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

    /// Adds a check.
    pub(super) fn add(&mut self, check: Instruction) {
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
                        array: candidate.check.base,
                        dimension,
                    };
                    let size = Sum::of(self.front.emit(size, Type::Int));
                    let index = self.line(*index);
                    let front = &mut self.front;
                    let (start, step) = (
                        front.multiply(line.start, size),
                        front.multiply(line.step, size),
                    );
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

    /// How many iterations there will be.
    pub(super) fn trips(&mut self) -> Operand {
        match self.trips {
            Some(Sum {
                value: None,
                constant,
            }) => Operand::Constant(constant),
            Some(sum) => Operand::Value(self.front.value(sum)),
            None => {
                unreachable!("a check in the body is chosen if the number of iterations is known")
            }
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
