//! Where a reference is known not to be null.
//!
//! It is not null behind its allocation, behind an operation that fails on null ([`Op::NonNull`],
//! [`Op::Index`], [`Op::Length`]), and where control only gets if a comparison with null said so,
//! also as one part of a conjunction. Facts are kept by block: what holds somewhere in a block
//! holds at its end and in every block it dominates.

use crate::edit::{Definitions, Predecessors};
use finishline_ir::dominators::Dominators;
use finishline_ir::{BinaryOp, BlockId, CompareOp, Const, Function, Op, Terminator, Value};
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Default)]
pub(crate) struct NotNull {
    /// By reference: blocks at whose end it is known.
    known: FxHashMap<Value, Vec<BlockId>>,
    always: FxHashSet<Value>,
}

impl NotNull {
    /// What is known everywhere in a function.
    pub(crate) fn of(
        function: &Function,
        definitions: &Definitions,
        dominators: &Dominators,
    ) -> NotNull {
        let mut facts = NotNull::default();
        let entered = entered_by_one_edge(function, dominators);
        for &id in dominators.order() {
            if let Some(from) = entered[id.index()] {
                let from = &function.block(from).terminator;
                facts.enter(id, from, |value| definitions.op(function, value));
            }
            for instruction in &function.block(id).instructions {
                facts.learn(&instruction.op, instruction.result, id);
            }
        }
        facts
    }

    /// What holds behind an operation of a block.
    pub(crate) fn learn(&mut self, op: &Op, result: Option<Value>, block: BlockId) {
        match op {
            Op::NonNull(reference) => self.add(*reference, block),
            Op::Index { array, .. } | Op::Length { array, .. } => self.add(*array, block),
            Op::NewStruct { .. } | Op::NewArray { .. } | Op::Globals => {
                if let Some(result) = result {
                    self.always.insert(result);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, reference: Value, block: BlockId) {
        let blocks = self.known.entry(reference).or_default();
        if blocks.last() != Some(&block) {
            blocks.push(block);
        }
    }

    /// What holds on entry of a block that only one edge leads to: from a block that ends like
    /// this.
    pub(crate) fn enter<'f>(
        &mut self,
        block: BlockId,
        from: &Terminator,
        op: impl Fn(Value) -> Option<&'f Op>,
    ) {
        let is_null = |value: Value| op(value) == Some(&Op::Const(Const::Null));
        for (condition, holds) in conditions(block, from, &op) {
            let Some(Op::Compare(compare, a, b)) = op(condition) else {
                continue;
            };
            let differ = match compare {
                CompareOp::NotEqual => holds,
                CompareOp::Equal => !holds,
                _ => false,
            };
            if differ && is_null(*b) {
                self.add(*a, block);
            } else if differ && is_null(*a) {
                self.add(*b, block);
            }
        }
    }

    /// Whether a reference is known not to be null at the end of a block, or, while facts are being
    /// gathered in the order of dominators, at the place reached in it.
    pub(crate) fn holds(&self, reference: Value, block: BlockId, dominators: &Dominators) -> bool {
        self.always.contains(&reference)
            || self.known.get(&reference).is_some_and(|blocks| {
                blocks
                    .iter()
                    .any(|known| dominators.dominates(*known, block))
            })
    }
}

/// Conditions of one branch that are looked at: one condition may be part of many conjunctions that
/// are parts of each other.
const MOST_CONDITIONS: usize = 64;

/// The conditions that are known on the edge to a block from one that ends like this, each with
/// whether it holds: if a conjunction holds both parts do, if a disjunction does not neither part
/// does.
pub(crate) fn conditions<'f>(
    block: BlockId,
    from: &Terminator,
    op: impl Fn(Value) -> Option<&'f Op>,
) -> Vec<(Value, bool)> {
    let Terminator::Branch {
        condition, then, ..
    } = from
    else {
        return Vec::new();
    };
    let holds = then.block == block;
    let mut found = vec![(*condition, holds)];
    let mut next = 0;
    while let Some((condition, _)) = found.get(next).filter(|_| next < MOST_CONDITIONS) {
        match op(*condition) {
            Some(Op::Binary(BinaryOp::And, a, b)) if holds => {
                found.extend([(*a, true), (*b, true)]);
            }
            Some(Op::Binary(BinaryOp::Or, a, b)) if !holds => {
                found.extend([(*a, false), (*b, false)]);
            }
            _ => {}
        }
        next += 1;
    }
    found
}

/// By block: where control comes from on entry, if that is one edge only. Back edges don't count:
/// they are taken after that one, and a fact about a value that dominates the block does not
/// change.
pub(crate) fn entered_by_one_edge(
    function: &Function,
    dominators: &Dominators,
) -> Vec<Option<BlockId>> {
    let predecessors = Predecessors::of(function);
    let blocks = (0..function.blocks.len()).map(BlockId::from_index);
    blocks
        .map(|block| {
            let entering = |source: &&BlockId| {
                dominators.is_reachable(**source) && !dominators.dominates(block, **source)
            };
            let mut sources = predecessors.get(block).iter().filter(entering);
            match (sources.next(), sources.next()) {
                (Some(only), None) => Some(*only),
                _ => None,
            }
        })
        .collect()
}
