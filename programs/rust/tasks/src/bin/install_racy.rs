//! `ThreadPool::install`, taken to wait for all that is started inside it.
//!
//! `install` returns when its closure does. A task that the closure has spawned with `rayon::spawn` belongs to nobody but the pool,
//! and goes on: the read after `install` is parallel to its write. The repair is a scope inside `install`.

//@ verdict: race
//@ object: global

use rayon::ThreadPoolBuilder;
use std::hint::black_box;

static mut STATE: u64 = 0;

fn main() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        rayon::spawn(|| unsafe { STATE = black_box(1) }); //~ race write
    });
    let state = unsafe { black_box(STATE) }; //~ race read
    println!("the state is {state}");
}
