//! Programs compiled for this processor, each for one kind of checker.

use crate::checker::{Checker, Concurrent, Inlined, Together, Told, Unchecked};
use crate::compile::{self, Compiled};
use crate::recording::Recording;
use crate::runtime::Run;
use crate::runtime::cooperative::Cooperative;
use crate::runtime::depth_first::DepthFirst;
use crate::runtime::parallel::Parallel;
use crate::runtime::schedule::Manner;
use crate::waiting::tasks_may_wait;
use crate::{Checked, CheckingCrew, CompileError, End, Prepared, Program, Recorded, ToldRun};
use finishline_detect::Findings;
use finishline_detect::detectors::{Make, MakeShared, Uses, make, on_threads};
use finishline_detect::history::History;
use finishline_detect::order::Order;
use finishline_detect::parallel::{Shared, SharedHistory, SharedOrder, Worker};
use finishline_ir::listener::Listener;
use finishline_model::{Construct, Detector};
use std::io::Write;
use std::marker::PhantomData;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// A program compiled for one kind of checker.
pub(crate) struct Code<'a, C> {
    program: Program<'a>,
    manner: Manner,
    compiled: Compiled<'a>,
    checker: PhantomData<fn(C)>,
}

impl<'a, C: Checker> Code<'a, C> {
    /// Compiled for one worker.
    pub(crate) fn new(program: Program<'a>) -> Result<Self, CompileError> {
        let manner = match tasks_may_wait(program.module) {
            true => Manner::Cooperative,
            false => Manner::DepthFirst,
        };
        Code::in_manner(program, manner)
    }

    fn in_manner(program: Program<'a>, manner: Manner) -> Result<Self, CompileError> {
        let Program { module, limits, .. } = program;
        let compiled = match manner {
            Manner::Cooperative => compile::compile::<C, Cooperative>(module, limits)?,
            Manner::DepthFirst => compile::compile::<C, DepthFirst>(module, limits)?,
            Manner::Parallel => compile::compile::<C, Parallel>(module, limits)?,
        };
        Ok(Code {
            program,
            manner,
            compiled,
            checker: PhantomData,
        })
    }

    pub(crate) fn run(&self, checker: &mut C, output: &mut (dyn Write + Send)) -> End {
        let (run, code) = (self.start(checker, output), &self.compiled.code);
        match self.manner {
            Manner::Cooperative => run.run::<Cooperative>(code),
            Manner::DepthFirst => run.run::<DepthFirst>(code),
            Manner::Parallel => unreachable!("a parallel run has a checker for each worker"),
        }
    }

    fn start<'r>(&'r self, checker: &'r mut C, output: &'r mut (dyn Write + Send)) -> Run<'r, C> {
        self.start_with(checker, output)
    }

    /// The same with a checker that differs from the one of the code by a lifetime alone.
    fn start_with<'r, D>(
        &'r self,
        checker: &'r mut D,
        output: &'r mut (dyn Write + Send),
    ) -> Run<'r, D> {
        Run {
            module: self.program.module,
            arguments: self.program.arguments,
            limits: self.program.limits,
            checker,
            output,
            progress: self.program.progress,
        }
    }
}

/// Compiles a program for a run on several workers to which nobody listens.
pub fn prepare_parallel(program: Program, workers: usize) -> Result<Prepared<End>, CompileError> {
    if workers <= 1 {
        return prepare(program);
    }
    let code = Code::in_manner(program, Manner::Parallel)?;
    Ok(Prepared(Box::new(move |output| {
        let mut others: Vec<Unchecked> = (1..workers).map(|_| Unchecked).collect();
        let mut first = Unchecked;
        let run = code.start(&mut first, output);
        run.run_parallel(&code.compiled.code, &mut others)
    })))
}

/// Compiles a program for a run to which nobody listens.
pub fn prepare(program: Program) -> Result<Prepared<End>, CompileError> {
    let code = Code::new(program)?;
    Ok(Prepared(Box::new(move |output| {
        code.run(&mut Unchecked, output)
    })))
}

