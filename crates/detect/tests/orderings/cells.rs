//! Cells: a change is seen as a whole, and with the rows that it refers to.

use crate::atomics::explore;
use crate::parallel::cell::{AtomicCell, OneWord, ThreeStamps};
use crate::parallel::rows::Rows;
use loom::sync::Arc;
use loom::thread;

/// What threads share, and a row that nobody can have.
type Shared<C> = Arc<(C, Rows<2>)>;
const NO_ROW: u32 = 0;

fn shared<C: AtomicCell + Default>() -> Shared<C> {
    let rows = Rows::reserve("rows", 8).unwrap();
    rows.take(1).unwrap();
    Arc::new((C::default(), rows))
}

/// Adds a row and makes a cell refer to it, whatever it refers to now.
fn publish<C: AtomicCell>((cell, rows): &(C, Rows<2>), value: impl Fn(u32) -> C::Value) {
    let row = rows.add([7, 8]).unwrap();
    while !cell.replace(cell.look(), value(row)) {}
}

fn see_row((_, rows): &(impl AtomicCell, Rows<2>), row: u32) {
    if row != NO_ROW {
        assert_eq!(rows.get(row), [7, 8]);
    }
}

#[test]
fn a_word_comes_with_its_row() {
    explore(|| {
        let shared = shared::<OneWord>();
        let other = shared.clone();
        let writer = thread::spawn(move || publish(&other, u64::from));
        see_row(&shared, shared.0.look().value as u32);
        writer.join().unwrap();
    });
}

#[test]
fn a_word_comes_with_the_rows_of_all_who_changed_it() {
    explore(|| {
        let shared = shared::<OneWord>();
        let workers = [0, 32].map(|shift| {
            let shared = shared.clone();
            thread::spawn(move || {
                let row = shared.1.add([7, 8]).unwrap();
                loop {
                    let seen = shared.0.look();
                    see_row(&shared, (seen.value >> (32 - shift)) as u32);
                    let after = seen.value | u64::from(row) << shift;
                    if shared.0.replace(seen, after) {
                        break;
                    }
                }
            })
        });
        let seen = shared.0.look().value;
        see_row(&shared, seen as u32);
        see_row(&shared, (seen >> 32) as u32);
        for worker in workers {
            worker.join().unwrap();
        }
        let last = shared.0.look().value;
        assert!(last as u32 != NO_ROW && (last >> 32) as u32 != NO_ROW);
    });
}

#[test]
fn stamps_come_with_their_row() {
    explore(|| {
        let shared = shared::<ThreeStamps>();
        let other = shared.clone();
        let writer = thread::spawn(move || publish(&other, |row| [row, NO_ROW, row]));
        for stamp in shared.0.look().value {
            see_row(&shared, stamp);
        }
        writer.join().unwrap();
    });
}

#[test]
fn stamps_change_together() {
    explore(|| {
        let cell = Arc::new(ThreeStamps::default());
        let other = cell.clone();
        let writer = thread::spawn(move || {
            for stamp in [1, 2] {
                assert!(other.replace(other.look(), [stamp; 3]));
            }
        });
        let [writer_seen, one, another] = cell.look().value;
        assert!(writer_seen == one && one == another);
        writer.join().unwrap();
    });
}

#[test]
fn one_of_two_changes_of_the_same_value_succeeds() {
    fn check<C: AtomicCell + Default + Send + 'static>(value: fn(u32) -> C::Value) {
        explore(move || {
            let cell = Arc::new(C::default());
            let before = cell.look();
            let other = cell.clone();
            let worker = thread::spawn(move || other.replace(before, value(1)));
            let first = cell.replace(before, value(2));
            let second = worker.join().unwrap();
            assert!(first != second);
            let expected = if first { value(2) } else { value(1) };
            assert_eq!(cell.look().value, expected);
        });
    }
    check::<OneWord>(u64::from);
    check::<ThreeStamps>(|stamp| [stamp; 3]);
}
