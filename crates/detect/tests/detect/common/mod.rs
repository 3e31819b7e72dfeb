//! The comparison of every detector with the oracle on one event stream.
//!
//! Streams are written as little programs ([`words`]), made at random ([`streams`]), or told by
//! tasks that take turns ([`interleaved`]).

pub(crate) mod inline;
pub(crate) mod interleaved;
pub(crate) mod streams;
pub(crate) mod words;

pub(crate) use inline::{InlineChecks, RangeChecks};
pub(crate) use words::{Open, Word, from_environment, parse, show, shrink, tell};

use finishline_detect::LocationSet;
use finishline_detect::history::{Isolated, LastWriterOneReader, ObservedOrder, WriteCoversReads};
use finishline_detect::oracle::{Mode, Oracle, Recorded};
use finishline_detect::order::isolation::{IsolationOrder, StepId};
use finishline_detect::order::{EspBags, Order, Running, SpBags, Stamp};
use finishline_detect::pairs::{RacePair, RacePairs};
use finishline_detect::serial::Serial;
use finishline_detect::sited::Sited;
use finishline_model::{Access, AccessId, AccessKind, Event, FinishKind, Location, Observer, Race};
use std::collections::BTreeSet;

/// The observed order and its history alone, without the structural history that the second pass
/// has beside them.
#[derive(Debug)]
struct ObservedAlone {
    structure: EspBags,
    isolation: IsolationOrder,
    cells: Vec<ObservedOrder<(Stamp, StepId)>>,
    racing: BTreeSet<Location>,
}

impl ObservedAlone {
    fn new(locations: u64) -> Self {
        ObservedAlone {
            structure: EspBags::new().unwrap(),
            isolation: IsolationOrder::new(),
            cells: vec![ObservedOrder::default(); locations as usize],
            racing: BTreeSet::new(),
        }
    }

    fn clear(&mut self) {
        self.structure.clear();
        self.isolation.clear();
        self.cells.fill(ObservedOrder::default());
        self.racing.clear();
    }
}

impl Observer for ObservedAlone {
    fn event(&mut self, event: &Event) {
        self.structure.event(event).unwrap();
        self.isolation.event(event).unwrap();
    }

    fn access(&mut self, access: &Access) {
        let step = self.isolation.now(access.task).unwrap();
        let stamp = self.structure.stamp(Running);
        for location in access.locations() {
            let races = self.cells[location.0 as usize].access(
                (stamp, step.id),
                access.kind,
                |&(stamp, earlier)| {
                    !self.structure.parallel(Running, stamp) || self.isolation.before(earlier, step)
                },
                |&(_, earlier)| self.isolation.first_block_after(earlier),
            );
            if races.iter().any(Option::is_some) {
                self.racing.insert(location);
            }
        }
    }
}

/// All detectors and the oracle, used again for one program after another.
pub(crate) struct Comparison {
    locations: u64,
    pub(crate) oracle: Oracle,
    pub(crate) esp_bags: Serial<EspBags, LastWriterOneReader>,
    covering: Serial<EspBags, WriteCoversReads>,
    covering_cilk: Serial<SpBags, WriteCoversReads>,
    inline: InlineChecks<EspBags>,
    inline_cilk: InlineChecks<SpBags>,
    ranges: RangeChecks<EspBags>,
    ranges_cilk: RangeChecks<SpBags>,
    pub(crate) esp_bags_isolated: Serial<EspBags, Isolated>,
    pub(crate) sp_bags: Serial<SpBags, LastWriterOneReader>,
    pub(crate) sited: Sited<'static, EspBags, Isolated>,
    observed_alone: ObservedAlone,
    sited_plain: Sited<'static, EspBags, LastWriterOneReader>,
    sited_cilk: Sited<'static, SpBags, LastWriterOneReader>,
}

impl Comparison {
    pub(crate) fn new(locations: u64) -> Self {
        let mut all = LocationSet::new().unwrap();
        for location in 0..locations {
            all.insert(Location(location)).unwrap();
        }
        let all: &'static LocationSet = Box::leak(Box::new(all));
        Comparison {
            locations,
            oracle: Oracle::new(1000),
            esp_bags: Serial::new().unwrap(),
            covering: Serial::new().unwrap(),
            covering_cilk: Serial::new().unwrap(),
            inline: InlineChecks::new(locations),
            inline_cilk: InlineChecks::new(locations),
            ranges: RangeChecks::new(locations, false),
            ranges_cilk: RangeChecks::new(locations, true),
            esp_bags_isolated: Serial::new().unwrap(),
            sp_bags: Serial::new().unwrap(),
            sited: Sited::new(all).unwrap(),
            observed_alone: ObservedAlone::new(locations),
            sited_plain: Sited::new(all).unwrap(),
            sited_cilk: Sited::new(all).unwrap(),
        }
    }

