//! Detectors by name: the order and the history of each, and how a run drives them.
//!
//! ```text
//! first_pass   run with the smallest exact history  →  Findings: the racing locations
//! second_pass  run again, those locations watched   →  RacePairs: the accesses that race
//! ```
//!
//! An executor that can run a program implements [`Drive`]. It gets an observer of a concrete type,
//! so it is compiled once for each detector. The choice costs nothing on the path of an access.

use crate::Failure;
use crate::findings::Findings;
use crate::history::{History, Isolated, LastWriterOneReader, WriteCoversReads};
use crate::locations::LocationSet;
use crate::oracle::Oracle;
use crate::order::{EspBags, Order, SpBags};
use crate::pairs::RacePairs;
use crate::serial::Serial;
use crate::sited::Sited;
use finishline_model::event::{Record, replay};
use finishline_model::{Detector, Observer};

/// The oracle gives up beyond this many steps. Its graph takes 100 megabytes then.
pub const ORACLE_STEPS: usize = 20_000;

/// One depth-first run of a program.
pub trait Drive {
    type Output;

    fn drive(self, observer: &mut impl Observer) -> Self::Output;
}

/// A recorded run.
impl Drive for &[Record] {
    type Output = ();

    fn drive(self, observer: &mut impl Observer) {
        replay(self, observer);
    }
}

/// Runs a program under a detector. `isolated` says whether the program may enter isolated blocks.
/// Without them cells are half as big.
pub fn first_pass<D: Drive>(
    detector: Detector,
    isolated: bool,
    run: D,
) -> Result<(D::Output, Findings), Failure> {
    match (detector, isolated) {
        (Detector::SpBags, _) => serial::<SpBags, WriteCoversReads, D>(run),
        (Detector::EspBags, false) => serial::<EspBags, WriteCoversReads, D>(run),
        (Detector::EspBags, true) => serial::<EspBags, Isolated, D>(run),
        (Detector::Oracle, _) => {
            let mut oracle = Oracle::new(ORACLE_STEPS);
            let output = run.drive(&mut oracle);
            Ok((output, oracle.finish()?))
        }
    }
}

/// Runs the program again and names the accesses that race at the `racing` locations. The oracle
/// finds these locations but does not name pairs. ESP-bags does it instead.
pub fn second_pass<D: Drive>(
    detector: Detector,
    isolated: bool,
    racing: &LocationSet,
    run: D,
) -> Result<(D::Output, RacePairs), Failure> {
    match (detector, isolated) {
        (Detector::SpBags, _) => sited::<SpBags, LastWriterOneReader, D>(racing, run),
        (Detector::EspBags | Detector::Oracle, false) => {
            sited::<EspBags, LastWriterOneReader, D>(racing, run)
        }
        (Detector::EspBags | Detector::Oracle, true) => sited::<EspBags, Isolated, D>(racing, run),
    }
}

fn serial<O: Order, H: History, D: Drive>(run: D) -> Result<(D::Output, Findings), Failure> {
    let mut detector = Serial::<O, H>::new()?;
    let output = run.drive(&mut detector);
    Ok((output, detector.finish()?))
}

fn sited<O: Order, H: History, D: Drive>(
    racing: &LocationSet,
    run: D,
) -> Result<(D::Output, RacePairs), Failure> {
    let mut detector = Sited::<O, H>::new(racing)?;
    let output = run.drive(&mut detector);
    Ok((output, detector.finish()?))
}
