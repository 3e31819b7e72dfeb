//! One compiled run and its compilation as separate steps, so that each can be measured.
//!
//! The program is the one that [`crate::check`] compiles and runs first: the plain program, or the
//! program under a detector with the remaining checks. There is no fallback: a program that can't
//! be compiled can't be measured.

use crate::depth_first::End;
use crate::executor::{compiled, outcome};
use crate::question::Question;
pub use finishline_detect::Failure;
use finishline_detect::Findings;
use finishline_detect::listed::Listed;
pub use finishline_detect::order::Traversal;
use finishline_detect::order::{Drdp, Visits};
use finishline_detect::parallel::Trust;
use finishline_ir::listener::Listener;
use finishline_jit::{Checked, CompileError, Prepared};
use finishline_model::{Access, AccessKind, Detector, Event, Observer};
use std::fmt;
use std::io::Write;

/// A compiled program, to be run once.
pub struct Ready<'q>(Kind<'q>);

enum Kind<'q> {
    Plain(Prepared<'q, finishline_jit::End>),
    Checked(Prepared<'q, Checked>),
    Drdp(Prepared<'q, (finishline_jit::End, Counted)>),
}

/// How a run ended.
pub struct Ran {
    pub end: End,
    /// The findings, or why the detector could not judge. None without a detector.
    pub findings: Option<Result<Findings, Failure>>,
    /// The figures of a run under DRDP.
    pub drdp: Option<DrdpFigures>,
}

/// [DRDP Tables 2 and 3] What DRDP counts.
#[derive(Clone, Copy, Debug)]
pub struct DrdpFigures {
    pub reads: u64,
    pub writes: u64,
    /// Of the structure tree.
    pub height: u32,
    pub tree_joins: u64,
    pub non_tree_joins: u64,
    pub visits: Visits,
}

/// DRDP, and the locations that it checks.
struct Counted {
    detector: Listed<Drdp>,
    reads: u64,
    writes: u64,
}

impl Observer for Counted {
    fn event(&mut self, event: &Event) {
        self.detector.event(event);
    }

    fn access(&mut self, access: &Access) {
        match access.kind {
            AccessKind::Read => self.reads += access.count,
            AccessKind::Write => self.writes += access.count,
        }
        self.detector.access(access);
    }
}

impl Listener for Counted {}

impl Counted {
    fn figures(&self) -> DrdpFigures {
        let order = self.detector.order();
        let [tree_joins, non_tree_joins] = order.joins();
        DrdpFigures {
            reads: self.reads,
            writes: self.writes,
            height: order.height(),
            tree_joins,
            non_tree_joins,
            visits: order.visits(),
        }
    }
}

/// Why the program can't be measured.
#[derive(Debug)]
pub enum NotReady {
    Compile(CompileError),
    /// The detector can't be compiled into a program.
    Detector(Detector),
    /// The detector can't begin.
    Failed(Failure),
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotReady::Compile(error) => error.fmt(f),
            NotReady::Detector(detector) => write!(f, "{detector} has no compiled form"),
            NotReady::Failed(failure) => failure.fmt(f),
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

/// Compiles the program for a run on as many threads, plain or under a detector
/// [for that](crate::executor::on_threads). A race does not end the run.
pub fn prepare_on_threads<'q>(
    question: &'q Question,
    detector: Option<Detector>,
    threads: usize,
) -> Result<Ready<'q>, NotReady> {
    let (forms, input) = (&question.forms, question.input());
    let kind = match detector {
        None => {
            let program = compiled(forms.fast(), input);
            finishline_jit::prepare_parallel(program, threads).map(Kind::Plain)
        }
        Some(detector) => {
            let program = compiled(forms.fast_reduced(), input);
            let crew = finishline_jit::CheckingCrew {
                workers: threads,
                one_race: false,
                trust: Trust::Earned,
            };
            let prepared = finishline_jit::prepare_parallel_check(program, detector, crew);
            let prepared = prepared.ok_or(NotReady::Detector(detector))?;
            prepared.map(Kind::Checked)
        }
    };
    kind.map(Ready).map_err(NotReady::Compile)
}

/// Compiles the program for a run under DRDP, which is told of every access.
pub fn prepare_drdp<'q>(
    question: &'q Question,
    traversal: Traversal,
) -> Result<Ready<'q>, NotReady> {
    let detector = Listed::over(Drdp::with(traversal)).map_err(NotReady::Failed)?;
    let program = compiled(question.forms.fast_reduced(), question.input());
    let counted = Counted {
        detector,
        reads: 0,
        writes: 0,
    };
    let prepared = finishline_jit::prepare_told(program, counted);
    prepared
        .map(Kind::Drdp)
        .map(Ready)
        .map_err(NotReady::Compile)
}

impl Ready<'_> {
    /// Runs the program. The program prints to `output`.
    pub fn run(self, output: &mut (dyn Write + Send)) -> Ran {
        let mut drdp = None;
        let (end, findings) = match self.0 {
            Kind::Plain(prepared) => (prepared.run(output), None),
            Kind::Checked(prepared) => {
                let (end, findings) = prepared.run(output);
                (end, Some(findings))
            }
            Kind::Drdp(prepared) => {
                let (end, counted) = prepared.run(output);
                drdp = Some(counted.figures());
                (end, Some(counted.detector.finish()))
            }
        };
        Ran {
            end: outcome(end).result,
            findings,
            drdp,
        }
    }
}
