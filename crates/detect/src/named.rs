//! The second pass over a run in which tasks take turns: both accesses of each race at a few
//! locations.
//!
//! Such a run can be repeated exactly, like a depth-first one. Each *watched* location keeps its
//! accesses, except those that a later one stands for: e is dropped for a later access n if e
//! precedes n, n writes if e does, and n is outside of isolated blocks if e is. Whatever races with
//! e later then races with n as well. So a location is named iff it has a race, with every access
//! that nothing stands for.
//!
//! A race is *apparent* if the observed order of isolated blocks separates its accesses. That order
//! is a second one, with an edge from each isolated block to the next. If e is dropped for n and is
//! not separated from a later access, n is not either. So a location with a race that is not
//! apparent is named with one.

use crate::Failure;
use crate::hash::IdMap;
use crate::locations::LocationSet;
use crate::order::{Order, Stamp};
use crate::pairs::RacePairs;
use crate::table::make_room;
use finishline_model::{
    Access, AccessKind, AccessPoint, Event, Location, ObjectId, Observer, Race, TaskId,
};

/// The object by which each isolated block follows the one before it.
const CHAIN: ObjectId = ObjectId(0);

/// An access of a watched location.
#[derive(Clone, Copy, Debug)]
struct Kept {
    point: AccessPoint,
    stamp: Stamp,
    /// Its stamp in the order with isolated blocks.
    observed: Stamp,
}

#[derive(Debug)]
pub struct Named<'a, O: Order> {
    order: O,
    /// The order with isolated blocks, if the program has any.
    observed: Option<O>,
    /// The task inside an isolated block.
    isolated: Option<TaskId>,
    watched: &'a LocationSet,
    kept: IdMap<Location, Vec<Kept>>,
    pairs: RacePairs,
    failure: Option<Failure>,
}

impl<'a, O: Order> Named<'a, O> {
    pub fn new(watched: &'a LocationSet, isolated: bool) -> Result<Self, Failure> {
        Ok(Named {
            order: O::new()?,
            observed: isolated.then(O::new).transpose()?,
            isolated: None,
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
        match *event {
            Event::IsolatedBegin { task, .. } => {
                self.isolated = Some(task);
                self.observe(&Event::Acquire {
                    task,
                    object: CHAIN,
                })
            }
            Event::IsolatedEnd { task, .. } => {
                self.isolated = None;
                self.observe(&Event::Release {
                    task,
                    object: CHAIN,
                    continues: false,
                })
            }
            _ => self.observe(event),
        }
    }

    fn observe(&mut self, event: &Event) -> Result<(), Failure> {
        match &mut self.observed {
            Some(observed) => observed.event(event),
            None => Ok(()),
        }
    }

    fn check(&mut self, access: &Access, location: Location) -> Result<(), Failure> {
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
        };
        let kept = self.kept.entry(location).or_default();
        let mut parallel = Vec::with_capacity(kept.len());
        kept.retain(|earlier| {
            let precedes =
                earlier.stamp == now.stamp || !self.order.parallel(strand, earlier.stamp);
            if !precedes && conflict(earlier, &now) {
                parallel.push(*earlier);
            }
            !(precedes && now.stands_for(earlier))
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
fn conflict(a: &Kept, b: &Kept) -> bool {
    (a.point.kind == AccessKind::Write || b.point.kind == AccessKind::Write)
        && !(a.point.isolated && b.point.isolated)
}

impl Kept {
    /// Whether everything that conflicts with `other` conflicts with this access.
    fn stands_for(&self, other: &Kept) -> bool {
        (self.point.kind == AccessKind::Write || other.point.kind == AccessKind::Read)
            && (!self.point.isolated || other.point.isolated)
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
