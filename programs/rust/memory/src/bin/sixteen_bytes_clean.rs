//! Two 128-bit values side by side, and the two halves of a third: wide accesses that touch, but do not overlap.

//@ verdict: certified

use send_ptr::SendPtr;

fn main() {
    let mut wide = [0u128; 3];
    let place = SendPtr::new(&mut wide);
    rayon::join(
        || unsafe {
            place.at(0).write_volatile(1);
            place.at(2).cast::<u64>().write_volatile(3);
        },
        || unsafe {
            place.at(1).write_volatile(2);
            place.at(2).cast::<u64>().add(1).write_volatile(4);
        },
    );
    assert_eq!(wide, [1, 2, (4 << 64) + 3]);
    println!("{wide:?}");
}
