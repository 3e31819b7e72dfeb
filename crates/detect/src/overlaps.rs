//! The conflicts that only isolated blocks or locks keep apart: both accesses of each.
//!
//! Two accesses *overlap* if they conflict, are parallel by task structure, and exclude each other:
//! both are in isolated blocks, or one lock protects both. They do not race, but which one comes
//! first is up to the schedule.
//!
//! Each location keeps its accesses under locks, except those that a later one stands for: e is
//! dropped for a later access n if e precedes n, n writes if e does, and both have the same locks.
//! Whatever overlaps with e later then overlaps with n as well. Memory: the accesses under locks
//! that are parallel to each other, at most [`MOST_KEPT`] a location.

use crate::Failure;
use crate::locks::{Held, LocksetId, Locksets};
use crate::order::{Order, Stamp};
use crate::pairs::RacePairs;
use crate::table::make_room;
use finishline_model::hash::IdMap;
use finishline_model::{
    Access, AccessKind, AccessPoint, Event, Location, LockId, Observer, Race, TaskId,
};

/// The most accesses to one location that are kept. Of more, the first ones are.
pub const MOST_KEPT: usize = 1000;

#[derive(Clone, Copy, Debug)]
struct Kept {
    point: AccessPoint,
    stamp: Stamp,
    locks: LocksetId,
}

impl Kept {
    fn writes(&self) -> bool {
        self.point.kind == AccessKind::Write
    }

    /// Whether everything that overlaps with `other` overlaps with this access.
    fn stands_for(&self, other: &Kept, locksets: &Locksets) -> bool {
        (self.writes() || !other.writes()) && locksets.renews(self.locks, other.locks)
    }
}

#[derive(Debug)]
pub struct Overlaps<O: Order> {
    order: O,
    /// The task inside an isolated block.
    isolated: Option<TaskId>,
    held: Held,
    kept: IdMap<Location, Vec<Kept>>,
    pairs: RacePairs,
    failure: Option<Failure>,
}

impl<O: Order> Overlaps<O> {
    pub fn new() -> Result<Self, Failure> {
        Ok(Overlaps {
            order: O::new()?,
            isolated: None,
            held: Held::new(),
            kept: IdMap::default(),
            pairs: RacePairs::default(),
            failure: None,
        })
    }

    /// The pairs found in a run that has ended or was cut short.
    pub fn finish(self) -> Result<RacePairs, Failure> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.pairs),
        }
    }

    fn follow(&mut self, event: &Event) -> Result<(), Failure> {
        self.order.event(event)?;
        self.held.event_in_turn(event)?;
        match *event {
            Event::IsolatedBegin { task, .. } => self.isolated = Some(task),
            Event::IsolatedEnd { .. } => self.isolated = None,
            _ => {}
        }
        Ok(())
    }

    fn check(&mut self, access: &Access) -> Result<(), Failure> {
        let isolated = self.isolated == Some(access.task);
        self.held.goes_on(access.task)?;
        let mut locks = self.held.now();
        if isolated {
            locks = self.held.with(locks, LockId::ISOLATED)?;
        }
        if locks == LocksetId::NONE {
            return Ok(());
        }
        let strand = self.order.strand(access.task);
        let now = Kept {
            point: AccessPoint {
                task: access.task,
                access: access.id,
                kind: access.kind,
                isolated,
            },
            stamp: self.order.stamp(strand),
            locks,
        };
        let locksets = self.held.sets();
        for location in access.locations() {
            let kept = self.kept.entry(location).or_default();
            let mut found = Vec::new();
            kept.retain(|earlier| {
                let precedes = earlier.stamp == now.stamp
                    || !self.order.structurally_parallel(strand, earlier.stamp);
                if !precedes
                    && (earlier.writes() || now.writes())
                    && let Some(lock) = locksets.exclusion(earlier.locks, now.locks)
                {
                    found.push((earlier.point, lock));
                }
                !(precedes && now.stands_for(earlier, locksets))
            });
            if kept.len() < MOST_KEPT {
                make_room(kept, 1, "accesses under locks")?;
                kept.push(now);
            }
            for (first, lock) in found {
                self.pairs.add(Race {
                    location,
                    first,
                    second: now.point,
                    ordered_by_isolation: false,
                    excluded_by: Some(lock),
                })?;
            }
        }
        Ok(())
    }
}

impl<O: Order> Observer for Overlaps<O> {
    fn event(&mut self, event: &Event) {
        if self.failure.is_none() {
            self.failure = self.follow(event).err();
        }
    }

    fn access(&mut self, access: &Access) {
        if self.failure.is_none() {
            self.failure = self.check(access).err();
        }
    }
}
