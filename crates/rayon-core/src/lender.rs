//! The real threads of a pool.
//!
//! Tasks run one after the other, each on the thread that runs its creator. A program may ask for
//! the name of the current thread, and keep data by thread. So each logical thread of a pool has a
//! real one, the *lender*. While a task is on the logical thread, the runtime makes the thread that
//! runs the task look like the lender: thread-local variables, `thread::current()` and the like are
//! the lender's.
//!
//! A lender begins when the first task comes to its logical thread, and waits until the pool is
//! dropped. Then its thread-local variables are dropped, by itself. A thread that the program
//! brings (`spawn_handler`, `use_current_thread`) is its own lender.

use crate::runtime::Thread;
use std::os::unix::thread::JoinHandleExt;
use std::sync::OnceLock;
use std::thread::Builder;

/// What lends its place to a logical thread.
#[derive(Debug, Default)]
pub(crate) struct Lender {
    thread: OnceLock<Thread>,
    /// What the thread is begun with, if it is not the program's.
    begins_with: OnceLock<Settings>,
}

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) name: Option<String>,
    pub(crate) stack_size: Option<usize>,
}

impl Lender {
    /// A thread with these settings is begun when it is needed.
    pub(crate) fn adopt(&self, settings: Settings) {
        let _ = self.begins_with.set(settings);
    }

    /// The calling thread is the one.
    pub(crate) fn settle(&self) -> Thread {
        *self.thread.get_or_init(Thread::settle)
    }

    /// The thread, if there is one.
    pub(crate) fn thread(&self) -> Thread {
        match self.begins_with.get() {
            Some(settings) => *self.thread.get_or_init(|| begin(settings)),
            None => self.thread.get().copied().unwrap_or(Thread::NONE),
        }
    }

    /// Ends the thread, and begins none any more.
    pub(crate) fn end(&self) {
        self.thread.get_or_init(|| Thread::NONE).end();
    }
}

fn begin(settings: &Settings) -> Thread {
    Thread::begin(&mut |thread| {
        let mut builder = Builder::new();
        if let Some(name) = &settings.name {
            builder = builder.name(name.clone());
        }
        if let Some(stack_size) = settings.stack_size {
            builder = builder.stack_size(stack_size);
        }
        match builder.spawn(move || thread.lend()) {
            Ok(begun) => {
                // The runtime joins it.
                begun.into_pthread_t();
                true
            }
            Err(_) => false,
        }
    })
}
