//! The order of a program's accesses for given arguments, pair by pair. Tests compare it with a
//! run.

use crate::facts::AccessIndex;
use crate::instances::{Instance, Names, Pair, counters, of_facts};
use crate::objects::Objects;
use crate::points::Points;
use crate::sets::{Result, Set};
use crate::symbols::Symbol;
use finishline_fin::hir::Program;
use std::collections::BTreeSet;

/// How the accesses of a program are ordered.
pub struct Relation {
    names: Names,
    before: Vec<(Pair, Points)>,
    beside: Vec<(Pair, Points)>,
}

/// Finds the order of a program's accesses; or says why it could not.
pub fn relation(program: &Program) -> std::result::Result<Relation, String> {
    of_facts(program, |objects| {
        let mut relation = Relation {
            names: Names::new(objects.facts),
            before: Vec::new(),
            beside: Vec::new(),
        };
        let accesses = 0..objects.facts.accesses.len();
        for first in accesses.clone() {
            for second in accesses.clone() {
                relation.add(objects, first, second)?;
            }
        }
        Ok(relation)
    })
}

impl Relation {
    fn add(&mut self, objects: &Objects, first: AccessIndex, second: AccessIndex) -> Result<()> {
        let [one, other] = [first, second].map(|index| &objects.facts.accesses[index]);
        let as_is = |symbol: Symbol| symbol;
        let copied = |symbol: Symbol| objects.in_copy(symbol, 1);
        let instances = objects.instances(second)?.rename(copied)?;
        let instances = instances.intersect(&objects.instances(first)?)?;
        let mut wanted = counters(one);
        let loops = wanted.len();
        wanted.extend(counters(other).into_iter().map(copied));
        let family = |pairs: Set| -> Result<(Pair, Points)> {
            let pairs = objects.with_constants(&pairs.intersect(&instances)?)?;
            let pair = Pair {
                first,
                second,
                loops,
            };
            Ok((pair, Points::new(&pairs, wanted.clone())?))
        };
        let (path, later) = ((&*one.path, &as_is as _), (&*other.path, &copied as _));
        let order = &objects.order;
        self.before.push(family(order.precedes(path, later)?)?);
        self.beside.push(family(order.beside(path, later)?)?);
        Ok(())
    }

    fn at(
        &self,
        families: &[(Pair, Points)],
        arguments: &[i64],
    ) -> Option<BTreeSet<[Instance; 2]>> {
        let pairs = families.iter().map(|it| self.names.pairs(it, arguments));
        let pairs: Option<Vec<_>> = pairs.collect();
        Some(pairs?.into_iter().flatten().collect())
    }

    /// The pairs of which the first happens before the second; none if some are too far from 0.
    pub fn before(&self, arguments: &[i64]) -> Option<BTreeSet<[Instance; 2]>> {
        self.at(&self.before, arguments)
    }

    /// The pairs that may happen in parallel, first what a depth-first run does first; none if some
    /// are too far from 0.
    pub fn beside(&self, arguments: &[i64]) -> Option<BTreeSet<[Instance; 2]>> {
        self.at(&self.beside, arguments)
    }
}
