//! The repair of `broadcast_racy`: each call writes its own slot, and `broadcast` collects what the calls return.

//@ verdict: certified
//@ fin: rust/fin/broadcast_clean.fin

use rayon::ThreadPoolBuilder;
use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let pool = ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let threads = pool.current_num_threads();
    let mut indices = vec![0; threads];
    let slots = SendPtr::new(&mut indices);
    let returned = pool.broadcast(|context| {
        unsafe { *slots.at(context.index()) = black_box(context.index()) };
        context.index()
    });
    assert!(indices.into_iter().eq(0..threads));
    assert!(returned.into_iter().eq(0..threads));
    println!("every thread has its slot");
}
