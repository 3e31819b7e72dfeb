//! ESP-bags: which tasks precede the running step of an async-finish program, in every schedule.
//!
//! [ESP-bags §3.2] Every task has an S-bag, the tasks that precede whatever it does now, itself
//! included. Every task and every finish has a P-bag, the ended tasks created in it that may still run
//! beside it:
//!
//! ```text
//! task A begins                  S(A) = {A}          P(A) = {}
//! task A ends, back in B         P(B) = P(B) ∪ S(A) ∪ P(A)
//! finish F begins                P(F) = {}
//! finish F ends in task B        S(B) = S(B) ∪ P(F)
//! finish F is joined in task B   the same for F and all finishes open inside it; they stay open
//! ```
//!
//! B in the second rule "may be either a task or a finish": it is the innermost finish the creating
//! task has open, or that task itself if it has opened none. In a depth-first run that is whatever is
//! on top of the stack of live tasks and finishes once A is gone, which is how it is found here. A
//! P-bag that ends up with a task moves on with it, so the tasks arrive in the P-bag of their
//! immediately enclosing finish.
//!
//! The fifth rule is `sync`, which waits for everything created in its scope so far, tasks in a
//! `begin_finish` that is still open inside included. In Fin no `sync` finds one open, it is a failure there; event streams may
//! have it. DIVERGENCE: the paper translates a sync into an
//! end of finish and a new one; the bags are the same.
//!
//! A stamp is the task's element of the forest. Live tasks and finishes are a stack of 20 bytes each; a
//! task that has ended costs its element, 4 bytes, and a finish nothing. An event costs at most two
//! unions.
//!
//! **What precedes without a look-up.** Every task that has ended is in an S-bag or in the P-bag of something on the
//! stack, and live tasks are in S-bags. Tasks enter the P-bag on top in the order of their stamps, and whatever is in a
//! P-bag further down was there before the top was pushed; so the least stamp in any P-bag is the first that entered the
//! lowest one that is not empty. All stamps below it are in S-bags. And from it on all stamps are in that P-bag up to the
//! first task that was created there and not left to it: when a task ends, it and all created since, which descend from
//! it, go there together.

use crate::Failure;
use crate::order::bags::{Bags, Kind};
use crate::order::{NOBODY, Order, Stamp};
use crate::table::TableError;
use finishline_model::Event;

/// A live task, or a finish open in one.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The task, or the one the finish is open in; an element of its S-bag.
    task: Stamp,
    /// An element of the P-bag.
    p_bag: Stamp,
    /// The `TaskId` or `FinishId`.
    id: u32,
    /// The least stamp in the P-bags from the bottom of the stack up to this one.
    first_parallel: Stamp,
    /// All stamps from there to before this one are in the same P-bag.
    parallel_until: Stamp,
}

/// Greater than every stamp.
const NONE_PARALLEL: Stamp = Stamp::MAX;

#[derive(Debug)]
pub struct EspBags {
    bags: Bags,
    /// The running task or its innermost finish is on top.
    live: Vec<Frame>,
    now: Stamp,
}

impl EspBags {
    fn enter(&mut self, task: Stamp, id: u32) -> Result<(), Failure> {
        self.live.try_reserve(1).map_err(|_| TableError::Refused {
            table: "live tasks",
            bytes: 2 * self.live.len() * size_of::<Frame>(),
        })?;
        let (first_parallel, parallel_until) = self.parallel_below(self.live.len());
        self.live.push(Frame {
            task,
            p_bag: NOBODY,
            id,
            first_parallel,
            parallel_until,
        });
        self.now = task;
        Ok(())
    }

    /// The range of stamps known to be parallel by what is on the stack below a height.
    #[inline]
    fn parallel_below(&self, height: usize) -> (Stamp, Stamp) {
        let top = self.live[..height].last();
        top.map_or((NONE_PARALLEL, NONE_PARALLEL), |frame| {
            (frame.first_parallel, frame.parallel_until)
        })
    }

