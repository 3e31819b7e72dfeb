//! A block that is freed twice, by two owners that know nothing of each other.
//!
//! The second free would give the allocator what it may have handed out again. The first free
//! precedes it, so this is no race.
//! The repair is one owner.

//@ verdict: trap

use std::hint::black_box;

fn main() {
    rayon::join(
        || {
            let ticket = Box::into_raw(black_box(Box::new(7u64)));
            let [first, second] = unsafe { [Box::from_raw(ticket), Box::from_raw(ticket)] };
            drop(black_box(first)); //~ after-free free
            drop(black_box(second)); //~ after-free free
        },
        || (),
    );
    println!("freed");
}
