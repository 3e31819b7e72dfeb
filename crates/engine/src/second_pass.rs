//! Finds the accesses that race at the racing locations. The same run also gives names and the
//! accesses to a watched location.
//!
//! The first pass gives the exact set of racing locations. Here the program is run again and only
//! these locations are followed, with their accesses ([`finishline_detect::sited`]). That takes
//! some hundred bytes a location, so the number of locations in one run is limited. If there are
//! more, the first run takes the first ones found. Further runs follow the others until there is a
//! pair that is neither apparent nor suppressed. Then the answer can't change any more. The
//! remaining locations are not followed, and [`Pairs::incomplete`] says so.
//!
//! A run that does not end like the first one is not believed. Its results are then missing.

use crate::executor::uses;
use crate::names::Names;
use crate::question::{Again, Ending, Subject};
use crate::rerun::Rerun;
use crate::suppressions::Sorted;
use finishline_detect::{Failure, LocationSet, RacePair, RacePairs, detectors};
use finishline_ir::Module;
use finishline_model::{Detector, Location};
use std::marker::PhantomData;

/// The most locations followed in one run.
pub(crate) const MOST_FOLLOWED: usize = 1_000_000;

/// The pairs of accesses that race.
#[derive(Default)]
pub(crate) struct Pairs {
    pub(crate) pairs: Vec<RacePair>,
    /// Why some pairs may be missing.
    pub(crate) incomplete: Option<String>,
    /// The pairs are in the order of the run.
    pub(crate) in_order: bool,
}

impl Pairs {
    /// Whether the race with this number may be a consequence of an earlier race. Only the first
    /// race of all and the first that is not apparent surely are not.
    pub(crate) fn may_follow(&self, number: usize) -> bool {
        let first_real = self.pairs.iter().position(is_real);
        !self.in_order || number > 0 && first_real != Some(number)
    }

    pub(crate) fn any_real(&self) -> bool {
        self.pairs.iter().any(is_real)
    }
}

/// Whether the race is more than apparent.
fn is_real(pair: &RacePair) -> bool {
    !pair.race.ordered_by_isolation && pair.race.excluded_by.is_none()
}

/// The question to the second pass.
pub(crate) struct SecondPass<'a, 'm, S> {
    pub(crate) subject: &'a S,
    pub(crate) module: PhantomData<&'m Module>,
    pub(crate) detector: Detector,
    /// The end of the first run.
    pub(crate) first: Ending,
    pub(crate) most_followed: usize,
}

impl<'m, S: Subject<'m>> SecondPass<'_, 'm, S> {
    /// Finds the accesses that race at these locations.
    pub(crate) fn pairs(&self, racing: &LocationSet) -> (Pairs, Rerun<'m>) {
        let racing = racing.in_order();
        let mut parts = racing.chunks(self.most_followed);
        let first_part = parts.next().unwrap_or_default();
        let mut told = self.listener(first_part);
        let mut found = match self.follow(first_part, &mut told) {
            Ok(found) => found,
            Err(why) => {
                // The failed run may have told nothing, so start with a fresh listener.
                told = self.listener(first_part);
                self.subject.again(&mut told);
                let pairs = Pairs {
                    incomplete: Some(format!("the racing accesses could not be found: {why}")),
                    ..Pairs::default()
                };
                return (pairs, told);
            }
        };
        let mut followed = first_part.len();
        let mut failed = None;
        for part in parts {
            if self.is_settled(found.as_slice(), &told.names) {
                break;
            }
            let mut also_told = Rerun::new(self.subject.module(), part, None);
            let more = self.follow(part, &mut also_told);
            match more.and_then(|more| found.merge(more).map_err(|error| error.to_string())) {
                Ok(()) => told.names.add(also_told.names),
                Err(why) => {
                    failed = Some(why);
                    break;
                }
            }
            followed += part.len();
        }
        let incomplete = (followed < racing.len()).then(|| {
            let why = failed.map(|why| format!(": {why}")).unwrap_or_default();
            format!("only the first {followed} racing locations were followed{why}")
        });
        let pairs = Pairs {
            pairs: found.into_vec(),
            incomplete,
            in_order: racing.len() <= self.most_followed,
        };
        (pairs, told)
    }

    fn listener(&self, to_name: &[Location]) -> Rerun<'m> {
        Rerun::new(self.subject.module(), to_name, self.subject.watch())
    }

    /// The pairs at these locations, or why they are unknown.
    fn follow(&self, part: &[Location], also: &mut Rerun<'m>) -> Result<RacePairs, String> {
        let pairs = LocationSet::of(part)
            .map_err(Failure::from)
            .and_then(|part| {
                let again = Again::new(self.subject, also);
                let mut uses = uses(self.subject.module());
                if self.subject.schedule().is_some() {
                    // Blocks are ordered as far as they conflict. Nothing is apparent then.
                    (uses.isolated, uses.locks) = (false, false);
                }
                detectors::second_pass(self.detector, uses, &part, again)
            });
        match pairs {
            Ok((ending, pairs)) if ending == self.first => Ok(pairs),
            Ok(_) => Err("the program did not do the same when it was run again".to_owned()),
            Err(failure) => Err(failure.to_string()),
        }
    }

    /// Whether more pairs could change neither the verdict nor whether anything is reported.
    fn is_settled(&self, found: &[RacePair], names: &Names) -> bool {
        let sorted = Sorted::new(found, self.subject.suppressions(), names);
        let mut reported = sorted.reported.iter();
        reported.any(|(_, pair)| is_real(pair))
    }
}
