//! One index, computed in two places that should agree: the allocation uses the width of the grid, the tasks its height.
//!
//! Each row is a task. With `HEIGHT` instead of `WIDTH` as the stride, row 0 column 4 and row 1 column 0 are the same element,
//! and two tasks write it. Nothing is out of bounds, so nothing crashes.
//! The repair is to compute the index once: let `par_chunks_mut(WIDTH)` cut the rows.

//@ verdict: race
//@ object: heap
//@ fin: rust/fin/index_twice_racy.fin

use rayon::prelude::*;
use send_ptr::SendPtr;

const WIDTH: usize = 8;
const HEIGHT: usize = 4;

fn main() {
    let mut grid = vec![0usize; WIDTH * HEIGHT];
    let cells = SendPtr::new(&mut grid);
    (0..HEIGHT).into_par_iter().for_each(|row| {
        for column in 0..WIDTH {
            unsafe { *cells.at(row * HEIGHT + column) = 10 * row + column }; //~ race write
        }
    });
    println!("row 1 starts with {}", grid[WIDTH]);
}
