//! The real threads of a pool.
//!
//! Tasks run one after the other, each on the thread that runs its creator. A program may ask for
//! the name of the current thread, and keep data by thread. So each logical thread of a pool has a
//! real one, the *lender*. While a task is on the logical thread, the runtime makes the thread that
//! runs the task look like the lender: thread-local variables, `thread::current()` and the like are
//! the lender's.
//!
//! The lenders of a pool begin when the first task comes to it, and wait until the pool is
//! dropped. Then its thread-local variables are dropped, by itself. A thread that the program
//! brings (`spawn_handler`, `use_current_thread`) is its own lender.

use crate::pool::lock;
use crate::runtime::Thread;
use std::mem;
use std::os::unix::thread::JoinHandleExt;
use std::sync::Mutex;
use std::thread::Builder;

/// What lends its place to a logical thread.
///
/// Not a `OnceLock`: the runtime follows what those of the program order, and this one is not the
/// program's.
#[derive(Debug, Default)]
pub(crate) struct Lender(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    /// Nobody, as long as the program has not brought the thread.
    #[default]
    Nobody,
    /// A thread that is begun with these settings when it is needed.
    Adopted(Settings),
    Known(Thread),
}

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) name: Option<String>,
    pub(crate) stack_size: Option<usize>,
}

impl Lender {
    /// A thread with these settings is begun when it is needed.
    pub(crate) fn adopt(&self, settings: Settings) {
        *lock(&self.0) = State::Adopted(settings);
    }

    /// The calling thread is the one.
    pub(crate) fn settle(&self) -> Thread {
        let thread = Thread::settle();
        *lock(&self.0) = State::Known(thread);
        thread
    }

    /// The thread, if there is one.
    pub(crate) fn thread(&self) -> Thread {
        let mut state = lock(&self.0);
        if let State::Adopted(settings) = &*state {
            *state = State::Known(begin(settings));
        }
        match *state {
            State::Known(thread) => thread,
            State::Nobody | State::Adopted(_) => Thread::NONE,
        }
    }

    /// Ends the thread, and begins none any more.
    pub(crate) fn end(&self) {
        let before = mem::replace(&mut *lock(&self.0), State::Known(Thread::NONE));
        if let State::Known(thread) = before {
            thread.end();
        }
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
