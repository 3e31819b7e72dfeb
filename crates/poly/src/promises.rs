//! Order by promises: a `set` happens before every `get` of the same promise.
//!
//! [Paths](crate::order) don't show this order, so pairs that it keeps apart are taken out of those
//! that may race. Let a and b be instances of accesses. a happens before b if a `get` v with two
//! properties exists:
//!
//! 1. v happens before b by paths, and v surely happens if b does;
//! 2. a is, or happens before, every `set` that may be the one that v waited for: every one of a
//!    promise that v may be about, unless v happens before it by paths.
//!
//! When b happens, v has returned, so one of these `set`s has happened before v. Which one, and
//! which promise, need not be known: both are supersets, and the rule asks for all. So a promise
//! that is overwritten, unknown or set in several places costs proofs and never makes a wrong one.
//! If there is no such `set`, v waits for ever and b never happens.
//!
//! **Chains.** The order of (2) may be by other `get`s before the `set`. Let R(a, s) be pairs of
//! instances of the access and of a `set`. R₀ has those that are the same or ordered by paths. Let
//! F(R) be R₀ and what the rule adds, with a `set` as b and R as the order of (2). All that F makes
//! of R₀ in any number of steps is order. A pipeline needs as many steps as it has tasks, so two
//! are made, and a guess: all pairs that satisfy the conditions that did not change from the first
//! step to the second. A guess G is right if G ⊆ F(G).
//!
//! **Why that is enough.** Take a run, a pair of G of which both happened, and suppose that all
//! pairs of G whose `set` was earlier in the run are ordered. By G ⊆ F(G) the pair is in R₀, or a
//! `get` v happened before its `set`, and a is in G with each `set` that v may have waited for. One
//! of these happened, before v, so it is ordered after a. By induction on the run all are ordered.
//!
//! **What is missed.** A `get` under a condition on data. Chains longer than two whose pairs are
//! not described by linear conditions alone, as those of every other task. All order if some code
//! was not unfolded: it may set any promise.

use crate::facts::{AccessIndex, AllocationIndex, PromiseUse};
use crate::objects::{Objects, worked_out};
use crate::order::{Path, Step, loops};
use crate::races::SecondNaming;
use crate::sets::{Result, Set};
use crate::symbols::{Kind, Naming, Symbol};
use std::rc::Rc;

/// The copies of symbols in relations: those of an access as they are, and these.
const SECOND: u8 = 1;
const GET: u8 = 4;
const SET: u8 = 5;
/// For an exchange of two copies.
const ASIDE: u8 = 6;

/// More pairs of a `get` and a `set` are not looked at.
const MOST_PAIRS: usize = 400;
/// How often a guess is made smaller.
const GUESSES: usize = 3;

/// What waits for what.
pub(crate) struct Exchange {
    gets: Vec<Get>,
    sets: Vec<Setter>,
}

struct Get {
    path: Path,
    /// The instances, all of which wait.
    instances: Set,
    /// The pairs of an instance and a `set` that it may wait for, by the index of the `set`.
    waits_for: Vec<(usize, Set)>,
}

struct Setter {
    path: Path,
    /// The instances that may happen.
    instances: Set,
}

/// For each `get`, the pairs of an instance of an access and one of the `get` that may wait for a
/// `set` which does not come after the access.
pub(crate) struct Missed(Vec<Set>);

