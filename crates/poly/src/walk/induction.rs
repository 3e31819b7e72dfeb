//! Locals that a loop changes by the same amount in every iteration, and references that it exchanges in turn.
//!
//! A local is an *induction variable* if the loop's body assigns it once, in every iteration, as itself plus or minus a
//! constant. After k iterations it is its first value plus k times the constant.

use finishline_fin::hir::{Block, Expression, ExpressionKind, LocalId, Statement};
use finishline_ir::{BinaryOp, Const};

/// By how much the body of a loop changes a local in each iteration.
pub(super) fn increment(
    body: &[Statement],
    local: LocalId,
    constant: impl Fn(&Expression) -> Option<i64>,
) -> Option<i64> {
    if assignments(body, local) != 1 || continues(body) {
        return None;
    }
    let value = assigned_value(body, local)?;
    let ExpressionKind::Binary(op, left, right) = &value.kind else {
        return None;
    };
    let is_local =
        |side: &Expression| matches!(side.kind, ExpressionKind::Local(it) if it == local);
    match op {
        BinaryOp::Add if is_local(left) => constant(right),
        BinaryOp::Add if is_local(right) => constant(left),
        BinaryOp::Subtract if is_local(left) => constant(right)?.checked_neg(),
        _ => None,
    }
}

/// A literal.
pub(super) fn literal(expression: &Expression) -> Option<i64> {
    match &expression.kind {
        ExpressionKind::Const(Const::Int(value)) => Some(*value),
        _ => None,
    }
}

/// The value that is assigned in every iteration.
fn assigned_value(body: &[Statement], local: LocalId) -> Option<&Expression> {
    body.iter().find_map(|statement| match statement {
        Statement::SetLocal { local: it, value } if *it == local => Some(value),
        Statement::Block(block) => assigned_value(block, local),
        _ => None,
    })
}

/// Calls a function for every block that belongs to a statement and the same task.
fn blocks<'s>(statement: &'s Statement, mut run: impl FnMut(&'s Block)) {
    match statement {
        Statement::Block(block)
        | Statement::Finish { block, .. }
        | Statement::Isolated { block, .. } => run(block),
        Statement::If { arms, otherwise } => {
            for (_, block) in arms {
                run(block);
            }
            run(otherwise);
        }
        Statement::While { body, .. } | Statement::For { body, .. } => run(body),
        _ => {}
    }
}

fn assignments(body: &[Statement], local: LocalId) -> usize {
    let mut count = 0;
    for statement in body {
        if matches!(statement, Statement::SetLocal { local: it, .. } if *it == local) {
            count += 1;
        }
        blocks(statement, |block| count += assignments(block, local));
    }
    count
}

/// Whether some iteration may end early. (A `continue` of an inner loop counts too.)
fn continues(body: &[Statement]) -> bool {
    body.iter().any(|statement| {
        let mut found = matches!(statement, Statement::Continue);
        blocks(statement, |block| found |= continues(block));
        found
    })
}
