//! The repair of `install_racy`: a scope inside `install` waits for its tasks, so `install` does too.
//!
//! Parallel iterators and joins inside `install` are waited for anyway, and `pool.join` and `pool.scope` are shorter ways to
//! write the same.

//@ verdict: certified

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use std::hint::black_box;

static mut STATE: u64 = 0;

fn main() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        rayon::scope(|scope| scope.spawn(|_| unsafe { STATE = black_box(1) }));
    });
    unsafe { STATE += black_box(2) };
    pool.scope(|scope| scope.spawn(|_| unsafe { STATE += black_box(4) }));
    let sum: u64 = pool.install(|| (0..100).into_par_iter().sum());
    let (left, right) = pool.join(|| sum + 1, || sum + 2);
    assert_eq!(unsafe { STATE }, 7);
    assert_eq!((left, right), (4951, 4952));
    println!("the state is 7");
}
