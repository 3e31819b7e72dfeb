//! What the sets say for given arguments: accesses, racing pairs, sources of reads and remarks.
//!
//! Tests compare these with a run, and tools show them. The [`Families`] of a program are found
//! once. For arguments of main they are enumerated without isl.

use crate::facts::{AccessFacts, AccessIndex, Facts};
use crate::objects::Objects;
use crate::order::loops;
use crate::points::Points;
use crate::races::conflict;
use crate::sets::{Isl, Result, Set};
use crate::symbols::{Naming, Symbol};
use crate::{on_a_large_stack, walk};
use finishline_answer::claim::Benign;
use finishline_answer::proof::RemarkKind;
use finishline_fin::hir::Program;
use finishline_model::{AccessId, AccessKind};
use std::collections::{BTreeMap, BTreeSet};

/// One execution of an access.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instance {
    pub access: AccessId,
    /// Index among the unfolded calls of its function, in the order of evaluation.
    pub unfolding: usize,
    /// Of the loops around it and around its calls, outermost first; [`Families::counters`] says
    /// what counts a `while`.
    pub counters: Vec<i64>,
}

/// Where a read can have its value from.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Seen {
    pub writes: BTreeSet<Instance>,
    /// The value that the location starts with.
    pub initial: bool,
}

/// What happens for certain arguments of main.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Instances {
    pub accesses: BTreeSet<Instance>,
    /// Each pair in ascending order.
    pub races: BTreeSet<(Instance, Instance)>,
    /// For each read.
    pub sources: BTreeMap<Instance, Seen>,
}

/// What is questionable, or harmless, for certain arguments of main.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Remarks {
    /// Writes that no read sees, and reads of what nobody wrote.
    pub questionable: BTreeSet<(RemarkKind, Instance)>,
    /// Races that change nothing.
    pub benign: Vec<(Benign, [Instance; 2])>,
}

/// The id and the unfolding of each access.
pub(crate) struct Names(Vec<(AccessId, usize)>);

impl Names {
    pub(crate) fn new(facts: &Facts) -> Names {
        let mut unfoldings: BTreeMap<AccessId, usize> = BTreeMap::new();
        let names = facts.accesses.iter().map(|access| {
            let unfolding = unfoldings.entry(access.id).or_default();
            *unfolding += 1;
            (access.id, *unfolding - 1)
        });
        Names(names.collect())
    }

    fn instance(&self, index: AccessIndex, counters: &[i64]) -> Instance {
        let (access, unfolding) = self.0[index];
        Instance {
            access,
            unfolding,
            counters: counters.to_vec(),
        }
    }

    /// All pairs of a family.
    pub(crate) fn pairs(
        &self,
        (pair, points): &(Pair, Points),
        arguments: &[i64],
    ) -> Option<Vec<[Instance; 2]>> {
        let points = points.at(arguments)?;
        let pairs = points.iter().map(|point| {
            let (first, second) = point.split_at(pair.loops);
            [
                self.instance(pair.first, first),
                self.instance(pair.second, second),
            ]
        });
        Some(pairs.collect())
    }
}

/// All that is known of a program's instances.
pub struct Families {
    names: Names,
    /// What counts the loops around it.
    counters: BTreeMap<(AccessId, usize), Vec<String>>,
    accesses: Vec<(AccessIndex, Points)>,
    races: Vec<(Option<Benign>, (Pair, Points))>,
    sources: Vec<(Pair, Points)>,
    initial: Vec<(AccessIndex, Points)>,
    questionable: Vec<(RemarkKind, AccessIndex, Points)>,
    /// Pairs of accesses that may race or not. All, if something was not taken apart.
    pub doubtful: BTreeSet<(AccessId, AccessId)>,
    /// Some set depends on something unknown, so that not all of this is sure.
    pub vague: bool,
    /// Reads that may have other sources, or fewer.
    unsure: BTreeSet<AccessIndex>,
    /// Something was not looked at: nothing is known of what happens there.
    incomplete: bool,
}

/// Two accesses, and of how many loops the first one's counters are.
pub(crate) struct Pair {
    pub(crate) first: AccessIndex,
    pub(crate) second: AccessIndex,
    pub(crate) loops: usize,
}

