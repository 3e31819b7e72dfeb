//! Runs the tree of a program by the definition of the language alone.
//!
//! A run lists every access: its place in the text, its instance, its location, its step. Tasks run
//! where they are created. The computation graph is written down as the program runs. A step begins
//! where a task begins, goes on after a creation, or waits at the end of a finish or at a `sync`;
//! it has an edge from each step that comes before it.
//!
//! **Stuck tasks.** A task that fails or loops for ever goes no further, and nobody passes the end
//! of a finish that waits for it. All others go on: some schedule lets them go first. So the
//! accesses are those of all schedules, as long as control does not depend on racy data.

use finishline_generate::Program;
use finishline_generate::shape::{
    BinaryOp, Expression, Function, Literal, Name, ScopeKind, Statement, Type, UnaryOp,
};
use std::collections::HashMap;

/// An expression, or the statement that spawns: where in the tree it is.
pub(crate) type Place = *const ();

pub(crate) fn place<T>(part: &T) -> Place {
    std::ptr::from_ref(part).cast()
}

/// An execution of an access.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// The expression that is read or written.
    pub(crate) place: Place,
    pub(crate) is_write: bool,
    pub(crate) isolated: bool,
    /// Index among all unfolded calls of its function.
    pub(crate) unfolding: usize,
    pub(crate) counters: Vec<Counter>,
    pub(crate) location: (usize, usize),
    /// What is read or written.
    pub(crate) value: Value,
    pub(crate) step: usize,
}

/// Which iteration of a loop.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    /// The counter of a `for`, or from 0.
    number: i64,
    /// What the integers in the condition of a `while` are.
    variables: Vec<(String, i64)>,
}

impl Counter {
    /// The value of a variable, or else the number.
    pub(crate) fn value(&self, name: &str) -> i64 {
        let mut variables = self.variables.iter();
        let value = variables.find_map(|(it, value)| (it == name).then_some(*value));
        value.unwrap_or(self.number)
    }
}

/// Everything that happened.
#[derive(Default)]
pub(crate) struct Run {
    pub(crate) accesses: Vec<Access>,
    /// For each step those right before it, which have smaller numbers.
    pub(crate) before: Vec<Vec<usize>>,
    /// How many accesses come before the first task is stuck, if one is.
    pub(crate) stuck_after: Option<usize>,
}

/// More than this is not executed.
const MOST_ACCESSES: usize = 4000;
const MOST_STEPS: usize = 4000;
const MOST_STATEMENTS: u64 = 100_000;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Value {
    Int(i64),
    Bool(bool),
    Reference(Option<usize>),
}

impl Value {
    fn of(ty: &Type) -> Value {
        match ty {
            Type::Bool => Value::Bool(false),
            Type::Struct(_) | Type::Array(..) | Type::Promise(_) => Value::Reference(None),
            _ => Value::Int(0),
        }
    }
}

struct Object {
    /// Of an array.
    sizes: Vec<i64>,
    values: Vec<Value>,
    layout: Option<Name>,
}

/// A function in one unfolding of calls.
struct Unfolding {
    /// Index among the unfoldings of its function.
    number: usize,
    calls: HashMap<Place, usize>,
}

/// How a statement ends.
enum Flow {
    Next,
    Break,
    Continue,
    Return(Option<Value>),
}

/// Why a task goes no further.
enum Halt {
    /// It fails here, waits for what never comes, or loops for ever.
    Stuck,
    /// The run can't be made: it is too long, or the program is not one that is understood.
    Unable(String),
}

impl From<String> for Halt {
    fn from(message: String) -> Halt {
        Halt::Unable(message)
    }
}

impl From<&str> for Halt {
    fn from(message: &str) -> Halt {
        Halt::Unable(message.to_string())
    }
}

type Outcome<T> = Result<T, Halt>;

/// An open finish.
#[derive(Clone, Default)]
struct Finish {
    /// The last steps of its tasks.
    ends: Vec<usize>,
    /// One of its tasks is stuck.
    is_stuck: bool,
}

