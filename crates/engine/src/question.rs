//! A program with its input, and the depth-first runs that answer questions about it.
//!
//! A depth-first run is deterministic: every repetition has the same events. Only the first run
//! prints. The others find out more without output. The system's memory can still differ between
//! runs. So the end of a repeated run is compared with that of the first ([`Ending`]) before
//! anything is concluded from it.

use crate::check;
use crate::commuting;
use crate::executor::{Forms, Input, uses};
use crate::explore::order_script::OrderScript;
use crate::explore::orders_that_differ;
use crate::explore::scheduled::{self, Departure, Scheduled};
use crate::run::Program;
use crate::suppressions::Suppressions;
use finishline_answer::shell_word;
use finishline_detect::detectors::Drive;
use finishline_detect::{Failure, Findings};
use finishline_ir::listener::{EventsAlone, Listener};
use finishline_ir::machine::{Datum, Limits, Trap};
use finishline_ir::{ConstructUse, Module};
use finishline_model::Statistics;
use finishline_model::{Detector, Observer, SiteId, TaskId};
use std::fmt;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;

/// A question about a program.
pub struct Question<'m> {
    pub module: &'m Module,
    /// How it is run.
    pub forms: Forms<'m>,
    /// The words given for the parameters of `main`, and their values.
    pub words: Vec<String>,
    pub arguments: Vec<Datum>,
    pub limits: Limits,
    /// The most distinct races to report.
    pub max_races: usize,
    /// The races to leave out of the report.
    pub suppressions: Option<Suppressions>,
    /// The name of a location whose accesses are listed.
    pub watch: Option<String>,
    /// The order of the isolated blocks. None for the order of the depth-first run.
    pub schedule: Option<OrderScript>,
    /// The work done so far in all runs, for a display of progress. It counts instructions of
    /// interpreted runs and created tasks of compiled runs.
    pub progress: AtomicU64,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum CheckError {
    /// The detector does not know a construct that the program uses.
    Refused {
        detector: Detector,
        used: ConstructUse,
    },
    /// The program's output could not be written.
    Output(io::Error),
    /// The program can't run its isolated blocks in the order that was asked for.
    Schedule(Departure),
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::Refused { detector, used } => {
                let (knows, construct) = (detector.constructs(), used.construct.word());
                write!(
                    f,
                    "{detector} can judge {knows}; this program uses {construct}"
                )
            }
            CheckError::Output(error) => write!(f, "can't write what the program prints: {error}"),
            CheckError::Schedule(departure) => departure.fmt(f),
        }
    }
}

impl std::error::Error for CheckError {}

/// What answers are about: a program that can be run again, or a recorded run.
pub(crate) trait Subject<'m> {
    fn module(&self) -> &'m Module;
    /// The words given for the parameters of `main`.
    fn words(&self) -> &[String];
    fn max_races(&self) -> usize;
    fn suppressions(&self) -> Option<&Suppressions>;
    fn watch(&self) -> Option<&str>;
    /// The order of the isolated blocks, if one was asked for.
    fn schedule(&self) -> Option<&OrderScript> {
        None
    }

    /// Whether isolated blocks of parallel tasks conflict, if updates that can be exchanged do not
    /// count. True if that is not known.
    fn isolated_blocks_conflict(&self) -> bool;

    /// What `finishline explore` would take, and how to call it.
    fn exploration(&self) -> String;

    /// Repeats the run without output.
    fn again(&self, listener: &mut impl Listener) -> Ending;

    /// Repeats the run without output, with all accesses that are known.
    fn whole(&self, listener: &mut impl Listener) -> Ending {
        self.again(listener)
    }

    /// Repeats the run under a detector, without output.
    fn judge(&self, detector: Detector) -> Result<(Ending, Result<Findings, Failure>), CheckError>;
}

