//! The product of two square matrices by the plain triple loop; see `programs/esp-bags/matmul.fin`.

use crate::Size;
use crate::random::Random;

fn order(size: Size) -> usize {
    match size {
        Size::Small => 8,
        Size::A => 1000,
        Size::B => 1500,
        Size::C => 2000,
    }
}

pub fn run(size: Size) -> String {
    let n = order(size);
    let mut random = Random::from_state(1);
    let a = small_numbers(&mut random, n);
    let b = small_numbers(&mut random, n);

    let c = product(&a, &b, n);

    let r: Vec<f64> = (0..n).map(|_| random.bits(16) as f64).collect();
    let expected = times(&a, &times(&b, &r));
    assert_eq!(times(&c, &r), expected, "Freivalds' check");
    let trace: f64 = c.iter().step_by(n + 1).sum();
    format!("matmul {n} trace {trace:?}")
}

/// The product of two matrices, stored by rows.
fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let mut c = vec![0.0; n * n];
    for (row_of_a, row_of_c) in a.chunks_exact(n).zip(c.chunks_exact_mut(n)) {
        for (j, entry) in row_of_c.iter_mut().enumerate() {
            let mut sum = 0.0;
            for (a, row_of_b) in row_of_a.iter().zip(b.chunks_exact(n)) {
                sum += a * row_of_b[j];
            }
            *entry = sum;
        }
    }
    c
}

/// A matrix of whole numbers from -8 to 7.
fn small_numbers(random: &mut Random, n: usize) -> Vec<f64> {
    (0..n * n).map(|_| random.bits(4) as f64 - 8.0).collect()
}

fn times(matrix: &[f64], vector: &[f64]) -> Vec<f64> {
    let rows = matrix.chunks_exact(vector.len());
    rows.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
        .collect()
}