struct Machine<'p> {
    program: &'p Program,
    unfoldings: Vec<Unfolding>,
    run: Run,
    objects: Vec<Object>,
    locals: Vec<(Name, Value)>,
    counters: Vec<Counter>,
    unfolding: usize,
    isolated: bool,
    step: usize,
    finishes: Vec<Finish>,
    /// Statements and iterations so far.
    statements: u64,
}

/// Where an assignment goes.
enum Target {
    Local(usize),
    Shared(Place, (usize, usize)),
    /// Outside of an array: an access fails.
    Outside,
}

/// Runs a program; says why not if it is too large.
pub(crate) fn run(program: &Program, arguments: &[i64]) -> Result<Run, String> {
    match start(program, arguments) {
        Ok(run) => Ok(run),
        Err(Halt::Unable(message)) => Err(message),
        Err(Halt::Stuck) => Err("it is stuck before it begins".to_string()),
    }
}

fn start(program: &Program, arguments: &[i64]) -> Outcome<Run> {
    let main = function(program, Name::MAIN)?;
    let globals = program.globals.iter();
    let initial = |global: &finishline_generate::shape::Global| match (global.initial, &global.ty) {
        (Some(literal), _) => constant(literal),
        (None, Some(ty)) => Ok(Value::of(ty)),
        (None, None) => Err("a global without a type".into()),
    };
    let values = globals.map(initial).collect::<Outcome<_>>()?;
    let mut machine = Machine {
        program,
        unfoldings: Vec::new(),
        run: Run {
            accesses: Vec::new(),
            before: vec![Vec::new()],
            stuck_after: None,
        },
        objects: vec![Object {
            sizes: Vec::new(),
            values,
            layout: None,
        }],
        locals: Vec::new(),
        counters: Vec::new(),
        unfolding: 0,
        isolated: false,
        step: 0,
        finishes: vec![Finish::default()],
        statements: 0,
    };
    machine.unfold(main, &mut HashMap::new(), 0)?;
    if main.parameters.len() != arguments.len() {
        return Err("wrong number of arguments".into());
    }
    let arguments = arguments.iter().map(|value| Value::Int(*value)).collect();
    match machine.invoke(main, arguments) {
        Ok(_) => {}
        Err(Halt::Stuck) => machine.note_stuck(),
        Err(unable) => return Err(unable),
    }
    Ok(machine.run)
}

fn function(program: &Program, name: Name) -> Outcome<&Function> {
    let mut functions = program.functions.iter();
    let found = functions.find(|function| function.name == name);
    found.ok_or_else(|| format!("no function {name}").into())
}

fn constant(literal: Literal) -> Outcome<Value> {
    Ok(match literal {
        Literal::Int(value) => Value::Int(value),
        Literal::Bool(value) => Value::Bool(value),
        Literal::Null => Value::Reference(None),
        other => return Err(format!("{other:?}").into()),
    })
}

/// The calls in an expression, in the order of evaluation.
fn calls(expression: &Expression, out: &mut Vec<(Place, Name)>) {
    for operand in expression.operands() {
        calls(operand, out);
    }
    if let Expression::Call(function, _) = expression {
        out.push((place(expression), *function));
    }
}

fn calls_of(body: &[Statement], out: &mut Vec<(Place, Name)>) {
    for statement in body {
        for expression in statement.expressions() {
            calls(expression, out);
        }
        if let Statement::Spawn { function, .. } = statement {
            out.push((place(statement), *function));
        }
        for inner in statement.bodies() {
            calls_of(inner, out);
        }
    }
}

/// Whether a body is a sync scope: it has a `spawn` or `sync` that is in no such body inside of it.
fn is_sync_scope(body: &[Statement]) -> bool {
    body.iter().any(|statement| match statement {
        Statement::Spawn { .. } | Statement::Sync => true,
        Statement::Scope {
            kind: ScopeKind::Async | ScopeKind::Finish,
            ..
        }
        | Statement::For { parallel: true, .. } => false,
        other => other.bodies().into_iter().any(|body| is_sync_scope(body)),
    })
}

