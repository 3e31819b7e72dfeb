//! A program from a seed.
//!
//! The same seed and settings give the same program for ever. The front end accepts every program.
//! [`Limits`] bounds what a program executes. For each statement the generator knows how often it
//! can run at most (the product of the trips of the loops around it). For each function it knows
//! what a call costs at most. Nothing fails at run time unless [`Settings::traps`] or
//! [`Settings::stops`] allows it: indices are reduced to the fixed sizes of a few kinds of objects,
//! divisors are positive, and references that are followed are never null. With [`Settings::stops`]
//! a task may also never end.
//!
//! **Ownership.** The rights of a task say which accesses can't race. An access is chosen among
//! these, so that the program is free of races, or among all. [`Ownership`] says how often.
//!
//! **Steady control.** A *steady* expression reads no shared location, calls nothing, and uses only
//! steady locals. Unless [`Settings::data_dependent`], conditions, ranges, indices and arguments
//! are steady. Then each task accesses the same locations in every schedule, and the same locations
//! race.
//!
//! | file | what it generates |
//! |---|---|
//! | `settings` | nothing: what is allowed |
//! | `rights` | nothing: which task may read and write what |
//! | `world` | shared objects and their locations |
//! | `expression` | expressions |
//! | `statement` | statements of one task |
//! | `loops` | loops |
//! | `promises` | promises and futures |
//! | `locks` | locks |
//! | `task` | parallel statements and calls |

mod expression;
mod locks;
mod loops;
mod promises;
mod rights;
mod settings;
mod statement;
mod task;
mod world;

use crate::rng::Rng;
use crate::shape::{
    BinaryOp, Expression, Function, Global, Literal, Name, Program, ScopeKind, Statement, Type,
};
use promises::Awaited;
use rights::{Effect, Rights};
pub use settings::{Constructs, Limits, Ownership, Settings};
use world::{Kind, Scalar, World};

pub fn program(seed: u64, settings: &Settings) -> Program {
    let mut generator = Generator::new(seed, settings);
    generator.globals();
    if settings.locks {
        generator.declare_locks();
    }
    let functions = if settings.constructs.spawns {
        settings.functions
    } else {
        generator.rng.below(settings.functions + 1)
    };
    for number in 1..=functions {
        generator.function(number, functions);
    }
    generator.main();
    generator.program
}

/// The most calls of a recursive function with a depth of [`GREATEST_DEPTH`] that calls itself
/// twice.
const RECURSION_COST: i64 = 15;
const GREATEST_DEPTH: i64 = 3;
const DEPTH: Name = Name::plain("d");

/// A local name of a scalar type.
#[derive(Clone, Copy, Debug)]
struct Local {
    name: Name,
    scalar: Scalar,
    /// A `var`: belongs to its task.
    mutable: bool,
    task: u32,
    /// Its value does not depend on shared data.
    steady: bool,
    /// Its value is in `0..bound`.
    bound: Option<i64>,
    /// Never assigned or hidden by generated code, because it is a `while` counter or locations use
    /// its name.
    reserved: bool,
}

/// The part of the generator's state that depends on the position of a statement.
#[derive(Clone, Copy, Debug)]
struct Scope {
    rights: Rights,
    /// The rights that a task created here may get.
    givable: u64,
    /// The rights after a `sync`. None if there can be no `sync`.
    sync_base: Option<Rights>,
    /// Whether the innermost sync scope contains a `spawn` or a `sync`.
    syncs: bool,
    /// Inside a loop that can be left from here, the rights that all exits so far had.
    loop_exits: Option<Rights>,
    may_return: bool,
    isolated: bool,
    /// The locks that the task holds, as bits.
    held: u32,
    in_loop: bool,
    task: u32,
    /// The most times that this place is reached.
    weight: i64,
    depth: u32,
}

