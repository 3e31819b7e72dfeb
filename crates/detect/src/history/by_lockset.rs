//! What is remembered of a location that was accessed under locks: for each kind of access and each lockset the tasks that made
//! such an access.
//!
//! A *group* is a kind, a lockset and a set of stamps ([`StampSets`]). A new access conflicts with the groups one of which kinds is
//! a write. With those whose locks don't exclude it (see [`Locksets`]) it races, as far as they are parallel to it. With the others
//! it *overlaps*, as far as they are parallel to it by structure: no race, but the result may depend on which came
//! first, whatever else was observed of this run.
//!
//! One group **covers** another if whatever would race with the latter would race with the former: it writes if the other does,
//! and its locks exclude no more. [Cheng et al. 1998, ALL-SETS] An access is not remembered beside one that covers it and stands
//! for it ([`Order::stands_for_now`]), and groups all of which precede it and that it covers are forgotten. So a location has at
//! most one group for each kind and lockset, and those of a location that is written without locks go
//! sooner or later.
//!
//! Exact, as the plain history is: a location is reported iff two accesses race, and in runs without races some conflict is
//! excused iff one is. A location that neither races nor has an excused conflict overlaps iff two of its accesses do.

use super::StampSets;
use crate::locks::{LocksetId, Locksets};
use crate::order::{NOBODY, Order, Stamp};
use crate::table::{TableError, make_room};
use finishline_model::{AccessKind, LockId};

#[derive(Clone, Copy, Debug)]
struct Group {
    kind: AccessKind,
    locks: LocksetId,
    /// A word of [`StampSets`].
    stamps: u32,
}

impl Group {
    /// Whether whatever races with `other` would race with this, at the same time.
    fn covers(&self, other: &Group, locksets: &Locksets) -> bool {
        (self.kind == AccessKind::Write || other.kind == AccessKind::Read)
            && locksets.is_weaker(self.locks, other.locks)
    }
}

/// How an earlier access and the present one meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meeting {
    /// They race.
    Race,
    /// They are ordered, but only by what was observed of this run.
    Excused,
    /// This lock excludes them from each other; which comes first is open.
    Overlap(LockId),
}

/// What is remembered of one location.
#[derive(Clone, Debug, Default)]
pub struct ByLockset {
    groups: Vec<Group>,
}

/// What the transition needs to know besides the access.
pub struct Around<'a, O> {
    pub order: &'a mut O,
    pub sets: &'a mut StampSets,
    pub locksets: &'a Locksets,
}

impl ByLockset {
    /// A location with this last writer and these readers, without locks.
    pub fn of(writer: Stamp, readers: u32) -> Result<Self, TableError> {
        let mut location = ByLockset::default();
        make_room(&mut location.groups, 2, TABLE)?;
        // After a write the two are one.
        let readers = if readers == writer { NOBODY } else { readers };
        for (kind, stamps) in [(AccessKind::Write, writer), (AccessKind::Read, readers)] {
            if stamps != NOBODY {
                location.groups.push(Group {
                    kind,
                    locks: LocksetId::NONE,
                    stamps,
                });
            }
        }
        Ok(location)
    }

    /// An access by `stamp`, which is of the running step. `meets` hears of earlier ones, with their kinds and locks.
    pub fn access<O: Order>(
        &mut self,
        kind: AccessKind,
        locks: LocksetId,
        stamp: Stamp,
        around: Around<'_, O>,
        mut meets: impl FnMut(Meeting, Stamp, AccessKind, LocksetId),
    ) -> Result<(), TableError> {
        let Around {
            order,
            sets,
            locksets,
        } = around;
        for group in &self.groups {
            if kind == AccessKind::Read && group.kind == AccessKind::Read {
                continue;
            }
            let mut parallel = sets
                .stamps(group.stamps)
                .filter(|&stamp| order.structurally_parallel(stamp));
            if let Some(lock) = locksets.exclusion(locks, group.locks) {
                if let Some(earlier) = parallel.next() {
                    meets(Meeting::Overlap(lock), earlier, group.kind, group.locks);
                }
                continue;
            }
            let racing: Vec<Stamp> = parallel.collect();
            for earlier in racing {
                let meeting = match order.parallel(earlier) {
                    true => Meeting::Race,
                    false => Meeting::Excused,
                };
                meets(meeting, earlier, group.kind, group.locks);
            }
        }
        let now = Group {
            kind,
            locks,
            stamps: stamp,
        };
        self.remember(now, order, sets, locksets)
    }

    fn remember<O: Order>(
        &mut self,
        now: Group,
        order: &mut O,
        sets: &mut StampSets,
        locksets: &Locksets,
    ) -> Result<(), TableError> {
        let (kind, locks) = (now.kind, now.locks);
        let is_own = |group: &Group| group.kind == kind && group.locks == locks;
        let mut own = None;
        let mut covered = false;
        let mut index = 0;
        while index < self.groups.len() {
            let group = self.groups[index];
            if is_own(&group) {
                own = Some(index);
            } else if now.covers(&group, locksets)
                && !sets
                    .stamps(group.stamps)
                    .any(|stamp| order.structurally_parallel(stamp))
            {
                self.groups.swap_remove(index);
                continue;
            } else if group.covers(&now, locksets) {
                let (newest, _) = sets.split(group.stamps);
                covered |= order.structurally_parallel(newest) && order.stands_for_now(newest);
            }
            index += 1;
        }
        match own {
            _ if covered => {}
            Some(own) => {
                let group = &mut self.groups[own];
                group.stamps = sets.with(group.stamps, now.stamps, order)?;
            }
            None => {
                make_room(&mut self.groups, 1, TABLE)?;
                self.groups.push(now);
            }
        }
        Ok(())
    }

    /// Memory that it has besides itself.
    pub fn used_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Group>()
    }

    /// The stamp of the last writer, if a write without locks is all that is remembered.
    pub fn settled(&self) -> Option<Stamp> {
        match self.groups[..] {
            [
                Group {
                    kind: AccessKind::Write,
                    locks: LocksetId::NONE,
                    stamps,
                },
            ] if !StampSets::is_set(stamps) => Some(stamps),
            _ => None,
        }
    }
}

const TABLE: &str = "accesses under locks";
