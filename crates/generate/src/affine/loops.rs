//! Loops: by a range, while a condition holds, and with references that take turns.

use super::statement::{assign, bind, only_if};
use super::{Context, GREATEST_WEIGHT, Generator, Int, Interval, Kind, Local};
use crate::shape::{BinaryOp, Expression, Name, Range, ScopeKind, Statement};

/// A range, with the interval of its counter and the most iterations.
struct Counting {
    range: Range,
    interval: Interval,
    trips: i64,
}

impl Generator {
    /// The context of a loop's body.
    fn loop_context(&self, trips: i64) -> Context {
        Context {
            weight: self.context.weight * trips,
            may_break: !self.context.in_open_finish || self.context.may_break,
            may_continue: true,
            ..self.context
        }
    }

    fn counting(&mut self) -> Counting {
        let most = GREATEST_WEIGHT / self.context.weight;
        for _ in 0..4 {
            let counting = self.any_counting();
            if counting.trips <= most {
                return counting;
            }
        }
        let (start, interval) = self.literal(0, 1);
        let trips = most.clamp(1, 2);
        let end = interval.0 + trips;
        Counting {
            range: Range {
                start,
                end: Expression::int(end),
                inclusive: false,
                step: None,
            },
            interval: (interval.0, end),
            trips,
        }
    }

    fn any_counting(&mut self) -> Counting {
        let (start, from): Int = match self.rng.below(3) {
            0 => self.literal(0, 2),
            1 => self.int(0),
            _ => self.int(1),
        };
        let (mut end, mut to): Int = self.int(1);
        if self.rng.percent(35) || end == start {
            let by = self.rng.between(1, 4);
            end = Expression::binary(BinaryOp::Add, start.clone(), Expression::int(by));
            to = (from.0 + by, from.1 + by);
        }
        let step = self.rng.pick(&[1, 1, 1, 1, 2, 2, 3, -1, -1, -2, -3]);
        // Usually counts in the direction that gives iterations.
        let ((start, from), (end, to)) = if (step < 0) == (from.0 + from.1 < to.0 + to.1) {
            ((end, to), (start, from))
        } else {
            ((start, from), (end, to))
        };
        let inclusive = self.rng.percent(25);
        let (low, high) = if step > 0 {
            (from.0, to.1)
        } else {
            (to.0, from.1)
        };
        let trips = (high - low).max(0) / i64::abs(step) + 1;
        Counting {
            range: Range {
                start,
                end,
                inclusive,
                step: (step != 1).then(|| Expression::int(step)),
            },
            interval: (low.min(high), low.max(high)),
            trips,
        }
    }

    pub(super) fn for_loop(&mut self, out: &mut Vec<Statement>) {
        let Counting {
            range,
            interval,
            trips,
        } = self.counting();
        let counter = self.name("i");
        let local = Local {
            name: counter,
            interval,
            private: false,
        };
        let parallel = self.rng.percent(30);
        let body = if parallel {
            let outside = self.context.weight;
            self.context.weight *= trips;
            let body = self.task(|generator| generator.ints.push(local));
            self.context.weight = outside;
            body
        } else if self.rng.percent(20) && interval.1 - interval.0 < 12 {
            return self.induction(out, (range, local, trips));
        } else {
            let statements = self.rng.between(1, 3) as u32;
            let context = Context {
                must_reach_end: self.context.must_reach_end,
                ..self.loop_context(trips)
            };
            self.block(context, statements, |generator, _| {
                generator.ints.push(local)
            })
        };
        out.push(Statement::For {
            parallel,
            counter,
            range,
            body,
        });
    }

    /// A `for` with a variable that changes by the same amount in each iteration.
    fn induction(&mut self, out: &mut Vec<Statement>, counted: (Range, Local, i64)) {
        let (range, local, trips) = counted;
        let variable = self.name("u");
        let (first, interval) = self.int(1);
        out.push(Statement::Var {
            name: variable,
            ty: None,
            value: Some(first),
        });
        let by = self.rng.pick(&[1, 2, -1, -2]);
        let exits = self.exits;
        let body = self.changing(variable, by, interval, trips, Some(local));
        out.push(Statement::For {
            parallel: false,
            counter: local.name,
            range,
            body,
        });
        self.afterwards(variable, by, interval, trips, exits);
    }

