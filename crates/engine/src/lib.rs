//! Executors, and the questions that are answered by running a program.
//!
//! - [`run`]: a run of the interpreter under any schedule.
//! - [`depth_first`]: the serial run that the bags detectors need.
//! - [`cooperative`]: the run on one worker of programs with promises.
//! - [`turns`]: a run in which every task has its turn.
//! - [`replay`]: a run that repeats another one, turn by turn.
//! - [`executor`]: compiled or interpreted, and the forms of a program that runs need.
//! - [`timing`]: one compiled run, its compilation apart, for benchmarks.
//! - [`interleavings`]: every schedule of a small program, the second oracle.
//! - [`explore`]: every order of the isolated blocks that can make a difference.
//! - [`question`]: a program with its input.
//! - [`check`]: runs a program under a detector, runs it again to name the findings, and sums up.
//! - [`picture`]: the computation graph of a run in the user's words.
//! - [`explain`]: the accesses that are still checked.
//! - [`suppressions`]: the races that the user wants left out.
//! - [`confirm`]: whether a run has the races that were found without running the program.
//! - [`record`]: a run as a trace. [`recorded`]: the answer about a trace.
//! - [`partition`]: one of several parts of an exploration or an answer about a trace.
//! - [`compare`]: the same question to every detector and to the oracle. They must agree.
//!
//! The engine knows programs and detectors, but no output format and no command line.

#![forbid(unsafe_code)]

pub mod arguments;
pub mod check;
mod commuting;
pub mod compare;
pub mod confirm;
pub mod cooperative;
mod deadlock;
pub mod depth_first;
pub mod determinacy;
pub mod executor;
pub mod explain;
pub mod explore;
mod failed;
mod focus;
pub mod interleavings;
mod names;
pub mod partition;
pub mod picture;
pub mod question;
pub mod record;
pub mod recorded;
mod remaining;
pub mod replay;
mod rerun;
pub mod run;
mod second_pass;
mod story;
pub mod suppressions;
mod teller;
pub mod timing;
pub mod turns;
mod watch;
