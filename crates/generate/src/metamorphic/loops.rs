//! Divides a loop. The iterations and their order stay the same.

use super::place::{StatementPath, any, choose, fresh};
use crate::rng::Rng;
use crate::shape::{BinaryOp, Expression, Name, Program, Range, ScopeKind, Statement};

/// A `for` that counts up by 1 and has no `break` or `continue`.
struct Loop<'p> {
    counter: Name,
    range: &'p Range,
    body: &'p Vec<Statement>,
}

fn counted(statement: &Statement) -> Option<Loop<'_>> {
    let Statement::For {
        parallel: false,
        counter,
        range,
        body,
    } = statement
    else {
        return None;
    };
    let is_exit = |it: &Statement| matches!(it, Statement::Break | Statement::Continue);
    (range.step.is_none() && !any(body, &is_exit)).then_some(Loop {
        counter: *counter,
        range,
        body,
    })
}

fn choose_loop(program: &Program, rng: &mut Rng) -> Option<StatementPath> {
    choose(program, rng, |place| {
        counted(place.statement(program)).is_some()
    })
}

fn bind(name: Name, value: Expression) -> Statement {
    Statement::Let {
        name,
        ty: None,
        value,
    }
}

impl Loop<'_> {
    /// The loop over another range.
    fn over(&self, start: Expression, end: Expression, inclusive: bool) -> Statement {
        Statement::For {
            parallel: false,
            counter: self.counter,
            range: Range {
                start,
                end,
                inclusive,
                step: None,
            },
            body: self.body.clone(),
        }
    }
}

/// Names for the bounds of a loop, and the statements that bind them.
fn bounds(program: &Program, range: &Range) -> ([Expression; 2], Vec<Statement>) {
    let number = fresh(program);
    let [first, last] = ["from", "to"].map(|stem| Name::numbered(stem, number));
    let statements = vec![
        bind(first, range.start.clone()),
        bind(last, range.end.clone()),
    ];
    ([first, last].map(Expression::Name), statements)
}

/// `for i in a..b` becomes `for i in a..m` and `for i in m..b`, where m is between a and b.
///
/// If there is no iteration, b ≤ a: then m = b, and neither loop has one.
pub(super) fn split(program: &Program, rng: &mut Rng) -> Option<Program> {
    let place = choose(program, rng, |place| {
        counted(place.statement(program)).is_some_and(|it| !it.range.inclusive)
    })?;
    let parts = counted(place.statement(program))?;
    let ([first, last], mut block) = bounds(program, parts.range);
    let middle = Name::numbered("middle", fresh(program));
    let somewhere = vec![first.clone(), Expression::int(rng.between(0, 4))];
    let somewhere = vec![Expression::Builtin("max", somewhere), last.clone()];
    block.push(bind(middle, Expression::Builtin("min", somewhere)));
    let middle = Expression::Name(middle);
    block.push(parts.over(first, middle.clone(), false));
    block.push(parts.over(middle, last, false));
    let mut changed = program.clone();
    place.replace(
        &mut changed,
        1,
        vec![Statement::scope(ScopeKind::Block, block)],
    );
    Some(changed)
}

/// `for i in a..b { s }` becomes `if a < b { { let i = a; s } for i in a + 1..b { s } }`.
///
/// As a < b, the sum does not wrap around. For an inclusive loop the first iteration is under `a <=
/// b` and the rest under `a < b`.
pub(super) fn peel(program: &Program, rng: &mut Rng) -> Option<Program> {
    let place = choose_loop(program, rng)?;
    let parts = counted(place.statement(program))?;
    let ([first, last], mut block) = bounds(program, parts.range);
    let mut iteration = vec![bind(parts.counter, first.clone())];
    iteration.push(Statement::scope(ScopeKind::Block, parts.body.clone()));
    let next = Expression::binary(BinaryOp::Add, first.clone(), Expression::int(1));
    let rest = parts.over(next, last.clone(), parts.range.inclusive);
    let only_if = |op, then| Statement::If {
        condition: Expression::binary(op, first.clone(), last.clone()),
        then,
        otherwise: None,
    };
    let iteration = Statement::scope(ScopeKind::Block, iteration);
    block.push(match parts.range.inclusive {
        false => only_if(BinaryOp::Less, vec![iteration, rest]),
        true => {
            let rest = only_if(BinaryOp::Less, vec![rest]);
            only_if(BinaryOp::LessEqual, vec![iteration, rest])
        }
    });
    let mut changed = program.clone();
    place.replace(
        &mut changed,
        1,
        vec![Statement::scope(ScopeKind::Block, block)],
    );
    Some(changed)
}
