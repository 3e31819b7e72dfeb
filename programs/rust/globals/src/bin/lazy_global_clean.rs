//! The repair of `lazy_global_racy`: a `OnceLock`. Whichever task comes first initialises; what it wrote is visible to all that
//! find it done.
//!
//! Which task that is depends on the schedule, so the answer holds for the observed order, and `--determinacy` names it.

//@ verdict: certified-order
//@ determinacy: atomic-ordered
//@ fin: lessons/lazy_initialisation_order.fin

use std::sync::OnceLock;

static TABLE: OnceLock<Vec<u64>> = OnceLock::new();

fn square(n: usize) -> u64 {
    TABLE.get_or_init(|| (0..8).map(|i| i * i).collect())[n]
}

fn main() {
    let (nine, sixteen) = rayon::join(|| square(3), || square(4));
    assert_eq!((nine, sixteen), (9, 16));
    println!("{nine} {sixteen}");
}
