//! A product of matrices of floating-point numbers, its rows in parallel.

//@ verdict: certified

use rayon::prelude::*;

fn matrix(n: usize, seed: usize) -> Vec<f64> {
    (0..n * n).map(|i| (i * seed % 17) as f64).collect()
}

fn main() {
    let n = speed::size(20);
    let (a, b) = (matrix(n, 5), matrix(n, 11));
    let mut product = vec![0.0f64; n * n];
    product.par_chunks_mut(n).enumerate().for_each(|(i, row)| {
        for k in 0..n {
            for j in 0..n {
                row[j] += a[i * n + k] * b[k * n + j];
            }
        }
    });
    let trace: f64 = (0..n).map(|i| product[i * n + i]).sum();
    println!("the trace is {trace}");
}
