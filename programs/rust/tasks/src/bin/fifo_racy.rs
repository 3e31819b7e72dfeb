//! `scope_fifo`, taken to run its tasks in the order in which they are spawned.
//!
//! FIFO says which task an idle thread takes first, not that it waits for the one before: two threads take two tasks and run them
//! at the same time. The repair is one task for what must follow in order.

//@ verdict: race
//@ object: stack
//@ fin: rust/fin/fifo_racy.fin

use send_ptr::SendPtr;

fn main() {
    let mut cell = 0u64;
    let place = SendPtr::to(&mut cell);
    rayon::scope_fifo(|scope| {
        scope.spawn_fifo(|_| unsafe { place.at(0).write_volatile(5) }); //~ race write
        scope.spawn_fifo(|_| _ = unsafe { place.at(0).read_volatile() }); //~ race read
    });
    println!("the cell is {cell}");
}
