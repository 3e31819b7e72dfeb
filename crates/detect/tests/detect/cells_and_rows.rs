//! Cells and rows that threads share, on real threads. `tests/orderings` tries every interleaving
//! of a few operations.

use finishline_detect::parallel::cell::{AtomicCell, OneWord, ThreeStamps};
use finishline_detect::parallel::rows::Rows;

#[test]
fn a_change_is_seen_as_a_whole_or_not_at_all() {
    const EACH: u32 = 20_000;
    let cell = ThreeStamps::default();
    // The three stamps are always equal.
    let work = |worker: u32| {
        for number in 0..EACH {
            let seen = cell.look();
            let [writer, one, other] = seen.value;
            assert!(writer == one && one == other, "{writer} {one} {other}");
            let stamp = worker << 20 | number;
            cell.replace(seen, [stamp; 3]);
        }
    };
    std::thread::scope(|scope| {
        for worker in 1..4 {
            scope.spawn(move || work(worker));
        }
    });
}

#[test]
fn what_has_changed_meanwhile_is_not_overwritten() {
    let cell = ThreeStamps::default();
    let seen = cell.look();
    assert!(cell.replace(seen, [1, 2, 3]));
    assert!(!cell.replace(seen, [4, 5, 6]));
    // The same stamps again are another version.
    let second = cell.look();
    assert_eq!(second.value, [1, 2, 3]);
    assert!(cell.replace(second, [1, 2, 3]));
    assert!(!cell.replace(second, [1, 2, 3]));
    let word = OneWord::default();
    let seen = word.look();
    assert!(word.replace(seen, 1));
    assert!(!word.replace(seen, 2));
}

#[test]
fn rows_of_several_workers_are_kept_apart() {
    const WORKERS: u32 = 4;
    const EACH: u32 = 5_000;
    let rows: Rows<2> = Rows::reserve("rows", 1 << 20).unwrap();
    let add = |worker: u32| {
        let one = |number| rows.add([worker, number]).unwrap();
        (0..EACH).map(one).collect::<Vec<u32>>()
    };
    let numbers: Vec<Vec<u32>> = std::thread::scope(|scope| {
        let workers = (0..WORKERS).map(|worker| scope.spawn(move || add(worker)));
        let workers: Vec<_> = workers.collect();
        workers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    for (worker, numbers) in numbers.iter().enumerate() {
        for (number, row) in numbers.iter().enumerate() {
            assert_eq!(rows.get(*row), [worker as u32, number as u32]);
        }
    }
    let mut all = numbers.concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..WORKERS * EACH));
}

#[test]
fn a_full_table_says_so_and_stays_as_it_is() {
    let rows: Rows<1> = Rows::reserve("rows", 3).unwrap();
    for word in 5..8 {
        rows.add([word]).unwrap();
    }
    assert!(rows.add([9]).is_err() && rows.add([9]).is_err());
    assert_eq!([0, 1, 2].map(|row| rows.get(row)), [[5], [6], [7]]);
}
