//! Releases and acquires: what this run has ordered beyond its structure of tasks and finishes.
//!
//! A release of an object makes all that the running step and its predecessors have done known to
//! the steps that acquire the object later. So an earlier access happens before the running step if
//! it precedes it by structure, or if it precedes, by structure, a release that the step **knows**:
//! one that it or a step before it acquired, or that was known where such a one was made. Releases
//! are numbered as they happen. What a task knows is a set of their numbers ([`Knowledge`]); a task
//! begins with what its creator knows, an end of a finish adds what the tasks knew when they ended,
//! and an object holds what was known, with its own number, at its releases.
//!
//! Whether a stamp precedes a release is asked of the bags as they were when it was made
//! ([`Bags::at`]), of which nothing is kept before the first release. For a stamp to be on one side
//! of each release, a task gets a new one after its own, and after those of the tasks it created
//! once it goes on. The look-up goes through the known releases after the stamp in leaps: the bags
//! tell until when their answer stays the same, which changes with the ends of the tasks and
//! finishes around it.
//!
//! What an object holds can be handed on to another one, without a step of its own.
//!
//! Releases of one object by one step, without another in between, are one. A release else costs 32
//! bytes and what there is new to know, an acquire the latter; a look-up is logarithmic in the
//! number of releases, times the tasks and finishes around.
//!
//! **One reader is not enough**: a reader may be known to a later writer while those that ran
//! beside it are not. A parallel reader stands for the running step as long as no release has come
//! after it: later ones know of both or only of the one running now, unless a task escapes
//! ([`EspBags`]).
//!
//! **Glimpses.** What is glimpsed is known until the glimpse ends. During a glimpse a task has two
//! sets: what it knows, and what it knows *firmly*. All that it acquires and joins is added to
//! both. At the end of the glimpse it is back to the second. Its own steps during the glimpse
//! precede the later ones by structure, so what they know is not lost where a later step acquires
//! or joins something that followed them.
//!
//! **Tasks that are suspended.** To the bags, a suspended task ends, and a resumed one is a child
//! of the running task, in the root finish. So the bags see a depth-first run, and what ran in one
//! *piece*, between two suspensions, is parallel to whatever comes behind it, unless more is known.
//! But a piece is not ordered with the tasks below it on the stack: the bags are not asked about
//! stamps from before the piece began (`since`). For those there is a release at each suspension.
//! The next piece knows that release, and whatever else the task knew. What precedes the first
//! piece by structure precedes that release in the bags. Tasks created in a piece ask the bags
//! about the stamps in it, as the piece does, and have the rest from what the piece knows. So about
//! a release, too, the bags are asked only for stamps since its piece began.
//!
//! Structure is then: the bags, since the piece began, and the releases at the suspensions of this
//! task and of those that created it (`surely`, a part of what is known). As an order it is still
//! transitive, and a part of the whole one, on which histories rely that forget what precedes by
//! structure. A reader stands for another one only within a piece: a piece ends with a release, and
//! a stamp from before it began is below `released_below`. What the task at the bottom has joined
//! does not precede a suspended task, hence [`Order::precedes_all`] stops at what precedes all that
//! are suspended or run in a later piece (`floor`).
//!
//! A suspension costs what a release does. A look-up goes, one by one, past releases by pieces that
//! ran on top of the stamp's task.
//!
//! [`Bags::at`]: super::bags::Bags::at

use super::bags::At;
use super::knowledge::{Knowledge, Known};
use super::{EspBags, NOBODY, Order, Stamp};
use crate::Failure;
use crate::hash::IdMap;
use crate::table::{TableError, make_room};
use finishline_model::{Event, FinishId, ObjectId, SiteId, TaskId, TaskKind};

/// What the running step knows beyond the bags.
#[derive(Clone, Copy, Debug)]
struct Mind {
    /// The releases that happened before it.
    knows: Known,
    /// Of these, those that it knows apart from what it glimpses, if it does.
    firmly: Option<Known>,
    /// Of these, those by which its task and those that created it were suspended.
    surely: Known,
    /// The running piece began with this stamp. The bags are asked only about stamps since.
    since: Stamp,
    /// Of earlier ones these precede it.
    serial_below: Stamp,
}

