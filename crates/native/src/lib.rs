//! The runtime inside a checked native program.
//!
//! The compiler's ThreadSanitizer pass makes every memory access of a program a call. This crate is
//! what is called ([`abi`]); behind it is the same detector that checks Fin
//! ([`finishline_detect::inline`]). The program runs depth-first on one thread. Its tasking
//! library, a drop-in, tells which parts are logically parallel.
//!
//! **Rooms.** Each uses those above it, and none of those below (`xtask/src/tidy/rooms.rs` checks
//! that):
//!
//! ```text
//! facts      what is kept of a run: a cell for every byte, calls, tasks, blocks, locks, pairs
//! checker    what the program tells, told to the detector, and conflicts named. Its findings as a
//!            file, its calls as a recording, and the same checker outside a process
//! ── below this line: in a process only ──
//! process    whose the checker is, its life and its files, what only the process knows
//! turns      who runs next
//! abi        what every instrumented program calls: accesses, atomic operations, allocation
//! dialects   what libraries mean: rust_std, pthreads, rayon. None uses another
//! start      puts these together
//! ```
//!
//! **Speed.** Most accesses repeat what the running step did before, and end in the first
//! instructions of the called function ([`checker::Glance`]). While nothing runs in parallel,
//! accesses are not checked. An access of a variable that nothing parallel has touched takes some
//! more instructions. Only the rest goes all the way through `checker`.
//!
//! At the end of the process one file is written ([`checker::findings`]). A tool outside gives its
//! addresses names and makes the report. If asked to, the checker also records all that it is told,
//! and [`checker::replay`] tells it to another checker.
//!
//! The runtime is compiled from its sources alone, with its own allocator (`process/memory.rs`),
//! and linked as one object that shows only the ABI. So the program's allocator, its copy of std
//! and its symbols never meet the runtime's.

#![deny(unsafe_code)]

pub mod checker;
pub mod facts;

#[cfg(feature = "runtime")]
#[allow(unsafe_code)]
mod abi;
#[cfg(feature = "runtime")]
mod dialects;
#[cfg(feature = "runtime")]
mod process;
#[cfg(feature = "runtime")]
#[allow(unsafe_code)]
mod start;
#[cfg(feature = "runtime")]
mod turns;
