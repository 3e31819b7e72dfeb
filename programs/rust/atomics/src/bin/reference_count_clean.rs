//! The repair of `reference_count_racy`: `Arc`. The last owner's drop is ordered after all that the other owners did.
//!
//! Which of the tasks is the last depends on the schedule: it writes to the value in `drop`, which the others have read.

//@ verdict: certified-order
//@ determinacy: atomic-ordered

use std::sync::Arc;

struct Value(u64);

impl Drop for Value {
    fn drop(&mut self) {
        let place: *mut u64 = &mut self.0;
        unsafe { place.write_volatile(0) };
    }
}

fn main() {
    let left = Arc::new(Value(7));
    let right = Arc::clone(&left);
    let read = |value: Arc<Value>| value.0;
    let (left, right) = rayon::join(move || read(left), move || read(right));
    assert_eq!((left, right), (7, 7));
    println!("seen {left} and {right}");
}
