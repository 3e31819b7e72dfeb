//! `cargo xtask bless`: the tests rewrite their expected outputs instead of comparing with them.
//!
//! All of them run, also after a failure: a test that still fails has an expectation nobody can bless, such as a
//! `//~ race` annotation.

use crate::command::CommandLine;
use crate::{Outcome, prerequisites};

pub(crate) const BLESS: &str = "FINISHLINE_BLESS";

pub(crate) fn run(_: &[String]) -> Outcome {
    prerequisites::ensure_build()?;
    CommandLine::new("cargo test --workspace --quiet --no-fail-fast")
        .env(BLESS, 1)
        .run()?;
    println!("blessed; read `git diff` before you commit it");
    Ok(())
}
