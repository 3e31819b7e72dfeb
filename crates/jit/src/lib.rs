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
//! - [`prepare`], [`prepare_check`]: compiled now and run later, for whoever measures the two apart.
//! - [`checker`]: what a check is compiled to, and for whom.
//! - `code`: from the IR to Cranelift's. `compile`: the module as a whole.
//! - `runtime`: what compiled code calls. `heap`: objects, their shadow cells, and the collector.
//!
//! It needs x86-64 and Linux.

mod checker;
mod code;
mod compile;
mod heap;
mod runtime;
#[cfg(test)]
mod tests;

pub use compile::CompileError;
pub use runtime::End;

use checker::{Checker, Inlined, Told, Unchecked};
use compile::Compiled;
use finishline_detect::order::{EspBags, Order, SpBags};
use finishline_detect::{Failure, Findings};
use finishline_ir::Module;
use finishline_ir::listener::Listener;
use finishline_ir::machine::{Datum, Limits};
use finishline_model::Detector;
use runtime::Run;
use std::io::Write;
use std::marker::PhantomData;
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

/// A program compiled for one kind of checker.
struct Code<'a, C> {
    program: Program<'a>,
    compiled: Compiled<'a>,
    checker: PhantomData<fn(C)>,
}

impl<'a, C: Checker> Code<'a, C> {
    fn new(program: Program<'a>) -> Result<Self, CompileError> {
        Ok(Code {
            program,
            compiled: compile::compile::<C>(program.module, program.limits)?,
            checker: PhantomData,
        })
    }

    fn run(&self, checker: &mut C, output: &mut dyn Write) -> End {
        let run = Run {
            module: self.program.module,
            arguments: self.program.arguments,
            limits: self.program.limits,
            checker,
            output,
            progress: self.program.progress,
        };
        run.run(&self.compiled.code)
    }
}

type Work<'a, T> = dyn FnOnce(&mut dyn Write) -> T + 'a;

/// A program compiled, to be run once.
pub struct Prepared<'a, T>(Box<Work<'a, T>>);

impl<T> Prepared<'_, T> {
    pub fn run(self, output: &mut dyn Write) -> T {
        (self.0)(output)
    }
}

/// How a run under a detector ended, and what the detector found or why it could not judge.
pub type Checked = (End, Result<Findings, Failure>);

/// Compiles a program for a run to which nobody listens.
pub fn prepare(program: Program) -> Result<Prepared<End>, CompileError> {
    let code = Code::new(program)?;
    Ok(Prepared(Box::new(move |output| {
        code.run(&mut Unchecked, output)
    })))
}

/// Compiles a program for a run under a detector, its fast path inline. None if the detector has no such form.
pub fn prepare_check(
    program: Program,
    detector: Detector,
) -> Option<Result<Prepared<Checked>, CompileError>> {
    match detector {
        Detector::SpBags => Some(inlined::<SpBags>(program)),
        Detector::EspBags => Some(inlined::<EspBags>(program)),
        Detector::Oracle => None,
    }
}

fn inlined<O: Order + 'static>(program: Program) -> Result<Prepared<Checked>, CompileError> {
    let mut checker = match Inlined::<O>::new() {
        Ok(checker) => checker,
        // Without its memory a detector can't judge, but the program can run.
        Err(failure) => {
            let unchecked = prepare(program)?;
            return Ok(Prepared(Box::new(move |output| {
                (unchecked.run(output), Err(failure))
            })));
        }
    };
    let code = Code::new(program)?;
    Ok(Prepared(Box::new(move |output| {
        let end = code.run(&mut checker, output);
        (end, checker.finish())
    })))
}

/// Runs a program; nobody listens.
pub fn run(program: Program, output: &mut dyn Write) -> Result<End, CompileError> {
    Ok(prepare(program)?.run(output))
}

/// Runs a program and tells a listener everything.
pub fn tell(
    program: Program,
    listener: &mut impl Listener,
    output: &mut dyn Write,
) -> Result<End, CompileError> {
    Ok(Code::new(program)?.run(&mut Told(listener), output))
}

/// Runs a program under a detector, its fast path inline. None if the detector has no such form.
pub fn check(
    program: Program,
    detector: Detector,
    output: &mut dyn Write,
) -> Option<Result<Checked, CompileError>> {
    let prepared = prepare_check(program, detector)?;
    Some(prepared.map(|prepared| prepared.run(output)))
}
