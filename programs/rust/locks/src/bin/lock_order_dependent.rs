//! A result that depends on the order in which tasks get a lock: free of races, and still not determinate.
//!
//! Each task appends its number to a list under a mutex. No access races, but the list is in another order in another schedule.
//! The answer without `--determinacy` holds for the observed order; with it, the pushes are reported as lock-ordered.
//! The repair is `lock_order_clean`: `collect` keeps the order of the input.

//@ verdict: certified-order
//@ determinacy: lock-ordered
//@ fin: lessons/linked_list_order.fin

use rayon::prelude::*;
use std::sync::Mutex;

fn main() {
    let arrivals = Mutex::new(Vec::new());
    (0..32)
        .into_par_iter()
        .for_each(|i| arrivals.lock().unwrap().push(i));
    let mut arrivals = arrivals.into_inner().unwrap();
    println!("the first to arrive was {}", arrivals[0]);
    arrivals.sort();
    assert!(arrivals.into_iter().eq(0..32));
}
