//! An atomic counter that is incremented by a load and a store: each is atomic, the two together are not.
//!
//! In some schedules two tasks load the same number and then write one slot, which is a race. In the order that one run observes, each
//! task loads what the one before it stored, and the slots differ. So nothing more than that order can be vouched for, and
//! `--determinacy` names the load and the store whose order decides. `--orders 4` finds the race: another task then runs
//! between a load and its store. The repair is `fetch_add`, as in `index_counter_clean`.

//@ verdict: certified-order
//@ orders: race
//@ determinacy: atomic-ordered
//@ fin: rust/fin/torn_counter_order.fin

use send_ptr::SendPtr;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

const TAKERS: usize = 8;

fn main() {
    let mut found = vec![0; TAKERS];
    let slots = SendPtr::new(&mut found);
    let next = AtomicUsize::new(0);
    rayon::scope(|scope| {
        for taker in 1..=TAKERS {
            let next = &next;
            scope.spawn(move |_| {
                let slot = next.load(Ordering::Relaxed);
                next.store(slot + 1, Ordering::Relaxed);
                unsafe { *slots.at(slot) = black_box(taker) };
            });
        }
    });
    println!("{} slots taken", next.into_inner());
}
