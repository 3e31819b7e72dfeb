//! Two 16-bit values that overlap in one byte, because an offset was counted in bytes where it should count values.
//!
//! The halves of the join are parallel and write bytes 0 to 1 and 1 to 2. The repair is offset 2.

//@ verdict: race
//@ object: stack

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut bytes = [0u8; 8];
    let byte = SendPtr::new(&mut bytes);
    rayon::join(
        || unsafe { byte.at(0).cast::<u16>().write_unaligned(black_box(0x1111)) }, //~ race write
        || unsafe { byte.at(1).cast::<u16>().write_unaligned(black_box(0x2222)) }, //~ race write
    );
    println!("{bytes:x?}");
}
