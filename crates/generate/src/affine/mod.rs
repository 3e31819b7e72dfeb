//! An affine program from a seed, for provers: its races are known for every input.
//!
//! Bounds, conditions and indices are sums of multiples of counters and parameters of main, with
//! divisions and remainders by constants, minima, maxima and choices between them. The front end
//! accepts every program. For arguments in [`ARGUMENTS`] the program ends and does not fail: the
//! generator knows an interval for each integer, and uses an index only if it is in bounds. All
//! arrays of a kind have the same size, larger than needed, and all indices have the same offset.
//! So accesses meet often.
//!
//! The [`Settings`] allow more:
//!
//! - With `beyond`, some integers depend on shared data, and some locals on the path of control.
//!   Then exactness is not known in advance, but claims must still hold.
//! - With `wrapping`, some integers and counters wrap around.
//! - With `stops`, some tasks fail or never end, for some arguments.
//!
//! | file | what it generates |
//! |---|---|
//! | `expression` | integers with their intervals, conditions, places |
//! | `statement` | statements |
//! | `loops` | loops |
//! | `wild` | integers and loops that wrap around, tasks that stop |
//! | `pipelines` | tasks that wait for their neighbours by promises: programs of their own |

mod expression;
mod loops;
mod pipelines;
mod statement;
mod wild;

use crate::rng::Rng;
use crate::shape::{Expression, Function, Global, Literal, Name, Program, Statement, Struct, Type};
use std::ops::RangeInclusive;

pub use pipelines::pipeline;

/// The arguments of main for which nothing fails.
pub const ARGUMENTS: RangeInclusive<i64> = -1..=8;

#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Also expressions that are not affine.
    pub beyond: bool,
    /// Also integers that wrap around.
    pub wrapping: bool,
    /// Also tasks that fail or never end, for some arguments.
    pub stops: bool,
}

impl Settings {
    /// The settings for a seed in tests that allow everything: values that wrap around, tasks that
    /// stop, or both.
    pub fn of_seed(seed: u64) -> Settings {
        Settings {
            beyond: false,
            wrapping: !seed.is_multiple_of(3),
            stops: seed % 3 != 1,
        }
    }
}

pub fn program(seed: u64, settings: &Settings) -> Program {
    let mut generator = Generator {
        rng: Rng::new(seed),
        beyond: settings.beyond,
        wrapping: settings.wrapping,
        stops: settings.stops,
        program: Program::default(),
        names: 0,
        functions: Vec::new(),
        ints: Vec::new(),
        wilds: Vec::new(),
        conditions: Vec::new(),
        objects: Vec::new(),
        globals: Vec::new(),
        context: Context::default(),
        budget: 0,
        exits: 0,
    };
    generator.whole();
    generator.program
}

/// The least and the greatest value.
type Interval = (i64, i64);

/// An integer expression and the interval of its values.
type Int = (Expression, Interval);

/// A local integer.
#[derive(Clone, Copy, Debug)]
struct Local {
    name: Name,
    interval: Interval,
    /// A `var`. Tasks created after its declaration can't use it.
    private: bool,
}

/// The kind of object that a name refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// `int[]`
    Flat,
    /// `int[,]`
    Grid,
    /// `int[][]`
    Rows,
    /// A struct with two integers and an `int[]`.
    Object,
}

/// An index is its value plus this offset.
const OFFSET: i64 = 12;
const LENGTH: i64 = 48;
const GRID_OFFSET: i64 = 3;
const GRID: i64 = 20;
const ROWS: i64 = 4;

const STRUCT: Name = Name::plain("S");
const FIELDS: [Name; 2] = [Name::plain("x"), Name::plain("y")];
const ROW: Name = Name::plain("row");
/// A global array.
const SHARED: Name = Name::plain("shared");

/// The interval of arguments of functions.
const PARAMETER: Interval = (-2, 10);

impl Kind {
    fn ty(self) -> Type {
        match self {
            Kind::Flat => Type::array(Type::Int, 1),
            Kind::Grid => Type::array(Type::Int, 2),
            Kind::Rows => Type::array(Type::array(Type::Int, 1), 1),
            Kind::Object => Type::Struct(STRUCT),
        }
    }

