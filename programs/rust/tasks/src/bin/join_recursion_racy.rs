//! Divide and conquer with `join`, where the recursion hands the middle element to both halves.
//!
//! Each level splits `first..=last` into `first..=middle` and `middle..=last`. The two calls are the halves of a `join`, so
//! the leaves on both sides of a middle write it in parallel. The repair is `middle + 1..=last`.

//@ verdict: race
//@ object: heap
//@ fin: rust/fin/join_recursion_racy.fin

use send_ptr::SendPtr;
use std::hint::black_box;

fn mark(cells: SendPtr<u32>, first: usize, last: usize) {
    if last - first < 4 {
        for i in first..=last {
            unsafe { *cells.at(i) = black_box(first as u32) }; //~ race write
        }
        return;
    }
    let middle = first + (last - first) / 2;
    rayon::join(|| mark(cells, first, middle), || mark(cells, middle, last));
}

fn main() {
    let mut cells = vec![0; 64];
    mark(SendPtr::new(&mut cells), 0, 63);
    println!("the last leaf starts at {}", cells[63]);
}
