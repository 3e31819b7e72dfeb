//! The table of detectors, in types: the order and the history that each is made of. In words it
//! stands in the crate `model`, [`Detector`]. What runs a program under some detector, in whatever
//! way, is a [`Make`]: it gets the types of the row that is asked for, so it is compiled once for
//! each detector, and the choice costs nothing on the path of an access.
//!
//! ```text
//! first_pass   run with the smallest exact history  →  Findings: the racing locations
//! second_pass  run again, those locations watched   →  RacePairs: the accesses that race
//! ```
//!
//! An executor that can run a program and tell an observer implements [`Drive`].

use crate::Failure;
use crate::any_order::AnyOrder;
use crate::findings::Findings;
use crate::history::{History, Isolated, LastWriterOneReader, WriteCoversReads};
use crate::listed::Listed;
use crate::locations::LocationSet;
use crate::named::Named;
use crate::oracle::Oracle;
use crate::order::{DepthFirst, Drdp, EspBags, Labelled, Order, Running, SpBags};
use crate::overlaps::Overlaps;
use crate::pairs::RacePairs;
use crate::parallel::history::{ByLockset, OutermostReaders, TwoReaders};
use crate::parallel::order::{Clocks, Labels, Lists, SplitClocks, Tree};
use crate::parallel::{InTurn, SharedHistory, SharedOrder};
use crate::serial::Serial;
use crate::sited::Sited;
use finishline_model::event::{Record, replay};
use finishline_model::{Construct, Detector, Observer};

/// The oracle gives up beyond this many steps. Its graph takes 100 megabytes then.
pub const ORACLE_STEPS: usize = 20_000;

/// One run of a program.
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
    /// It may use promises or futures.
    pub promises: bool,
    /// It may take locks.
    pub locks: bool,
}

impl Uses {
    /// Of a program that uses these constructs.
    pub fn of(is_used: impl Fn(Construct) -> bool) -> Uses {
        Uses {
            isolated: is_used(Construct::Isolated),
            promises: is_used(Construct::Promise) || is_used(Construct::Future),
            locks: is_used(Construct::Lock),
        }
    }

    /// Whether tasks may wait for each other otherwise than at joins. Then they take turns, and the
    /// run is not depth-first.
    pub const fn turns(self) -> bool {
        self.promises || self.locks
    }
}

/// Makes something of the types of a detector.
pub trait Make: Sized {
    type Output;

    /// An order for depth-first runs. The first history finds the racing locations. The second one
    /// is kept with sites and names the accesses.
    fn depth_first<O, First, Second>(self) -> Self::Output
    where
        O: Order<Strand = Running> + 'static,
        First: History,
        Second: History;

    /// An order for any run, with sets of readers.
    fn any_order<O: Order + 'static>(self) -> Self::Output;

    /// An order for any run, with lists of readers.
    fn listed<O: Order + 'static>(self) -> Self::Output;

    /// An order and a history of parallel runs.
    fn shared<O, H>(self) -> Self::Output
    where
        O: SharedOrder + 'static,
        H: SharedHistory<O> + 'static;

    /// All accesses are kept and compared.
    fn oracle(self) -> Self::Output;
}

/// Makes something of the types of a detector of parallel runs.
pub trait MakeShared: Sized {
    type Output;

    fn shared<O: SharedOrder + 'static, H: SharedHistory<O> + 'static>(self) -> Self::Output;
}

/// Makes something of a detector that can check a program while it runs on several threads. None
/// if it can't.
pub fn on_threads<M: MakeShared>(detector: Detector, make: M) -> Option<M::Output> {
    match detector {
        Detector::Spd3 => Some(make.shared::<Tree, TwoReaders>()),
        Detector::Ptracer => Some(make.shared::<Tree, ByLockset>()),
        Detector::CRacer => Some(make.shared::<Lists, OutermostReaders>()),
        Detector::FastTrack => Some(make.shared::<Clocks, ByLockset>()),
        Detector::FastRacer => Some(make.shared::<SplitClocks, ByLockset>()),
        Detector::Finishline => Some(make.shared::<Labels, ByLockset>()),
        Detector::SpBags | Detector::EspBags | Detector::Drdp | Detector::Oracle => None,
    }
}

/// Whether a detector can check a program while it runs on several threads.
pub fn runs_on_threads(detector: Detector) -> bool {
    struct Nothing;

    impl MakeShared for Nothing {
        type Output = ();

        fn shared<O: SharedOrder, H: SharedHistory<O>>(self) {}
    }

    on_threads(detector, Nothing).is_some()
}