impl<'p> Machine<'p> {
    /// Numbers all calls, as if each were made.
    fn unfold(
        &mut self,
        callee: &'p Function,
        numbers: &mut HashMap<Name, usize>,
        depth: usize,
    ) -> Outcome<usize> {
        if depth > 20 {
            return Err("it is recursive".into());
        }
        let number = numbers.entry(callee.name).or_default();
        let id = self.unfoldings.len();
        self.unfoldings.push(Unfolding {
            number: *number,
            calls: HashMap::new(),
        });
        *number += 1;
        let mut made = Vec::new();
        calls_of(&callee.body, &mut made);
        for (at, name) in made {
            let inner = self.unfold(function(self.program, name)?, numbers, depth + 1)?;
            self.unfoldings[id].calls.insert(at, inner);
        }
        Ok(id)
    }

    fn new_step(&mut self, before: Vec<usize>) -> Outcome<()> {
        if self.run.before.len() > MOST_STEPS {
            return Err("too many steps".into());
        }
        self.step = self.run.before.len();
        self.run.before.push(before);
        Ok(())
    }

    /// Counts a statement or an iteration.
    fn spend(&mut self) -> Outcome<()> {
        self.statements += 1;
        if self.statements > MOST_STATEMENTS {
            return Err("too many statements".into());
        }
        Ok(())
    }

    fn note_stuck(&mut self) {
        let accesses = self.run.accesses.len();
        self.run.stuck_after.get_or_insert(accesses);
    }

    /// A new task; the creator goes on after it.
    fn task(&mut self, run: impl FnOnce(&mut Self) -> Outcome<()>) -> Outcome<()> {
        let creator = self.step;
        let locals = self.locals.clone();
        let (counters, unfolding) = (self.counters.len(), self.unfolding);
        let (open, isolated) = (self.finishes.len(), self.isolated);
        self.new_step(vec![creator])?;
        let is_stuck = match run(self) {
            Ok(()) => false,
            Err(Halt::Stuck) => true,
            Err(unable) => return Err(unable),
        };
        if is_stuck {
            self.note_stuck();
            self.counters.truncate(counters);
            self.finishes.truncate(open);
            (self.unfolding, self.isolated) = (unfolding, isolated);
        }
        let last = self.step;
        let finish = self.finishes.last_mut().ok_or("no finish")?;
        finish.ends.push(last);
        finish.is_stuck |= is_stuck;
        self.locals = locals;
        self.new_step(vec![creator])
    }

    fn finish<T>(&mut self, run: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        self.finishes.push(Finish::default());
        let open = self.finishes.len();
        let result = run(self)?;
        if self.finishes.len() != open {
            return Err("finishes don't nest".into());
        }
        self.end_finish()?;
        Ok(result)
    }

    fn end_finish(&mut self) -> Outcome<()> {
        let finish = self.finishes.pop().ok_or("no finish")?;
        self.wait(finish)
    }

    /// Goes on after all tasks of a finish so far.
    fn wait(&mut self, finish: Finish) -> Outcome<()> {
        if finish.is_stuck {
            return Err(Halt::Stuck);
        }
        let mut before = finish.ends;
        before.push(self.step);
        self.new_step(before)
    }

    /// The body of a function, an `async` or a `finish`.
    fn scope(&mut self, body: &'p [Statement]) -> Outcome<Flow> {
        if is_sync_scope(body) {
            self.finish(|machine| machine.block(body))
        } else {
            self.block(body)
        }
    }

    fn invoke(&mut self, callee: &'p Function, arguments: Vec<Value>) -> Outcome<Option<Value>> {
        let names = callee.parameters.iter().map(|(name, _)| *name);
        let locals = std::mem::replace(&mut self.locals, names.zip(arguments).collect());
        let flow = self.scope(&callee.body)?;
        self.locals = locals;
        match (flow, &callee.result) {
            (Flow::Return(value), _) => Ok(value),
            (_, None) => Ok(None),
            _ => Err("no result".into()),
        }
    }

