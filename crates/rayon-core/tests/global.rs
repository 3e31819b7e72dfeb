//! The global pool. One test, since there is one global pool in a process.

mod recorder;

use rayon_core::{current_num_threads, current_thread_index, join, ThreadPoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering};

static STARTED: AtomicUsize = AtomicUsize::new(0);

#[test]
fn the_global_pool_is_built_once() {
    ThreadPoolBuilder::new()
        .num_threads(3)
        .start_handler(|index| {
            // Handlers are on the global pool already.
            assert_eq!(join(|| 1, || 2), (1, 2));
            assert_eq!(current_thread_index(), Some(index));
            STARTED.fetch_add(1, Ordering::Relaxed);
        })
        .build_global()
        .unwrap();
    assert_eq!(STARTED.load(Ordering::Relaxed), 3);
    assert_eq!(current_num_threads(), 3);

    let again = ThreadPoolBuilder::new().num_threads(5).build_global();
    assert_eq!(
        again.unwrap_err().to_string(),
        "The global thread pool has already been initialized."
    );
    #[allow(deprecated)]
    let again = rayon_core::initialize(rayon_core::Configuration::new());
    assert!(again.is_err());
    assert_eq!(current_num_threads(), 3);
}