    fn made(self) -> Expression {
        let sized = |element, sizes: &[i64]| {
            Expression::NewArray(
                element,
                sizes.iter().copied().map(Expression::int).collect(),
            )
        };
        match self {
            Kind::Flat => sized(Type::Int, &[LENGTH]),
            Kind::Grid => sized(Type::Int, &[GRID, GRID]),
            Kind::Rows => sized(Type::array(Type::Int, 1), &[ROWS]),
            Kind::Object => Expression::NewStruct(STRUCT),
        }
    }
}

#[derive(Clone, Debug)]
struct Signature {
    name: Name,
    arrays: u32,
    /// The interval of the returned integer, if there is one.
    result: Option<Interval>,
}

/// The part of the generator's state that depends on the position of a statement.
#[derive(Clone, Copy, Debug)]
struct Context {
    /// The most times that the position is reached.
    weight: i64,
    depth: u32,
    /// Whether `break` can leave a loop from here, and whether `continue` can go on with one.
    may_break: bool,
    may_continue: bool,
    /// A `continue` here or in an inner loop would skip the statements at the end of a loop.
    must_reach_end: bool,
    may_return: bool,
    isolated: bool,
    /// Between `begin_finish` and `end_finish`.
    in_open_finish: bool,
    /// References that an enclosing loop exchanges.
    exchanged: Option<[Name; 2]>,
}

impl Default for Context {
    fn default() -> Context {
        Context {
            weight: 1,
            depth: 0,
            may_break: false,
            may_continue: false,
            must_reach_end: false,
            may_return: false,
            isolated: false,
            in_open_finish: false,
            exchanged: None,
        }
    }
}

/// The most times that a statement may run.
const GREATEST_WEIGHT: i64 = 80;
const GREATEST_DEPTH: u32 = 6;

struct Generator {
    rng: Rng,
    beyond: bool,
    wrapping: bool,
    stops: bool,
    program: Program,
    names: u32,
    functions: Vec<Signature>,
    ints: Vec<Local>,
    /// Integers of any value.
    wilds: Vec<Local>,
    conditions: Vec<Name>,
    objects: Vec<(Name, Kind)>,
    /// Global integers. There is at least one.
    globals: Vec<Name>,
    context: Context,
    /// The number of statements still to come.
    budget: u32,
    /// The number of `break` and `return` so far, to see whether a loop has any.
    exits: u32,
}

/// A position in the lists of visible names.
#[derive(Clone, Copy)]
struct Visible {
    ints: usize,
    wilds: usize,
    conditions: usize,
    objects: usize,
}

impl Generator {
    fn name(&mut self, stem: &'static str) -> Name {
        self.names += 1;
        Name::numbered(stem, self.names)
    }

    fn whole(&mut self) {
        self.program.structs.push(Struct {
            name: STRUCT,
            fields: vec![
                (FIELDS[0], Type::Int),
                (FIELDS[1], Type::Int),
                (ROW, Kind::Flat.ty()),
            ],
        });
        for _ in 0..self.rng.between(1, 2) {
            let name = self.name("g");
            self.globals.push(name);
            self.global(name, Type::Int);
            if self.rng.percent(30) {
                let initial = Literal::Int(self.rng.between(-2, 5));
                self.program.globals.last_mut().expect("one").initial = Some(initial);
            }
        }
        let shared = self.rng.percent(20);
        if shared {
            self.global(SHARED, Kind::Flat.ty());
            self.objects.push((SHARED, Kind::Flat));
        }
        for _ in 0..self.rng.below(3) {
            self.function();
        }
        self.main(shared);
    }

    fn global(&mut self, name: Name, ty: Type) {
        self.program.globals.push(Global {
            name,
            ty: Some(ty),
            initial: None,
            constant: false,
        });
    }

