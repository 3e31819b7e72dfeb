//! Stands in for rayon-core in programs that Finishline checks.
//!
//! The public interface is that of rayon-core 1.12 and 1.13, so that rayon and every program
//! compile unchanged against it. Instead of scheduling tasks on threads, it runs them depth-first
//! on the stack of the thread that calls and tells the Finishline runtime how they nest; the
//! runtime then knows which accesses could be parallel under *some* schedule of rayon's.
//!
//! | rayon | told to the runtime |
//! |---|---|
//! | `join` | a finish with two tasks |
//! | `scope`, `in_place_scope`, FIFO or not | a finish, and a task in it for each `spawn` |
//! | `broadcast` | a finish with a task per thread |
//! | `spawn`, `spawn_fifo` | a task that only the end of the program waits for |
//! | `spawn_broadcast` | such a task, or one of the scope, with a broadcast inside |
//! | `install`, `ThreadPool::…` | nothing of its own: a call |
//!
//! Where to look: `runtime` is the seam to the runtime and says what the instrumentation may see of
//! this crate; `task` makes a closure a task; `place` decides which thread a task believes to be
//! on, and `lender` has a real thread for that; `division` decides how far parallel iterators
//! divide themselves; `pool`, `threads` and `builder` are pools and what a program can configure
//! about them.
//!
//! Compiled as a single `rustc` call on this file, without build script or dependencies, in edition
//! 2021 or 2024.

// One list of kinds for drop-in, runtime and tool. This crate has no dependencies, so it names the
// two files.
#[macro_use]
#[path = "../../model/src/kinds/list.rs"]
mod list;
#[allow(dead_code, unreachable_pub)]
#[path = "../../model/src/kinds/rayon.rs"]
mod kinds;

mod awaiting;
mod broadcast;
mod builder;
mod configuration;
mod division;
mod error;
mod join;
mod lender;
mod place;
mod pool;
mod runtime;
mod scope;
mod spawn;
mod task;
mod thread_pool;
mod threads;

pub use self::broadcast::{broadcast, spawn_broadcast, BroadcastContext};
pub use self::builder::{max_num_threads, ThreadPoolBuilder};
#[allow(deprecated)]
pub use self::configuration::{initialize, Configuration};
#[doc(hidden)]
pub use self::division::divides_further;
pub use self::error::ThreadPoolBuildError;
pub use self::join::{join, join_context, FnContext};
#[doc(hidden)]
pub use self::scope::scope_in_turn;
pub use self::scope::{in_place_scope, in_place_scope_fifo, scope, scope_fifo, Scope, ScopeFifo};
pub use self::spawn::{spawn, spawn_fifo};
pub use self::thread_pool::{
    current_num_threads, current_thread_has_pending_tasks, current_thread_index, yield_local,
    yield_now, ThreadPool, Yield,
};
pub use self::threads::ThreadBuilder;
