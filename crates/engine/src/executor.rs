//! Runs a program as machine code or by the reference interpreter.
//!
//! Both make the same events and fail in the same way. If a program can't be compiled, the
//! interpreter runs it, which is much slower. [`Forms::not_compiled`] says why.
//!
//! Forms of the program are made when they are first needed. Checks are removed from the form for a
//! detector's first pass ([`finishline_opt::reduce`]), even if that form is interpreted. A program
//! that is compiled is optimised first ([`finishline_opt::for_speed`]).
//!
//! Some passes that remove checks are right only if the program does not fail. After a failed run
//! the first pass is repeated without these passes and without output. Only the repeated run is
//! believed.

use crate::cooperative::Cooperative;
use crate::depth_first::DepthFirst;
use crate::explore::order_script::OrderScript;
use crate::run::{self, End, Outcome};
use finishline_detect::detectors::{self, Drive, Uses};
use finishline_detect::parallel::Trust;
use finishline_detect::{Failure, Findings};
use finishline_ir::Module;
use finishline_ir::listener::{EventsAlone, Listener};
use finishline_ir::machine::{Datum, Limits, Trap};
use finishline_jit::CompileError;
use finishline_model::{AccessId, Detector, Observer, Pass, Passes, Statistics};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Executor {
    /// Compiled code.
    #[default]
    Compiled,
    /// The reference interpreter.
    Interpreted,
}

/// A program in the forms that runs need.
pub struct Forms<'m> {
    executor: Executor,
    module: &'m Module,
    /// The passes that remove checks from the first pass.
    passes: Passes,
    /// The accesses that race with nothing, for the arguments at hand.
    harmless: BTreeSet<AccessId>,
    /// On how many threads a first pass runs.
    threads: usize,
    unproved: OnceCell<Module>,
    reduced: OnceCell<Module>,
    fast: OnceCell<Module>,
    fast_reduced: OnceCell<Module>,
    not_compiled: OnceCell<CompileError>,
    /// The order of isolated and locked blocks in which a run on several threads had a race that
    /// the run on one thread has not.
    other_order: OnceCell<OrderScript>,
}

/// The input of a run, and the counter of its progress.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) arguments: &'a [Datum],
    pub(crate) limits: Limits,
    pub(crate) progress: &'a AtomicU64,
}

impl<'m> Forms<'m> {
    pub fn new(module: &'m Module, executor: Executor, passes: Passes) -> Self {
        Forms {
            executor,
            module,
            passes,
            harmless: BTreeSet::new(),
            threads: 1,
            unproved: OnceCell::new(),
            reduced: OnceCell::new(),
            fast: OnceCell::new(),
            fast_reduced: OnceCell::new(),
            not_compiled: OnceCell::new(),
            other_order: OnceCell::new(),
        }
    }

    /// Adds accesses that are proved to race with nothing in a run with the given arguments. They
    /// are not checked if [`Pass::Proved`] is among the passes.
    #[must_use]
    pub fn with_harmless(self, harmless: BTreeSet<AccessId>) -> Self {
        Forms { harmless, ..self }
    }