/// Makes something of a detector.
pub fn make<M: Make>(detector: Detector, uses: Uses, make: M) -> M::Output {
    match detector {
        Detector::SpBags if uses.locks => make.any_order::<DepthFirst<SpBags>>(),
        Detector::EspBags if uses.locks => make.any_order::<DepthFirst<EspBags>>(),
        Detector::SpBags => make.depth_first::<SpBags, WriteCoversReads, LastWriterOneReader>(),
        Detector::EspBags if uses.isolated => make.depth_first::<EspBags, Isolated, Isolated>(),
        Detector::EspBags => make.depth_first::<EspBags, WriteCoversReads, LastWriterOneReader>(),
        Detector::Drdp => make.listed::<Drdp>(),
        Detector::Spd3 => make.shared::<Tree, TwoReaders>(),
        Detector::Ptracer => make.shared::<Tree, ByLockset>(),
        Detector::CRacer => make.shared::<Lists, OutermostReaders>(),
        Detector::FastTrack => make.shared::<Clocks, ByLockset>(),
        Detector::FastRacer => make.shared::<SplitClocks, ByLockset>(),
        Detector::Finishline => make.any_order::<Labelled>(),
        Detector::Oracle => make.oracle(),
    }
}

/// Runs a program under a detector.
pub fn first_pass<D: Drive>(
    detector: Detector,
    uses: Uses,
    run: D,
) -> Result<(D::Output, Findings), Failure> {
    make(detector, uses, FirstPass { uses, run })
}

struct FirstPass<D> {
    uses: Uses,
    run: D,
}

impl<D: Drive> Make for FirstPass<D> {
    type Output = Result<(D::Output, Findings), Failure>;

    fn depth_first<O: Order<Strand = Running>, First: History, Second: History>(
        self,
    ) -> Self::Output {
        let mut detector = Serial::<O, First>::new()?;
        let output = self.run.drive(&mut detector);
        Ok((output, detector.finish()?))
    }

    fn any_order<O: Order>(self) -> Self::Output {
        let mut detector = AnyOrder::<O>::new()?;
        let output = self.run.drive(&mut detector);
        Ok((output, detector.finish()?))
    }

    fn listed<O: Order>(self) -> Self::Output {
        let mut detector = Listed::<O>::new()?;
        let output = self.run.drive(&mut detector);
        Ok((output, detector.finish()?))
    }

    fn shared<O: SharedOrder, H: SharedHistory<O>>(self) -> Self::Output {
        let mut detector = InTurn::<O, H>::new(self.uses)?;
        let output = self.run.drive(&mut detector);
        Ok((output, detector.finish()?))
    }

    fn oracle(self) -> Self::Output {
        let mut oracle = Oracle::new(ORACLE_STEPS);
        let output = self.run.drive(&mut oracle);
        Ok((output, oracle.finish()?))
    }
}

/// Runs the program again and names the accesses that race at the `racing` locations.
///
/// The oracle would list every pair, the bags have no rule for the observed order of locks, and the
/// detectors of parallel runs keep no sites, so another detector does it for them.
pub fn second_pass<D: Drive>(
    detector: Detector,
    uses: Uses,
    racing: &LocationSet,
    run: D,
) -> Result<(D::Output, RacePairs), Failure> {
    let naming = match detector {
        Detector::SpBags | Detector::EspBags if uses.locks => Detector::Finishline,
        Detector::Spd3
        | Detector::Ptracer
        | Detector::CRacer
        | Detector::FastTrack
        | Detector::FastRacer => Detector::Finishline,
        Detector::Oracle if uses.turns() => Detector::Finishline,
        Detector::Oracle => Detector::EspBags,
        other => other,
    };
    make(naming, uses, SecondPass { racing, uses, run })
}

/// Runs the program again and names the accesses that only locks or isolation keep apart.
pub fn overlaps<D: Drive>(run: D) -> Result<(D::Output, RacePairs), Failure> {
    let mut detector = Overlaps::<Labelled>::new()?;
    let output = run.drive(&mut detector);
    Ok((output, detector.finish()?))
}

struct SecondPass<'a, D> {
    racing: &'a LocationSet,
    uses: Uses,
    run: D,
}

impl<D: Drive> Make for SecondPass<'_, D> {
    type Output = Result<(D::Output, RacePairs), Failure>;

    fn depth_first<O: Order<Strand = Running>, First: History, Second: History>(
        self,
    ) -> Self::Output {
        let mut detector = Sited::<O, Second>::new(self.racing)?;
        let output = self.run.drive(&mut detector);
        Ok((output, detector.finish()?))
    }

    fn any_order<O: Order>(self) -> Self::Output {
        let mut detector = Named::<O>::new(self.racing, self.uses.isolated || self.uses.locks)?;
        let output = self.run.drive(&mut detector);
        Ok((output, detector.finish()?))
    }

    fn listed<O: Order + 'static>(self) -> Self::Output {
        self.any_order::<O>()
    }

    /// Another detector is asked.
    fn shared<O: SharedOrder, H: SharedHistory<O>>(self) -> Self::Output {
        self.any_order::<Labelled>()
    }

    /// Another detector is asked.
    fn oracle(self) -> Self::Output {
        self.any_order::<Labelled>()
    }
}
