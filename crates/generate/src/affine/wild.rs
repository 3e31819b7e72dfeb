//! Integers that wrap around, loops that do, and tasks that fail or never end.
//!
//! A *wild* integer can have any value. It stands only where any value is harmless: in a
//! comparison, under a remainder, mask or shift that makes it small again, or in a sum that
//! subtracts it again. So a program with wild integers still ends and does not fail for
//! [`ARGUMENTS`](super::ARGUMENTS).
//!
//! A *stop* is a statement at which a task fails or never ends, if a condition holds. The condition
//! reads no shared data. So a stop does the same in every schedule.

use super::statement::{bind, only_if};
use super::{Context, GREATEST_WEIGHT, Generator, Int, Kind, Local};
use crate::extremes::{extreme, factor, inverse};
use crate::shape::{BinaryOp, Expression, Range, Statement, UnaryOp};

/// The interval of wild locals.
const ANYWHERE: (i64, i64) = (i64::MIN, i64::MAX);

impl Generator {
    fn extreme(&mut self) -> Expression {
        Expression::int(extreme(&mut self.rng))
    }

    /// A wild local, or a tame one if there is none.
    fn wild_local(&mut self) -> Expression {
        if self.wilds.is_empty() || self.rng.percent(50) {
            return self.int(0).0;
        }
        let one = self.rng.index(self.wilds.len());
        Expression::Name(self.wilds[one].name)
    }

    /// An integer of any value.
    pub(super) fn wild(&mut self, depth: u32) -> Expression {
        use BinaryOp::{Add, Multiply, ShiftLeft, Subtract};
        if depth == 0 {
            return match self.rng.percent(25) {
                true => self.extreme(),
                false => self.wild_local(),
            };
        }
        match self.rng.below(10) {
            0 => self.wild(0),
            1..=2 => {
                let left = self.wild(depth - 1);
                let right = self.extreme();
                Expression::binary(self.rng.pick(&[Add, Subtract]), left, right)
            }
            3..=4 => {
                let left = self.wild(depth - 1);
                let by = Expression::int(factor(&mut self.rng));
                Expression::binary(Multiply, left, by)
            }
            5 => {
                let left = self.wild(depth - 1);
                let by = Expression::int(self.rng.between(0, 63));
                Expression::binary(ShiftLeft, left, by)
            }
            6 => {
                let left = self.wild_local();
                Expression::binary(Multiply, left.clone(), self.wild_local())
            }
            7 => {
                let doubled = self.wild(depth - 1);
                Expression::binary(Add, doubled.clone(), doubled)
            }
            8 => {
                let negated = self.wild(depth - 1);
                Expression::Unary(UnaryOp::Negate, Box::new(negated))
            }
            _ => {
                let left = self.wild(depth - 1);
                let op = self.rng.pick(&[Add, Subtract, Multiply]);
                Expression::binary(op, left, self.wild(depth - 1))
            }
        }
    }

    /// A small integer, computed from a wild one.
    pub(super) fn tamed(&mut self, depth: u32) -> Int {
        use BinaryOp::{And, Divide, Remainder, ShiftRight, ShiftRightLogical};
        let by = |op, value, number: i64| Expression::binary(op, value, Expression::int(number));
        let depth = self.rng.between(1, 2).min(i64::from(depth) + 1) as u32;
        match self.rng.below(12) {
            0 => {
                let number = self.rng.between(2, 6);
                let small = by(Remainder, self.wild(depth), number);
                (Expression::Builtin("abs", vec![small]), (0, number - 1))
            }
            1 => {
                // The absolute value of the least integer is negative.
                let number = self.rng.between(2, 6);
                let positive = Expression::Builtin("abs", vec![self.wild(depth)]);
                (by(Remainder, positive, number), (1 - number, number - 1))
            }
            2 => {
                let mask = self.rng.pick(&[1, 3, 7]);
                (by(And, self.wild(depth), mask), (0, mask))
            }
            3 => {
                let left = self.rng.between(1, 4);
                let range = (-(1 << (left - 1)), (1 << (left - 1)) - 1);
                (by(ShiftRight, self.wild(depth), 64 - left), range)
            }
            4 => {
                let left = self.rng.between(1, 3);
                let value = by(ShiftRightLogical, self.wild(depth), 64 - left);
                (value, (0, (1 << left) - 1))
            }
            5 => {
                let power = self.rng.between(60, 62);
                let range = 1 << (63 - power);
                (by(Divide, self.wild(depth), 1 << power), (-range, range))
            }
            6 => {
                let (low, high) = (self.rng.between(-2, 1), self.rng.between(2, 6));
                let low_end = vec![self.wild(depth), Expression::int(low)];
                let clamped = vec![Expression::Builtin("max", low_end), Expression::int(high)];
                (Expression::Builtin("min", clamped), (low, high))
            }
            7 => {
                let condition = self.wild_condition();
                let ((yes, one), (no, other)) = (self.int(0), self.int(0));
                let choice = Expression::Conditional(Box::new((condition, yes, no)));
                (choice, (one.0.min(other.0), one.1.max(other.1)))
            }
            8 => {
                let (value, interval) = self.int(0);
                let odd = factor(&mut self.rng) | 1;
                let product = by(BinaryOp::Multiply, value, odd);
                (by(BinaryOp::Multiply, product, inverse(odd)), interval)
            }
            9 => {
                // The original value again, if the shifted value fits.
                let (value, interval) = self.int(0);
                let shift = self.rng.between(1, 56);
                let shifted = by(BinaryOp::ShiftLeft, value, shift);
                (by(ShiftRight, shifted, shift), interval)
            }
            _ => {
                let (value, interval) = self.int(0);
                let wild = self.wild(depth - 1);
                let sum = Expression::binary(BinaryOp::Add, value, wild.clone());
                (Expression::binary(BinaryOp::Subtract, sum, wild), interval)
            }
        }
    }

