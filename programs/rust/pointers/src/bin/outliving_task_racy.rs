//! A task that outlives the borrow it works on: a lifetime is stretched to `'static` so that `rayon::spawn` takes the closure.
//!
//! `rayon::spawn` returns at once, and nothing before the end of the program waits for the task. So `fill_later` returns while
//! the task may still be writing, and the caller's write to the same slice is parallel to it.
//! The repair is a `scope`, which does not return before its tasks are done and needs no stretched lifetime.

//@ verdict: race
//@ object: heap
//@ fin: lessons/task_outlives_call_racy.fin

use std::hint::black_box;

fn fill_later(numbers: &mut [u64]) {
    let numbers: &'static mut [u64] = unsafe { &mut *(numbers as *mut [u64]) };
    rayon::spawn(move || {
        for number in numbers {
            *number = black_box(7); //~ race write
        }
    });
}

fn main() {
    let mut numbers = vec![0; 100];
    fill_later(&mut numbers);
    numbers[0] = black_box(1); //~ race write
    println!("started");
    // The block is never freed, so that this program survives its own mistake.
    std::mem::forget(numbers);
}
