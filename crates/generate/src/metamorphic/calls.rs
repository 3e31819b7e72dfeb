//! Turns a block into a function, and a function into a block.

use super::place::{
    any, captures, choose, declares, find, fresh, has_own_joins, leaves, mentioned,
};
use crate::rng::Rng;
use crate::shape::{Expression, Function, Literal, Name, Program, ScopeKind, Statement};
use std::collections::BTreeSet;

/// The most statements that become a function.
const MOST_OUTLINED: u32 = 3;

/// Some statements become the body of a function, and a call replaces them.
///
/// A call orders nothing and creates no task. The locals that the statements use become arguments.
/// The statements change no locals, and declare none that is used after them. They have no joins of
/// their own, because their scope would become the new function. Control does not leave them.
pub(super) fn outline(program: &Program, rng: &mut Rng) -> Option<Program> {
    let count = 1 + rng.below(MOST_OUTLINED) as usize;
    let place = choose(program, rng, |place| {
        let rest = &place.body(program)[place.index..];
        if rest.len() < count {
            return false;
        }
        let (body, after) = rest.split_at(count);
        let used_after = mentioned(after);
        let is_used = |name: &Name| used_after.contains(name);
        !leaves(body)
            && !has_own_joins(body)
            && !declares(body).iter().any(is_used)
            && place
                .locals(program)
                .is_some_and(|locals| captures(&locals, body).is_some())
    })?;
    let body = place.body(program)[place.index..place.index + count].to_vec();
    let captured = captures(&place.locals(program)?, &body)?;
    let name = Name::numbered("part", fresh(program));
    let arguments = captured
        .iter()
        .map(|it| Expression::Name(it.name))
        .collect();
    let mut changed = program.clone();
    let call = Statement::Call(Expression::Call(name, arguments));
    place.replace(&mut changed, count, vec![call]);
    changed.functions.push(Function {
        name,
        parameters: captured.into_iter().map(|it| (it.name, it.ty)).collect(),
        result: None,
        body,
    });
    Some(changed)
}

/// A call becomes the body of the function, in a block that binds the parameters to the arguments.
///
/// The function has no joins of its own and no `return`. It does not call itself, and shares no
/// local name with the caller.
pub(super) fn inline(program: &Program, rng: &mut Rng) -> Option<Program> {
    let place = choose(program, rng, |place| {
        let Statement::Call(Expression::Call(name, arguments)) = place.statement(program) else {
            return false;
        };
        let Some(callee) = find(program, *name) else {
            return false;
        };
        let caller = &program.functions[place.function];
        let parameters = |function: &Function| -> BTreeSet<Name> {
            function.parameters.iter().map(|(name, _)| *name).collect()
        };
        let theirs = &(&declares(&callee.body) | &mentioned(&callee.body)) | &parameters(callee);
        let ours = &declares(&caller.body) | &parameters(caller);
        let is_null = |it: &Expression| matches!(it, Expression::Literal(Literal::Null));
        !has_own_joins(&callee.body)
            && !any(&callee.body, &|it| matches!(it, Statement::Return(_)))
            && !any(&callee.body, &|it| it.mentions(*name))
            && theirs.is_disjoint(&ours)
            && !arguments.iter().any(is_null)
    })?;
    let Statement::Call(Expression::Call(name, arguments)) = place.statement(program) else {
        return None;
    };
    let callee = find(program, *name)?;
    let names = callee.parameters.iter().zip(arguments);
    let mut block: Vec<Statement> = names
        .map(|((name, _), value)| Statement::Let {
            name: *name,
            ty: None,
            value: value.clone(),
        })
        .collect();
    block.push(Statement::scope(ScopeKind::Block, callee.body.clone()));
    let mut changed = program.clone();
    place.replace(
        &mut changed,
        1,
        vec![Statement::scope(ScopeKind::Block, block)],
    );
    Some(changed)
}
