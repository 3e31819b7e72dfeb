//! The command `cargo finishline`, which is all in `finishline-cargo`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    finishline_cargo::main()
}
