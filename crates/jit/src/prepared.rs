//! Programs compiled for this processor, each for one kind of checker.

use crate::checker::{Checker, Inlined, Told, Unchecked};
use crate::compile::{self, Compiled};
use crate::runtime::Run;
use crate::runtime::cooperative::Cooperative;
use crate::runtime::depth_first::DepthFirst;
use crate::waiting::has_promises;
use crate::{Checked, CompileError, End, Prepared, Program};
use finishline_detect::order::{EspBags, Labelled, Order, SpBags};
use finishline_ir::listener::Listener;
use finishline_model::Detector;
use std::io::Write;
use std::marker::PhantomData;

/// A program compiled for one kind of checker.
pub(crate) struct Code<'a, C> {
    program: Program<'a>,
    /// Whether it is compiled for a cooperative run, or for a depth-first one.
    cooperative: bool,
    compiled: Compiled<'a>,
    checker: PhantomData<fn(C)>,
}

impl<'a, C: Checker> Code<'a, C> {
    pub(crate) fn new(program: Program<'a>) -> Result<Self, CompileError> {
        let cooperative = has_promises(program.module);
        Ok(Code {
            program,
            cooperative,
            compiled: match cooperative {
                true => compile::compile::<C, Cooperative>(program.module, program.limits)?,
                false => compile::compile::<C, DepthFirst>(program.module, program.limits)?,
            },
            checker: PhantomData,
        })
    }

    pub(crate) fn run(&self, checker: &mut C, output: &mut dyn Write) -> End {
        let run = Run {
            module: self.program.module,
            arguments: self.program.arguments,
            limits: self.program.limits,
            checker,
            output,
            progress: self.program.progress,
        };
        match self.cooperative {
            true => run.run::<Cooperative>(&self.compiled.code),
            false => run.run::<DepthFirst>(&self.compiled.code),
        }
    }
}

/// Compiles a program for a run to which nobody listens.
pub fn prepare(program: Program) -> Result<Prepared<End>, CompileError> {
    let code = Code::new(program)?;
    Ok(Prepared(Box::new(move |output| {
        code.run(&mut Unchecked, output)
    })))
}

/// Compiles a program for a run under a detector, its fast path inline. None if the detector has no
/// such form.
pub fn prepare_check(
    program: Program,
    detector: Detector,
) -> Option<Result<Prepared<Checked>, CompileError>> {
    match detector {
        Detector::SpBags => Some(inlined::<SpBags>(program)),
        Detector::EspBags => Some(inlined::<EspBags>(program)),
        Detector::Finishline => Some(inlined::<Labelled>(program)),
        Detector::Drdp | Detector::Oracle => None,
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

/// Runs a program and tells a listener everything.
pub fn tell(
    program: Program,
    listener: &mut impl Listener,
    output: &mut dyn Write,
) -> Result<End, CompileError> {
    Ok(Code::new(program)?.run(&mut Told(listener), output))
}
