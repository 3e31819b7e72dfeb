//! Runs a program as a check does: depth-first, or cooperatively if it uses promises.

use finishline_engine::cooperative::Cooperative;
use finishline_engine::depth_first::DepthFirst;
use finishline_engine::run::{self, Outcome, Program};
use finishline_ir::Construct;
use finishline_ir::listener::Listener;
use std::sync::atomic::AtomicU64;

/// Runs a program for at most `fuel` steps. Its output is dropped.
pub(crate) fn run_for(fuel: u64, program: Program<'_>, listener: &mut impl Listener) -> Outcome {
    let (output, progress) = (&mut std::io::sink(), &AtomicU64::new(0));
    let is_used = |construct| program.module.uses(construct).is_some();
    let waits = [Construct::Promise, Construct::Future, Construct::Lock];
    if waits.into_iter().any(is_used) {
        let mut schedule = Cooperative::default();
        run::run_for(fuel, program, &mut schedule, listener, output, progress)
    } else {
        let mut schedule = DepthFirst::default();
        run::run_for(fuel, program, &mut schedule, listener, output, progress)
    }
}
