//! The repair of `barrier_racy`: the neighbour's cell is read behind the barrier.

//@ verdict: observed
//@ determinacy: atomic-ordered

use send_ptr::SendPtr;
use std::sync::Barrier;

const THREADS: usize = 3;

fn main() {
    let mut cells = vec![0u64; THREADS];
    let place = SendPtr::new(&mut cells);
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for own in 0..THREADS {
            let barrier = &barrier;
            scope.spawn(move || {
                unsafe { place.at(own).write_volatile(1) };
                barrier.wait();
                let next = (own + 1) % THREADS;
                let seen = unsafe { place.at(next).read_volatile() };
                assert_eq!(seen, 1);
            });
        }
    });
    println!("the cells are {cells:?}");
}
