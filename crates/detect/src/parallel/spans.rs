//! Cells that a worker changes by plain stores.
//!
//! A compare-and-swap for each cell is most of what a check of many neighbours costs. So a worker
//! that is about to change many of them opens a *span*: it tells which cells these are, and then
//! loads each of them and stores what becomes of it.
//!
//! **Nothing is lost.** Somebody else may replace a cell between such a load and the store, which
//! undoes the replacement. So whoever has replaced a cell of one word asks whether a span may have
//! been open. If so, it [waits](Spans::wait) until none covers the cell, and accesses the cell
//! again. A span that was opened before the replacement is closed then. A span that is opened later
//! is the work of somebody who loads what the replacement has left. So the second access finds what
//! stays, and if it has to change that, the same rule holds for that change.
//!
//! **Who changes nothing need not ask.** C may have decided on a value that a store then undoes,
//! because B had put it there. Then the access of B is not over, nor is that of the owner of the
//! span: all three happen at the same time, and no two of them are ordered. If one of them writes,
//! it races with the other two, and B finds a race when it accesses the cell again. If all three
//! read, whoever comes later and is parallel to C is parallel to what C has found: to B or to a
//! reader before B. The owner's value stands for the readers before, and B adds itself to it. That
//! one value can stand for several is what [`SharedOrder::both`](super::SharedOrder::both)
//! promises. Locks and isolated blocks keep such accesses from being races, so there are no spans
//! in programs with these.
//!
//! **No deadlock.** Whoever has a span open waits for nobody. Two spans never overlap: who finds
//! that his would closes it, having changed nothing, and replaces cells one at a time.
//!
//! **Cost.** Whoever replaces a cell compares the number of spans opened so far with the latest at
//! which none was open. Opening a span costs a read-modify-write and a fence.
//!
//! **Memory ordering.** The owner of a span tells of it, then fences, then loads cells. Who has
//! replaced a cell fences, then looks at the spans. One of the two sees the other. The replacement
//! is a read-modify-write, which is a fence on x86-64 ([`fence_after_swap`]). A span is closed by a
//! release that whoever waits acquires: it sees what was stored.

use crate::atomics::{AtomicU64, Ordering, fence, fence_after_swap, spin_loop, yield_now};
use std::ops::Range;

/// The spans of all workers.
pub struct Spans {
    /// How many were opened so far.
    opened: AtomicU64,
    of_workers: Box<[Span]>,
}

/// The addresses of cells. On a cache line of its own.
#[repr(align(128))]
struct Span {
    begin: AtomicU64,
    /// 0 if the span is not open.
    end: AtomicU64,
}

/// The number of spans that were opened when none was open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Calm(u64);

/// A worker, and the spans of all.
#[derive(Clone, Copy)]
pub struct OwnSpan<'a> {
    pub spans: &'a Spans,
    pub worker: usize,
}

/// How often a worker looks at an open span before it lets other threads run.
const LOOKS: u32 = 64;

impl Calm {
    /// It is not known when none was open.
    pub const UNKNOWN: Calm = Calm(u64::MAX);
}

impl Spans {
    /// Of so many workers. If there are none, no span can be opened.
    pub fn new(workers: usize) -> Spans {
        let closed = || Span {
            begin: AtomicU64::new(0),
            end: AtomicU64::new(0),
        };
        Spans {
            opened: AtomicU64::new(0),
            of_workers: (0..workers).map(|_| closed()).collect(),
        }
    }

    /// For compiled code, which compares it with what it knows.
    pub fn opened(&self) -> *const AtomicU64 {
        &raw const self.opened
    }

    /// Waits until no span covers any of these cells. `before` is what an earlier call returned.
    ///
    /// A span that was opened just now may be missed: who changes a cell will notice
    /// ([`were_closed_since`](Self::were_closed_since)), and who does not need not ask.
    #[inline]
    pub fn wait(&self, cells: Range<u64>, before: Calm) -> Calm {
        match Calm(self.opened.load(Ordering::Relaxed)) == before {
            true => before,
            false => self.wait_long(cells),
        }
    }

    #[cold]
    fn wait_long(&self, cells: Range<u64>) -> Calm {
        let mut looks = 0;
        loop {
            let opened = self.opened.load(Ordering::Acquire);
            let (mut is_calm, mut is_covered) = (true, false);
            for span in &self.of_workers {
                // If the span is closed and opened again in between, its owner has not loaded any
                // cell yet, or sees what was replaced before.
                let end = span.end.load(Ordering::Acquire);
                let begin = span.begin.load(Ordering::Acquire);
                is_calm &= end == 0;
                is_covered |= begin < cells.end && cells.start < end;
            }
            match (is_covered, is_calm) {
                // Its owner may have to wait for this processor.
                (true, _) if looks == LOOKS => yield_now(),
                (true, _) => {
                    looks += 1;
                    spin_loop();
                }
                (false, true) => return Calm(opened),
                (false, false) => return Calm::UNKNOWN,
            }
        }
    }

    /// Of who has replaced a cell after it has [waited](Self::wait): whether no span was open.
    #[inline]
    pub fn were_closed_since(&self, calm: Calm) -> bool {
        fence_after_swap();
        Calm(self.opened.load(Ordering::Relaxed)) == calm
    }

    /// Opens the span of a worker, unless it overlaps with another one. The worker must load each
    /// cell afterwards.
    pub fn open(&self, worker: usize, cells: &Range<u64>) -> bool {
        let Some(own) = self.of_workers.get(worker) else {
            return false;
        };
        own.begin.store(cells.start, Ordering::Release);
        own.end.store(cells.end, Ordering::Relaxed);
        self.opened.fetch_add(1, Ordering::Release);
        fence(Ordering::SeqCst);
        let overlaps = |(other, span): (usize, &Span)| {
            let end = span.end.load(Ordering::Acquire);
            let begin = span.begin.load(Ordering::Acquire);
            other != worker && begin < cells.end && cells.start < end
        };
        let is_alone = !self.of_workers.iter().enumerate().any(overlaps);
        if !is_alone {
            self.close(worker);
        }
        is_alone
    }

    /// The worker has stored what it was about to.
    pub fn close(&self, worker: usize) {
        self.of_workers[worker].end.store(0, Ordering::Release);
    }
}
