//! Ours, for any order of execution: structure by labels, all other joins by a search that is
//! seldom needed and seldom long.
//!
//! **Structure.** Tasks and finishes are series-parallel. Such an order is the intersection of two
//! total ones [Bender et al. 2004, SP-order]: one in which a new task comes before what its creator
//! does next, and one in which it comes after that. Both are lists into which a step is inserted
//! when it begins, next to a step that runs ([`TwoLists`]). So it does not matter in which order
//! the tasks run:
//!
//! ```text
//!                                  first list         second list
//! task p creates c, goes on as q   … p c q …          … p q c …
//! finish begins, will end as e     … p … e …          … p … e …
//! p sets a promise, goes on as q   … p q …            … p q …
//! ```
//!
//! a precedes b by structure iff a is before b in both lists. A *stamp* is a step: the part of a
//! task between two of these events.
//!
//! **Joins.** A promise orders what its setter did before everything after a get. So does any
//! release before an acquire. What a strand has *learnt* is a chain of the sets that it got, shared
//! with those from whom it learnt:
//!
//! ```text
//! p gets a set        learnt(p) = set · learnt(p)
//! p creates c         learnt(c) = learnt(p)
//! a finish ends       learnt(owner) = learnt(owner) and what each of its tasks has learnt
//! ```
//!
//! Each set knows its step and what the setter had learnt. **a precedes b iff it does so by
//! structure, or a precedes or is the step of a set that b has learnt, or that such a setter had
//! learnt, and so on.** Chains only grow, so an earlier moment of a strand is the same chain from a
//! later entry on. Memory is linear in steps, sets and gets.
//!
//! **The search** goes backwards, the newest entries first. It leaves out entries that can't lead
//! to a set after the step: those that lead to older sets alone (sets are numbered as they are
//! made), and those that lead only to steps before it in one of the lists. For this each entry
//! knows the greatest of what it leads to. Tasks in a tree or in a grid lie so in the lists that
//! hardly anything is left but the way to the set. Answers are remembered as long as the strand
//! does not change.
//!
//! A chain may be long. So an entry also has a *jump* to an older one, and knows the greatest of
//! all that it and those jumped over lead to [Myers 1983, applicative random-access stacks]. A
//! chain in which one entry matters is searched in logarithmic time.
//!
//! If all tasks created so far have been joined, everything so far precedes whatever follows. Then
//! nothing is learnt from before, and smaller stamps need no look-up. The steps after the finishes
//! that are open by then are among these: when such a finish ends, all tasks have been joined once
//! more.

use super::two_lists::{Element, FRONT, List, MOST_ELEMENTS as MOST_STEPS, Side, TwoLists};
use super::{ESCAPING, NOBODY, Order, RELEASES, SUSPENDED, Stamp};
use crate::Failure;
use crate::hash::IdMap;
use crate::table::{Table, TableError};
use finishline_model::{Event, FinishId, Location, ObjectId, TaskId};

/// What a strand has learnt: its newest entry, or [`NOTHING`].
type Learnt = u32;
const NOTHING: Learnt = 0;

/// An entry of a chain of things learnt.
#[derive(Clone, Copy, Debug)]
struct Entry {
    older: Learnt,
    what: What,
    /// An older entry, or the end of the chain.
    jump: Learnt,
    /// The number of entries in the chain.
    length: u32,
    /// What this entry and those before the jump lead to.
    reach: Reach,
    /// The search that has passed here last.
    passed: u32,
}

/// An entry as words of a table.
type Words = [u32; 8];
const PASSED: usize = 7;
/// Tells what another had learnt from the number of a set.
const OF_OTHER: u32 = 1 << 31;

impl Entry {
    fn to_words(self) -> Words {
        let what = match self.what {
            What::Set(number) => number,
            What::OfOther(learnt) => learnt | OF_OTHER,
        };
        let Reach {
            sets_below,
            last: [first, second],
        } = self.reach;
        let Entry {
            older,
            jump,
            length,
            passed,
            ..
        } = self;
        [older, what, jump, length, sets_below, first, second, passed]
    }

