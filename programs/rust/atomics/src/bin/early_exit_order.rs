//! Parallel iterators that stop early: `find_any`, `any`, `all`, `try_for_each` and `par_bridge`.
//!
//! Inside, rayon's tasks tell each other by atomics that an answer is found: nothing races. Which of several answers `find_any` gives,
//! and how much is still visited, depends on the schedule, so the answer holds for the observed order.

//@ verdict: certified-order
//@ determinacy: atomic-ordered

use rayon::prelude::*;

fn main() {
    let multiple = (1..1000u32).into_par_iter().find_any(|n| n % 17 == 0);
    assert_eq!(multiple.unwrap() % 17, 0);
    assert!((1..1000u32).into_par_iter().any(|n| n == 500));
    assert!(!(1..1000u32).into_par_iter().all(|n| n < 999));
    let refused = (1..1000u32)
        .into_par_iter()
        .try_for_each(|n| if n == 700 { Err(n) } else { Ok(()) });
    assert_eq!(refused, Err(700));
    let bridged: u32 = (1..=100).par_bridge().map(|n: u32| n * 2).sum();
    assert_eq!(bridged, 10100);
    println!("found {multiple:?}");
}
