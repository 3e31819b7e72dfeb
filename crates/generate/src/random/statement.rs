//! Statements of one task: declarations, assignments, control flow. This file also chooses among
//! all statements.

use super::rights::Rights;
use super::{Generator, Local};
use crate::random::world::{Kind, Location, NEXT, NODE, Scalar};
use crate::shape::{Argument, BinaryOp, Expression, Literal, Name, ScopeKind, Statement};

/// What to generate next.
#[derive(Clone, Copy)]
enum Choice {
    Assign,
    Compound,
    AssignLocal,
    Let,
    Var,
    Object,
    Rebind,
    Link,
    Call,
    Block,
    If,
    While,
    For,
    Leave,
    Print,
    Assert,
    Async,
    Finish,
    Forall,
    Isolated,
    Locked,
    DynamicFinish,
    Spawn,
    Sync,
    Promise,
    Future,
    Set,
    Get,
}

const CHOICES: [(Choice, u32); 23] = [
    (Choice::Assign, 26),
    (Choice::Compound, 12),
    (Choice::AssignLocal, 6),
    (Choice::Let, 7),
    (Choice::Var, 4),
    (Choice::Object, 3),
    (Choice::Rebind, 2),
    (Choice::Link, 2),
    (Choice::Call, 7),
    (Choice::Block, 2),
    (Choice::If, 7),
    (Choice::While, 3),
    (Choice::For, 7),
    (Choice::Leave, 3),
    (Choice::Print, 2),
    (Choice::Assert, 2),
    (Choice::Async, 24),
    (Choice::Finish, 10),
    (Choice::Forall, 5),
    (Choice::Isolated, 8),
    (Choice::DynamicFinish, 4),
    (Choice::Spawn, 12),
    (Choice::Sync, 5),
];

const CHOICES_TOTAL: u32 = {
    let mut total = 0;
    let mut index = 0;
    while index < CHOICES.len() {
        total += CHOICES[index].1;
        index += 1;
    }
    total
};

/// The most interesting statements: accesses, and statements that make them parallel or ordered.
const FOCUS: [Choice; 9] = [
    Choice::Assign,
    Choice::Compound,
    Choice::Async,
    Choice::Async,
    Choice::Async,
    Choice::Finish,
    Choice::Isolated,
    Choice::Spawn,
    Choice::Sync,
];

/// Statements about promises.
const PROMISES: [Choice; 8] = [
    Choice::Promise,
    Choice::Promise,
    Choice::Future,
    Choice::Set,
    Choice::Set,
    Choice::Get,
    Choice::Get,
    Choice::Get,
];

/// The deepest nesting of statements with a body.
const DEEPEST: u32 = 6;

