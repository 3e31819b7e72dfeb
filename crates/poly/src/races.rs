//! Races (§5 of the paper): all conflicting parallel pairs, by instance and location.
//!
//! Two accesses race if they touch the same location, one of them writes, not both are isolated,
//! and neither happens before the other. For each way to diverge in parallel that is a conjunction
//! of linear conditions. The question is asked three times, because most pairs are excluded early:
//! without the definitions of values, with them, and with those of constants, which tend to have
//! many pieces. A pair that is left is a race if nothing unknown is involved. Else it may be one.

use crate::facts::{AccessFacts, AccessIndex, Facts};
use crate::objects::{Objects, Slot, Target, Targets};
use crate::order::{Divergence, divergences, is_parallel, loops};
use crate::sets::{Result, Set};
use crate::symbols::{Kind, Naming, Symbol};
use finishline_answer::proof::ReasonKind;
use finishline_model::{AccessKind, SiteId};

/// Instances of two accesses that race, or may.
pub(crate) struct Finding<'f> {
    /// The one that comes first in a depth-first run.
    pub(crate) first: AccessIndex,
    pub(crate) second: AccessIndex,
    pub(crate) slot: Slot,
    /// The first's symbols as they are, the second's as its naming says, and the location.
    pub(crate) set: Set,
    pub(crate) naming: SecondNaming<'f>,
    /// Why it may be none. Empty: it is one.
    pub(crate) doubts: Vec<(ReasonKind, SiteId)>,
}

/// The names of the second instance's symbols: what both instances have in common keeps its name.
#[derive(Clone)]
pub(crate) struct SecondNaming<'f> {
    facts: &'f Facts,
    /// The counters that have the same value in both.
    common: Vec<Symbol>,
}

impl Naming for SecondNaming<'_> {
    fn name(&self, symbol: Symbol) -> Symbol {
        let differs = match symbol.kind {
            Kind::Counter => !self.common.contains(&symbol),
            // Computed inside of a loop of which the two are in different iterations.
            Kind::Value => self.facts.value(symbol).loops > self.common.len(),
            _ => false,
        };
        if differs { symbol.in_copy(1) } else { symbol }
    }
}

/// Whether two accesses can be a race at all, as far as their kinds go.
pub(crate) fn conflict(first: &AccessFacts, second: &AccessFacts) -> bool {
    let writes = |access: &AccessFacts| access.kind == AccessKind::Write;
    (writes(first) || writes(second)) && !(first.isolated && second.isolated)
}

impl<'f> Objects<'f> {
    /// All races between instances of the first access and later ones of the second.
    pub(crate) fn races(
        &self,
        first: AccessIndex,
        second: AccessIndex,
        found: &mut Vec<Finding<'f>>,
    ) -> Result<()> {
        let (one, other) = (&self.facts.accesses[first], &self.facts.accesses[second]);
        for divergence in divergences(&one.path, &other.path) {
            if !is_parallel(&one.path, divergence) {
                continue;
            }
            let (targets, others) = (self.targets(first)?, self.targets(second)?);
            for target in &targets.list {
                for other in others.list.iter().filter(|it| it.slot == target.slot) {
                    let pair = Pair {
                        first: (first, &targets, target),
                        second: (second, &others, other),
                        divergence,
                    };
                    found.extend(self.race(&pair)?);
                }
            }
        }
        Ok(())
    }

    fn race(&self, pair: &Pair) -> Result<Option<Finding<'f>>> {
        let (first, targets, target) = pair.first;
        let (second, others, other) = pair.second;
        let path = &self.facts.accesses[first].path;
        let as_is = |symbol: Symbol| symbol;
        let naming = SecondNaming {
            facts: self.facts,
            common: loops(&path[..pair.divergence.at]).collect(),
        };
        let order = (self.order).diverging(path, pair.divergence, &as_is, &naming)?;
        let coarse = target.set.intersect(&other.set.rename(naming.clone())?)?;
        if coarse.intersect(&order)?.is_empty()? {
            return Ok(None);
        }
        let (one, two) = (self.refined(target)?, self.refined(other)?);
        let mut set = one.set.intersect(&two.set.rename(naming.clone())?)?;
        set = set.intersect(&order)?;
        if !self.order.barriers.is_empty() {
            let later = &self.facts.accesses[second].path;
            let waited = self.order.waited_for((path, &as_is), (later, &naming))?;
            set = set.subtract(&waited)?;
        }
        if set.is_empty()? {
            return Ok(None);
        }
        set = self.with_constants(&set)?;
        if set.is_empty()? {
            return Ok(None);
        }
        set = self.without_order_by_promises((first, second), &naming, set)?;
        if set.is_empty()? {
            return Ok(None);
        }
        let sized = &self.facts.accesses[second].sized;
        let sized = sized.rename(naming.clone())?;
        let sized = self.facts.accesses[first].sized.intersect(&sized)?;
        let possible = self
            .facts
            .possible(self.isl, &set.intersect(&sized)?, &naming)?;
        if possible.is_empty()? {
            return Ok(None);
        }
        let mut doubts: Vec<_> = targets.vague.into_iter().chain(others.vague).collect();
        for symbol in one.free.iter().chain(&two.free) {
            if set.involves(*symbol)? || set.involves(naming.name(*symbol))? {
                let value = self.facts.value(*symbol);
                doubts.push((value.reason, value.site));
            }
        }
        doubts.sort_unstable();
        doubts.dedup();
        Ok(Some(Finding {
            first,
            second,
            slot: target.slot.clone(),
            set,
            naming,
            doubts,
        }))
    }
}

struct Pair<'t> {
    first: (AccessIndex, &'t Targets, &'t Target),
    second: (AccessIndex, &'t Targets, &'t Target),
    divergence: Divergence,
}
