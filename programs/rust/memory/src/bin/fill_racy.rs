//! A buffer cleared with `fill` while another task reads one byte of it.
//!
//! `fill` of bytes is a `memset`: one call that writes them all. The read in the other half of the join is parallel to it.
//! The repair is to clear before the join, or to clear another part.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut page = vec![0xffu8; 4096];
    let length = black_box(page.len());
    let start = SendPtr::new(&mut page);
    let ((), seen) = rayon::join(
        || unsafe { std::slice::from_raw_parts_mut(start.at(0), length).fill(0) }, //~ race write
        || unsafe { start.at(4095).read_volatile() },                              //~ race read
    );
    println!("seen {seen}");
}