impl Mind {
    /// Of a task that was never suspended.
    const EMPTY: Mind = Mind {
        knows: Known::NOTHING,
        firmly: None,
        surely: Known::NOTHING,
        since: NOBODY,
        serial_below: NOBODY,
    };
}

/// A release that was made.
#[derive(Clone, Copy, Debug)]
struct Release {
    /// All stamps below had been given out.
    below: Stamp,
    /// Where its piece began.
    since: Stamp,
    /// None if the task was suspended by it.
    object: Option<ObjectId>,
}

/// A live task, or a finish open in one.
#[derive(Clone, Copy, Debug)]
enum LiveScope {
    Task {
        /// That waits for it.
        finish: FinishId,
        creator: Mind,
        /// How many releases there were when it began.
        releases: usize,
    },
    Finish {
        finish: FinishId,
        /// What its tasks knew when they ended.
        ended_know: Known,
    },
}

#[derive(Debug)]
pub struct Synchronised {
    structure: EspBags,
    releases: Vec<Release>,
    objects: IdMap<ObjectId, Known>,
    knowledge: Knowledge,
    /// The running step's.
    mind: Mind,
    live: Vec<LiveScope>,
    /// Of suspended tasks.
    suspended: IdMap<TaskId, Mind>,
    /// Stamps below precede all suspended tasks and all that run in a later piece.
    floor: Stamp,
    /// What was released last, if the running step did it.
    own_last: Option<ObjectId>,
}

impl Synchronised {
    /// Stamps below this one may be known to some release, or be of another piece.
    #[inline]
    fn released_below(&self) -> Stamp {
        let released = self.releases.last().map_or(0, |release| release.below);
        released.max(self.mind.since)
    }

    /// The first release after a stamp.
    fn after(&self, earlier: Stamp) -> u32 {
        let before = |release: &Release| release.below <= earlier;
        self.releases.partition_point(before) as u32
    }

    /// The first release that a stamp precedes and that the running step knows.
    fn known_after(&self, earlier: Stamp) -> Option<&Release> {
        let mut from = self.after(earlier);
        while let Some(number) = self.knowledge.next(self.mind.knows, from) {
            let release = &self.releases[number as usize];
            from = match self.structure.at(earlier, number) {
                At::Serial if release.since <= earlier => return Some(release),
                At::Serial => number + 1,
                At::Parallel { until: None } => return None,
                At::Parallel { until: Some(until) } => until,
            };
        }
        None
    }

    /// The object of the first release that a stamp precedes and that the running step knows: what
    /// passed on to it that the earlier one is over. It is not known if the task was suspended
    /// before it released anything.
    pub fn passed_on_by(&mut self, earlier: Stamp) -> Option<ObjectId> {
        self.known_after(earlier)?.object
    }

    /// Whether a stamp from before the running piece precedes it by structure. The pieces by whose
    /// ends that is known came one after the other, so only one of them can have been running.
    fn is_of_earlier_piece(&self, earlier: Stamp) -> bool {
        let ends = self.knowledge.next(self.mind.surely, self.after(earlier));
        ends.is_some_and(|release| {
            self.releases[release as usize].since <= earlier
                && self.structure.at(earlier, release) == At::Serial
        })
    }

    /// Numbers a release by the running step, and gives the step a new stamp.
    fn new_release(&mut self, object: Option<ObjectId>) -> Result<u32, Failure> {
        make_room(&mut self.releases, 1, "releases")?;
        self.releases.push(Release {
            below: NOBODY,
            since: self.mind.since,
            object,
        });
        self.structure.remember_release()?;
        self.renew_release()
    }

    /// The latest release is made now.
    fn renew_release(&mut self) -> Result<u32, Failure> {
        // At most as many releases as stamps.
        let last = self.releases.len() - 1;
        self.releases[last].below = self.structure.next();
        self.structure.renew()?;
        Ok(last as u32)
    }

