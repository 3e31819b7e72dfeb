//! Tasks and threads that drop their reference to something shared, and then do what they should have done before.
//!
//! Whoever drops the last reference of an `Arc` knows that the others have dropped theirs. But `drop` does not tell who that is, so nothing behind
//! it is ordered with what the others did. The repair is to leave it to the destructor.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::sync::Arc;

fn main() {
    let mut cells = vec![0u64; 2];
    let place = SendPtr::new(&mut cells);
    let shared = Arc::new("shared".to_owned());
    let other = Arc::clone(&shared);
    let thread = std::thread::spawn(move || {
        unsafe { place.at(0).write_volatile(1) }; //~ race write
        drop(other);
    });
    drop(shared);
    unsafe { place.at(0).write_volatile(2) }; //~ race write
    thread.join().unwrap();

    let shared = Arc::new("shared".to_owned());
    let other = Arc::clone(&shared);
    let task = |own: Arc<String>| {
        unsafe { place.at(1).write_volatile(1) }; //~ race write
        drop(own);
        unsafe { place.at(1).write_volatile(2) }; //~ race write
    };
    rayon::join(|| task(shared), || task(other));
    println!("the cells are {cells:?}");
}
