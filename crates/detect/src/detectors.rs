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
use crate::any_order::AnyOrder;
use crate::findings::Findings;
use crate::history::{History, Isolated, LastWriterOneReader, WriteCoversReads};
use crate::listed::Listed;
use crate::locations::LocationSet;
use crate::named::Named;
use crate::oracle::Oracle;
use crate::order::{Drdp, EspBags, Labelled, Order, SpBags};
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

/// What a program may do, as far as it decides how it is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Uses {
    /// It may enter isolated blocks. Without them cells are half as big.
    pub isolated: bool,
    /// It may use promises or futures. Then its run is not depth-first.
    pub promises: bool,
}

/// Runs a program under a detector.
pub fn first_pass<D: Drive>(
    detector: Detector,
    uses: Uses,
    run: D,
) -> Result<(D::Output, Findings), Failure> {
    match (detector, uses.isolated) {
        (Detector::SpBags, _) => serial::<SpBags, WriteCoversReads, D>(run),
        (Detector::EspBags, false) => serial::<EspBags, WriteCoversReads, D>(run),
        (Detector::EspBags, true) => serial::<EspBags, Isolated, D>(run),
        (Detector::Drdp, _) => {
            let mut detector = Listed::<Drdp>::new()?;
            let output = run.drive(&mut detector);
            Ok((output, detector.finish()?))
        }
        (Detector::Finishline, _) => {
            let mut detector = AnyOrder::<Labelled>::new()?;
            let output = run.drive(&mut detector);
            Ok((output, detector.finish()?))
        }
        (Detector::Oracle, _) => {
            let mut oracle = Oracle::new(ORACLE_STEPS);
            let output = run.drive(&mut oracle);
            Ok((output, oracle.finish()?))
        }
    }
}

/// Runs the program again and names the accesses that race at the `racing` locations. For the
/// oracle, which would list every pair, ESP-bags or ours does it.
pub fn second_pass<D: Drive>(
    detector: Detector,
    uses: Uses,
    racing: &LocationSet,
    run: D,
) -> Result<(D::Output, RacePairs), Failure> {
    match (detector, uses.isolated) {
        (Detector::Oracle, isolated) if uses.promises => {
            named::<Labelled, D>(racing, isolated, run)
        }
        (Detector::Drdp, _) => named::<Drdp, D>(racing, false, run),
        (Detector::Finishline, isolated) => named::<Labelled, D>(racing, isolated, run),
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

fn named<O: Order, D: Drive>(
    racing: &LocationSet,
    isolated: bool,
    run: D,
) -> Result<(D::Output, RacePairs), Failure> {
    let mut detector = Named::<O>::new(racing, isolated)?;
    let output = run.drive(&mut detector);
    Ok((output, detector.finish()?))
}
