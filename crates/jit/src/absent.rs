//! In the place of a compiler, for processors without one. Every program is refused, and the caller
//! interprets it.

use crate::{Checked, CheckingCrew, CompileError, End, Prepared, Program, Recorded, ToldRun};
use finishline_detect::detectors::runs_on_threads;
use finishline_ir::listener::Listener;
use finishline_model::Detector;
use std::io::Write;
use std::time::Duration;

fn refusal() -> CompileError {
    CompileError("code is made for x86-64 alone".to_owned())
}

/// Refuses the program.
pub fn prepare(_: Program) -> Result<Prepared<End>, CompileError> {
    Err(refusal())
}

/// Refuses the program.
pub fn prepare_parallel(_: Program, _: usize) -> Result<Prepared<End>, CompileError> {
    Err(refusal())
}

/// Refuses the program. None if the detector would have no inline form either.
pub fn prepare_check(
    _: Program,
    detector: Detector,
) -> Option<Result<Prepared<Checked>, CompileError>> {
    match detector {
        Detector::Drdp
        | Detector::Spd3
        | Detector::Ptracer
        | Detector::CRacer
        | Detector::FastTrack
        | Detector::FastRacer
        | Detector::Oracle => None,
        _ => Some(Err(refusal())),
    }
}

/// Refuses the program. None if the detector would have no such form either.
pub fn prepare_parallel_check(
    _: Program,
    detector: Detector,
    _: CheckingCrew,
) -> Option<Result<Prepared<Checked>, CompileError>> {
    runs_on_threads(detector).then(|| Err(refusal()))
}

/// Refuses the program.
pub fn prepare_told<'a, L: Listener + 'a>(
    _: Program<'a>,
    _: L,
) -> Result<Prepared<'a, (End, L)>, CompileError> {
    Err(refusal())
}

/// Refuses the program.
pub fn tell(
    _: Program,
    _: &mut impl Listener,
    _: &mut (dyn Write + Send),
) -> Result<End, CompileError> {
    Err(refusal())
}

/// Refuses the program.
pub fn run_for(_: Program, _: Duration, _: &mut (dyn Write + Send)) -> Result<End, CompileError> {
    Err(refusal())
}

/// Refuses the program.
pub fn tell_parallel<L: Listener + Send + 'static>(
    _: Program,
    _: &mut [ToldRun<L>],
) -> Result<(), CompileError> {
    Err(refusal())
}

/// Refuses the program.
pub fn record(
    _: Program,
    _: &mut impl Listener,
    _: &mut (dyn Write + Send),
) -> Result<Recorded, CompileError> {
    Err(refusal())
}
