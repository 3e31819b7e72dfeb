//! Fin as machine code.
//!
//! ```text
//! Module ─ code ─► Cranelift ─ compile ─► machine code ─┐
//!                            runtime ◄─ calls ──────────┴─ checks inline ─► cells in the heap
//! ```
//!
//! - [`run`], [`check`], [`record`], [`tell`]: a program compiled and run, unchecked and on several
//!   workers, or on one under a detector, or told to a listener, without repetitions or in every
//!   detail. The reference
//!   interpreter ([`finishline_ir::machine`]) defines what a program does, tells and fails by. The
//!   suites compare the two.
//! - [`prepare`], [`prepare_check`], [`prepare_told`]: compiled now and run later, so that the two
//!   can be measured apart.
//! - `prepared`: all these. `code`: from the IR to Cranelift's. `compile`: the module as a whole.
//! - `checker`, `recording`: the code of a check for each listener. `heard`: the tasks that a
//!   detector is told of. `waiting`: the tasks that need stacks of their own. `polls`: where
//!   the code of a parallel run looks at signals.
//! - `runtime`: what compiled code calls, on one worker or several. `heap`: objects, their shadow
//!   cells, and the collector. `atomics`: the operations of lock-free files.
//!
//! The compiler needs x86-64 and Linux. For another processor none of this is built: `absent` takes
//! the place of `prepared`, and refuses every program.

#[cfg(not(target_arch = "x86_64"))]
mod absent;
#[cfg(target_arch = "x86_64")]
mod atomics;
#[cfg(target_arch = "x86_64")]
mod checker;
#[cfg(target_arch = "x86_64")]
mod code;
#[cfg(target_arch = "x86_64")]
mod compile;
#[cfg(target_arch = "x86_64")]
mod heap;
#[cfg(target_arch = "x86_64")]
mod heard;
#[cfg(target_arch = "x86_64")]
mod polls;
#[cfg(target_arch = "x86_64")]
mod prepared;
#[cfg(target_arch = "x86_64")]
mod recording;
#[cfg(target_arch = "x86_64")]
mod runtime;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
#[cfg(target_arch = "x86_64")]
mod waiting;

#[cfg(not(target_arch = "x86_64"))]
pub use absent::{
    prepare, prepare_check, prepare_parallel, prepare_parallel_check, prepare_told, record,
    run_for, tell, tell_parallel,
};
#[cfg(target_arch = "x86_64")]
pub use prepared::{
    prepare, prepare_check, prepare_parallel, prepare_parallel_check, prepare_told, record,
    run_for, tell, tell_parallel,
};

use finishline_detect::parallel::Trust;
use finishline_detect::{Failure, Findings};
use finishline_ir::Module;
use finishline_ir::machine::{Datum, Limits, Trap};
use finishline_model::{Detector, Statistics};
use std::fmt;
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

/// A verified program with its arguments: one for each parameter of `main`, of its type.
#[derive(Clone, Copy)]
pub struct Program<'a> {
    pub module: &'a Module,
    pub arguments: &'a [Datum],
    pub limits: Limits,
    /// The tasks created so far, to show progress.
    pub progress: &'a AtomicU64,
}

/// Why a module could not be compiled. The program could still be interpreted.
#[derive(Debug)]
pub struct CompileError(String);

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "can't compile for this machine: {}", self.0)
    }
}

impl std::error::Error for CompileError {}

/// How a run ended.
#[derive(Debug)]
pub enum End {
    Finished,
    Trapped(Trap),
    /// What the program printed could not be written.
    OutputError(io::Error),
    /// The program was stopped: the detector has found what it was asked for, or the time is over.
    Stopped,
}

type Work<'a, T> = dyn FnOnce(&mut (dyn Write + Send)) -> T + 'a;

/// A program compiled, to be run once.
pub struct Prepared<'a, T>(Box<Work<'a, T>>);

impl<T> Prepared<'_, T> {
    pub fn run(self, output: &mut (dyn Write + Send)) -> T {
        (self.0)(output)
    }
}

/// How a recorded run ended, and what it did.
#[derive(Debug)]
pub struct Recorded {
    pub end: End,
    pub statistics: Statistics,
    /// Whether two steps may have accessed the same location. If not, nothing races.
    pub shares: bool,
}

/// A run on several workers that a listener is told of.
#[derive(Debug)]
pub struct ToldRun<L> {
    pub workers: usize,
    pub listener: Mutex<L>,
    pub output: Vec<u8>,
    /// None before the run.
    pub end: Option<End>,
}

impl<L> ToldRun<L> {
    pub fn new(workers: usize, listener: L) -> Self {
        ToldRun {
            workers,
            listener: Mutex::new(listener),
            output: Vec::new(),
            end: None,
        }
    }
}

/// How a program is checked while it runs on several workers.
#[derive(Clone, Debug)]
pub struct CheckingCrew {
    pub workers: usize,
    /// Whether the run may end with the first race.
    pub one_race: bool,
    pub trust: Trust,
}

/// How a run under a detector ended, and what the detector found or why it could not judge.
pub type Checked = (End, Result<Findings, Failure>);

/// Runs a program on as many workers; nobody listens.
pub fn run(
    program: Program,
    workers: usize,
    output: &mut (dyn Write + Send),
) -> Result<End, CompileError> {
    Ok(prepare_parallel(program, workers)?.run(output))
}

/// Runs a program under a detector, its fast path inline. None if the detector has no such form.
pub fn check(
    program: Program,
    detector: Detector,
    output: &mut (dyn Write + Send),
) -> Option<Result<Checked, CompileError>> {
    let prepared = prepare_check(program, detector)?;
    Some(prepared.map(|prepared| prepared.run(output)))
}
