//! Bodies that attract each other, in space: every task reads all of them.

//@ verdict: certified

use rayon::prelude::*;

#[derive(Clone, Copy)]
struct Body {
    place: [f64; 3],
    speed: [f64; 3],
    mass: f64,
}

fn pull(on: &Body, bodies: &[Body]) -> [f64; 3] {
    let mut force = [0.0; 3];
    for of in bodies {
        let distance: [f64; 3] = std::array::from_fn(|axis| of.place[axis] - on.place[axis]);
        let square: f64 = distance.iter().map(|part| part * part).sum::<f64>() + 0.01;
        let strength = of.mass / (square * square.sqrt());
        for (force, distance) in force.iter_mut().zip(distance) {
            *force += strength * distance;
        }
    }
    force
}

fn main() {
    let mut numbers = speed::random(1).map(|number| (number % 1000) as f64 / 100.0);
    let mut number = || numbers.next().unwrap_or_default();
    let mut bodies: Vec<Body> = (0..speed::size(40))
        .map(|_| Body {
            place: [number(), number(), number()],
            speed: [0.0; 3],
            mass: 1.0 + number(),
        })
        .collect();
    for _ in 0..3 {
        let forces: Vec<[f64; 3]> = bodies.par_iter().map(|on| pull(on, &bodies)).collect();
        bodies
            .par_iter_mut()
            .zip(&forces)
            .for_each(|(body, force)| {
                for axis in 0..3 {
                    body.speed[axis] += 0.01 * force[axis];
                    body.place[axis] += 0.01 * body.speed[axis];
                }
            });
    }
    println!("body 0 is at {:.3?}", bodies[0].place);
}