    fn call(&mut self, at: Place, name: Name, arguments: Vec<Value>) -> Outcome<Option<Value>> {
        let callee = function(self.program, name)?;
        let unfolding = self.unfoldings[self.unfolding].calls[&at];
        let caller = std::mem::replace(&mut self.unfolding, unfolding);
        let result = self.invoke(callee, arguments)?;
        self.unfolding = caller;
        Ok(result)
    }

    fn access(
        &mut self,
        at: Place,
        is_write: bool,
        location: (usize, usize),
        value: Value,
    ) -> Outcome<()> {
        if self.run.accesses.len() >= MOST_ACCESSES {
            return Err("too many accesses".into());
        }
        self.run.accesses.push(Access {
            place: at,
            is_write,
            isolated: self.isolated,
            unfolding: self.unfoldings[self.unfolding].number,
            counters: self.counters.clone(),
            location,
            value,
            step: self.step,
        });
        Ok(())
    }

    fn load(&mut self, at: Place, location: (usize, usize)) -> Outcome<Value> {
        let value = self.objects[location.0].values[location.1];
        self.access(at, false, location, value)?;
        Ok(value)
    }

    fn store(&mut self, at: Place, location: (usize, usize), value: Value) -> Outcome<()> {
        self.access(at, true, location, value)?;
        self.objects[location.0].values[location.1] = value;
        Ok(())
    }

    fn block(&mut self, body: &'p [Statement]) -> Outcome<Flow> {
        let visible = self.locals.len();
        for statement in body {
            let flow = self.statement(statement)?;
            if !matches!(flow, Flow::Next) {
                self.locals.truncate(visible);
                return Ok(flow);
            }
        }
        self.locals.truncate(visible);
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &'p Statement) -> Outcome<Flow> {
        self.spend()?;
        match statement {
            Statement::Let { name, value, .. } => {
                let value = self.expression(value)?;
                self.locals.push((*name, value));
            }
            Statement::Var { name, ty, value } => {
                let value = match (value, ty) {
                    (Some(value), _) => self.expression(value)?,
                    (None, Some(ty)) => Value::of(ty),
                    (None, None) => return Err("a variable without a type".into()),
                };
                self.locals.push((*name, value));
            }
            Statement::Assign { place, op, value } => self.assign(place, *op, value)?,
            Statement::Call(call) => {
                let Expression::Call(name, arguments) = call else {
                    return Err("no call".into());
                };
                let arguments = self.all(arguments)?;
                self.call(place(call), *name, arguments)?;
            }
            Statement::Scope { kind, body, .. } => match kind {
                ScopeKind::Block => return self.block(body),
                ScopeKind::Locked(_) => return Err("a lock".into()),
                ScopeKind::Async => self.task(|machine| machine.scope(body).map(drop))?,
                ScopeKind::Finish => {
                    self.finish(|machine| machine.scope(body))?;
                }
                ScopeKind::Isolated => {
                    let outside = std::mem::replace(&mut self.isolated, true);
                    let flow = self.block(body)?;
                    self.isolated = outside;
                    return Ok(flow);
                }
            },
            Statement::If {
                condition,
                then,
                otherwise,
            } => {
                return match (self.condition(condition)?, otherwise) {
                    (true, _) => self.block(then),
                    (false, Some(body)) => self.block(body),
                    (false, None) => Ok(Flow::Next),
                };
            }
            Statement::While { condition, body } => return self.while_loop(condition, body),
            Statement::For { parallel: true, .. } => {
                return self.finish(|machine| machine.for_loop(statement));
            }
            Statement::For { .. } => return self.for_loop(statement),
            Statement::Break => return Ok(Flow::Break),
            Statement::Continue => return Ok(Flow::Continue),
            Statement::Return(value) => {
                let value = match value {
                    Some(value) => Some(self.expression(value)?),
                    None => None,
                };
                return Ok(Flow::Return(value));
            }
            Statement::BeginFinish => self.finishes.push(Finish::default()),
            Statement::EndFinish => self.end_finish()?,
            Statement::Sync => {
                let finish = self.finishes.last().ok_or("no finish")?.clone();
                self.wait(finish)?;
            }
            Statement::Spawn {
                place: target,
                function: name,
                arguments,
            } => {
                let target = match target {
                    Some(target) => Some(self.target(target)?),
                    None => None,
                };
                let arguments = self.all(arguments)?;
                self.task(|machine| {
                    let result = machine.call(place(statement), *name, arguments)?;
                    match (target, result) {
                        (Some(Target::Shared(at, location)), Some(value)) => {
                            machine.store(at, location, value)
                        }
                        (None, _) => Ok(()),
                        (Some(Target::Outside), Some(_)) => Err(Halt::Stuck),
                        _ => Err("nothing to write".into()),
                    }
                })?;
            }
            Statement::Assert(condition, _) => {
                if !self.condition(condition)? {
                    return Err(Halt::Stuck);
                }
            }
            Statement::Print(_) => return Err("unexpected".into()),
        }
        Ok(Flow::Next)
    }

