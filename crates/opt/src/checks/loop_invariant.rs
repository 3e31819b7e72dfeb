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
//! range. The check may stand before the loop asks for null and bounds now, and only a check whose
//! count is a value looks whether its locations exist. So the branch also asks for null if that may
//! be, which is enough for a field. An element must surely exist.

use super::loop_front::LoopFront;
use super::loops::{Candidate, Made};
use crate::edit::{Definitions, append, new_block, target};
use crate::not_null::NotNull;
use finishline_ir::dominators::Dominators;
use finishline_ir::{
    BinaryOp, BlockId, CompareOp, Const, Function, Op, Operand, Terminator, Type, Value,
};

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

/// Makes every check of one location a single one if the location surely exists but for null,
/// behind a branch if it may not be made at all. What has moved stands behind all that its block
/// asks.
pub(super) fn settle(function: &mut Function) {
    let definitions = Definitions::of(function);
    let dominators = Dominators::of(function);
    let not_null = NotNull::of(function, &definitions, &dominators);
    let is_element = |base: Value, offset: Value| {
        let op = definitions.op(function, offset);
        matches!(op, Some(Op::Index { array, .. }) if *array == base)
    };
    let mut found: Vec<Single> = Vec::new();
    for &block in dominators.order() {
        for (at, instruction) in function.block(block).instructions.iter().enumerate() {
            let Op::Check {
                base,
                first,
                count: Operand::Value(count),
                ..
            } = instruction.op
            else {
                continue;
            };
            let may_be_null = !not_null.holds(base, block, &dominators);
            let exists = match first {
                Operand::Constant(_) => true,
                Operand::Value(offset) => !may_be_null && is_element(base, offset),
            };
            let condition = match definitions.op(function, count) {
                Some(Op::Const(Const::Int(1))) => None,
                Some(Op::Convert(from, _)) if function.ty(*from) == Type::Bool => Some(*from),
                _ => continue,
            };
            if exists {
                found.push(Single {
                    block,
                    at,
                    condition,
                    null: may_be_null.then_some(base),
                });
            }
        }
    }
    // From the last on, so that the positions of the others stay what they are.
    for single in found.into_iter().rev() {
        single.carry_out(function);
    }
}

/// A check that becomes one of a single location.
struct Single {
    block: BlockId,
    at: usize,
    /// Whether it is made.
    condition: Option<Value>,
    /// What may be null, and then it is not made.
    null: Option<Value>,
}

impl Single {
    fn carry_out(self, function: &mut Function) {
        let Single { block, at, .. } = self;
        let instructions = &mut function.blocks[block.index()].instructions;
        if let Op::Check { count, .. } = &mut instructions[at].op {
            *count = Operand::Constant(1);
        }
        let behind = instructions.split_off(at);
        let exists = self.null.map(|base| {
            let null = append(function, block, Op::Const(Const::Null), Type::Ref);
            append(
                function,
                block,
                Op::Compare(CompareOp::NotEqual, base, null),
                Type::Bool,
            )
        });
        let condition = match (self.condition, exists) {
            (Some(made), Some(exists)) => Some(append(
                function,
                block,
                Op::Binary(BinaryOp::And, made, exists),
                Type::Bool,
            )),
            (one, other) => one.or(other),
        };
        let instructions = &mut function.blocks[block.index()].instructions;
        let at = instructions.len();
        instructions.extend(behind);
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