    /// A comparison whose result depends on wrapping.
    pub(super) fn wild_condition(&mut self) -> Expression {
        let op = self.rng.pick(&[
            BinaryOp::Less,
            BinaryOp::LessEqual,
            BinaryOp::Greater,
            BinaryOp::GreaterEqual,
            BinaryOp::Equal,
            BinaryOp::NotEqual,
        ]);
        let left = self.wild(1);
        let right = match self.rng.below(3) {
            0 => Expression::int(0),
            1 => self.int(0).0,
            _ => self.wild(1),
        };
        Expression::binary(op, left, right)
    }

    /// `let` names for wild integers: one, or a chain of doublings.
    pub(super) fn named_wild(&mut self, out: &mut Vec<Statement>) {
        let mut value = self.wild(1);
        let doublings = match self.rng.percent(40) {
            true => self.rng.between(3, 64),
            false => 0,
        };
        let mut name = self.name("z");
        for _ in 0..doublings {
            out.push(bind(name, value));
            value = Expression::binary(
                BinaryOp::Add,
                Expression::Name(name),
                Expression::Name(name),
            );
            name = self.name("z");
        }
        out.push(bind(name, value));
        self.wilds.push(Local {
            name,
            interval: ANYWHERE,
            private: false,
        });
    }

    /// A loop whose counter, or a variable that it changes, reaches an end of the 64-bit range.
    pub(super) fn wild_loop(&mut self, out: &mut Vec<Statement>) {
        let trips = self.rng.between(1, 3);
        if trips * self.context.weight > GREATEST_WEIGHT {
            return self.named_wild(out);
        }
        match self.rng.below(3) {
            0 => self.count_to_the_end(trips, out),
            1 => self.past_the_end(trips, out),
            _ => self.wild_induction(trips, out),
        }
    }

    fn wild_context(&self, trips: i64) -> Context {
        Context {
            weight: self.context.weight * trips,
            may_break: false,
            may_continue: false,
            must_reach_end: true,
            ..self.context
        }
    }

    /// Statements with a wild name whose distance from its first value is small.
    fn beside_the_end(&mut self, wild: Expression, trips: i64, first: i64) -> Vec<Statement> {
        let (value, distance) = (self.name("z"), self.name("v"));
        let statements = self.rng.between(1, 3) as u32;
        self.block(self.wild_context(trips), statements, |generator, body| {
            body.push(bind(value, wild));
            generator.wilds.push(Local {
                name: value,
                interval: ANYWHERE,
                private: false,
            });
            let value = Expression::Name(value);
            let since = Expression::binary(BinaryOp::Subtract, value, Expression::int(first));
            body.push(bind(distance, since));
            generator.ints.push(Local {
                name: distance,
                interval: (-trips, trips),
                private: false,
            });
        })
    }

    /// `for i in 2⁶³ − 2..=2⁶³ − 1`, up or down. The loop ends where the counter would overflow.
    fn count_to_the_end(&mut self, trips: i64, out: &mut Vec<Statement>) {
        let down = self.rng.percent(50);
        let (first, last, step) = match down {
            true => (i64::MIN + trips - 1, i64::MIN, Some(Expression::int(-1))),
            false => (i64::MAX - (trips - 1), i64::MAX, None),
        };
        let counter = self.name("i");
        let parallel = self.rng.percent(30);
        let body = if parallel {
            let local = Local {
                name: counter,
                interval: ANYWHERE,
                private: false,
            };
            let outside = self.context.weight;
            self.context.weight *= trips;
            let body = self.task(|generator| generator.wilds.push(local));
            self.context.weight = outside;
            self.wilds.retain(|it| it.name != counter);
            body
        } else {
            self.beside_the_end(Expression::Name(counter), trips, first)
        };
        out.push(Statement::For {
            parallel,
            counter,
            range: Range {
                start: Expression::int(first),
                end: Expression::int(last),
                inclusive: true,
                step,
            },
            body,
        });
    }

