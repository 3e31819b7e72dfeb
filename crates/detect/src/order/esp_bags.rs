//! ESP-bags: which tasks precede the running step of an async-finish program, in every schedule.
//!
//! [ESP-bags §3.2] Every task has an S-bag: the tasks that precede everything it does now,
//! including itself. Every task and every finish has a P-bag: the ended tasks created in it that
//! may still run in parallel with it:
//!
//! ```text
//! task A begins                  S(A) = {A}          P(A) = {}
//! task A ends, back in B         P(B) = P(B) ∪ S(A) ∪ P(A)
//! finish F begins                P(F) = {}
//! finish F ends in task B        S(B) = S(B) ∪ P(F)
//! finish F is joined in task B   the same for F and all finishes open inside it; they stay open
//! ```
//!
//! B in the second rule "may be either a task or a finish". It is the innermost finish that the
//! creating task has open, or that task itself if it has opened none. In a depth-first run B is on
//! top of the stack of live tasks and finishes once A is gone. It is found this way here. A P-bag
//! that belongs to a task at its end moves on with the task. So the tasks arrive in the P-bag of
//! their immediately enclosing finish.
//!
//! The fifth rule is `sync`. It waits for everything created in its scope so far, including tasks
//! in a `begin_finish` that is still open inside. In Fin no `sync` finds one open, because that is
//! a failure there. Event streams may have it. DIVERGENCE: the paper translates a sync into an end
//! of finish and a new one. The bags are the same.
//!
//! **Tasks that escape.** DIVERGENCE: a task may also belong to a finish further out than the
//! innermost one, like a spawn into an outer scope. At its end it goes to the P-bag of its own
//! finish. The finish must be *in reach* of the creating task. A finish is in reach of a task if
//! the task opened it, or it waits for the task, or it is in reach of the opener of the finish that
//! waits for the task. (A task handed on to an outer scope can't keep an inner one.) Other streams
//! are refused.
//!
//! The bags stay exact: **an ended task is in an S-bag iff all of its steps precede the running
//! one.** A path that leaves a task x and its descendants does so by the end of a finish that none
//! of them opened and that is in reach of x. This is x's finish F or one in reach of F's owner. The
//! end of F precedes the ends of those, by the owner's own steps or by the owner's end. So F has
//! ended, and all steps of x precede that end. It is a step of F's owner, and x has been in the
//! owner's S-bag since. The owner is live, or is itself an ended task for which the same holds.
//!
//! One property is lost: that parallel to parallel is parallel, see [`Order::stands_for_now`]. Of
//! two parallel tasks the earlier one may be waited for first. This happens only if the later one,
//! or a live ancestor of it, escapes. If none does, all open finishes are in reach, everything
//! moves down the stack from one to the next, and what runs now comes after everything that has
//! ended.
//!
//! A stamp is the task's element of the forest. Live tasks and finishes are a stack with 32 bytes
//! for each. An ended task costs its element, 4 bytes, until `main` alone is live and has joined
//! all tasks: all stamps so far precede whatever follows, and the memory of their elements is given
//! back. An ended finish costs nothing.
//! An event costs at most two unions. The end of an escaping task costs a walk down the stack.
//!
//! **What precedes without a look-up.** Every ended task is in an S-bag or in the P-bag of
//! something on the stack, and live tasks are in S-bags. Each entry of the stack knows the least
//! stamp in its own P-bag and those below it. All smaller stamps are in S-bags once the entry is on
//! top. It also knows how many stamps from there on are in those P-bags without a gap. When a task
//! ends, it and all tasks created since, which descend from it, are in the P-bag it goes to or in
//! ones below: those it has joined go along with it, and the others were waited for further out. So
//! from its stamp on there is no gap up to the newest stamp. If that P-bag is not on top, the
//! entries between it and the top are updated too.

use crate::Failure;
use crate::order::bags::{Bags, Kind};
use crate::order::{NOBODY, OUT_OF_REACH, Order, PROMISES, RELEASES, Running, SUSPENDED, Stamp};
use crate::table::make_room;
use finishline_model::{Event, FinishId, TaskId};

