//! Releases and acquires: what this run has ordered beyond its structure of tasks and finishes.
//!
//! A release of an object makes whatever the running step and all that precede it have done known to those who acquire the
//! object after it. So an earlier access happens before the running step if it precedes it by structure, or if it
//! precedes, by structure, a release that the step **knows**: one that it or a step before it acquired, or that was known where
//! such a one was made. Releases are numbered as they happen. What a task knows is a set of their numbers ([`Knowledge`]); a task
//! begins with what its creator knows, an end of a finish adds what the tasks knew when they ended, and an object holds what
//! was known, with its own number, at its releases.
//!
//! Whether a stamp precedes a release is asked of the bags as they were when it was made ([`Bags::at`]), of which nothing is kept
//! before the first release. For a stamp to be on one side of each release, a task gets a new one after its own, and
//! after those of the tasks it created once it goes on. The look-up goes through the known releases after the stamp in
//! leaps: the bags tell until when their answer stays the same, which changes with the ends of the tasks and finishes around it.
//!
//! What an object holds can be handed on to another one, without a step of its own.
//!
//! Releases of one object by one step, without another in between, are one. A release else costs 24 bytes and what there is new
//! to know, an acquire the latter; a look-up is logarithmic in the number of releases, times the tasks and finishes around.
//!
//! **One reader is not enough**: a reader may be known to a later writer while those that ran beside it are not. A
//! parallel reader stands for the running step as long as no release has come after it: later ones know of both or only of the
//! one running now, unless a task escapes ([`EspBags`]).
//!
//! [`Bags::at`]: super::bags::Bags::at

use super::bags::At;
use super::knowledge::{Knowledge, Known};
use super::{EspBags, Order, Stamp};
use crate::Failure;
use crate::hash::IdMap;
use crate::table::{TableError, make_room};
use finishline_model::{Event, FinishId, ObjectId};

/// A live task, or a finish open in one.
#[derive(Clone, Copy, Debug)]
enum Frame {
    Task {
        /// That waits for it.
        finish: FinishId,
        /// What its creator knows.
        creator_knows: Known,
        /// How many releases there were when it began.
        releases: usize,
    },
    Finish {
        finish: FinishId,
        /// What its tasks knew when they ended.
        ended_know: Known,
    },
}

#[derive(Clone, Copy, Debug)]
struct Release {
    /// All stamps below had been given out.
    above: Stamp,
    object: ObjectId,
}

#[derive(Debug)]
pub struct Synchronised {
    structure: EspBags,
    /// As they happened.
    releases: Vec<Release>,
    objects: IdMap<ObjectId, Known>,
    knowledge: Knowledge,
    /// What the running step knows.
    knows: Known,
    live: Vec<Frame>,
    /// What was released last, if the running step did it.
    own_last: Option<ObjectId>,
}

impl Synchronised {
    /// Stamps below this one may be known to some release.
    #[inline]
    fn released_below(&self) -> Stamp {
        self.releases.last().map_or(0, |release| release.above)
    }

    /// The object of the first release that a stamp precedes and that the running step knows: what passed on to it that the earlier
    /// one is over.
    pub fn passed_on_by(&mut self, earlier: Stamp) -> Option<ObjectId> {
        let below = |release: &Release| release.above <= earlier;
        let mut from = self.releases.partition_point(below) as u32;
        while let Some(release) = self.knowledge.next(self.knows, from) {
            match self.structure.at(earlier, release) {
                At::Serial => return Some(self.releases[release as usize].object),
                At::Parallel { until: None } => return None,
                At::Parallel { until: Some(until) } => from = until,
            }
        }
        None
    }

    fn release(&mut self, object: ObjectId, continues: bool) -> Result<(), Failure> {
        if self.own_last != Some(object) {
            make_room(&mut self.releases, 1, "releases")?;
            self.releases.push(Release { above: 0, object });
            self.structure.remember_release()?;
        }
        self.own_last = Some(object);
        // At most as many releases as stamps.
        let last = self.releases.len() - 1;
        self.releases[last].above = self.structure.next();
        self.structure.renew()?;

        let holds = self.knowledge.with(self.knows, last as u32)?;
        self.put(object, holds, continues)
    }

    /// The object holds this, and if it is to go on, what it held before.
    fn put(&mut self, object: ObjectId, holds: Known, continues: bool) -> Result<(), Failure> {
        let more = self.objects.len() + 1;
        self.objects
            .try_reserve(1)
            .map_err(|_| TableError::refused::<(ObjectId, Known)>("objects", more))?;
        let before = self.objects.entry(object).or_insert(Known::NOTHING);
        *before = if continues {
            self.knowledge.union(holds, *before)?
        } else {
            holds
        };
        Ok(())
    }

    fn relay(&mut self, from: ObjectId, to: ObjectId, continues: bool) -> Result<(), Failure> {
        // What was handed on stays as it was when the step releases the object again.
        self.own_last = None;
        let holds = self.objects.get(&from).copied();
        self.put(to, holds.unwrap_or(Known::NOTHING), continues)
    }

