//! Sorts the racing pairs of a Fin run by the user's suppressions: pairs to report, and pairs to
//! leave out.
//!
//! `finishline_answer::suppressions` decides what an entry means. Here pairs get the names that
//! entries use.

use crate::names::Names;
use finishline_answer::finding::SuppressionEntry;
use finishline_answer::suppressions::{Accessed, Matcher, Named};
use finishline_detect::RacePair;
use finishline_model::AccessId;
use finishline_model::source::SourceMap;

pub use finishline_answer::suppressions::{Malformed, Suppressions};

/// A pair and its number in the order found.
pub(crate) type Numbered<'p> = (usize, &'p RacePair);

/// The pairs of a run: those to report, and those suppressed.
pub(crate) struct Sorted<'p> {
    pub(crate) reported: Vec<Numbered<'p>>,
    pub(crate) suppressed: Vec<Numbered<'p>>,
    /// The entries that match none of the pairs.
    pub(crate) unmatched: Vec<SuppressionEntry>,
}

impl<'p> Sorted<'p> {
    pub(crate) fn new(
        pairs: &'p [RacePair],
        suppressions: Option<&Suppressions>,
        names: &Names,
    ) -> Self {
        let numbered = pairs.iter().enumerate();
        let Some(suppressions) = suppressions else {
            return Sorted {
                reported: numbered.collect(),
                suppressed: Vec::new(),
                unmatched: Vec::new(),
            };
        };
        let mut matcher = Matcher::new(suppressions);
        let (suppressed, reported) = numbered.partition(|(_, pair)| {
            let points = [&pair.race.first, &pair.race.second];
            let accesses = points.map(|point| accessed(names.source(), point.access));
            let locations = pair.locations.iter().map(|location| {
                let location = names.location(*location);
                Named {
                    owner: location.object().map(str::to_owned),
                    location: location.to_string(),
                }
            });
            matcher.suppresses(&accesses, locations)
        });
        Sorted {
            reported,
            suppressed,
            unmatched: matcher.unmatched(),
        }
    }
}

fn accessed(source: &SourceMap, access: AccessId) -> Accessed<'_> {
    let info = source.access(access);
    Accessed {
        function: &info.function,
        file: &source.path,
        line: source.site(info.site).line,
    }
}
