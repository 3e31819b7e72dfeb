//! Changes the creation and the joins of tasks.

use super::place::{StatementPath, any, captures, choose, fresh, has_own_joins, leaves};
use crate::rng::Rng;
use crate::shape::{Expression, Function, Name, Program, ScopeKind, Statement};

/// The first place of the sync scope around a place.
fn start_of_scope(program: &Program, place: &StatementPath) -> StatementPath {
    let depth = place.task_scope(program);
    StatementPath {
        function: place.function,
        around: place.around[..depth].to_vec(),
        index: 0,
    }
}

/// Whether a body has a `spawn` or `sync` that belongs to it.
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

/// `spawn f(e);` becomes `let t = e; async f(t);`, and its sync scope begins with `sync;`.
///
/// The creator evaluates the arguments as before. No task was created in the scope yet, so the
/// `sync` waits for nothing. But it keeps the scope a sync scope. So the same joins wait for the
/// task: each `sync`, and the end of the scope.
pub(super) fn spawn_becomes_async(program: &Program, rng: &mut Rng) -> Option<Program> {
    let place = choose(program, rng, |place| {
        matches!(
            place.statement(program),
            Statement::Spawn { place: None, .. }
        )
    })?;
    let Statement::Spawn {
        function,
        arguments,
        ..
    } = place.statement(program).clone()
    else {
        return None;
    };
    let number = fresh(program);
    let mut block = Vec::new();
    let mut names = Vec::new();
    for (index, value) in arguments.into_iter().enumerate() {
        let name = Name::numbered("given", number + index as u32);
        names.push(Expression::Name(name));
        block.push(Statement::Let {
            name,
            ty: None,
            value,
        });
    }
    let call = Statement::Call(Expression::Call(function, names));
    block.push(Statement::scope(ScopeKind::Async, vec![call]));
    let mut changed = program.clone();
    place.replace(
        &mut changed,
        1,
        vec![Statement::scope(ScopeKind::Block, block)],
    );
    let start = start_of_scope(&changed, &place);
    start.replace(&mut changed, 0, vec![Statement::Sync]);
    Some(changed)
}

/// `async { s }` becomes `spawn g(…);`, where the function `g` has the body `s`.
///
/// The locals that `s` uses become arguments. None is a variable. Now the sync scope joins the
/// task. The join stays the same, because only these scopes are taken: sync scopes, and bodies of a
/// `finish` or of `main` without `begin_finish`. In the latter the end of the scope is the end of
/// the finish.
pub(super) fn async_becomes_spawn(program: &Program, rng: &mut Rng) -> Option<Program> {
    let is_dynamic = |body: &[Statement]| {
        any(body, &|it| {
            matches!(it, Statement::BeginFinish | Statement::EndFinish)
        })
    };
    let is_anywhere_dynamic = program.functions.iter().any(|it| is_dynamic(&it.body));
    let place = choose(program, rng, |place| {
        let is_async = matches!(
            place.statement(program),
            Statement::Scope {
                kind: ScopeKind::Async,
                ..
            }
        );
        let scope = start_of_scope(program, place);
        let ends_a_finish = match scope.around.len().checked_sub(1) {
            None => program.functions[place.function].name == Name::MAIN,
            Some(last) => matches!(
                place.surroundings(program)[last],
                Statement::Scope {
                    kind: ScopeKind::Finish,
                    ..
                }
            ),
        };
        is_async && (is_sync_scope(scope.body(program)) || ends_a_finish) && !is_anywhere_dynamic
    })?;
    let Statement::Scope { body, .. } = place.statement(program).clone() else {
        return None;
    };
    let captured = captures(&place.locals(program)?, &body)?;
    let name = Name::numbered("task", fresh(program));
    let spawn = Statement::Spawn {
        place: None,
        function: name,
        arguments: captured
            .iter()
            .map(|it| Expression::Name(it.name))
            .collect(),
    };
    let mut changed = program.clone();
    place.replace(&mut changed, 1, vec![spawn]);
    let parameters = captured.into_iter().map(|it| (it.name, it.ty)).collect();
    changed.functions.push(Function {
        name,
        parameters,
        result: None,
        body,
    });
    Some(changed)
}

/// Two consecutive asyncs change places.
///
/// Nothing orders them, before and after. The answer stays the same if the same accesses are made.
/// So no race may decide a branch or an index, no isolated block may pass on a value, and neither
/// async may fail. Neither allocates or calls anything, so objects are allocated in the same order.
pub(super) fn exchange(program: &Program, rng: &mut Rng) -> Option<Program> {
    let is_async = |statement: &Statement| {
        matches!(
            statement,
            Statement::Scope {
                kind: ScopeKind::Async,
                ..
            }
        )
    };
    let is_isolated = |statement: &Statement| {
        matches!(
            statement,
            Statement::Scope {
                kind: ScopeKind::Isolated,
                ..
            }
        )
    };
    if (program.functions.iter()).any(|it| any(&it.body, &is_isolated)) {
        return None;
    }
    let may_allocate = |statement: &Statement| {
        let mut values = statement.expressions().into_iter();
        let allocates = |part: &Expression| {
            matches!(
                part,
                Expression::NewArray(..)
                    | Expression::NewStruct(_)
                    | Expression::NewLock
                    | Expression::NewPromise(_)
                    | Expression::Future(_)
                    | Expression::Call(..)
            )
        };
        matches!(statement, Statement::Spawn { .. })
            || values.any(|value| value.any(&mut |part| allocates(part)))
    };
    let place = choose(program, rng, |place| {
        let both = place.body(program)[place.index..].iter().take(2);
        let both: Vec<Statement> = both.cloned().collect();
        both.len() == 2 && both.iter().all(is_async) && !any(&both, &may_allocate)
    })?;
    let mut changed = program.clone();
    place
        .body_mut(&mut changed)
        .swap(place.index, place.index + 1);
    Some(changed)
}

/// The last statements of `main`, or of a `finish`, become the body of a `finish`.
///
/// Only the end of the outer finish comes after the new one, and it waits for the same tasks. The
/// statements have no `spawn` or `sync`, because their scope would change. Control does not leave
/// them.
pub(super) fn wrap(program: &Program, rng: &mut Rng) -> Option<Program> {
    let place = choose(program, rng, |place| {
        let ends_a_finish = match place.surroundings(program).last() {
            None => program.functions[place.function].name == Name::MAIN,
            Some(statement) => matches!(
                statement,
                Statement::Scope {
                    kind: ScopeKind::Finish,
                    ..
                }
            ),
        };
        let rest = &place.body(program)[place.index..];
        ends_a_finish && !leaves_the(rest) && !has_own_joins(rest)
    })?;
    let mut changed = program.clone();
    let rest = place.body_mut(&mut changed).split_off(place.index);
    let finish = Statement::scope(ScopeKind::Finish, rest);
    place.body_mut(&mut changed).push(finish);
    Some(changed)
}

/// Whether a `return` leaves the statements, or a `break` or `continue` of an enclosing loop.
fn leaves_the(body: &[Statement]) -> bool {
    body.iter().any(|statement| match statement {
        Statement::Return(_) | Statement::Break | Statement::Continue => true,
        Statement::For { body, .. } | Statement::While { body, .. } => {
            any(body, &|it| matches!(it, Statement::Return(_)))
        }
        other => other.bodies().into_iter().any(|body| leaves(body)),
    })
}
