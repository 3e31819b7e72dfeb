//! One compiled run and its compilation as separate steps, so that each can be measured.
//!
//! The program is the one that [`crate::check`] compiles and runs first: the plain program, or the
//! program under a detector with the remaining checks. There is no fallback: a program that can't
//! be compiled can't be measured.

use crate::depth_first::End;
use crate::executor::{compiled, outcome};
use crate::question::Question;
use finishline_detect::{Failure, Findings};
use finishline_jit::{Checked, CompileError, Prepared};
use finishline_model::Detector;
use std::fmt;
use std::io::Write;

/// A compiled program, to be run once.
pub struct Ready<'q>(Kind<'q>);

enum Kind<'q> {
    Plain(Prepared<'q, finishline_jit::End>),
    Checked(Prepared<'q, Checked>),
}

/// How a run ended.
pub struct Ran {
    pub end: End,
    /// The findings, or why the detector could not judge. None without a detector.
    pub findings: Option<Result<Findings, Failure>>,
}

/// Why the program can't be measured.
#[derive(Debug)]
pub enum NotReady {
    Compile(CompileError),
    /// The detector can't be compiled into a program.
    Detector(Detector),
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotReady::Compile(error) => error.fmt(f),
            NotReady::Detector(detector) => write!(f, "{detector} has no compiled form"),
        }
    }
}

impl std::error::Error for NotReady {}

/// Makes the form of the program that [`prepare`] compiles. So the two can be timed apart.
pub fn optimise(question: &Question, detector: Option<Detector>) {
    match detector {
        None => question.forms.fast(),
        Some(_) => question.forms.fast_reduced(),
    };
}

/// Compiles the program for a plain run or for a run under a detector. Optimises it first if that
/// is not done.
pub fn prepare<'q>(
    question: &'q Question,
    detector: Option<Detector>,
) -> Result<Ready<'q>, NotReady> {
    let (forms, input) = (&question.forms, question.input());
    let kind = match detector {
        None => finishline_jit::prepare(compiled(forms.fast(), input)).map(Kind::Plain),
        Some(detector) => {
            let program = compiled(forms.fast_reduced(), input);
            let prepared = finishline_jit::prepare_check(program, detector);
            let prepared = prepared.ok_or(NotReady::Detector(detector))?;
            prepared.map(Kind::Checked)
        }
    };
    kind.map(Ready).map_err(NotReady::Compile)
}

impl Ready<'_> {
    /// Runs the program. The program prints to `output`.
    pub fn run(self, output: &mut dyn Write) -> Ran {
        let (end, findings) = match self.0 {
            Kind::Plain(prepared) => (prepared.run(output), None),
            Kind::Checked(prepared) => {
                let (end, findings) = prepared.run(output);
                (end, Some(findings))
            }
        };
        Ran {
            end: outcome(end).result,
            findings,
        }
    }
}
