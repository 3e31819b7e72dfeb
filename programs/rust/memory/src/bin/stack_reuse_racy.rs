//! A local array of the parent, used by two tasks as if each had its own.
//!
//! The closure borrows the array by a raw pointer, so both tasks write the parent's array, in parallel. The repair is an array in
//! each task.

//@ verdict: race
//@ object: stack
//@ fin: rust/fin/stack_reuse_racy.fin

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut digits = [0u32; 10];
    let shared = SendPtr::new(&mut digits);
    let last_digit = |number: u32| {
        unsafe { *shared.at(0) = black_box(number % 10) }; //~ race write
        unsafe { black_box(*shared.at(0)) } //~ race read?
    };
    let (left, right) = rayon::join(|| last_digit(123), || last_digit(456));
    println!("{left} {right}");
}