    /// Whether every detector agrees with the oracle within its guarantee; else the first
    /// disagreement.
    pub(crate) fn run(&mut self, words: &[Word]) -> Result<(), String> {
        self.oracle.clear();
        tell(words, self.locations, &mut self.oracle);
        if self.oracle.gave_up() {
            return Err("the oracle gave up".into());
        }
        let racing = self.oracle.racing_locations(Mode::Structure);

        self.esp_bags_isolated.clear();
        tell(words, self.locations, &mut self.esp_bags_isolated);
        same(
            "esp-bags, isolated",
            &racing,
            self.esp_bags_isolated.racing(),
        )?;
        let overlap = self.oracle.isolated_blocks_conflict();
        if self.esp_bags_isolated.isolated_conflict() != overlap {
            return Err(format!(
                "isolated blocks conflict: {overlap} says the oracle"
            ));
        }
        self.inline.clear();
        tell(words, self.locations, &mut self.inline);
        let inline = &self.inline.detector;
        same("esp-bags, inline", &racing, inline.racing())?;
        if inline.isolated_conflict() != overlap {
            return Err(format!(
                "inline denies: isolated blocks conflict = {overlap}"
            ));
        }
        self.ranges.clear();
        tell(words, self.locations, &mut self.ranges);
        self.ranges.agrees(&self.inline)?;
        if !Word::uses(words, Open::Isolated) {
            self.covering.clear();
            tell(words, self.locations, &mut self.covering);
            same("esp-bags, covering", &racing, self.covering.racing())?;
            self.esp_bags.clear();
            tell(words, self.locations, &mut self.esp_bags);
            same("esp-bags", &racing, self.esp_bags.racing())?;
            self.sited_plain.clear();
            tell(words, self.locations, &mut self.sited_plain);
            self.pairs_agree(self.sited_plain.pairs(), &racing)?;
        }
        let beyond_cilk = [
            Open::Async,
            Open::Isolated,
            Open::Finish(FinishKind::Lexical),
            Open::Finish(FinishKind::Dynamic),
        ];
        if !beyond_cilk.iter().any(|&open| Word::uses(words, open)) {
            self.covering_cilk.clear();
            tell(words, self.locations, &mut self.covering_cilk);
            same("sp-bags, covering", &racing, self.covering_cilk.racing())?;
            self.inline_cilk.clear();
            tell(words, self.locations, &mut self.inline_cilk);
            same(
                "sp-bags, inline",
                &racing,
                self.inline_cilk.detector.racing(),
            )?;
            self.ranges_cilk.clear();
            tell(words, self.locations, &mut self.ranges_cilk);
            self.ranges_cilk.agrees(&self.inline_cilk)?;
            self.sp_bags.clear();
            tell(words, self.locations, &mut self.sp_bags);
            same("sp-bags", &racing, self.sp_bags.racing())?;
            self.sited_cilk.clear();
            tell(words, self.locations, &mut self.sited_cilk);
            self.pairs_agree(self.sited_cilk.pairs(), &racing)?;
        }
        self.sited.clear();
        tell(words, self.locations, &mut self.sited);
        self.pairs_agree(self.sited.pairs(), &racing)?;

        self.observed_alone.clear();
        tell(words, self.locations, &mut self.observed_alone);
        let (alone, observed) = (
            &self.observed_alone.racing,
            self.oracle.racing_locations(Mode::Observed),
        );
        if *alone != observed {
            return Err(format!(
                "the observed order alone races at {alone:?}, not {observed:?}"
            ));
        }
        Ok(())
    }

    fn pairs_agree(&self, pairs: &RacePairs, racing: &BTreeSet<Location>) -> Result<(), String> {
        let pairs = pairs.as_slice();
        for pair in pairs {
            for &location in &pair.locations {
                self.pair_agrees(&Race {
                    location,
                    ..pair.race
                })?;
            }
        }
        let places = |pairs: &mut dyn Iterator<Item = &RacePair>| -> BTreeSet<Location> {
            pairs
                .flat_map(|pair| pair.locations.iter().copied())
                .collect()
        };
        let named = places(&mut pairs.iter());
        if named != *racing {
            return Err(format!("pairs at {named:?}, races at {racing:?}"));
        }
        let real = places(&mut pairs.iter().filter(|pair| !pair.race.ordered_by_isolation));
        let observed = self.oracle.racing_locations(Mode::Observed);
        if real != observed {
            return Err(format!(
                "pairs that are not apparent at {real:?}, such races at {observed:?}"
            ));
        }
        Ok(())
    }

    fn pair_agrees(&self, race: &Race) -> Result<(), String> {
        let find = |id: AccessId| -> Result<&Recorded, String> {
            let accesses = self.oracle.accesses(race.location);
            let found = accesses.iter().find(|recorded| recorded.access == id);
            found.ok_or(format!("{race:?}: no such access"))
        };
        let (first, second) = (find(race.first.access)?, find(race.second.access)?);
        for (recorded, point) in [(first, race.first), (second, race.second)] {
            if (recorded.task, recorded.kind, recorded.isolated)
                != (point.task, point.kind, point.isolated)
            {
                return Err(format!("{race:?}: the oracle recorded {recorded:?}"));
            }
        }
        if first.kind == AccessKind::Read && second.kind == AccessKind::Read
            || first.isolated && second.isolated
            || self.oracle.ordered(Mode::Structure, first, second)
        {
            return Err(format!("{race:?} is no race"));
        }
        if self.oracle.ordered(Mode::Observed, first, second) != race.ordered_by_isolation {
            return Err(format!("{race:?}: not so by the order of isolated blocks"));
        }
        Ok(())
    }
}

fn same(detector: &str, expected: &BTreeSet<Location>, found: &LocationSet) -> Result<(), String> {
    let found: BTreeSet<Location> = found.in_order().iter().copied().collect();
    if found == *expected {
        return Ok(());
    }
    Err(format!(
        "{detector} finds races at {found:?}, the oracle at {expected:?}"
    ))
}