impl Scope {
    fn with(rights: Rights) -> Scope {
        Scope {
            rights,
            givable: u64::MAX,
            sync_base: Some(rights),
            syncs: false,
            loop_exits: None,
            may_return: true,
            isolated: false,
            held: 0,
            in_loop: false,
            task: 0,
            weight: 1,
            depth: 0,
        }
    }
}

#[derive(Clone, Debug)]
struct Signature {
    name: Name,
    parameters: Vec<Parameter>,
    result: Option<Scalar>,
    /// All accesses of the function, including those of its tasks.
    effect: Effect,
    /// Accesses that tasks may still make after the function returns.
    escaping: Effect,
    /// The function has no parallel statement, so an isolated block can call it.
    plain: bool,
    cost: Limits,
}

#[derive(Clone, Copy, Debug)]
enum Parameter {
    /// How deep a recursion may still go.
    Depth,
    Value(Scalar),
    /// The object's first location in the function.
    Object(Kind, usize),
}

struct Generator<'a> {
    rng: Rng,
    settings: &'a Settings,
    program: Program,
    signatures: Vec<Signature>,
    /// The percentage of accesses that ignore the rights.
    slip: u32,
    /// Locations that only isolated blocks access.
    guarded: u64,
    /// The globals: the locations that have the same number in every function, and the constants.
    global_world: World,
    constants: Vec<Local>,
    has_finish_helpers: bool,
    uses_nodes: bool,

    // State of the current function:
    current: Name,
    world: World,
    locals: Vec<Local>,
    promises: Vec<Awaited>,
    /// The start of the innermost block in `locals`.
    block_start: usize,
    scope: Scope,
    effect: Effect,
    /// The rights that all returns so far had.
    returns: Rights,
    result: Option<Scalar>,
    contains_parallel: bool,
    /// The number of further calls of itself that a recursive function may get.
    self_calls: u32,
    limits: Limits,
    statements_left: u32,

    names: u32,
    tasks: u32,
    /// The number of gifts so far, to see whether a piece of program made any.
    gifts: u32,
}

