//! Whether `begin_finish` and `end_finish` come in pairs that the text shows.
//!
//! They do if each `begin_finish` has its `end_finish` in the same block and control does not leave
//! the block in between. Then the statements between the two are as good as in a `finish`. One that
//! is not paired may pair with any other at run time, also in other functions.

use super::induction::blocks;
use finishline_fin::hir::{Block, Program, Statement};

/// Whether all of a program do.
pub(super) fn is_lexical(program: &Program) -> bool {
    let mut functions = program.functions.iter();
    functions.all(|function| is_balanced(&function.body.block))
}

fn is_balanced(block: &[Statement]) -> bool {
    let mut open = 0;
    for statement in block {
        match statement {
            Statement::BeginFinish(_) => open += 1,
            Statement::EndFinish(_) if open == 0 => return false,
            Statement::EndFinish(_) => open -= 1,
            _ => {
                let balanced = inner(statement).into_iter().all(|it| is_balanced(it));
                if !balanced || (open > 0 && leaves(statement, false)) {
                    return false;
                }
            }
        }
    }
    open == 0
}

/// The blocks in a statement, those of tasks too.
fn inner(statement: &Statement) -> Vec<&Block> {
    let mut inner = Vec::new();
    blocks(statement, |block| inner.push(block));
    if let Statement::Async(task) | Statement::Forall { task, .. } = statement {
        inner.push(&task.body.block);
    }
    inner
}

/// Whether control may leave the block that a statement is in; `looped` if it is in a loop of that
/// block.
fn leaves(statement: &Statement, looped: bool) -> bool {
    let is_loop = matches!(statement, Statement::While { .. } | Statement::For { .. });
    match statement {
        Statement::Return { .. } => true,
        Statement::Break | Statement::Continue => !looped,
        // They end where they began.
        Statement::Async(_) | Statement::Forall { .. } | Statement::Finish { .. } => false,
        _ => {
            let mut inside = inner(statement).into_iter().flatten();
            inside.any(|it| leaves(it, looped || is_loop))
        }
    }
}
