//! The history of a location that was accessed under locks: for each kind of access and each
//! lockset, the tasks that made such an access.
//!
//! A *group* is a kind, a lockset and a set of stamps ([`StampSets`]). A new access conflicts with
//! a group if one of the two writes. If the locks do not exclude each other (see [`Locksets`]), the
//! access races with the stamps of the group that are parallel to it. Otherwise it *overlaps* with
//! the stamps that are parallel to it by structure. An overlap is no race, but the result may
//! depend on which access came first, whatever else was observed in this run.
//!
//! [Cheng et al. 1998, ALL-SETS] A group is forgotten once all of it precedes everything still to
//! come ([`Order::precedes_all`]). It is also forgotten if all of it precedes an access that stands
//! for it: an access under the same locks that writes if the group does. An access is not
//! remembered if a parallel access of the same kind stands for it ([`Order::stands_for_now`]). So a
//! location has at most two groups for each set of locks. DIVERGENCE: the paper lets an access
//! under fewer locks stand for one under more. The races are the same, but overlaps would be lost
//! where the lock was the only one in common.
//!
//! The history is exact, like the plain history. A location is reported iff two accesses race. In
//! runs without races an excused conflict is reported iff there is one. A location is reported to
//! overlap iff two of its accesses do, or else it races or has an excused conflict under a lock
//! whose hold several tasks share.

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
    /// Whether everything that conflicts with an access of `other`'s kind conflicts with one of
    /// this kind.
    fn does_as_much_as(&self, other: &Group) -> bool {
        self.kind == AccessKind::Write || other.kind == AccessKind::Read
    }
}

/// The relation between an earlier conflicting access and the present one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meeting {
    /// They race.
    Race,
    /// They are ordered, but only by what was observed in this run.
    Excused,
    /// This lock excludes them from each other. Either may come first.
    Overlap(LockId),
}

/// The history of one location.
#[derive(Clone, Debug, Default)]
pub struct ByLockset {
    groups: Vec<Group>,
}

/// What the transition needs besides the access.
pub struct Around<'a, O: Order> {
    pub order: &'a mut O,
    pub strand: O::Strand,
    pub sets: &'a mut StampSets,
    pub locksets: &'a Locksets,
}

impl<O: Order> Around<'_, O> {
    /// Whether one of these stamps is parallel to the running step. `now` is the stamp of the
    /// step's access.
    #[inline]
    fn any_parallel(&mut self, stamps: u32, now: Stamp) -> bool {
        if StampSets::is_set(stamps) {
            let mut all = self.sets.stamps(stamps);
            all.any(|stamp| self.order.structurally_parallel(self.strand, stamp))
        } else {
            stamps != now && self.order.structurally_parallel(self.strand, stamps)
        }
    }

    /// Whether the newest of these stamps is parallel to the running step and stands for it.
    #[inline]
    fn stands(&mut self, stamps: u32) -> bool {
        let (newest, _) = self.sets.split(stamps);
        self.order.stands_for_now(self.strand, newest)
            && self.order.structurally_parallel(self.strand, newest)
    }

    fn precedes_all(&mut self, stamps: u32) -> bool {
        let mut all = self.sets.stamps(stamps);
        all.all(|stamp| self.order.precedes_all(self.strand, stamp))
    }

    /// Compares the running step, under `locks`, with a group that it conflicts with.
    fn meet(
        &mut self,
        group: Group,
        locks: LocksetId,
        meets: &mut impl FnMut(Meeting, Stamp, AccessKind, LocksetId),
    ) {
        let mut parallel = self
            .sets
            .stamps(group.stamps)
            .filter(|&stamp| self.order.structurally_parallel(self.strand, stamp));
        if let Some(lock) = self.locksets.exclusion(locks, group.locks) {
            if let Some(earlier) = parallel.next() {
                meets(Meeting::Overlap(lock), earlier, group.kind, group.locks);
            }
            return;
        }
        if self.sets.is_harmless(group.stamps) {
            return;
        }
        let parallel: Vec<Stamp> = parallel.collect();
        let mut races = false;
        for earlier in parallel {
            let race = self.order.parallel(self.strand, earlier);
            let meeting = if race {
                Meeting::Race
            } else {
                Meeting::Excused
            };
            meets(meeting, earlier, group.kind, group.locks);
            races |= race;
        }
        if !races {
            self.sets.note_harmless(group.stamps);
        }
    }
}

impl ByLockset {
    /// Adds this last writer and these readers, which held these locks.
    pub fn add(&mut self, locks: LocksetId, [writer, readers]: [u32; 2]) -> Result<(), TableError> {
        make_room(&mut self.groups, 2, TABLE)?;
        // After a write without locks the two fields are equal.
        let readers = if readers == writer { NOBODY } else { readers };
        for (kind, stamps) in [(AccessKind::Write, writer), (AccessKind::Read, readers)] {
            if stamps != NOBODY {
                self.groups.push(Group {
                    kind,
                    locks,
                    stamps,
                });
            }
        }
        Ok(())
    }

    /// Adds an access of the running step with this `stamp`. Calls `meets` for conflicting earlier
    /// accesses, with their kinds and locks.
    pub fn access<O: Order>(
        &mut self,
        kind: AccessKind,
        locks: LocksetId,
        stamp: Stamp,
        mut around: Around<'_, O>,
        mut meets: impl FnMut(Meeting, Stamp, AccessKind, LocksetId),
    ) -> Result<(), TableError> {
        let now = Group {
            kind,
            locks,
            stamps: stamp,
        };
        let mut own = None;
        let mut covered = false;
        let mut index = 0;
        while let Some(&group) = self.groups.get(index) {
            let parallel = around.any_parallel(group.stamps, stamp);
            if parallel && (kind == AccessKind::Write || group.kind == AccessKind::Write) {
                around.meet(group, locks, &mut meets);
            }
            let same_locks = group.locks == locks;
            if same_locks && group.kind == kind {
                own = Some((index, parallel));
            } else if parallel {
                covered |= same_locks && group.does_as_much_as(&now) && around.stands(group.stamps);
            } else if now.does_as_much_as(&group) && around.locksets.renews(locks, group.locks)
                || around.precedes_all(group.stamps)
            {
                self.groups.swap_remove(index);
                continue;
            }
            index += 1;
        }
        match own {
            _ if covered => {}
            Some((own, parallel)) => {
                let stamps = &mut self.groups[own].stamps;
                if StampSets::is_set(*stamps) || parallel && !around.stands(*stamps) {
                    *stamps = around
                        .sets
                        .with(*stamps, stamp, around.order, around.strand)?;
                } else if !parallel {
                    *stamps = stamp;
                }
            }
            None => {
                make_room(&mut self.groups, 1, TABLE)?;
                self.groups.push(now);
            }
        }
        Ok(())
    }

    /// The memory that this history has on the heap.
    pub fn used_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Group>()
    }

    /// The last writer and the readers, if no access under a lock is remembered.
    pub fn without_locks(&self) -> Option<[u32; 2]> {
        let mut stamps = [NOBODY; 2];
        for group in &self.groups {
            if group.locks != LocksetId::NONE {
                return None;
            }
            match group.kind {
                AccessKind::Write if StampSets::is_set(group.stamps) => return None,
                AccessKind::Write => stamps[0] = group.stamps,
                AccessKind::Read => stamps[1] = group.stamps,
            }
        }
        Some(stamps)
    }
}

const TABLE: &str = "accesses under locks";
