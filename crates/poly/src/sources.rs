//! Dataflow (§4 of the paper): which writes a read can see, instance by instance.
//!
//! A write w is a *source* of a read v of the same location under two conditions: v does not happen
//! before w, and no write x happens between them (w before x before v). In a program without races
//! a read has one source, or it sees the starting value. All this is decided by instance, since the
//! order of two statements says nothing in a common loop. Only a write that depends on nothing
//! unknown overwrites others, because only that one surely happens.

use crate::facts::{AccessIndex, Touched};
use crate::objects::{Objects, Slot, worked_out};
use crate::order::Step;
use crate::sets::{Result, Set};
use crate::symbols::{Kind, Symbol};
use finishline_model::AccessKind;
use std::rc::Rc;

/// Where the value of a read comes from.
pub(crate) struct Sources {
    /// Writes with the pairs of instances: the read's symbols as they are, the write's in copy 1,
    /// and the location.
    pub(crate) writes: Vec<(AccessIndex, Set)>,
    /// The instances that may see the starting value.
    pub(crate) initial: Set,
    /// Something unknown was involved: some of these may be none.
    pub(crate) vague: bool,
    /// There may be others.
    pub(crate) incomplete: bool,
}

/// Writes that may be asked about: with each of their targets.
struct Candidate {
    access: AccessIndex,
    set: Set,
    /// It happens in all these instances, whatever the unknown values are.
    surely: bool,
}

