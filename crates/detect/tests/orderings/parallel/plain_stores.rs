//! Cells that are changed by plain stores: whoever replaces one of them meanwhile is not lost, and
//! of two accesses at the same time one finds the other.

use super::spans::{Calm, Spans};
use crate::atomics::{AtomicU64, Ordering, explore_within};
use loom::sync::Arc;
use loom::thread;

/// Two cells. An access leaves its bit in them.
struct Cells {
    spans: Spans,
    cells: [AtomicU64; 2],
}

/// Where the cells are, as far as spans are concerned.
const BOTH: std::ops::Range<u64> = 8..24;
const SECOND: std::ops::Range<u64> = 16..24;
const ELSEWHERE: std::ops::Range<u64> = 24..32;

impl Cells {
    fn new(workers: usize) -> Arc<Cells> {
        Arc::new(Cells {
            spans: Spans::new(workers),
            cells: [0, 0].map(AtomicU64::new),
        })
    }

    /// An access to the second cell. What it found.
    fn access_one(&self, bit: u64) -> u64 {
        let mut calm = Calm::UNKNOWN;
        let mut found = 0;
        let cell = &self.cells[1];
        loop {
            calm = self.spans.wait(SECOND, calm);
            let before = cell.load(Ordering::Relaxed);
            found |= before;
            if before & bit != 0 {
                return found;
            }
            let replaced =
                cell.compare_exchange(before, before | bit, Ordering::Release, Ordering::Relaxed);
            if replaced.is_ok() && self.spans.were_closed_since(calm) {
                return found;
            }
        }
    }

    /// An access to both cells in a span. What it found in the second one.
    fn access_both(&self, worker: usize, bit: u64) -> u64 {
        if !self.spans.open(worker, &BOTH) {
            return self.access_one(bit);
        }
        let mut found = 0;
        for cell in &self.cells {
            found = cell.load(Ordering::Relaxed);
            // Not a store: loom lets a compare-and-swap replace what was there before a store that
            // is over, and forgets which of the two values came last.
            cell.swap(found | bit, Ordering::Release);
        }
        self.spans.close(worker);
        found
    }
}

/// Each of two accesses is remembered, and one has found the other.
fn check(cells: &Cells, found: [u64; 2]) {
    assert_eq!(cells.cells[1].load(Ordering::Relaxed), 3);
    let [by_one, by_other] = found;
    assert!(by_one & 2 != 0 || by_other & 1 != 0, "nobody found anybody");
}

#[test]
fn a_cell_that_is_replaced_while_it_is_stored_to_keeps_both_accesses() {
    explore_within(3, || {
        let cells = Cells::new(1);
        let owner = {
            let cells = cells.clone();
            thread::spawn(move || cells.access_both(0, 1))
        };
        let found = cells.access_one(2);
        check(&cells, [owner.join().unwrap(), found]);
    });
}

#[test]
fn of_spans_that_overlap_one_is_not_opened() {
    explore_within(3, || {
        let cells = Cells::new(2);
        let owner = {
            let cells = cells.clone();
            thread::spawn(move || cells.access_both(0, 1))
        };
        let found = cells.access_both(1, 2);
        check(&cells, [owner.join().unwrap(), found]);
    });
}

/// Who is calm replaces the cell before the next span is opened, or sees that it was.
#[test]
fn a_second_span_is_noticed_too() {
    explore_within(2, || {
        let cells = Cells::new(1);
        let owner = {
            let cells = cells.clone();
            thread::spawn(move || {
                cells.access_both(0, 4);
                cells.access_both(0, 1)
            })
        };
        let found = cells.access_one(2);
        let found = [owner.join().unwrap(), found];
        assert_eq!(cells.cells[1].load(Ordering::Relaxed), 7);
        assert!(
            found[0] & 2 != 0 || found[1] & 1 != 0,
            "nobody found anybody"
        );
    });
}

/// Who sees that the owner is elsewhere sees what it has stored before.
#[test]
fn who_sees_the_next_span_sees_what_the_last_one_stored() {
    for opens in [false, true] {
        explore_within(3, move || {
            let cells = Cells::new(2);
            let owner = {
                let cells = cells.clone();
                thread::spawn(move || {
                    let found = cells.access_both(0, 1);
                    if cells.spans.open(0, &ELSEWHERE) {
                        cells.spans.close(0);
                    }
                    found
                })
            };
            let found = match opens {
                false => cells.access_one(2),
                true => cells.access_both(1, 2),
            };
            check(&cells, [owner.join().unwrap(), found]);
        });
    }
}
