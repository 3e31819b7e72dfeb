//! A 128-bit value written as a whole by one task, its upper half read by another.
//!
//! Two accesses conflict if they share a byte, whatever their sizes. The halves of the join are parallel, so the read may see the
//! old half or the new one. The repair is to read after the join.

//@ verdict: race
//@ object: stack

use send_ptr::SendPtr;

fn main() {
    let mut wide = 0u128;
    let place = SendPtr::to(&mut wide);
    let ((), upper) = rayon::join(
        || unsafe { place.at(0).write_volatile(7 << 64) }, //~ race write
        || unsafe { place.at(0).cast::<u64>().add(1).read_volatile() }, //~ race read
    );
    println!("the upper half is {upper}, then {}", wide >> 64);
}
