//! The repair of `stack_reuse_racy`: each task has an array of its own on its stack.
//!
//! Tasks that follow each other on one thread have their arrays at the same addresses. The memory is used again, but nothing
//! is shared.

//@ verdict: certified
//@ fin: rust/fin/stack_reuse_clean.fin

use std::hint::black_box;

fn last_digit(number: u32) -> u32 {
    let mut digits = black_box([0u32; 10]);
    digits[0] = number % 10;
    black_box(&digits)[0]
}

fn main() {
    let (left, right) = rayon::join(|| last_digit(123), || last_digit(456));
    assert_eq!((left, right), (3, 6));
    rayon::scope(|scope| {
        for i in 0..16 {
            scope.spawn(move |_| assert_eq!(last_digit(100 + i), i % 10));
        }
    });
    println!("{left} {right}");
}
