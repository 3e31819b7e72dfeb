//! A value that several tasks own by an `Arc`: the last of them to drop it frees it.
//!
//! Which one that is, the schedule decides. The others are done with the value by then: that is what the count orders.

//@ verdict: certified-order
//@ determinacy: atomic-ordered

use std::hint::black_box;
use std::sync::Arc;

fn main() {
    let value = Arc::new(vec![1u64, 2, 3, 4]);
    let owner = |value: Arc<Vec<u64>>| move || black_box(&value).iter().sum::<u64>();
    let (left, right) = rayon::join(owner(Arc::clone(&value)), owner(value));
    assert_eq!((left, right), (10, 10));
    println!("{left} and {right}");
}
