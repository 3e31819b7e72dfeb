//! Crates that keep data by thread, in thread-local variables or in rows that threads pick by their
//! number.

use rayon::prelude::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn thread_local_crate() {
    let sums = thread_local::ThreadLocal::<Cell<u64>>::new();
    (0..100u64).into_par_iter().for_each(|i| {
        let sum = sums.get_or_default();
        sum.set(sum.get() + i);
    });
    assert_eq!(sums.into_iter().map(|sum| sum.get()).sum::<u64>(), 4950);
}

#[test]
fn bumpalo_herd() {
    let herd = bumpalo_herd::Herd::new();
    let strings: Vec<&str> = (0..100)
        .into_par_iter()
        .map_init(|| herd.get(), |bump, i| &*bump.alloc_str(&format!("{i}")))
        .collect();
    assert_eq!(strings[7], "7");
}

#[test]
fn skip_map() {
    let map = crossbeam_skiplist::SkipMap::new();
    (0..200u64).into_par_iter().for_each(|i| {
        map.insert(i % 50, i);
    });
    (0..50u64).into_par_iter().for_each(|i| {
        map.remove(&i);
    });
    assert!(map.is_empty());
}

struct Node {
    value: u64,
    next: crossbeam_epoch::Atomic<Node>,
}

#[test]
fn treiber_stack() {
    use crossbeam_epoch::{self as epoch, Atomic, Owned};
    let head: Atomic<Node> = Atomic::null();
    let popped = AtomicUsize::new(0);
    (0..200u64).into_par_iter().for_each(|i| {
        let guard = epoch::pin();
        let mut node = Owned::new(Node {
            value: i,
            next: Atomic::null(),
        });
        loop {
            let top = head.load(Ordering::Relaxed, &guard);
            node.next.store(top, Ordering::Relaxed);
            match head.compare_exchange(top, node, Ordering::Release, Ordering::Relaxed, &guard) {
                Ok(_) => break,
                Err(e) => node = e.new,
            }
        }
        if i % 2 == 0 {
            loop {
                let top = head.load(Ordering::Acquire, &guard);
                let Some(t) = (unsafe { top.as_ref() }) else {
                    break;
                };
                let next = t.next.load(Ordering::Relaxed, &guard);
                if head
                    .compare_exchange(top, next, Ordering::Relaxed, Ordering::Relaxed, &guard)
                    .is_ok()
                {
                    popped.fetch_add(t.value as usize, Ordering::Relaxed);
                    unsafe { guard.defer_destroy(top) };
                    break;
                }
            }
        }
    });
}

#[test]
fn swapped() {
    let shared = arc_swap::ArcSwap::from_pointee(vec![0u64]);
    (0..100u64).into_par_iter().for_each(|i| {
        if i % 10 == 0 {
            shared.rcu(|old| {
                let mut new = (**old).clone();
                new.push(i);
                new
            });
        } else {
            std::hint::black_box(shared.load().len());
            std::hint::black_box(shared.load_full().iter().sum::<u64>());
        }
    });
    assert_eq!(shared.load().len(), 11);
}

#[test]
fn slab() {
    let slab = sharded_slab::Slab::new();
    (0..100u64).into_par_iter().for_each(|i| {
        let key = slab.insert(i).unwrap();
        assert_eq!(slab.get(key).map(|v| *v), Some(i));
        if i % 2 == 0 {
            slab.remove(key);
        }
    });
}

#[test]
fn slab_removed_by_others() {
    let slab = sharded_slab::Slab::new();
    let keys: Vec<usize> = (0..100u64)
        .into_par_iter()
        .map(|i| slab.insert(i).unwrap())
        .collect();
    keys.into_par_iter().for_each(|key| {
        assert!(slab.take(key).is_some());
    });
}

#[test]
fn spans() {
    let subscriber = tracing_subscriber::fmt()
        .with_writer(std::io::sink)
        .finish();
    let dispatch = tracing::Dispatch::new(subscriber);
    (0..50u64).into_par_iter().for_each(|i| {
        tracing::dispatcher::with_default(&dispatch, || {
            let span = tracing::info_span!("item", i);
            let _in = span.enter();
            tracing::info!(i, "worked");
        });
    });
}

#[test]
fn spans_of_a_parent() {
    let subscriber = tracing_subscriber::fmt()
        .with_writer(std::io::sink)
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let parent = tracing::info_span!("all");
        let _in = parent.enter();
        let dispatch = tracing::dispatcher::get_default(|d| d.clone());
        (0..50u64).into_par_iter().for_each(|i| {
            tracing::dispatcher::with_default(&dispatch, || {
                let span = tracing::info_span!(parent: &parent, "item", i);
                span.in_scope(|| tracing::info!(i, "worked"));
            });
        });
    });
}

#[test]
fn random() {
    use rand::RngExt;
    let sum: u64 = (0..100u64)
        .into_par_iter()
        .map(|_| rand::rng().random_range(0..10u64))
        .sum();
    assert!(sum < 1000);
}

#[test]
fn hash_states() {
    let lens: usize = (0..50u64)
        .into_par_iter()
        .map(|i| {
            let a: std::collections::HashMap<u64, u64> = [(i, i)].into();
            let b: ahash::AHashMap<u64, u64> = [(i, i)].into_iter().collect();
            a.len() + b.len()
        })
        .sum();
    assert_eq!(lens, 100);
}

#[test]
fn regexes() {
    let regex = regex::Regex::new(r"(\w+)-(\d+)").unwrap();
    let n = (0..100)
        .into_par_iter()
        .filter(|i| {
            let text = format!("item-{i}");
            regex.captures(&text).unwrap()[2].parse::<i32>().unwrap() == *i
        })
        .count();
    assert_eq!(n, 100);
}

#[test]
fn rows_by_thread() {
    let rows: Vec<parking_lot::Mutex<u64>> = (0..rayon::current_num_threads())
        .map(|_| Default::default())
        .collect();
    (0..100u64).into_par_iter().for_each(|i| {
        *rows[rayon::current_thread_index().unwrap()].lock() += i;
    });
    let named = std::sync::Mutex::new(std::collections::BTreeSet::new());
    (0..100u64).into_par_iter().for_each(|_| {
        named
            .lock()
            .unwrap()
            .insert(format!("{:?}", std::thread::current().id()));
    });
}
