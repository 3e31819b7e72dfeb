//! The repair of `spin_flag_racy`: `Release` and `Acquire`. A second thread yields while it waits, a third one sleeps.

//@ verdict: observed
//@ determinacy: atomic-ordered

use send_ptr::SendPtr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static READY: AtomicBool = AtomicBool::new(false);

fn main() {
    let mut value = Box::new(0u64);
    let place = SendPtr::to(&mut *value);
    let pauses: [fn(); 3] = [std::hint::spin_loop, std::thread::yield_now, || {
        std::thread::sleep(Duration::from_millis(1))
    }];
    let readers = pauses.map(|pause| {
        std::thread::spawn(move || {
            while !READY.load(Ordering::Acquire) {
                pause();
            }
            unsafe { place.at(0).read_volatile() }
        })
    });
    unsafe { place.at(0).write_volatile(42) };
    READY.store(true, Ordering::Release);
    let seen = readers.map(|reader| reader.join().unwrap());
    println!("saw {seen:?} of {value}");
}
