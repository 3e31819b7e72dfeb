//! What happens before what: paths and Algorithm H (§3 of the paper on X10 programs).
//!
//! A *path* leads from the root of the program to an access. Its steps are positions in a sequence,
//! loops with their counters, tasks and finishes. A depth-first run executes instances in the
//! lexicographic order of their paths. Two instances *diverge* where their paths first differ: in
//! different iterations of a loop, or at two statements of a sequence. Look at the earlier path
//! below that point. If a finish comes before any task, or if there is no task, the earlier
//! instance happens before the later one. Otherwise they run in parallel.
//!
//! So the order is a union of few cases, each a conjunction of linear conditions. The same holds
//! for its complement among the pairs in lexicographic order: no negation is needed.
//!
//! A `sync` waits for all tasks created before it in its scope. The path does not show it, so pairs
//! with a `sync` in between are taken out.

use crate::facts::Barrier;
use crate::sets::{Isl, Result, Set};
use crate::symbols::{Kind, Naming, Symbol};
use std::rc::Rc;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// The position in a sequence.
    Nth(u32),
    Loop {
        counter: Symbol,
        /// It counts down.
        descending: bool,
    },
    Task,
    /// With the index of its facts.
    Finish(usize),
}

pub(crate) type Path = Rc<[Step]>;

/// The counters of the loops on a path, outermost first.
pub(crate) fn loops(path: &[Step]) -> impl Iterator<Item = Symbol> {
    path.iter().filter_map(|step| match step {
        Step::Loop { counter, .. } => Some(*counter),
        _ => None,
    })
}

/// A way in which an instance of one path comes before one of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Divergence {
    /// The paths are the same up to this step.
    pub(crate) at: usize,
    /// The loop of whose iterations the first is in an earlier one; none if they are in different
    /// statements.
    pub(crate) counter: Option<(Symbol, bool)>,
}

/// All ways in which instances of the first path come before instances of the second.
pub(crate) fn divergences<'p>(
    first: &'p [Step],
    second: &'p [Step],
) -> impl Iterator<Item = Divergence> {
    let common = first.iter().zip(second).take_while(|(a, b)| a == b).count();
    let in_loops = (first[..common].iter().enumerate()).filter_map(|(at, step)| match step {
        Step::Loop {
            counter,
            descending,
        } => Some(Divergence {
            at,
            counter: Some((*counter, *descending)),
        }),
        _ => None,
    });
    let in_statements = match (first.get(common), second.get(common)) {
        (Some(Step::Nth(a)), Some(Step::Nth(b))) if a < b => Some(Divergence {
            at: common,
            counter: None,
        }),
        _ => None,
    };
    in_loops.chain(in_statements)
}

/// Whether two accesses that diverge there run in parallel: nothing joins the first before the
/// second.
pub(crate) fn is_parallel(first: &[Step], divergence: Divergence) -> bool {
    first[divergence.at + 1..]
        .iter()
        .find_map(|step| match step {
            Step::Task => Some(true),
            Step::Finish(_) => Some(false),
            Step::Nth(_) | Step::Loop { .. } => None,
        })
        .unwrap_or(false)
}

/// The order of instances, of which each has its own names for its symbols.
pub(crate) struct Order<'f> {
    pub(crate) isl: &'f Isl,
    /// Those that surely wait.
    pub(crate) barriers: &'f [Barrier],
}

impl Order<'_> {
    /// The pairs of instances that diverge this way.
    pub(crate) fn diverging(
        &self,
        path: &[Step],
        divergence: Divergence,
        first: &dyn Naming,
        second: &dyn Naming,
    ) -> Result<Set> {
        let mut set = self.isl.everything()?;
        for counter in loops(&path[..divergence.at]) {
            let (a, b) = (first.name(counter), second.name(counter));
            if a != b {
                set = set.intersect(&self.isl.symbol(a)?.equals(&self.isl.symbol(b)?)?)?;
            }
        }
        if let Some((counter, descending)) = divergence.counter {
            let a = self.isl.symbol(first.name(counter))?;
            let b = self.isl.symbol(second.name(counter))?;
            let earlier = if descending { b.less(&a)? } else { a.less(&b)? };
            set = set.intersect(&earlier)?;
        }
        Ok(set)
    }

    /// The pairs of instances of which the first happens before the second.
    pub(crate) fn precedes(
        &self,
        (path, first): (&[Step], &dyn Naming),
        (later, second): (&[Step], &dyn Naming),
    ) -> Result<Set> {
        let mut set = self.isl.nothing()?;
        for divergence in divergences(path, later) {
            let mut pairs = self.diverging(path, divergence, first, second)?;
            if is_parallel(path, divergence) {
                let waited = self.waited_for((path, first), (later, second))?;
                pairs = pairs.intersect(&waited)?;
            }
            set = set.union(&pairs)?;
        }
        Ok(set)
    }

    /// The pairs of instances of which the first comes first in a depth-first run, and the second
    /// does not wait for it.
    pub(crate) fn beside(
        &self,
        (path, first): (&[Step], &dyn Naming),
        (later, second): (&[Step], &dyn Naming),
    ) -> Result<Set> {
        let mut set = self.isl.nothing()?;
        for divergence in divergences(path, later) {
            if is_parallel(path, divergence) {
                let pairs = self.diverging(path, divergence, first, second)?;
                let waited = self.waited_for((path, first), (later, second))?;
                set = set.union(&pairs.subtract(&waited)?)?;
            }
        }
        Ok(set)
    }

    /// The pairs with a `sync` in between that waits for the first.
    pub(crate) fn waited_for(
        &self,
        (path, first): (&[Step], &dyn Naming),
        (later, second): (&[Step], &dyn Naming),
    ) -> Result<Set> {
        /// A copy that is used nowhere else.
        const BARRIER: u8 = 9;
        let own = |symbol: Symbol| match symbol.kind {
            Kind::Counter => symbol.in_copy(BARRIER),
            _ => symbol,
        };
        let mut set = self.isl.nothing()?;
        for barrier in self.barriers {
            // Only what was created inside its scope, by the same instance of it.
            let inside = divergences(path, &barrier.path).filter(|it| it.at >= barrier.scope);
            for before in inside {
                let reached = self.diverging(path, before, first, &own)?;
                for after in divergences(&barrier.path, later) {
                    if is_parallel(&barrier.path, after) {
                        continue;
                    }
                    let left = self.diverging(&barrier.path, after, &own, second)?;
                    let domain = barrier.domain.rename(own)?;
                    let pairs = reached.intersect(&left)?.intersect(&domain)?;
                    set = set.union(&pairs.exists(|symbol| symbol.copy == BARRIER)?)?;
                }
            }
        }
        Ok(set)
    }
}
