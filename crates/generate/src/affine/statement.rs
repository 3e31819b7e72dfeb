//! Statements other than loops.

use super::{Context, GREATEST_DEPTH, Generator, Kind, Local, PARAMETER, ROW, ROWS};
use crate::shape::{BinaryOp, Expression, Name, Range, ScopeKind, Statement};

pub(super) fn assign(place: Expression, value: Expression) -> Statement {
    Statement::Assign {
        place,
        op: None,
        value,
    }
}

pub(super) fn bind(name: Name, value: Expression) -> Statement {
    Statement::Let {
        name,
        ty: None,
        value,
    }
}

pub(super) fn only_if(condition: Expression, then: Vec<Statement>) -> Statement {
    Statement::If {
        condition,
        then,
        otherwise: None,
    }
}

impl Generator {
    /// A statement, or a few that belong together.
    pub(super) fn statement(&mut self, out: &mut Vec<Statement>) {
        self.budget -= 1;
        let is_leaf = self.budget == 0 || self.context.depth >= GREATEST_DEPTH;
        let simple = if self.context.depth == 0 { 10 } else { 45 };
        if self.context.isolated || is_leaf || self.rng.percent(simple) {
            return self.simple(out);
        }
        if self.wrapping && self.rng.percent(10) {
            return self.wild_loop(out);
        }
        match self.rng.below(24) {
            0 => self.meeting(out),
            1..=5 => self.for_loop(out),
            6 => self.counted_while(out),
            7 => self.exchange(out),
            8..=13 => {
                let body = self.task(|_| {});
                out.push(Statement::scope(ScopeKind::Async, body));
            }
            14..=15 => self.finish(out),
            16 => {
                let context = Context {
                    isolated: true,
                    may_break: false,
                    may_continue: false,
                    may_return: false,
                    ..self.context
                };
                let statements = self.rng.between(1, 2) as u32;
                let body = self.block(context, statements, |_, _| {});
                out.push(Statement::scope(ScopeKind::Isolated, body));
            }
            17..=19 => self.branch(out),
            20..=22 => self.call_or_spawn(out),
            _ => self.sync(out),
        }
    }

    fn simple(&mut self, out: &mut Vec<Statement>) {
        if self.stops && !self.context.isolated && self.rng.percent(12) {
            return self.stop(out);
        }
        if self.wrapping && !self.context.isolated && self.rng.percent(12) {
            return self.named_wild(out);
        }
        match self.rng.below(if self.context.isolated { 12 } else { 20 }) {
            0..=10 => self.access(out),
            11 => {
                let read = self.place();
                let name = self.name("r");
                out.push(bind(name, read));
            }
            12 => self.named_int(out),
            13 => self.piecewise(out),
            14 => {
                let condition = self.condition(1);
                let name = self.name("c");
                out.push(bind(name, condition));
                self.conditions.push(name);
            }
            15 => {
                let kind = self.rng.pick(&[Kind::Flat, Kind::Flat, Kind::Object]);
                self.allocation(kind, out);
            }
            16 => self.alias(out),
            17..=18 => self.exit(out),
            _ if self.beyond => self.change(out),
            _ => self.access(out),
        }
    }

    /// Changes a variable, maybe inside a loop that does not contain its declaration.
    fn change(&mut self, out: &mut Vec<Statement>) {
        if self.rng.percent(40) {
            return self.redirect(out);
        }
        let private = self.ints.iter().filter(|local| local.private);
        let private: Vec<Local> = private.copied().collect();
        if private.is_empty() {
            return self.piecewise(out);
        }
        let local = self.rng.pick(&private);
        let (value, interval) = self.int(1);
        let value = self.within(value, interval, local.interval);
        out.push(assign(Expression::Name(local.name), value));
    }

