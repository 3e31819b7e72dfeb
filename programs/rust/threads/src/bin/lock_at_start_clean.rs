//! The repair of `lock_at_start_racy`: the lock is kept while the data are used.

//@ verdict: observed
//@ determinacy: atomic-ordered lock-ordered

use send_ptr::SendPtr;
use std::sync::Mutex;

fn main() {
    let mut total = Box::new(0u64);
    let place = SendPtr::to(&mut *total);
    let lock = Mutex::new(());
    std::thread::scope(|scope| {
        let guard = lock.lock().unwrap();
        scope.spawn(|| {
            let _guard = lock.lock().unwrap();
            unsafe { place.at(0).write_volatile(2) };
        });
        unsafe { place.at(0).write_volatile(1) };
        drop(guard);
    });
    println!("the total is {total}");
}