impl<'a> Generator<'a> {
    fn new(seed: u64, settings: &'a Settings) -> Generator<'a> {
        let mut rng = Rng::new(seed);
        let slip = match settings.ownership {
            Ownership::Kept => 0,
            Ownership::Ignored => 100,
            Ownership::Mixed => rng.pick(&[0, 40, 100, 100]),
        };
        Generator {
            rng,
            settings,
            program: Program::default(),
            signatures: Vec::new(),
            slip,
            guarded: 0,
            global_world: World::default(),
            constants: Vec::new(),
            has_finish_helpers: false,
            uses_nodes: false,
            current: Name::MAIN,
            world: World::default(),
            locals: Vec::new(),
            promises: Vec::new(),
            block_start: 0,
            scope: Scope::with(Rights::default()),
            effect: Effect::default(),
            returns: Rights::default(),
            result: None,
            contains_parallel: false,
            self_calls: 0,
            limits: Limits::NONE,
            statements_left: 0,
            names: 0,
            tasks: 0,
            gifts: 0,
        }
    }

    fn name(&mut self, stem: &'static str) -> Name {
        self.names += 1;
        Name::numbered(stem, self.names)
    }

    /// Whether this access may ignore the rights.
    fn slips(&mut self) -> bool {
        self.slip > 0 && self.rng.percent(self.slip)
    }

    fn globals(&mut self) {
        for number in 1..=self.rng.between(1, 3) as u32 {
            let scalar = match self.rng.below(8) {
                0 => Scalar::Float,
                1 => Scalar::Bool,
                2 => Scalar::Byte,
                _ => Scalar::Int,
            };
            let name = Name::numbered("g", number);
            let initial = self.rng.percent(50).then(|| self.literal(scalar));
            let untyped = initial.is_some() && self.rng.percent(50);
            self.program.globals.push(Global {
                name,
                ty: (!untyped).then(|| scalar.ty()),
                initial,
                constant: false,
            });
            let bit = self.global_world.add_global(name, scalar);
            if self.settings.constructs.isolated && self.rng.percent(35) {
                self.guarded |= bit;
            }
        }
        if self.rng.percent(25) {
            let name = Name::plain("limit");
            let value = self.rng.between(1, 6);
            self.program.globals.push(Global {
                name,
                ty: self.rng.percent(50).then_some(Type::Int),
                initial: Some(Literal::Int(value)),
                constant: true,
            });
            self.constants.push(Local {
                name,
                scalar: Scalar::Int,
                mutable: false,
                task: 0,
                steady: true,
                bound: Some(value + 1),
                reserved: true,
            });
        }
        if self.settings.nested_objects && self.rng.percent(15) {
            let name = Name::plain("shared");
            self.program.globals.push(Global {
                name,
                ty: Some(Kind::Ints.ty()),
                initial: self.rng.percent(50).then_some(Literal::Null),
                constant: false,
            });
            self.global_world.add_global_object(name, Kind::Ints);
        }
    }

    /// Resets everything that belongs to one function.
    fn begin_function(&mut self, name: Name, statements: u32, limits: Limits) {
        self.current = name;
        self.world.clone_from(&self.global_world);
        self.locals.clone_from(&self.constants);
        self.promises.clear();
        self.block_start = self.locals.len();
        self.effect = Effect::default();
        self.contains_parallel = false;
        self.self_calls = 0;
        self.limits = limits;
        self.statements_left = statements;
    }

    /// All rights, except that most functions may not write references. So the objects behind them
    /// can be shared.
    fn first_rights(&mut self) -> Rights {
        let mut rights = Rights::all_of(self.world.all() & !self.guarded);
        if !self.rng.percent(10) {
            rights.write &= !self.world.of_type(None);
        }
        rights
    }

    fn function(&mut self, number: u32, of: u32) {
        let name = Name::numbered("f", number);
        let recursive = self.rng.percent(30);
        let share = if recursive { 40 } else { 8 };
        let limits = Limits {
            steps: self.settings.limits.steps / share,
            tasks: (self.settings.limits.tasks / share.min(16)).max(1),
            accesses: (self.settings.limits.accesses / share).max(2),
        };
        self.begin_function(name, self.settings.statements / (of + 2), limits);

        let (parameters, declared) = self.parameters(recursive);
        self.result = self.rng.percent(40).then(|| self.rng.pick(&Scalar::ALL));
        let entry = if recursive {
            let all = self.first_rights();
            let write = if self.rng.percent(50) {
                0
            } else {
                self.rng.half_of(all.write)
            };
            let read = write | self.rng.half_of(all.read) | self.world.of_type(None);
            Rights { read, write }.meet(all)
        } else {
            self.first_rights()
        };
        self.scope = Scope::with(entry);
        self.returns = entry;
        let known = self.world.all();
        let everything = Effect {
            reads: entry.read,
            writes: entry.write,
        };

        let mut body = Vec::new();
        let joined = recursive && self.settings.constructs.finishes && self.rng.percent(50);
        if recursive {
            body.push(self.recursion_guard());
            // The effect of the function is fixed in advance, so that it can call itself.
            self.self_calls = 2;
            self.signatures.push(Signature {
                name,
                parameters: parameters.clone(),
                result: self.result,
                effect: everything,
                escaping: if joined {
                    Effect::default()
                } else {
                    everything
                },
                plain: false,
                cost: Limits::NONE,
            });
        }
        if joined {
            let inner = self.finish_body();
            body.push(Statement::scope(ScopeKind::Finish, inner));
        } else {
            self.statements(&mut body);
        }
        if let Some(result) = self.result {
            let value = self.expression(result, 2, false);
            body.push(Statement::Return(Some(value)));
        }
        self.program.functions.push(Function {
            name,
            parameters: declared,
            result: self.result.map(Scalar::ty),
            body,
        });

        let exit = if self.scope.syncs {
            entry
        } else {
            self.scope.rights.meet(self.returns)
        };
        let escaping = entry.only(known).lost(exit.only(known));
        let spent = limits.minus(self.limits, 1);
        let times = if recursive { RECURSION_COST } else { 1 };
        if recursive {
            self.signatures.pop();
        }
        self.signatures.push(Signature {
            name,
            parameters,
            result: self.result,
            effect: if recursive {
                everything
            } else {
                self.effect.only(known & !self.guarded)
            },
            escaping: match (recursive, joined) {
                (true, true) => Effect::default(),
                (true, false) if !self.scope.syncs => everything,
                _ => escaping,
            },
            plain: !self.contains_parallel,
            cost: Limits {
                steps: spent.steps * times + 10,
                tasks: spent.tasks * times,
                accesses: spent.accesses * times,
            },
        });
    }

    fn parameters(&mut self, recursive: bool) -> (Vec<Parameter>, Vec<(Name, Type)>) {
        let mut parameters = Vec::new();
        let mut declared = Vec::new();
        if recursive {
            parameters.push(Parameter::Depth);
            declared.push((DEPTH, Type::Int));
            self.add_parameter(DEPTH, Scalar::Int, Some(GREATEST_DEPTH + 1), true);
        }
        for _ in 0..self.rng.below(4) {
            if self.rng.percent(60) {
                let kind = self.kind();
                if !self.world.has_room_for(kind.count() + 8) {
                    continue;
                }
                let name = self.name("p");
                parameters.push(Parameter::Object(kind, self.world.locations.len()));
                declared.push((name, kind.ty()));
                self.world.add_object(name, kind);
            } else {
                let scalar = self.scalar();
                let name = self.name("v");
                parameters.push(Parameter::Value(scalar));
                declared.push((name, scalar.ty()));
                self.add_parameter(name, scalar, None, false);
            }
        }
        (parameters, declared)
    }

    fn add_parameter(&mut self, name: Name, scalar: Scalar, bound: Option<i64>, reserved: bool) {
        self.locals.push(Local {
            name,
            scalar,
            mutable: false,
            task: 0,
            steady: true,
            bound,
            reserved,
        });
    }

    fn recursion_guard(&mut self) -> Statement {
        let value = self.result.map(|scalar| self.expression(scalar, 1, false));
        Statement::If {
            condition: Expression::binary(
                BinaryOp::LessEqual,
                Expression::Name(DEPTH),
                Expression::int(0),
            ),
            then: vec![Statement::Return(value)],
            otherwise: None,
        }
    }

    fn main(&mut self) {
        self.begin_function(Name::MAIN, self.settings.statements, self.settings.limits);
        self.result = None;
        let parameters: Vec<(Name, Type)> = (1..=self.settings.parameters)
            .map(|number| (Name::numbered("m", number), Type::Int))
            .collect();
        for (name, _) in &parameters {
            self.add_parameter(*name, Scalar::Int, None, false);
        }
        let entry = self.first_rights();
        self.scope = Scope::with(entry);
        self.returns = entry;
        let mut body = Vec::new();
        if self.settings.locks {
            body.extend(self.make_locks());
        }
        for slot in &self.global_world.slots {
            body.push(Statement::Assign {
                place: self.global_world.object(slot),
                op: None,
                value: slot.kind.fresh(),
            });
            self.limits.accesses -= 1;
        }
        for _ in 0..self.rng.below(self.settings.objects + 1) {
            let kind = self.kind();
            self.object(kind, &mut body);
        }
        while self.statements_left > 0 && !self.out_of_budget() {
            self.statements(&mut body);
        }
        self.program.functions.push(Function {
            name: Name::MAIN,
            parameters,
            result: None,
            body,
        });
        if self.uses_nodes {
            self.program.structs.push(world::node());
        }
    }
}
