//! `cargo xtask demo`: from a fresh checkout to a first race report.
//!
//! Builds `finishline`, checks a program that races and its repaired twin, and explains the output.
//! An unexpected exit status fails the demonstration.

use crate::command::CommandLine;
use crate::{Failure, Outcome, prerequisites};

/// A program, and what checking it shows.
struct Scene {
    before: &'static str,
    /// Arguments of `finishline`.
    arguments: &'static str,
    status: i32,
    after: &'static str,
}

const SCENES: [Scene; 3] = [
    Scene {
        before: "A program that races. Its loop starts two tasks per iteration that write B[i].",
        arguments: "check programs/esp-bags/figures/fig2.fin 3",
        status: 66,
        after: "The report names the two accesses, their tasks, and the join that comes too late to order them.\n\
                The program ran once, depth-first, on one thread; the answer covers every schedule of the input 3.\n\
                Exit status 66 means that a race was found.",
    },
    Scene {
        before: "The same program, repaired.",
        arguments: "check programs/esp-bags/figures/fig2_fixed.fin 3",
        status: 0,
        after: "Nothing was found, and the verdict says for what that holds: every schedule of this input.\n\
                Exit status 0.",
    },
    Scene {
        before: "The same question about every input at once, of a program whose indices are plain arithmetic. Nothing is run.",
        arguments: "prove programs/lessons/matrix_product_clean.fin",
        status: 0,
        after: "Proved: no input has a race. Exit status 0.",
    },
];

pub(crate) fn run(_: &[String]) -> Outcome {
    prerequisites::ensure_build()?;
    println!("== Building finishline");
    CommandLine::new("cargo build --release --package finishline-cli").run()?;
    for scene in &SCENES {
        let line = CommandLine::new(&format!(
            "cargo run --release --quiet --package finishline-cli --bin finishline -- {}",
            scene.arguments
        ));
        println!("\n== {}\n$ {line}", scene.before);
        let status = line.status()?.code();
        if status != Some(scene.status) {
            return Err(Failure::Failed(format!(
                "expected exit status {}, got {}; to repeat: {line}",
                scene.status,
                status.map_or("a signal".to_string(), |code| code.to_string()),
            )));
        }
        println!("{}", scene.after);
    }
    println!(
        "\nNext: docs/language.md to write a program, docs/guarantees.md for what a verdict means, docs/prove.md for proofs."
    );
    Ok(())
}
