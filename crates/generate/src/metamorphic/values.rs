//! Computes or names the same values in another way.

use super::Changed;
use super::place::{Local, choose, fresh, type_of};
use crate::rng::Rng;
use crate::shape::{BinaryOp, Expression, Literal, Name, Program, ScopeKind, Statement, Type};
use std::collections::BTreeMap;

/// The operand, if an expression doubles an integer: `x * 2`, `2 * x`, `x << 1`, `x + x`.
fn doubled(program: &Program, locals: &[Local], value: &Expression) -> Option<Expression> {
    let Expression::Binary(op, both) = value else {
        return None;
    };
    let (left, right) = &**both;
    let is = |value: &Expression, number| *value == Expression::int(number);
    let operand = match op {
        BinaryOp::Multiply if is(right, 2) => left,
        BinaryOp::Multiply if is(left, 2) => right,
        BinaryOp::ShiftLeft if is(right, 1) => left,
        BinaryOp::Add if left == right => left,
        _ => return None,
    };
    // An operand that is computed twice must be an integer and make no access.
    let is_shared = |name: &Name| !locals.iter().any(|local| local.name == *name);
    let accesses = operand.any(&mut |part| match part {
        Expression::Element(..)
        | Expression::Field(..)
        | Expression::Call(..)
        | Expression::NewArray(..)
        | Expression::NewStruct(_)
        | Expression::NewLock
        | Expression::NewPromise(_)
        | Expression::Future(_)
        | Expression::Method(..) => true,
        Expression::Name(name) => is_shared(name),
        _ => false,
    });
    let is_int = type_of(program, locals, operand) == Some(Type::Int);
    (is_int && !accesses).then(|| operand.clone())
}

/// Calls `edit` for the expressions of a statement, each before its operands, until `edit` returns
/// true.
fn each(statement: &mut Statement, edit: &mut dyn FnMut(&mut Expression) -> bool) -> bool {
    fn walk(value: &mut Expression, edit: &mut dyn FnMut(&mut Expression) -> bool) -> bool {
        edit(value) || (value.operands_mut().into_iter()).any(|it| walk(it, edit))
    }
    let mut expressions = statement.expressions_mut().into_iter();
    expressions.any(|value| walk(value, edit))
}

/// `x * 2`, `x + x` and `x << 1` become each other.
///
/// In 64 bits all three are equal for every x. The operand makes no access, so it may be computed
/// twice.
pub(super) fn double(program: &Program, rng: &mut Rng) -> Option<Program> {
    let place = choose(program, rng, |place| {
        let Some(locals) = place.locals(program) else {
            return false;
        };
        let mut values = place.statement(program).expressions().into_iter();
        values.any(|it| it.any(&mut |part| doubled(program, &locals, part).is_some()))
    })?;
    let locals = place.locals(program)?;
    let form = rng.below(3);
    let mut changed = program.clone();
    let statement = &mut place.body_mut(&mut changed)[place.index];
    let different = |value: &Expression, operand: Expression| {
        let forms = [
            Expression::binary(BinaryOp::Multiply, operand.clone(), Expression::int(2)),
            Expression::binary(BinaryOp::Add, operand.clone(), operand.clone()),
            Expression::binary(BinaryOp::ShiftLeft, operand, Expression::int(1)),
        ];
        let mut others = forms.into_iter().filter(|form| form != value).cycle();
        others.nth(form as usize).expect("a cycle has no end")
    };
    let edited = each(
        statement,
        &mut |value| match doubled(program, &locals, value) {
            Some(operand) => {
                *value = different(value, operand);
                true
            }
            None => false,
        },
    );
    edited.then_some(changed)
}

