//! `cargo xtask bench [NAME]…`: the measurements, one row of [`BENCHES`] each.

use crate::command::CommandLine;
use crate::{Failure, Outcome, prerequisites};

pub(crate) struct Bench {
    pub(crate) name: &'static str,
    command: &'static str,
    pub(crate) shows: &'static str,
}

pub(crate) const BENCHES: [Bench; 8] = [
    Bench {
        name: "accesses",
        command: "cargo bench --package finishline-detect --bench accesses",
        shows: "nanoseconds per checked access, bytes per finished task",
    },
    Bench {
        name: "ranges",
        command: "cargo bench --package finishline-detect --bench ranges",
        shows: "picoseconds per location of a range check, and how much faster it is than a check for each",
    },
    Bench {
        name: "tasks",
        command: "cargo bench --package finishline-engine --bench tasks",
        shows: "nanoseconds for a task of Fin, and for rayon's join, on one thread and on two",
    },
    Bench {
        name: "kernels",
        command: "cargo bench --package finishline-engine --bench kernels",
        shows: "what two threads gain over one, in Fin and in Rust with rayon",
    },
    Bench {
        name: "parse",
        command: "cargo bench --package finishline-fin --bench front_end",
        shows: "time from source text to IR",
    },
    Bench {
        name: "prove",
        command: "cargo run --release --quiet --package finishline --bin finishline -- bench prove",
        shows: "time to prove the programs and parallel blocks of the polyhedral paper's Table 1",
    },
    Bench {
        name: "joins",
        command: "cargo bench --package finishline-native --bench tasks",
        shows: "nanoseconds for a join of a Rust program in the checker alone, and bytes per finished task",
    },
    Bench {
        name: "rust",
        command: "cargo bench --package finishline-cargo --bench programs",
        shows: "twelve Rust programs with rayon plain, with empty calls, checked, and under ThreadSanitizer",
    },
];

pub(crate) fn run(names: &[String]) -> Outcome {
    for name in names {
        if !BENCHES.iter().any(|bench| bench.name == name) {
            return Err(Failure::Usage(format!("there is no benchmark `{name}`")));
        }
    }
    prerequisites::ensure_build()?;
    for bench in &BENCHES {
        if names.is_empty() || names.iter().any(|name| name == bench.name) {
            println!("== {}: {}", bench.name, bench.shows);
            CommandLine::new(bench.command).run()?;
        }
    }
    Ok(())
}
