//! Neighbouring bytes of one word, written by different tasks: they share a word and a cache line, but no byte.

//@ verdict: certified
//@ fin: rust/fin/one_byte_clean.fin

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut flags = [0u8; 16];
    let flag = SendPtr::new(&mut flags);
    rayon::scope(|scope| {
        for i in 0..16 {
            scope.spawn(move |_| unsafe { *flag.at(i) = black_box(i as u8) });
        }
    });
    assert!(flags.into_iter().eq(0..16));
    println!("{flags:?}");
}
