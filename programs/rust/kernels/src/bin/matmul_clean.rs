//! The repair of `matmul_racy`: the rows of the product are parallel, the sum is a sequential loop in each.

//@ verdict: certified
//@ fin: lessons/matrix_product_clean.fin

use rayon::prelude::*;

const N: usize = 24;

fn matrix(seed: usize) -> Vec<f64> {
    (0..N * N).map(|i| (i * seed % 17) as f64).collect()
}

fn main() {
    let (a, b) = (matrix(5), matrix(11));
    let mut product = vec![0.0f64; N * N];
    product.par_chunks_mut(N).enumerate().for_each(|(i, row)| {
        for k in 0..N {
            for j in 0..N {
                row[j] += a[i * N + k] * b[k * N + j];
            }
        }
    });
    for i in 0..N {
        for j in 0..N {
            let sum: f64 = (0..N).map(|k| a[i * N + k] * b[k * N + j]).sum();
            assert_eq!(product[i * N + j], sum);
        }
    }
    println!(
        "the trace is {}",
        (0..N).map(|i| product[i * N + i]).sum::<f64>()
    );
}