    /// Runs first passes on as many threads. The detector must be [one for that](on_threads).
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Forms { threads, ..self }
    }

    /// Why the program was interpreted instead of compiled, if it was.
    pub fn not_compiled(&self) -> Option<&CompileError> {
        self.not_compiled.get()
    }

    /// The order of isolated and locked blocks in which a run on several threads had a race, if the
    /// run on one thread has none.
    pub(crate) fn other_order(&self) -> Option<&OrderScript> {
        self.other_order.get()
    }

    /// The same forms for runs on one thread.
    pub(crate) fn alone(&self) -> Forms<'m> {
        let alone = Forms::new(self.module, self.executor, self.passes);
        alone.with_harmless(self.harmless.clone())
    }

    /// The result of a compiled run. None if the program could not be compiled.
    fn noted<T>(&self, run: Result<T, CompileError>) -> Option<T> {
        run.map_err(|error| self.not_compiled.get_or_init(|| error))
            .ok()
    }

    pub(crate) fn module(&self) -> &'m Module {
        self.module
    }

    pub(crate) fn passes(&self) -> Passes {
        self.passes
    }

    /// The program that a first pass runs.
    pub(crate) fn checked(&self) -> &Module {
        match self.executor {
            Executor::Compiled => self.fast_reduced(),
            Executor::Interpreted => self.reduced(),
        }
    }

    /// The program without the checks of accesses that are proved harmless.
    fn unproved(&self) -> &Module {
        if self.harmless.is_empty() || !self.passes.contains(Pass::Proved) {
            return self.module;
        }
        let make = || finishline_opt::without_proved(self.module, &self.harmless);
        self.unproved.get_or_init(make)
    }

    fn reduced(&self) -> &Module {
        let make = || finishline_opt::reduce(self.unproved(), self.passes);
        self.reduced.get_or_init(make)
    }

    pub(crate) fn fast(&self) -> &Module {
        let make = || finishline_opt::for_speed(self.module, Passes::NONE);
        self.fast.get_or_init(make)
    }

    pub(crate) fn fast_reduced(&self) -> &Module {
        let make = || finishline_opt::for_speed(self.unproved(), self.passes);
        self.fast_reduced.get_or_init(make)
    }

    /// Runs the program on as many threads without a listener. The interpreter has one.
    pub(crate) fn run(
        &self,
        input: Input,
        threads: usize,
        output: &mut (dyn Write + Send),
    ) -> Outcome {
        if self.executor == Executor::Compiled {
            let program = compiled(self.fast(), input);
            let run = finishline_jit::run(program, threads, output);
            if let Some(end) = self.noted(run) {
                return outcome(end);
            }
        }
        interpret(self.module, input, &mut (), output)
    }

    /// The failure of a run on one thread. An error if it does not fail, in words.
    pub(crate) fn failure_alone(&self, input: Input) -> Result<Trap, &'static str> {
        let program = compiled(self.fast(), input);
        match finishline_jit::run_for(program, PATIENCE, &mut io::sink()) {
            Ok(finishline_jit::End::Trapped(trap)) => Ok(trap),
            Ok(finishline_jit::End::Stopped) => Err("a run on one thread does not end in time"),
            _ => Err("a run on one thread does not fail"),
        }
    }

    /// Runs the program and tells a listener every event.
    pub(crate) fn tell(
        &self,
        input: Input,
        listener: &mut impl Listener,
        output: &mut (dyn Write + Send),
    ) -> Outcome {
        self.tell_form(Form::Whole, input, listener, output)
    }

    /// Runs the program and tells a listener the events and accesses that a detector would hear.
    /// Compiled code leaves out tasks in which nothing is checked, and accesses that a step
    /// repeats. The statistics count them. Also returns whether two steps may have accessed the
    /// same location.
    pub(crate) fn record(
        &self,
        input: Input,
        listener: &mut impl Listener,
        output: &mut (dyn Write + Send),
    ) -> (Outcome, Statistics, bool) {
        if self.executor == Executor::Compiled {
            let program = compiled(self.fast_reduced(), input);
            let run = finishline_jit::record(program, listener, output);
            if let Some(run) = self.noted(run) {
                return (outcome(run.end), run.statistics, run.shares);
            }
        }
        let mut did = Statistics::default();
        let listener = &mut (listener, EventsAlone(&mut did));
        let outcome = interpret(self.checked(), input, listener, output);
        (outcome, did, true)
    }

    /// The program with the passes that are right for failed runs.
    pub(crate) fn believed(&self) -> Forms<'m> {
        let believed = finishline_opt::HOLD_IN_FAILED_RUNS;
        let passes = self.passes.intersection(believed);
        let again = Forms::new(self.module, self.executor, passes);
        again.with_harmless(self.harmless.clone())
    }

    fn tell_form(
        &self,
        form: Form,
        input: Input,
        listener: &mut impl Listener,
        output: &mut (dyn Write + Send),
    ) -> Outcome {
        let (plain, fast): (&Module, fn(&Self) -> &Module) = match form {
            Form::Whole => (self.module, Self::fast),
            Form::Reduced => (self.reduced(), Self::fast_reduced),
        };
        if self.executor == Executor::Compiled {
            let run = finishline_jit::tell(compiled(fast(self), input), listener, output);
            if let Some(end) = self.noted(run) {
                return outcome(end);
            }
        }
        interpret(plain, input, listener, output)
    }

    /// Runs the program under a detector. Returns how the run ended, and the findings or the
    /// detector's failure.
    pub(crate) fn first_pass(
        &self,
        detector: Detector,
        input: Input,
        output: &mut (dyn Write + Send),
    ) -> (Outcome, Result<Findings, Failure>) {
        if self.threads > 1
            && let Some(pass) = self.parallel_pass(detector, input, output)
        {
            return pass;
        }
        let (outcome, findings) = self.only_pass(detector, input, output);
        let again = self.believed();
        if outcome.trap().is_none() || again.passes == self.passes {
            return (outcome, findings);
        }
        drop(findings);
        again.only_pass(detector, input, &mut io::sink())
    }

    /// A first pass on several threads. None if the program could not be compiled.
    ///
    /// Locations have other numbers in each such run, a race may keep it from ending, and which
    /// task fails first may change. So a run that finds a race or fails only says that there is
    /// something to find: it is repeated on one thread. What it printed is kept back until then.
    fn parallel_pass(
        &self,
        detector: Detector,
        input: Input,
        output: &mut (dyn Write + Send),
    ) -> Option<(Outcome, Result<Findings, Failure>)> {
        let program = compiled(self.fast_reduced(), input);
        let crew = finishline_jit::CheckingCrew {
            workers: self.threads,
            one_race: true,
            trust: Trust::Earned,
        };
        let prepared = finishline_jit::prepare_parallel_check(program, detector, crew)?;
        let mut printed = Vec::new();
        let (end, findings) = self.noted(prepared)?.run(&mut printed);
        let found = findings.as_ref().ok();
        let races = found.is_some_and(|found| !found.racing.is_empty());
        if !races && matches!(end, finishline_jit::End::Finished) {
            let written = output.write_all(&printed).and_then(|()| output.flush());
            let end = written.map_or_else(finishline_jit::End::OutputError, |()| end);
            return Some((outcome(end), findings));
        }
        let blocks = findings.ok().and_then(|found| found.blocks);
        let (outcome, findings) = self.alone().first_pass(detector, input, output);
        let lost = races && findings.as_ref().is_ok_and(|found| found.racing.is_empty());
        if !lost {
            return Some((outcome, findings));
        }
        if let Some(blocks) = blocks {
            let script = OrderScript::new(blocks.into_iter());
            self.other_order.get_or_init(|| script);
        }
        // Alone it fails before it gets to the race.
        if outcome.trap().is_some() {
            return Some((outcome, findings));
        }
        Some((outcome, Err(Failure::Unsupported(RACE_OF_ONE_SCHEDULE))))
    }

    fn only_pass(
        &self,
        detector: Detector,
        input: Input,
        output: &mut (dyn Write + Send),
    ) -> (Outcome, Result<Findings, Failure>) {
        if self.executor == Executor::Compiled {
            let program = compiled(self.fast_reduced(), input);
            let run = finishline_jit::check(program, detector, output);
            if let Some((end, findings)) = run.and_then(|run| self.noted(run)) {
                return (outcome(end), findings);
            }
        }
        let mut heard = None;
        let run = Heard {
            forms: self,
            form: match detector {
                Detector::Oracle => Form::Whole,
                Detector::SpBags
                | Detector::EspBags
                | Detector::Drdp
                | Detector::Spd3
                | Detector::Ptracer
                | Detector::CRacer
                | Detector::FastTrack
                | Detector::FastRacer
                | Detector::Finishline => Form::Reduced,
            },
            input,
            output,
            outcome: &mut heard,
        };
        let findings = detectors::first_pass(detector, uses(self.module), run);
        let findings = findings.map(|((), findings)| findings);
        // A detector that could not start has not run the program. Run it without the detector to
        // know the outcome.
        let outcome = heard.unwrap_or_else(|| self.run(input, 1, output));
        (outcome, findings)
    }
}

