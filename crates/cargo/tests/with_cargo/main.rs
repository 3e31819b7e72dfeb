//! The tool on small packages and on the programs of `programs/rust/`, with the real cargo and the
//! real rayon.
//!
//! This executable is also the tool. Started as `… finishline`, or by the cargo of such a call, it
//! does what `cargo-finishline` does. So the tests need no installation.

#![forbid(unsafe_code)]

mod baseline;
mod building;
mod ending;
mod faults;
mod installed;
mod interface;
mod lenders;
mod orders;
mod package;
mod programs;
mod recording;
mod running;
mod sarif;
mod settings;
mod suites;
mod testing;
mod unsafe_code;
mod unseen;

use libtest_mimic::Arguments;
use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let is_tool = env::args_os()
        .nth(1)
        .is_some_and(|first| first == "finishline");
    if is_tool || env::var_os("FINISHLINE_SESSION").is_some() {
        return finishline_cargo::main();
    }
    let mut trials = building::trials();
    trials.extend(running::trials());
    trials.extend(recording::trials());
    trials.extend(testing::trials());
    trials.extend(ending::trials());
    trials.extend(faults::trials());
    trials.extend(baseline::trials());
    trials.extend(lenders::trials());
    trials.extend(programs::trials());
    trials.extend(installed::trials());
    trials.extend(interface::trials());
    trials.extend(sarif::trials());
    trials.extend(settings::trials());
    trials.extend(suites::trials());
    trials.extend(orders::trials());
    trials.extend(unseen::trials());
    trials.extend(unsafe_code::trials());
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