/// A live task, or a finish open in one.
#[derive(Clone, Copy, Debug)]
struct BaggedScope {
    /// The task, or the task that has the finish open. An element of its S-bag.
    task: Stamp,
    /// An element of the P-bag.
    p_bag: Stamp,
    /// The `TaskId` or `FinishId`.
    id: u32,
    /// The least stamp in the P-bags from the bottom of the stack up to this one.
    first_parallel: Stamp,
    /// All stamps from there to below this one are in these P-bags.
    parallel_until: Stamp,
    /// The running task's stamp when another entry was put on top.
    now: Stamp,
    /// The position in the stack of the innermost finish in reach.
    finish: u32,
    /// Whether this is a task that escapes.
    escapes: bool,
}

/// Greater than every stamp.
const NONE_PARALLEL: Stamp = Stamp::MAX;

#[derive(Debug)]
pub struct EspBags {
    bags: Bags,
    /// The stack, with the running task or its innermost finish on top.
    live: Vec<BaggedScope>,
    now: Stamp,
    /// The number of live tasks that escape.
    escaping: u32,
    /// Smaller stamps precede whatever follows.
    forgotten_below: Stamp,
}

impl EspBags {
    /// Puts an entry on the stack. `finish` is the position of its innermost finish in reach.
    #[inline]
    fn enter(&mut self, task: Stamp, id: u32, finish: u32, escapes: bool) -> Result<(), Failure> {
        if self.live.len() == self.live.capacity() {
            make_room(&mut self.live, 1, "live tasks")?;
        }
        let (first_parallel, parallel_until) = self.parallel_below(self.live.len());
        self.live.push(BaggedScope {
            task,
            p_bag: NOBODY,
            id,
            first_parallel,
            parallel_until,
            now: task,
            finish,
            escapes,
        });
        Ok(())
    }

    /// The position in the stack of a finish in reach that is further out than the innermost one.
    #[cold]
    fn further_out(&self, innermost: u32, finish: FinishId) -> Result<u32, Failure> {
        let mut position = innermost as usize;
        while position > 0 {
            let around = self.live[position - 1].finish;
            position = around as usize;
            if self.live[position].id == finish.0 {
                return Ok(around);
            }
        }
        Err(Failure::Unsupported(OUT_OF_REACH))
    }

    /// The range of stamps known to be parallel from the stack below a height.
    #[inline]
    fn parallel_below(&self, height: usize) -> (Stamp, Stamp) {
        let top = self.live[..height].last();
        top.map_or((NONE_PARALLEL, NONE_PARALLEL), |frame| {
            (frame.first_parallel, frame.parallel_until)
        })
    }

    /// Notes that a task has ended and goes to the P-bag of the entry at this height. All stamps
    /// from its own on are in P-bags up to there.
    #[inline]
    fn extend_parallel(&mut self, height: usize, ended: Stamp) {
        let next = self.bags.next();
        for frame in &mut self.live[height..] {
            if ended < frame.first_parallel {
                (frame.first_parallel, frame.parallel_until) = (ended, next);
            } else if frame.parallel_until == ended {
                frame.parallel_until = next;
            }
        }
    }

    /// Forgets the stamps so far if `main` alone is live and nothing is parallel to it.
    #[inline]
    fn forget_if_all_joined(&mut self) -> Result<(), Failure> {
        let (Some(bottom), Some(top)) = (self.live.first(), self.live.last()) else {
            return Ok(());
        };
        let main = bottom.task;
        if top.task == main && top.first_parallel == NONE_PARALLEL && self.bags.are_many() {
            self.bags.forget();
            let stamp = self.bags.singleton()?;
            for scope in &mut self.live {
                (scope.task, scope.now) = (stamp, stamp);
            }
            (self.now, self.forgotten_below) = (stamp, stamp);
        }
        Ok(())
    }

    fn leave(&mut self, id: u32) -> Option<BaggedScope> {
        let left = self.live.pop();
        debug_assert_eq!(
            left.map(|frame| frame.id),
            Some(id),
            "not a depth-first run"
        );
        left
    }
}