    /// `var k = 2⁶³ − 2; while k > 0 { …; k += 1; }`. The loop ends because the variable wraps
    /// around.
    fn past_the_end(&mut self, trips: i64, out: &mut Vec<Statement>) {
        let down = self.rng.percent(50);
        let (first, op, by) = match down {
            true => (i64::MIN + (trips - 1), BinaryOp::Less, -1),
            false => (i64::MAX - (trips - 1), BinaryOp::Greater, 1),
        };
        let variable = self.name("k");
        out.push(Statement::Var {
            name: variable,
            ty: None,
            value: Some(Expression::int(first)),
        });
        let mut body = self.beside_the_end(Expression::Name(variable), trips, first);
        body.push(Statement::Assign {
            place: Expression::Name(variable),
            op: Some(BinaryOp::Add),
            value: Expression::int(by),
        });
        let condition = Expression::binary(op, Expression::Name(variable), Expression::int(0));
        out.push(Statement::While { condition, body });
    }

    /// A variable that grows in each iteration, by addition or multiplication, until it wraps
    /// around.
    fn wild_induction(&mut self, trips: i64, out: &mut Vec<Statement>) {
        let (variable, value, counter) = (self.name("u"), self.name("z"), self.name("i"));
        let first = self.wild(0);
        out.push(Statement::Var {
            name: variable,
            ty: None,
            value: Some(first),
        });
        let (op, by) = match self.rng.below(3) {
            0 => (BinaryOp::Add, Expression::int(factor(&mut self.rng))),
            1 => (BinaryOp::Multiply, Expression::int(factor(&mut self.rng))),
            _ => (BinaryOp::Add, Expression::Name(variable)),
        };
        let statements = self.rng.between(1, 3) as u32;
        let context = self.wild_context(trips);
        let mut body = self.block(context, statements, |generator, body| {
            body.push(bind(value, Expression::Name(variable)));
            generator.wilds.push(Local {
                name: value,
                interval: ANYWHERE,
                private: false,
            });
        });
        body.push(Statement::Assign {
            place: Expression::Name(variable),
            op: Some(op),
            value: by,
        });
        out.push(Statement::For {
            parallel: false,
            counter,
            range: Range {
                start: Expression::int(0),
                end: Expression::int(trips),
                inclusive: false,
                step: None,
            },
            body,
        });
    }

    /// A condition that reads no shared data.
    fn own_condition(&mut self) -> Expression {
        let beyond = std::mem::replace(&mut self.beyond, false);
        let condition = match self.rng.below(10) {
            0..=2 if self.wrapping => self.wild_condition(),
            0..=6 => self.simple_condition(),
            _ => self.condition(0),
        };
        self.beyond = beyond;
        condition
    }

    /// A comparison of a parameter with a small number. There are few of these, so several often
    /// hold together.
    pub(super) fn simple_condition(&mut self) -> Expression {
        let parameter = match self.ints.first() {
            Some(local) if !local.private => Expression::Name(local.name),
            _ => Expression::int(0),
        };
        let op = self
            .rng
            .pick(&[BinaryOp::Less, BinaryOp::Less, BinaryOp::Greater]);
        let to = Expression::int(self.rng.between(0, 2));
        Expression::binary(op, parameter, to)
    }

    /// A task fails or never ends here, if a condition holds.
    pub(super) fn stop(&mut self, out: &mut Vec<Statement>) {
        let condition = self.own_condition();
        match self.rng.below(8) {
            0..=3 => out.push(Statement::While {
                condition,
                body: Vec::new(),
            }),
            4..=5 => {
                let holds = Expression::Unary(UnaryOp::Not, Box::new(condition));
                out.push(Statement::Assert(holds, Vec::new()));
            }
            6 => {
                let zero = Expression::Conditional(Box::new((
                    condition,
                    Expression::int(0),
                    Expression::int(1),
                )));
                let (value, _) = self.int(0);
                let name = self.name("d");
                let quotient = Expression::binary(BinaryOp::Divide, value, zero);
                out.push(bind(name, quotient));
            }
            _ => {
                let Some((array, _)) = self.object(Kind::Flat) else {
                    return self.stop(out);
                };
                let outside = Expression::int(self.rng.pick(&[-1, super::LENGTH, i64::MAX]));
                let place = Expression::element(array, vec![outside]);
                let store = super::statement::assign(place, Expression::int(0));
                out.push(only_if(condition, vec![store]));
            }
        }
    }
}
