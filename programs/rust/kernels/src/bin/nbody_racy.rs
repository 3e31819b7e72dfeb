//! n-body with Newton's third law: each pair of bodies is visited once, and the force is added to both.
//!
//! That halves the work of the sequential program. In parallel over the bodies it is wrong: the task of body `i` also adds to
//! the force on body `j`, which the task of `j` and those of all the others add to.
//! The repair is to visit each pair from both sides, and to write only the force on the task's own body.

//@ verdict: race
//@ object: heap
//@ fin: rust/fin/nbody_racy.fin

use rayon::prelude::*;
use send_ptr::SendPtr;
use std::hint::black_box;

const BODIES: usize = 40;

fn pull(of: f64, on: f64) -> f64 {
    let distance = of - on;
    distance / (distance.abs().powi(3) + 0.01)
}

fn main() {
    let positions: Vec<f64> = (0..BODIES).map(|i| ((i * 29) % 41) as f64).collect();
    let mut forces = vec![0.0f64; BODIES];
    let force = SendPtr::new(&mut forces);
    let add = |body: usize, value: f64| {
        let old = unsafe { black_box(*force.at(body)) }; //~ race read
        unsafe { *force.at(body) = old + value }; //~ race write
    };
    (0..BODIES).into_par_iter().for_each(|i| {
        for j in i + 1..BODIES {
            let value = pull(positions[j], positions[i]);
            add(i, value);
            add(j, -value);
        }
    });
    println!(
        "the forces sum up to {:.3}",
        forces.iter().sum::<f64>().abs()
    );
}
