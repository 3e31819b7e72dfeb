//! A global that the first user initialises, guarded by a plain flag.
//!
//! Two parallel tasks can both find the flag unset, or one can find it set before the table is: the flag and the table are each
//! written by one task and read by the other with no order between them.
//! The repair is `OnceLock`, whose `get_or_init` lets one task initialise and the others wait for it.

//@ verdict: race
//@ object: global
//@ fin: lessons/lazy_initialisation_racy.fin

use std::hint::black_box;

static mut READY: bool = false;
static mut TABLE: [u64; 8] = [0; 8];

fn square(n: usize) -> u64 {
    let ready = unsafe { black_box(READY) }; //~ race read
    if !ready {
        for i in 0..8 {
            unsafe { TABLE[i] = black_box((i * i) as u64) }; //~ race write
        }
        unsafe { READY = true }; //~ race write
    }
    unsafe { TABLE[n] } //~ race read
}

fn main() {
    let (nine, sixteen) = rayon::join(|| square(3), || square(4));
    println!("{nine} {sixteen}");
}