    #[inline]
    fn from_words(words: Words) -> Entry {
        let [older, what, jump, length, sets_below, first, second, passed] = words;
        Entry {
            older,
            what: match what & OF_OTHER {
                0 => What::Set(what),
                _ => What::OfOther(what & !OF_OTHER),
            },
            jump,
            length,
            reach: Reach {
                sets_below,
                last: [first, second],
            },
            passed,
        }
    }
}

/// The sets that something leads to.
#[derive(Clone, Copy, Debug)]
struct Reach {
    /// They have smaller numbers.
    sets_below: u32,
    /// The last of their steps in each list.
    last: [Element; 2],
}

impl Reach {
    const NONE: Reach = Reach {
        sets_below: 0,
        last: [FRONT; 2],
    };
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// The set of this number.
    Set(u32),
    /// What another task had learnt.
    OfOther(Learnt),
}

#[derive(Clone, Copy, Debug)]
struct LiveTask {
    step: Element,
    learnt: Learnt,
    /// When it was created.
    inherited: Learnt,
    /// The finish that waits for it.
    finish: FinishId,
    /// The innermost finish that it has open.
    innermost: Option<FinishId>,
}

#[derive(Clone, Copy, Debug)]
struct OpenFinish {
    /// The owner's step after the end.
    end: Element,
    /// What the ended tasks have learnt.
    learnt: Learnt,
    /// The number of its tasks so far.
    tasks: u64,
    /// The finish that the owner had open before.
    outer: Option<FinishId>,
}

/// A release's object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Object {
    Promise(Location),
    Other(ObjectId),
}

/// A moment of a live task.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Moment {
    step: Element,
    learnt: Learnt,
}

/// How much work the answers took.
#[derive(Clone, Copy, Default, Debug)]
pub struct Effort {
    /// Questions that could not be answered from a limit for stamps.
    pub questions: u64,
    /// Comparisons of two steps.
    pub comparisons: u64,
    /// Entries of chains that were looked at.
    pub entries: u64,
}

const MEMO: usize = 64;

/// Answers about one moment.
#[derive(Clone, Debug)]
struct Memo {
    about: Moment,
    parallel: [Stamp; MEMO],
    precedes: [Stamp; MEMO],
}

#[derive(Debug)]
pub struct Labelled {
    lists: TwoLists,
    /// For each step the number of sets when it was made.
    sets_before: Table<u32>,
    /// The first one stands for nothing learnt.
    entries: Table<Words>,
    /// By number: the step and what was learnt.
    sets: Table<[u32; 2]>,
    objects: IdMap<Object, Learnt>,
    live: IdMap<TaskId, LiveTask>,
    finishes: IdMap<FinishId, OpenFinish>,
    /// The tasks that no finish has joined yet.
    unjoined: u64,
    /// All smaller steps precede whatever follows.
    floor: Element,
    memo: Memo,
    queue: Vec<Learnt>,
    searches: u32,
    effort: Effort,
}

impl Labelled {
    pub fn effort(&self) -> Effort {
        self.effort
    }

    fn new_step(&mut self) -> Result<Element, TableError> {
        let step = self.lists.add()?;
        self.sets_before.grow_to(step as usize + 1)?;
        self.sets_before[step as usize] = self.sets.len() as u32;
        Ok(step)
    }

    /// A new step after `step` and before everything that was after it.
    fn step_after(&mut self, step: Element, side: Side) -> Result<Element, TableError> {
        let next = self.new_step()?;
        self.lists.insert(List::First, step, next, side);
        self.lists.insert(List::Second, step, next, side);
        Ok(next)
    }

    fn task(&mut self, task: TaskId) -> Option<&mut LiveTask> {
        self.live.get_mut(&task)
    }