impl Objects<'_> {
    /// Leaves out the pairs of two accesses that promises order.
    pub(crate) fn without_order_by_promises(
        &self,
        (first, second): (AccessIndex, AccessIndex),
        naming: &SecondNaming,
        pairs: Set,
    ) -> Result<Set> {
        let uses = self.facts.gets.len() * self.facts.sets.len();
        if self.facts.gets.is_empty() || uses > MOST_PAIRS || self.facts.has_foreign() {
            return Ok(pairs);
        }
        let there = self.ordered(first, second)?;
        let back = self.ordered(second, first)?;
        let exchanged = |from: u8, to: u8| {
            move |symbol: Symbol| match symbol.kind {
                Kind::Counter if symbol.copy == from => symbol.in_copy(to),
                _ => symbol,
            }
        };
        let back = back.rename(exchanged(0, ASIDE))?;
        let back = back.rename(exchanged(SECOND, 0))?;
        let back = back.rename(exchanged(ASIDE, SECOND))?;
        let mut ordered = there.union(&back)?;
        // A counter that both have in common has one name.
        for symbol in ordered.symbols()? {
            let one = symbol.in_copy(0);
            if symbol.copy == SECOND && naming.name(one) == one {
                let same = self.isl.symbol(symbol)?.equals(&self.isl.symbol(one)?)?;
                ordered = ordered.intersect(&same)?.exists(|it| it == symbol)?;
            }
        }
        pairs.subtract(&ordered)
    }

    /// The pairs of instances of which promises order the first before the second.
    fn ordered(&self, first: AccessIndex, second: AccessIndex) -> Result<Set> {
        let exchange = self.exchange()?;
        let missed = self.missed_after(first)?;
        let path = &self.facts.accesses[second].path;
        self.after(&exchange, &missed.0, (path, SECOND))
    }

    fn exchange(&self) -> Result<Rc<Exchange>> {
        let none = || {
            Ok(Exchange {
                gets: Vec::new(),
                sets: Vec::new(),
            })
        };
        worked_out(&self.exchanges, 0, || self.find_exchange(), none)
    }

    fn find_exchange(&self) -> Result<Exchange> {
        let mut exchange = Exchange {
            gets: Vec::new(),
            sets: Vec::new(),
        };
        let mut of_sets = Vec::new();
        for used in &self.facts.sets {
            exchange.sets.push(Setter {
                path: used.path.clone(),
                instances: self.in_some_way(&used.domain, SET)?,
            });
            of_sets.push(self.promises(used, SET)?);
        }
        let got = |symbol: Symbol| self.in_copy(symbol, GET);
        let copied = |symbol: Symbol| self.in_copy(symbol, SET);
        for used in &self.facts.gets {
            let promises = self.promises(used, GET)?;
            let mut waits_for = Vec::new();
            for (index, of_set) in of_sets.iter().enumerate() {
                let mut pairs = self.isl.nothing()?;
                for (allocation, one) in &promises {
                    for (_, other) in of_set.iter().filter(|(it, _)| it == allocation) {
                        let same = one.intersect(other)?;
                        let same = same.exists(|symbol| symbol.kind == Kind::Object)?;
                        pairs = pairs.union(&same)?;
                    }
                }
                // What comes after the `get` is not what it waited for.
                let set = &self.facts.sets[index].path;
                let later = self.order.precedes((&used.path, &got), (set, &copied))?;
                let pairs = pairs.subtract(&later)?;
                if !pairs.is_empty()? {
                    waits_for.push((index, pairs.coalesce()?));
                }
            }
            exchange.gets.push(Get {
                path: used.path.clone(),
                instances: used.domain.rename(got)?,
                waits_for,
            });
        }
        Ok(exchange)
    }

    /// The promises that a `get` or `set` may be about: its instances with the objects.
    fn promises(&self, used: &PromiseUse, copy: u8) -> Result<Vec<(AllocationIndex, Set)>> {
        let held = self.held(used.promise, &used.ty)?;
        let objects = held.objects.iter().map(|(allocation, set)| {
            let set = self.in_some_way(&used.domain.intersect(set)?, copy)?;
            Ok((*allocation, set))
        });
        objects.collect()
    }

    /// The instances for which a condition may hold, by counters and parameters alone.
    fn in_some_way(&self, condition: &Set, copy: u8) -> Result<Set> {
        let set = self.with_constants(&self.for_some_value(condition)?)?;
        set.rename(|symbol| self.in_copy(symbol, copy))
    }

    fn missed_after(&self, access: AccessIndex) -> Result<Rc<Missed>> {
        let find = || {
            let exchange = self.exchange()?;
            let reached = self.reached(&exchange, access)?;
            self.missed(&exchange, &reached).map(Missed)
        };
        // Nothing asks for itself. If it did, every `get` might wait for anything.
        let all = || {
            let all = self.facts.gets.iter().map(|_| self.isl.everything());
            all.collect::<Result<_>>().map(Missed)
        };
        worked_out(&self.missed, access, find, all)
    }

    /// For each `set`, the pairs of an instance of the access and one of the `set` that are
    /// ordered.
    fn reached(&self, exchange: &Exchange, access: AccessIndex) -> Result<Vec<Set>> {
        let access = &self.facts.accesses[access];
        let own = self.in_some_way(&access.domain, 0)?;
        let as_is = |symbol: Symbol| symbol;
        let copied = |symbol: Symbol| self.in_copy(symbol, SET);
        let mut direct = Vec::new();
        for set in &exchange.sets {
            let mut order = (self.order).precedes((&access.path, &as_is), (&set.path, &copied))?;
            if access.path == set.path {
                order = order.union(&self.same(&set.path, &copied)?)?;
            }
            direct.push(order.intersect(&own)?.intersect(&set.instances)?);
        }
        // One step: F of the explanation above.
        let step = |reached: &[Set]| -> Result<Vec<Set>> {
            let missed = self.missed(exchange, reached)?;
            let sets = exchange.sets.iter().zip(&direct);
            let sets = sets.map(|(set, direct)| {
                let after = self.after(exchange, &missed, (&set.path, SET))?;
                let after = after.intersect(&own)?.intersect(&set.instances)?;
                direct.union(&after)?.coalesce()
            });
            sets.collect()
        };
        let once = step(&direct)?;
        if all_within(&once, &direct)? {
            return Ok(direct);
        }
        let twice = step(&once)?;
        if all_within(&twice, &once)? {
            return Ok(once);
        }
        let mut guess = Vec::new();
        for ((once, twice), set) in once.iter().zip(&twice).zip(&exchange.sets) {
            let wide = once.widened(twice)?;
            guess.push(wide.intersect(&own)?.intersect(&set.instances)?);
        }
        for _ in 0..GUESSES {
            let next = step(&guess)?;
            if all_within(&guess, &next)? {
                return Ok(guess);
            }
            for (guess, next) in guess.iter_mut().zip(&next) {
                *guess = guess.intersect(next)?.coalesce()?;
            }
        }
        Ok(twice)
    }

    /// The pairs of an instance and itself.
    fn same(&self, path: &[Step], copied: &dyn Naming) -> Result<Set> {
        let mut same = self.isl.everything()?;
        for counter in loops(path) {
            let (one, other) = (self.isl.symbol(counter)?, copied.name(counter));
            same = same.intersect(&one.equals(&self.isl.symbol(other)?)?)?;
        }
        Ok(same)
    }

    /// For each `get`, the pairs of an access and an instance that may wait for a `set` which does
    /// not come after the access.
    fn missed(&self, exchange: &Exchange, reached: &[Set]) -> Result<Vec<Set>> {
        let missed = exchange.gets.iter().map(|get| {
            let mut missed = self.isl.nothing()?;
            for (set, pairs) in &get.waits_for {
                let other = pairs.subtract(&reached[*set])?;
                missed = missed.union(&other.exists(|symbol| symbol.copy == SET)?)?;
            }
            missed.coalesce()
        });
        missed.collect()
    }

    /// The pairs of an access and what a path leads to, in a copy, with a `get` before the latter
    /// that misses nothing.
    fn after(
        &self,
        exchange: &Exchange,
        missed: &[Set],
        (path, copy): (&[Step], u8),
    ) -> Result<Set> {
        let got = |symbol: Symbol| self.in_copy(symbol, GET);
        let copied = |symbol: Symbol| self.in_copy(symbol, copy);
        let mut after = self.isl.nothing()?;
        for (get, missed) in exchange.gets.iter().zip(missed) {
            let waits = self.order.precedes((&get.path, &got), (path, &copied))?;
            let waits = waits.intersect(&get.instances)?;
            if !waits.is_empty()? {
                let ordered = waits.subtract(missed)?;
                after = after.union(&ordered.exists(|symbol| symbol.copy == GET)?)?;
            }
        }
        after.coalesce()
    }
}

fn all_within(some: &[Set], others: &[Set]) -> Result<bool> {
    for (one, other) in some.iter().zip(others) {
        if !one.is_subset(other)? {
            return Ok(false);
        }
    }
    Ok(true)
}
