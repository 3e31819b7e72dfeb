//! Flags of one byte each, and two tasks that write the same one.
//!
//! The halves of the join are parallel. Each writes two of four bytes; byte 1 belongs to both. The repair is to give each half
//! its own two.

//@ verdict: race
//@ object: stack
//@ fin: rust/fin/one_byte_racy.fin

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut flags = [0u8; 4];
    let flag = SendPtr::new(&mut flags);
    rayon::join(
        || {
            unsafe { *flag.at(0) = black_box(1) };
            unsafe { *flag.at(1) = black_box(1) }; //~ race write
        },
        || {
            unsafe { *flag.at(1) = black_box(2) }; //~ race write
            unsafe { *flag.at(2) = black_box(2) };
        },
    );
    println!("{flags:?}");
}
