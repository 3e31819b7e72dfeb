//! Proofs: no check for an access that was proved to race with nothing.
//!
//! **What is removed.** The checks of a set of accesses, outside isolated blocks. Somebody else has
//! proved these *harmless* for the very arguments of the run: no instance of one, whichever is
//! made, races with any access, another instance of itself included.
//!
//! **Why that is exact.** No harmless access is half of a racing pair, so to leave it out takes no
//! pair of racing accesses away, adds none and reorders none: the racing locations are by
//! definition the same.
//!
//! In isolated blocks there is more at stake than races. Two accesses there that conflict never
//! race, but the result may depend on which block runs first, and the verdict says so. So what can
//! be made in an isolated block is checked, in functions that are called there as well.
//!
//! A history that forgets does not err for it. What is left are the events of the same tasks with
//! fewer accesses, and detectors are exact on those as on any. To see it at a cell: a harmless
//! write w would have taken the place of an earlier writer v, which now stays. Both write, so v
//! precedes w; every later access x conflicts with w, so w precedes x, and so does v: nothing later
//! finds v parallel. A harmless read takes the place of a reader only if that precedes it, and so
//! both precede every later write.
//!
//! **Failures.** A proof is about every instance that the program could make, so it holds for those
//! made before a failure.
//!
//! It is made before all other passes, which have less to do then. Linear in the program.

use super::liveness::operations;
use super::note;
use finishline_ir::{Function, Module, Op};
use finishline_model::{AccessId, Pass};
use std::collections::BTreeSet;

/// The program without the checks of harmless accesses, for [`reduce`](crate::reduce) or
/// [`for_speed`](crate::for_speed) to go on with.
pub fn without_proved(module: &Module, harmless: &BTreeSet<AccessId>) -> Module {
    let mut module = module.clone();
    let called = called_in_isolated_blocks(&module);
    let Module {
        functions,
        unchecked,
        ..
    } = &mut module;
    for (function, called) in functions.iter_mut().zip(called) {
        if called {
            continue;
        }
        let isolated = isolated_on_entry(function);
        for (block, mut isolated) in function.blocks.iter_mut().zip(isolated) {
            block.instructions.retain(|instruction| {
                isolated = isolated_behind(&instruction.op, isolated);
                match instruction.op {
                    Op::Check { access, .. } if !isolated && harmless.contains(&access) => {
                        note(unchecked, access, Pass::Proved);
                        false
                    }
                    _ => true,
                }
            });
        }
    }
    module
}

fn isolated_behind(op: &Op, before: bool) -> bool {
    match op {
        Op::IsolatedBegin => true,
        Op::IsolatedEnd => false,
        _ => before,
    }
}

/// By block, whether control comes to it inside an isolated block: always or never, as the verifier
/// demands.
fn isolated_on_entry(function: &Function) -> Vec<bool> {
    let mut isolated = vec![None; function.blocks.len()];
    let mut waiting = vec![(Function::ENTRY, false)];
    while let Some((id, on_entry)) = waiting.pop() {
        if isolated[id.index()].replace(on_entry).is_some() {
            continue;
        }
        let block = function.block(id);
        let ops = block.instructions.iter().map(|instruction| &instruction.op);
        let behind = ops.fold(on_entry, |isolated, op| isolated_behind(op, isolated));
        let targets = block.terminator.targets();
        waiting.extend(targets.map(|target| (target.block, behind)));
    }
    isolated
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect()
}

/// By function, whether it may be called in an isolated block.
fn called_in_isolated_blocks(module: &Module) -> Vec<bool> {
    let mut waiting = Vec::new();
    for function in &module.functions {
        let isolated = isolated_on_entry(function);
        for (block, mut isolated) in function.blocks.iter().zip(isolated) {
            for instruction in &block.instructions {
                isolated = isolated_behind(&instruction.op, isolated);
                if let (true, Op::Call { function, .. }) = (isolated, &instruction.op) {
                    waiting.push(*function);
                }
            }
        }
    }
    let mut called = vec![false; module.functions.len()];
    while let Some(id) = waiting.pop() {
        if !std::mem::replace(&mut called[id.index()], true) {
            let calls = operations(module.function(id)).filter_map(|op| match op {
                Op::Call { function, .. } => Some(*function),
                _ => None,
            });
            waiting.extend(calls);
        }
    }
    called
}