/// Runs a program on one worker for at most so long.
pub fn run_for(
    program: Program,
    time: Duration,
    output: &mut (dyn Write + Send),
) -> Result<End, CompileError> {
    let code = Code::in_manner(program, Manner::Parallel)?;
    let executable = &code.compiled.code;
    // Holds whether the run has ended.
    let (state, changed) = (Mutex::new(false), Condvar::new());
    Ok(thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let ended = state.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = changed.wait_timeout_while(ended, time, |ended| !*ended);
            let (ended, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if !*ended {
                executable.stop();
            }
            !*ended
        });
        let mut checker = Unchecked;
        let end = code.start(&mut checker, output);
        let end = end.run_parallel(executable, &mut []);
        *state.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
        match (watch.join(), end) {
            (Ok(true), End::Finished) => End::Stopped,
            (_, end) => end,
        }
    }))
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

/// Compiles a program for a run on several workers under a detector, which may end with the first
/// race. None if the detector has no such form.
pub fn prepare_parallel_check(
    program: Program,
    detector: Detector,
    crew: CheckingCrew,
) -> Option<Result<Prepared<Checked>, CompileError>> {
    on_threads(detector, OnWorkers { program, crew })
}

struct OnWorkers<'a> {
    program: Program<'a>,
    crew: CheckingCrew,
}

impl<'a> MakeShared for OnWorkers<'a> {
    type Output = Result<Prepared<'a, Checked>, CompileError>;

    fn shared<O: SharedOrder + 'static, H: SharedHistory<O> + 'static>(self) -> Self::Output {
        let OnWorkers { program, crew } = self;
        let CheckingCrew {
            workers,
            one_race,
            mut trust,
        } = crew;
        let code = Code::<Concurrent<'static, O, H>>::in_manner(program, Manner::Parallel)?;
        let uses = Uses::of(|construct| program.module.uses(construct).is_some());
        Ok(Prepared(Box::new(move |output| {
            let counted = program.progress.load(Ordering::Relaxed);
            loop {
                let shared = Shared::<O, H>::new(uses, workers);
                let shared = shared.map(|shared| shared.with_trust(trust.clone()));
                let of_workers: Result<Vec<_>, _> = (0..workers).map(Worker::new).collect();
                let (shared, of_workers) = match (shared, of_workers) {
                    (Ok(shared), Ok(of_workers)) => (shared, of_workers),
                    // Without its memory a detector can't judge, but the program can run.
                    (Err(failure), _) | (_, Err(failure)) => {
                        return (run_unchecked(program, workers, output), Err(failure));
                    }
                };
                let checkers = of_workers.into_iter().map(|worker| Concurrent {
                    shared: &shared,
                    worker,
                    one_race,
                });
                let mut checkers: Vec<_> = checkers.collect();
                let Some((first, others)) = checkers.split_first_mut() else {
                    unreachable!("there is a worker")
                };
                // What it prints is kept back until it is known to count.
                let mut printed = Vec::new();
                let run = code.start_with(first, &mut printed);
                let end = run.run_parallel(&code.compiled.code, others);
                let of_workers = checkers.into_iter().map(|checker| checker.worker);
                let findings = Worker::together(&shared, of_workers.collect(), 0);
                let races = |found: &Findings| !found.racing.is_empty();
                let is_enough = one_race && findings.as_ref().is_ok_and(races);
                if let Some(less) = shared.after_deceit().filter(|_| !is_enough) {
                    trust = less;
                    program.progress.store(counted, Ordering::Relaxed);
                    continue;
                }
                let written = output.write_all(&printed).and_then(|()| output.flush());
                let end = match (end, written) {
                    (End::Finished, Err(error)) => End::OutputError(error),
                    (end, _) => end,
                };
                return (end, findings);
            }
        })))
    }
}

fn run_unchecked(program: Program, workers: usize, output: &mut (dyn Write + Send)) -> End {
    match prepare_parallel(program, workers) {
        Ok(prepared) => prepared.run(output),
        Err(_) => unreachable!("it was compiled with checks before"),
    }
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

/// Compiles a program once and makes these runs of it, whose listeners are told everything.
pub fn tell_parallel<L: Listener + Send + 'static>(
    program: Program,
    runs: &mut [ToldRun<L>],
) -> Result<(), CompileError> {
    let code = Code::<Together<'static, L>>::in_manner(program, Manner::Parallel)?;
    for run in runs {
        let mut first = Together(&run.listener);
        let others = (1..run.workers).map(|_| Together(&run.listener));
        let mut others: Vec<Together<'_, L>> = others.collect();
        let started = code.start_with(&mut first, &mut run.output);
        run.end = Some(started.run_parallel(&code.compiled.code, &mut others));
    }
    Ok(())
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
