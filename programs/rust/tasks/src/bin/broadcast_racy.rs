//! `broadcast`, which runs one closure on every thread of the pool: all of them write one cell.
//!
//! The calls on different threads are parallel to each other. The repair is a slot for each, by `context.index()`.

//@ verdict: race
//@ object: stack
//@ fin: rust/fin/broadcast_racy.fin

use rayon::ThreadPoolBuilder;
use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let pool = ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let mut leader = 0;
    let place = SendPtr::to(&mut leader);
    pool.broadcast(|context| unsafe { *place.at(0) = black_box(context.index()) }); //~ race write
    println!("the leader is {leader}");
}