    fn begin_task(
        &mut self,
        task: TaskId,
        parent: Option<TaskId>,
        finish: FinishId,
    ) -> Result<(), Failure> {
        let creator = parent.and_then(|parent| self.live.get(&parent).copied());
        let (step, learnt) = match creator {
            None => (self.step_after(FRONT, Side::Near)?, NOTHING),
            Some(creator) => {
                if creator.innermost.unwrap_or(creator.finish) != finish {
                    return Err(Failure::Unsupported(ESCAPING));
                }
                if self.unjoined == 0 {
                    self.floor = self.lists.len() as Element;
                }
                let (child, rest) = (self.new_step()?, self.new_step()?);
                let at = creator.step;
                self.lists.insert(List::First, at, rest, Side::Near);
                self.lists.insert(List::First, at, child, Side::Near);
                self.lists.insert(List::Second, at, child, Side::Far);
                self.lists.insert(List::Second, at, rest, Side::Near);
                if let Some(creator) = parent.and_then(|parent| self.task(parent)) {
                    creator.step = rest;
                }
                if let Some(finish) = self.finishes.get_mut(&finish) {
                    finish.tasks += 1;
                }
                self.unjoined += 1;
                (child, creator.learnt)
            }
        };
        self.live.insert(
            task,
            LiveTask {
                step,
                learnt,
                inherited: learnt,
                finish,
                innermost: None,
            },
        );
        Ok(())
    }

    fn end_task(&mut self, task: TaskId) -> Result<(), Failure> {
        let Some(ended) = self.live.remove(&task) else {
            return Ok(());
        };
        if ended.learnt == ended.inherited {
            return Ok(());
        }
        if let Some(finish) = self.finishes.get(&ended.finish) {
            let learnt = self.and_of_other(finish.learnt, ended.learnt)?;
            if let Some(finish) = self.finishes.get_mut(&ended.finish) {
                finish.learnt = learnt;
            }
        }
        Ok(())
    }

    fn begin_finish(&mut self, task: TaskId, finish: FinishId) -> Result<(), Failure> {
        let Some(&owner) = self.live.get(&task) else {
            return Ok(());
        };
        let end = self.step_after(owner.step, Side::Far)?;
        self.finishes.insert(
            finish,
            OpenFinish {
                end,
                learnt: NOTHING,
                tasks: 0,
                outer: owner.innermost,
            },
        );
        if let Some(owner) = self.task(task) {
            owner.innermost = Some(finish);
        }
        Ok(())
    }

    /// The owner goes on after the tasks of a finish, and after those of the finishes that it has
    /// open inside. All of them stay open.
    fn join(&mut self, task: TaskId, joined: FinishId) -> Result<(), Failure> {
        let Some(mut owner) = self.live.get(&task).copied() else {
            return Ok(());
        };
        let mut inside = Vec::new();
        let mut next = owner.innermost;
        while let Some(id) = next
            && let Some(finish) = self.finishes.get_mut(&id)
        {
            inside.push(id);
            self.unjoined -= finish.tasks;
            finish.tasks = 0;
            let learnt = std::mem::replace(&mut finish.learnt, NOTHING);
            (next, owner.step) = (finish.outer, finish.end);
            owner.learnt = self.and_of_other(owner.learnt, learnt)?;
            if id == joined {
                break;
            }
        }
        while let Some(id) = inside.pop() {
            let end = self.step_after(owner.step, Side::Far)?;
            if let Some(finish) = self.finishes.get_mut(&id) {
                finish.end = end;
            }
        }
        if self.unjoined == 0 {
            self.floor = self.lists.len() as Element;
            owner.learnt = NOTHING;
        }
        self.live.insert(task, owner);
        Ok(())
    }

