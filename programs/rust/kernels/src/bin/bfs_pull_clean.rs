//! The other repair of `bfs_racy`: each vertex looks at its neighbours and writes only its own distance, into a new table.

//@ verdict: certified
//@ fin: lessons/bfs_pull_clean.fin

use rayon::prelude::*;

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
    loop {
        let closer = |(vertex, &known): (usize, &u32)| {
            let nearest = neighbours(vertex)
                .into_iter()
                .map(|next| distances[next])
                .min();
            known.min(nearest.unwrap_or(u32::MAX).saturating_add(1))
        };
        let next: Vec<u32> = distances.par_iter().enumerate().map(closer).collect();
        if next == distances {
            break;
        }
        distances = next;
    }
    for (vertex, &distance) in distances.iter().enumerate() {
        assert_eq!(distance as usize, vertex / SIDE + vertex % SIDE);
    }
    println!(
        "the far corner is {} steps away",
        distances[SIDE * SIDE - 1]
    );
}
