//! Removes loads of values that were just stored or loaded.
//!
//! The value of a location is known from its last load or store until a store that may be to the
//! same location ([`Region`]), or until an operation that may change memory unseen. This holds
//! within a block, and in a following block that only this one leads to. A known value replaces the
//! load. The race check of the load stays. The pass depends on the serial run, see
//! [`crate::effects`].
//!
//! The cost is linear: the number of known locations is limited.

use crate::edit::{Definitions, Predecessors, Renaming};
use crate::effects::{Region, ends_memory, region};
use finishline_ir::dominators::Dominators;
use finishline_ir::{Function, Op, Operand, Value};

/// Locations whose values are remembered; the oldest is forgotten first.
const REMEMBERED: usize = 24;

#[derive(Clone)]
struct Known {
    base: Value,
    offset: Operand,
    region: Region,
    value: Value,
}

/// Replaces loads of known locations.
pub(crate) fn forward(function: &mut Function) {
    let dominators = Dominators::of(function);
    let definitions = Definitions::of(function);
    let predecessors = Predecessors::of(function);
    let mut renaming = Renaming::new(function);
    let mut at_end: Vec<Vec<Known>> = vec![Vec::new(); function.blocks.len()];
    let mut replaced = vec![false; function.values.len()];
    for &id in dominators.order() {
        let mut known = match *predecessors.get(id) {
            [only] => at_end[only.index()].clone(),
            _ => Vec::new(),
        };
        for instruction in &function.block(id).instructions {
            let mut access = |base: Value, offset: Operand, value: Value| {
                let offset = match offset {
                    Operand::Value(offset) => Operand::Value(renaming.get(offset)),
                    constant => constant,
                };
                let (base, ty) = (renaming.get(base), function.ty(value));
                Known {
                    base,
                    offset,
                    region: region(function, &definitions, base, offset, ty),
                    value: renaming.get(value),
                }
            };
            match (&instruction.op, instruction.result) {
                (Op::Load { base, offset, .. }, Some(result)) => {
                    let loaded = access(*base, *offset, result);
                    let same = |k: &&Known| {
                        (k.base, k.offset, k.region) == (loaded.base, loaded.offset, loaded.region)
                    };
                    match known.iter().find(same) {
                        Some(k) => {
                            renaming.set(result, k.value);
                            replaced[result.index()] = true;
                        }
                        None => remember(&mut known, loaded),
                    }
                }
                (
                    Op::Store {
                        base,
                        offset,
                        value,
                        ..
                    },
                    _,
                ) => {
                    let stored = access(*base, *offset, *value);
                    known.retain(|k| k.region != stored.region);
                    remember(&mut known, stored);
                }
                (op, _) if ends_memory(op) => known.clear(),
                _ => {}
            }
        }
        at_end[id.index()] = known;
    }
    for block in &mut function.blocks {
        block.instructions.retain(|instruction| {
            instruction
                .result
                .is_none_or(|result| !replaced[result.index()])
        });
    }
    renaming.apply(function);
}

fn remember(known: &mut Vec<Known>, new: Known) {
    if known.len() == REMEMBERED {
        known.remove(0);
    }
    known.push(new);
}