    /// A task that belongs to the finish has ended and knew this.
    fn tell_finish(&mut self, waits: FinishId, known: Known) -> Result<(), Failure> {
        for frame in self.live.iter_mut().rev() {
            if let Frame::Finish { finish, ended_know } = frame
                && *finish == waits
            {
                *ended_know = self.knowledge.union(*ended_know, known)?;
                break;
            }
        }
        Ok(())
    }

    fn join(&mut self, joined: FinishId) -> Result<(), Failure> {
        for frame in self.live.iter_mut().rev() {
            let Frame::Finish { finish, ended_know } = frame else {
                break;
            };
            self.knows = self.knowledge.union(self.knows, *ended_know)?;
            *ended_know = Known::NOTHING;
            if *finish == joined {
                break;
            }
        }
        Ok(())
    }

    fn end_task(&mut self) -> Result<(), Failure> {
        if let Some(Frame::Task {
            finish,
            creator_knows,
            releases,
        }) = self.live.pop()
        {
            let known = std::mem::replace(&mut self.knows, creator_knows);
            if known != creator_knows {
                self.tell_finish(finish, known)?;
            }
            if self.releases.len() > releases {
                self.structure.renew()?;
            }
        }
        Ok(())
    }
}

impl Order for Synchronised {
    fn new() -> Result<Self, Failure> {
        Ok(Synchronised {
            structure: EspBags::new()?,
            releases: Vec::new(),
            objects: IdMap::default(),
            knowledge: Knowledge::default(),
            knows: Known::NOTHING,
            live: Vec::new(),
            own_last: None,
        })
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        match *event {
            Event::Release {
                object, continues, ..
            } => return self.release(object, continues),
            Event::Acquire { object, .. } => {
                if let Some(&held) = self.objects.get(&object) {
                    self.knows = self.knowledge.union(self.knows, held)?;
                }
                return Ok(());
            }
            Event::Relay {
                from,
                to,
                continues,
                ..
            } => return self.relay(from, to, continues),
            _ => {}
        }
        self.structure.event(event)?;
        match *event {
            Event::TaskBegin { finish, .. } => {
                make_room(&mut self.live, 1, "live tasks and finishes")?;
                self.live.push(Frame::Task {
                    finish,
                    creator_knows: self.knows,
                    releases: self.releases.len(),
                });
            }
            Event::FinishBegin { finish, .. } => {
                make_room(&mut self.live, 1, "live tasks and finishes")?;
                self.live.push(Frame::Finish {
                    finish,
                    ended_know: Known::NOTHING,
                });
            }
            Event::TaskEnd { .. } => self.end_task()?,
            Event::FinishJoin { finish, .. } => self.join(finish)?,
            Event::FinishEnd { finish, .. } => {
                self.join(finish)?;
                self.live.pop();
            }
            _ => return Ok(()),
        }
        self.own_last = None;
        Ok(())
    }

    #[inline]
    fn now(&self) -> Stamp {
        self.structure.now()
    }

    #[inline]
    fn parallel(&mut self, earlier: Stamp) -> bool {
        self.structure.parallel(earlier)
            && (self.knows == Known::NOTHING || self.passed_on_by(earlier).is_none())
    }

    #[inline]
    fn structurally_parallel(&mut self, earlier: Stamp) -> bool {
        self.structure.parallel(earlier)
    }

    #[inline]
    fn stands_for_now(&self, parallel: Stamp) -> bool {
        self.structure.stands_for_now(parallel) && parallel >= self.released_below()
    }

    fn stands_for(&mut self, earlier: Stamp, later: Stamp) -> bool {
        earlier >= self.released_below() && self.structure.stands_for(earlier, later)
    }

    fn precedes_all(&mut self, earlier: Stamp) -> bool {
        self.structure.precedes_all(earlier)
    }

    #[inline]
    fn knows_more(&self) -> bool {
        !self.releases.is_empty()
    }

    #[inline]
    fn serial_below(&self) -> Stamp {
        self.structure.serial_below()
    }

    #[inline]
    fn parallel_above(&self) -> Stamp {
        if self.structure.serial_below() >= self.released_below() {
            self.structure.parallel_above()
        } else {
            0
        }
    }

    fn clear(&mut self) {
        self.structure.clear();
        self.releases.clear();
        self.objects.clear();
        self.knowledge.clear();
        self.knows = Known::NOTHING;
        self.live.clear();
        self.own_last = None;
    }

    fn used_bytes(&self) -> usize {
        self.structure.used_bytes()
            + self.knowledge.used_bytes()
            + self.releases.capacity() * size_of::<Release>()
            + self.objects.capacity() * size_of::<(ObjectId, Known)>()
            + self.live.capacity() * size_of::<Frame>()
    }
}
