//! The repair of `growing_vector_racy`: there is room for one more before the tasks begin, so the elements stay where they are.

//@ verdict: certified

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut numbers = black_box(vec![1u64, 2, 3, 4]);
    numbers.reserve(1);
    let first = SendPtr::new(&mut numbers);
    let (_, seen) = rayon::join(
        || numbers.push(5),
        || unsafe { first.at(0).read_volatile() },
    );
    assert_eq!((numbers.len(), seen), (5, 1));
    println!("{} numbers, the first is {seen}", numbers.len());
}
