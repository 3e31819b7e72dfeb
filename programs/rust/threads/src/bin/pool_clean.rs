//! The repair of `pool_racy`: a total for each job.
//!
//! The pool ends its threads when it is dropped, and joins them, so that the totals may be read.

//@ verdict: observed
//@ determinacy: atomic-ordered lock-ordered

use send_ptr::SendPtr;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

type Job = Box<dyn FnOnce() + Send>;

struct Pool {
    queues: Vec<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    fn new(size: usize) -> Pool {
        let (queues, threads) = (0..size)
            .map(|_| {
                let (queue, jobs) = mpsc::channel::<Job>();
                (
                    queue,
                    std::thread::spawn(move || jobs.iter().for_each(|job| job())),
                )
            })
            .unzip();
        Pool { queues, threads }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queues.clear();
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

fn main() {
    let mut totals = vec![0u64; 2];
    let place = SendPtr::new(&mut totals);
    let pool = Pool::new(2);
    for (number, queue) in pool.queues.iter().enumerate() {
        let job = move || unsafe {
            let before = place.at(number).read_volatile();
            place.at(number).write_volatile(before + number as u64);
        };
        queue.send(Box::new(job)).unwrap();
    }
    drop(pool);
    println!("the total is {}", totals.iter().sum::<u64>());
}
