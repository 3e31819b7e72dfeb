//! Every shared access is checked in its own step, or has a reason not to be.
//!
//! A check guards a load or store behind it in the same block if it has the same access id, base
//! and offset, and covers at least that location. No operation between them may begin another step:
//! both happen in one step.

use super::structure::is_task_operation;
use super::{CodePosition, Violations};
use crate::module::*;
use finishline_model::{AccessId, AccessKind};

pub(super) fn check(module: &Module, violations: &mut Violations) {
    for (function_index, function) in module.functions.iter().enumerate() {
        for (index, block) in function.blocks.iter().enumerate() {
            let place = CodePosition::function(function_index).block(index);
            let mut checked = Vec::new();
            for (position, instruction) in block.instructions.iter().enumerate() {
                let place = place.instruction(position);
                match &instruction.op {
                    Op::Check {
                        kind,
                        base,
                        first,
                        count,
                        access,
                        ..
                    } => {
                        kind_agrees(module, *access, *kind, place, violations);
                        if matches!(count, Operand::Constant(1..)) {
                            checked.push((*access, *base, *first));
                        }
                    }
                    Op::Load {
                        base,
                        offset,
                        access,
                    } => {
                        kind_agrees(module, *access, AccessKind::Read, place, violations);
                        guarded(
                            module,
                            &checked,
                            (*access, *base, *offset),
                            place,
                            violations,
                        );
                    }
                    Op::Store {
                        base,
                        offset,
                        access,
                        ..
                    } => {
                        kind_agrees(module, *access, AccessKind::Write, place, violations);
                        guarded(
                            module,
                            &checked,
                            (*access, *base, *offset),
                            place,
                            violations,
                        );
                    }
                    Op::PromiseSet {
                        promise,
                        access: Some(access),
                        ..
                    } => {
                        kind_agrees(module, *access, AccessKind::Write, place, violations);
                        let set = (*access, *promise, Operand::Constant(0));
                        guarded(module, &checked, set, place, violations);
                        checked.clear();
                    }
                    Op::PromiseSet { .. }
                    | Op::Call { .. }
                    | Op::IsolatedBegin
                    | Op::IsolatedEnd => checked.clear(),
                    op if is_task_operation(op) => checked.clear(),
                    _ => {}
                }
            }
        }
    }
}

fn kind_agrees(
    module: &Module,
    access: AccessId,
    kind: AccessKind,
    place: CodePosition,
    violations: &mut Violations,
) {
    let of_source = module.source.access(access).kind;
    violations.require(kind == of_source, place, || {
        format!(
            "{access} is a {} in the source, not a {}",
            of_source.word(),
            kind.word()
        )
    });
}

type Guard = (AccessId, Value, Operand);

fn guarded(
    module: &Module,
    checked: &[Guard],
    access: Guard,
    place: CodePosition,
    violations: &mut Violations,
) {
    let holds = checked.contains(&access) || module.unchecked.contains_key(&access.0);
    violations.require(holds, place, || {
        format!("{} has no check and no reason", access.0)
    });
}
