//! How many orders of isolated blocks there are in all, equivalent ones included.
//!
//! Tasks, finishes and `sync` give the blocks of a run a series-parallel order. The number of ways
//! to run *m* blocks one after the other that have *e* and *f* orders of their own in two groups is
//! *e · f* if one group follows the other, and *e · f · C(m, k)* if the groups are parallel and one
//! has *k* blocks. (Valdes, Tarjan, Lawler: The recognition of series parallel digraphs, 1982.)
//!
//! What a task does from an `async` on is parallel to the new task, up to the end of the finish
//! around both. So the things that a task does in a finish are taken from the last to the first.
//!
//! The number is that of all orders only if each of them has the same tasks, finishes and blocks. A
//! promise orders more than this, and so does a lock that is held. So programs with promises or
//! locks are not counted.

use finishline_model::{Access, Event, FinishId, Observer};
use rustc_hash::FxHasher;
use std::fmt;
use std::hash::{Hash, Hasher};

/// What an exploration knows of the structure of the runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Structures {
    #[default]
    Unseen,
    /// All runs have this one.
    Same {
        digest: u64,
        /// How many orders it has, in words.
        orders: String,
    },
    /// They differ, or are not counted.
    Different,
}

impl Structures {
    /// Both.
    #[must_use]
    pub(super) fn and(self, other: Structures) -> Structures {
        match (self, other) {
            (Structures::Unseen, any) | (any, Structures::Unseen) => any,
            (a, b) if a == b => a,
            _ => Structures::Different,
        }
    }

    /// One more run.
    pub(super) fn note(&mut self, structure: &Structure) {
        let Some(digest) = structure.digest() else {
            *self = Structures::Different;
            return;
        };
        match self {
            Structures::Unseen => {
                *self = Structures::Same {
                    digest,
                    orders: structure.orders().to_string(),
                }
            }
            Structures::Same { digest: known, .. } if *known == digest => {}
            _ => *self = Structures::Different,
        }
    }
}

/// Something that a task does.
#[derive(Clone, Copy, Hash)]
enum Item {
    Block,
    Task(usize),
    Open,
    Join,
    Close,
}

#[derive(Default)]
struct Task {
    items: Vec<Item>,
    /// The finish around the task, and those that it has opened.
    finishes: Vec<FinishId>,
}

/// Listens to a run in any order.
#[derive(Default)]
pub(super) struct Structure {
    tasks: Vec<Task>,
    is_other: bool,
}

impl Observer for Structure {
    fn event(&mut self, event: &Event) {
        match *event {
            Event::TaskBegin { parent, finish, .. } => {
                let number = self.tasks.len();
                if let Some(parent) = parent {
                    let parent = &mut self.tasks[parent.index()];
                    parent.items.push(Item::Task(number));
                    self.is_other |= parent.finishes.last() != Some(&finish);
                }
                self.tasks.push(Task {
                    items: Vec::new(),
                    finishes: vec![finish],
                });
            }
            Event::FinishBegin { task, finish, .. } => {
                let task = &mut self.tasks[task.index()];
                task.items.push(Item::Open);
                task.finishes.push(finish);
            }
            Event::FinishJoin { task, finish, .. } => {
                let task = &mut self.tasks[task.index()];
                task.items.push(Item::Join);
                self.is_other |= task.finishes.last() != Some(&finish);
            }
            Event::FinishEnd { task, finish, .. } => {
                let task = &mut self.tasks[task.index()];
                task.items.push(Item::Close);
                self.is_other |= task.finishes.pop() != Some(finish);
            }
            Event::IsolatedBegin { task, .. } => {
                self.tasks[task.index()].items.push(Item::Block);
            }
            Event::PromiseSet { .. } | Event::PromiseGet { .. } | Event::Lock { .. } => {
                self.is_other = true;
            }
            _ => {}
        }
    }

    fn access(&mut self, _: &Access) {}
}

impl Structure {
    /// Tells structures apart. None if this one is not counted.
    fn digest(&self) -> Option<u64> {
        if self.is_other {
            return None;
        }
        let mut hasher = FxHasher::default();
        // Tasks are numbered in the order of the run, so each is met where it was created.
        let mut open = vec![(0, 0)];
        while let Some((task, place)) = open.pop() {
            match self.tasks.get(task).and_then(|task| task.items.get(place)) {
                None => u8::MAX.hash(&mut hasher),
                Some(item) => {
                    open.push((task, place + 1));
                    std::mem::discriminant(item).hash(&mut hasher);
                    if let Item::Task(child) = item {
                        open.push((*child, 0));
                    }
                }
            }
        }
        Some(hasher.finish())
    }

