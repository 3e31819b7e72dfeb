//! The repair of `two_bytes_racy`: the 16-bit values are two bytes apart, also where that makes them unaligned.

//@ verdict: certified

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut bytes = [0u8; 8];
    let byte = SendPtr::new(&mut bytes);
    rayon::join(
        || unsafe { byte.at(1).cast::<u16>().write_unaligned(black_box(0x1111)) },
        || unsafe { byte.at(3).cast::<u16>().write_unaligned(black_box(0x2222)) },
    );
    assert_eq!(bytes, [0, 0x11, 0x11, 0x22, 0x22, 0, 0, 0]);
    println!("{bytes:x?}");
}
