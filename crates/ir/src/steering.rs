//! Reads whose value may decide what an isolated block accesses or whether it fails.
//!
//! The value of such a read reaches, inside an isolated block, a branch, an address, a size, an
//! assertion, a divisor or a call. If a block has no such read of what another one writes, it
//! accesses the same locations before and after that one.
//!
//! The analysis goes backwards from these uses through operations and block parameters to the
//! loads. A function that may be called from an isolated block counts as inside from its beginning
//! to its end. Values that go through memory are not followed: whoever uses the result must take
//! care of blocks that read what they have written.

use crate::module::{BinaryOp, Function, FunctionId, Module, Op, Terminator, Value};
use finishline_model::AccessId;
use std::collections::BTreeSet;

/// The reads whose value may decide what an isolated block does.
pub fn steering(module: &Module) -> BTreeSet<AccessId> {
    let called = called_inside(module);
    let mut found = BTreeSet::new();
    for (index, function) in module.functions.iter().enumerate() {
        let whole = called.contains(&FunctionId::from_index(index));
        find_in(function, whole, &mut found);
    }
    found
}

/// For each basic block, whether it begins inside an isolated block.
fn begins_inside(function: &Function, whole: bool) -> Vec<bool> {
    let mut inside = vec![whole; function.blocks.len()];
    let mut seen = vec![false; function.blocks.len()];
    let mut to_visit = vec![Function::ENTRY];
    seen[Function::ENTRY.index()] = true;
    while let Some(id) = to_visit.pop() {
        let block = function.block(id);
        let ends = block.instructions.iter().fold(inside[id.index()], after);
        for target in block.terminator.targets() {
            let at = target.block.index();
            if !std::mem::replace(&mut seen[at], true) {
                inside[at] = whole || ends;
                to_visit.push(target.block);
            }
        }
    }
    inside
}

fn after(inside: bool, instruction: &crate::module::Instruction) -> bool {
    match instruction.op {
        Op::IsolatedBegin => true,
        Op::IsolatedEnd => false,
        _ => inside,
    }
}

/// The functions that may run inside an isolated block.
fn called_inside(module: &Module) -> BTreeSet<FunctionId> {
    let mut found = BTreeSet::new();
    let mut to_visit = Vec::new();
    let mut visit = |function: &Function, whole: bool, to_visit: &mut Vec<FunctionId>| {
        let begins = begins_inside(function, whole);
        for (block, begins) in function.blocks.iter().zip(begins) {
            let mut inside = begins;
            for instruction in &block.instructions {
                inside = whole || after(inside, instruction);
                if let Op::Call { function, .. } = instruction.op
                    && inside
                    && found.insert(function)
                {
                    to_visit.push(function);
                }
            }
        }
    };
    for function in &module.functions {
        visit(function, false, &mut to_visit);
    }
    while let Some(id) = to_visit.pop() {
        visit(module.function(id), true, &mut to_visit);
    }
    found
}

fn find_in(function: &Function, whole: bool, found: &mut BTreeSet<AccessId>) {
    let mut deciding: Vec<Value> = Vec::new();
    // By value: what it is made of, and the load that it is.
    let mut sources: Vec<Vec<Value>> = vec![Vec::new(); function.values.len()];
    let mut loads: Vec<Option<AccessId>> = vec![None; function.values.len()];
    let begins = begins_inside(function, whole);
    for (block, begins) in function.blocks.iter().zip(begins) {
        let mut inside = begins;
        for instruction in &block.instructions {
            inside = whole || after(inside, instruction);
            if inside {
                decided_by(&instruction.op, &mut deciding);
            }
            if let Some(result) = instruction.result {
                match instruction.op {
                    Op::Load { access, .. } => loads[result.index()] = Some(access),
                    ref op => op.for_each_use(|value| sources[result.index()].push(value)),
                }
            }
        }
        match &block.terminator {
            Terminator::Branch { condition, .. } if inside => deciding.push(*condition),
            Terminator::Return(Some(value)) if inside => deciding.push(*value),
            _ => {}
        }
        for target in block.terminator.targets() {
            let parameters = &function.block(target.block).parameters;
            for (parameter, argument) in parameters.iter().zip(&target.arguments) {
                sources[parameter.index()].push(*argument);
            }
        }
    }
    let mut seen = vec![false; function.values.len()];
    while let Some(value) = deciding.pop() {
        if !std::mem::replace(&mut seen[value.index()], true) {
            found.extend(loads[value.index()]);
            deciding.extend(&sources[value.index()]);
        }
    }
}

/// The operands that decide what the operation accesses, whether it fails, or what is called.
fn decided_by(op: &Op, deciding: &mut Vec<Value>) {
    match op {
        Op::Binary(BinaryOp::Divide | BinaryOp::Remainder, a, b) => deciding.extend([*a, *b]),
        Op::Unary(..)
        | Op::Binary(..)
        | Op::Compare(..)
        | Op::Convert(..)
        | Op::Math(..)
        | Op::Print(_) => {}
        Op::Store { base, offset, .. } => {
            deciding.push(*base);
            deciding.extend(offset.value());
        }
        Op::PromiseSet { promise, .. } => deciding.push(*promise),
        op => op.for_each_use(|value| deciding.push(value)),
    }
}