    /// The body of a loop that changes a variable by a constant, once.
    fn changing(
        &mut self,
        variable: Name,
        by: i64,
        (low, high): Interval,
        trips: i64,
        counter: Option<Local>,
    ) -> Vec<Statement> {
        let context = Context {
            must_reach_end: true,
            // `continue` would keep a `while` from ever ending.
            may_continue: counter.is_some(),
            ..self.loop_context(trips)
        };
        let name = self.name("v");
        let reached = by * (trips - 1).max(0);
        let interval = (low + reached.min(0), high + reached.max(0));
        let early = self.rng.percent(25);
        let change = match self.rng.percent(50) {
            true => Statement::Assign {
                place: Expression::Name(variable),
                op: Some(BinaryOp::Add),
                value: Expression::int(by),
            },
            false => {
                let op = if by < 0 {
                    BinaryOp::Subtract
                } else {
                    BinaryOp::Add
                };
                let value = Expression::Name(variable);
                let value = Expression::binary(op, value, Expression::int(by.abs()));
                assign(Expression::Name(variable), value)
            }
        };
        let statements = self.rng.between(1, 3) as u32;
        let first_change = change.clone();
        let mut body = self.block(context, statements, |generator, body| {
            generator.ints.extend(counter);
            body.push(bind(name, Expression::Name(variable)));
            generator.ints.push(Local {
                name,
                interval,
                private: false,
            });
            if early {
                body.push(first_change);
            }
        });
        if !early {
            body.push(change);
        }
        body
    }

    /// Makes the variable usable after the loop, if the number of iterations is known.
    fn afterwards(
        &mut self,
        variable: Name,
        by: i64,
        (low, high): Interval,
        trips: i64,
        exits: u32,
    ) {
        if self.exits == exits || self.beyond {
            let interval = (low + (by * trips).min(0), high + (by * trips).max(0));
            self.ints.push(Local {
                name: variable,
                interval,
                private: true,
            });
        }
    }

    /// `var k = …; while k < … { …; k += …; }`
    pub(super) fn counted_while(&mut self, out: &mut Vec<Statement>) {
        let (mut first, mut from) = self.int(1);
        let (mut bound, mut to) = self.int(0);
        let by = self.rng.pick(&[1, 1, 2, 3, -1, -2]);
        if by < 0 && from.1 < to.1 {
            (first, bound) = (bound, first);
            (from, to) = (to, from);
        }
        let distance = if by > 0 { to.1 - from.0 } else { from.1 - to.0 };
        let trips = distance.max(0) / i64::abs(by) + 1;
        if trips * self.context.weight > GREATEST_WEIGHT {
            return self.for_loop(out);
        }
        let variable = self.name("k");
        out.push(Statement::Var {
            name: variable,
            ty: None,
            value: Some(first),
        });
        let inclusive = self.rng.percent(30);
        let op = match (by > 0, inclusive) {
            (true, false) => BinaryOp::Less,
            (true, true) => BinaryOp::LessEqual,
            (false, false) => BinaryOp::Greater,
            (false, true) => BinaryOp::GreaterEqual,
        };
        let mut condition = Expression::binary(op, Expression::Name(variable), bound);
        if self.rng.percent(if self.is_wild() { 40 } else { 20 }) {
            let further = match self.asked(variable, from) {
                Some(asked) if self.rng.percent(50) => asked,
                _ => self.condition(1),
            };
            let op = self
                .rng
                .pick(&[BinaryOp::AndAlso, BinaryOp::AndAlso, BinaryOp::And]);
            condition = Expression::binary(op, condition, further);
        }
        let exits = self.exits;
        let body = self.changing(variable, by, from, trips, None);
        out.push(Statement::While { condition, body });
        self.afterwards(variable, by, from, trips, exits);
    }

    /// What a function says of a variable, if there is a function. Where tasks may stop, it may
    /// never give an answer.
    fn asked(&mut self, variable: Name, interval: Interval) -> Option<Expression> {
        let functions = self.functions.iter();
        let name = functions.rev().find(|it| it.result.is_some())?.name;
        let argument = self.within(Expression::Name(variable), interval, super::PARAMETER);
        let (to, _) = self.literal(0, 4);
        let call = Expression::Call(name, vec![argument]);
        Some(Expression::binary(BinaryOp::LessEqual, call, to))
    }

