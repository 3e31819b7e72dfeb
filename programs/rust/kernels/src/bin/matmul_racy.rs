//! Matrix multiplication, made parallel over the wrong loop.
//!
//! In the order k, i, j the outermost loop is the sum: all of its iterations add to the same elements of the product. Run in parallel,
//! two of them read the same partial sum and one addition is lost.
//! The repair is to make the rows of the product parallel, which are independent.

//@ verdict: race
//@ object: heap
//@ fin: lessons/matrix_product_racy.fin

use rayon::prelude::*;
use send_ptr::SendPtr;
use std::hint::black_box;

const N: usize = 24;

fn matrix(seed: usize) -> Vec<f64> {
    (0..N * N).map(|i| (i * seed % 17) as f64).collect()
}

fn main() {
    let (a, b) = (matrix(5), matrix(11));
    let mut product = vec![0.0f64; N * N];
    let c = SendPtr::new(&mut product);
    (0..N).into_par_iter().for_each(|k| {
        for i in 0..N {
            for j in 0..N {
                let term = a[i * N + k] * b[k * N + j];
                let sum = unsafe { black_box(*c.at(i * N + j)) }; //~ race read
                unsafe { *c.at(i * N + j) = sum + term }; //~ race write
            }
        }
    });
    println!(
        "the trace is {}",
        (0..N).map(|i| product[i * N + i]).sum::<f64>()
    );
}
