//! The front end survives any bytes. It accepts them or returns diagnostics, without a panic and in
//! a short time.
//!
//! The inputs come from fixed seeds: damaged copies of the repository's programs and of random
//! programs, and random bytes. `FINISHLINE_SEEDS` and `FINISHLINE_SEED` choose other seeds.

use finishline_generate::campaign::{setting, within};
use finishline_generate::mutate::{mutate, random_bytes};
use finishline_generate::{Settings, program, render};
use std::fs;
use std::path::Path;
use std::time::Duration;

const INPUTS: u64 = 100_000;
/// One input in this many is rendered, because rendering costs more than finding the errors.
const RENDERED: u64 = 16;
/// The processor time for one input. Small inputs take a thousandth of it, the largest a tenth.
const PATIENCE: Duration = Duration::from_secs(10);

fn collect(directory: &Path, sources: &mut Vec<Vec<u8>>) {
    let mut entries: Vec<_> = fs::read_dir(directory)
        .expect("the programs of the repository")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "fin") {
            sources.push(fs::read(path).expect("a program"));
        }
    }
}

fn input(seed: u64, sources: &[Vec<u8>]) -> Vec<u8> {
    match seed % 8 {
        0 => random_bytes(seed),
        1 | 2 => mutate(
            render(&program(seed, &Settings::default())).as_bytes(),
            seed,
        ),
        _ => mutate(&sources[seed as usize % sources.len()], seed),
    }
}

fn survives(seed: u64, bytes: &[u8]) {
    let what = format!("seed {seed}");
    within(PATIENCE, &what, || has_answer(seed, bytes));
}

fn has_answer(seed: u64, bytes: &[u8]) {
    let result = finishline_fin::compile("fuzz.fin", bytes);
    if let Err(errors) = result {
        assert!(
            !errors.errors.is_empty(),
            "seed {seed}: refused without an error"
        );
        for (_, line, column) in errors.positions() {
            assert!(line >= 1 && column >= 1);
        }
        if seed.is_multiple_of(RENDERED) {
            let text = errors.render(false);
            assert!(
                text.contains("fuzz.fin"),
                "seed {seed}: a report names its file"
            );
        }
    }
}

#[test]
fn any_bytes_are_survived() {
    let mut sources = Vec::new();
    collect(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs"),
        &mut sources,
    );
    let (first, count) = (
        setting("FINISHLINE_SEED", 1),
        setting("FINISHLINE_SEEDS", INPUTS),
    );
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let sources = &sources;
            scope.spawn(move || {
                for seed in (first + thread..first + count).step_by(threads as usize) {
                    let bytes = input(seed, sources);
                    let survived = std::panic::catch_unwind(|| survives(seed, &bytes));
                    if let Err(panic) = survived {
                        eprintln!("seed {seed}:\n{}", String::from_utf8_lossy(&bytes));
                        std::panic::resume_unwind(panic);
                    }
                }
            });
        }
    });
}

#[test]
fn extremes_are_survived() {
    let deep = |open: &str, close: &str| {
        format!(
            "fn main() {{ let x = {}1{}; }}",
            open.repeat(50_000),
            close.repeat(50_000)
        )
    };
    let inputs = [
        String::new(),
        "\u{0}".to_owned(),
        "\u{feff}fn main() {}".to_owned(),
        "fn main() { /* ".repeat(10_000),
        "{".repeat(100_000),
        "}".repeat(100_000),
        "fn ".repeat(100_000),
        deep("(", ")"),
        deep("-", ""),
        deep("f(", ")"),
        deep("a[", "]"),
        deep("true ? 1 : ", ""),
        deep("1 + ", ""),
        format!("fn main() {{ let x = a{}; }}", ".b".repeat(100_000)),
        format!(
            "fn main() {{ {} }}",
            "if true { } else ".repeat(50_000) + "{ }"
        ),
        format!("fn main() {{ {} }}", "async ".repeat(100_000)),
        format!("fn main() {{ {} }}", "undeclared = 1; ".repeat(50_000)),
        format!("fn main() {{ {} }}", "let a = 1; ".repeat(50_000)),
        format!("var x: int{};\nfn main() {{ x = 1; }}", "[]".repeat(50_000)),
        format!("fn main() {{ let a = new int[1]{}; }}", "[]".repeat(50_000)),
        format!("fn main() {{ {} }}", "@".repeat(100_000)),
        format!("fn main() {{ let {} = 1; }}", "x".repeat(1_000_000)),
        format!("fn main() {{ print(\"{}\"); }}", "é".repeat(500_000)),
    ];
    for (seed, input) in inputs.iter().enumerate() {
        let what = format!("extreme {seed}");
        within(PATIENCE, &what, || has_answer(0, input.as_bytes()));
    }
}