    fn end_finish(&mut self, task: TaskId, finish: FinishId) -> Result<(), Failure> {
        let Some(ended) = self.finishes.remove(&finish) else {
            return Ok(());
        };
        self.unjoined -= ended.tasks;
        let Some(mut owner) = self.live.get(&task).copied() else {
            return Ok(());
        };
        owner.step = ended.end;
        owner.innermost = ended.outer;
        owner.learnt = match self.unjoined {
            0 => NOTHING,
            _ => self.and_of_other(owner.learnt, ended.learnt)?,
        };
        if self.unjoined == 0 {
            self.floor = self.lists.len() as Element;
        }
        self.live.insert(task, owner);
        Ok(())
    }

    fn release(&mut self, task: TaskId, object: Object, continues: bool) -> Result<(), Failure> {
        let Some(&LiveTask { step, learnt, .. }) = self.live.get(&task) else {
            return Ok(());
        };
        let number = self.sets.push_zero()?;
        self.sets[number] = [step, learnt];
        let next = self.step_after(step, Side::Near)?;
        if let Some(task) = self.task(task) {
            task.step = next;
        }
        let before = match continues {
            true => self.objects.get(&object).copied().unwrap_or(NOTHING),
            false => NOTHING,
        };
        let held = self.and(before, What::Set(number as u32))?;
        let more = self.objects.len() + 1;
        let refused = |_| TableError::refused::<(Object, Learnt)>("promises", more);
        self.objects.try_reserve(1).map_err(refused)?;
        self.objects.insert(object, held);
        Ok(())
    }

    fn acquire(&mut self, task: TaskId, object: Object) -> Result<(), Failure> {
        let (Some(&held), Some(&LiveTask { learnt, .. })) =
            (self.objects.get(&object), self.live.get(&task))
        else {
            return Ok(());
        };
        let entry = self.entry(held);
        let learnt = match entry.older {
            NOTHING => self.and(learnt, entry.what)?,
            _ => self.and_of_other(learnt, held)?,
        };
        if let Some(task) = self.task(task) {
            task.learnt = learnt;
        }
        Ok(())
    }

    fn and_of_other(&mut self, learnt: Learnt, other: Learnt) -> Result<Learnt, TableError> {
        match (learnt, other) {
            (_, NOTHING) => Ok(learnt),
            (NOTHING, _) => Ok(other),
            _ if learnt == other => Ok(learnt),
            _ => self.and(learnt, What::OfOther(other)),
        }
    }

    fn and(&mut self, older: Learnt, what: What) -> Result<Learnt, TableError> {
        let mut reach = match what {
            What::Set(number) => {
                let [step, learnt] = self.sets[number as usize];
                let set = Reach {
                    sets_below: number + 1,
                    last: [step; 2],
                };
                self.either(set, self.whole(learnt))
            }
            What::OfOther(other) => self.whole(other),
        };
        // Two jumps of the same length become one. So the lengths are powers of two less one, and
        // those of a chain grow from its newest entry on.
        let next = self.entry(older);
        let after = self.entry(next.jump);
        let behind = self.entry(after.jump);
        let mut jump = older;
        if older != NOTHING && next.length - after.length == after.length - behind.length {
            jump = after.jump;
            reach = self.either(reach, self.either(next.reach, after.reach));
        }
        let length = next.length + 1;
        let newest = self.entries.push_zero()?;
        let entry = Entry {
            older,
            what,
            jump,
            length,
            reach,
            passed: 0,
        };
        self.entries[newest] = entry.to_words();
        Ok(newest as Learnt)
    }

    #[inline]
    fn entry(&self, at: Learnt) -> Entry {
        Entry::from_words(self.entries[at as usize])
    }

    fn either(&self, a: Reach, b: Reach) -> Reach {
        Reach {
            sets_below: a.sets_below.max(b.sets_below),
            last: self.lists.last(a.last, b.last),
        }
    }

    /// What a whole chain leads to.
    fn whole(&self, learnt: Learnt) -> Reach {
        let mut reach = Reach::NONE;
        let mut at = learnt;
        while at != NOTHING {
            let entry = self.entry(at);
            reach = self.either(reach, entry.reach);
            at = entry.jump;
        }
        reach
    }

