//! A breadth-first search of a random graph by levels; the distances are atomic, and who is first takes a vertex.

//@ verdict: certified-order
//@ determinacy: atomic-ordered

use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

const DEGREE: usize = 8;

fn main() {
    let vertices = speed::size(200);
    let edges: Vec<u32> = speed::random(1)
        .map(|number| (number % vertices as u64) as u32)
        .take(vertices * DEGREE)
        .collect();
    let distances: Vec<AtomicU32> = (0..vertices).map(|_| AtomicU32::new(u32::MAX)).collect();
    distances[0].store(0, Ordering::Relaxed);
    let mut frontier = vec![0u32];
    let mut level = 0;
    while !frontier.is_empty() {
        level += 1;
        frontier = frontier
            .par_iter()
            .flat_map_iter(|&vertex| {
                let edges = &edges[vertex as usize * DEGREE..][..DEGREE];
                edges.iter().copied().filter(|&next| {
                    distances[next as usize]
                        .compare_exchange(u32::MAX, level, Ordering::Relaxed, Ordering::Relaxed)
                        .is_ok()
                })
            })
            .collect();
    }
    println!("the farthest vertex is {} steps away", level - 1);
}