/// All names except `main` become new names, one for each.
///
/// A name still hides the same names.
pub(super) fn rename(program: &Program) -> Program {
    let mut names = Renaming::default();
    let mut changed = program.clone();
    for layout in &mut changed.structs {
        names.replace(&mut layout.name);
        for (field, ty) in &mut layout.fields {
            names.replace(field);
            names.replace_type(ty);
        }
    }
    for global in &mut changed.globals {
        names.replace(&mut global.name);
        global.ty.iter_mut().for_each(|ty| names.replace_type(ty));
    }
    for function in &mut changed.functions {
        names.replace(&mut function.name);
        for (parameter, ty) in &mut function.parameters {
            names.replace(parameter);
            names.replace_type(ty);
        }
        function
            .result
            .iter_mut()
            .for_each(|ty| names.replace_type(ty));
        names.replace_in(&mut function.body);
    }
    changed
}

/// New names by the old ones.
#[derive(Default)]
struct Renaming {
    known: BTreeMap<Name, Name>,
}

impl Renaming {
    fn replace(&mut self, name: &mut Name) {
        if *name == Name::MAIN {
            return;
        }
        let next = Name::numbered("q", self.known.len() as u32 + 1);
        *name = *self.known.entry(*name).or_insert(next);
    }

    fn replace_type(&mut self, ty: &mut Type) {
        match ty {
            Type::Struct(name) => self.replace(name),
            Type::Array(inner, _) | Type::Promise(inner) => self.replace_type(inner),
            Type::Int | Type::Float | Type::Bool | Type::Byte | Type::Lock => {}
        }
    }

    fn replace_in(&mut self, body: &mut [Statement]) {
        for statement in body {
            match statement {
                Statement::Let { name, ty, .. } | Statement::Var { name, ty, .. } => {
                    self.replace(name);
                    ty.iter_mut().for_each(|ty| self.replace_type(ty));
                }
                Statement::For { counter, .. } => self.replace(counter),
                Statement::Spawn { function, .. } => self.replace(function),
                _ => {}
            }
            each(statement, &mut |value| {
                match value {
                    Expression::Name(name)
                    | Expression::Call(name, _)
                    | Expression::Field(_, name)
                    | Expression::NewStruct(name) => self.replace(name),
                    Expression::NewArray(ty, _)
                    | Expression::NewPromise(ty)
                    | Expression::Convert(ty, _) => {
                        self.replace_type(ty);
                    }
                    _ => {}
                }
                false
            });
            if let Statement::Scope {
                kind: ScopeKind::Locked(lock),
                ..
            } = statement
            {
                self.replace(lock);
            }
            for inner in statement.bodies_mut() {
                self.replace_in(inner);
            }
        }
    }
}

/// The number of integer literals in a statement. 0 if one is the dimension of `len`, which can't
/// be a name.
fn constants(statement: &Statement) -> usize {
    let mut count = 0;
    for value in statement.expressions() {
        value.any(&mut |part| {
            count += usize::from(matches!(part, Expression::Literal(Literal::Int(_))));
            false
        });
    }
    let is_length = |part: &Expression| matches!(part, Expression::Builtin("len", _));
    let mut values = statement.expressions().into_iter();
    match values.any(|value| value.any(&mut |part| is_length(part))) {
        true => 0,
        false => count,
    }
}

/// A constant of `main` becomes a parameter, and the constant becomes its argument.
///
/// For other arguments the program may have other races, so an answer for all arguments covers
/// more.
pub(super) fn parameter(program: &Program, rng: &mut Rng) -> Option<Changed> {
    let place = choose(program, rng, |place| {
        let is_main = program.functions[place.function].name == Name::MAIN;
        is_main && constants(place.statement(program)) > 0
    })?;
    let name = Name::numbered("given", fresh(program));
    let mut changed = program.clone();
    let statement = &mut place.body_mut(&mut changed)[place.index];
    let mut left = rng.index(constants(statement)) + 1;
    let mut argument = None;
    each(statement, &mut |value| {
        if let Expression::Literal(Literal::Int(number)) = value {
            left -= 1;
            if left == 0 {
                argument = Some(*number);
                *value = Expression::Name(name);
            }
        }
        argument.is_some()
    });
    let main = &mut changed.functions[place.function];
    main.parameters.push((name, Type::Int));
    Some(Changed {
        program: changed,
        argument: Some(argument?),
    })
}
