//! Releases and acquires: the order of this run beyond its structure of tasks and finishes.
//!
//! A release of an object makes everything that the running step and its predecessors have done
//! known to steps that acquire the object later. So an earlier access happens before the running
//! step in two cases. It precedes the step by structure, or it precedes, by structure, a release
//! that the step **knows**. A step knows a release if it or a step before it acquired the release,
//! or acquired another one whose maker knew it. Releases are numbered as they happen. A task's
//! knowledge is a set of their numbers ([`Knowledge`]). A task begins with its creator's knowledge.
//! The end of a finish adds what its tasks knew when they ended. A release puts the task's
//! knowledge and the release's own number into the object.
//!
//! Whether a stamp precedes a release is a question to the bags at the time of the release
//! ([`Bags::at`]). Nothing is kept before the first release. Each stamp must be on one side of each
//! release. So a task gets a new stamp after its own release, and when it goes on after releases of
//! tasks it created. The look-up goes through the known releases after the stamp in leaps: the bags
//! tell how long their answer stays the same. The answer changes with the ends of the tasks and
//! finishes around the stamp.
//!
//! The contents of an object can be handed on to another object, without a step of its own.
//!
//! Consecutive releases of one object by one step are one. Any other release costs 32 bytes and its
//! new knowledge. An acquire costs its new knowledge. A look-up is logarithmic in the number of
//! releases, times the tasks and finishes around.
//!
//! **One reader is not enough**: a later writer may know of one reader but not of those that ran
//! beside it. A parallel reader stands for the running step as long as no release has come after
//! it. Later releases know of both or only of the step running now, unless a task escapes
//! ([`EspBags`]).
//!
//! **Glimpses.** What is glimpsed is known until the glimpse ends. During a glimpse a task has two
//! sets: what it knows, and what it knows *firmly*. Acquires and joins add to both. At the end of
//! the glimpse the task returns to the second set. Its own steps during the glimpse precede the
//! later ones by structure. So their knowledge is not lost where a later step acquires or joins
//! something that followed them.
//!
//! **Tasks that are suspended.** For the bags, a suspended task ends, and a resumed one is a child
//! of the running task in the root finish. So the bags see a depth-first run. A *piece* is the part
//! of a task between two suspensions. Everything later is parallel to a piece, unless more is
//! known. But a piece is not ordered with the tasks below it on the stack. So the bags are not
//! asked about stamps from before the piece began (`since`). For those there is a release at each
//! suspension. The next piece knows that release, and everything else the task knew. What precedes
//! the first piece by structure precedes that release in the bags. Tasks created in a piece ask the
//! bags about the stamps in the piece, and know the rest from the piece. So for a release, too, the
//! bags are asked only about stamps since its piece began.
//!
//! Structure then consists of the bags, since the piece began, and of the releases at the
//! suspensions of this task and of those that created it (`surely`, a part of what is known). As an
//! order it is still transitive and a part of the whole order. Histories that forget what precedes
//! by structure rely on that. A reader stands for another one only within a piece: a piece ends
//! with a release, and a stamp from before it began is below `released_below`. What the task at the
//! bottom has joined need not precede a suspended task. So [`Order::precedes_all`] is true only for
//! stamps that precede all tasks that are suspended or run in a later piece (`floor`).
//!
//! A suspension costs as much as a release. A look-up passes, one by one, the releases by pieces
//! that ran on top of the stamp's task.
//!
//! [`Bags::at`]: super::bags::Bags::at

use super::bags::At;
use super::knowledge::{Knowledge, Known};
use super::{EspBags, NOBODY, Order, Running, Stamp};
use crate::Failure;
use crate::hash::IdMap;
use crate::table::{TableError, make_room};
use finishline_model::{Event, FinishId, ObjectId, SiteId, TaskId, TaskKind};

/// The knowledge of the running step beyond the bags.
#[derive(Clone, Copy, Debug)]
struct Mind {
    /// The releases that happened before the step.
    knows: Known,
    /// During a glimpse, the part of `knows` that was not glimpsed.
    firmly: Option<Known>,
    /// The part of `knows` that consists of suspensions of its task and of those that created it.
    surely: Known,
    /// The first stamp of the running piece. The bags are asked only about stamps from here on.
    since: Stamp,
    /// Of the stamps before the piece, those below this one precede it.
    serial_below: Stamp,
}

impl Mind {
    /// The knowledge of a task that was never suspended.
    const EMPTY: Mind = Mind {
        knows: Known::NOTHING,
        firmly: None,
        surely: Known::NOTHING,
        since: NOBODY,
        serial_below: NOBODY,
    };
}