    /// A task has ended, and all stamps from its own on go to the P-bag on top.
    #[inline]
    fn extend_parallel(&mut self, ended: Stamp) {
        let next = self.bags.next();
        if let [.., below, _] = self.live[..]
            && below.first_parallel != NONE_PARALLEL
        {
            return;
        }
        if let Some(top) = self.live.last_mut() {
            if top.first_parallel == NONE_PARALLEL {
                (top.first_parallel, top.parallel_until) = (ended, next);
            } else if top.parallel_until == ended {
                top.parallel_until = next;
            }
        }
    }

    fn leave(&mut self, id: u32) -> Option<Frame> {
        let left = self.live.pop();
        debug_assert_eq!(
            left.map(|frame| frame.id),
            Some(id),
            "not a depth-first run"
        );
        self.now = self.live.last().map_or(NOBODY, |frame| frame.task);
        left
    }
}

impl Order for EspBags {
    fn new() -> Result<Self, Failure> {
        Ok(EspBags {
            bags: Bags::new()?,
            live: Vec::new(),
            now: NOBODY,
        })
    }

    #[inline]
    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        match *event {
            Event::TaskBegin { task, .. } => {
                let element = self.bags.singleton()?;
                self.enter(element, task.0)?;
            }
            Event::TaskEnd { task } => {
                let Some(ended) = self.leave(task.0) else {
                    return Ok(());
                };
                self.extend_parallel(ended.task);
                if let Some(parent) = self.live.last_mut() {
                    parent.p_bag = self.bags.unite(parent.p_bag, ended.task, Kind::P);
                    if ended.p_bag != NOBODY {
                        parent.p_bag = self.bags.unite(parent.p_bag, ended.p_bag, Kind::P);
                    }
                }
            }
            Event::FinishBegin { finish, .. } => self.enter(self.now, finish.0)?,
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
            }
            Event::FinishEnd { finish, .. } => {
                if let Some(ended) = self.leave(finish.0) {
                    self.bags.unite(ended.task, ended.p_bag, Kind::S);
                }
            }
            Event::IsolatedBegin { .. } | Event::IsolatedEnd { .. } | Event::Alloc { .. } => {}
        }
        Ok(())
    }

    #[inline]
    fn now(&self) -> Stamp {
        self.now
    }

    #[inline]
    fn serial_below(&self) -> Stamp {
        self.parallel_below(self.live.len()).0
    }

    #[inline]
    fn parallel_above(&self) -> Stamp {
        let (first, until) = self.parallel_below(self.live.len());
        until - first
    }

    #[inline]
    fn parallel(&mut self, earlier: Stamp) -> bool {
        self.bags.in_p_bag(earlier)
    }

    fn clear(&mut self) {
        self.bags.clear();
        self.live.clear();
        self.now = NOBODY;
    }

    fn used_bytes(&self) -> usize {
        self.bags.used_bytes() + self.live.capacity() * size_of::<Frame>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Field, Fields, History, LastWriterOneReader, Now};
    use finishline_model::{AccessKind, FinishId, FinishKind, SiteId, TaskId, TaskKind};

    const SITE: SiteId = SiteId(0);
    /// Ids that no task has, to find frames by their id.
    const F1: FinishId = FinishId(101);
    const F2: FinishId = FinishId(102);

    fn begin(task: u32) -> Event {
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
            finish: F1,
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
        /// The S-bag and the P-bag of a live task or finish; of others they are empty.
        fn bags_of(&mut self, id: u32) -> (Vec<Stamp>, Vec<Stamp>) {
            match self.live.iter().find(|frame| frame.id == id) {
                Some(&Frame { task, p_bag, .. }) => {
                    (self.bags.members(task), self.bags.members(p_bag))
                }
                None => (vec![], vec![]),
            }
        }
    }

    /// [ESP-bags Table 1], line by line: the bags after each statement of the first iteration of the program of its
    /// Fig. 2. The stamps of T1 to T4 are 1 to 4.
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
            // PC                              S(T1)       P(F1) S(T2) P(F2)    P(T3) S(T3) S(T4)  writer
            (1,  Do::Event(begin(0)),         [&[1],       &[],  &[],  &[],     &[],  &[],  &[]],  0),
            (4,  Do::Event(start_finish(F1)), [&[1],       &[],  &[],  &[],     &[],  &[],  &[]],  0),
            (7,  Do::Event(begin(1)),         [&[1],       &[],  &[2], &[],     &[],  &[],  &[]],  0),
            (8,  Do::Write,                   [&[1],       &[],  &[2], &[],     &[],  &[],  &[]],  2),
            (14, end(1),                      [&[1],       &[2], &[],  &[],     &[],  &[],  &[]],  2),
            (15, Do::Event(start_finish(F2)), [&[1],       &[2], &[],  &[],     &[],  &[],  &[]],  2),
            (16, Do::Event(begin(2)),         [&[1],       &[2], &[],  &[],     &[],  &[3], &[]],  2),
            (17, Do::Event(begin(3)),         [&[1],       &[2], &[],  &[],     &[],  &[3], &[4]], 2),
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
                        stamp: order.now(),
                        kind: AccessKind::Write,
                        isolated: false,
                    };
                    let done = LastWriterOneReader::transition(cell, now, |s| order.parallel(s));
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

    /// What is known without a look-up is what the look-up says, at every point of random runs; and in a flat loop of tasks it
    /// is everything.
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
            order.event(&begin(0)).unwrap();
            let mut open = vec![(true, 0u32)];
            let mut ids = 0;
            for _ in 0..40 {
                let event = match (below(5), open.last()) {
                    (0 | 1, _) => {
                        ids += 1;
                        open.push((true, ids));
                        begin(ids)
                    }
                    (2, _) => {
                        ids += 1;
                        open.push((false, ids));
                        start_finish(FinishId(ids))
                    }
                    (3, Some(&(false, id))) => Event::FinishJoin {
                        task: TaskId(0),
                        finish: FinishId(id),
                        site: SITE,
                    },
                    (_, Some(&(is_task, id))) if open.len() > 1 => {
                        open.pop();
                        match is_task {
                            true => Event::TaskEnd { task: TaskId(id) },
                            false => Event::FinishEnd {
                                task: TaskId(0),
                                finish: FinishId(id),
                                site: SITE,
                            },
                        }
                    }
                    _ => continue,
                };
                order.event(&event).unwrap();
                let (from, count) = (order.serial_below(), order.parallel_above());
                for stamp in 1..order.bags.next() {
                    if stamp < from {
                        assert!(!order.parallel(stamp));
                        serial += 1;
                    } else if stamp - from < count {
                        assert!(order.parallel(stamp));
                        parallel += 1;
                    }
                }
            }
        }
        assert!(
            serial > 100_000 && parallel > 100_000,
            "{serial} {parallel}"
        );

        let mut order = EspBags::new().unwrap();
        order.event(&begin(0)).unwrap();
        order.event(&start_finish(F1)).unwrap();
        for _ in 0..5 {
            order.event(&begin(1)).unwrap();
            order.event(&Event::TaskEnd { task: TaskId(1) }).unwrap();
        }
        assert_eq!((order.serial_below(), order.parallel_above()), (2, 5));
    }

    #[test]
    fn a_finished_task_costs_four_bytes() {
        let mut order = EspBags::new().unwrap();
        order.event(&begin(0)).unwrap();
        let before = order.used_bytes();
        for _ in 0..1000 {
            order.event(&begin(1)).unwrap();
            order.event(&Event::TaskEnd { task: TaskId(1) }).unwrap();
        }
        assert!(order.used_bytes() - before <= 4 * 1000 + 4 * size_of::<Frame>());
    }
}