    fn orders(&self) -> Orders {
        let mut counted: Vec<Orders> = vec![Orders::NONE; self.tasks.len()];
        // Tasks come after those that create them.
        for (number, task) in self.tasks.iter().enumerate().rev() {
            let mut scopes: Vec<Vec<Element>> = vec![Vec::new()];
            for item in &task.items {
                let closed = match item {
                    Item::Open => {
                        scopes.push(Vec::new());
                        continue;
                    }
                    Item::Block => Element::Then(Orders::ONE_BLOCK),
                    Item::Task(child) => Element::Beside(counted[*child]),
                    Item::Join | Item::Close => {
                        let scope = scopes.pop().unwrap_or_default();
                        if matches!(item, Item::Join) {
                            scopes.push(Vec::new());
                        }
                        Element::Then(folded(&scope))
                    }
                };
                match scopes.last_mut() {
                    Some(scope) => scope.push(closed),
                    None => scopes.push(vec![closed]),
                }
            }
            while let Some(scope) = scopes.pop() {
                let orders = folded(&scope);
                match scopes.last_mut() {
                    Some(around) => around.push(Element::Then(orders)),
                    None => counted[number] = orders,
                }
            }
        }
        counted.first().copied().unwrap_or(Orders::NONE)
    }
}

/// What a task does in a finish, and how the rest of it follows.
#[derive(Clone, Copy)]
enum Element {
    Then(Orders),
    Beside(Orders),
}

fn folded(elements: &[Element]) -> Orders {
    let elements = elements.iter().rev();
    elements.fold(Orders::NONE, |rest, element| match element {
        Element::Then(orders) => orders.then(rest),
        Element::Beside(orders) => orders.beside(rest),
    })
}

/// The orders of some blocks.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Orders {
    blocks: u64,
    /// How many there are, unless they are too many.
    exact: Option<u128>,
    logarithm: f64,
}

impl Orders {
    const NONE: Orders = Orders {
        blocks: 0,
        exact: Some(1),
        logarithm: 0.0,
    };
    const ONE_BLOCK: Orders = Orders {
        blocks: 1,
        ..Orders::NONE
    };

    fn then(self, other: Orders) -> Orders {
        let both = self.exact.zip(other.exact);
        Orders {
            blocks: self.blocks + other.blocks,
            exact: both.and_then(|(a, b)| a.checked_mul(b)),
            logarithm: self.logarithm + other.logarithm,
        }
    }

    fn beside(self, other: Orders) -> Orders {
        let Orders {
            blocks,
            mut exact,
            mut logarithm,
        } = self.then(other);
        // C(blocks, k), factor by factor: each product is divisible.
        let mut ways = Some(1_u128);
        for k in 1..=self.blocks.min(other.blocks) {
            let factor = blocks - k + 1;
            ways = ways.and_then(|ways| Some(ways.checked_mul(factor.into())? / u128::from(k)));
            logarithm += (factor as f64 / k as f64).log10();
        }
        exact = exact.zip(ways).and_then(|(a, b)| a.checked_mul(b));
        Orders {
            blocks,
            exact,
            logarithm,
        }
    }
}

impl fmt::Display for Orders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exact {
            Some(exact) => exact.fmt(f),
            // Rounding must not turn it into too much.
            None => write!(f, "more than 10^{}", (self.logarithm - 1e-6).floor()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_of_groups() {
        let blocks = |count| (0..count).fold(Orders::NONE, |all, _| all.then(Orders::ONE_BLOCK));
        assert_eq!(blocks(5).exact, Some(1));
        assert_eq!(blocks(2).beside(blocks(3)).exact, Some(10));
        let tasks = (0..20).fold(Orders::NONE, |all, _| all.beside(Orders::ONE_BLOCK));
        assert_eq!(tasks.to_string(), "2432902008176640000");
        let tasks = (0..100).fold(Orders::NONE, |all, _| all.beside(Orders::ONE_BLOCK));
        // 100! is about 9.3 · 10^157.
        assert_eq!(tasks.to_string(), "more than 10^157");
    }
}