impl Generator<'_> {
    fn choice(&mut self) -> Choice {
        if self.rng.percent(self.settings.focus) {
            let choice = self.rng.pick(&FOCUS);
            return self.permitted(choice);
        }
        let mut number = self.rng.below(CHOICES_TOTAL);
        for (choice, weight) in CHOICES {
            if number < weight {
                return self.permitted(choice);
            }
            number -= weight;
        }
        Choice::Assign
    }

    /// Replaces `async` by `spawn` and `finish` by `sync` in programs that can't have the former.
    fn permitted(&self, choice: Choice) -> Choice {
        let constructs = self.settings.constructs;
        match choice {
            Choice::Async if !constructs.asyncs => Choice::Spawn,
            Choice::Finish if !constructs.finishes => Choice::Sync,
            _ => choice,
        }
    }

    /// Whether the next statement might break a limit, or could access nothing.
    pub(super) fn out_of_budget(&self) -> bool {
        self.limits.steps < 60 * self.scope.weight || self.limits.accesses < self.scope.weight
    }

    /// A few statements, appended to the innermost block.
    pub(super) fn statements(&mut self, out: &mut Vec<Statement>) {
        for _ in 0..self.rng.between(1, 4) {
            if self.statements_left == 0 || self.out_of_budget() {
                return;
            }
            self.statements_left -= 1;
            self.statement(out);
        }
    }

    fn statement(&mut self, out: &mut Vec<Statement>) {
        if self.settings.promises && self.rng.percent(40) {
            let choice = self.rng.pick(&PROMISES);
            if self.generate(choice, out).is_some() {
                return;
            }
        }
        if self.settings.locks && self.rng.percent(20) {
            let choice = Choice::Locked;
            if self.generate(choice, out).is_some() {
                return;
            }
        }
        if self.settings.stops && !self.scope.isolated && self.rng.percent(6) {
            let stop = self.stop();
            return out.push(stop);
        }
        for _ in 0..4 {
            let choice = self.choice();
            if self.generate(choice, out).is_some() {
                return;
            }
        }
        let fallback = if self.settings.output {
            Choice::Print
        } else {
            Choice::Assert
        };
        self.generate(fallback, out);
    }

    /// Appends the chosen statement, if it is possible here.
    fn generate(&mut self, choice: Choice, out: &mut Vec<Statement>) -> Option<()> {
        let deep = self.scope.depth >= DEEPEST;
        let constructs = self.settings.constructs;
        let parallel = !self.scope.isolated && !deep;
        let may_wait = self.may_wait();
        match choice {
            Choice::Assign => out.push(self.assign()?),
            Choice::Compound => out.push(self.compound()?),
            Choice::AssignLocal => out.push(self.assign_local()?),
            Choice::Let => {
                let declaration = self.declare(false);
                out.push(declaration);
            }
            Choice::Var => {
                let declaration = self.declare(true);
                out.push(declaration);
            }
            Choice::Object => {
                let kind = self.kind();
                self.object(kind, out)?;
            }
            Choice::Rebind => out.push(self.rebind()?),
            Choice::Link => out.push(self.link()?),
            Choice::Call => out.push(Statement::Call(self.call(None)?)),
            Choice::Block if !deep => {
                let body = self.block();
                out.push(Statement::scope(ScopeKind::Block, body));
            }
            Choice::If if !deep => {
                let chain = self.rng.percent(15);
                let statement = self.branch(chain);
                out.push(statement);
            }
            Choice::While if !deep => self.while_loop(out),
            Choice::For if !deep => {
                let statement = self.for_loop();
                out.push(statement);
            }
            Choice::Leave => out.push(self.leave()?),
            Choice::Print if self.settings.output => {
                let arguments = self.arguments();
                out.push(Statement::Print(arguments));
            }
            Choice::Assert => {
                let assertion = self.assertion();
                out.push(assertion);
            }
            Choice::Async if parallel && constructs.asyncs => out.push(self.async_task()?),
            Choice::Finish if parallel && may_wait && constructs.finishes => {
                let body = self.finish_body();
                let bare = self.rng.percent(30);
                let kind = ScopeKind::Finish;
                out.push(Statement::Scope { kind, body, bare });
            }
            Choice::Forall if parallel && may_wait && constructs.foralls => {
                out.push(self.forall()?)
            }
            Choice::Isolated if parallel && constructs.isolated => {
                let block = self.isolated();
                out.push(block);
            }
            Choice::Locked if parallel => self.locked(out),
            Choice::DynamicFinish if parallel && may_wait && constructs.dynamic_finishes => {
                self.dynamic_finish(out);
            }
            Choice::Spawn if parallel && constructs.spawns => out.push(self.spawn()?),
            Choice::Sync if parallel && may_wait && constructs.spawns => out.push(self.sync()?),
            Choice::Promise => out.push(self.new_promise()?),
            Choice::Future if !self.scope.isolated => out.push(self.future()?),
            Choice::Set => out.push(self.set()?),
            Choice::Get if may_wait && !self.scope.isolated => out.push(self.get()?),
            _ => return None,
        }
        Some(())
    }

    /// A block. Its names end with it.
    pub(super) fn block(&mut self) -> Vec<Statement> {
        let (locals, outer_start) = (self.locals.len(), self.block_start);
        let promises = self.promises.len();
        let (locations, slots) = (self.world.locations.len(), self.world.slots.len());
        self.block_start = locals;
        self.scope.depth += 1;
        let mut out = Vec::new();
        self.statements(&mut out);
        self.scope.depth -= 1;
        self.block_start = outer_start;
        self.locals.truncate(locals);
        self.promises.truncate(promises);
        self.world.locations.truncate(locations);
        self.world.slots.truncate(slots);
        self.scope.rights = self.scope.rights.only(self.world.all());
        out
    }

    /// An assignment. The value is generated first: its evaluation may give away rights that the
    /// store needs.
    fn assign(&mut self) -> Option<Statement> {
        let scalar = self.writable_scalar()?;
        let value = self.expression(scalar, 2, false);
        let place = self.place(scalar, true)?;
        Some(Statement::Assign {
            place,
            op: None,
            value,
        })
    }

    fn compound(&mut self) -> Option<Statement> {
        let scalar = self.writable_scalar()?;
        let (op, value) = self.update(scalar, false);
        let number = self.location(Some(scalar), true)?;
        let Location { path, covers, .. } = self.world.locations[number];
        if !self.access(path, covers, false) {
            return None;
        }
        Some(Statement::Assign {
            place: self.world.place(number),
            op: Some(op),
            value,
        })
    }

    /// An operator of a compound assignment, and an operand for it.
    fn update(&mut self, scalar: Scalar, steady: bool) -> (BinaryOp, Expression) {
        use BinaryOp::*;
        let op = match scalar {
            Scalar::Int => self.rng.pick(&[
                Add,
                Add,
                Add,
                Subtract,
                Multiply,
                And,
                Or,
                Xor,
                ShiftLeft,
                ShiftRight,
                ShiftRightLogical,
                Divide,
                Remainder,
            ]),
            Scalar::Float => self.rng.pick(&[Add, Subtract, Multiply, Divide, Remainder]),
            Scalar::Bool => self.rng.pick(&[And, Or, Xor]),
            Scalar::Byte => self
                .rng
                .pick(&[Add, Subtract, Multiply, Divide, Remainder, And, Or, Xor]),
        };
        let value = match (op, scalar) {
            (Divide | Remainder, Scalar::Int) => self.divisor(1, steady),
            (Divide | Remainder, Scalar::Byte) => Expression::Literal(Literal::Byte(3)),
            _ => self.expression(scalar, 2, steady),
        };
        (op, value)
    }

    fn assign_local(&mut self) -> Option<Statement> {
        let local = self.choose_local(|l| l.mutable && !l.reserved)?;
        let steady = local.steady && self.control();
        let (op, value) = if self.rng.percent(50) {
            let (op, value) = self.update(local.scalar, steady);
            (Some(op), value)
        } else {
            (None, self.expression(local.scalar, 2, steady))
        };
        Some(Statement::Assign {
            place: Expression::Name(local.name),
            op,
            value,
        })
    }

    /// `let` or `var`.
    fn declare(&mut self, mutable: bool) -> Statement {
        let scalar = self.scalar();
        let steady = self.rng.percent(50);
        let starts_empty = mutable && self.rng.percent(20);
        let value = (!starts_empty).then(|| self.expression(scalar, 2, steady));
        let name = self.local_name(value.as_ref());
        let task = self.scope.task;
        self.locals.push(Local {
            name,
            scalar,
            mutable,
            task,
            steady: steady || starts_empty,
            bound: None,
            reserved: false,
        });
        let ty = (starts_empty || self.rng.percent(30)).then(|| scalar.ty());
        match (mutable, value) {
            (false, Some(value)) => Statement::Let { name, ty, value },
            (_, value) => Statement::Var { name, ty, value },
        }
    }

    /// A new name, or sometimes one that hides a name of an outer block.
    fn local_name(&mut self, value: Option<&Expression>) -> Name {
        if self.rng.percent(6) {
            let candidates = &self.locals[self.constants.len()..self.block_start];
            if !candidates.is_empty() {
                let local = candidates[self.rng.index(candidates.len())];
                let twice = self.locals[self.block_start..]
                    .iter()
                    .any(|l| l.name == local.name);
                let used = value.is_some_and(|value| {
                    value.any(&mut |e| matches!(e, Expression::Name(n) if *n == local.name))
                });
                if !local.reserved && local.bound.is_none() && !twice && !used {
                    return local.name;
                }
            }
        }
        self.name("x")
    }

    pub(super) fn kind(&mut self) -> Kind {
        let kind = if !self.settings.nested_objects {
            Kind::Ints
        } else if self.rng.percent(25) {
            self.rng.pick(&Kind::NESTED)
        } else {
            self.rng.pick(&Kind::FLAT)
        };
        self.uses_nodes |= matches!(kind, Kind::Node | Kind::Nodes);
        kind
    }

    /// A new object with a name, together with its inner objects.
    pub(super) fn object(&mut self, kind: Kind, out: &mut Vec<Statement>) -> Option<()> {
        let stores = if kind.inner().is_some() {
            kind.sizes()[0]
        } else {
            0
        };
        let room = self.world.has_room_for(kind.count() + 8);
        if !room || self.limits.accesses < stores * self.scope.weight {
            return None;
        }
        self.limits.accesses -= stores * self.scope.weight;
        self.charge(10 + 10 * stores);
        let name = self.name("a");
        let object = Expression::Name(name);
        out.push(Statement::Let {
            name,
            ty: self.rng.percent(20).then(|| kind.ty()),
            value: kind.fresh(),
        });
        let counter = self.rng.percent(50).then(|| self.name("i"));
        out.extend(kind.fill(&object, counter));
        let before = self.world.all();
        self.world.add_object(name, kind);
        let new = self.world.all() & !before;
        self.scope.rights = self.scope.rights.join(Rights::all_of(new));
        Some(())
    }

    /// Replaces an object by a new one. Later accesses depend on this. So with steady control it is
    /// done only if no access may race.
    fn rebind(&mut self) -> Option<Statement> {
        if self.slip > 0 && !self.settings.data_dependent {
            return None;
        }
        let number = self.location(None, true)?;
        let slot = self.world.slots.iter().find(|slot| slot.is_at(number))?;
        let kind = slot.kind;
        let owned = slot.mask() & !self.scope.rights.write == 0;
        (owned || self.slips()).then(|| Statement::Assign {
            place: self.world.place(number),
            op: None,
            value: kind.fresh(),
        })
    }

    /// Makes or follows a link between nodes. The target is unknown here, so this is done only
    /// where rights don't count.
    fn link(&mut self) -> Option<Statement> {
        if !self.settings.data_dependent || !self.slips() {
            return None;
        }
        let nodes: Vec<Expression> = self
            .world
            .slots
            .iter()
            .filter(|slot| slot.kind == Kind::Node && slot.path == 0)
            .map(|slot| self.world.object(slot))
            .collect();
        if nodes.is_empty() || !self.access(0, 0, true) || !self.access(0, 0, true) {
            return None;
        }
        let next = Expression::field(nodes[self.rng.index(nodes.len())].clone(), NEXT);
        if self.rng.percent(50) {
            let value = match self.rng.below(2) {
                0 => Expression::NewStruct(NODE),
                _ => nodes[self.rng.index(nodes.len())].clone(),
            };
            return Some(Statement::Assign {
                place: next,
                op: None,
                value,
            });
        }
        if !self.access(0, 0, false) {
            return None;
        }
        let null = Expression::Literal(Literal::Null);
        Some(Statement::If {
            condition: Expression::binary(BinaryOp::NotEqual, next.clone(), null),
            then: vec![Statement::Assign {
                place: Expression::field(next, Name::plain("x")),
                op: None,
                value: Expression::Literal(self.literal(Scalar::Int)),
            }],
            otherwise: None,
        })
    }

    fn branch(&mut self, chain: bool) -> Statement {
        let steady = self.control();
        let condition = self.expression(Scalar::Bool, 2, steady);
        let before = self.scope.rights;
        let then = self.block();
        let after = std::mem::replace(&mut self.scope.rights, before);
        let otherwise = if chain {
            Some(vec![self.branch(false)])
        } else {
            self.rng.percent(40).then(|| self.block())
        };
        self.scope.rights = self.scope.rights.meet(after);
        Statement::If {
            condition,
            then,
            otherwise,
        }
    }

    /// `if c { break; }`, or with `continue` or `return`. The condition keeps the code after it
    /// reachable.
    fn leave(&mut self) -> Option<Statement> {
        let steady = self.control();
        let returns = self.scope.may_return && self.rng.percent(40);
        if !returns && self.scope.loop_exits.is_none() {
            return None;
        }
        let condition = self.expression(Scalar::Bool, 2, steady);
        let statement = if returns {
            let value = self.result.map(|scalar| self.expression(scalar, 1, false));
            self.returns = self.returns.meet(self.scope.rights);
            Statement::Return(value)
        } else {
            let exits = self.scope.loop_exits?;
            self.scope.loop_exits = Some(exits.meet(self.scope.rights));
            if self.rng.percent(50) {
                Statement::Break
            } else {
                Statement::Continue
            }
        };
        Some(Statement::If {
            condition,
            then: vec![statement],
            otherwise: None,
        })
    }

    /// A task fails or never ends here, if a condition holds that reads no shared data.
    fn stop(&mut self) -> Statement {
        let condition = self.expression(Scalar::Bool, 2, true);
        if self.rng.percent(50) {
            return Statement::Assert(condition, Vec::new());
        }
        Statement::While {
            condition,
            body: Vec::new(),
        }
    }

    fn arguments(&mut self) -> Vec<Argument> {
        let count = self.rng.between(1, 3);
        let argument = |generator: &mut Self| {
            if generator.rng.percent(30) {
                return Argument::Text(generator.rng.pick(&["sum", "a \"b\"\n", "", "x ="]));
            }
            let scalar = generator.scalar();
            Argument::Value(generator.expression(scalar, 1, false))
        };
        (0..count).map(|_| argument(self)).collect()
    }

    /// An assertion that holds in every run.
    fn assertion(&mut self) -> Statement {
        let any = self.expression(Scalar::Int, 1, false);
        let masked = Expression::binary(BinaryOp::And, any, Expression::int(7));
        let condition = if self.rng.percent(50) {
            Expression::binary(BinaryOp::Less, masked, Expression::int(8))
        } else {
            Expression::binary(BinaryOp::GreaterEqual, masked, Expression::int(0))
        };
        // The message is evaluated only if the assertion fails, so it must make no access.
        let message = if self.rng.percent(30) {
            vec![
                Argument::Text("out of range"),
                Argument::Value(Expression::int(7)),
            ]
        } else {
            Vec::new()
        };
        Statement::Assert(condition, message)
    }
}
