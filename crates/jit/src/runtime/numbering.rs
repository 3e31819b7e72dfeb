//! Numbers of tasks and finishes, each given once.
//!
//! A worker among several takes a few at a time, so that no counter is shared by every task. A
//! worker alone takes all, and numbers in order.

use crossbeam_utils::CachePadded;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Numbers that no worker has yet.
pub(super) struct Unused {
    next: CachePadded<AtomicU32>,
    limit: u32,
    at_once: u32,
}

impl Unused {
    /// The numbers from `first` on and below the limit, for as many workers.
    pub(super) fn new(first: u32, limit: u32, workers: usize) -> Unused {
        /// The most that one of several workers takes.
        const MOST: usize = 1024;
        /// At least this many times each worker can take some.
        const TIMES: usize = 16;
        let at_once = match workers {
            1 => u32::MAX,
            _ => (limit as usize / (workers * TIMES)).clamp(1, MOST) as u32,
        };
        Unused {
            next: CachePadded::new(AtomicU32::new(first)),
            limit,
            at_once,
        }
    }

    fn take(&self) -> Range<u32> {
        // Numbers alone are taken: nothing is ordered by it.
        let taken = self
            .next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
                let end = next.saturating_add(self.at_once).min(self.limit);
                (next < end).then_some(end)
            });
        match taken {
            Ok(start) => start..start.saturating_add(self.at_once).min(self.limit),
            Err(_) => 0..0,
        }
    }
}

/// The numbers that a worker has.
pub(super) struct Numbers<'a> {
    next: u64,
    end: u64,
    unused: &'a Unused,
}

impl<'a> Numbers<'a> {
    pub(super) fn new(unused: &'a Unused) -> Numbers<'a> {
        Numbers {
            next: 0,
            end: 0,
            unused,
        }
    }

    /// Whether there is another one. The limit, if not.
    #[inline]
    pub(super) fn check(&mut self) -> Result<(), u32> {
        match self.next < self.end {
            true => Ok(()),
            false => self.take_more(),
        }
    }

    #[cold]
    fn take_more(&mut self) -> Result<(), u32> {
        let Range { start, end } = self.unused.take();
        (self.next, self.end) = (start.into(), end.into());
        match start < end {
            true => Ok(()),
            false => Err(self.unused.limit),
        }
    }

    /// The next one, after a [check](Numbers::check).
    #[inline]
    pub(super) fn take(&mut self) -> u32 {
        let next = self.next;
        self.next += 1;
        next as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_alone_numbers_in_order_up_to_the_limit() {
        let unused = Unused::new(1, 4, 1);
        let mut numbers = Numbers::new(&unused);
        for expected in 1..4 {
            assert_eq!(numbers.check(), Ok(()));
            assert_eq!(numbers.take(), expected);
        }
        assert_eq!(numbers.check(), Err(4));
    }

    #[test]
    fn several_workers_never_have_the_same_number() {
        let unused = Unused::new(1, 10_001, 4);
        let number = || {
            let mut numbers = Numbers::new(&unused);
            let mut own = Vec::new();
            while numbers.check().is_ok() {
                own.push(numbers.take());
            }
            own
        };
        let mut all: Vec<u32> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4).map(|_| scope.spawn(number)).collect();
            let each = workers.into_iter().map(|worker| worker.join().unwrap());
            each.flatten().collect()
        });
        all.sort_unstable();
        assert!(all.into_iter().eq(1..10_001));
    }
}
