//! A run of a program's tree, by the definition of the language alone: every access with where it
//! stands, which instance it is, what it touches, and in which step.
//!
//! Tasks run where they are created. The computation graph is written down as it unfolds: a step
//! begins where a task begins, goes on after a creation, or waits at the end of a finish or at a
//! `sync`, with an edge from each step that comes before it.

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
    /// Of all calls of its function, unfolded, the how-manieth.
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
}

/// More than this is not executed.
const MOST_ACCESSES: usize = 4000;
const MOST_STEPS: usize = 4000;
const LONGEST_LOOP: i64 = 2000;

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
            Type::Struct(_) | Type::Array(..) => Value::Reference(None),
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
    /// The how-manieth of its function.
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

type Outcome<T> = Result<T, String>;

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
    /// Of each open finish the last steps of its tasks.
    finishes: Vec<Vec<usize>>,
}

/// Where an assignment goes.
enum Target {
    Local(usize),
    Shared(Place, (usize, usize)),
}

/// Runs a program; says why not if it fails, or if it is too large.
pub(crate) fn run(program: &Program, arguments: &[i64]) -> Outcome<Run> {
    let main = function(program, Name::MAIN)?;
    let globals = program.globals.iter();
    let initial = |global: &finishline_generate::shape::Global| match (global.initial, &global.ty) {
        (Some(literal), _) => constant(literal),
        (None, Some(ty)) => Ok(Value::of(ty)),
        (None, None) => Err("a global without a type".to_string()),
    };
    let values = globals.map(initial).collect::<Outcome<_>>()?;
    let mut machine = Machine {
        program,
        unfoldings: Vec::new(),
        run: Run {
            accesses: Vec::new(),
            before: vec![Vec::new()],
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
        finishes: vec![Vec::new()],
    };
    machine.unfold(main, &mut HashMap::new(), 0)?;
    if main.parameters.len() != arguments.len() {
        return Err("wrong number of arguments".to_string());
    }
    let arguments = arguments.iter().map(|value| Value::Int(*value)).collect();
    machine.invoke(main, arguments)?;
    Ok(machine.run)
}

fn function(program: &Program, name: Name) -> Outcome<&Function> {
    let mut functions = program.functions.iter();
    let found = functions.find(|function| function.name == name);
    found.ok_or_else(|| format!("no function {name}"))
}

fn constant(literal: Literal) -> Outcome<Value> {
    Ok(match literal {
        Literal::Int(value) => Value::Int(value),
        Literal::Bool(value) => Value::Bool(value),
        Literal::Null => Value::Reference(None),
        other => return Err(format!("{other:?}")),
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
            return Err("it is recursive".to_string());
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
            return Err("too many steps".to_string());
        }
        self.step = self.run.before.len();
        self.run.before.push(before);
        Ok(())
    }

    /// A new task; the creator goes on after it.
    fn task(&mut self, run: impl FnOnce(&mut Self) -> Outcome<()>) -> Outcome<()> {
        let creator = self.step;
        let locals = self.locals.clone();
        self.new_step(vec![creator])?;
        run(self)?;
        let last = self.step;
        self.finishes.last_mut().ok_or("no finish")?.push(last);
        self.locals = locals;
        self.new_step(vec![creator])
    }

    fn finish<T>(&mut self, run: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        self.finishes.push(Vec::new());
        let open = self.finishes.len();
        let result = run(self)?;
        if self.finishes.len() != open {
            return Err("finishes don't nest".to_string());
        }
        self.end_finish()?;
        Ok(result)
    }

    fn end_finish(&mut self) -> Outcome<()> {
        let mut before = self.finishes.pop().ok_or("no finish")?;
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
            _ => Err("no result".to_string()),
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
            return Err("too many accesses".to_string());
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
        match statement {
            Statement::Let { name, value, .. } => {
                let value = self.expression(value)?;
                self.locals.push((*name, value));
            }
            Statement::Var { name, ty, value } => {
                let value = match (value, ty) {
                    (Some(value), _) => self.expression(value)?,
                    (None, Some(ty)) => Value::of(ty),
                    (None, None) => return Err("a variable without a type".to_string()),
                };
                self.locals.push((*name, value));
            }
            Statement::Assign { place, op, value } => self.assign(place, *op, value)?,
            Statement::Call(call) => {
                let Expression::Call(name, arguments) = call else {
                    return Err("no call".to_string());
                };
                let arguments = self.all(arguments)?;
                self.call(place(call), *name, arguments)?;
            }
            Statement::Scope { kind, body, .. } => match kind {
                ScopeKind::Block => return self.block(body),
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
            Statement::BeginFinish => self.finishes.push(Vec::new()),
            Statement::EndFinish => self.end_finish()?,
            Statement::Sync => {
                let mut before = self.finishes.last().ok_or("no finish")?.clone();
                before.push(self.step);
                self.new_step(before)?;
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
                        _ => Err("nothing to write".to_string()),
                    }
                })?;
            }
            Statement::Print(_) | Statement::Assert(..) => return Err("unexpected".to_string()),
        }
        Ok(Flow::Next)
    }

    fn while_loop(&mut self, condition: &'p Expression, body: &'p [Statement]) -> Outcome<Flow> {
        for iteration in 0..LONGEST_LOOP {
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
            let flow = match self.condition(condition)? {
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
        Err("an endless loop".to_string())
    }

    fn for_loop(&mut self, statement: &'p Statement) -> Outcome<Flow> {
        let Statement::For {
            parallel,
            counter,
            range,
            body,
        } = statement
        else {
            return Err("no loop".to_string());
        };
        let mut value = self.int(&range.start)?;
        let end = self.int(&range.end)?;
        let step = match &range.step {
            Some(step) => self.int(step)?,
            None => 1,
        };
        if step == 0 {
            return Err("a range with step 0".to_string());
        }
        loop {
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
            value += step;
        }
    }

    fn all(&mut self, expressions: &'p [Expression]) -> Outcome<Vec<Value>> {
        let values = expressions.iter().map(|it| self.expression(it));
        values.collect()
    }

    fn int(&mut self, expression: &'p Expression) -> Outcome<i64> {
        match self.expression(expression)? {
            Value::Int(value) => Ok(value),
            other => Err(format!("{other:?} is no integer")),
        }
    }

    fn condition(&mut self, expression: &'p Expression) -> Outcome<bool> {
        match self.expression(expression)? {
            Value::Bool(value) => Ok(value),
            other => Err(format!("{other:?} is no condition")),
        }
    }

    fn object(&mut self, expression: &'p Expression) -> Outcome<usize> {
        match self.expression(expression)? {
            Value::Reference(Some(object)) => Ok(object),
            other => Err(format!("{other:?} is no object")),
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
                    offset = offset * size + index;
                }
                if !inside {
                    return Err("an index out of bounds".to_string());
                }
                Ok(Target::Shared(at, (array, offset as usize)))
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
            _ => Err("no place".to_string()),
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
                }
            }
            Expression::Unary(op, operand) => {
                let operand = self.expression(operand)?;
                match (op, operand) {
                    (UnaryOp::Negate, Value::Int(value)) => Ok(Value::Int(value.wrapping_neg())),
                    (UnaryOp::Not, Value::Bool(value)) => Ok(Value::Bool(!value)),
                    _ => Err("an operand of another type".to_string()),
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
            Expression::Builtin(name, operands) => {
                let values = self.all(operands)?;
                Ok(Value::Int(match (*name, values.as_slice()) {
                    ("abs", [Value::Int(value)]) => value.wrapping_abs(),
                    ("min", [Value::Int(one), Value::Int(other)]) => *one.min(other),
                    ("max", [Value::Int(one), Value::Int(other)]) => *one.max(other),
                    _ => return Err(name.to_string()),
                }))
            }
            Expression::Call(name, arguments) => {
                let arguments = self.all(arguments)?;
                let result = self.call(place(expression), *name, arguments)?;
                result.ok_or_else(|| "no result".to_string())
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
                    return Err("an array of a strange size".to_string());
                }
                let count = sizes.iter().product::<i64>() as usize;
                Ok(self.allocate(Object {
                    sizes,
                    values: vec![Value::of(element); count],
                    layout: None,
                }))
            }
            Expression::Convert(..) => Err("unexpected".to_string()),
        }
    }
}

fn binary(op: BinaryOp, left: Value, right: Value) -> Outcome<Value> {
    use BinaryOp::*;
    let (left, right) = match (left, right) {
        (Value::Int(left), Value::Int(right)) => (left, right),
        (Value::Bool(left), Value::Bool(right)) => (i64::from(left), i64::from(right)),
        _ => return Err("operands of other types".to_string()),
    };
    if matches!(op, Divide | Remainder) && right == 0 {
        return Err("division by zero".to_string());
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
        Equal => Value::Bool(left == right),
        NotEqual => Value::Bool(left != right),
        Less => Value::Bool(left < right),
        LessEqual => Value::Bool(left <= right),
        Greater => Value::Bool(left > right),
        GreaterEqual => Value::Bool(left >= right),
        other => return Err(format!("{other:?}")),
    })
}
