//! Integers, conditions and places.

use super::{
    FIELDS, GRID, GRID_OFFSET, Generator, Int, Interval, Kind, LENGTH, OFFSET, PARAMETER, ROW, ROWS,
};
use crate::shape::{BinaryOp, Expression, Name, UnaryOp};

/// The largest distance from 0 of a value that is used in further computations.
const GREATEST: i64 = 60;

fn add(left: Expression, right: i64) -> Expression {
    match right {
        0 => left,
        1.. => Expression::binary(BinaryOp::Add, left, Expression::int(right)),
        _ => Expression::binary(BinaryOp::Subtract, left, Expression::int(-right)),
    }
}

fn of(points: [i64; 4]) -> Interval {
    let least = points.into_iter().min().expect("four");
    (least, points.into_iter().max().expect("four"))
}

impl Generator {
    pub(super) fn literal(&mut self, low: i64, high: i64) -> Int {
        let value = self.rng.between(low, high);
        (Expression::int(value), (value, value))
    }

    fn local(&mut self) -> Int {
        if self.ints.is_empty() {
            return self.literal(0, 3);
        }
        // Prefers counters of inner loops.
        let one = self.rng.index(self.ints.len());
        let other = self.rng.index(self.ints.len());
        let local = self.ints[one.max(other)];
        (Expression::Name(local.name), local.interval)
    }

    /// An integer.
    pub(super) fn int(&mut self, depth: u32) -> Int {
        let (value, interval) = self.any_int(depth);
        if interval.0 < -GREATEST || interval.1 > GREATEST {
            return self.local();
        }
        (value, interval)
    }

    fn any_int(&mut self, depth: u32) -> Int {
        if depth == 0 {
            return if self.rng.percent(25) {
                self.literal(-1, 4)
            } else {
                self.local()
            };
        }
        if self.beyond && self.rng.percent(4) {
            return (self.indirect(6), (0, 5));
        }
        if self.wrapping && self.rng.percent(15) {
            return self.tamed(depth - 1);
        }
        match self.rng.below(24) {
            0..=1 => self.literal(-2, 5),
            2..=8 => self.local(),
            9..=12 => {
                let (value, (low, high)) = self.local();
                let by = self.rng.between(-2, 3);
                (add(value, by), (low + by, high + by))
            }
            13..=14 => self.multiple(depth),
            15..=16 => self.sum(depth),
            17 => self.quotient(depth),
            18 => self.remainder(depth),
            19..=20 => self.extremum(depth),
            21..=22 => self.choice(depth),
            _ => self.call(depth),
        }
    }

    fn multiple(&mut self, depth: u32) -> Int {
        let (value, (low, high)) = self.int(depth - 1);
        if self.rng.percent(20) {
            let negated = Expression::Unary(UnaryOp::Negate, Box::new(value));
            return (negated, (-high, -low));
        }
        if self.rng.percent(15) {
            let shifted = Expression::binary(BinaryOp::ShiftLeft, value, Expression::int(1));
            return (shifted, (2 * low, 2 * high));
        }
        let factor = self.rng.pick(&[2, 2, 3, -1, -2]);
        let product = Expression::binary(BinaryOp::Multiply, Expression::int(factor), value);
        (
            product,
            of([factor * low, factor * high, factor * low, factor * high]),
        )
    }

    fn sum(&mut self, depth: u32) -> Int {
        let (left, one) = self.int(depth - 1);
        let (right, other) = self.int(depth - 1);
        if self.rng.percent(60) {
            let sum = Expression::binary(BinaryOp::Add, left, right);
            (sum, (one.0 + other.0, one.1 + other.1))
        } else {
            let difference = Expression::binary(BinaryOp::Subtract, left, right);
            (difference, (one.0 - other.1, one.1 - other.0))
        }
    }