    fn while_loop(&mut self, condition: &'p Expression, body: &'p [Statement]) -> Outcome<Flow> {
        for iteration in 0.. {
            self.spend()?;
            let mut variables = Vec::new();
            condition.any(&mut |part| {
                if let Expression::Name(name) = part
                    && let Some((_, Value::Int(value))) =
                        self.locals.iter().rfind(|(it, _)| it == name)
                {
                    variables.push((name.to_string(), *value));
                }
                false
            });
            self.counters.push(Counter {
                number: iteration,
                variables,
            });
            let accesses = self.run.accesses.len();
            let flow = match self.condition(condition)? {
                // Nothing changes any more.
                true if body.is_empty() && self.run.accesses.len() == accesses => {
                    return Err(Halt::Stuck);
                }
                true => self.block(body)?,
                false => Flow::Break,
            };
            self.counters.pop();
            match flow {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
            }
        }
        Err("too many iterations".into())
    }

    fn for_loop(&mut self, statement: &'p Statement) -> Outcome<Flow> {
        let Statement::For {
            parallel,
            counter,
            range,
            body,
        } = statement
        else {
            return Err("no loop".into());
        };
        let mut value = self.int(&range.start)?;
        let end = self.int(&range.end)?;
        let step = match &range.step {
            Some(step) => self.int(step)?,
            None => 1,
        };
        if step == 0 {
            return Err(Halt::Stuck);
        }
        loop {
            self.spend()?;
            let goes_on = match (step > 0, range.inclusive) {
                (true, false) => value < end,
                (true, true) => value <= end,
                (false, false) => value > end,
                (false, true) => value >= end,
            };
            if !goes_on {
                return Ok(Flow::Next);
            }
            self.counters.push(Counter {
                number: value,
                variables: Vec::new(),
            });
            self.locals.push((*counter, Value::Int(value)));
            let flow = if *parallel {
                self.task(|machine| machine.scope(body).map(drop))?;
                Flow::Next
            } else {
                self.block(body)?
            };
            self.locals.pop();
            self.counters.pop();
            match flow {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
            }
            // A count that would overflow ends the loop.
            match value.checked_add(step) {
                Some(next) => value = next,
                None => return Ok(Flow::Next),
            }
        }
    }

    fn all(&mut self, expressions: &'p [Expression]) -> Outcome<Vec<Value>> {
        let values = expressions.iter().map(|it| self.expression(it));
        values.collect()
    }

    fn int(&mut self, expression: &'p Expression) -> Outcome<i64> {
        match self.expression(expression)? {
            Value::Int(value) => Ok(value),
            other => Err(format!("{other:?} is no integer").into()),
        }
    }

    fn condition(&mut self, expression: &'p Expression) -> Outcome<bool> {
        match self.expression(expression)? {
            Value::Bool(value) => Ok(value),
            other => Err(format!("{other:?} is no condition").into()),
        }
    }

