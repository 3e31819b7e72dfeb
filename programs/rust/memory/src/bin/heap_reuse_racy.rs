//! A pool of buffers made by hand, which gives one buffer to two tasks: task `i` takes buffer `i % BUFFERS`.
//!
//! Whether the task that had the buffer before is done with it, nobody has asked: tasks `i` and `i + BUFFERS` are parallel, and both
//! write it. The repair is to let each task allocate, and to leave reuse to the allocator.

//@ verdict: race
//@ object: heap
//@ fin: rust/fin/heap_reuse_racy.fin

use send_ptr::SendPtr;
use std::hint::black_box;

const BUFFERS: usize = 4;

fn main() {
    let mut buffers = vec![[0usize; 8]; BUFFERS];
    let pool = SendPtr::new(&mut buffers);
    rayon::scope(|scope| {
        for i in 0..8 {
            scope.spawn(move |_| {
                let buffer = pool.at(i % BUFFERS).cast::<usize>();
                unsafe { *buffer = black_box(i) }; //~ race write
            });
        }
    });
    println!("buffer 0 was last used by {}", buffers[0][0]);
}
