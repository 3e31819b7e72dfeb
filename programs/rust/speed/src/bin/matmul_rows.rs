//! A product of matrices that are vectors of rows, each number a sum of its own.

//@ verdict: certified

use rayon::prelude::*;

fn matrix(n: usize, seed: usize) -> Vec<Vec<f64>> {
    let row = |i: usize| (0..n).map(|j| ((i * n + j) * seed % 17) as f64).collect();
    (0..n).map(row).collect()
}

fn main() {
    let n = speed::size(20);
    let (a, b) = (matrix(n, 5), matrix(n, 11));
    let product: Vec<Vec<f64>> = (0..n)
        .into_par_iter()
        .map(|i| {
            let number = |j: usize| (0..n).map(|k| a[i][k] * b[k][j]).sum();
            (0..n).map(number).collect()
        })
        .collect();
    let trace: f64 = (0..n).map(|i| product[i][i]).sum();
    println!("the trace is {trace}");
}
