//! Breadth-first search, level by level, with plain distances.
//!
//! The vertices of a level are visited in parallel. Two of them can have a neighbour in common: both find it unvisited and both write
//! its distance. They write the same number, which does not make it less of a race: the compiler may assume that it
//! does not happen. The repair is an atomic compare-and-exchange, or `bfs_pull_clean`.

//@ verdict: race
//@ object: heap
//@ fin: lessons/bfs_push_racy.fin

use rayon::prelude::*;
use send_ptr::SendPtr;

const SIDE: usize = 12;

/// The neighbours of a vertex in a square grid.
fn neighbours(vertex: usize) -> Vec<usize> {
    let (row, column) = (vertex / SIDE, vertex % SIDE);
    let mut list = Vec::new();
    if row > 0 {
        list.push(vertex - SIDE);
    }
    if row + 1 < SIDE {
        list.push(vertex + SIDE);
    }
    if column > 0 {
        list.push(vertex - 1);
    }
    if column + 1 < SIDE {
        list.push(vertex + 1);
    }
    list
}

fn main() {
    let mut distances = vec![u32::MAX; SIDE * SIDE];
    distances[0] = 0;
    let distance = SendPtr::new(&mut distances);
    let mut frontier = vec![0];
    let mut level = 0;
    while !frontier.is_empty() {
        level += 1;
        frontier = frontier
            .par_iter()
            .flat_map_iter(|&vertex| {
                neighbours(vertex).into_iter().filter(move |&next| {
                    let known = unsafe { distance.at(next).read_volatile() }; //~ race read
                    if known == u32::MAX {
                        unsafe { distance.at(next).write_volatile(level) }; //~ race write
                    }
                    known == u32::MAX
                })
            })
            .collect();
    }
    println!(
        "the far corner is {} steps away",
        distances[SIDE * SIDE - 1]
    );
}
