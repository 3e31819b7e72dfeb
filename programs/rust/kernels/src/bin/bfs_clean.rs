//! The repair of `bfs_racy`: the distances are atomic, and a vertex belongs to whoever replaces the "unvisited" first.
//!
//! Who that is depends on the schedule, and with it the order of the next level; the distances do not.

//@ verdict: certified-order
//@ determinacy: atomic-ordered
//@ fin: lessons/bfs_push_order.fin

use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

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
    let distances: Vec<AtomicU32> = (0..SIDE * SIDE).map(|_| AtomicU32::new(u32::MAX)).collect();
    distances[0].store(0, Ordering::Relaxed);
    let mut frontier = vec![0];
    let mut level = 0;
    while !frontier.is_empty() {
        level += 1;
        frontier = frontier
            .par_iter()
            .flat_map_iter(|&vertex| {
                neighbours(vertex).into_iter().filter(|&next| {
                    let unvisited = distances[next].compare_exchange(
                        u32::MAX,
                        level,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                    unvisited.is_ok()
                })
            })
            .collect();
    }
    for (vertex, distance) in distances.into_iter().enumerate() {
        assert_eq!(
            distance.into_inner() as usize,
            vertex / SIDE + vertex % SIDE
        );
    }
    println!("the far corner is {} steps away", 2 * (SIDE - 1));
}
