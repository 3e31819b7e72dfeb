//! The repair of `arc_drop_racy`: what must follow what all have done is done by the destructor, whichever task or thread runs it.

//@ verdict: observed
//@ determinacy: atomic-ordered

use send_ptr::SendPtr;
use std::sync::Arc;

/// Doubles its cell in the end.
struct Doubled(SendPtr<u64>);

impl Drop for Doubled {
    fn drop(&mut self) {
        let cell = self.0.at(0);
        unsafe { cell.write_volatile(2 * cell.read_volatile()) };
    }
}

fn main() {
    let mut cells = vec![0u64; 3];
    let place = SendPtr::new(&mut cells);
    let shared = Arc::new(Doubled(SendPtr::to(&mut cells[0])));
    let other = Arc::clone(&shared);
    let thread = std::thread::spawn(move || {
        unsafe { place.at(0).write_volatile(1) };
        drop(other);
    });
    drop(shared);
    thread.join().unwrap();

    let shared = Arc::new(Doubled(SendPtr::to(&mut cells[1])));
    let other = Arc::clone(&shared);
    let left = || {
        unsafe { place.at(1).write_volatile(5) };
        drop(shared);
    };
    let right = || {
        unsafe { place.at(2).write_volatile(7) };
        drop(other);
    };
    rayon::join(left, right);
    assert_eq!(cells, [2, 10, 7]);
    println!("the cells are {cells:?}");
}
