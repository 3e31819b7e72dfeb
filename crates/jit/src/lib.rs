//! Fin as machine code.
//!
//! ```text
//! Module ─ code ─► Cranelift ─ compile ─► machine code ─┐
//!                            runtime ◄─ calls ──────────┴─ checks inline ─► cells in the heap
//! ```
//!
//! - [`run`], [`check`], [`tell`]: a program compiled and run depth-first, unchecked, under a detector, or told to a
//!   listener in every detail. What a program does, tells and fails by is what the reference interpreter
//!   ([`finishline_ir::machine`]) says; the suites compare them.
//! - [`checker`]: what a check is compiled to, and for whom.
//! - `code`: from the IR to Cranelift's. `compile`: the module as a whole.
//! - `runtime`: what compiled code calls. [`heap`]: objects, their shadow cells, and the collector.
//!
//! It needs x86-64 and Linux.

mod checker;
mod code;
mod compile;
pub mod heap;
mod runtime;

pub use compile::CompileError;
pub use runtime::End;

use checker::{Checker, Inlined, Told, Unchecked};
use finishline_detect::order::{EspBags, SpBags};
use finishline_detect::{Failure, Findings};
use finishline_ir::Module;
use finishline_ir::listener::Listener;
use finishline_ir::machine::{Datum, Limits};
use finishline_model::Detector;
use runtime::Run;
use std::io::Write;
use std::sync::atomic::AtomicU64;

/// A verified program with its arguments, as many as `main` has parameters and of their types.
#[derive(Clone, Copy)]
pub struct Program<'a> {
    pub module: &'a Module,
    pub arguments: &'a [Datum],
    pub limits: Limits,
    /// The tasks created so far, for whoever shows progress.
    pub progress: &'a AtomicU64,
}

impl Program<'_> {
    fn run<C: Checker>(
        &self,
        checker: &mut C,
        output: &mut dyn Write,
    ) -> Result<End, CompileError> {
        let compiled = compile::compile::<C>(self.module, self.limits)?;
        let run = Run {
            module: self.module,
            arguments: self.arguments,
            limits: self.limits,
            checker,
            output,
            progress: self.progress,
        };
        Ok(run.run(compiled.entry()))
    }
}

/// Runs a program; nobody listens.
pub fn run(program: Program, output: &mut dyn Write) -> Result<End, CompileError> {
    program.run(&mut Unchecked, output)
}

/// Runs a program and tells a listener everything.
pub fn tell(
    program: Program,
    listener: &mut impl Listener,
    output: &mut dyn Write,
) -> Result<End, CompileError> {
    program.run(&mut Told(listener), output)
}

/// Runs a program under a detector, its fast path inline. None if the detector has no such form.
pub fn check(
    program: Program,
    detector: Detector,
    output: &mut dyn Write,
) -> Option<Result<(End, Result<Findings, Failure>), CompileError>> {
    match detector {
        Detector::SpBags => Some(inlined::<SpBags>(program, output)),
        Detector::EspBags => Some(inlined::<EspBags>(program, output)),
        Detector::Oracle => None,
    }
}

fn inlined<O: finishline_detect::order::Order>(
    program: Program,
    output: &mut dyn Write,
) -> Result<(End, Result<Findings, Failure>), CompileError> {
    let mut checker = match Inlined::<O>::new() {
        Ok(checker) => checker,
        // Without its memory a detector can't judge, but the program can run.
        Err(failure) => return Ok((program.run(&mut Unchecked, output)?, Err(failure))),
    };
    let end = program.run(&mut checker, output)?;
    Ok((end, checker.finish()))
}
