//! `cargo xtask bless`: tests rewrite their expected outputs instead of comparing with them.
//!
//! All tests run, also after a failure. A test that still fails has an expectation that nobody can
//! bless, such as a `//~ race` annotation.

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
