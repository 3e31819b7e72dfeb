//! The repair of `join_recursion_racy`: `first..=middle` and `middle + 1..=last` share nothing.

//@ verdict: certified
//@ fin: rust/fin/join_recursion_clean.fin

use send_ptr::SendPtr;
use std::hint::black_box;

fn mark(cells: SendPtr<u32>, first: usize, last: usize) {
    if last - first < 4 {
        for i in first..=last {
            unsafe { *cells.at(i) = black_box(first as u32) };
        }
        return;
    }
    let middle = first + (last - first) / 2;
    rayon::join(
        || mark(cells, first, middle),
        || mark(cells, middle + 1, last),
    );
}

fn main() {
    let mut cells = vec![0; 64];
    mark(SendPtr::new(&mut cells), 0, 63);
    assert_eq!(cells[63], 60);
    println!("the last leaf starts at {}", cells[63]);
}