    /// Makes a shared reference refer to another array.
    fn redirect(&mut self, out: &mut Vec<Statement>) {
        let place = match (self.object(Kind::Object), self.object(Kind::Rows)) {
            (Some((object, _)), _) => Expression::field(object, ROW),
            (None, Some((rows, _))) => Expression::element(rows, vec![self.row()]),
            (None, None) => return self.access(out),
        };
        let Some((array, _)) = self.object(Kind::Flat) else {
            return self.access(out);
        };
        let condition = self.condition(0);
        out.push(only_if(condition, vec![assign(place, array)]));
    }

    fn access(&mut self, out: &mut Vec<Statement>) {
        let place = self.place();
        let value = self.value();
        let op = self.rng.percent(30).then_some(BinaryOp::Add);
        out.push(Statement::Assign { place, op, value });
    }

    /// `let v = …;`
    fn named_int(&mut self, out: &mut Vec<Statement>) {
        let (value, interval) = self.int(2);
        let name = self.name("v");
        out.push(bind(name, value));
        self.ints.push(Local {
            name,
            interval,
            private: false,
        });
    }

    /// A variable that a branch may change.
    fn piecewise(&mut self, out: &mut Vec<Statement>) {
        let (first, one) = self.int(1);
        let (second, other) = self.int(1);
        let name = self.name("w");
        out.push(Statement::Var {
            name,
            ty: None,
            value: Some(first),
        });
        let condition = self.condition(1);
        let change = vec![assign(Expression::Name(name), second)];
        let (then, otherwise) = match self.rng.below(3) {
            0 => (Vec::new(), Some(change)),
            _ => (change, None),
        };
        out.push(Statement::If {
            condition,
            then,
            otherwise,
        });
        self.ints.push(Local {
            name,
            interval: (one.0.min(other.0), one.1.max(other.1)),
            private: true,
        });
    }

    /// A new object with a name of its own.
    pub(super) fn allocation(&mut self, kind: Kind, out: &mut Vec<Statement>) {
        let name = self.name("a");
        out.push(bind(name, kind.made()));
        match kind {
            Kind::Flat | Kind::Grid => {}
            Kind::Rows => {
                let counter = self.name("k");
                let place =
                    Expression::element(Expression::Name(name), vec![Expression::Name(counter)]);
                let value = match (self.rng.below(3), self.object(Kind::Flat)) {
                    (0, Some((array, _))) => Expression::Conditional(Box::new((
                        Expression::binary(
                            BinaryOp::Less,
                            Expression::Name(counter),
                            Expression::int(2),
                        ),
                        array,
                        Kind::Flat.made(),
                    ))),
                    _ => Kind::Flat.made(),
                };
                out.push(Statement::For {
                    parallel: self.rng.percent(30),
                    counter,
                    range: Range {
                        start: Expression::int(0),
                        end: Expression::int(ROWS),
                        inclusive: false,
                        step: None,
                    },
                    body: vec![assign(place, value)],
                });
            }
            Kind::Object => {
                let value = match self.object(Kind::Flat) {
                    Some((array, _)) => array,
                    None => Kind::Flat.made(),
                };
                let row = Expression::field(Expression::Name(name), ROW);
                out.push(assign(row, value));
            }
        }
        self.objects.push((name, kind));
    }

    /// Another name for an array, maybe chosen by a condition.
    fn alias(&mut self, out: &mut Vec<Statement>) {
        let Some((mut array, _)) = self.object(Kind::Flat) else {
            return self.access(out);
        };
        if let (true, Some((other, _))) = (self.rng.percent(50), self.object(Kind::Flat)) {
            let condition = self.condition(1);
            array = Expression::Conditional(Box::new((condition, array, other)));
        } else if let (true, Some((rows, _))) = (self.rng.percent(50), self.object(Kind::Rows)) {
            let row = self.row();
            array = Expression::element(rows, vec![row]);
        }
        let name = self.name("b");
        out.push(bind(name, array));
        self.objects.push((name, Kind::Flat));
    }

