//! What stores and calls may change in memory.
//!
//! A call changes what its function stores to, and what the functions that it calls store to. A
//! function with an operation that lets other tasks go on may change everything, and so may all
//! that call it. By growing sets to a fixed point: linear in the calls, times the number of
//! regions.

use crate::edit::Definitions;
use crate::effects::{Region, ends_memory, region};
use crate::evolution::Context;
use finishline_ir::{Function, FunctionId, Module, Op};
use rustc_hash::FxHashSet;

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Changes {
    everything: bool,
    regions: FxHashSet<Region>,
}

impl Changes {
    /// Nothing in memory is taken for invariant.
    pub(crate) fn everything() -> Changes {
        Changes {
            everything: true,
            regions: FxHashSet::default(),
        }
    }

    /// What a loop may change.
    pub(crate) fn of(context: Context<'_>, calls: &Calls) -> Changes {
        let Context {
            function,
            definitions,
            ..
        } = context;
        let mut changes = Changes::default();
        for block in &context.loops.get(context.id).blocks {
            for instruction in &function.block(*block).instructions {
                match &instruction.op {
                    Op::Call { function, .. } => changes.add(calls.changes(*function)),
                    op => changes.add_operation(function, definitions, op),
                }
            }
        }
        changes
    }

    pub(crate) fn may_change(&self, region: Region) -> bool {
        self.everything || self.regions.contains(&region)
    }

    fn add(&mut self, other: &Changes) {
        self.everything |= other.everything;
        self.regions.extend(&other.regions);
    }

    /// An operation that calls nothing.
    fn add_operation(&mut self, function: &Function, definitions: &Definitions, op: &Op) {
        match op {
            Op::Store {
                base,
                offset,
                value,
                ..
            } => {
                let ty = function.ty(*value);
                let changed = region(function, definitions, *base, *offset, ty);
                self.regions.insert(changed);
            }
            op => self.everything |= ends_memory(op),
        }
    }
}

/// By function, what a call of it may change.
pub(crate) struct Calls(Vec<Changes>);

impl Calls {
    pub(crate) fn of(module: &Module) -> Calls {
        let mut callers = vec![Vec::new(); module.functions.len()];
        let mut calls = Calls(Vec::new());
        for (caller, function) in module.functions.iter().enumerate() {
            let definitions = Definitions::of(function);
            let mut own = Changes::default();
            for instruction in function.blocks.iter().flat_map(|b| &b.instructions) {
                match &instruction.op {
                    Op::Call { function, .. } => callers[function.index()].push(caller),
                    op => own.add_operation(function, &definitions, op),
                }
            }
            calls.0.push(own);
        }
        let mut waiting: Vec<usize> = (0..calls.0.len()).collect();
        while let Some(callee) = waiting.pop() {
            let changes = calls.0[callee].clone();
            for &caller in &callers[callee] {
                let before = calls.0[caller].clone();
                calls.0[caller].add(&changes);
                if calls.0[caller] != before {
                    waiting.push(caller);
                }
            }
        }
        calls
    }

    fn changes(&self, function: FunctionId) -> &Changes {
        &self.0[function.index()]
    }
}
