//! The variables that a statement assigns. A loop must carry these around.

use crate::hir::{LocalId, Statement};

/// The locals that the block assigns, in order. Tasks assign none of their creator's locals.
pub fn assigned(block: &[Statement]) -> Vec<LocalId> {
    let mut locals = Vec::new();
    collect(block, &mut locals);
    locals.sort_unstable();
    locals.dedup();
    locals
}

fn collect(block: &[Statement], locals: &mut Vec<LocalId>) {
    for statement in block {
        match statement {
            Statement::SetLocal { local, .. } => locals.push(*local),
            Statement::Block(block)
            | Statement::Finish { block, .. }
            | Statement::Isolated { block, .. }
            | Statement::Locked { block, .. } => {
                collect(block, locals);
            }
            Statement::If { arms, otherwise } => {
                for (_, block) in arms {
                    collect(block, locals);
                }
                collect(otherwise, locals);
            }
            Statement::While { body, .. } | Statement::For { body, .. } => collect(body, locals),
            Statement::Store { .. }
            | Statement::Update { .. }
            | Statement::Call(_)
            | Statement::Set { .. }
            | Statement::Break
            | Statement::Continue
            | Statement::Return { .. }
            | Statement::Print(_)
            | Statement::Assert { .. }
            | Statement::Async(_)
            | Statement::Forall { .. }
            | Statement::Acquire { .. }
            | Statement::Release { .. }
            | Statement::BeginFinish(_)
            | Statement::EndFinish(_)
            | Statement::Spawn { .. }
            | Statement::Sync(_) => {}
        }
    }
}