    fn quotient(&mut self, depth: u32) -> Int {
        let (value, (low, high)) = self.int(depth - 1);
        if self.rng.percent(30) {
            let shifted = Expression::binary(BinaryOp::ShiftRight, value, Expression::int(1));
            return (shifted, (low >> 1, high >> 1));
        }
        let by = self.rng.pick(&[2, 2, 3, -2]);
        let quotient = Expression::binary(BinaryOp::Divide, value, Expression::int(by));
        (quotient, of([low / by, high / by, 0, 0]))
    }

    fn remainder(&mut self, depth: u32) -> Int {
        let (value, (low, high)) = self.int(depth - 1);
        if self.rng.percent(20) {
            let masked = Expression::binary(BinaryOp::And, value, Expression::int(1));
            return (masked, (0, 1));
        }
        let by = self.rng.pick(&[2, 2, 3, 4]);
        let remainder = Expression::binary(BinaryOp::Remainder, value, Expression::int(by));
        let least = if low < 0 { 1 - by } else { 0 };
        let greatest = if high > 0 { by - 1 } else { 0 };
        (remainder, (least, greatest))
    }

    fn extremum(&mut self, depth: u32) -> Int {
        let (left, one) = self.int(depth - 1);
        if self.rng.percent(15) {
            let greatest = one.0.abs().max(one.1.abs());
            return (Expression::Builtin("abs", vec![left]), (0, greatest));
        }
        let (right, other) = self.int(depth - 1);
        if self.rng.percent(50) {
            let least = Expression::Builtin("min", vec![left, right]);
            (least, (one.0.min(other.0), one.1.min(other.1)))
        } else {
            let greatest = Expression::Builtin("max", vec![left, right]);
            (greatest, (one.0.max(other.0), one.1.max(other.1)))
        }
    }

    fn choice(&mut self, depth: u32) -> Int {
        let condition = self.condition(depth - 1);
        let (yes, one) = self.int(depth - 1);
        let (no, other) = self.int(depth - 1);
        let choice = Expression::Conditional(Box::new((condition, yes, no)));
        (choice, (one.0.min(other.0), one.1.max(other.1)))
    }

    fn call(&mut self, depth: u32) -> Int {
        let calls = self.functions.iter().filter(|it| it.result.is_some());
        let calls: Vec<(Name, Interval)> =
            calls.filter_map(|it| Some((it.name, it.result?))).collect();
        if calls.is_empty() {
            return self.local();
        }
        let (name, result) = self.rng.pick(&calls);
        let (argument, interval) = self.int(depth - 1);
        let argument = self.within(argument, interval, PARAMETER);
        (Expression::Call(name, vec![argument]), result)
    }

    /// The value if it is in the wanted interval, or else a value near it that is.
    pub(super) fn within(
        &mut self,
        value: Expression,
        (low, high): Interval,
        (least, greatest): Interval,
    ) -> Expression {
        if least <= low && high <= greatest {
            return value;
        }
        if least <= 0 && 0 <= low && self.rng.percent(50) {
            let by = Expression::int(self.rng.between(2, greatest.max(1) + 1));
            return Expression::binary(BinaryOp::Remainder, value, by);
        }
        let clamped = match low < least {
            true => Expression::Builtin("max", vec![value, Expression::int(least)]),
            false => value,
        };
        match high > greatest {
            true => Expression::Builtin("min", vec![clamped, Expression::int(greatest)]),
            false => clamped,
        }
    }

