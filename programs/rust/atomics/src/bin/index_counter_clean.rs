//! The repair of `index_counter_racy`: one slot for every number that the counter deals out.
//!
//! No two tasks share a slot in any schedule. Who gets which slot does depend on the schedule, and `--determinacy` says so.

//@ verdict: certified-order
//@ determinacy: atomic-ordered
//@ fin: lessons/isolated_ticket_order.fin

use send_ptr::SendPtr;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

const TAKERS: usize = 24;

fn main() {
    let mut found = vec![0; TAKERS];
    let slots = SendPtr::new(&mut found);
    let next = AtomicUsize::new(0);
    rayon::scope(|scope| {
        for taker in 1..=TAKERS {
            let next = &next;
            scope.spawn(move |_| {
                let slot = next.fetch_add(1, Ordering::Relaxed);
                unsafe { *slots.at(slot) = black_box(taker) };
            });
        }
    });
    found.sort();
    assert!(found.into_iter().eq(1..=TAKERS));
    println!("every taker has a slot");
}
