//! Findings of real processes. Small programs are compiled with real debug information and write
//! findings with their real addresses. The report is compared with their source.

mod compiled;
mod frames;
mod reported;
mod suppressed;
mod tasks;
