//! Positions of statements, and the names that are visible there.

use crate::rng::Rng;
use crate::shape::{
    BinaryOp, Expression, Function, Literal, Name, Program, ScopeKind, Statement, Type, UnaryOp,
};
use std::collections::BTreeSet;

/// The position of a statement.
#[derive(Clone, Debug)]
pub(super) struct StatementPath {
    pub(super) function: usize,
    /// The enclosing statements, outermost first: the index of each, and which of its bodies leads
    /// on.
    pub(super) around: Vec<(usize, usize)>,
    pub(super) index: usize,
}

impl StatementPath {
    /// The sequence that contains the statement.
    pub(super) fn body<'p>(&self, program: &'p Program) -> &'p Vec<Statement> {
        let mut body = &program.functions[self.function].body;
        for (index, inner) in &self.around {
            body = body[*index].bodies()[*inner];
        }
        body
    }

    pub(super) fn body_mut<'p>(&self, program: &'p mut Program) -> &'p mut Vec<Statement> {
        let mut body = &mut program.functions[self.function].body;
        for (index, inner) in &self.around {
            body = body[*index].bodies_mut().swap_remove(*inner);
        }
        body
    }

    pub(super) fn statement<'p>(&self, program: &'p Program) -> &'p Statement {
        &self.body(program)[self.index]
    }

    /// Replaces `count` statements, from this place on.
    pub(super) fn replace(&self, program: &mut Program, count: usize, by: Vec<Statement>) {
        let body = self.body_mut(program);
        body.splice(self.index..self.index + count, by);
    }

    /// The enclosing statements, outermost first.
    pub(super) fn surroundings<'p>(&self, program: &'p Program) -> Vec<&'p Statement> {
        let mut body = &program.functions[self.function].body;
        let mut all = Vec::new();
        for (index, inner) in &self.around {
            all.push(&body[*index]);
            body = body[*index].bodies()[*inner];
        }
        all
    }

    /// The number of enclosing statements up to and including the innermost `async`, `finish` or
    /// `forall`. 0 if only the function encloses the place.
    pub(super) fn task_scope(&self, program: &Program) -> usize {
        let is_scope = |statement: &&Statement| {
            matches!(
                statement,
                Statement::Scope {
                    kind: ScopeKind::Async | ScopeKind::Finish,
                    ..
                } | Statement::For { parallel: true, .. }
            )
        };
        let surroundings = self.surroundings(program);
        surroundings
            .iter()
            .rposition(is_scope)
            .map_or(0, |it| it + 1)
    }

    /// The visible locals, outer ones first. None if the type of one is unknown.
    pub(super) fn locals(&self, program: &Program) -> Option<Vec<Local>> {
        let function = &program.functions[self.function];
        let mut locals: Vec<Local> = (function.parameters.iter())
            .map(|(name, ty)| Local::new(*name, ty.clone(), false))
            .collect();
        let mut body = &function.body;
        for (index, inner) in &self.around {
            declared(program, &body[..*index], &mut locals)?;
            if let Statement::For { counter, .. } = &body[*index] {
                locals.push(Local::new(*counter, Type::Int, false));
            }
            body = body[*index].bodies()[*inner];
        }
        declared(program, &body[..self.index], &mut locals)?;
        Some(locals)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Local {
    pub(super) name: Name,
    pub(super) ty: Type,
    pub(super) is_variable: bool,
}

impl Local {
    fn new(name: Name, ty: Type, is_variable: bool) -> Local {
        Local {
            name,
            ty,
            is_variable,
        }
    }
}

/// The locals that these statements declare for those that follow.
fn declared(program: &Program, body: &[Statement], locals: &mut Vec<Local>) -> Option<()> {
    for statement in body {
        let (name, ty, value, is_variable) = match statement {
            Statement::Let { name, ty, value } => (name, ty, Some(value), false),
            Statement::Var { name, ty, value } => (name, ty, value.as_ref(), true),
            _ => continue,
        };
        let ty = match ty {
            Some(ty) => ty.clone(),
            None => type_of(program, locals, value?)?,
        };
        locals.push(Local::new(*name, ty, is_variable));
    }
    Some(())
}

/// The type of an expression. None for `null`, and if a name is unknown.
pub(super) fn type_of(program: &Program, locals: &[Local], value: &Expression) -> Option<Type> {
    let inner = |value| type_of(program, locals, value);
    match value {
        Expression::Literal(literal) => match literal {
            Literal::Int(_) => Some(Type::Int),
            Literal::Float(_) => Some(Type::Float),
            Literal::Bool(_) => Some(Type::Bool),
            Literal::Byte(_) => Some(Type::Byte),
            Literal::Null => None,
        },
        Expression::Name(name) => {
            if let Some(local) = locals.iter().rfind(|local| local.name == *name) {
                return Some(local.ty.clone());
            }
            let global = program.globals.iter().find(|it| it.name == *name)?;
            match (&global.ty, global.initial) {
                (Some(ty), _) => Some(ty.clone()),
                (None, Some(literal)) => inner(&Expression::Literal(literal)),
                (None, None) => None,
            }
        }
        Expression::Unary(UnaryOp::Not, _) => Some(Type::Bool),
        Expression::Unary(_, operand) => inner(operand),
        Expression::Binary(op, both) => match op {
            BinaryOp::OrElse
            | BinaryOp::AndAlso
            | BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual => Some(Type::Bool),
            _ => inner(&both.0),
        },
        Expression::Conditional(all) => inner(&all.1).or_else(|| inner(&all.2)),
        Expression::Convert(ty, _) => Some(ty.clone()),
        Expression::Builtin("len", _) => Some(Type::Int),
        Expression::Builtin("abs" | "min" | "max", operands) => inner(operands.first()?),
        Expression::Builtin(..) => Some(Type::Float),
        Expression::Call(name, _) => find(program, *name)?.result.clone(),
        Expression::Element(array, _) => match inner(array)? {
            Type::Array(element, _) => Some(*element),
            _ => None,
        },
        Expression::Field(object, field) => {
            let Type::Struct(name) = inner(object)? else {
                return None;
            };
            let layout = program.structs.iter().find(|it| it.name == name)?;
            let (_, ty) = layout.fields.iter().find(|(it, _)| it == field)?;
            Some(ty.clone())
        }
        Expression::NewStruct(name) => Some(Type::Struct(*name)),
        Expression::NewArray(element, sizes) => {
            Some(Type::array(element.clone(), sizes.len() as u8))
        }
        Expression::NewLock => Some(Type::Lock),
        Expression::NewPromise(carried) => Some(Type::promise(carried.clone())),
        Expression::Future(_) | Expression::Method(..) => None,
    }
}

pub(super) fn find(program: &Program, name: Name) -> Option<&Function> {
    program.functions.iter().find(|it| it.name == name)
}

/// Every place of a program.
fn places(program: &Program) -> Vec<StatementPath> {
    fn walk(
        body: &[Statement],
        function: usize,
        around: &mut Vec<(usize, usize)>,
        out: &mut Vec<StatementPath>,
    ) {
        for (index, statement) in body.iter().enumerate() {
            out.push(StatementPath {
                function,
                around: around.clone(),
                index,
            });
            for (inner, body) in statement.bodies().into_iter().enumerate() {
                around.push((index, inner));
                walk(body, function, around, out);
                around.pop();
            }
        }
    }
    let mut out = Vec::new();
    for (index, function) in program.functions.iter().enumerate() {
        walk(&function.body, index, &mut Vec::new(), &mut out);
    }
    out
}

/// One of the places at which a change is possible.
pub(super) fn choose(
    program: &Program,
    rng: &mut Rng,
    is_possible: impl Fn(&StatementPath) -> bool,
) -> Option<StatementPath> {
    let mut possible: Vec<StatementPath> =
        places(program).into_iter().filter(is_possible).collect();
    match possible.len() {
        0 => None,
        count => Some(possible.swap_remove(rng.index(count))),
    }
}

/// Whether one of the statements, or one inside them, has the property.
pub(super) fn any(body: &[Statement], property: &dyn Fn(&Statement) -> bool) -> bool {
    body.iter().any(|statement| {
        let mut inside = statement.bodies().into_iter();
        property(statement) || inside.any(|body| any(body, property))
    })
}

/// Whether control may leave the statements before their end.
pub(super) fn leaves(body: &[Statement]) -> bool {
    any(body, &|it| {
        matches!(
            it,
            Statement::Break | Statement::Continue | Statement::Return(_)
        )
    })
}

/// Whether one of the statements joins tasks, or creates a task that is joined, by the scope around
/// it.
pub(super) fn has_own_joins(body: &[Statement]) -> bool {
    any(body, &|it| {
        matches!(
            it,
            Statement::Spawn { .. }
                | Statement::Sync
                | Statement::BeginFinish
                | Statement::EndFinish
        )
    })
}

/// The names that the expressions of statements mention.
pub(super) fn mentioned(body: &[Statement]) -> BTreeSet<Name> {
    let mut names = BTreeSet::new();
    fn walk(body: &[Statement], names: &mut BTreeSet<Name>) {
        for statement in body {
            for expression in statement.expressions() {
                expression.any(&mut |part| {
                    if let Expression::Name(name) = part {
                        names.insert(*name);
                    }
                    false
                });
            }
            for inner in statement.bodies() {
                walk(inner, names);
            }
        }
    }
    walk(body, &mut names);
    names
}

/// The names that statements declare, at any depth.
pub(super) fn declares(body: &[Statement]) -> BTreeSet<Name> {
    let mut names = BTreeSet::new();
    fn walk(body: &[Statement], names: &mut BTreeSet<Name>) {
        for statement in body {
            match statement {
                Statement::Let { name, .. } | Statement::Var { name, .. } => {
                    names.insert(*name);
                }
                Statement::For { counter, .. } => {
                    names.insert(*counter);
                }
                _ => {}
            }
            for inner in statement.bodies() {
                walk(inner, names);
            }
        }
    }
    walk(body, &mut names);
    names
}

/// The locals that statements use, once each. None if they change one of these variables or declare
/// a name that is visible there already.
pub(super) fn captures(locals: &[Local], body: &[Statement]) -> Option<Vec<Local>> {
    let (used, own) = (mentioned(body), declares(body));
    if locals.iter().any(|local| own.contains(&local.name)) {
        return None;
    }
    let mut captured: Vec<Local> = Vec::new();
    for local in locals.iter().rev() {
        let is_known = captured.iter().any(|it| it.name == local.name);
        if used.contains(&local.name) && !is_known {
            captured.push(local.clone());
        }
    }
    let changes = |statement: &Statement| {
        matches!(statement, Statement::Assign { place: Expression::Name(name), .. }
            if captured.iter().any(|it| it.name == *name && it.is_variable))
    };
    (!any(body, &changes)).then_some(captured)
}

/// A number that no name of the program uses.
pub(super) fn fresh(program: &Program) -> u32 {
    let mut greatest = 0;
    let mut note = |name: &Name| greatest = greatest.max(name.number);
    for function in &program.functions {
        note(&function.name);
        function.parameters.iter().for_each(|(name, _)| note(name));
        declares(&function.body).iter().for_each(&mut note);
    }
    program.globals.iter().for_each(|it| note(&it.name));
    greatest + 1
}
