//! The repair of `stale_element_trap`: the vector has the room from the beginning, so it does not
//! move.

//@ verdict: certified

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let (seen, ()) = rayon::join(
        || {
            let mut numbers = black_box(Vec::with_capacity(8));
            numbers.extend([1u64, 2, 3, 4]);
            let first = SendPtr::new(&mut numbers);
            numbers.push(5);
            black_box(&numbers);
            unsafe { first.at(0).read_volatile() }
        },
        || (),
    );
    assert_eq!(seen, 1);
    println!("seen {seen}");
}
