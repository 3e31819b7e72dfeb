//! Findings of real processes: small programs are compiled with real debug information, write
//! findings with real addresses of theirs, and the report is compared with what their source says.

mod compiled;
mod frames;
mod reported;
mod suppressed;
mod tasks;
