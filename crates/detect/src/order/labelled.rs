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
//! release before an acquire. A strand *learns* of the sets that it gets, and each set knows its
//! step and what the setter had learnt ([`Joins`]). **a precedes b iff it does so by structure, or
//! a precedes or is the step of a set that b has learnt of, or that such a setter had learnt of,
//! and so on.**
//!
//! ```text
//! p gets a set        p learns of the set
//! p creates c         c has learnt what p has
//! a finish ends       its owner learns what each of its tasks has learnt
//! p glimpses          p learns, and forgets it at the end of the glimpse
//! ```
//!
//! Promises belong to the structure, as tasks and finishes do. The [releases](releases) of native
//! programs don't, nor does what tasks learn because [a thread had them one after the
//! other](ended_steps). So a task's [`Mind`] keeps apart what it knows by them.
//!
//! **Tasks that escape** belong to a finish further out than the innermost one of their creator, so
//! what is inside is not series-parallel. In the lists such a task is one that was created where
//! its finish begins, and it learns of a set that its creator makes for it. Sets that are older
//! than the task don't answer for it, wherever its steps lie.
//!
//! Memory is linear in steps, sets and gets. Answers are remembered as long as the strand does not
//! change.
//!
//! If all tasks created so far have been joined, everything so far precedes whatever follows. Then
//! nothing is learnt from before, and smaller stamps need no look-up. The steps after the finishes
//! that are open by then are among these: when such a finish ends, all tasks have been joined once
//! more, unless one escapes from it.

mod ended_steps;
mod releases;
#[cfg(test)]
mod tests;

use super::joins::{Below, Chain, Extent, Joins, Learnt, NOTHING, Set, SetNumber};
use super::mind::{Lesson, Mind, Piece};
use super::two_lists::{END, Element, FRONT, List, MOST_ELEMENTS as MOST_STEPS, Side, TwoLists};
use super::{Effort, NOBODY, ORPHANS, OUT_OF_REACH, Order, Stamp};
use crate::Failure;
use crate::table::{Table, TableError, make_room_in};
use ended_steps::EndedSteps;
use finishline_model::hash::{IdMap, IdSet};
use finishline_model::{Event, FinishId, Location, ObjectId, TaskId};
use releases::{Held, Unseen};

#[derive(Clone, Copy, Debug)]
struct LiveTask {
    step: Element,
    mind: Mind,
    /// The step that created it, and the task. Nobody follows the end of the lists: then all that
    /// it has inherited is passed on.
    creator: Element,
    parent: Option<TaskId>,
    /// Its first step. All that is below it lies before another step in the second list.
    first: Element,
    before: Element,
    /// The tasks that it created and has not joined yet.
    unjoined: u32,
    /// Whether it has learnt of anything that is not below it.
    learnt_elsewhere: bool,
    /// Its last set, and the step behind it.
    last_set: Option<(SetNumber, Element)>,
    /// The finish that waits for it.
    finish: FinishId,
    /// The innermost finish that it has open.
    innermost: Option<FinishId>,
    /// What it has acquired last, for good.
    acquired: Option<Held>,
}

impl LiveTask {
    fn moment(&self) -> Moment {
        Moment {
            step: self.step,
            learnt: self.mind.knows.learnt,
            surely: self.mind.surely().learnt,
        }
    }

    /// A task in its first step, that nobody created.
    fn begins(step: Element, finish: FinishId) -> LiveTask {
        LiveTask {
            step,
            mind: Mind::default(),
            creator: END,
            parent: None,
            first: step,
            before: END,
            unjoined: 0,
            learnt_elsewhere: false,
            last_set: None,
            finish,
            innermost: None,
            acquired: None,
        }
    }