impl Order for EspBags {
    type Strand = Running;

    fn new() -> Result<Self, Failure> {
        Ok(EspBags {
            bags: Bags::new()?,
            live: Vec::new(),
            now: NOBODY,
            escaping: 0,
            forgotten_below: NOBODY,
        })
    }

    #[inline]
    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        match *event {
            Event::TaskBegin { task, finish, .. } => {
                let now = self.now;
                let (mut position, mut escapes) = (0, false);
                if let Some(creator) = self.live.last_mut() {
                    creator.now = now;
                    position = creator.finish;
                    if self.live[position as usize].id != finish.0 {
                        position = self.further_out(position, finish)?;
                        escapes = true;
                    }
                }
                self.now = self.bags.singleton()?;
                self.enter(self.now, task.0, position, escapes)?;
                self.escaping += u32::from(escapes);
            }
            Event::TaskEnd { task } => {
                let Some(ended) = self.leave(task.0) else {
                    return Ok(());
                };
                self.escaping -= u32::from(ended.escapes);
                let height = self.live.len();
                let Some(top) = self.live.last() else {
                    self.now = NOBODY;
                    return Ok(());
                };
                self.now = top.now;
                let to = match ended.escapes {
                    true => ended.finish as usize,
                    false => height - 1,
                };
                self.extend_parallel(to, ended.task);
                let waits = &mut self.live[to].p_bag;
                *waits = self.bags.unite(*waits, ended.task, Kind::P);
                if ended.p_bag != NOBODY {
                    *waits = self.bags.unite(*waits, ended.p_bag, Kind::P);
                }
            }
            Event::FinishBegin { finish, .. } => {
                let task = self.live.last().map_or(NOBODY, |running| running.task);
                self.enter(task, finish.0, self.live.len() as u32, false)?;
            }
            Event::FinishJoin { finish, .. } => {
                let mut joined = self.live.len();
                for frame in self.live.iter_mut().rev() {
                    self.bags.unite(frame.task, frame.p_bag, Kind::S);
                    frame.p_bag = NOBODY;
                    joined -= 1;
                    if frame.id == finish.0 {
                        break;
                    }
                }
                let below = self.parallel_below(joined);
                for frame in &mut self.live[joined..] {
                    (frame.first_parallel, frame.parallel_until) = below;
                }
                self.forget_if_all_joined()?;
            }
            Event::FinishEnd { finish, .. } => {
                if let Some(ended) = self.leave(finish.0) {
                    self.bags.unite(ended.task, ended.p_bag, Kind::S);
                    self.forget_if_all_joined()?;
                }
            }
            Event::Release { .. }
            | Event::Acquire { .. }
            | Event::Relay { .. }
            | Event::Glimpse { .. }
            | Event::GlimpseEnd { .. } => {
                return Err(Failure::Unsupported(RELEASES));
            }
            Event::PromiseSet { .. } | Event::PromiseGet { .. } => {
                return Err(Failure::Unsupported(PROMISES));
            }
            Event::Suspend { .. } | Event::Resume { .. } => {
                return Err(Failure::Unsupported(SUSPENDED));
            }
            Event::IsolatedBegin { .. }
            | Event::IsolatedEnd { .. }
            | Event::Lock { .. }
            | Event::Unlock { .. }
            | Event::Alloc { .. } => {}
        }
        Ok(())
    }

    #[inline]
    fn stamp(&self, _: Running) -> Stamp {
        self.now
    }

    #[inline]
    fn serial_below(&self, _: Running) -> Stamp {
        self.parallel_below(self.live.len()).0
    }

    #[inline]
    fn parallel_above(&self, _: Running) -> Stamp {
        let (first, until) = self.parallel_below(self.live.len());
        if self.escaping == 0 { until - first } else { 0 }
    }

    #[inline]
    fn parallel(&mut self, _: Running, earlier: Stamp) -> bool {
        self.bags.in_p_bag(earlier)
    }

    #[inline]
    fn stands_for_now(&self, _: Running, _: Stamp) -> bool {
        self.escaping == 0
    }

    #[inline]
    fn knows_more(&self, _: Running) -> bool {
        false
    }

    /// Elements of one bag stay together, so one stands for the other.
    fn stands_for(&mut self, _: Running, earlier: Stamp, later: Stamp) -> bool {
        self.bags.together(earlier, later)
    }

    /// True for what the task at the bottom has joined, because that task ends last.
    fn precedes_all(&mut self, _: Running, earlier: Stamp) -> bool {
        let main = self.live.first().map_or(NOBODY, |bottom| bottom.task);
        earlier < self.forgotten_below || self.bags.together(earlier, main)
    }

    #[inline]
    fn strand(&self, _: TaskId) -> Running {
        Running
    }

    fn clear(&mut self) {
        self.bags.clear();
        self.live.clear();
        (self.now, self.escaping, self.forgotten_below) = (NOBODY, 0, NOBODY);
    }

    fn used_bytes(&self) -> usize {
        self.bags.used_bytes() + self.live.capacity() * size_of::<BaggedScope>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Field, Fields, History, LastWriterOneReader, Now};
    use finishline_model::{AccessKind, FinishKind, SiteId, TaskKind};

    const SITE: SiteId = SiteId(0);
    /// Ids that no task has, to find frames by their id.
    const F1: FinishId = FinishId(101);
    const F2: FinishId = FinishId(102);

    fn begin(task: u32, finish: FinishId) -> Event {
        let parent = task.checked_sub(1).map(TaskId);
        let kind = if task == 0 {
            TaskKind::Main
        } else {
            TaskKind::Async
        };
        Event::TaskBegin {
            task: TaskId(task),
            parent,
            kind,
            finish,
            site: SITE,
        }
    }

    fn start_finish(finish: FinishId) -> Event {
        Event::FinishBegin {
            task: TaskId(0),
            finish,
            kind: FinishKind::Lexical,
            site: SITE,
        }
    }

    impl EspBags {
        /// The S-bag and the P-bag of a live task or finish. Empty for others.
        fn bags_of(&mut self, id: u32) -> (Vec<Stamp>, Vec<Stamp>) {
            match self.live.iter().find(|frame| frame.id == id) {
                Some(&BaggedScope { task, p_bag, .. }) => {
                    (self.bags.members(task), self.bags.members(p_bag))
                }
                None => (vec![], vec![]),
            }
        }
    }

    /// [ESP-bags Table 1], line by line: the bags after each statement of the first iteration of
    /// the program of its Fig. 2. The stamps of T1 to T4 are 1 to 4.
    #[test]
    fn table_1() {
        enum Do {
            Event(Event),
            Write,
        }
        type Bag = &'static [Stamp];
        let end = |task| Do::Event(Event::TaskEnd { task: TaskId(task) });
        let end_f2 = Event::FinishEnd {
            task: TaskId(0),
            finish: F2,
            site: SITE,
        };
        #[rustfmt::skip]
        let table: [(u32, Do, [Bag; 7], Stamp); 12] = [
        // PC                              S(T1)       P(F1) S(T2) P(F2)    P(T3) S(T3) S(T4)
        // and the writer
        (1,  Do::Event(begin(0, F1)),     [&[1],       &[],  &[],  &[],     &[],  &[],  &[]],  0),
        (4,  Do::Event(start_finish(F1)), [&[1],       &[],  &[],  &[],     &[],  &[],  &[]],  0),
        (7,  Do::Event(begin(1, F1)),     [&[1],       &[],  &[2], &[],     &[],  &[],  &[]],  0),
        (8,  Do::Write,                   [&[1],       &[],  &[2], &[],     &[],  &[],  &[]],  2),
        (14, end(1),                      [&[1],       &[2], &[],  &[],     &[],  &[],  &[]],  2),
        (15, Do::Event(start_finish(F2)), [&[1],       &[2], &[],  &[],     &[],  &[],  &[]],  2),
        (16, Do::Event(begin(2, F2)),     [&[1],       &[2], &[],  &[],     &[],  &[3], &[]],  2),
        (17, Do::Event(begin(3, F2)),     [&[1],       &[2], &[],  &[],     &[],  &[3], &[4]], 2),
        (18, Do::Write,                   [&[1],       &[2], &[],  &[],     &[],  &[3], &[4]], 4),
        (19, end(3),                      [&[1],       &[2], &[],  &[],     &[4], &[3], &[]],  4),
        (21, end(2),                      [&[1],       &[2], &[],  &[3, 4], &[],  &[],  &[]],  4),
        (22, Do::Event(end_f2),           [&[1, 3, 4], &[2], &[],  &[],     &[],  &[],  &[]],  4),
        ];
        let mut order = EspBags::new().unwrap();
        let mut cell = [NOBODY; 2];
        let mut races = Vec::new();
        for (pc, action, bags, writer) in table {
            match action {
                Do::Event(event) => order.event(&event).unwrap(),
                Do::Write => {
                    let now = Now {
                        stamp: order.stamp(Running),
                        kind: AccessKind::Write,
                        isolated: false,
                    };
                    let done =
                        LastWriterOneReader::transition(cell, now, |s| order.parallel(Running, s));
                    cell = done.cell;
                    if !done.races.is_empty() {
                        races.push((pc, done.races));
                    }
                }
            }
            let (t1, f1, t2) = (order.bags_of(0), order.bags_of(F1.0), order.bags_of(1));
            let (f2, t3, t4) = (order.bags_of(F2.0), order.bags_of(2), order.bags_of(3));
            let found = [&t1.0[..], &f1.1, &t2.0, &f2.1, &t3.1, &t3.0, &t4.0];
            assert_eq!(found, bags, "after line {pc}");
            assert_eq!(
                [t1.1, t2.1, t4.1].concat(),
                [],
                "the paper leaves out what stays empty"
            );
            assert_eq!(cell[0], writer, "after line {pc}");
        }
        assert_eq!(
            races,
            [(18, Fields::NONE.with(Field::Writer, true))],
            "the starred line"
        );
    }

    /// What `main` has joined is forgotten, and precedes what follows. What another task has joined
    /// becomes parallel to its creator when it ends.
    #[test]
    fn forgotten_stamps_precede() {
        const MANY: u32 = 300_000;
        let mut order = EspBags::new().unwrap();
        let mut ids = 1000;
        let end_of = |finish| Event::FinishEnd {
            task: TaskId(0),
            finish,
            site: SITE,
        };
        let mut phase = |order: &mut EspBags| {
            let first = order.bags.next();
            order.event(&start_finish(F2)).unwrap();
            for _ in 0..MANY {
                ids += 1;
                order.event(&begin(ids, F2)).unwrap();
                let task = TaskId(ids);
                order.event(&Event::TaskEnd { task }).unwrap();
            }
            let parallel = (first..first + MANY).all(|it| order.parallel(Running, it));
            assert!(parallel, "tasks in the open finish");
            order.event(&end_of(F2)).unwrap();
            first
        };
        order.event(&begin(0, F1)).unwrap();
        order.event(&start_finish(F1)).unwrap();
        for round in 0..3 {
            let first = phase(&mut order);
            assert!(order.used_bytes() < 1 << 20, "round {round}: memory");
            let now = order.stamp(Running);
            assert!((1..now).all(|it| !order.parallel(Running, it) || it == now));
            assert!(order.precedes_all(Running, first));
        }
        order.event(&begin(1, F1)).unwrap();
        let first = phase(&mut order);
        assert!(!order.parallel(Running, first), "joined");
        order.event(&Event::TaskEnd { task: TaskId(1) }).unwrap();
        assert!(
            order.parallel(Running, first),
            "joined by a task that may still run"
        );
        order.event(&end_of(F1)).unwrap();
        assert!(!order.parallel(Running, first));
        assert!(order.used_bytes() < 1 << 20, "memory at the end");
    }

    /// At every point of random runs the results known without a look-up agree with the look-up. In
    /// a flat loop of tasks everything is known without one.
    #[test]
    fn the_known_ranges_are_right() {
        let mut random = 1u64;
        let mut below = |n: u64| {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (random >> 33) % n
        };
        let (mut serial, mut parallel) = (0, 0);
        for _ in 0..2000 {
            let mut order = EspBags::new().unwrap();
            order.event(&begin(0, FinishId::ROOT)).unwrap();
            order.event(&start_finish(FinishId::ROOT)).unwrap();
            // The open tasks and finishes, each with the position of the innermost finish in reach.
            let mut open = vec![(true, 0, 1), (false, 0u32, 1usize)];
            let mut ids = 0;
            for _ in 0..40 {
                let &(top_is_task, top, reach) = open.last().expect("main is live");
                let event = match below(6) {
                    0 | 1 => {
                        ids += 1;
                        let mut finish = reach;
                        while finish > 1 && below(3) == 0 {
                            finish = open[finish - 1].2;
                        }
                        let id = FinishId(open[finish].1);
                        open.push((true, ids, finish));
                        begin(ids, id)
                    }
                    2 => {
                        ids += 1;
                        open.push((false, ids, open.len()));
                        start_finish(FinishId(ids))
                    }
                    4 if !top_is_task => Event::FinishJoin {
                        task: TaskId(0),
                        finish: FinishId(top),
                        site: SITE,
                    },
                    _ if open.len() > 2 => {
                        open.pop();
                        match top_is_task {
                            true => Event::TaskEnd { task: TaskId(top) },
                            false => Event::FinishEnd {
                                task: TaskId(0),
                                finish: FinishId(top),
                                site: SITE,
                            },
                        }
                    }
                    _ => continue,
                };
                order.event(&event).unwrap();
                let (from, count) = (order.serial_below(Running), order.parallel_above(Running));
                for stamp in 1..order.bags.next() {
                    if stamp < from {
                        assert!(!order.parallel(Running, stamp));
                        serial += 1;
                    } else if stamp - from < count {
                        assert!(order.parallel(Running, stamp));
                        parallel += 1;
                    }
                }
            }
        }
        assert!(serial > 100_000 && parallel > 50_000, "{serial} {parallel}");

        let mut order = EspBags::new().unwrap();
        order.event(&begin(0, F1)).unwrap();
        order.event(&start_finish(F1)).unwrap();
        for _ in 0..5 {
            order.event(&begin(1, F1)).unwrap();
            order.event(&Event::TaskEnd { task: TaskId(1) }).unwrap();
        }
        assert_eq!(
            (order.serial_below(Running), order.parallel_above(Running)),
            (2, 5)
        );
    }

    /// A task that was handed on to F1 creates one in F2, which is open but out of its reach.
    #[test]
    fn a_finish_out_of_reach_is_refused() {
        let mut order = EspBags::new().unwrap();
        let events = [
            begin(0, F1),
            start_finish(F1),
            start_finish(F2),
            begin(1, F1),
        ];
        for event in events {
            order.event(&event).unwrap();
        }
        let refused = Err(Failure::Unsupported(OUT_OF_REACH));
        assert_eq!(order.event(&begin(2, F2)), refused);
        assert_eq!(order.event(&begin(2, F1)), Ok(()));
        assert!(
            !order.stands_for_now(Running, NOBODY),
            "a live task escapes"
        );
        for task in [2, 1] {
            let end = Event::TaskEnd { task: TaskId(task) };
            order.event(&end).unwrap();
        }
        assert!(order.stands_for_now(Running, NOBODY), "none does any more");
    }

    #[test]
    fn a_finished_task_costs_four_bytes() {
        let mut order = EspBags::new().unwrap();
        order.event(&begin(0, F1)).unwrap();
        order.event(&start_finish(F1)).unwrap();
        let before = order.used_bytes();
        for _ in 0..1000 {
            order.event(&begin(1, F1)).unwrap();
            order.event(&Event::TaskEnd { task: TaskId(1) }).unwrap();
        }
        assert!(order.used_bytes() - before <= 4 * 1000 + 4 * size_of::<BaggedScope>());
    }
}