    /// Numbers a search. If the numbers are used up, no entry may keep one.
    fn begin_search(&mut self) {
        if self.searches == u32::MAX {
            for entry in self.entries.iter_mut() {
                entry[PASSED] = 0;
            }
            self.searches = 0;
        }
        self.searches += 1;
    }

    /// Whether a step precedes one of the sets that can be reached from something learnt.
    fn is_learnt(&mut self, earlier: Element, learnt: Learnt) -> bool {
        if learnt == NOTHING {
            return false;
        }
        let oldest = self.sets_before[earlier as usize];
        let [first, second] = self.lists.labels(earlier);
        self.begin_search();
        self.queue.clear();
        self.queue.push(learnt);
        let mut next = 0;
        while next < self.queue.len() {
            let mut at = self.queue[next];
            next += 1;
            while at != NOTHING {
                let Entry {
                    older,
                    what,
                    jump,
                    reach,
                    passed,
                    ..
                } = self.entry(at);
                if passed == self.searches {
                    break;
                }
                self.effort.entries += 1;
                let [last_first, last_second] = reach.last;
                if reach.sets_below <= oldest
                    || self.lists.labels(last_first)[0] < first
                    || self.lists.labels(last_second)[1] < second
                {
                    at = jump;
                    continue;
                }
                self.entries[at as usize][PASSED] = self.searches;
                match what {
                    What::Set(number) => {
                        let [step, learnt] = self.sets[number as usize];
                        self.effort.comparisons += 1;
                        if earlier == step || self.lists.before(earlier, step) {
                            return true;
                        }
                        if learnt != NOTHING {
                            self.queue.push(learnt);
                        }
                    }
                    What::OfOther(other) => self.queue.push(other),
                }
                at = older;
            }
        }
        false
    }

    fn ask(&mut self, moment: Moment, earlier: Stamp) -> bool {
        self.effort.questions += 1;
        if self.memo.about != moment {
            self.memo = Memo::about(moment);
        }
        let place = earlier as usize % MEMO;
        if self.memo.parallel[place] == earlier {
            return true;
        }
        if self.memo.precedes[place] == earlier {
            return false;
        }
        self.effort.comparisons += 1;
        let precedes =
            self.lists.before(earlier, moment.step) || self.is_learnt(earlier, moment.learnt);
        match precedes {
            true => self.memo.precedes[place] = earlier,
            false => self.memo.parallel[place] = earlier,
        }
        !precedes
    }
}

impl Memo {
    fn about(about: Moment) -> Memo {
        Memo {
            about,
            parallel: [NOBODY; MEMO],
            precedes: [NOBODY; MEMO],
        }
    }
}

/// Sets and entries have numbers of 31 bits.
const MOST_JOINS: usize = 1 << 31;

impl Order for Labelled {
    type Strand = Moment;

    fn new() -> Result<Self, Failure> {
        let mut entries = Table::reserve("joins", MOST_JOINS)?;
        entries.push_zero()?;
        Ok(Labelled {
            lists: TwoLists::new()?,
            sets_before: Table::reserve("steps", MOST_STEPS)?,
            entries,
            sets: Table::reserve("sets", MOST_JOINS)?,
            objects: IdMap::default(),
            live: IdMap::default(),
            finishes: IdMap::default(),
            unjoined: 0,
            floor: NOBODY + 1,
            memo: Memo::about(Moment::default()),
            queue: Vec::new(),
            searches: 0,
            effort: Effort::default(),
        })
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        match *event {
            Event::TaskBegin {
                task,
                parent,
                finish,
                ..
            } => self.begin_task(task, parent, finish),
            Event::TaskEnd { task } => self.end_task(task),
            Event::FinishBegin { task, finish, .. } => self.begin_finish(task, finish),
            Event::FinishJoin { task, finish, .. } => self.join(task, finish),
            Event::FinishEnd { task, finish, .. } => self.end_finish(task, finish),
            Event::PromiseSet { task, promise, .. } => {
                self.release(task, Object::Promise(promise), false)
            }
            Event::PromiseGet { task, promise, .. } => self.acquire(task, Object::Promise(promise)),
            Event::Release {
                task,
                object,
                continues,
            } => self.release(task, Object::Other(object), continues),
            Event::Acquire { task, object } => self.acquire(task, Object::Other(object)),
            Event::Relay { .. } | Event::Glimpse { .. } | Event::GlimpseEnd { .. } => {
                Err(Failure::Unsupported(RELEASES))
            }
            Event::Suspend { .. } | Event::Resume { .. } => Err(Failure::Unsupported(SUSPENDED)),
            Event::IsolatedBegin { .. }
            | Event::IsolatedEnd { .. }
            | Event::Lock { .. }
            | Event::Unlock { .. }
            | Event::Alloc { .. } => Ok(()),
        }
    }

