//! The second pass over a run in which tasks take turns: both accesses of each race at a few
//! locations.
//!
//! Such a run can be repeated exactly, like a depth-first one. Each *watched* location keeps its
//! accesses, except those that a later one stands for: e is dropped for a later access n if e
//! precedes n, n writes if e does, and n holds no lock that e does not hold. An isolated block
//! counts as a lock. Whatever races with e later then races with n as well. So a location is named
//! iff it has a race, with every access that nothing stands for.
//!
//! A race is *apparent* if the observed order of isolated blocks and of locks separates its
//! accesses. That order is a second one, with an edge from each isolated block to the next, and
//! from each release of a lock to its next acquire. If e is dropped for n and is not separated from
//! a later access, n is not either. So a location with a race that is not apparent is named with
//! one.

use crate::Failure;
use crate::locations::LocationSet;
use crate::lock_chains::{self, ISOLATED_CHAIN};
use crate::locks::{Held, LocksetId, Locksets};
use crate::order::{Order, Stamp};
use crate::pairs::RacePairs;
use crate::table::make_room;
use finishline_model::hash::IdMap;
use finishline_model::{
    Access, AccessKind, AccessPoint, Event, Location, LockId, Observer, Race, TaskId,
};

/// An access of a watched location.
#[derive(Clone, Copy, Debug)]
struct Kept {
    point: AccessPoint,
    stamp: Stamp,
    /// Its stamp in the order with isolated blocks and locks.
    observed: Stamp,
    locks: LocksetId,
}

#[derive(Debug)]
pub struct Named<'a, O: Order> {
    order: O,
    /// The order with isolated blocks and locks, if the program has any.
    observed: Option<O>,
    /// The task inside an isolated block.
    isolated: Option<TaskId>,
    held: Held,
    watched: &'a LocationSet,
    kept: IdMap<Location, Vec<Kept>>,
    pairs: RacePairs,
    failure: Option<Failure>,
}

impl<'a, O: Order> Named<'a, O> {
    /// `excludes`: the program may enter isolated blocks or take locks.
    pub fn new(watched: &'a LocationSet, excludes: bool) -> Result<Self, Failure> {
        Ok(Named {
            order: O::new()?,
            observed: excludes.then(O::new).transpose()?,
            isolated: None,
            held: Held::new(),
            watched,
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
            Event::IsolatedBegin { task, .. } => {
                self.isolated = Some(task);
                self.observe(&Event::Acquire {
                    task,
                    object: ISOLATED_CHAIN,
                })
            }
            Event::IsolatedEnd { task, .. } => {
                self.isolated = None;
                self.observe(&Event::Release {
                    task,
                    object: ISOLATED_CHAIN,
                    continues: false,
                })
            }
            _ => self.observe(&lock_chains::observed(event).unwrap_or(*event)),
        }
    }

    /// The locks of the task that makes an access now, isolation included.
    fn locks(&mut self, task: TaskId) -> Result<LocksetId, Failure> {
        self.held.goes_on(task)?;
        let held = self.held.now();
        match self.isolated == Some(task) {
            true => Ok(self.held.with(held, LockId::ISOLATED)?),
            false => Ok(held),
        }
    }

    fn observe(&mut self, event: &Event) -> Result<(), Failure> {
        match &mut self.observed {
            Some(observed) => observed.event(event),
            None => Ok(()),
        }
    }

    fn check(&mut self, access: &Access, location: Location) -> Result<(), Failure> {
        let locks = self.locks(access.task)?;
        let strand = self.order.strand(access.task);
        let now = Kept {
            point: AccessPoint {
                task: access.task,
                access: access.id,
                kind: access.kind,
                isolated: self.isolated == Some(access.task),
            },
            stamp: self.order.stamp(strand),
            observed: stamp_of(&self.observed, access.task),
            locks,
        };
        let locksets = self.held.sets();
        let kept = self.kept.entry(location).or_default();
        let mut parallel = Vec::with_capacity(kept.len());
        kept.retain(|earlier| {
            let precedes =
                earlier.stamp == now.stamp || !self.order.parallel(strand, earlier.stamp);
            if !precedes && conflict(earlier, &now, locksets) {
                parallel.push(*earlier);
            }
            !(precedes && now.stands_for(earlier, locksets))
        });
        make_room(kept, 1, "accesses to racing locations")?;
        kept.push(now);
        for first in parallel {
            let ordered_by_isolation = match &mut self.observed {
                Some(observed) => {
                    let strand = observed.strand(access.task);
                    first.observed == now.observed || !observed.parallel(strand, first.observed)
                }
                None => false,
            };
            self.pairs.add(Race {
                location,
                first: first.point,
                second: now.point,
                ordered_by_isolation,
                excluded_by: None,
            })?;
        }
        Ok(())
    }
}

fn stamp_of<O: Order>(order: &Option<O>, task: TaskId) -> Stamp {
    order
        .as_ref()
        .map_or(0, |order| order.stamp(order.strand(task)))
}

/// Whether two accesses race if they are parallel.
fn conflict(a: &Kept, b: &Kept, locksets: &Locksets) -> bool {
    (a.point.kind == AccessKind::Write || b.point.kind == AccessKind::Write)
        && locksets.exclusion(a.locks, b.locks).is_none()
}

impl Kept {
    /// Whether everything that conflicts with `other` conflicts with this access.
    fn stands_for(&self, other: &Kept, locksets: &Locksets) -> bool {
        (self.point.kind == AccessKind::Write || other.point.kind == AccessKind::Read)
            && locksets.is_subset(self.locks, other.locks)
    }
}

impl<O: Order> Observer for Named<'_, O> {
    fn event(&mut self, event: &Event) {
        if self.failure.is_none() {
            self.failure = self.follow(event).err();
        }
    }

    fn access(&mut self, access: &Access) {
        for location in access.locations() {
            if self.watched.contains(location) && self.failure.is_none() {
                self.failure = self.check(access, location).err();
            }
        }
    }
}