/// Finds the instances of a program; or says why it could not.
pub fn families(program: &Program) -> std::result::Result<Families, String> {
    of_facts(program, find)
}

/// Takes a program apart and finds something out about it.
pub(crate) fn of_facts<T: Send>(
    program: &Program,
    find: impl FnOnce(&Objects) -> Result<T> + Send,
) -> std::result::Result<T, String> {
    /// Far more than a proof takes: a few seconds.
    const OPERATIONS: u64 = 10_000_000;
    on_a_large_stack(|| {
        let isl = Isl::new();
        let _clock = isl.allow(OPERATIONS);
        let facts = walk::walk(&isl, program);
        let found = facts.and_then(|facts| find(&Objects::new(&isl, program, &facts)));
        found.map_err(|stop| format!("{stop:?}"))
    })
}

pub(crate) fn counters(access: &AccessFacts) -> Vec<Symbol> {
    loops(&access.path).collect()
}

fn find(objects: &Objects) -> Result<Families> {
    let facts = objects.facts;
    let mut families = Families {
        names: Names::new(facts),
        counters: BTreeMap::new(),
        accesses: Vec::new(),
        races: Vec::new(),
        sources: Vec::new(),
        initial: Vec::new(),
        questionable: Vec::new(),
        doubtful: BTreeSet::new(),
        vague: !facts.gaps.is_empty(),
        unsure: BTreeSet::new(),
        incomplete: facts.has_foreign(),
    };
    for (index, access) in facts.accesses.iter().enumerate() {
        let names = loops(&access.path).map(|it| facts.counters[it.index as usize].name.clone());
        families
            .counters
            .insert(families.names.0[index], names.collect());
        families.touched(objects, index)?;
        if access.kind == AccessKind::Read {
            families.seen(objects, index)?;
        }
        families.remarked(objects, index)?;
    }
    for first in 0..facts.accesses.len() {
        for second in first..facts.accesses.len() {
            if conflict(&facts.accesses[first], &facts.accesses[second]) {
                families.racing(objects, first, second)?;
            }
        }
    }
    Ok(families)
}

impl Families {
    fn points(&mut self, objects: &Objects, set: &Set, wanted: Vec<Symbol>) -> Result<Points> {
        let (_, free) = objects.defined(set)?;
        self.vague |= !free.is_empty();
        let set = objects.with_constants(&objects.for_some_value(set)?)?;
        Points::new(&set, wanted)
    }

    fn touched(&mut self, objects: &Objects, index: AccessIndex) -> Result<()> {
        let access = &objects.facts.accesses[index];
        let targets = objects.targets(index)?;
        self.vague |= targets.vague.is_some();
        for target in &targets.list {
            let points = self.points(objects, &target.set, counters(access))?;
            self.accesses.push((index, points));
        }
        Ok(())
    }

    fn seen(&mut self, objects: &Objects, read: AccessIndex) -> Result<()> {
        let facts = objects.facts;
        let sources = objects.sources(read)?;
        self.vague |= sources.vague || sources.incomplete;
        if !objects.knows_sources(read)? {
            self.unsure.insert(read);
        }
        let own = counters(&facts.accesses[read]);
        let points = self.points(objects, &sources.initial, own.clone())?;
        self.initial.push((read, points));
        for (write, set) in &sources.writes {
            let mut wanted = own.clone();
            let others = counters(&facts.accesses[*write]);
            wanted.extend(others.iter().map(|symbol| objects.in_copy(*symbol, 1)));
            let points = self.points(objects, set, wanted)?;
            let pair = Pair {
                first: read,
                second: *write,
                loops: own.len(),
            };
            self.sources.push((pair, points));
        }
        Ok(())
    }

    fn remarked(&mut self, objects: &Objects, index: AccessIndex) -> Result<()> {
        let access = &objects.facts.accesses[index];
        let (kind, set) = objects.questionable(index)?;
        if let Some(set) = set {
            let points = Points::new(&objects.with_constants(&set)?, counters(access))?;
            self.questionable.push((kind, index, points));
        }
        Ok(())
    }