    fn release(&mut self, object: ObjectId, continues: bool) -> Result<(), Failure> {
        let release = match self.own_last {
            Some(last) if last == object => self.renew_release()?,
            _ => self.new_release(Some(object))?,
        };
        self.own_last = Some(object);
        let holds = self.knowledge.with(self.mind.knows, release)?;
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

    /// The running step learns of these.
    fn learn(&mut self, known: Known) -> Result<(), TableError> {
        self.mind.knows = self.knowledge.union(self.mind.knows, known)?;
        if let Some(firmly) = &mut self.mind.firmly {
            *firmly = self.knowledge.union(*firmly, known)?;
        }
        Ok(())
    }

    fn acquire(&mut self, object: ObjectId) -> Result<(), Failure> {
        if let Some(&held) = self.objects.get(&object) {
            self.learn(held)?;
        }
        Ok(())
    }

    fn glimpse(&mut self, object: ObjectId) -> Result<(), Failure> {
        self.mind.firmly.get_or_insert(self.mind.knows);
        if let Some(&held) = self.objects.get(&object) {
            self.mind.knows = self.knowledge.union(self.mind.knows, held)?;
        }
        Ok(())
    }

    fn end_glimpse(&mut self, keep: bool) {
        if let Some(firmly) = self.mind.firmly.take()
            && !keep
        {
            self.mind.knows = firmly;
        }
    }

    /// A task that belongs to the finish has ended and knew this.
    fn tell_finish(&mut self, waits: FinishId, known: Known) -> Result<(), Failure> {
        for frame in self.live.iter_mut().rev() {
            if let LiveScope::Finish { finish, ended_know } = frame
                && *finish == waits
            {
                *ended_know = self.knowledge.union(*ended_know, known)?;
                break;
            }
        }
        Ok(())
    }

    fn join(&mut self, joined: FinishId) -> Result<(), Failure> {
        let mut ended = Known::NOTHING;
        for frame in self.live.iter_mut().rev() {
            let LiveScope::Finish { finish, ended_know } = frame else {
                break;
            };
            ended = self.knowledge.union(ended, *ended_know)?;
            *ended_know = Known::NOTHING;
            if *finish == joined {
                break;
            }
        }
        Ok(self.learn(ended)?)
    }

    fn begin_task(&mut self, finish: FinishId) -> Result<(), Failure> {
        make_room(&mut self.live, 1, "live tasks and finishes")?;
        self.live.push(LiveScope::Task {
            finish,
            creator: self.mind,
            releases: self.releases.len(),
        });
        self.mind.firmly = None;
        Ok(())
    }

    fn end_task(&mut self) -> Result<(), Failure> {
        if let Some(LiveScope::Task {
            finish,
            creator,
            releases,
        }) = self.live.pop()
        {
            let ended = std::mem::replace(&mut self.mind, creator);
            // What the creator knows by a glimpse it may have to learn again.
            if ended.knows != creator.knows || creator.firmly.is_some() {
                self.tell_finish(finish, ended.knows)?;
            }
            if self.releases.len() > releases {
                self.structure.renew()?;
            }
            if ended.since != creator.since {
                self.find_floor();
            }
        }
        Ok(())
    }

    /// A piece of a task is over.
    fn suspend(&mut self, task: TaskId) -> Result<(), Failure> {
        let serial_below = self.serial_below().min(self.structure.next());
        let release = self.new_release(None)?;
        let mut mind = self.mind;
        mind.serial_below = serial_below;
        mind.surely = self.knowledge.with(mind.surely, release)?;
        mind.knows = self.knowledge.with(mind.knows, release)?;
        if let Some(firmly) = &mut mind.firmly {
            *firmly = self.knowledge.with(*firmly, release)?;
        }
        let suspended = self.suspended.len();
        self.suspended
            .try_reserve(1)
            .map_err(|_| TableError::refused::<(TaskId, Mind)>("suspended tasks", suspended))?;
        self.suspended.insert(task, mind);
        self.structure.event(&Event::TaskEnd { task })?;
        self.end_task()?;
        self.find_floor();
        Ok(())
    }

    /// Another piece of it begins.
    fn resume(&mut self, task: TaskId) -> Result<(), Failure> {
        self.structure.event(&Event::TaskBegin {
            task,
            parent: None,
            kind: TaskKind::Async,
            finish: FinishId::ROOT,
            site: SiteId(0),
        })?;
        self.begin_task(FinishId::ROOT)?;
        if let Some(mind) = self.suspended.remove(&task) {
            self.mind = Mind {
                since: self.structure.now(),
                ..mind
            };
        }
        Ok(())
    }

    fn find_floor(&mut self) {
        let creators = self.live.iter().filter_map(|frame| match frame {
            LiveScope::Task { creator, .. } => Some(creator),
            LiveScope::Finish { .. } => None,
        });
        let later_pieces = creators
            .chain([&self.mind])
            .filter(|mind| mind.since != NOBODY);
        let minds = later_pieces.chain(self.suspended.values());
        let least = minds.map(|mind| mind.serial_below).min();
        self.floor = least.unwrap_or(Stamp::MAX);
    }
}

impl Order for Synchronised {
    fn new() -> Result<Self, Failure> {
        Ok(Synchronised {
            structure: EspBags::new()?,
            releases: Vec::new(),
            objects: IdMap::default(),
            knowledge: Knowledge::default(),
            mind: Mind::EMPTY,
            live: Vec::new(),
            suspended: IdMap::default(),
            floor: Stamp::MAX,
            own_last: None,
        })
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        match *event {
            Event::Release {
                object, continues, ..
            } => return self.release(object, continues),
            Event::Acquire { object, .. } => return self.acquire(object),
            Event::Relay {
                from,
                to,
                continues,
                ..
            } => return self.relay(from, to, continues),
            Event::Glimpse { object, .. } => return self.glimpse(object),
            Event::GlimpseEnd { keep, .. } => {
                self.end_glimpse(keep);
                return Ok(());
            }
            _ => {}
        }
        match *event {
            Event::Suspend { task } => self.suspend(task)?,
            Event::Resume { task } => self.resume(task)?,
            _ => self.structure.event(event)?,
        }
        match *event {
            Event::TaskBegin { finish, .. } => self.begin_task(finish)?,
            Event::FinishBegin { finish, .. } => {
                make_room(&mut self.live, 1, "live tasks and finishes")?;
                self.live.push(LiveScope::Finish {
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
            Event::Suspend { .. } | Event::Resume { .. } => {}
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
        (earlier < self.mind.since || self.structure.parallel(earlier))
            && (self.mind.knows == Known::NOTHING || self.known_after(earlier).is_none())
    }

    #[inline]
    fn structurally_parallel(&mut self, earlier: Stamp) -> bool {
        match earlier < self.mind.since {
            true => !self.is_of_earlier_piece(earlier),
            false => self.structure.parallel(earlier),
        }
    }

    #[inline]
    fn stands_for_now(&self, parallel: Stamp) -> bool {
        self.structure.stands_for_now(parallel) && parallel >= self.released_below()
    }

    fn stands_for(&mut self, earlier: Stamp, later: Stamp) -> bool {
        earlier >= self.released_below() && self.structure.stands_for(earlier, later)
    }

    fn precedes_all(&mut self, earlier: Stamp) -> bool {
        earlier < self.floor && self.structure.precedes_all(earlier)
    }

    #[inline]
    fn knows_more(&self) -> bool {
        !self.releases.is_empty()
    }

    #[inline]
    fn serial_below(&self) -> Stamp {
        match self.mind.since {
            NOBODY => self.structure.serial_below(),
            _ => self.mind.serial_below,
        }
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
        self.mind = Mind::EMPTY;
        self.live.clear();
        self.suspended.clear();
        self.floor = Stamp::MAX;
        self.own_last = None;
    }

    fn used_bytes(&self) -> usize {
        self.structure.used_bytes()
            + self.knowledge.used_bytes()
            + self.releases.capacity() * size_of::<Release>()
            + self.objects.capacity() * size_of::<(ObjectId, Known)>()
            + self.live.capacity() * size_of::<LiveScope>()
    }
}
