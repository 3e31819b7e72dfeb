//! Locals that a loop changes by the same amount in every iteration.
//!
//! A local is an *induction variable* if the body assigns it only where every iteration passes, and
//! each time adds or subtracts a constant. After k iterations it is its first value plus k times
//! the sum of the constants.

use finishline_fin::hir::{Block, Expression, ExpressionKind, LocalId, Statement};
use finishline_ir::{BinaryOp, Const};

/// By how much the body of a loop changes a local in each iteration.
pub(super) fn increment(
    body: &[Statement],
    local: LocalId,
    constant: impl Fn(&Expression) -> Option<i64>,
) -> Option<i64> {
    let mut values = Vec::new();
    always_assigned(body, local, &mut values);
    if values.is_empty() || values.len() != assignments(body, local) {
        return None;
    }
    let is_local =
        |side: &Expression| matches!(side.kind, ExpressionKind::Local(it) if it == local);
    let step = |value: &Expression| {
        let ExpressionKind::Binary(op, left, right) = &value.kind else {
            return None;
        };
        match op {
            BinaryOp::Add if is_local(left) => constant(right),
            BinaryOp::Add if is_local(right) => constant(left),
            BinaryOp::Subtract if is_local(left) => constant(right)?.checked_neg(),
            _ => None,
        }
    };
    values.into_iter().map(step).sum()
}

/// The value that a local is assigned first in a text.
pub(super) fn first_value(body: &[Statement], local: LocalId) -> Option<&Expression> {
    body.iter().find_map(|statement| {
        if let Statement::SetLocal { local: it, value } = statement
            && *it == local
        {
            return Some(value);
        }
        let mut found = None;
        blocks(statement, |block| {
            found = found.or_else(|| first_value(block, local));
        });
        found
    })
}

/// A literal.
pub(super) fn literal(expression: &Expression) -> Option<i64> {
    match &expression.kind {
        ExpressionKind::Const(Const::Int(value)) => Some(*value),
        _ => None,
    }
}

/// Collects the values that every iteration assigns, in order; whether every one comes to the end
/// of the block.
fn always_assigned<'s>(
    body: &'s [Statement],
    local: LocalId,
    values: &mut Vec<&'s Expression>,
) -> bool {
    body.iter().all(|statement| {
        match statement {
            Statement::SetLocal { local: it, value } if *it == local => values.push(value),
            Statement::Block(block) => return always_assigned(block, local, values),
            _ => {}
        }
        !continues(statement)
    })
}

/// Calls a function for every block that belongs to a statement and the same task.
pub(super) fn blocks<'s>(statement: &'s Statement, mut run: impl FnMut(&'s Block)) {
    match statement {
        Statement::Block(block)
        | Statement::Finish { block, .. }
        | Statement::Isolated { block, .. }
        | Statement::Locked { block, .. } => run(block),
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

/// Whether a statement may end the iteration that it is in, and another follow.
fn continues(statement: &Statement) -> bool {
    let mut found = matches!(statement, Statement::Continue);
    // In a loop it is about that one.
    if !matches!(statement, Statement::While { .. } | Statement::For { .. }) {
        blocks(statement, |block| found |= block.iter().any(continues));
    }
    found
}