    fn object(&mut self, expression: &'p Expression) -> Outcome<usize> {
        match self.expression(expression)? {
            Value::Reference(Some(object)) => Ok(object),
            Value::Reference(None) => Err(Halt::Stuck),
            other => Err(format!("{other:?} is no object").into()),
        }
    }

    /// Evaluates all of a place but the place itself.
    fn target(&mut self, expression: &'p Expression) -> Outcome<Target> {
        let at = place(expression);
        match expression {
            Expression::Name(name) => {
                if let Some(local) = self.locals.iter().rposition(|(it, _)| it == name) {
                    return Ok(Target::Local(local));
                }
                let mut globals = self.program.globals.iter();
                let global = globals.position(|global| global.name == *name);
                let global = global.ok_or_else(|| format!("no {name}"))?;
                Ok(Target::Shared(at, (0, global)))
            }
            Expression::Element(array, indices) => {
                let array = self.object(array)?;
                let mut offset = 0;
                let mut inside = self.objects[array].sizes.len() == indices.len();
                for (dimension, index) in indices.iter().enumerate() {
                    let index = self.int(index)?;
                    let size = self.objects[array].sizes.get(dimension).copied();
                    let size = size.ok_or("too many indices")?;
                    inside &= (0..size).contains(&index);
                    offset = offset * size + if inside { index } else { 0 };
                }
                Ok(match inside {
                    true => Target::Shared(at, (array, offset as usize)),
                    false => Target::Outside,
                })
            }
            Expression::Field(object, field) => {
                let object = self.object(object)?;
                let layout = self.objects[object].layout;
                let mut structs = self.program.structs.iter();
                let layout = structs.find(|it| Some(it.name) == layout);
                let mut fields = layout.ok_or("no struct")?.fields.iter();
                let field = fields.position(|(name, _)| name == field);
                Ok(Target::Shared(at, (object, field.ok_or("no field")?)))
            }
            _ => Err("no place".into()),
        }
    }

    fn assign(
        &mut self,
        target: &'p Expression,
        op: Option<BinaryOp>,
        value: &'p Expression,
    ) -> Outcome<()> {
        match self.target(target)? {
            Target::Local(local) => {
                let before = self.locals[local].1;
                let mut value = self.expression(value)?;
                if let Some(op) = op {
                    value = binary(op, before, value)?;
                }
                self.locals[local].1 = value;
                Ok(())
            }
            Target::Shared(at, location) => {
                let value = match op {
                    Some(op) => {
                        let before = self.load(at, location)?;
                        binary(op, before, self.expression(value)?)?
                    }
                    None => self.expression(value)?,
                };
                self.store(at, location, value)
            }
            Target::Outside => {
                // The element is read before the value is computed, or written after.
                if op.is_none() {
                    self.expression(value)?;
                }
                Err(Halt::Stuck)
            }
        }
    }

    fn allocate(&mut self, object: Object) -> Value {
        self.objects.push(object);
        Value::Reference(Some(self.objects.len() - 1))
    }

