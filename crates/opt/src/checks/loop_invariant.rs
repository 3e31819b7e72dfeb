//! Loop-invariant check motion [ESP-bags §6.4]: a check of the same location in every iteration is
//! made once, before the loop.
//!
//! It is made before the loop if and only if there is an iteration, the zero-trip test of the
//! paper: otherwise the count of the new check is 0. All iterations are in one step, which the
//! paper leaves out: with a task created or waited for in the loop, other accesses would be
//! parallel to it before than behind. In one step the first check covers those that repeat it, as
//! [`super::dominated`] proves. A check of a range that an inner loop had moves as well, if it is
//! invariant.
//!
//! As long as checks move, one that is made once or not at all has a count that is a bool as an
//! int, so that it stands in no branch. In the end it gets its branch, which costs less than a
//! range. That is for locations that surely exist: the check may stand before the loop asks for
//! null and bounds now, and only a check whose count is a value looks whether its locations exist.

use super::loop_front::LoopFront;
use super::loops::{Candidate, Made};
use crate::edit::{Definitions, new_block, target};
use crate::not_null::NotNull;
use finishline_ir::dominators::Dominators;
use finishline_ir::{BlockId, Const, Function, Op, Operand, Terminator, Type, Value};

/// Adds a check whose operands are invariant in front of the loop.
pub(super) fn add_in_front(candidate: &Candidate, place: &mut LoopFront<'_, '_>) {
    let Candidate { check, made, .. } = candidate;
    let first = place.first(candidate);
    let (count, stride) = (place.operand(check.count), place.operand(check.stride));
    let count = match made {
        Made::InHeader => count,
        _ => place.if_any(count),
    };
    place.add(check.of(first, count, stride));
}

/// Makes every check of one location that surely exists a single one, behind a branch if it may not
/// be made at all. What has moved stands behind all that its block asks.
pub(super) fn settle(function: &mut Function) {
    let definitions = Definitions::of(function);
    let dominators = Dominators::of(function);
    let not_null = NotNull::of(function, &definitions, &dominators);
    let exists = |block: BlockId, base: Value, first: Operand| {
        let is_index = |offset: Value| {
            let op = definitions.op(function, offset);
            matches!(op, Some(Op::Index { array, .. }) if *array == base)
        };
        not_null.holds(base, block, &dominators) && first.value().is_none_or(is_index)
    };
    let mut found: Vec<(BlockId, usize, Option<Value>)> = Vec::new();
    for &id in dominators.order() {
        for (at, instruction) in function.block(id).instructions.iter().enumerate() {
            if let Op::Check {
                base,
                first,
                count: Operand::Value(count),
                ..
            } = instruction.op
                && exists(id, base, first)
            {
                match definitions.op(function, count) {
                    Some(Op::Const(Const::Int(1))) => found.push((id, at, None)),
                    Some(Op::Convert(from, _)) if function.ty(*from) == Type::Bool => {
                        found.push((id, at, Some(*from)));
                    }
                    _ => {}
                }
            }
        }
    }
    // From the last on, so that the positions of the others stay what they are.
    for &(block, at, condition) in found.iter().rev() {
        let instruction = &mut function.blocks[block.index()].instructions[at];
        if let Op::Check { count, .. } = &mut instruction.op {
            *count = Operand::Constant(1);
        }
        if let Some(condition) = condition {
            branch_around(function, block, at, condition);
        }
    }
}

/// Makes an instruction run only if a condition holds.
fn branch_around(function: &mut Function, block: BlockId, at: usize, condition: Value) {
    let (inside, behind) = (new_block(function), new_block(function));
    let first = &mut function.blocks[block.index()];
    let rest = first.instructions.split_off(at + 1);
    let guarded = first.instructions.split_off(at);
    let branch = Terminator::Branch {
        condition,
        then: target(inside, Vec::new()),
        otherwise: target(behind, Vec::new()),
    };
    let terminator = std::mem::replace(&mut first.terminator, branch);
    function.blocks[inside.index()].instructions = guarded;
    function.blocks[inside.index()].terminator = Terminator::Jump(target(behind, Vec::new()));
    function.blocks[behind.index()].instructions = rest;
    function.blocks[behind.index()].terminator = terminator;
}
