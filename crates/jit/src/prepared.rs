//! Programs compiled for this processor, each for one kind of checker.

use crate::checker::{Checker, Inlined, Told, Unchecked};
use crate::compile::{self, Compiled};
use crate::recording::Recording;
use crate::runtime::Run;
use crate::runtime::cooperative::Cooperative;
use crate::runtime::depth_first::DepthFirst;
use crate::waiting::tasks_may_wait;
use crate::{Checked, CompileError, End, Prepared, Program, Recorded};
use finishline_detect::detectors::{Make, Uses, make};
use finishline_detect::history::History;
use finishline_detect::order::Order;
use finishline_detect::parallel::{SharedHistory, SharedOrder};
use finishline_ir::listener::Listener;
use finishline_model::{Construct, Detector};
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
        let cooperative = tasks_may_wait(program.module);
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

    pub(crate) fn run(&self, checker: &mut C, output: &mut (dyn Write + Send)) -> End {
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
    let uses = Uses {
        locks: program.module.uses(Construct::Lock).is_some(),
        // Cells are the same with isolated blocks and without.
        ..Uses::default()
    };
    make(detector, uses, WithInlineChecks(program))
}

struct WithInlineChecks<'a>(Program<'a>);

impl<'a> Make for WithInlineChecks<'a> {
    type Output = Option<Result<Prepared<'a, Checked>, CompileError>>;

    fn depth_first<O: Order + 'static, First: History, Second: History>(self) -> Self::Output {
        Some(inlined::<O>(self.0))
    }

    fn any_order<O: Order + 'static>(self) -> Self::Output {
        Some(inlined::<O>(self.0))
    }

    fn listed<O: Order>(self) -> Self::Output {
        None
    }

    fn shared<O: SharedOrder, H: SharedHistory<O>>(self) -> Self::Output {
        None
    }

    fn oracle(self) -> Self::Output {
        None
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

/// Compiles a program for a run that a listener is told of. The listener comes back.
pub fn prepare_told<'a, L: Listener + 'a>(
    program: Program<'a>,
    listener: L,
) -> Result<Prepared<'a, (End, L)>, CompileError> {
    let code = Code::new(program)?;
    Ok(Prepared(Box::new(move |output| {
        let mut told = Told(listener);
        let end = code.run(&mut told, output);
        (end, told.0)
    })))
}

/// Runs a program and tells a listener everything.
pub fn tell(
    program: Program,
    listener: &mut impl Listener,
    output: &mut (dyn Write + Send),
) -> Result<End, CompileError> {
    Ok(Code::new(program)?.run(&mut Told(listener), output))
}

/// Runs a program and tells a listener of tasks in which something is checked, of objects, and of
/// the first access of each step to each location. All accesses are counted.
pub fn record(
    program: Program,
    listener: &mut impl Listener,
    output: &mut (dyn Write + Send),
) -> Result<Recorded, CompileError> {
    let mut recording = Recording::new(listener);
    let end = Code::new(program)?.run(&mut recording, output);
    Ok(Recorded {
        end,
        statistics: recording.statistics,
        shares: recording.shares,
    })
}
