//! What dataflow tells besides races: dead writes, reads of starting values, benign races.
//!
//! Memory can't be observed after the program has ended, so a write counts only if a read sees it.
//! Where something is unknown, the sources of a read are a superset. So a write that is no source
//! is dead, whatever the unknown values are.

use crate::facts::{AccessIndex, Stored, Touched};
use crate::objects::Objects;
use crate::races::Finding;
use crate::sets::{Result, Set};
use crate::symbols::{Kind, Naming, Symbol};
use finishline_answer::claim::Benign;
use finishline_answer::proof::RemarkKind;
use finishline_model::AccessKind;

impl Objects<'_> {
    /// The instances of an access, in terms of counters, parameters and constants.
    pub(crate) fn instances(&self, index: AccessIndex) -> Result<Set> {
        let mut instances = self.isl.nothing()?;
        for target in &self.targets(index)?.list {
            let refined = self.refined(target)?;
            let set = refined.set.exists(|symbol| symbol.kind == Kind::Location)?;
            instances = instances.union(&self.for_some_value(&set)?)?;
        }
        instances.coalesce()
    }

    /// The instances of an access that are questionable, and in which way. None if that is not
    /// known.
    pub(crate) fn questionable(&self, index: AccessIndex) -> Result<(RemarkKind, Option<Set>)> {
        Ok(match self.facts.accesses[index].kind {
            AccessKind::Read => (RemarkKind::NeverWritten, self.never_written(index)?),
            AccessKind::Write => (RemarkKind::DeadWrite, self.dead(index)?),
        })
    }

    /// The instances of a write that no read sees. None if not all reads are known, or
    /// if it sets a promise.
    fn dead(&self, write: AccessIndex) -> Result<Option<Set>> {
        let is_set = matches!(self.facts.accesses[write].place, Touched::Promise { .. });
        if is_set || self.facts.has_foreign() {
            return Ok(None);
        }
        let mut dead = self.instances(write)?;
        for (index, access) in self.facts.accesses.iter().enumerate() {
            if access.kind == AccessKind::Write || !self.may_meet(index, write) {
                continue;
            }
            let sources = self.sources(index)?;
            if sources.incomplete {
                return Ok(None);
            }
            for (_, pairs) in sources.writes.iter().filter(|(source, _)| *source == write) {
                let own = |symbol: Symbol| self.in_copy(symbol, 1) == symbol || symbol.copy == 1;
                let seen = pairs.exists(|symbol| !own(symbol) || symbol.kind == Kind::Location)?;
                let seen = seen.rename(|symbol: Symbol| symbol.in_copy(0))?;
                dead = dead.subtract(&self.for_some_value(&seen)?)?;
            }
        }
        Ok(Some(dead.coalesce()?))
    }

    /// The instances of a read that see the starting value in every schedule. None if not all
    /// writes are known.
    fn never_written(&self, read: AccessIndex) -> Result<Option<Set>> {
        if self.facts.has_foreign() || self.sources(read)?.incomplete {
            return Ok(None);
        }
        let mut unwritten = self.instances(read)?;
        for (_, pairs) in &self.sources(read)?.writes {
            let seen = |symbol: Symbol| symbol.copy == 1 || symbol.kind == Kind::Location;
            unwritten = unwritten.subtract(&self.for_some_value(&pairs.exists(seen)?)?)?;
        }
        Ok(Some(unwritten.coalesce()?))
    }

    /// Whether a race can't change anything.
    pub(crate) fn benign(&self, finding: &Finding) -> Result<Option<Benign>> {
        let (first, second) = (
            &self.facts.accesses[finding.first],
            &self.facts.accesses[finding.second],
        );
        if first.kind == AccessKind::Read || second.kind == AccessKind::Read {
            return Ok(None);
        }
        // The second `set` of a promise fails.
        if matches!(first.place, Touched::Promise { .. }) {
            return Ok(None);
        }
        let same = match (&first.stored, &second.stored) {
            (Stored::Number(one), Stored::Number(other)) => {
                let (value, other_value) = (Symbol::object(0), Symbol::object(1));
                let (one, _) = self.defined(&one.bind(self.isl, value)?)?;
                let (other, _) = self.defined(&other.bind(self.isl, other_value)?)?;
                let both = one.intersect(&other.rename(finding.naming.clone())?)?;
                let differ = (self.isl.symbol(value)?).differs(&self.isl.symbol(other_value)?)?;
                let differ = finding.set.intersect(&both)?.intersect(&differ)?;
                self.with_constants(&differ)?.is_empty()?
            }
            (Stored::Literal(one), Stored::Literal(other)) => one == other,
            _ => false,
        };
        if same {
            return Ok(Some(Benign::SameValue));
        }
        let (Some(one), Some(other)) = (self.dead(finding.first)?, self.dead(finding.second)?)
        else {
            return Ok(None);
        };
        let other = other.rename(|symbol: Symbol| finding.naming.name(symbol))?;
        let unread = finding.set.is_subset(&one)? && finding.set.is_subset(&other)?;
        Ok(unread.then_some(Benign::NeverRead))
    }
}