    #[inline]
    fn strand(&self, task: TaskId) -> Moment {
        match self.live.get(&task) {
            Some(&LiveTask { step, learnt, .. }) => Moment { step, learnt },
            None => Moment::default(),
        }
    }

    #[inline]
    fn stamp(&self, strand: Moment) -> Stamp {
        strand.step
    }

    #[inline]
    fn parallel(&mut self, strand: Moment, earlier: Stamp) -> bool {
        earlier >= self.floor && earlier != strand.step && self.ask(strand, earlier)
    }

    #[inline]
    fn precedes_all(&mut self, _: Moment, earlier: Stamp) -> bool {
        earlier < self.floor
    }

    #[inline]
    fn serial_below(&self, _: Moment) -> Stamp {
        self.floor
    }

    fn clear(&mut self) {
        self.lists.clear();
        self.sets_before.clear();
        self.entries.truncate(1);
        self.sets.clear();
        self.objects.clear();
        self.live.clear();
        self.finishes.clear();
        (self.unjoined, self.floor, self.searches) = (0, NOBODY + 1, 0);
        self.memo = Memo::about(Moment::default());
        self.effort = Effort::default();
    }

    fn used_bytes(&self) -> usize {
        self.lists.used_bytes()
            + self.sets_before.used_bytes()
            + self.entries.used_bytes()
            + self.sets.used_bytes()
            + self.objects.capacity() * size_of::<(Object, Learnt)>()
            + self.live.capacity() * size_of::<(TaskId, LiveTask)>()
            + self.finishes.capacity() * size_of::<(FinishId, OpenFinish)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use finishline_model::{SiteId, TaskKind};

    const SITE: SiteId = SiteId(0);

    fn begin(task: u32) -> Event {
        Event::TaskBegin {
            task: TaskId(task),
            parent: task.checked_sub(1).map(|_| TaskId::MAIN),
            kind: TaskKind::Async,
            finish: FinishId::ROOT,
            site: SITE,
        }
    }

    /// After four billion searches the first number is given out again.
    #[test]
    fn numbers_of_searches_are_used_again() {
        let mut order = Labelled::new().unwrap();
        let (main, setter) = (TaskId::MAIN, TaskId(1));
        let promise = Location(0);
        for event in [begin(0), begin(1)] {
            order.event(&event).unwrap();
        }
        let earlier = order.stamp(order.strand(setter));
        let site = SITE;
        for event in [
            Event::PromiseSet {
                task: setter,
                promise,
                site,
            },
            Event::PromiseGet {
                task: main,
                promise,
                site,
            },
        ] {
            order.event(&event).unwrap();
        }
        let learnt = order.strand(main).learnt;
        assert!(order.is_learnt(earlier, learnt), "the first search");
        assert_eq!(order.searches, 1);
        order.searches = u32::MAX;
        assert!(order.is_learnt(earlier, learnt), "the next first search");
        assert_eq!(order.searches, 1);
    }
}
