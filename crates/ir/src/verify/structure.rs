//! Parallel structure: the promises of lexical nesting in the source.
//!
//! On every path through a function, lexical finishes and sync scopes are opened and closed in
//! nested order. At each place the same ones are open on every path, and none is open at a return.
//! `begin_finish` is dynamic and checked at run time. Isolated blocks do not nest. Nothing parallel
//! happens inside one, nor in a function called there.

use super::{CodePosition, Violations};
use crate::dominators::Dominators;
use crate::module::*;
use finishline_model::FinishKind;

pub(super) fn check(module: &Module, violations: &mut Violations) {
    let parallel = parallel_functions(module);
    for (index, function) in module.functions.iter().enumerate() {
        let place = CodePosition::function(index);
        announced(module, function, place, violations);
        let dominators = Dominators::of(function);
        let mut on_entry: Vec<Option<Nesting>> = vec![None; function.blocks.len()];
        on_entry[Function::ENTRY.index()] = Some(Nesting::default());
        // In this order some predecessor of each block comes before it.
        for &id in dominators.order() {
            let place = place.block(id.index());
            let block = function.block(id);
            let mut nesting = on_entry[id.index()].clone().unwrap_or_default();
            for (position, instruction) in block.instructions.iter().enumerate() {
                if let Err(message) = nesting.follow(&instruction.op, &parallel) {
                    violations.add(place.instruction(position), message);
                }
            }
            let place = place.instruction(block.instructions.len());
            if let Terminator::Return(_) = block.terminator {
                violations.require(nesting == Nesting::default(), place, || {
                    "returns inside a finish or an isolated block".into()
                });
            }
            for target in block.terminator.targets() {
                let agreed = on_entry[target.block.index()].get_or_insert_with(|| nesting.clone());
                violations.require(*agreed == nesting, place, || {
                    format!("{} is reached with different finishes open", target.block)
                });
            }
        }
    }
}

/// What is open at a place of a function.
#[derive(Clone, PartialEq, Eq, Default)]
struct Nesting {
    finishes: Vec<FinishKind>,
    isolated: bool,
}

impl Nesting {
    fn follow(&mut self, op: &Op, parallel: &[bool]) -> Result<(), &'static str> {
        if self.isolated && (is_task_operation(op) || *op == Op::IsolatedBegin) {
            return Err("something parallel happens inside an isolated block");
        }
        match op {
            Op::FinishBegin(FinishKind::Root) | Op::FinishEnd(FinishKind::Root) => {
                return Err("only the machine opens and closes the root finish");
            }
            Op::FinishBegin(FinishKind::Dynamic) | Op::FinishEnd(FinishKind::Dynamic) => {}
            Op::FinishBegin(kind) => self.finishes.push(*kind),
            Op::FinishEnd(kind) if self.finishes.last() == Some(kind) => {
                self.finishes.pop();
            }
            Op::FinishEnd(_) => return Err("closes a finish that is not the innermost"),
            Op::Sync if self.finishes.is_empty() => return Err("sync outside a finish"),
            Op::IsolatedBegin => self.isolated = true,
            Op::IsolatedEnd if self.isolated => self.isolated = false,
            Op::IsolatedEnd => return Err("the end of no isolated block"),
            Op::Call { function, .. } if self.isolated && parallel[function.index()] => {
                return Err("something parallel is called inside an isolated block");
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether an operation begins a new step of its task and may not stand in an isolated block.
pub(super) fn is_task_operation(op: &Op) -> bool {
    matches!(
        op,
        Op::Spawn { .. }
            | Op::FinishBegin(_)
            | Op::FinishEnd(_)
            | Op::Sync
            | Op::Acquire(_)
            | Op::Release(_)
            | Op::PromiseGet(_)
    )
}

/// By function: whether it contains anything parallel, or calls something that does.
fn parallel_functions(module: &Module) -> Vec<bool> {
    let mut parallel = vec![false; module.functions.len()];
    let mut callers = vec![Vec::new(); module.functions.len()];
    let mut reached = Vec::new();
    for (index, function) in module.functions.iter().enumerate() {
        for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
            match &instruction.op {
                Op::Call { function, .. } => callers[function.index()].push(index),
                op if is_task_operation(op) || *op == Op::IsolatedBegin => reached.push(index),
                _ => {}
            }
        }
    }
    while let Some(index) = reached.pop() {
        if !std::mem::replace(&mut parallel[index], true) {
            reached.extend(&callers[index]);
        }
    }
    parallel
}

/// Every construct used is in the module's list: detectors are chosen by it.
fn announced(
    module: &Module,
    function: &Function,
    place: CodePosition,
    violations: &mut Violations,
) {
    for (index, block) in function.blocks.iter().enumerate() {
        for (position, instruction) in block.instructions.iter().enumerate() {
            let one_of: &[Construct] = match &instruction.op {
                Op::Spawn { construct, .. } => std::slice::from_ref(construct),
                Op::FinishBegin(FinishKind::Lexical) => &[Construct::Finish, Construct::Forall],
                Op::FinishBegin(FinishKind::Dynamic) => &[Construct::BeginFinish],
                Op::FinishBegin(FinishKind::SyncScope) => &[Construct::Spawn, Construct::Sync],
                Op::Sync => &[Construct::Sync],
                Op::IsolatedBegin => &[Construct::Isolated],
                Op::Acquire(_) | Op::Release(_) => &[Construct::Lock],
                Op::PromiseSet { .. } | Op::PromiseGet(_) => {
                    &[Construct::Promise, Construct::Future]
                }
                _ => continue,
            };
            let found = one_of
                .iter()
                .any(|construct| module.uses(*construct).is_some());
            violations.require(found, place.block(index).instruction(position), || {
                format!("{} is not in the list of constructs", one_of[0].word())
            });
        }
    }
}
