//! `cargo xtask demo`: from a fresh checkout to a first race report.
//!
//! Builds the commands, checks a Fin program that races, its repaired twin and a Rust program that
//! races, and explains the output. An unexpected exit status fails the demonstration.

use crate::command::CommandLine;
use crate::{Failure, Outcome, prerequisites};

/// A program, and what checking it shows.
struct Scene {
    before: &'static str,
    /// The command and its arguments.
    command: &'static str,
    arguments: &'static str,
    status: i32,
    after: &'static str,
}

const SCENES: [Scene; 4] = [
    Scene {
        before: "A program that races. Its loop starts two tasks per iteration that write B[i].",
        command: "finishline",
        arguments: "check programs/esp-bags/figures/fig2.fin 3",
        status: 66,
        after: "The report names the two accesses, their tasks, and the join that comes too late to order them.\n\
                The program ran once, depth-first, on one thread; the answer covers every schedule of the input 3.\n\
                Exit status 66 means that a race was found.",
    },
    Scene {
        before: "The same program, repaired.",
        command: "finishline",
        arguments: "check programs/esp-bags/figures/fig2_fixed.fin 3",
        status: 0,
        after: "Nothing was found, and the verdict says for what that holds: every schedule of this input.\n\
                Exit status 0.",
    },
    Scene {
        before: "The same question about every input at once, of a program whose indices are plain arithmetic. Nothing is run.",
        command: "finishline",
        arguments: "prove programs/lessons/matrix_product_clean.fin",
        status: 0,
        after: "Proved: no input has a race. Exit status 0.",
    },
    Scene {
        before: "A Rust program that uses rayon. Its parallel loop sets bits, eight of them in each byte.",
        command: "cargo-finishline",
        arguments: "finishline run --manifest-path programs/rust/Cargo.toml --bin bit_set_racy",
        status: 66,
        after: "Undisturbed, rayon makes few pieces of the loop, and all numbers of a byte are in one. The answer covers\n\
                the schedules in which idle threads divide them further.",
    },
];

pub(crate) fn run(_: &[String]) -> Outcome {
    prerequisites::ensure_build()?;
    println!("== Building finishline");
    CommandLine::new("cargo build --release --package finishline").run()?;
    for scene in &SCENES {
        let line = CommandLine::new(&format!(
            "cargo run --release --quiet --package finishline --bin {} -- {}",
            scene.command, scene.arguments
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
        "\nNext: docs/language.md to write a program, docs/guarantees.md for what a verdict means, docs/prove.md for proofs, docs/rust.md\nfor Rust."
    );
    Ok(())
}
