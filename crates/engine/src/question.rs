//! A program with its input, and the depth-first runs that answer questions about it.
//!
//! A depth-first run is deterministic: however often it is repeated, the events are the same. Only the first one is heard; the
//! others find out more in silence. What can differ is the system's memory, so the end of a repeated run is compared with
//! the first one's ([`Ending`]) before anything is concluded from it.

use crate::depth_first::{self, End, Outcome};
use crate::suppressions::Suppressions;
use finishline_detect::detectors::Drive;
use finishline_ir::machine::{Datum, Limits, Machine, Trap};
use finishline_ir::{ConstructUse, Module};
use finishline_model::{Detector, Observer, TaskId};
use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::AtomicU64;

/// A question about a program.
pub struct Question<'m> {
    pub module: &'m Module,
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
    /// Instructions executed so far, over all runs: for whoever shows progress.
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
    /// What the program printed could not be written.
    Output(io::Error),
    /// No location has the name to be watched.
    NothingToWatch(String),
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
            CheckError::NothingToWatch(name) => {
                write!(f, "no location of this run is called `{name}`")
            }
        }
    }
}

impl std::error::Error for CheckError {}

impl<'m> Question<'m> {
    pub(crate) fn run(
        &self,
        observer: &mut impl Observer,
        output: &mut dyn Write,
        created: impl FnMut(&Machine<'m>, TaskId),
    ) -> Outcome<'m> {
        let program = depth_first::Program {
            module: self.module,
            arguments: &self.arguments,
            limits: self.limits,
        };
        depth_first::run(program, observer, output, None, &self.progress, created)
    }
}

/// The same run again, in silence.
pub(crate) struct Again<'a, 'm>(pub(crate) &'a Question<'m>);

impl<'m> Drive for Again<'_, 'm> {
    type Output = Outcome<'m>;

    fn drive(self, observer: &mut impl Observer) -> Outcome<'m> {
        self.0.run(observer, &mut io::sink(), |_, _| {})
    }
}

/// How a run ended: equal for runs that did the same.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Ending {
    steps: u64,
    pub(crate) trap: Option<Trap>,
}

impl Ending {
    pub(crate) fn of(outcome: &Outcome) -> Ending {
        let trap = match &outcome.result {
            End::Trapped(trap) => Some(trap.clone()),
            End::Finished | End::OutOfFuel | End::OutputError(_) => None,
        };
        Ending {
            steps: outcome.steps,
            trap,
        }
    }
}
