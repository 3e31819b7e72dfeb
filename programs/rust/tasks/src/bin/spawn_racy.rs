//! `rayon::spawn`, and a result that is read without waiting for it.
//!
//! Nothing joins a task of `rayon::spawn` before the program ends, so all that comes after it is parallel to the task.
//! The repair is a channel: see `spawn_clean`.

//@ verdict: race
//@ object: global
//@ fin: rust/fin/spawn_racy.fin

use std::hint::black_box;

static mut RESULT: u64 = 0;

fn main() {
    rayon::spawn(|| unsafe { RESULT = black_box(42) }); //~ race write
    let seen = unsafe { black_box(RESULT) }; //~ race read
    println!("seen {seen}");
}
