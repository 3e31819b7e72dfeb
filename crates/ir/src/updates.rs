//! Accesses that only update a location: `x op= e`, by an operation on integers for which the order
//! of several updates makes no difference.
//!
//! An update is a load, an operation on the loaded value, and a store of the result to the same
//! place. Nothing else uses the loaded value or the result. So nobody learns what was there before,
//! and as `+ & | ^` are associative and commutative on integers that wrap, updates by the same
//! operation can be exchanged. That `e` reads nothing that is updated must be seen from the other
//! accesses.

use crate::module::{BinaryOp, Function, Module, Op, Operand, Type, Value};
use finishline_model::AccessId;
use std::collections::BTreeMap;

/// The loads and stores of updates, with the operation.
pub fn updates(module: &Module) -> BTreeMap<AccessId, BinaryOp> {
    let mut found = BTreeMap::new();
    for function in &module.functions {
        find_in(function, &mut found);
    }
    found
}

/// A value, and how often it is used.
#[derive(Clone, Copy, Default)]
struct Origin {
    made: Made,
    uses: u32,
}

#[derive(Clone, Copy, Default)]
enum Made {
    #[default]
    Otherwise,
    Loaded(Value, Operand, AccessId),
    /// Of a loaded value and another one, by an operation.
    Updated(Value, BinaryOp),
}

fn find_in(function: &Function, found: &mut BTreeMap<AccessId, BinaryOp>) {
    let mut origins = vec![Origin::default(); function.values.len()];
    let instructions = || function.blocks.iter().flat_map(|block| &block.instructions);
    for instruction in instructions() {
        let mut count = |value: Value| origins[value.index()].uses += 1;
        instruction.op.for_each_use(&mut count);
        if let (
            Some(result),
            Op::Load {
                base,
                offset,
                access,
            },
        ) = (instruction.result, &instruction.op)
            && function.ty(result) != Type::Float
        {
            origins[result.index()].made = Made::Loaded(*base, *offset, *access);
        }
    }
    for block in &function.blocks {
        (block.terminator).for_each_use(|value| origins[value.index()].uses += 1);
    }
    let loaded_once = |origins: &[Origin], value: Value| {
        let Origin { made, uses } = origins[value.index()];
        (uses == 1 && matches!(made, Made::Loaded(..))).then_some(value)
    };
    for instruction in instructions() {
        if let (Some(result), Op::Binary(op, a, b)) = (instruction.result, &instruction.op) {
            let (left, right) = (loaded_once(&origins, *a), loaded_once(&origins, *b));
            let updated = match op {
                BinaryOp::Add | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                    left.or(right).map(|value| (value, *op))
                }
                // To subtract is to add the opposite.
                BinaryOp::Subtract => left.map(|value| (value, BinaryOp::Add)),
                _ => None,
            };
            if let Some((value, op)) = updated {
                origins[result.index()].made = Made::Updated(value, op);
            }
        }
    }
    for instruction in instructions() {
        if let Op::Store {
            base,
            offset,
            value,
            access,
        } = &instruction.op
            && let Origin {
                made: Made::Updated(loaded, op),
                uses: 1,
            } = origins[value.index()]
            && let Made::Loaded(from, at, load) = origins[loaded.index()].made
            && (from, at) == (*base, *offset)
        {
            found.insert(load, op);
            found.insert(*access, op);
        }
    }
}
