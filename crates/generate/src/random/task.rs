//! Parallel statements and calls. They pass rights from task to task.

use super::rights::{Effect, Rights, ones};
use super::{DEPTH, GREATEST_DEPTH, Generator, Parameter, Scope};
use crate::random::world::{Kind, Scalar, Slot};
use crate::shape::{BinaryOp, Expression, Function, Name, Program, ScopeKind, Statement};

const OPEN: Name = Name::plain("open_finish");
const CLOSE: Name = Name::plain("close_finish");

/// Who runs a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runner {
    Caller,
    NewTask,
}

impl Generator<'_> {
    /// Charges this many more tasks to the budget, each as often as this place is reached.
    pub(super) fn charge_tasks(&mut self, count: i64) -> Option<()> {
        let tasks = count * self.scope.weight;
        if self.limits.tasks < tasks {
            return None;
        }
        self.limits.tasks -= tasks;
        self.charge(10 * count);
        self.contains_parallel = true;
        Some(())
    }

    /// The body of a new task that owns `rights`. It runs `trips` times as often as this place.
    fn task_body(&mut self, rights: Rights, trips: i64) -> Vec<Statement> {
        self.tasks += 1;
        let inner = Scope {
            task: self.tasks,
            weight: self.scope.weight * trips,
            depth: self.scope.depth,
            in_loop: self.scope.in_loop || trips != 1,
            may_return: false,
            ..Scope::with(rights)
        };
        let outer = std::mem::replace(&mut self.scope, inner);
        let body = self.block();
        self.scope = outer;
        body
    }

    pub(super) fn async_task(&mut self) -> Option<Statement> {
        self.charge_tasks(1)?;
        let gift = self.gift();
        let rights = Rights {
            read: gift.reads | gift.writes,
            write: gift.writes,
        };
        self.scope.rights = self.scope.rights.after_giving(gift, self.scope.givable)?;
        self.gifts += 1;
        let body = self.task_body(rights, 1);
        Some(Statement::Scope {
            kind: ScopeKind::Async,
            body,
            bare: self.rng.percent(40),
        })
    }

    /// Some of the rights that this task can give away.
    fn gift(&mut self) -> Effect {
        let Rights { read, write } = self.scope.rights;
        let own = write & self.scope.givable;
        let writes = own
            & match self.rng.below(4) {
                0 => self.rng.bits() | self.rng.bits(),
                1 => self.rng.bits(),
                2 => self.rng.bits() & self.rng.bits(),
                _ => {
                    let slots = self.rng.bits();
                    let chosen = self.world.slots.iter().enumerate();
                    chosen
                        .filter(|(index, _)| slots >> (index % 64) & 1 == 1)
                        .fold(0, |mask, (_, slot)| mask | slot.mask())
                }
            };
        let shareable = read & !writes & !(write & !self.scope.givable);
        let reads = (self.rng.bits() | self.world.of_type(None)) & shareable;
        Effect { reads, writes }
    }

    /// The body of a finish. Its end brings back all rights.
    pub(super) fn finish_body(&mut self) -> Vec<Statement> {
        self.contains_parallel = true;
        self.charge(4);
        let saved = self.scope;
        self.scope = Scope {
            givable: u64::MAX,
            sync_base: Some(saved.rights),
            syncs: false,
            loop_exits: None,
            may_return: false,
            ..saved
        };
        let body = self.block();
        self.scope = saved;
        body
    }

    /// A `forall`. Each iteration may read what this task may read, and write the elements its
    /// counter selects.
    pub(super) fn forall(&mut self) -> Option<Statement> {
        let (counter, range, trips, bound) = self.range();
        self.charge_tasks(trips)?;
        self.charge(8 * trips + 16);
        let saved = self.scope;
        self.scope.rights = Rights {
            read: (self.rng.bits() | self.rng.bits() | self.world.of_type(None))
                & saved.rights.read,
            write: 0,
        };
        self.add_counter(counter, bound);
        let dedicated = match bound {
            Some(bound) => self.dedicate((counter, bound), saved.rights).len(),
            None => 0,
        };
        let rights = self.scope.rights;
        let body = self.task_body(rights, trips);
        self.locals.pop();
        let outer = self.world.locations.len() - dedicated;
        self.world.locations.truncate(outer);
        self.scope = saved;
        Some(Statement::For {
            parallel: true,
            counter,
            range,
            body,
        })
    }

    pub(super) fn isolated(&mut self) -> Statement {
        self.contains_parallel = true;
        self.charge(4);
        self.scope.isolated = true;
        let body = self.block();
        self.scope.isolated = false;
        Statement::Scope {
            kind: ScopeKind::Isolated,
            body,
            bare: self.rng.percent(40),
        }
    }

    /// `begin_finish` and `end_finish` around some statements of this block: directly, through two
    /// functions, or both under a condition that does not change.
    pub(super) fn dynamic_finish(&mut self, out: &mut Vec<Statement>) {
        self.contains_parallel = true;
        self.charge(20);
        let (open, close, certain) = match self.rng.below(4) {
            0 => {
                declare_finish_helpers(&mut self.program, &mut self.has_finish_helpers);
                let call = |name| Statement::Call(Expression::Call(name, Vec::new()));
                (call(OPEN), call(CLOSE), true)
            }
            1 => {
                let steady = self.control();
                let name = self.name("c");
                let value = self.expression(Scalar::Bool, 2, steady);
                out.push(Statement::Let {
                    name,
                    ty: None,
                    value,
                });
                let when = |statement| Statement::If {
                    condition: Expression::Name(name),
                    then: vec![statement],
                    otherwise: None,
                };
                (
                    when(Statement::BeginFinish),
                    when(Statement::EndFinish),
                    false,
                )
            }
            _ => (Statement::BeginFinish, Statement::EndFinish, true),
        };
        let saved = self.scope;
        self.scope.sync_base = None;
        self.scope.loop_exits = None;
        self.scope.may_return = false;
        if certain {
            self.scope.givable = u64::MAX;
        }
        out.push(open);
        self.statements(out);
        out.push(close);
        let inner = std::mem::replace(&mut self.scope, saved);
        self.scope.syncs = inner.syncs;
        if !certain {
            self.scope.rights = inner.rights;
        }
    }

    pub(super) fn sync(&mut self) -> Option<Statement> {
        let base = self.scope.sync_base?;
        self.contains_parallel = true;
        self.scope.syncs = true;
        self.scope.rights = self.scope.rights.join(base);
        Some(Statement::Sync)
    }

    pub(super) fn spawn(&mut self) -> Option<Statement> {
        if self.limits.tasks < self.scope.weight {
            return None;
        }
        let mut place = None;
        let mut result = None;
        let mut stored = Effect::default();
        if self.rng.percent(40) {
            let scalar = self.scalar();
            if let Some(number) = self.location(Some(scalar), true) {
                place = Some(self.world.place(number));
                result = Some(scalar);
                stored.writes = 1 << number;
            }
        }
        let (function, arguments) = self.prepare_call(result, Runner::NewTask, stored)?;
        self.charge_tasks(1)?;
        self.scope.syncs = true;
        Some(Statement::Spawn {
            place,
            function,
            arguments,
        })
    }

    /// A call that returns a value of this type, or any call.
    pub(super) fn call(&mut self, result: Option<Scalar>) -> Option<Expression> {
        let (function, arguments) = self.prepare_call(result, Runner::Caller, Effect::default())?;
        Some(Expression::Call(function, arguments))
    }

    /// Chooses a function and arguments, and applies the effect of the call. `stored` is what a new
    /// task does in addition.
    fn prepare_call(
        &mut self,
        result: Option<Scalar>,
        runner: Runner,
        stored: Effect,
    ) -> Option<(Name, Vec<Expression>)> {
        let callee = self.choose_callee(result)?;
        let signature = self.signatures[callee].clone();
        let within_itself = signature.name == self.current;

        let mut arguments = Vec::new();
        // For each object: its first location in the callee, their number, and its first location
        // here.
        let mut objects: Vec<(usize, usize, usize)> = Vec::new();
        let mut path = 0;
        for parameter in &signature.parameters {
            match *parameter {
                Parameter::Depth if within_itself => arguments.push(Expression::binary(
                    BinaryOp::Subtract,
                    Expression::Name(DEPTH),
                    Expression::int(1),
                )),
                Parameter::Depth => {
                    arguments.push(Expression::int(self.rng.between(1, GREATEST_DEPTH)));
                }
                Parameter::Value(scalar) => {
                    let steady = self.control();
                    arguments.push(self.expression(scalar, 1, steady));
                }
                Parameter::Object(kind, first) => {
                    let slot = self.choose_slot(kind);
                    match slot {
                        Some(slot) if kind.inner().is_some() || self.rng.percent(92) => {
                            arguments.push(self.world.object(&slot));
                            path |= slot.path;
                            objects.push((first, kind.count(), slot.first));
                        }
                        _ if kind.inner().is_none() => arguments.push(kind.fresh()),
                        _ => return None,
                    }
                }
            }
        }

        let globals = ones(self.global_world.locations.len());
        let here = |mask: u64| {
            objects
                .iter()
                .fold(mask & globals, |out, &(from, count, to)| {
                    out | (mask >> from & ones(count)) << to
                })
        };
        let effect = signature.effect.map(here);
        let outliving = signature.escaping.map(here);
        let escaping = match runner {
            Runner::Caller => outliving,
            Runner::NewTask => effect.join(stored),
        };
        // A recursive call in the arguments may have been the last one allowed.
        if within_itself && self.self_calls == 0 {
            return None;
        }
        if !self.slips() {
            let rights = self.scope.rights;
            let readable = Effect {
                reads: path,
                writes: 0,
            };
            // Whether a location has two names. One may be global.
            let aliased = objects.iter().enumerate().any(|(index, &(_, count, to))| {
                let overlaps =
                    |&(_, other, at): &(usize, usize, usize)| to < at + other && at < to + count;
                globals >> to & 1 == 1 || objects[..index].iter().any(overlaps)
            });
            // The result is stored in parallel with the tasks that outlive the call.
            let overtaken = stored.writes & (outliving.reads | outliving.writes) != 0;
            if aliased || overtaken || !rights.permit(effect.join(readable)) {
                return None;
            }
            self.scope.rights = rights.after_giving(escaping, self.scope.givable)?;
        }
        if escaping != Effect::default() {
            self.gifts += 1;
        }
        self.limits = self.limits.minus(signature.cost, self.scope.weight);
        self.access(path, 0, false);
        self.effect = self.effect.join(effect);
        self.contains_parallel |= !signature.plain;
        if within_itself {
            self.self_calls -= 1;
        }
        Some((signature.name, arguments))
    }

    fn choose_slot(&mut self, kind: Kind) -> Option<Slot> {
        let slots = self.world.slots.iter().enumerate().take(64);
        let fitting = slots
            .filter(|(_, slot)| slot.kind == kind)
            .fold(0, |mask, (index, _)| mask | 1 << index);
        let index = self.rng.bit_of(fitting)?;
        Some(self.world.slots[index as usize])
    }

    fn choose_callee(&mut self, result: Option<Scalar>) -> Option<usize> {
        let mut candidates = 0u64;
        for (index, signature) in self.signatures.iter().enumerate().take(64) {
            let right_type = result.is_none() || signature.result == result;
            let allowed = signature.plain || !self.scope.isolated && self.scope.held == 0;
            let again =
                signature.name != self.current || (self.self_calls > 0 && !self.scope.in_loop);
            let affordable = !self
                .limits
                .minus(signature.cost, self.scope.weight)
                .exceeded();
            if right_type && allowed && again && affordable {
                candidates |= 1 << index;
            }
        }
        self.rng.bit_of(candidates).map(|index| index as usize)
    }
}

fn declare_finish_helpers(program: &mut Program, declared: &mut bool) {
    if std::mem::replace(declared, true) {
        return;
    }
    for (name, statement) in [
        (OPEN, Statement::BeginFinish),
        (CLOSE, Statement::EndFinish),
    ] {
        program.functions.push(Function {
            name,
            parameters: Vec::new(),
            result: None,
            body: vec![statement],
        });
    }
}
