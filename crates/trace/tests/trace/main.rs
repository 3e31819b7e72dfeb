//! Traces are read as they were written, and nothing else is read without an error.

mod damage;
mod processes;
mod round_trip;
mod wrong_files;