    /// `break`, `continue` or `return` under a condition.
    pub(super) fn exit(&mut self, out: &mut Vec<Statement>) {
        let mut exits = Vec::new();
        if self.context.may_break {
            exits.push(Statement::Break);
        }
        if self.context.may_continue && (!self.context.must_reach_end || self.beyond) {
            exits.push(Statement::Continue);
        }
        let often = if self.context.may_break { 60 } else { 30 };
        if self.context.may_return && self.rng.percent(often) {
            exits.push(Statement::Return(None));
        }
        if exits.is_empty() {
            return self.access(out);
        }
        self.exits += 1;
        let exit = exits.swap_remove(self.rng.index(exits.len()));
        let condition = self.condition(1);
        let mut then = Vec::new();
        if self.rng.percent(20) {
            self.access(&mut then);
        }
        if self.beyond
            && let Some(references) = self.context.exchanged
            && self.rng.percent(40)
            && let Some((array, _)) = self.object(Kind::Flat)
        {
            let reference = self.rng.pick(&references);
            then.push(assign(Expression::Name(reference), array));
        }
        then.push(exit);
        out.push(only_if(condition, then));
    }

    fn branch(&mut self, out: &mut Vec<Statement>) {
        let condition = self.condition(2);
        let statements = self.rng.between(1, 4) as u32;
        let then = self.block(self.context, statements, |_, _| {});
        let otherwise = (self.budget > 0 && self.rng.percent(40)).then(|| {
            let statements = self.rng.between(1, 2) as u32;
            self.block(self.context, statements, |_, _| {})
        });
        out.push(Statement::If {
            condition,
            then,
            otherwise,
        });
    }

    fn finish(&mut self, out: &mut Vec<Statement>) {
        let context = Context {
            may_break: false,
            may_continue: false,
            may_return: false,
            ..self.context
        };
        let statements = self.rng.between(2, 5) as u32;
        if self.rng.percent(if self.beyond { 50 } else { 80 }) {
            let body = self.block(context, statements, |_, _| {});
            out.push(Statement::scope(ScopeKind::Finish, body));
            return;
        }
        let context = Context {
            in_open_finish: true,
            ..context
        };
        let part = |generator: &mut Self| {
            let body = generator.block(context, statements, |_, _| {});
            // Its names must not be visible after it, because others may be equal.
            Statement::scope(ScopeKind::Block, body)
        };
        out.push(Statement::BeginFinish);
        out.push(part(self));
        if self.beyond && self.rng.percent(40) {
            // The text shows one finish, but control goes through two.
            out.push(Statement::scope(
                ScopeKind::Block,
                vec![Statement::EndFinish],
            ));
            out.push(part(self));
            out.push(Statement::scope(
                ScopeKind::Block,
                vec![Statement::BeginFinish],
            ));
            out.push(part(self));
        }
        out.push(Statement::EndFinish);
    }

    fn call_or_spawn(&mut self, out: &mut Vec<Statement>) {
        if self.functions.is_empty() {
            return self.access(out);
        }
        let signature = self.functions[self.rng.index(self.functions.len())].clone();
        let (value, interval) = self.int(1);
        let mut arguments = vec![self.within(value, interval, PARAMETER)];
        for _ in 0..signature.arrays {
            match self.object(Kind::Flat) {
                Some((array, _)) => arguments.push(array),
                None => return self.access(out),
            }
        }
        let function = signature.name;
        // A `sync` scope must not be inside an open finish.
        if self.context.in_open_finish || self.rng.percent(55) {
            if signature.result.is_some() {
                return self.access(out);
            }
            out.push(Statement::Call(Expression::Call(function, arguments)));
            return;
        }
        let place = signature.result.map(|_| self.place());
        out.push(Statement::Spawn {
            place,
            function,
            arguments,
        });
        if self.rng.percent(35) {
            self.sync(out);
        }
    }

    fn sync(&mut self, out: &mut Vec<Statement>) {
        if self.context.in_open_finish {
            return self.access(out);
        }
        if self.rng.percent(30) {
            let condition = self.condition(1);
            out.push(only_if(condition, vec![Statement::Sync]));
        } else {
            out.push(Statement::Sync);
        }
    }
}
