//! A pool of threads made by hand, with a queue for each, and two jobs that add to one total.
//!
//! The jobs are in two queues, so two threads may run them at once. The repair is a total for each job, added up when all have ended.

//@ verdict: race
//@ object: heap

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
    let mut total = Box::new(0u64);
    let place = SendPtr::to(&mut *total);
    let pool = Pool::new(2);
    for (number, queue) in pool.queues.iter().enumerate() {
        let job = move || unsafe {
            let before = place.at(0).read_volatile(); //~ race read?
            place.at(0).write_volatile(before + number as u64); //~ race write
        };
        queue.send(Box::new(job)).unwrap();
    }
    drop(pool);
    println!("the total is {total}");
}