    /// `if a <= b { var k = a; while k != b { k += 1; } y = min(k, 3); for i in k..k + 2 { … } }`:
    /// where the condition does not hold, there is no value at which the first loop ends.
    pub(super) fn meeting(&mut self, out: &mut Vec<Statement>) {
        let ((first, from), (bound, to)) = (self.int(1), self.int(0));
        let trips = (to.1 - from.0).max(0) + 1;
        if 2 * trips * self.context.weight > GREATEST_WEIGHT {
            return self.for_loop(out);
        }
        let (variable, counter) = (self.name("k"), self.name("i"));
        let ends = Expression::binary(BinaryOp::LessEqual, first.clone(), bound.clone());
        let by = self.rng.between(1, 2);
        let joined = self.name("y");
        out.push(Statement::Var {
            name: joined,
            ty: None,
            value: Some(Expression::int(0)),
        });
        let body = self.block(self.context, 1, |generator, body| {
            body.push(Statement::Var {
                name: variable,
                ty: None,
                value: Some(first),
            });
            let exits = generator.exits;
            let inner = generator.changing(variable, 1, from, trips, None);
            body.push(Statement::While {
                condition: Expression::binary(
                    BinaryOp::NotEqual,
                    Expression::Name(variable),
                    bound,
                ),
                body: inner,
            });
            generator.afterwards(variable, 1, from, trips, exits);
            if generator.exits != exits && !generator.beyond {
                return;
            }
            let start = Expression::Name(variable);
            let most = Expression::int(generator.rng.between(0, 3));
            let least = Expression::Builtin("min", vec![start.clone(), most]);
            body.push(assign(Expression::Name(joined), least));
            let end = Expression::binary(BinaryOp::Add, start.clone(), Expression::int(by));
            let local = Local {
                name: counter,
                interval: (from.0, from.1.max(to.1) + by),
                private: false,
            };
            let context = generator.loop_context(by);
            let inner = generator.block(context, 1, |generator, inner| {
                generator.ints.push(local);
                inner.extend(generator.write_at(local));
            });
            body.push(Statement::For {
                parallel: false,
                counter,
                range: Range {
                    start,
                    end,
                    inclusive: false,
                    step: None,
                },
                body: inner,
            });
        });
        // Another task writes where the loops do, in other iterations of the loops around.
        let (start, interval) = self.int(0);
        let name = self.name("c");
        let local = Local {
            name,
            interval,
            private: false,
        };
        let write = self.write_at(local).into_iter().collect();
        let beside = vec![bind(name, start), Statement::scope(ScopeKind::Async, write)];
        out.push(Statement::If {
            condition: ends,
            then: body,
            otherwise: Some(beside),
        });
        self.ints.push(Local {
            name: joined,
            interval: (from.0.min(0), 3),
            private: true,
        });
    }

    /// A write to the element of an array that a local chooses.
    fn write_at(&mut self, local: Local) -> Option<Statement> {
        let (array, _) = self.object(Kind::Flat)?;
        let within = (0, super::LENGTH - 1);
        let index = self.within(Expression::Name(local.name), local.interval, within);
        let place = Expression::element(array, vec![index]);
        Some(assign(place, Expression::int(1)))
    }

    /// A loop that exchanges two references at the end of each iteration.
    pub(super) fn exchange(&mut self, out: &mut Vec<Statement>) {
        let (Some((first, _)), Some((second, _))) =
            (self.object(Kind::Flat), self.object(Kind::Flat))
        else {
            return self.for_loop(out);
        };
        let variables = [self.name("x"), self.name("y")];
        for (variable, value) in variables.into_iter().zip([first, second]) {
            out.push(Statement::Var {
                name: variable,
                ty: None,
                value: Some(value),
            });
        }
        let Counting {
            range,
            interval,
            trips,
        } = self.counting();
        let counter = self.name("t");
        let context = Context {
            must_reach_end: true,
            exchanged: Some(variables),
            ..self.loop_context(trips)
        };
        let inner = [self.name("b"), self.name("b")];
        let exits = self.exits;
        let mut body = self.block(context, 3, |generator, body| {
            generator.ints.push(Local {
                name: counter,
                interval,
                private: false,
            });
            for (name, variable) in inner.into_iter().zip(variables) {
                body.push(bind(name, Expression::Name(variable)));
                generator.objects.push((name, Kind::Flat));
            }
        });
        if self.beyond && self.rng.percent(50) {
            let before = std::mem::replace(&mut self.context, context);
            self.exit(&mut body);
            self.context = before;
        }
        let mut turn = Vec::new();
        for (variable, other) in variables.into_iter().zip([inner[1], inner[0]]) {
            turn.push(assign(Expression::Name(variable), Expression::Name(other)));
        }
        if self.beyond && self.rng.percent(30) {
            let condition = self.condition(1);
            body.push(only_if(condition, turn));
        } else {
            body.extend(turn);
        }
        out.push(Statement::For {
            parallel: false,
            counter,
            range,
            body,
        });
        if (self.exits == exits || self.beyond) && self.rng.percent(60) {
            let name = self.name("b");
            out.push(bind(name, Expression::Name(variables[0])));
            self.objects.push((name, Kind::Flat));
        }
    }
}