    pub(super) fn condition(&mut self, depth: u32) -> Expression {
        if self.beyond && self.rng.percent(8) {
            let (to, _) = self.literal(-1, 3);
            let op = self
                .rng
                .pick(&[BinaryOp::Less, BinaryOp::Equal, BinaryOp::NotEqual]);
            return Expression::binary(op, self.place(), to);
        }
        if self.stops && self.rng.percent(25) {
            return self.simple_condition();
        }
        if self.wrapping && self.rng.percent(15) {
            return self.wild_condition();
        }
        if !self.conditions.is_empty() && self.rng.percent(15) {
            return Expression::Name(self.rng.pick(&self.conditions));
        }
        match self.rng.below(if depth == 0 { 7 } else { 10 }) {
            0..=1 => {
                let (value, _) = self.local();
                let by = self.rng.pick(&[2, 2, 3]);
                let remainder = Expression::binary(BinaryOp::Remainder, value, Expression::int(by));
                let op = self.rng.pick(&[BinaryOp::Equal, BinaryOp::NotEqual]);
                let (to, _) = self.literal(0, by - 1);
                Expression::binary(op, remainder, to)
            }
            2..=6 => {
                let (left, _) = self.int(depth.min(1));
                let (mut right, _) = self.int(0);
                if right == left {
                    (right, _) = self.literal(0, 5);
                }
                let op = self.rng.pick(&[
                    BinaryOp::Less,
                    BinaryOp::LessEqual,
                    BinaryOp::Greater,
                    BinaryOp::GreaterEqual,
                    BinaryOp::Equal,
                    BinaryOp::NotEqual,
                ]);
                Expression::binary(op, left, right)
            }
            7 => Expression::Unary(UnaryOp::Not, Box::new(self.condition(depth - 1))),
            _ => {
                let op = self.rng.pick(&[BinaryOp::AndAlso, BinaryOp::OrElse]);
                let left = self.condition(depth - 1);
                Expression::binary(op, left, self.condition(depth - 1))
            }
        }
    }

    /// A visible reference of this kind, if there is one.
    pub(super) fn object(&mut self, kind: Kind) -> Option<(Expression, Name)> {
        let of_kind = self.objects.iter().filter(|(_, it)| *it == kind);
        let names: Vec<Name> = of_kind.map(|(name, _)| *name).collect();
        if names.is_empty() {
            return None;
        }
        let name = self.rng.pick(&names);
        Some((Expression::Name(name), name))
    }

    fn index(&mut self, length: i64, offset: i64) -> Expression {
        if self.beyond && self.rng.percent(8) {
            return self.indirect(length);
        }
        let depth = self.rng.pick(&[0, 0, 1, 1, 2]);
        let (value, interval) = self.int(depth);
        let value = self.within(value, interval, (-offset, length - 1 - offset));
        add(value, offset)
    }

    /// A natural number below `below`, read from memory.
    fn indirect(&mut self, below: i64) -> Expression {
        let read = Expression::Name(self.rng.pick(&self.globals));
        let small = Expression::binary(BinaryOp::Remainder, read, Expression::int(below));
        Expression::Builtin("abs", vec![small])
    }

    /// A shared integer.
    pub(super) fn place(&mut self) -> Expression {
        if self.rng.percent(12) {
            return Expression::Name(self.rng.pick(&self.globals));
        }
        let flat = |generator: &mut Self, array| {
            let index = generator.index(LENGTH, OFFSET);
            Expression::element(array, vec![index])
        };
        if self.objects.is_empty() {
            return Expression::Name(self.rng.pick(&self.globals));
        }
        // Prefers the first one.
        let one = self.rng.index(self.objects.len());
        let other = self.rng.index(self.objects.len());
        let (name, kind) = self.objects[one.min(other)];
        let object = Expression::Name(name);
        match kind {
            Kind::Flat => flat(self, object),
            Kind::Grid => {
                let row = self.index(GRID, GRID_OFFSET);
                let column = self.index(GRID, GRID_OFFSET);
                Expression::element(object, vec![row, column])
            }
            Kind::Rows => {
                let row = self.row();
                let row = Expression::element(object, vec![row]);
                flat(self, row)
            }
            Kind::Object if self.rng.percent(35) => flat(self, Expression::field(object, ROW)),
            Kind::Object => Expression::field(object, self.rng.pick(&FIELDS)),
        }
    }

    /// The index of a row.
    pub(super) fn row(&mut self) -> Expression {
        let (value, interval) = self.int(1);
        self.within(value, interval, (0, ROWS - 1))
    }

    /// A value to store.
    pub(super) fn value(&mut self) -> Expression {
        match self.rng.below(10) {
            0..=4 => self.int(1).0,
            5..=7 => self.place(),
            _ => {
                let (left, _) = self.int(0);
                let right = self.place();
                Expression::binary(BinaryOp::Add, right, left)
            }
        }
    }
}
