//! `free_racy` with an allocator of the program's own: a block is freed by one half of a `join` while the other half reads it.

//@ verdict: race
//@ object: heap

use allocators::ThreadCaches;
use send_ptr::SendPtr;

#[global_allocator]
static ALLOCATOR: ThreadCaches = ThreadCaches;

fn main() {
    let mut ticket = Box::new(7u64);
    let place = SendPtr::to(&mut *ticket);
    let ((), seen) = rayon::join(
        move || drop(ticket),                      //~ race free
        || unsafe { place.at(0).read_volatile() }, //~ race read
    );
    println!("some number was seen: {}", seen == seen);
}
