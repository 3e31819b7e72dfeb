//! Loop rotation: one branch an iteration instead of a branch and a jump.
//!
//! The front end tests at the top of a loop, and control jumps back there. If the header only
//! computes the test, nothing can observe it. A copy of the header at the end of each way around
//! then decides whether to go around again. The header itself is passed once, on entry. Its
//! definitions become parameters of the block behind it.

use crate::edit::{Definitions, new_value};
use crate::effects::is_pure;
use crate::loop_form::{Nest, close};
use finishline_ir::loops::{LoopId, Loops};
use finishline_ir::{BlockId, Function, Target, Terminator, Value};
use rustc_hash::FxHashMap;

/// Instructions of a test that is still copied.
const LARGEST_TEST: usize = 6;

/// Rotates the loops of a function. Blocks stay what they are and where they are, so inner loops do
/// not disturb what is known about those around them.
pub(crate) fn rotate(function: &mut Function, nest: &Nest) {
    for height in 0..nest.heights() {
        let definitions = Definitions::of(function);
        let can = |id: &LoopId| body(function, &definitions, &nest.loops, *id).is_some();
        let ids: Vec<LoopId> = nest.of_height(height).into_iter().filter(can).collect();
        for id in close(function, nest, &definitions, ids) {
            if let Some(inside) = body(function, &definitions, &nest.loops, id) {
                turn(function, nest, id, inside);
            }
        }
    }
}

/// The block behind the test, if the loop can be rotated.
fn body(
    function: &Function,
    definitions: &Definitions,
    loops: &Loops,
    id: LoopId,
) -> Option<BlockId> {
    let this = loops.get(id);
    let header = function.block(this.header);
    let Terminator::Branch {
        then, otherwise, ..
    } = &header.terminator
    else {
        return None;
    };
    let inside = |block| loops.contains(id, block);
    let (body, _) = match (inside(then.block), inside(otherwise.block)) {
        (true, false) => (then.block, otherwise.block),
        (false, true) => (otherwise.block, then.block),
        _ => return None,
    };
    let only_from_header = this.blocks.iter().all(|block| {
        let targets = function.block(*block).terminator.targets();
        *block == this.header || targets.map(|t| t.block).all(|t| t != body)
    });
    let jumps_back =
        |latch: &BlockId| matches!(function.block(*latch).terminator, Terminator::Jump(_));
    let is_test = header.instructions.len() <= LARGEST_TEST
        && header
            .instructions
            .iter()
            .all(|instruction| is_pure(function, definitions, &instruction.op));
    (body != this.header && only_from_header && is_test && this.latches.iter().all(jumps_back))
        .then_some(body)
}

fn turn(function: &mut Function, nest: &Nest, id: LoopId, body: BlockId) {
    let this = nest.loops.get(id);
    let header = function.block(this.header).clone();
    let results = header.instructions.iter().filter_map(|i| i.result);
    let defined: Vec<Value> = header.parameters.iter().copied().chain(results).collect();
    // What the header defines enters the body as parameters.
    let parameters: FxHashMap<Value, Value> = defined
        .iter()
        .map(|value| (*value, new_value(function, function.ty(*value))))
        .collect();
    let rename = |value: &mut Value| *value = *parameters.get(value).unwrap_or(value);
    for block in this.blocks.iter().filter(|block| **block != this.header) {
        let block = &mut function.blocks[block.index()];
        for instruction in &mut block.instructions {
            instruction.op.for_each_use_mut(rename);
        }
        block.terminator.for_each_use_mut(rename);
    }
    let entering = defined.iter().map(|value| parameters[value]);
    function.blocks[body.index()].parameters.extend(entering);
    let pass_on = |terminator: &mut Terminator| {
        for target in terminator.targets_mut() {
            if target.block == body {
                target.arguments.extend(&defined);
            }
        }
    };
    pass_on(&mut function.blocks[this.header.index()].terminator);
    for latch in &this.latches {
        let Terminator::Jump(Target { arguments, .. }) = &function.block(*latch).terminator else {
            unreachable!("a latch jumps");
        };
        let mut values: FxHashMap<Value, Value> = header
            .parameters
            .iter()
            .copied()
            .zip(arguments.iter().copied())
            .collect();
        let mut test = header.clone();
        for instruction in &mut test.instructions {
            let renamed = |value: &mut Value| *value = *values.get(value).unwrap_or(value);
            instruction.op.for_each_use_mut(renamed);
            if let Some(result) = &mut instruction.result {
                let new = new_value(function, function.values[result.index()]);
                values.insert(*result, new);
                *result = new;
            }
        }
        pass_on(&mut test.terminator);
        test.terminator
            .for_each_use_mut(|value| *value = *values.get(value).unwrap_or(value));
        let latch = &mut function.blocks[latch.index()];
        latch.instructions.extend(test.instructions);
        latch.terminator = test.terminator;
    }
    enter_without_parameters(function, this.header, nest.entry(id));
}

/// Nothing else leads to the header any more: what it is entered with is known there.
fn enter_without_parameters(function: &mut Function, header: BlockId, entry: BlockId) {
    let Terminator::Jump(jump) = &mut function.blocks[entry.index()].terminator else {
        unreachable!("the block in front of a loop jumps");
    };
    let arguments = std::mem::take(&mut jump.arguments);
    let header = &mut function.blocks[header.index()];
    let values: FxHashMap<Value, Value> = header.parameters.drain(..).zip(arguments).collect();
    let rename = |value: &mut Value| *value = *values.get(value).unwrap_or(value);
    for instruction in &mut header.instructions {
        instruction.op.for_each_use_mut(rename);
    }
    header.terminator.for_each_use_mut(rename);
}
