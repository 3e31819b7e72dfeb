//! Gives back the objects that nothing refers to any more: mark and sweep.
//!
//! **What is reachable**: the globals, what a register of a live task refers to, and what a field
//! or an element of a reachable object refers to. Registers and locations are typed, so nothing is
//! guessed. A register keeps its value until it is written again or its function returns, whether
//! or not the program still reads it; what it refers to counts as reachable.
//!
//! **When**: before an object is refused for the budget, so the budget bounds what is reachable at
//! that moment, no matter when collections came before; and when as much was allocated since the
//! last one as it left alive, at least some megabytes.
//!
//! **Cost**: a collection looks at every register, every place of the table of objects and every
//! reference in a live object. The distance between two of them makes that constant for each byte
//! allocated. Close to the budget it can't be kept: a program whose live objects leave only one
//! n-th of the budget free pays n times as much.

use super::datum::Datum;
use super::heap::{Handle, Heap, Object, Storage};
use super::trap::TrapKind;
use std::collections::TryReserveError;

/// At least this many bytes are allocated between two collections, unless the budget is smaller.
const LEAST_BETWEEN: u64 = 4 << 20;
/// And so many for each place of the table: it may be mostly vacant, but sweeping looks at all of
/// it.
const BETWEEN_FOR_A_PLACE: u64 = 32;

impl Heap {
    /// Finds out what can be reached from the roots and vacates all other places, unless the dead
    /// are kept. Returns what the reachable objects cost.
    #[cold]
    pub(super) fn collect(&mut self, roots: impl Iterator<Item = Handle>) -> Result<u64, TrapKind> {
        self.vacant.clear();
        let reserved = self.vacant.try_reserve_exact(self.objects.len());
        let reached = reserved.and_then(|()| reachable(&self.objects, roots));
        let reached = reached.map_err(|_| {
            let place = 2 * size_of::<Handle>() + size_of::<bool>();
            let request = (self.objects.len() * place) as u64;
            TrapKind::SystemMemory { request }
        })?;
        let places = self.objects.iter().zip(&reached);
        let live = places.filter(|(_, reached)| **reached);
        let live = live.map(|(object, _)| object.as_ref().map_or(0, Object::cost));
        let live = live.sum();
        if !self.keeps_dead {
            self.sweep(&reached);
            self.used = live;
            self.pace();
        }
        Ok(live)
    }

    /// Decides when the next collection comes.
    pub(super) fn pace(&mut self) {
        let places = self.objects.len() as u64 * BETWEEN_FOR_A_PLACE;
        let between = self.used.max(places).max(LEAST_BETWEEN);
        self.limit = self.used.saturating_add(between).min(self.budget);
    }

    fn sweep(&mut self, reached: &[bool]) {
        // From the end, so that the first places are the first to be filled again.
        for (index, (place, reached)) in self.objects.iter_mut().zip(reached).enumerate().rev() {
            if !reached {
                *place = None;
                self.vacant.push(Handle::from_index(index));
            }
        }
    }
}

/// By place, whether its object can be reached.
fn reachable(
    objects: &[Option<Object>],
    roots: impl Iterator<Item = Handle>,
) -> Result<Vec<bool>, TryReserveError> {
    let mut reached = Vec::new();
    reached.try_reserve_exact(objects.len())?;
    reached.resize(objects.len(), false);
    // Reached, but not yet looked into. Each object is so once.
    let mut pending = Vec::new();
    pending.try_reserve_exact(objects.len())?;
    let mut reach = |pending: &mut Vec<Handle>, handle: Handle| {
        if !std::mem::replace(&mut reached[handle.index()], true) {
            pending.push(handle);
        }
    };
    for root in roots {
        reach(&mut pending, root);
        while let Some(object) = pending.pop() {
            match objects[object.index()]
                .as_ref()
                .map(|object| &object.storage)
            {
                Some(Storage::Refs(elements)) => {
                    for element in elements.iter().flatten() {
                        reach(&mut pending, *element);
                    }
                }
                Some(Storage::Mixed(fields)) => {
                    for field in fields {
                        if let Datum::Ref(Some(object)) = field {
                            reach(&mut pending, *object);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    Ok(reached)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost;
    use crate::machine::heap::Request;
    use crate::module::Type;
    use finishline_model::{AllocationId, TaskId};

    const KIBI: u64 = 1 << 10;
    const BUDGET: u64 = 1 << 40;

    fn new_bytes(heap: &mut Heap, count: u64, roots: impl Iterator<Item = Handle>) -> Handle {
        let request = Request {
            allocation: AllocationId(0),
            creator: TaskId::MAIN,
            ordinal: 0,
        };
        let array = heap.new_array(Type::Byte, &[count as i64], request, roots);
        array.expect("far below the budget")
    }

    #[test]
    fn garbage_is_given_back_long_before_the_budget_is_reached() {
        let mut heap = Heap::new(BUDGET);
        for _ in 0..1000 {
            new_bytes(&mut heap, 100 * KIBI, std::iter::empty());
            assert!(heap.used() <= LEAST_BETWEEN);
        }
    }

    #[test]
    fn collections_are_the_rarer_the_more_stays_alive() {
        let mut heap = Heap::new(BUDGET);
        let mut live = Vec::new();
        let mut limits = vec![heap.limit];
        while heap.used() < 30 * LEAST_BETWEEN {
            live.push(new_bytes(&mut heap, 64 * KIBI, live.iter().copied()));
            if limits.last() != Some(&heap.limit) {
                limits.push(heap.limit);
            }
        }
        // At about 4, 8, 16, 32 and 64 MiB.
        assert_eq!(limits.len(), 6, "{limits:?}");
    }

    #[test]
    fn a_large_table_that_is_mostly_vacant_is_not_swept_for_every_few_objects() {
        let mut heap = Heap::new(BUDGET);
        let mut live = Vec::new();
        while live.len() < 500_000 {
            live.push(new_bytes(&mut heap, 0, live.iter().copied()));
        }
        heap.collect(std::iter::empty()).expect("memory");
        assert_eq!(heap.used(), 0);
        assert!(heap.limit / cost::OBJECT > 500_000 / 10);
    }
}
