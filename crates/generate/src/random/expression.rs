//! Expressions with types, bounded in depth, and steady if asked.
//!
//! Operands are generated in the order of their evaluation, because a call may give rights away.

use super::rights::{Rights, ones};
use super::{Generator, Local};
use crate::extremes::{extreme, factor};
use crate::random::world::{Kind, Location, MOST_LOCATIONS, Scalar, Slot};
use crate::shape::{BinaryOp, Expression, Literal, Type, UnaryOp};

const UNARY_MATH: [&str; 11] = [
    "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "floor", "ceil",
];

impl Generator<'_> {
    pub(super) fn scalar(&mut self) -> Scalar {
        match self.rng.below(10) {
            0 => Scalar::Float,
            1 => Scalar::Bool,
            2 => Scalar::Byte,
            _ => Scalar::Int,
        }
    }

    pub(super) fn literal(&mut self, scalar: Scalar) -> Literal {
        if scalar == Scalar::Int && self.settings.wrapping && self.rng.percent(30) {
            return Literal::Int(extreme(&mut self.rng));
        }
        match scalar {
            Scalar::Int => Literal::Int(match self.rng.below(16) {
                0 => self
                    .rng
                    .pick(&[i64::MAX, i64::MIN, -1, 255, 256, 1 << 40, -(1 << 33)]),
                1 | 2 => self.rng.between(-9, -1),
                _ => self.rng.between(0, 9),
            }),
            Scalar::Float => {
                Literal::Float(self.rng.pick(&[0.0, 1.0, 0.5, 2.25, -1.5, 1e-9, 1e300]))
            }
            Scalar::Bool => Literal::Bool(self.rng.percent(50)),
            Scalar::Byte => Literal::Byte(self.rng.below(256) as u8),
        }
    }

    /// Whether conditions, ranges, indices and arguments must be steady.
    pub(super) fn control(&self) -> bool {
        !self.settings.data_dependent
    }

    pub(super) fn expression(&mut self, scalar: Scalar, depth: u32, steady: bool) -> Expression {
        self.charge(2);
        if depth == 0 || self.rng.percent(35) {
            return self.leaf(scalar, steady);
        }
        if !steady
            && self.rng.percent(6)
            && let Some(call) = self.call(Some(scalar))
        {
            return call;
        }
        if self.rng.percent(8) {
            return self.conditional(scalar, depth, steady);
        }
        match scalar {
            Scalar::Int => self.int(depth - 1, steady),
            Scalar::Float => self.float(depth - 1, steady),
            Scalar::Bool => self.bool(depth - 1, steady),
            Scalar::Byte => self.byte(depth - 1, steady),
        }
    }

    fn leaf(&mut self, scalar: Scalar, steady: bool) -> Expression {
        let choice = self.rng.below(100);
        if !steady
            && choice < 45
            && let Some(place) = self.place(scalar, false)
        {
            return place;
        }
        if choice < 85
            && let Some(local) = self.local(scalar, steady)
        {
            return Expression::Name(local.name);
        }
        Expression::Literal(self.literal(scalar))
    }

    /// A conditional. Only one branch is evaluated, so the condition decides which accesses happen.
    fn conditional(&mut self, scalar: Scalar, depth: u32, steady: bool) -> Expression {
        let condition = self.expression(Scalar::Bool, depth - 1, steady || self.control());
        let then = self.expression(scalar, depth - 1, steady);
        let otherwise = self.expression(scalar, depth - 1, steady);
        Expression::Conditional(Box::new((condition, then, otherwise)))
    }

    fn pair(&mut self, op: BinaryOp, scalar: Scalar, depth: u32, steady: bool) -> Expression {
        let left = self.expression(scalar, depth, steady);
        let right = self.expression(scalar, depth, steady);
        Expression::binary(op, left, right)
    }

    fn int(&mut self, depth: u32, steady: bool) -> Expression {
        use BinaryOp::*;
        if self.settings.wrapping && self.rng.percent(30) {
            return self.wrapping(depth, steady);
        }
        match self.rng.below(16) {
            0..=4 => {
                let op = self.rng.pick(&[Add, Add, Subtract, Multiply]);
                self.pair(op, Scalar::Int, depth, steady)
            }
            5 => {
                let op = self.rng.pick(&[Divide, Remainder]);
                let left = self.expression(Scalar::Int, depth, steady);
                let right = self.divisor(depth, steady);
                Expression::binary(op, left, right)
            }
            6 | 7 => {
                let op = self.rng.pick(&[And, Or, Xor]);
                self.pair(op, Scalar::Int, depth, steady)
            }
            8 => {
                let op = self.rng.pick(&[ShiftLeft, ShiftRight, ShiftRightLogical]);
                self.pair(op, Scalar::Int, depth, steady)
            }
            9 => {
                let op = self.rng.pick(&[UnaryOp::Negate, UnaryOp::Complement]);
                Expression::Unary(op, Box::new(self.expression(Scalar::Int, depth, steady)))
            }
            10 | 11 => {
                let from = self.rng.pick(&[Scalar::Float, Scalar::Byte, Scalar::Bool]);
                self.convert(Type::Int, from, depth, steady)
            }
            12 | 13 => self.numeric_builtin(Scalar::Int, depth, steady),
            _ => self
                .length()
                .unwrap_or_else(|| self.leaf(Scalar::Int, steady)),
        }
    }

    /// An integer that wraps around for most values of its operand.
    fn wrapping(&mut self, depth: u32, steady: bool) -> Expression {
        use BinaryOp::*;
        let value = self.expression(Scalar::Int, depth, steady);
        let (op, by) = match self.rng.below(4) {
            0 => (Multiply, factor(&mut self.rng)),
            1 => {
                let op = self
                    .rng
                    .pick(&[ShiftLeft, ShiftLeft, ShiftRight, ShiftRightLogical]);
                (op, self.rng.between(0, 63))
            }
            2 => (self.rng.pick(&[Add, Subtract]), extreme(&mut self.rng)),
            _ => (Multiply, 1 << self.rng.between(1, 62)),
        };
        Expression::binary(op, value, Expression::int(by))
    }

    /// A positive integer, whatever its parts are.
    pub(super) fn divisor(&mut self, depth: u32, steady: bool) -> Expression {
        if self.settings.traps && self.rng.percent(20) {
            return self.expression(Scalar::Int, depth, steady);
        }
        if self.rng.percent(60) {
            return Expression::int(self.rng.between(1, 9));
        }
        let any = self.expression(Scalar::Int, depth, steady);
        let masked = Expression::binary(BinaryOp::And, any, Expression::int(7));
        Expression::binary(BinaryOp::Add, masked, Expression::int(1))
    }

    fn convert(&mut self, to: Type, from: Scalar, depth: u32, steady: bool) -> Expression {
        Expression::Convert(to, Box::new(self.expression(from, depth, steady)))
    }

    /// `abs`, `min` and `max` of ints or floats.
    fn numeric_builtin(&mut self, scalar: Scalar, depth: u32, steady: bool) -> Expression {
        let (name, arity) = self.rng.pick(&[("abs", 1), ("min", 2), ("max", 2)]);
        let arguments = (0..arity).map(|_| self.expression(scalar, depth, steady));
        Expression::Builtin(name, arguments.collect())
    }

    /// The size of some array. Evaluating it reads the reference, so the array must have a name of
    /// its own.
    fn length(&mut self) -> Option<Expression> {
        let slot = self.named_slot(|kind| !kind.sizes().is_empty())?;
        let dimensions = slot.kind.sizes().len() as u32;
        let plain = dimensions == 1 && self.rng.percent(70);
        let dimension = (!plain).then(|| i64::from(self.rng.below(dimensions)));
        Some(Expression::length(self.world.object(&slot), dimension))
    }

    fn named_slot(&mut self, fits: impl Fn(Kind) -> bool) -> Option<Slot> {
        let start = self.rng.index(self.world.slots.len().max(1));
        let (before, after) = self.world.slots.split_at(start.min(self.world.slots.len()));
        after
            .iter()
            .chain(before)
            .find(|slot| slot.path == 0 && fits(slot.kind))
            .copied()
    }

    fn float(&mut self, depth: u32, steady: bool) -> Expression {
        use BinaryOp::*;
        match self.rng.below(10) {
            0..=3 => {
                let op = self.rng.pick(&[Add, Subtract, Multiply, Divide, Remainder]);
                self.pair(op, Scalar::Float, depth, steady)
            }
            4 => {
                let name = self.rng.pick(&UNARY_MATH);
                Expression::Builtin(name, vec![self.expression(Scalar::Float, depth, steady)])
            }
            5 => {
                let name = self.rng.pick(&["pow", "atan2"]);
                let arguments = (0..2).map(|_| self.expression(Scalar::Float, depth, steady));
                Expression::Builtin(name, arguments.collect())
            }
            6 => self.numeric_builtin(Scalar::Float, depth, steady),
            7 => {
                let operand = self.expression(Scalar::Float, depth, steady);
                Expression::Unary(UnaryOp::Negate, Box::new(operand))
            }
            _ => {
                let from = self.rng.pick(&[Scalar::Int, Scalar::Byte]);
                self.convert(Type::Float, from, depth, steady)
            }
        }
    }

    pub(super) fn bool(&mut self, depth: u32, steady: bool) -> Expression {
        use BinaryOp::*;
        match self.rng.below(10) {
            0..=4 => {
                let op = self
                    .rng
                    .pick(&[Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual]);
                let scalar =
                    self.rng
                        .pick(&[Scalar::Int, Scalar::Int, Scalar::Float, Scalar::Byte]);
                self.pair(op, scalar, depth, steady)
            }
            5 => {
                // The left operand decides whether the right one is evaluated.
                let op = self.rng.pick(&[AndAlso, OrElse]);
                let left = self.expression(Scalar::Bool, depth, steady || self.control());
                let right = self.expression(Scalar::Bool, depth, steady);
                Expression::binary(op, left, right)
            }
            6 => {
                let op = self.rng.pick(&[And, Or, Xor, Equal, NotEqual]);
                self.pair(op, Scalar::Bool, depth, steady)
            }
            7 | 8 => {
                let operand = self.expression(Scalar::Bool, depth, steady);
                Expression::Unary(UnaryOp::Not, Box::new(operand))
            }
            _ => match self.named_slot(|_| true) {
                Some(slot) => {
                    let op = self.rng.pick(&[Equal, NotEqual]);
                    let same = self.named_slot(|kind| kind == slot.kind);
                    let other = match same {
                        Some(other) if self.rng.percent(50) => self.world.object(&other),
                        _ => Expression::Literal(Literal::Null),
                    };
                    Expression::binary(op, self.world.object(&slot), other)
                }
                None => self.leaf(Scalar::Bool, steady),
            },
        }
    }

    fn byte(&mut self, depth: u32, steady: bool) -> Expression {
        use BinaryOp::*;
        match self.rng.below(6) {
            0 | 1 => {
                let op = self.rng.pick(&[Add, Subtract, Multiply, And, Or, Xor]);
                self.pair(op, Scalar::Byte, depth, steady)
            }
            2 => {
                let op = self.rng.pick(&[Divide, Remainder]);
                let left = self.expression(Scalar::Byte, depth, steady);
                let right = self.expression(Scalar::Byte, depth, steady);
                let one = Expression::Literal(Literal::Byte(1));
                Expression::binary(op, left, Expression::binary(Or, right, one))
            }
            3 => {
                let op = self.rng.pick(&[UnaryOp::Negate, UnaryOp::Complement]);
                Expression::Unary(op, Box::new(self.expression(Scalar::Byte, depth, steady)))
            }
            _ => {
                let from = self.rng.pick(&[Scalar::Int, Scalar::Int, Scalar::Float]);
                self.convert(Type::Byte, from, depth, steady)
            }
        }
    }

    /// A local of the type that can be read here.
    fn local(&mut self, scalar: Scalar, steady: bool) -> Option<Local> {
        self.choose_local(|local| local.scalar == scalar && (local.steady || !steady))
    }

    /// One of the suitable locals that can be read here, each equally likely.
    pub(super) fn choose_local(&mut self, fits: impl Fn(&Local) -> bool) -> Option<Local> {
        let mut chosen = None;
        let mut seen = 0;
        for (index, local) in self.locals.iter().enumerate() {
            let here = !local.mutable || local.task == self.scope.task;
            let hidden = || {
                self.locals[index + 1..]
                    .iter()
                    .any(|l| l.name == local.name)
            };
            if fits(local) && here && !hidden() {
                seen += 1;
                if self.rng.below(seen) == 0 {
                    chosen = Some(*local);
                }
            }
        }
        chosen
    }

    /// The rights to read references on the way to other locations.
    fn references(&self) -> Rights {
        Rights {
            read: self.world.of_type(None),
            write: 0,
        }
    }

    /// The locations that an access may touch here: those that the task owns, the guarded ones in
    /// an isolated block, or all.
    fn accessible(&mut self) -> Rights {
        if self.slips() {
            // Often one of the first few, so that tasks meet.
            let hot = self.rng.pick(&[2, 4, MOST_LOCATIONS]);
            return Rights::all_of(self.world.all() & ones(hot)).join(self.references());
        }
        let guarded = if self.scope.isolated { self.guarded } else { 0 };
        self.scope.rights.join(Rights::all_of(guarded))
    }

    /// A shared place of this type that may be read or written here. Charges the access to the
    /// budget.
    pub(super) fn place(&mut self, scalar: Scalar, write: bool) -> Option<Expression> {
        if self.rng.percent(25)
            && let Some(element) = self.computed_element(scalar, write)
        {
            return Some(element);
        }
        let number = self.location(Some(scalar), write)?;
        Some(self.world.place(number))
    }

    /// The type of some location that may be written here.
    pub(super) fn writable_scalar(&mut self) -> Option<Scalar> {
        let rights = self.accessible();
        let number = self.rng.bit_of(rights.write)?;
        self.world.locations[number as usize].scalar
    }

    /// The number of a location that may be read or written here. Charges the access to the budget.
    pub(super) fn location(&mut self, scalar: Option<Scalar>, write: bool) -> Option<usize> {
        let rights = self.accessible();
        let mask = if write { rights.write } else { rights.read };
        let number = self.rng.bit_of(mask & self.world.of_type(scalar))? as usize;
        let Location { path, covers, .. } = self.world.locations[number];
        (path & !rights.read == 0 && self.access(path, covers, write)).then_some(number)
    }

    /// An element at a computed index. It needs the rights to all elements.
    fn computed_element(&mut self, scalar: Scalar, write: bool) -> Option<Expression> {
        let rights = self.accessible();
        let held = if write { rights.write } else { rights.read };
        let mut candidates = 0u64;
        for (index, slot) in self.world.slots.iter().enumerate().take(64) {
            let fits = slot.kind.scalar() == Some(scalar);
            if fits && slot.mask() & !held == 0 && slot.path & !rights.read == 0 {
                candidates |= 1 << index;
            }
        }
        let slot = self.world.slots[self.rng.bit_of(candidates)? as usize];
        let indices = slot
            .kind
            .sizes()
            .iter()
            .map(|&size| self.index(size))
            .collect();
        // Computing the index may have called a function that took rights away.
        let still = self.slip > 0 || slot.mask() & !self.accessible_now(write) == 0;
        (still && self.access(slot.path, slot.mask(), write))
            .then(|| Expression::element(self.world.object(&slot), indices))
    }

    fn accessible_now(&self, write: bool) -> u64 {
        let guarded = if self.scope.isolated { self.guarded } else { 0 };
        guarded
            | if write {
                self.scope.rights.write
            } else {
                self.scope.rights.read
            }
    }

    /// An index in `0..size`. The size is a power of two.
    fn index(&mut self, size: i64) -> Expression {
        let steady = self.control();
        if self.settings.traps && self.rng.percent(10) {
            return self.expression(Scalar::Int, 1, steady);
        }
        let counter = self.choose_local(|l| {
            l.scalar == Scalar::Int && l.bound.is_some_and(|bound| bound <= size)
        });
        match counter {
            Some(counter) if self.rng.percent(70) => Expression::Name(counter.name),
            _ if self.settings.wrapping && self.rng.percent(50) => {
                let any = self.expression(Scalar::Int, 2, steady);
                let small = Expression::binary(BinaryOp::Remainder, any, Expression::int(size));
                Expression::Builtin("abs", vec![small])
            }
            _ => {
                let any = self.expression(Scalar::Int, 1, steady);
                Expression::binary(BinaryOp::And, any, Expression::int(size - 1))
            }
        }
    }

    /// Charges an access to the budget. False if there is no room for it.
    pub(super) fn access(&mut self, path: u64, covers: u64, write: bool) -> bool {
        let count = i64::from(path.count_ones()) + 1;
        if self.limits.accesses < count * self.scope.weight {
            return false;
        }
        self.limits.accesses -= count * self.scope.weight;
        self.charge(4 * count);
        self.effect.reads |= path;
        if write {
            self.effect.writes |= covers;
        } else {
            self.effect.reads |= covers;
        }
        true
    }

    pub(super) fn charge(&mut self, steps: i64) {
        self.limits.steps -= steps * self.scope.weight;
    }
}