impl Objects<'_> {
    /// The sources of a read.
    pub(crate) fn sources(&self, read: AccessIndex) -> Result<Rc<Sources>> {
        worked_out(
            &self.sources,
            read,
            || self.find_sources(read),
            || {
                Ok(Sources {
                    writes: Vec::new(),
                    initial: self.isl.everything()?,
                    vague: true,
                    incomplete: true,
                })
            },
        )
    }

    fn find_sources(&self, read: AccessIndex) -> Result<Sources> {
        let access = &self.facts.accesses[read];
        let targets = self.targets(read)?;
        let mut sources = Sources {
            writes: Vec::new(),
            initial: self.isl.nothing()?,
            vague: targets.vague.is_some() || self.facts.has_foreign(),
            incomplete: self.facts.has_foreign(),
        };
        for target in &targets.list {
            let refined = self.refined(target)?;
            sources.vague |= !refined.free.is_empty();
            let candidates = self.candidates(read, &target.slot)?;
            sources.vague |= candidates.iter().any(|it| !it.surely);
            let read = (&*access.path, &refined.set);
            let mut unseen = refined.set.clone();
            // What surely happens before the read may overwrite what happened before that.
            let mut between = Vec::new();
            for candidate in candidates.iter().filter(|it| it.surely) {
                let before = self.before(candidate, read)?;
                if !before.is_empty()? {
                    unseen = unseen.subtract(&before.exists(|it| it.copy == 1)?)?;
                    let before = before
                        .rename(|it: Symbol| if it.copy == 1 { it.in_copy(2) } else { it })?;
                    between.push((candidate, before));
                }
            }
            for candidate in &candidates {
                let mut pairs = self.seen(candidate, read)?;
                for (other, before) in &between {
                    if pairs.is_empty()? {
                        break;
                    }
                    pairs = pairs.subtract(&self.overwritten(candidate, &pairs, other, before)?)?;
                }
                if !pairs.is_empty()? {
                    sources.writes.push((candidate.access, pairs));
                }
            }
            let instances = unseen.exists(|symbol| symbol.kind == Kind::Location)?;
            sources.initial = sources.initial.union(&instances)?;
        }
        Ok(sources)
    }

    /// Whether the sources of a read are what was found and nothing else. Where something unknown
    /// is involved, or something may wait that was taken to wait for nothing, some that were found
    /// may be none; but not if it is the only one, since every read has one.
    pub(crate) fn knows_sources(&self, read: AccessIndex) -> Result<bool> {
        if self.facts.has_foreign() || self.sources(read)?.incomplete {
            return Ok(false);
        }
        let sources = self.sources(read)?;
        if !sources.vague && self.facts.gaps.is_empty() {
            return Ok(true);
        }
        let mut seen = self.for_some_value(&sources.initial)?;
        for (_, pairs) in &sources.writes {
            let pairs = self.for_some_value(pairs)?;
            let pairs = pairs.exists(|symbol| symbol.kind == Kind::Location)?;
            let other = |symbol: Symbol| match symbol.copy {
                1 => symbol.in_copy(2),
                _ => symbol,
            };
            let mut differ = self.isl.nothing()?;
            for symbol in pairs.symbols()?.into_iter().filter(|it| it.copy == 1) {
                let one = self.isl.symbol(symbol)?;
                differ = differ.union(&one.differs(&self.isl.symbol(other(symbol))?)?)?;
            }
            let two = pairs.intersect(&pairs.rename(other)?)?.intersect(&differ)?;
            let instances = pairs.exists(|symbol| symbol.copy == 1)?;
            if !two.is_empty()? || !instances.intersect(&seen)?.is_empty()? {
                return Ok(false);
            }
            seen = seen.union(&instances)?;
        }
        Ok(true)
    }

    /// The writes that may touch a slot.
    fn candidates(&self, read: AccessIndex, slot: &Slot) -> Result<Vec<Candidate>> {
        let mut candidates = Vec::new();
        for (index, access) in self.facts.accesses.iter().enumerate() {
            if access.kind == AccessKind::Read || !self.may_meet(index, read) {
                continue;
            }
            let targets = self.targets(index)?;
            for target in targets.list.iter().filter(|it| it.slot == *slot) {
                let refined = self.refined(target)?;
                candidates.push(Candidate {
                    access: index,
                    surely: targets.vague.is_none() && refined.free.is_empty(),
                    set: refined.set.clone(),
                });
            }
        }
        Ok(candidates)
    }

    /// Whether two accesses may touch the same location, as far as types go.
    pub(crate) fn may_meet(&self, first: AccessIndex, second: AccessIndex) -> bool {
        let (first, second) = (&self.facts.accesses[first], &self.facts.accesses[second]);
        match (&first.place, &second.place) {
            (Touched::Global(a), Touched::Global(b)) => a == b,
            (
                Touched::Field { layout, field, .. },
                Touched::Field {
                    layout: of,
                    field: other,
                    ..
                },
            ) => layout == of && field == other,
            (Touched::Element { ty, .. }, Touched::Element { ty: other, .. }) => ty == other,
            _ => false,
        }
    }

    fn path(&self, candidate: &Candidate) -> &[Step] {
        &self.facts.accesses[candidate.access].path
    }

    /// The pairs of instances of which the write happens before the read.
    fn before(&self, write: &Candidate, (path, read): (&[Step], &Set)) -> Result<Set> {
        let copied = |symbol: Symbol| self.in_copy(symbol, 1);
        let as_is = |symbol: Symbol| symbol;
        let order = (self.order).precedes((self.path(write), &copied), (path, &as_is))?;
        if order.is_empty()? {
            return Ok(order);
        }
        let both = read.intersect(&write.set.rename(copied)?)?;
        both.intersect(&order)
    }

    /// The pairs of instances of which the read does not happen before the write.
    fn seen(&self, write: &Candidate, (path, read): (&[Step], &Set)) -> Result<Set> {
        let copied = |symbol: Symbol| self.in_copy(symbol, 1);
        let as_is = |symbol: Symbol| symbol;
        let own = self.path(write);
        let order = self.order.precedes((own, &copied), (path, &as_is))?;
        let order = order.union(&self.order.beside((own, &copied), (path, &as_is))?)?;
        let order = order.union(&self.order.beside((path, &as_is), (own, &copied))?)?;
        let both = read.intersect(&write.set.rename(copied)?)?;
        both.intersect(&order)
    }

    /// The pairs, of a write and a read, with another write in between, of which is known when it
    /// is before the read.
    fn overwritten(
        &self,
        write: &Candidate,
        pairs: &Set,
        other: &Candidate,
        before: &Set,
    ) -> Result<Set> {
        let first = |symbol: Symbol| self.in_copy(symbol, 1);
        let second = |symbol: Symbol| self.in_copy(symbol, 2);
        let after =
            (self.order).precedes((self.path(write), &first), (self.path(other), &second))?;
        if after.is_empty()? {
            return self.isl.nothing();
        }
        let all = pairs.intersect(before)?.intersect(&after)?;
        all.exists(|symbol| symbol.copy == 2)
    }
}