    /// How much of what it has learnt those learn that join it.
    fn passes_on(&self) -> Extent {
        match self.creator {
            END => Extent::All,
            _ => Extent::Own,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct OpenFinish {
    owner: TaskId,
    /// The owner's step at the beginning. No other finish of the owner begins in it.
    begin: Element,
    /// The owner's step after the end.
    end: Element,
    /// What the ended tasks have learnt.
    mind: Mind,
    /// The number of its tasks so far.
    tasks: u64,
    /// The finish that the owner had open before.
    outer: Option<FinishId>,
    /// Of the tasks that the owner created and has not joined, those inside.
    unjoined_of_owner: u32,
    /// All tasks that began with smaller steps have been joined.
    joined_below: Element,
}

/// How a promise was set: the set, and another one if the setter knew more than the structure.
#[derive(Clone, Copy, Debug)]
struct Promised {
    number: SetNumber,
    surely: SetNumber,
}

/// A moment of a live task.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Moment {
    step: Element,
    learnt: Learnt,
    surely: Learnt,
}

impl Moment {
    const START: Moment = Moment {
        step: NOBODY,
        learnt: NOTHING,
        surely: NOTHING,
    };
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
    /// For each step the number of sets when it ended. So older sets can't be after it. If its task
    /// ended in it, behind its last set, the step after the finish that joins it.
    sets_before: Table<u32>,
    /// The sets with which tasks ended that have joined all their tasks, as long as the creator has
    /// not got them: the creator, and the finish of the task.
    last_sets: IdMap<SetNumber, (TaskId, FinishId)>,
    joins: Joins,
    promises: IdMap<Location, Promised>,
    /// The sets that tasks have got which got many.
    got: IdMap<TaskId, IdSet<SetNumber>>,
    objects: IdMap<ObjectId, Held>,
    /// By the number of a release, its object, counted from 1.
    released: Table<u32>,
    /// The latest set, if it is such a release.
    unseen: Option<Unseen>,
    ended_steps: EndedSteps,
    live: IdMap<TaskId, LiveTask>,
    finishes: IdMap<FinishId, OpenFinish>,
    /// The tasks that no finish has joined yet.
    unjoined: u64,
    /// All smaller steps precede whatever follows.
    floor: Element,
    /// By all that is known, and by what is sure.
    memos: [Memo; 2],
}

impl Labelled {
    fn new_step(&mut self) -> Result<Element, TableError> {
        let step = self.lists.add()?;
        self.sets_before.grow_to(step as usize + 1)?;
        self.sets_before[step as usize] = NOT_ENDED;
        Ok(step)
    }

    fn end_step(&mut self, step: Element) {
        self.sets_before[step as usize] = self.joins.sets();
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
        let begun = match (parent, creator) {
            (Some(parent), Some(creator)) => self.created(parent, creator, finish)?,
            (Some(_), None) => return Err(Failure::Unsupported(ORPHANS)),
            (None, _) => {
                let begun = LiveTask::begins(self.step_after(FRONT, Side::Near)?, finish);
                // Its finish has no beginning of its own in every stream.
                self.open(task, &begun, finish)?;
                begun
            }
        };
        make_room_in(&mut self.live, "live tasks")?;
        self.live.insert(task, begun);
        Ok(())
    }

    /// A task that another one creates now.
    fn created(
        &mut self,
        parent: TaskId,
        creator: LiveTask,
        finish: FinishId,
    ) -> Result<LiveTask, Failure> {
        let Some(&around) = self.finishes.get(&finish) else {
            return Err(Failure::Unsupported(OUT_OF_REACH));
        };
        if self.unjoined == 0 {
            self.floor = self.lists.len() as Element;
        }
        let at = creator.step;
        self.end_step(at);
        let (child, rest) = (self.new_step()?, self.new_step()?);
        let mut begun = LiveTask::begins(child, finish);
        let escapes = creator.innermost.unwrap_or(creator.finish) != finish;
        self.lists.insert(List::First, at, rest, Side::Middle);
        if escapes {
            let last = self.lists.ahead(List::Second, around.end);
            self.lists.insert(List::Second, last, child, Side::Far);
            self.lists.insert(List::Second, at, rest, Side::Near);
            self.lists
                .insert(List::First, around.begin, child, Side::Near);
            // The finishes inside may end before it is joined.
            self.floor = self.floor.min(around.end + 1);
            begun.before = around.end;
            begun.learnt_elsewhere = true;
            let lesson = self.creation(at, creator.mind)?;
            begun.mind.learn(lesson, &mut self.joins, &self.lists)?;
        } else {
            begun.before = self.lists.behind(List::Second, at);
            self.lists.insert(List::First, at, child, Side::Near);
            self.lists.insert(List::Second, at, child, Side::Middle);
            self.lists.insert(List::Second, at, rest, Side::Near);
            begun.mind = creator.mind.of_child();
            begun.parent = Some(parent);
            match creator.mind.glimpses() {
                false => begun.creator = at,
                true => begun.learnt_elsewhere = true,
            }
        }
        if let Some(creator) = self.task(parent) {
            creator.step = rest;
        }
        // It lies below its creator, or else below the owner of its finish.
        let above = if escapes { around.owner } else { parent };
        if let Some(above) = self.task(above) {
            above.unjoined += 1;
        }
        if let Some(open) = self.finishes.get_mut(&finish) {
            open.tasks += 1;
            open.unjoined_of_owner += u32::from(above == open.owner);
        }
        self.unjoined += 1;
        Ok(begun)
    }

    /// What an escaping task learns: sets by its creator.
    fn creation(&mut self, step: Element, mind: Mind) -> Result<Lesson, TableError> {
        let mut set = |learnt| {
            let set = self.joins.set(Set {
                step,
                learnt,
                learnt_nothing: false,
                creator: END,
                closed: None,
            })?;
            Ok(Piece::Set(set, FRONT))
        };
        let all = set(mind.knows.learnt)?;
        Ok(Lesson {
            all,
            surely: match mind.knows_more() {
                true => set(mind.surely().learnt)?,
                false => all,
            },
        })
    }

    fn end_task(&mut self, task: TaskId) -> Result<(), Failure> {
        let Some(ended) = self.live.remove(&task) else {
            return Ok(());
        };
        self.end_step(ended.step);
        self.got.remove(&task);
        if let (Some((last, behind)), Some(parent)) = (ended.last_set, ended.parent)
            && behind == ended.step
            && self.joins.set_of(last).closed.is_some()
        {
            let end = self.finishes.get(&ended.finish).map_or(END, |it| it.end);
            self.sets_before[behind as usize] = end | BEHIND_LAST_SET;
            make_room_in(&mut self.last_sets, "futures")?;
            self.last_sets.insert(last, (parent, ended.finish));
        }
        // What it has learnt from below it the finish joins itself.
        if let Some(finish) = self.finishes.get_mut(&ended.finish)
            && ended.learnt_elsewhere
        {
            let lesson = ended.mind.lesson(ended.passes_on());
            finish.mind.learn(lesson, &mut self.joins, &self.lists)?;
        }
        Ok(())
    }

    fn begin_finish(&mut self, task: TaskId, finish: FinishId) -> Result<(), Failure> {
        let Some(mut owner) = self.live.get(&task).copied() else {
            return Ok(());
        };
        let around = owner.innermost.and_then(|id| self.finishes.get(&id));
        if around.is_some_and(|around| around.begin == owner.step) {
            self.end_step(owner.step);
            owner.step = self.step_after(owner.step, Side::Near)?;
        }
        self.open(task, &owner, finish)?;
        owner.innermost = Some(finish);
        self.live.insert(task, owner);
        Ok(())
    }

    fn open(&mut self, task: TaskId, owner: &LiveTask, finish: FinishId) -> Result<(), Failure> {
        let end = self.step_after(owner.step, side_of_end(finish))?;
        make_room_in(&mut self.finishes, "open finishes")?;
        self.finishes.insert(
            finish,
            OpenFinish {
                owner: task,
                begin: owner.step,
                end,
                mind: Mind::default(),
                tasks: 0,
                outer: owner.innermost,
                unjoined_of_owner: 0,
                joined_below: FRONT,
            },
        );
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
        self.end_step(owner.step);
        while let Some(id) = next
            && let Some(finish) = self.finishes.get_mut(&id)
        {
            inside.push(id);
            self.unjoined -= finish.tasks;
            finish.tasks = 0;
            let learnt = std::mem::take(&mut finish.mind);
            (next, owner.step) = (finish.outer, finish.end);
            owner.unjoined -= std::mem::take(&mut finish.unjoined_of_owner);
            finish.joined_below = self.lists.len() as Element;
            self.learn_from_joined(&mut owner, learnt)?;
            if id == joined {
                break;
            }
        }
        while let Some(id) = inside.pop() {
            let end = self.step_after(owner.step, side_of_end(id))?;
            if let Some(finish) = self.finishes.get_mut(&id) {
                (finish.begin, finish.end) = (owner.step, end);
            }
            if !inside.is_empty() {
                self.end_step(owner.step);
                owner.step = self.step_after(owner.step, Side::Near)?;
            }
        }
        if self.unjoined == 0 {
            self.all_joined();
            owner.mind.forget();
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
        self.end_step(owner.step);
        owner.step = ended.end;
        owner.innermost = ended.outer;
        owner.unjoined -= ended.unjoined_of_owner;
        match self.unjoined {
            0 => {
                self.all_joined();
                owner.mind.forget();
            }
            _ => self.learn_from_joined(&mut owner, ended.mind)?,
        }
        self.live.insert(task, owner);
        Ok(())
    }

    /// Everything so far precedes whatever follows. Futures that nobody has got join nothing now.
    fn all_joined(&mut self) {
        self.floor = self.lists.len() as Element;
        self.last_sets = IdMap::default();
    }

    fn learn_from_joined(&mut self, owner: &mut LiveTask, joined: Mind) -> Result<(), Failure> {
        owner.learnt_elsewhere |= joined.knows.has_learnt();
        let lesson = joined.lesson(Extent::Own);
        Ok(owner.mind.learn(lesson, &mut self.joins, &self.lists)?)
    }

    /// What a task has done so far becomes a set. None if there is no such task.
    fn new_set(&mut self, task: TaskId) -> Result<Option<Promised>, Failure> {
        let Some(setter) = self.live.get(&task).copied() else {
            return Ok(None);
        };
        let set = self.set_by(&setter);
        self.end_step(setter.step);
        let number = self.joins.set(set)?;
        let surely = match setter.mind.knows_more() {
            true => self.joins.set(Set {
                learnt: setter.mind.surely().learnt,
                ..set
            })?,
            false => number,
        };
        let next = self.step_after(setter.step, Side::Near)?;
        if let Some(task) = self.task(task) {
            (task.step, task.last_set) = (next, Some((number, next)));
        }
        Ok(Some(Promised { number, surely }))
    }

    /// What a task has done so far, as a set.
    fn set_by(&self, setter: &LiveTask) -> Set {
        let closed = (setter.unjoined == 0).then(|| Below {
            first: setter.first,
            last: self.lists.ahead(List::Second, setter.before),
        });
        Set {
            step: setter.step,
            learnt: setter.mind.knows.learnt,
            learnt_nothing: match closed {
                Some(_) => !setter.learnt_elsewhere,
                None => !setter.mind.knows.has_learnt(),
            },
            creator: setter.creator,
            closed,
        }
    }

    fn set(&mut self, task: TaskId, promise: Location) -> Result<(), Failure> {
        if let Some(set) = self.new_set(task)? {
            make_room_in(&mut self.promises, "promises")?;
            self.promises.insert(promise, set);
        }
        Ok(())
    }

    fn get(&mut self, task: TaskId, promise: Location) -> Result<(), Failure> {
        let (Some(&set), Some(&getter)) = (self.promises.get(&promise), self.live.get(&task))
        else {
            return Ok(());
        };
        let getter = self.got(getter, task, set)?;
        self.live.insert(task, getter);
        Ok(())
    }

    /// Whether a task is known to know of a set: by structure, by what it has learnt last, or
    /// because it has got it before. If not, it gets it now.
    fn knows(
        &mut self,
        task: TaskId,
        getter: &LiveTask,
        number: SetNumber,
    ) -> Result<bool, TableError> {
        let knows = getter.mind.knows;
        if self
            .lists
            .before(self.joins.set_of(number).step, getter.step)
            || self.joins.last_is_after(knows, number, &self.lists)
        {
            return Ok(true);
        }
        if let Some(known) = self.joins.is_among_few(knows, number) {
            return Ok(known);
        }
        make_room_in(&mut self.got, "gets")?;
        let got = self.got.entry(task).or_default();
        if got.is_empty() {
            got.extend(self.joins.own_sets(knows));
        }
        let more = got.len() + 1;
        let refused = |_| TableError::refused::<SetNumber>("gets", more);
        got.try_reserve(1).map_err(refused)?;
        Ok(!got.insert(number))
    }

    /// A task after it has got a promise.
    fn got(
        &mut self,
        mut getter: LiveTask,
        task: TaskId,
        Promised { number, surely }: Promised,
    ) -> Result<LiveTask, Failure> {
        let (set, step, first) = (self.joins.set_of(number), getter.step, getter.first);
        let joins = self.last_sets.get(&number).copied();
        let joins = joins.filter(|&(parent, _)| parent == task);
        // One that it knows of tells nothing new: a step is passed on only when it ends, and what
        // its task has learnt with it.
        if joins.is_none() && !getter.mind.knows_more() && self.knows(task, &getter, number)? {
            return Ok(getter);
        }
        let inside = |at| self.lists.between(List::First, [first, at, step]);
        let below = set.learnt_nothing && set.closed.is_some_and(|it| inside(it.first));
        getter.learnt_elsewhere |= !below;
        if let Some((_, finish)) = joins {
            self.last_sets.remove(&number);
            // A finish of its own may have joined the task before. That around it has not.
            let left = match self.finishes.get_mut(&finish) {
                Some(own) if own.owner == task && set.step >= own.joined_below => {
                    own.unjoined_of_owner -= 1;
                    true
                }
                Some(own) if own.owner == task => false,
                _ => finish == getter.finish,
            };
            getter.unjoined -= u32::from(left);
        }
        if getter.unjoined == 0 && !getter.learnt_elsewhere {
            let own = self.joins.set(Set {
                step,
                learnt: NOTHING,
                learnt_nothing: true,
                creator: getter.creator,
                closed: Some(Below {
                    first,
                    last: self.lists.ahead(List::Second, getter.before),
                }),
            })?;
            let mind = &mut getter.mind;
            mind.learn_alone(own, &mut self.joins, &self.lists)?;
        } else {
            let lesson = Lesson {
                all: Piece::Set(number, step),
                surely: Piece::Set(surely, step),
            };
            getter.mind.learn(lesson, &mut self.joins, &self.lists)?;
        }
        Ok(getter)
    }

    /// The next stamp that will be made.
    pub(super) fn next(&self) -> Stamp {
        self.lists.len() as Stamp
    }

    fn precedes(&mut self, earlier: Element, step: Element, learnt: Learnt) -> bool {
        self.lists.before(earlier, step) || {
            let oldest = self.sets_before[earlier as usize];
            self.joins.lead_to(earlier, oldest, learnt, &self.lists)
        }
    }

    /// The same for a stamp: a step may stand for another one.
    fn stamp_precedes(&mut self, earlier: Stamp, step: Element, learnt: Learnt) -> bool {
        let asked = self.sets_before[earlier as usize];
        match asked & BEHIND_LAST_SET {
            0 => self.precedes(earlier, step, learnt),
            _ => {
                let end = asked & !BEHIND_LAST_SET;
                end == step || self.precedes(end, step, learnt)
            }
        }
    }

    /// Whether a step is parallel to this moment, by all that is known or by what is `surely` so.
    fn ask(&mut self, surely: bool, moment: Moment, earlier: Stamp) -> bool {
        self.joins.effort.questions += 1;
        let memo = &mut self.memos[usize::from(surely)];
        if memo.about != moment {
            *memo = Memo::about(moment);
        }
        let place = Memo::place(earlier);
        if memo.parallel[place] == earlier {
            return true;
        }
        if memo.precedes[place] == earlier {
            return false;
        }
        self.joins.effort.comparisons += 1;
        let learnt = if surely { moment.surely } else { moment.learnt };
        let precedes = self.stamp_precedes(earlier, moment.step, learnt);
        let memo = &mut self.memos[usize::from(surely)];
        match precedes {
            true => memo.precedes[place] = earlier,
            false => memo.parallel[place] = earlier,
        }
        !precedes
    }
}

/// Where the step behind a finish is put: the program's own has everything inside.
fn side_of_end(finish: FinishId) -> Side {
    match finish {
        FinishId::ROOT => Side::Far,
        _ => Side::Bounded,
    }
}

/// A step goes on, or has not begun. No set is after it yet.
const NOT_ENDED: u32 = BEHIND_LAST_SET - 1;
/// What is kept of a step is the step after a finish.
const BEHIND_LAST_SET: u32 = 1 << 31;

impl Memo {
    /// Scatters steps that are a whole number of rows apart.
    fn place(stamp: Stamp) -> usize {
        (stamp.wrapping_mul(0x9e37_79b1) >> (Stamp::BITS - MEMO.ilog2())) as usize
    }

    const fn about(about: Moment) -> Memo {
        Memo {
            about,
            parallel: [NOBODY; MEMO],
            precedes: [NOBODY; MEMO],
        }
    }
}

impl Order for Labelled {
    type Strand = Moment;

    fn new() -> Result<Self, Failure> {
        Ok(Labelled {
            lists: TwoLists::new()?,
            sets_before: Table::reserve("steps", MOST_STEPS)?,
            joins: Joins::new()?,
            promises: IdMap::default(),
            got: IdMap::default(),
            released: Table::reserve("releases", MOST_STEPS)?,
            ended_steps: EndedSteps::new(MOST_STEPS)?,
            unseen: None,
            objects: IdMap::default(),
            live: IdMap::default(),
            finishes: IdMap::default(),
            last_sets: IdMap::default(),
            unjoined: 0,
            floor: NOBODY + 1,
            memos: [const { Memo::about(Moment::START) }; 2],
        })
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        let stays_unseen = matches!(
            event,
            Event::Release { .. }
                | Event::Acquire { .. }
                | Event::Glimpse { .. }
                | Event::Lock { .. }
                | Event::Unlock { .. }
                | Event::Alloc { .. }
        );
        let unseen = |last: &Unseen| stays_unseen && last.task == event.task();
        self.unseen = self.unseen.filter(unseen);
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
            Event::PromiseSet { task, promise, .. } => self.set(task, promise),
            Event::PromiseGet { task, promise, .. } => self.get(task, promise),
            Event::Release {
                task,
                object,
                continues,
            } => self.release(task, object, continues),
            Event::Acquire { task, object } => self.acquire(task, object, false),
            Event::Relay {
                from,
                to,
                continues,
                ..
            } => self.relay(from, to, continues),
            Event::Glimpse { task, object } => self.acquire(task, object, true),
            Event::GlimpseEnd { task, keep } => {
                self.end_glimpse(task, keep);
                Ok(())
            }
            Event::Suspend { .. }
            | Event::Resume { .. }
            | Event::IsolatedBegin { .. }
            | Event::IsolatedEnd { .. }
            | Event::Lock { .. }
            | Event::Unlock { .. }
            | Event::Alloc { .. } => Ok(()),
        }
    }

    #[inline]
    fn strand(&self, task: TaskId) -> Moment {
        let live = self.live.get(&task);
        live.map(LiveTask::moment).unwrap_or_default()
    }

    #[inline]
    fn is_same_moment(&self, before: Moment, after: Moment) -> bool {
        before == after
    }

    #[inline]
    fn stamp(&self, strand: Moment) -> Stamp {
        strand.step
    }

    #[inline]
    fn parallel(&mut self, strand: Moment, earlier: Stamp) -> bool {
        earlier >= self.floor && earlier != strand.step && self.ask(false, strand, earlier)
    }

    fn structurally_parallel(&mut self, strand: Moment, earlier: Stamp) -> bool {
        if strand.surely == strand.learnt {
            return self.parallel(strand, earlier);
        }
        earlier >= self.floor && earlier != strand.step && self.ask(true, strand, earlier)
    }

    #[inline]
    fn precedes_all(&mut self, _: Moment, earlier: Stamp) -> bool {
        earlier < self.floor
    }

    #[inline]
    fn serial_below(&self, _: Moment) -> Stamp {
        self.floor
    }

    fn effort(&self) -> Effort {
        self.joins.effort
    }

    fn clear(&mut self) {
        self.lists.clear();
        self.sets_before.clear();
        self.joins.clear();
        self.promises.clear();
        self.got.clear();
        self.released.clear();
        self.unseen = None;
        self.ended_steps.clear();
        self.objects.clear();
        self.live.clear();
        self.finishes.clear();
        self.last_sets.clear();
        (self.unjoined, self.floor) = (0, NOBODY + 1);
        self.memos = [const { Memo::about(Moment::START) }; 2];
    }

    fn used_bytes(&self) -> usize {
        self.lists.used_bytes()
            + self.sets_before.used_bytes()
            + self.joins.used_bytes()
            + self.released.used_bytes()
            + self.ended_steps.used_bytes()
            + self.promises.capacity() * size_of::<(Location, Promised)>()
            + self.got.values().map(IdSet::capacity).sum::<usize>() * size_of::<SetNumber>()
            + self.objects.capacity() * size_of::<(ObjectId, Held)>()
            + self.last_sets.capacity() * size_of::<(SetNumber, TaskId)>()
            + self.live.capacity() * size_of::<(TaskId, LiveTask)>()
            + self.finishes.capacity() * size_of::<(FinishId, OpenFinish)>()
    }
}
