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
//!
//! **In brief.** Whoever need not know each conflict that is no race can have a [shorter
//! history](Around::in_brief). There a write makes it forget each group that precedes the write by
//! what was observed, and whose locks are all held at the write. It loses no race: what is parallel
//! to a stamp of that group is parallel to the write, and the write excludes no more. (A write in a
//! glimpse makes nothing superfluous: its task is about to forget what it knows.) Nor does it lose
//! that there was an overlap or an excused conflict: the write itself has one with that group.
//! So data that tasks write in turn under one lock has one writer and the readers since.
//!
//! A read meets writes alone. So it looks at no other readers than those under its own locks, and
//! the rest is cleaned up when there are twice as many groups as after the last time.

use super::StampSets;
use crate::locks::{LocksetId, Locksets};
use crate::order::{NOBODY, Order, Stamp};
use crate::table::{TableError, make_room};
use finishline_model::{AccessKind, LockId};

/// The accesses of one kind under the same locks.
#[derive(Clone, Copy, Debug)]
struct Group {
    locks: LocksetId,
    /// A word of [`StampSets`].
    stamps: u32,
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
    writes: Vec<Group>,
    /// Sorted by their locks.
    reads: Vec<Group>,
    /// How many of these there were after the last look at all of them.
    reads_kept: u32,
}

/// With fewer groups a look at all of them costs nothing.
const FEW: usize = 8;

/// What the transition needs besides the access.
pub struct Around<'a, O: Order> {
    pub order: &'a mut O,
    pub strand: O::Strand,
    pub sets: &'a mut StampSets,
    pub locksets: &'a Locksets,
    pub in_brief: bool,
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

    /// Whether a write under these locks, which met this group if it is parallel by structure,
    /// makes it superfluous.
    fn is_over(&mut self, group: &Group, locks: LocksetId) -> bool {
        self.in_brief
            && self.locksets.is_subset(locks, group.locks)
            && !self.locksets.is_glimpse(locks)
            && {
                let mut all = self.sets.stamps(group.stamps);
                all.all(|stamp| !self.order.parallel(self.strand, stamp))
            }
    }

    fn precedes_all(&mut self, stamps: u32) -> bool {
        let mut all = self.sets.stamps(stamps);
        all.all(|stamp| self.order.precedes_all(self.strand, stamp))
    }

    /// Compares the running step, under `locks`, with a group that it conflicts with.
    fn meet(
        &mut self,
        (group, kind): (Group, AccessKind),
        locks: LocksetId,
        meets: &mut impl FnMut(Meeting, Stamp, AccessKind, LocksetId),
    ) {
        let mut parallel = self
            .sets
            .stamps(group.stamps)
            .filter(|&stamp| self.order.structurally_parallel(self.strand, stamp));
        if let Some(lock) = self.locksets.exclusion(locks, group.locks) {
            if let Some(earlier) = parallel.next() {
                meets(Meeting::Overlap(lock), earlier, kind, group.locks);
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
            meets(meeting, earlier, kind, group.locks);
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
        if writer != NOBODY {
            make_room(&mut self.writes, 1, TABLE)?;
            let stamps = writer;
            self.writes.push(Group { locks, stamps });
        }
        // After a write without locks the two fields are equal.
        if readers != NOBODY && readers != writer {
            self.add_reads(locks, readers)?;
        }
        Ok(())
    }

    fn add_reads(&mut self, locks: LocksetId, stamps: u32) -> Result<(), TableError> {
        make_room(&mut self.reads, 1, TABLE)?;
        let place = self.reads.partition_point(|group| group.locks < locks);
        self.reads.insert(place, Group { locks, stamps });
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
        let now = Access { kind, locks, stamp };
        let covered = now.meet_writes(&mut self.writes, &mut around, &mut meets);
        let reads = self.reads.len();
        if kind == AccessKind::Write || reads < FEW || reads >= 2 * self.reads_kept as usize {
            now.meet_reads(&mut self.reads, &mut around, &mut meets);
            self.reads_kept = self.reads.len() as u32;
        }
        if covered {
            return Ok(());
        }
        let own = match kind {
            AccessKind::Write => self.writes.iter_mut().find(|group| group.locks == locks),
            AccessKind::Read => {
                let place = self.reads.binary_search_by_key(&locks, |group| group.locks);
                place.ok().map(|place| &mut self.reads[place])
            }
        };
        match (own, kind) {
            (Some(own), _) => {
                let Around { order, strand, .. } = around;
                own.stamps = around.sets.with(own.stamps, stamp, order, strand)?;
                Ok(())
            }
            (None, AccessKind::Write) => self.add(locks, [stamp, NOBODY]),
            (None, AccessKind::Read) => self.add_reads(locks, stamp),
        }
    }

    /// The memory that this history has on the heap.
    pub fn used_bytes(&self) -> usize {
        (self.writes.capacity() + self.reads.capacity()) * size_of::<Group>()
    }

    /// The last writer and the readers, if no access under a lock is remembered.
    pub fn without_locks(&self) -> Option<[u32; 2]> {
        let of = |groups: &[Group]| match groups {
            [] => Some(NOBODY),
            [group] if group.locks == LocksetId::NONE => Some(group.stamps),
            _ => None,
        };
        let writer = of(&self.writes).filter(|stamps| !StampSets::is_set(*stamps))?;
        Some([writer, of(&self.reads)?])
    }
}

/// The access that is made now.
struct Access {
    kind: AccessKind,
    locks: LocksetId,
    stamp: Stamp,
}

impl Access {
    /// Meets what has written, and forgets what is over. Whether a write stands for this access.
    fn meet_writes<O: Order>(
        &self,
        writes: &mut Vec<Group>,
        around: &mut Around<'_, O>,
        meets: &mut impl FnMut(Meeting, Stamp, AccessKind, LocksetId),
    ) -> bool {
        let mut covered = false;
        writes.retain(|group| {
            let parallel = around.any_parallel(group.stamps, self.stamp);
            let is_over = if parallel {
                around.meet((*group, AccessKind::Write), self.locks, meets);
                covered |= group.locks == self.locks && around.stands(group.stamps);
                self.kind == AccessKind::Write && around.is_over(group, self.locks)
            } else {
                self.kind == AccessKind::Write && around.locksets.renews(self.locks, group.locks)
                    || around.precedes_all(group.stamps)
            };
            !is_over
        });
        covered
    }

    /// The same of what has read.
    fn meet_reads<O: Order>(
        &self,
        reads: &mut Vec<Group>,
        around: &mut Around<'_, O>,
        meets: &mut impl FnMut(Meeting, Stamp, AccessKind, LocksetId),
    ) {
        reads.retain(|group| {
            let parallel = around.any_parallel(group.stamps, self.stamp);
            let is_over = match self.kind {
                AccessKind::Write if parallel => {
                    around.meet((*group, AccessKind::Read), self.locks, meets);
                    around.is_over(group, self.locks)
                }
                AccessKind::Read if parallel => false,
                _ => {
                    around.locksets.renews(self.locks, group.locks)
                        || around.precedes_all(group.stamps)
                }
            };
            !is_over
        });
    }
}

const TABLE: &str = "accesses under locks";
