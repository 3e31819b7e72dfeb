//! `cargo xtask field [NAME]…`: the test suites of published crates, checked.
//!
//! Takes an hour or more for all of them. The table that it prints belongs in
//! `docs/field-report.md`, beside an account of every race in it.

use crate::command::CommandLine;
use crate::{Outcome, prerequisites};

pub(crate) fn run(names: &[String]) -> Outcome {
    prerequisites::ensure_build()?;
    let names = names.join(" ");
    CommandLine::new(&format!(
        "cargo bench --quiet --package finishline-cargo --bench field -- {names}"
    ))
    .run()
}
