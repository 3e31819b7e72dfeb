//! The repair of `index_twice_racy`: the library cuts the rows, so that there is no index to get wrong.

//@ verdict: certified
//@ fin: rust/fin/index_twice_clean.fin

use rayon::prelude::*;

const WIDTH: usize = 8;
const HEIGHT: usize = 4;

fn main() {
    let mut grid = vec![0usize; WIDTH * HEIGHT];
    grid.par_chunks_mut(WIDTH)
        .enumerate()
        .for_each(|(row, cells)| {
            for (column, cell) in cells.iter_mut().enumerate() {
                *cell = 10 * row + column;
            }
        });
    assert_eq!(grid[WIDTH], 10);
    println!("row 1 starts with {}", grid[WIDTH]);
}
