//! `cargo xtask test`: what must pass before a change lands, the quick checks first.
//!
//! It stops at the first failure with the command that repeats it. The last line is the result.

use crate::bless::BLESS;
use crate::command::CommandLine;
use crate::{Failure, Outcome, prerequisites, tidy};
use std::time::{Duration, Instant};

pub(crate) fn run(_: &[String]) -> Outcome {
    prerequisites::ensure_build()?;
    prerequisites::ensure_components()?;

    let started = Instant::now();
    let mut times = Vec::new();
    let mut step = |name: &str, repeat: &str, check: &dyn Fn() -> Outcome| {
        println!("== {name}: {repeat}");
        let begun = Instant::now();
        check().map_err(|_| Failure::Failed(format!("{name} failed; to repeat: {repeat}")))?;
        times.push(format!("{name} {}", readable(begun.elapsed())));
        println!("   passed in {}", readable(begun.elapsed()));
        Ok(())
    };
    for (name, line) in [
        ("fmt", "cargo fmt --all --check"),
        (
            "clippy",
            "cargo clippy --workspace --all-targets --quiet -- -D warnings",
        ),
        (
            "clippy of the runtime",
            "cargo clippy --package finishline-native --features runtime --quiet -- -D warnings",
        ),
        // Not a member of the workspace: it has the name of the crate that it stands for.
        (
            "drop-in",
            "cargo test --manifest-path crates/rayon-core/Cargo.toml --target-dir target/rayon-core --quiet",
        ),
    ] {
        step(name, line, &|| CommandLine::new(line).run())?;
    }
    step("tidy", "cargo xtask tidy", &|| tidy::run(&[]))?;
    let tests = "cargo test --workspace --quiet";
    // A test that blesses cannot fail.
    step("tests", tests, &|| {
        CommandLine::new(tests).env_remove(BLESS).run()
    })?;

    println!(
        "all passed in {}: {}",
        readable(started.elapsed()),
        times.join(", ")
    );
    Ok(())
}

fn readable(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}.{} s", time.subsec_millis() / 100),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_for_people() {
        assert_eq!(readable(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(readable(Duration::from_millis(59_999)), "59.9 s");
        assert_eq!(readable(Duration::from_secs(61)), "1 min 1 s");
    }
}