    fn expression(&mut self, expression: &'p Expression) -> Outcome<Value> {
        match expression {
            Expression::Literal(literal) => constant(*literal),
            Expression::Name(_) | Expression::Element(..) | Expression::Field(..) => {
                match self.target(expression)? {
                    Target::Local(local) => Ok(self.locals[local].1),
                    Target::Shared(at, location) => self.load(at, location),
                    Target::Outside => Err(Halt::Stuck),
                }
            }
            Expression::Unary(op, operand) => {
                let operand = self.expression(operand)?;
                match (op, operand) {
                    (UnaryOp::Negate, Value::Int(value)) => Ok(Value::Int(value.wrapping_neg())),
                    (UnaryOp::Not, Value::Bool(value)) => Ok(Value::Bool(!value)),
                    _ => Err("an operand of another type".into()),
                }
            }
            Expression::Binary(BinaryOp::AndAlso, both) => Ok(Value::Bool(
                self.condition(&both.0)? && self.condition(&both.1)?,
            )),
            Expression::Binary(BinaryOp::OrElse, both) => Ok(Value::Bool(
                self.condition(&both.0)? || self.condition(&both.1)?,
            )),
            Expression::Binary(op, both) => {
                let left = self.expression(&both.0)?;
                binary(*op, left, self.expression(&both.1)?)
            }
            Expression::Conditional(all) => match self.condition(&all.0)? {
                true => self.expression(&all.1),
                false => self.expression(&all.2),
            },
            Expression::NewLock => Err("a lock".into()),
            Expression::Builtin(name, operands) => {
                let values = self.all(operands)?;
                Ok(Value::Int(match (*name, values.as_slice()) {
                    ("abs", [Value::Int(value)]) => value.wrapping_abs(),
                    ("min", [Value::Int(one), Value::Int(other)]) => *one.min(other),
                    ("max", [Value::Int(one), Value::Int(other)]) => *one.max(other),
                    _ => return Err(name.to_string().into()),
                }))
            }
            Expression::Call(name, arguments) => {
                let arguments = self.all(arguments)?;
                let result = self.call(place(expression), *name, arguments)?;
                result.ok_or_else(|| "no result".into())
            }
            Expression::NewStruct(name) => {
                let mut structs = self.program.structs.iter();
                let layout = structs.find(|it| it.name == *name).ok_or("no struct")?;
                let values = layout.fields.iter().map(|(_, ty)| Value::of(ty)).collect();
                Ok(self.allocate(Object {
                    sizes: Vec::new(),
                    values,
                    layout: Some(*name),
                }))
            }
            Expression::NewArray(element, sizes) => {
                let sizes = sizes.iter().map(|size| self.int(size));
                let sizes = sizes.collect::<Outcome<Vec<_>>>()?;
                if sizes.iter().any(|size| !(0..1000).contains(size)) {
                    return Err("an array of a strange size".into());
                }
                let count = sizes.iter().product::<i64>() as usize;
                Ok(self.allocate(Object {
                    sizes,
                    values: vec![Value::of(element); count],
                    layout: None,
                }))
            }
            Expression::Convert(..)
            | Expression::NewPromise(_)
            | Expression::Future(_)
            | Expression::Method(..) => Err("unexpected".into()),
        }
    }
}

fn binary(op: BinaryOp, left: Value, right: Value) -> Outcome<Value> {
    use BinaryOp::*;
    if let (And, Value::Bool(left), Value::Bool(right)) = (op, left, right) {
        return Ok(Value::Bool(left & right));
    }
    let (left, right) = match (left, right) {
        (Value::Int(left), Value::Int(right)) => (left, right),
        (Value::Bool(left), Value::Bool(right)) => (i64::from(left), i64::from(right)),
        _ => return Err("operands of other types".into()),
    };
    let overflows = left == i64::MIN && right == -1;
    if matches!(op, Divide | Remainder) && (right == 0 || overflows) {
        return Err(Halt::Stuck);
    }
    Ok(match op {
        Add => Value::Int(left.wrapping_add(right)),
        Subtract => Value::Int(left.wrapping_sub(right)),
        Multiply => Value::Int(left.wrapping_mul(right)),
        Divide => Value::Int(left.wrapping_div(right)),
        Remainder => Value::Int(left.wrapping_rem(right)),
        And => Value::Int(left & right),
        ShiftLeft => Value::Int(left.wrapping_shl(right as u32)),
        ShiftRight => Value::Int(left.wrapping_shr(right as u32)),
        ShiftRightLogical => Value::Int((left as u64).wrapping_shr(right as u32) as i64),
        Equal => Value::Bool(left == right),
        NotEqual => Value::Bool(left != right),
        Less => Value::Bool(left < right),
        LessEqual => Value::Bool(left <= right),
        Greater => Value::Bool(left > right),
        GreaterEqual => Value::Bool(left >= right),
        other => return Err(format!("{other:?}").into()),
    })
}
