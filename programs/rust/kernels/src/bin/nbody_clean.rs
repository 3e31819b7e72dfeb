//! The repair of `nbody_racy`: each task adds up the force on its own body, so each pair is computed twice and nothing is shared.

//@ verdict: certified
//@ fin: rust/fin/nbody_clean.fin

use rayon::prelude::*;

const BODIES: usize = 40;

fn pull(of: f64, on: f64) -> f64 {
    let distance = of - on;
    distance / (distance.abs().powi(3) + 0.01)
}

fn main() {
    let mut positions: Vec<f64> = (0..BODIES).map(|i| ((i * 29) % 41) as f64).collect();
    let mut speeds = vec![0.0f64; BODIES];
    for _ in 0..3 {
        let forces: Vec<f64> = positions
            .par_iter()
            .map(|&on| positions.iter().map(|&of| pull(of, on)).sum())
            .collect();
        assert!(forces.iter().sum::<f64>().abs() < 1e-9);
        speeds
            .par_iter_mut()
            .zip(&forces)
            .for_each(|(speed, force)| *speed += 0.1 * force);
        positions
            .par_iter_mut()
            .zip(&speeds)
            .for_each(|(position, speed)| *position += 0.1 * speed);
    }
    println!("body 0 is at {:.3}", positions[0]);
}
