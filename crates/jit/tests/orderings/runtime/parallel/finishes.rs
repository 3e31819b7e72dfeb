//! Finishes: exactly one goes on when all tasks have ended, and it sees what they did.

use super::super::schedule::OpenFinish;
use super::finish::Finish;
use super::strand::Strand;
use crate::atomics::explore;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How the code behind the finish may begin.
#[derive(Clone, Copy)]
enum Way {
    IsQuiet,
    NeedNotWait,
    LastTask,
}

struct Run {
    finish: Finish,
    owner: Strand,
    /// What each task does.
    done: [UnsafeCell<bool>; 2],
    went_on: AtomicUsize,
}

// SAFETY: what is not atomic is of loom, which fails if two threads use it at the same time.
unsafe impl Sync for Run {}

impl Run {
    fn new() -> Arc<Run> {
        Arc::new(Run {
            finish: Finish::new(OpenFinish, None),
            owner: Strand::new(),
            done: [(); 2].map(|()| UnsafeCell::new(false)),
            went_on: AtomicUsize::new(0),
        })
    }

    fn work(&self, task: usize) {
        // SAFETY: loom fails if somebody else uses it at the same time, here and below.
        self.done[task].with_mut(|done| unsafe { *done = true });
    }

    /// The task ends. If it is the last one, the owner goes on.
    fn end(&self, ways: &[AtomicUsize; 3]) {
        if let Some(owner) = self.finish.leave() {
            assert_eq!(owner, NonNull::from(&self.owner));
            self.owner.resume();
            self.go_on(ways, Way::LastTask);
        }
    }

    /// The owner is at the end of the finish.
    fn join(&self, ways: &[AtomicUsize; 3]) {
        if self.finish.is_quiet() {
            return self.go_on(ways, Way::IsQuiet);
        }
        self.owner.suspend();
        if !self.finish.wait(NonNull::from(&self.owner)) {
            self.go_on(ways, Way::NeedNotWait);
        }
    }

    /// The code behind the finish.
    fn go_on(&self, ways: &[AtomicUsize; 3], way: Way) {
        for done in &self.done {
            // SAFETY: as above.
            assert!(done.with(|done| unsafe { *done }));
        }
        self.went_on.fetch_add(1, Ordering::Relaxed);
        ways[way as usize].fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn the_owner_sees_what_all_tasks_did() {
    static WAYS: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
    explore(|| {
        let run = Run::new();
        let tasks = [0, 1].map(|task| {
            run.finish.enter();
            let run = run.clone();
            thread::spawn(move || {
                run.work(task);
                run.end(&WAYS);
            })
        });
        run.join(&WAYS);
        for task in tasks {
            task.join().unwrap();
        }
        assert_eq!(run.went_on.load(Ordering::Relaxed), 1);
    });
    assert!(WAYS.iter().all(|way| way.load(Ordering::Relaxed) > 0));
}

#[test]
fn the_owner_waits_for_tasks_of_tasks() {
    static WAYS: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
    explore(|| {
        let run = Run::new();
        run.finish.enter();
        let outer_run = run.clone();
        let outer = thread::spawn(move || {
            outer_run.finish.enter();
            let inner_run = outer_run.clone();
            let inner = thread::spawn(move || {
                inner_run.work(1);
                inner_run.end(&WAYS);
            });
            outer_run.work(0);
            outer_run.end(&WAYS);
            inner
        });
        run.join(&WAYS);
        outer.join().unwrap().join().unwrap();
        assert_eq!(run.went_on.load(Ordering::Relaxed), 1);
    });
    assert!(WAYS.iter().all(|way| way.load(Ordering::Relaxed) > 0));
}
