//! In which orders locks are taken one inside the other.
//!
//! If a task takes lock b while it holds lock a, a comes before b. If these relations have no
//! cycle, no schedule in which tasks do the same has a deadlock of locks: among tasks that wait for
//! each other's locks, one waits for the lock that comes last, and the holder of that one waits for
//! none. Nor has it one if each group of locks that come before each other is the affair of one
//! task. Otherwise there may be a deadlock, or none, because the tasks need not be parallel.
//!
//! Linear in the relations.

use crate::table::{TableError, make_room_in};
use finishline_model::hash::IdMap;
use finishline_model::{LockId, TaskId};

/// Who took a lock inside another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Taker {
    One(TaskId),
    Several,
}

impl Taker {
    fn and(self, other: Taker) -> Taker {
        match self == other {
            true => self,
            false => Taker::Several,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct LockOrder {
    /// Which lock was held when which one was taken.
    inside: IdMap<(LockId, LockId), Taker>,
}

impl LockOrder {
    pub(crate) fn taken(
        &mut self,
        task: TaskId,
        held: impl Iterator<Item = LockId>,
        lock: LockId,
    ) -> Result<(), TableError> {
        for outer in held {
            make_room_in(&mut self.inside, "pairs of locks")?;
            let taker = Taker::One(task);
            let known = self.inside.entry((outer, lock)).or_insert(taker);
            *known = known.and(taker);
        }
        Ok(())
    }

    /// Whether several tasks took locks in such orders that they might wait for each other.
    pub(crate) fn has_cycle(&self) -> bool {
        let mut inner: IdMap<LockId, Vec<LockId>> = IdMap::default();
        for &(outer, lock) in self.inside.keys() {
            inner.entry(outer).or_default().push(lock);
        }
        let groups = Groups::of(&inner);
        let mut takers: IdMap<usize, Taker> = IdMap::default();
        let in_groups = self.inside.iter().filter_map(|((outer, lock), taker)| {
            let group = groups.group[outer];
            (groups.group[lock] == group).then_some((group, *taker))
        });
        for (group, taker) in in_groups {
            let known = takers.entry(group).or_insert(taker);
            *known = known.and(taker);
        }
        takers.values().any(|taker| *taker == Taker::Several)
    }
}

/// Groups of locks each of which comes before all of its group [Tarjan 1972].
#[derive(Default)]
struct Groups {
    group: IdMap<LockId, usize>,
    count: usize,
    /// The number of each lock in the order of the visits, and the least that it leads to.
    numbers: IdMap<LockId, (usize, usize)>,
    /// The locks that have no group yet.
    open: Vec<LockId>,
}

impl Groups {
    fn of(inner: &IdMap<LockId, Vec<LockId>>) -> Groups {
        let mut groups = Groups::default();
        for &first in inner.keys() {
            if !groups.numbers.contains_key(&first) {
                groups.visit(first, inner);
            }
        }
        groups
    }

    fn enter(&mut self, lock: LockId) {
        let number = self.numbers.len();
        self.numbers.insert(lock, (number, number));
        self.open.push(lock);
    }

    fn lowers(&mut self, lock: LockId, least: usize) {
        if let Some((_, low)) = self.numbers.get_mut(&lock) {
            *low = (*low).min(least);
        }
    }

    fn visit(&mut self, first: LockId, inner: &IdMap<LockId, Vec<LockId>>) {
        self.enter(first);
        // The way to the present lock, each with the number of its next one.
        let mut way = vec![(first, 0)];
        while let Some((lock, place)) = way.last_mut() {
            let lock = *lock;
            let next = inner
                .get(&lock)
                .and_then(|inner| inner.get(*place))
                .copied();
            *place += 1;
            match next {
                Some(next) => match self.numbers.get(&next) {
                    None => {
                        self.enter(next);
                        way.push((next, 0));
                    }
                    Some(&(number, _)) if !self.group.contains_key(&next) => {
                        self.lowers(lock, number);
                    }
                    Some(_) => {}
                },
                None => {
                    way.pop();
                    let (number, least) = self.numbers[&lock];
                    if let Some(&(above, _)) = way.last() {
                        self.lowers(above, least);
                    }
                    if least == number {
                        self.close(lock);
                    }
                }
            }
        }
    }

    /// The locks that were met since this one are a group with it.
    fn close(&mut self, first: LockId) {
        while let Some(lock) = self.open.pop() {
            self.group.insert(lock, self.count);
            if lock == first {
                break;
            }
        }
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which task takes which lock inside which.
    fn cyclic(takings: &[(u32, u32, u32)]) -> bool {
        let mut order = LockOrder::default();
        for &(task, outer, inner) in takings {
            let held = std::iter::once(LockId(outer));
            let taken = order.taken(TaskId(task), held, LockId(inner));
            taken.expect("memory");
        }
        order.has_cycle()
    }

    #[test]
    fn a_cycle_may_have_any_length() {
        assert!(!cyclic(&[]));
        assert!(!cyclic(&[(0, 0, 1), (1, 1, 2), (0, 0, 2), (1, 3, 2)]));
        assert!(cyclic(&[(0, 0, 1), (1, 1, 0)]));
        let long = [(0, 5, 0), (0, 0, 1), (0, 1, 2), (1, 2, 0), (1, 2, 7)];
        assert!(cyclic(&long));
    }

    #[test]
    fn one_task_does_not_wait_for_itself() {
        assert!(!cyclic(&[(1, 0, 1), (1, 1, 0)]));
        // Another task uses other locks, or one of them before or behind the cycle.
        assert!(!cyclic(&[
            (1, 0, 1),
            (1, 1, 0),
            (2, 2, 3),
            (2, 4, 0),
            (2, 1, 5)
        ]));
        assert!(cyclic(&[(1, 0, 1), (1, 1, 0), (2, 0, 1)]));
    }

    #[test]
    fn long_chains_take_no_recursion() {
        let chain: Vec<(u32, u32, u32)> = (0..200_000).map(|at| (at % 3, at, at + 1)).collect();
        assert!(!cyclic(&chain));
    }
}
