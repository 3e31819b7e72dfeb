//! The runtime inside a checked native program.
//!
//! The compiler's ThreadSanitizer pass makes every memory access of a program a call. This crate is
//! what is called ([`abi`]); behind it is the same detector that checks Fin
//! ([`finishline_detect::inline`]). The program runs depth-first on one thread. Its tasking
//! library, a drop-in, tells which parts are logically parallel.
//!
//! ```text
//! abi, allocator, interpose, standard
//!            └─ process ─ checker ─┬─ shadow     a cell for every byte, coarser where exact
//!                                  ├─ calls      the stack of calls, and stacks as small numbers
//!                                  ├─ structure  tasks and finishes, and where they were created
//!                                  ├─ heap       blocks, and where they were allocated
//!                                  ├─ races      conflicting accesses, by pairs of places
//!                                  ├─ synchronisation  what atomic operations order
//!                                  ├─ holding    the locks that a task holds, as a small number
//!                                  └─ detect     orders and histories
//! ```
//!
//! **Speed.** Most accesses repeat what the running step did before, and end in the first
//! instructions of the called function ([`checker::Glance`]). While nothing runs in parallel,
//! accesses are not checked. An access of a variable that nothing parallel has touched takes some
//! more instructions. Only the rest goes all the way through `checker`.
//!
//! At the end of the process one file is written ([`findings`]). A tool outside gives its addresses
//! names and makes the report. If asked to, the checker also records all that it is told, and
//! [`replay`] tells it to another checker.
//!
//! The runtime is compiled from its sources alone, with its own allocator ([`memory`]), and linked
//! as one object that shows only the ABI. So the program's allocator, its copy of std and its
//! symbols never meet the runtime's.

#![deny(unsafe_code)]

pub mod addresses;
pub mod calls;
pub mod checker;
pub mod findings;
pub mod heap;
pub mod holding;
pub mod options;
pub mod races;
pub mod replay;
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
mod recording;
#[cfg(feature = "runtime")]
#[allow(unsafe_code)]
mod standard;
#[cfg(feature = "runtime")]
#[allow(unsafe_code)]
mod threads;
