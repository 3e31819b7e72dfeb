//! Loop-invariant check motion [ESP-bags §6.4]: a check of the same location in every iteration is made once, before the loop.
//!
//! It is made before the loop if and only if there is an iteration, the zero-trip test of the paper: otherwise the count of the new check
//! is 0. All iterations are in one step, which the paper leaves out: with a task created or waited for in the loop, other accesses
//! would be parallel to it before than behind. In one step the first check covers those that repeat it, as [`super::dominated`] proves.
//! A check of a range that an inner loop had moves as well, if it is invariant.
//!
//! As long as checks move, one that is made once or not at all has a count that is a bool as an int, so that it stands in no branch. In the end it gets
//! its branch, which costs less than a range.

use super::loops::{Candidate, Made};
use super::place::Place;
use crate::edit::{new_block, target};
use finishline_ir::{Function, Op, Operand, Terminator, Type, Value};
use rustc_hash::FxHashMap;

/// Adds a check whose operands are invariant in front of the loop.
pub(super) fn add_in_front(candidate: &Candidate, place: &mut Place<'_, '_>) {
    let Candidate { check, made, .. } = candidate;
    let first = place.first(candidate);
    let (count, stride) = (place.operand(check.count), place.operand(check.stride));
    let count = match made {
        Made::InHeader => count,
        _ => place.if_any(count),
    };
    place.add(check.of(first, count, stride));
}

/// Makes every check that is made once or not at all a single one behind a branch.
pub(super) fn branch_around_single_checks(function: &mut Function) {
    let bools = bools_as_ints(function);
    let mut index = 0;
    // What is behind a branch comes to the end of the list and is looked at there.
    while index < function.blocks.len() {
        let condition = |op: &Op| match op {
            Op::Check {
                count: Operand::Value(count),
                ..
            } => bools.get(count).copied(),
            _ => None,
        };
        let instructions = &function.blocks[index].instructions;
        let first = instructions.iter().position(|i| condition(&i.op).is_some());
        let Some(at) = first else {
            index += 1;
            continue;
        };
        let made_if = condition(&instructions[at].op);
        let together = instructions[at..].iter();
        let together = together.take_while(|i| condition(&i.op) == made_if).count();
        let (checked, behind) = (new_block(function), new_block(function));
        let block = &mut function.blocks[index];
        let rest = block.instructions.split_off(at + together);
        let mut checks = block.instructions.split_off(at);
        let otherwise = Terminator::Jump(target(behind, Vec::new()));
        let terminator = std::mem::replace(&mut block.terminator, otherwise.clone());
        if let Some(condition) = made_if {
            block.terminator = Terminator::Branch {
                condition,
                then: target(checked, Vec::new()),
                otherwise: target(behind, Vec::new()),
            };
        }
        for check in &mut checks {
            if let Op::Check { count, .. } = &mut check.op {
                *count = Operand::Constant(1);
            }
        }
        function.blocks[checked.index()].instructions = checks;
        function.blocks[checked.index()].terminator = otherwise;
        function.blocks[behind.index()].instructions = rest;
        function.blocks[behind.index()].terminator = terminator;
        index += 1;
    }
}

/// The ints that are bools, each with the bool.
fn bools_as_ints(function: &Function) -> FxHashMap<Value, Value> {
    let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions
        .filter_map(|instruction| match (&instruction.op, instruction.result) {
            (Op::Convert(from, _), Some(result)) if function.ty(*from) == Type::Bool => {
                Some((result, *from))
            }
            _ => None,
        })
        .collect()
}
