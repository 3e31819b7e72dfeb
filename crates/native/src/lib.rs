//! The runtime inside a checked native program.
//!
//! The compiler's ThreadSanitizer pass makes every memory access of a program a call; here is what it calls ([`abi`]), and
//! behind it the same detector that checks Fin ([`finishline_detect::inline`]). The program runs depth-first on one thread and
//! its tasking library, a drop-in, tells which parts are logically parallel.
//!
//! ```text
//! abi, allocator, interpose
//!            └──── checker ─┬─ shadow     a cell for every byte of the address space, coarser where that is exact
//!                           ├─ calls      the stack of calls, and trees of them as small numbers
//!                           ├─ structure  tasks and finishes, where they were created
//!                           ├─ heap       blocks and where they were allocated
//!                           ├─ races      what was found, a pair of places each
//!                           ├─ synchronisation  which atomic operations are locks, releases, acquires
//!                           ├─ holding    the locks that a task holds, as a small number
//!                           └─ detect     orders and histories
//! ```
//!
//! **Speed.** Most accesses repeat what the running step did before, and end in the first instructions of what the compiler calls ([`checker::Glance`]); of
//! what the program does while nothing runs beside it not even that is done. A variable that nothing parallel has touched takes some more, and
//! only the rest goes the whole way through `checker`.
//!
//! At the end of the process one file is written ([`findings`]); a tool outside gives it names and makes the report.
//!
//! It is compiled from its sources alone, with its own allocator ([`memory`]), and linked as one object that shows nothing but
//! the ABI: the program's allocator, its copy of std and its symbols never meet ours.

#![deny(unsafe_code)]

pub mod addresses;
pub mod calls;
pub mod checker;
pub mod findings;
pub mod heap;
pub mod holding;
pub mod options;
pub mod races;
#[allow(unsafe_code)]
pub mod shadow;
pub mod structure;
pub mod synchronisation;

#[cfg(feature = "runtime")]
#[allow(unsafe_code)]
mod abi;
#[cfg(feature = "runtime")]
#[allow(unsafe_code)]
mod allocator;
#[cfg(feature = "runtime")]
#[allow(unsafe_code)]
mod baton;
#[cfg(feature = "runtime")]
mod counted;
#[cfg(feature = "runtime")]
#[allow(unsafe_code)]
mod interpose;
#[cfg(feature = "runtime")]
#[allow(unsafe_code)]
mod memory;
#[cfg(feature = "runtime")]
#[allow(unsafe_code)]
mod process;
#[cfg(feature = "runtime")]
#[allow(unsafe_code)]
mod reach;
#[cfg(feature = "runtime")]
#[allow(unsafe_code)]
mod standard;
#[cfg(feature = "runtime")]
#[allow(unsafe_code)]
mod threads;