/// The time for a run on one thread that is to fail as the one on several threads did.
const PATIENCE: Duration = Duration::from_secs(5);

/// Another order of isolated or locked blocks leads to it.
const RACE_OF_ONE_SCHEDULE: &str = "a race that a run on several threads has and one alone has not";

/// Whether a detector can check a program while it runs on several threads.
pub fn on_threads(detector: Detector) -> bool {
    detectors::runs_on_threads(detector)
}

/// The form of the program that a listener hears: with all checks, or without the removed ones.
#[derive(Clone, Copy)]
enum Form {
    Whole,
    Reduced,
}

/// A first pass whose detector hears accesses as events. A detector that fails does not return the
/// outcome of the run, so the outcome is stored here.
struct Heard<'a, 'm> {
    forms: &'a Forms<'m>,
    /// The oracle hears every access. So it also judges accesses that the other detectors do not
    /// check.
    form: Form,
    input: Input<'a>,
    output: &'a mut (dyn Write + Send),
    outcome: &'a mut Option<Outcome>,
}

impl Drive for Heard<'_, '_> {
    type Output = ();

    fn drive(self, observer: &mut impl Observer) {
        let listener = &mut EventsAlone(observer);
        let outcome = self
            .forms
            .tell_form(self.form, self.input, listener, self.output);
        *self.outcome = Some(outcome);
    }
}

pub(crate) fn compiled<'a>(module: &'a Module, input: Input<'a>) -> finishline_jit::Program<'a> {
    finishline_jit::Program {
        module,
        arguments: input.arguments,
        limits: input.limits,
        progress: input.progress,
    }
}

pub(crate) fn outcome(end: finishline_jit::End) -> Outcome {
    let result = match end {
        finishline_jit::End::Finished => End::Finished,
        finishline_jit::End::Trapped(trap) => End::Trapped(trap),
        finishline_jit::End::OutputError(error) => End::OutputError(error),
        finishline_jit::End::Stopped => unreachable!("the run is repeated"),
    };
    Outcome {
        result,
        steps: None,
    }
}

fn interpret(
    module: &Module,
    input: Input,
    listener: &mut impl Listener,
    output: &mut (dyn Write + Send),
) -> Outcome {
    let program = run::Program {
        module,
        arguments: input.arguments,
        limits: input.limits,
    };
    let progress = input.progress;
    match uses(module).turns() {
        true => {
            let mut schedule = Cooperative::default();
            run::run_for(u64::MAX, program, &mut schedule, listener, output, progress)
        }
        false => {
            let mut schedule = DepthFirst::default();
            run::run_for(u64::MAX, program, &mut schedule, listener, output, progress)
        }
    }
}

/// What a program may do, as far as it decides how it is run and judged.
pub(crate) fn uses(module: &Module) -> Uses {
    Uses::of(|construct| module.uses(construct).is_some())
}