impl<'m> Subject<'m> for Question<'m> {
    fn module(&self) -> &'m Module {
        self.module
    }

    fn words(&self) -> &[String] {
        &self.words
    }

    fn max_races(&self) -> usize {
        self.max_races
    }

    fn suppressions(&self) -> Option<&Suppressions> {
        self.suppressions.as_ref()
    }

    fn watch(&self) -> Option<&str> {
        self.watch.as_deref()
    }

    fn schedule(&self) -> Option<&OrderScript> {
        self.schedule.as_ref()
    }

    fn isolated_blocks_conflict(&self) -> bool {
        self.schedule.is_some()
            || uses(self.module).turns()
            || commuting::isolated_blocks_conflict(self)
    }

    fn exploration(&self) -> String {
        let words = std::iter::once(self.module.source.path.as_str());
        let words = words.chain(self.words.iter().map(String::as_str));
        let words: Vec<String> = words.map(shell_word).collect();
        let command = format!("`finishline explore {}`", words.join(" "));
        match orders_that_differ(self.program()) {
            None | Some((1, _)) => {
                format!("{command} runs the other orders of the isolated and locked blocks")
            }
            Some((orders, true)) => {
                format!("{orders} orders of the isolated and locked blocks differ: {command}")
            }
            Some((orders, false)) => {
                format!(
                    "more than {orders} orders of the isolated and locked blocks differ: {command}"
                )
            }
        }
    }

    fn again(&self, listener: &mut impl Listener) -> Ending {
        let mut did = Statistics::default();
        let listener = &mut (listener, EventsAlone(&mut did));
        let outcome = match &self.schedule {
            None => self.forms.tell(self.input(), listener, &mut io::sink()),
            Some(script) => self.in_order(script, listener, &mut io::sink()).outcome,
        };
        Ending::new(outcome.trap(), &did)
    }

    fn judge(&self, detector: Detector) -> Result<(Ending, Result<Findings, Failure>), CheckError> {
        let (outcome, findings) = check::first_pass(self, detector, &mut io::sink())?;
        let statistics = findings.as_ref().map(|findings| findings.statistics);
        let ending = Ending::new(outcome.trap(), &statistics.unwrap_or_default());
        Ok((ending, findings))
    }
}

impl<'m> Question<'m> {
    /// The same question about the run on one thread, in this order of isolated and locked blocks
    /// if one is given.
    pub(crate) fn alone(&self, order: Option<OrderScript>) -> Question<'m> {
        Question {
            module: self.module,
            forms: self.forms.alone(),
            words: self.words.clone(),
            arguments: self.arguments.clone(),
            limits: self.limits,
            max_races: self.max_races,
            suppressions: self.suppressions.clone(),
            watch: self.watch.clone(),
            schedule: order,
            progress: AtomicU64::new(0),
        }
    }
}

impl Question<'_> {
    pub(crate) fn input(&self) -> Input<'_> {
        Input {
            arguments: &self.arguments,
            limits: self.limits,
            progress: &self.progress,
        }
    }
    /// Runs the program with its isolated blocks in this order.
    pub(crate) fn in_order(
        &self,
        script: &OrderScript,
        listener: &mut impl Listener,
        output: &mut (dyn Write + Send),
    ) -> Scheduled {
        scheduled::run(self.program(), script, listener, output)
    }

    /// The program as the front end made it.
    pub fn program(&self) -> Program<'_> {
        Program {
            module: self.module,
            arguments: &self.arguments,
            limits: self.limits,
        }
    }
}

/// Repeats the run for an observer. `also` listens too.
pub(crate) struct Again<'a, 'm, S, L> {
    pub(crate) subject: &'a S,
    pub(crate) module: PhantomData<&'m Module>,
    pub(crate) also: L,
}

impl<'a, 'm, S: Subject<'m>, L: Listener> Again<'a, 'm, S, L> {
    pub(crate) fn new(subject: &'a S, also: L) -> Self {
        Again {
            subject,
            module: PhantomData,
            also,
        }
    }
}

impl<'m, S: Subject<'m>, L: Listener> Drive for Again<'_, 'm, S, L> {
    type Output = Ending;

    fn drive(mut self, observer: &mut impl Observer) -> Ending {
        let listener = &mut (EventsAlone(observer), &mut self.also);
        self.subject.again(listener)
    }
}

/// What a run did and how it ended. Equal for runs that did the same.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Ending {
    /// The error, its place and its task, but not the memory in use. Compiled code can't tell a
    /// number from a reference on its stack, so it may find other objects in use each time.
    failed: Option<(&'static str, SiteId, TaskId)>,
    tasks: u64,
    finishes: u64,
    locations: u64,
}

impl Ending {
    /// Of a recorded run. `failed` is the reason why it could not be read.
    pub(crate) fn recorded(failed: Option<&'static str>) -> Ending {
        Ending {
            failed: failed.map(|why| (why, SiteId(0), TaskId::MAIN)),
            tasks: 0,
            finishes: 0,
            locations: 0,
        }
    }

    pub(crate) fn new(trap: Option<&Trap>, did: &Statistics) -> Ending {
        Ending {
            failed: trap.map(|trap| (trap.kind.word(), trap.site, trap.task)),
            tasks: did.tasks,
            finishes: did.finishes,
            locations: did.locations,
        }
    }
}
