//! Queues, channels and locks that tasks share.

use rayon::prelude::*;
use std::cell::RefCell;

#[test]
fn queues() {
    let seg = crossbeam_queue::SegQueue::new();
    let array = crossbeam_queue::ArrayQueue::new(64);
    (0..200u64).into_par_iter().for_each(|i| {
        seg.push(i);
        let _ = array.push(i);
        if i % 3 == 0 {
            seg.pop();
            array.pop();
        }
    });
}

#[test]
fn channels() {
    let (tx, rx) = crossbeam_channel::unbounded();
    (0..100u64)
        .into_par_iter()
        .for_each_with(tx, |tx, i| tx.send(vec![i]).unwrap());
    let mut all: Vec<u64> = rx.into_iter().flatten().collect();
    all.sort();
    assert_eq!(all.len(), 100);
}

#[test]
fn std_channel() {
    let (tx, rx) = std::sync::mpsc::channel();
    (0..100u64)
        .into_par_iter()
        .for_each_with(tx, |tx, i| tx.send(vec![i]).unwrap());
    assert_eq!(rx.into_iter().count(), 100);
}

#[test]
fn sharded_lock() {
    let lock = crossbeam_utils::sync::ShardedLock::new(0u64);
    (0..100u64).into_par_iter().for_each(|i| {
        if i % 10 == 0 {
            *lock.write().unwrap() += i;
        } else {
            std::hint::black_box(*lock.read().unwrap());
        }
    });
}

#[test]
fn once() {
    static LIST: once_cell::sync::Lazy<Vec<u64>> = once_cell::sync::Lazy::new(|| (0..10).collect());
    let cell = once_cell::sync::OnceCell::new();
    (0..100usize).into_par_iter().for_each(|i| {
        std::hint::black_box(LIST[i % 10]);
        cell.get_or_init(|| vec![i]);
    });
}

#[test]
fn locks() {
    let mutex = parking_lot::Mutex::new(0);
    let again = parking_lot::ReentrantMutex::new(RefCell::new(0));
    let rw = parking_lot::RwLock::new(vec![0]);
    (0..100usize).into_par_iter().for_each(|i| {
        *mutex.lock() += i;
        let first = again.lock();
        let second = again.lock();
        *second.borrow_mut() += i;
        drop((second, first));
        if i % 10 == 0 {
            rw.write().push(i);
        } else {
            std::hint::black_box(rw.read().len());
        }
        let up = rw.upgradable_read();
        if up.len() < 5 {
            parking_lot::RwLockUpgradableReadGuard::upgrade(up).push(i);
        }
    });
}