    fn main(&mut self, shared: bool) {
        let mut parameters = Vec::new();
        self.ints.clear();
        self.wilds.clear();
        for _ in 0..self.rng.pick(&[0, 1, 1, 1, 2]) {
            let name = self.name("n");
            parameters.push((name, Type::Int));
            self.ints.push(Local {
                name,
                interval: (*ARGUMENTS.start(), *ARGUMENTS.end()),
                private: false,
            });
        }
        let mut body = Vec::new();
        self.objects.clear();
        for _ in 0..self.rng.between(1, 2) {
            self.allocation(Kind::Flat, &mut body);
        }
        if self.rng.percent(40) {
            let kind = self.rng.pick(&[Kind::Grid, Kind::Rows, Kind::Object]);
            self.allocation(kind, &mut body);
        }
        if shared {
            let (array, _) = self.object(Kind::Flat).expect("there is an array");
            let place = Expression::Name(SHARED);
            body.push(Statement::Assign {
                place,
                op: None,
                value: array,
            });
            self.objects.push((SHARED, Kind::Flat));
        }
        self.budget = self.rng.between(6, 16) as u32;
        self.context = Context {
            may_return: true,
            ..Context::default()
        };
        while self.budget > 0 {
            self.statement(&mut body);
        }
        self.program.functions.push(Function {
            name: Name::MAIN,
            parameters,
            result: None,
            body,
        });
    }

    fn function(&mut self) {
        let name = self.name("f");
        let parameter = self.name("i");
        self.wilds.clear();
        self.ints = vec![Local {
            name: parameter,
            interval: PARAMETER,
            private: false,
        }];
        let mut parameters = vec![(parameter, Type::Int)];
        let global_objects = self.objects.len();
        let gives_int = self.rng.percent(35);
        let arrays = if gives_int { 0 } else { self.rng.below(3) };
        for _ in 0..arrays {
            let array = self.name("p");
            parameters.push((array, Kind::Flat.ty()));
            self.objects.push((array, Kind::Flat));
        }
        let mut body = Vec::new();
        let mut result = None;
        if gives_int {
            // A condition or an operand calls it, and may not get an answer.
            if self.stops && self.rng.percent(40) {
                self.stop(&mut body);
            }
            let (value, mut interval) = self.int(1);
            if self.rng.percent(60) {
                let condition = self.condition(1);
                let (early, other) = self.int(1);
                interval = (interval.0.min(other.0), interval.1.max(other.1));
                body.push(Statement::If {
                    condition,
                    then: vec![Statement::Return(Some(early))],
                    otherwise: None,
                });
            }
            body.push(Statement::Return(Some(value)));
            result = Some(interval);
        } else {
            self.budget = self.rng.between(2, 6) as u32;
            self.context = Context {
                may_return: true,
                // The function may be called in a loop.
                weight: 6,
                depth: 2,
                ..Context::default()
            };
            while self.budget > 0 {
                self.statement(&mut body);
            }
        }
        self.objects.truncate(global_objects);
        self.conditions.clear();
        self.program.functions.push(Function {
            name,
            parameters,
            result: result.map(|_| Type::Int),
            body,
        });
        self.functions.push(Signature {
            name,
            arrays,
            result,
        });
    }

    /// Whether programs may do what most don't.
    fn is_wild(&self) -> bool {
        self.wrapping || self.stops
    }

    fn visible(&self) -> Visible {
        Visible {
            ints: self.ints.len(),
            wilds: self.wilds.len(),
            conditions: self.conditions.len(),
            objects: self.objects.len(),
        }
    }

    /// A block in a context of its own. Its names end with it. `begin` may declare some.
    fn block(
        &mut self,
        context: Context,
        statements: u32,
        begin: impl FnOnce(&mut Self, &mut Vec<Statement>),
    ) -> Vec<Statement> {
        let visible = self.visible();
        let outside = std::mem::replace(&mut self.context, context);
        self.context.depth += 1;
        let mut body = Vec::new();
        begin(self, &mut body);
        let outer_budget = self.budget;
        self.budget = statements.min(outer_budget);
        let given = self.budget;
        while self.budget > 0 {
            self.statement(&mut body);
        }
        self.budget = outer_budget - given;
        self.context = outside;
        self.ints.truncate(visible.ints);
        self.wilds.truncate(visible.wilds);
        self.conditions.truncate(visible.conditions);
        self.objects.truncate(visible.objects);
        body
    }

    /// The body of a task. It can't use private locals of its creator.
    fn task(&mut self, begin: impl FnOnce(&mut Self)) -> Vec<Statement> {
        let ints = self.ints.clone();
        self.ints.retain(|local| !local.private);
        begin(self);
        let context = Context {
            weight: self.context.weight,
            depth: self.context.depth,
            ..Context::default()
        };
        let statements = self.rng.between(1, 4) as u32;
        let body = self.block(context, statements, |_, _| {});
        self.ints = ints;
        body
    }
}
