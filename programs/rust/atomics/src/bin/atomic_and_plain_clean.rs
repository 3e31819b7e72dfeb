//! The repair of `atomic_and_plain_racy`: the read is atomic too. Before and after the tasks, plain accesses are fine.

//@ verdict: certified-order
//@ determinacy: atomic-ordered

use std::sync::atomic::{AtomicU64, Ordering};

fn main() {
    let mut hits = AtomicU64::new(0);
    *hits.get_mut() = 10;
    let ((), seen) = rayon::join(
        || _ = hits.fetch_add(1, Ordering::Relaxed),
        || hits.load(Ordering::Relaxed),
    );
    assert!(seen == 10 || seen == 11);
    assert_eq!(*hits.get_mut(), 11);
    println!("seen {seen}, at the end 11");
}
