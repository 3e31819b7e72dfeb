//! The repair of `lock_order_dependent`: each task returns its part, and `collect` puts the parts together in the order of the input.

//@ verdict: certified

use rayon::prelude::*;

fn main() {
    let arrivals: Vec<i32> = (0..32).into_par_iter().filter(|i| i % 3 == 0).collect();
    assert_eq!(arrivals, (0..32).filter(|i| i % 3 == 0).collect::<Vec<_>>());
    println!("the first to arrive was {}", arrivals[0]);
}