    fn racing(&mut self, objects: &Objects, first: AccessIndex, second: AccessIndex) -> Result<()> {
        let mut found = Vec::new();
        objects.races(first, second, &mut found)?;
        if first != second {
            objects.races(second, first, &mut found)?;
        }
        for finding in found {
            let accesses = [finding.first, finding.second];
            if !finding.doubts.is_empty() || !objects.facts.gaps.is_empty() {
                let [one, other] = accesses.map(|index| objects.facts.accesses[index].id);
                self.doubtful.insert((one.min(other), one.max(other)));
                continue;
            }
            let [first, second] = accesses.map(|index| counters(&objects.facts.accesses[index]));
            let loops = first.len();
            let mut wanted = first;
            wanted.extend(second.iter().map(|symbol| finding.naming.name(*symbol)));
            let points = Points::new(&finding.set, wanted)?;
            let pair = Pair {
                first: finding.first,
                second: finding.second,
                loops,
            };
            self.races.push((objects.benign(&finding)?, (pair, points)));
        }
        Ok(())
    }

    /// What counts the loops around an access: a local of that name, or the `iteration`, from 0.
    pub fn counters(&self, access: AccessId, unfolding: usize) -> &[String] {
        let names = self.counters.get(&(access, unfolding));
        names.map_or(&[], Vec::as_slice)
    }

    /// All pairs that race.
    pub fn races(&self, arguments: &[i64]) -> Option<BTreeSet<(Instance, Instance)>> {
        let mut races = BTreeSet::new();
        for (_, family) in &self.races {
            let pairs = self.names.pairs(family, arguments)?;
            races.extend(pairs.into_iter().map(|[one, other]| {
                if one < other {
                    (one, other)
                } else {
                    (other, one)
                }
            }));
        }
        Some(races)
    }

    /// What is remarked about a run with these arguments; none if some of it is too far from 0.
    pub fn remarks(&self, arguments: &[i64]) -> Option<Remarks> {
        let mut remarks = Remarks::default();
        for (kind, index, points) in &self.questionable {
            let points = points.at(arguments)?;
            let found = points
                .iter()
                .map(|it| (*kind, self.names.instance(*index, it)));
            remarks.questionable.extend(found);
        }
        for (benign, family) in &self.races {
            if let Some(benign) = benign {
                let pairs = self.names.pairs(family, arguments)?;
                remarks
                    .benign
                    .extend(pairs.into_iter().map(|pair| (*benign, pair)));
            }
        }
        Some(remarks)
    }

    /// All accesses that may happen; none if not all are known, or if some are too far from 0.
    pub fn accesses(&self, arguments: &[i64]) -> Option<BTreeSet<Instance>> {
        if self.incomplete {
            return None;
        }
        let mut accesses = BTreeSet::new();
        for (index, points) in &self.accesses {
            let points = points.at(arguments)?;
            accesses.extend(
                points
                    .iter()
                    .map(|point| self.names.instance(*index, point)),
            );
        }
        Some(accesses)
    }

    /// The sources that reads may have; none if not all are known, or if some are too far from 0.
    pub fn sources(&self, arguments: &[i64]) -> Option<BTreeMap<Instance, Seen>> {
        if self.incomplete {
            return None;
        }
        let mut sources: BTreeMap<Instance, Seen> = BTreeMap::new();
        for (index, points) in &self.initial {
            for point in points.at(arguments)? {
                let read = self.names.instance(*index, &point);
                sources.entry(read).or_default().initial = true;
            }
        }
        for family in &self.sources {
            for [read, write] in self.names.pairs(family, arguments)? {
                sources.entry(read).or_default().writes.insert(write);
            }
        }
        Some(sources)
    }

    /// Whether the sources that a read may have are those that it has.
    pub fn is_sure_of(&self, read: &Instance) -> bool {
        let is = |index: &AccessIndex| self.names.0[*index] == (read.access, read.unfolding);
        !self.unsure.iter().any(is)
    }

    /// Everything that is known of a run with these arguments; none if some of it is unknown or too
    /// far from 0.
    pub fn at(&self, arguments: &[i64]) -> Option<Instances> {
        if self.vague {
            return None;
        }
        Some(Instances {
            accesses: self.accesses(arguments)?,
            races: self.races(arguments)?,
            sources: self.sources(arguments)?,
        })
    }
}