/// A release.
#[derive(Clone, Copy, Debug)]
struct Release {
    /// All smaller stamps had been given out.
    below: Stamp,
    /// The first stamp of its piece.
    since: Stamp,
    /// None for a release at a suspension.
    object: Option<ObjectId>,
}

/// A live task, or a finish open in one.
#[derive(Clone, Copy, Debug)]
enum LiveScope {
    Task {
        /// The finish that waits for the task.
        finish: FinishId,
        creator: Mind,
        /// The number of releases when the task began.
        releases: usize,
    },
    Finish {
        finish: FinishId,
        /// The knowledge of its tasks when they ended.
        ended_know: Known,
    },
}

#[derive(Debug)]
pub struct Synchronised {
    structure: EspBags,
    releases: Vec<Release>,
    objects: IdMap<ObjectId, Known>,
    knowledge: Knowledge,
    /// The knowledge of the running step.
    mind: Mind,
    live: Vec<LiveScope>,
    /// The knowledge of suspended tasks.
    suspended: IdMap<TaskId, Mind>,
    /// Smaller stamps precede all suspended tasks and all tasks that run in a later piece.
    floor: Stamp,
    /// The object released last, if the running step released it.
    own_last: Option<ObjectId>,
}

impl Synchronised {
    /// A limit for stamps. Smaller ones may be known to some release or belong to another piece.
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

    /// The object by which the running step learnt that an earlier stamp is over: that of the first
    /// known release that the stamp precedes. None if this release is a suspension.
    pub fn passed_on_by(&mut self, earlier: Stamp) -> Option<ObjectId> {
        self.known_after(earlier)?.object
    }

    /// Whether a stamp from before the running piece precedes it by structure. The pieces whose
    /// ends are known ran one after the other, so only one of them can contain the stamp.
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

    /// Moves the latest release to the present moment.
    fn renew_release(&mut self) -> Result<u32, Failure> {
        // There are at most as many releases as stamps, so the number fits.
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

    /// Puts knowledge into an object. With `continues` the earlier contents stay too.
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
        // A later release by this step must not change what was handed on.
        self.own_last = None;
        let holds = self.objects.get(&from).copied();
        self.put(to, holds.unwrap_or(Known::NOTHING), continues)
    }

    /// Adds to the knowledge of the running step.
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

    /// Notes the knowledge of an ended task in the finish that waits for it.
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
            // The creator may have to learn again what it knows by a glimpse.
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

    /// Ends a piece of a task.
    fn suspend(&mut self, task: TaskId) -> Result<(), Failure> {
        let serial_below = self.serial_below(Running).min(self.structure.next());
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

    /// Begins another piece of a task.
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
                since: self.structure.stamp(Running),
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
    type Strand = Running;

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
    fn stamp(&self, _: Running) -> Stamp {
        self.structure.stamp(Running)
    }

    #[inline]
    fn parallel(&mut self, _: Running, earlier: Stamp) -> bool {
        (earlier < self.mind.since || self.structure.parallel(Running, earlier))
            && (self.mind.knows == Known::NOTHING || self.known_after(earlier).is_none())
    }

    #[inline]
    fn structurally_parallel(&mut self, _: Running, earlier: Stamp) -> bool {
        match earlier < self.mind.since {
            true => !self.is_of_earlier_piece(earlier),
            false => self.structure.parallel(Running, earlier),
        }
    }

    #[inline]
    fn stands_for_now(&self, _: Running, parallel: Stamp) -> bool {
        self.structure.stands_for_now(Running, parallel) && parallel >= self.released_below()
    }

    fn stands_for(&mut self, _: Running, earlier: Stamp, later: Stamp) -> bool {
        earlier >= self.released_below() && self.structure.stands_for(Running, earlier, later)
    }

    fn precedes_all(&mut self, _: Running, earlier: Stamp) -> bool {
        earlier < self.floor && self.structure.precedes_all(Running, earlier)
    }

    #[inline]
    fn knows_more(&self, _: Running) -> bool {
        !self.releases.is_empty()
    }

    #[inline]
    fn serial_below(&self, _: Running) -> Stamp {
        match self.mind.since {
            NOBODY => self.structure.serial_below(Running),
            _ => self.mind.serial_below,
        }
    }

    #[inline]
    fn parallel_above(&self, _: Running) -> Stamp {
        if self.structure.serial_below(Running) >= self.released_below() {
            self.structure.parallel_above(Running)
        } else {
            0
        }
    }

    #[inline]
    fn strand(&self, _: TaskId) -> Running {
        Running
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
