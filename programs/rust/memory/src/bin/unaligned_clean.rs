//! The repair of `unaligned_racy`: each task writes the 7 bytes of its own record, as a word of 4, one of 2 and one byte.

//@ verdict: certified

use rayon::prelude::*;
use send_ptr::SendPtr;
use std::hint::black_box;

const RECORD: usize = 7;

fn main() {
    let mut bytes = vec![0u8; 32 * RECORD];
    let byte = SendPtr::new(&mut bytes);
    (0..32).into_par_iter().for_each(|i| {
        let first = byte.at(i * RECORD);
        unsafe {
            first.cast::<u32>().write_unaligned(black_box(i as u32));
            first
                .add(4)
                .cast::<u16>()
                .write_unaligned(black_box(0x0101));
            *first.add(6) = black_box(2);
        }
    });
    assert_eq!(bytes[31 * RECORD..], [31, 0, 0, 0, 1, 1, 2]);
    println!("{} bytes", bytes.len());
}
