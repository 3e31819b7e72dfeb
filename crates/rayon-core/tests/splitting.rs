//! The runtime can ask parallel iterators to split as far as possible. There is one test, because
//! the crate asks once per process.

mod recorder;

use rayon_core::{current_num_threads, join_context};
use std::sync::atomic::Ordering;

#[test]
fn all_halves_have_migrated_if_iterators_shall_split_fully() {
    recorder::LOGICAL_THREADS.store(6 | 1 << 31, Ordering::Relaxed);
    assert_eq!(current_num_threads(), 6);
    let migrated = || join_context(|left| left.migrated(), |right| right.migrated());
    let nested = join_context(|_| migrated(), |_| migrated());
    assert_eq!(nested, ((true, true), (true, true)));
}
