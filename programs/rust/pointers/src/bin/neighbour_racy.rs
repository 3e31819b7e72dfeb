//! A raw pointer into a slice, used from a parallel iterator: each iteration writes its own cell and reads its left neighbour.
//!
//! The iterations of a parallel iterator are parallel to each other wherever rayon may split it, so the write of cell `i` and
//! the read of cell `i` by iteration `i + 1` have no order: the neighbour sees the old value or the new one.
//! The repair is to read from one slice and to write to another.

//@ verdict: race
//@ object: heap
//@ fin: lessons/forall_neighbours_racy.fin

use rayon::prelude::*;
use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut heights: Vec<u64> = (0..64).collect();
    let cells = SendPtr::new(&mut heights);
    (1..64).into_par_iter().for_each(|i| {
        let left = unsafe { black_box(*cells.at(i - 1)) }; //~ race read
        unsafe { *cells.at(i) = left + 1 }; //~ race write
    });
    println!("the last height is {}", heights[63]);
}
