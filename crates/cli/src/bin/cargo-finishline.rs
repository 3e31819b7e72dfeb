//! The command `cargo finishline`. `finishline-cargo` has all of its code.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    finishline_cargo::main()
}
