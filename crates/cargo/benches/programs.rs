//! The cost of checking: the programs of `programs/rust/speed` plain, checked, and under
//! ThreadSanitizer.
//!
//! All three are release builds by the same rustc. In each round they run one after the other, with
//! one thread where there is a choice. Time is processor time, and memory is the peak resident
//! size. The table shows the median of both, and the least and the greatest time of the checked
//! program. The last column counts the warnings of ThreadSanitizer with four threads. None of the
//! programs has a race.
//!
//! `cargo bench -p finishline-cargo --bench programs [-- RUNS]`

use nix::sys::resource::{UsageWho, getrusage};
use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

type Anything<T> = Result<T, Box<dyn Error>>;

/// Each program with a size for which the plain run takes some tens of milliseconds. The last one
/// uses twenty features of rayon.
const PROGRAMS: [(&str, &str); 7] = [
    ("matmul", "300"),
    ("nbody", "1500"),
    ("quicksort", "1000000"),
    ("blur", "1000"),
    ("histogram", "500000"),
    ("search", "300000"),
    ("mixed", ""),
];

const TARGET: &str = "x86_64-unknown-linux-gnu";
const RUNS: usize = 5;
/// The argument that makes this program run another one and print its cost.
const ONE: &str = "measure-one";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let first = words.first().map_or("", String::as_str);
    // Cargo calls this program as its subcommand, compiler and runner.
    if first == "finishline" || env::var_os("FINISHLINE_SESSION").is_some() {
        return finishline_cargo::main();
    }
    let done = match first {
        ONE => measure_one(&words[1..]),
        _ => measure_all(&words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The cost of a run: processor seconds, and mebibytes.
#[derive(Clone, Copy)]
struct Cost {
    seconds: f64,
    mebibytes: f64,
}

/// Runs a program. Its cost is that of all children of this process.
fn measure_one(words: &[String]) -> Anything<()> {
    let (program, arguments) = words.split_first().ok_or("which program?")?;
    let mut command = Command::new(program);
    let status = command.args(arguments).stdout(Stdio::null()).status()?;
    if !status.success() {
        return Err(format!("{program}: {status}").into());
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let times = [usage.user_time(), usage.system_time()];
    let seconds: f64 = times
        .map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
        .iter()
        .sum();
    println!("{seconds} {}", usage.max_rss() as f64 / 1024.0);
    Ok(())
}

fn cost(program: &Path, size: &str) -> Anything<Cost> {
    let mut command = Command::new(env::current_exe()?);
    command
        .arg(ONE)
        .arg(program)
        .args(size.split_whitespace())
        .env("RAYON_NUM_THREADS", "1")
        // Reports are not measured here.
        .env("TSAN_OPTIONS", "exitcode=0 log_path=/dev/null");
    let output = command.stderr(Stdio::null()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    match numbers?[..] {
        [seconds, mebibytes] => Ok(Cost { seconds, mebibytes }),
        _ => Err(format!("{} could not be measured", program.display()).into()),
    }
}

/// The number of ThreadSanitizer's warnings.
fn warnings(program: &Path, size: &str) -> Anything<usize> {
    let mut command = Command::new(program);
    command
        .args(size.split_whitespace())
        .env("RAYON_NUM_THREADS", "4")
        .env("TSAN_OPTIONS", "exitcode=0");
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    Ok(text.matches("WARNING: ThreadSanitizer").count())
}

/// How the programs are built.
struct Way {
    name: &'static str,
    command: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
}

const WAYS: [Way; 3] = [
    Way {
        name: "plain",
        command: &["build"],
        variables: &[],
    },
    Way {
        name: "checked",
        command: &["finishline", "build"],
        variables: &[],
    },
    Way {
        name: "sanitized",
        command: &["build"],
        variables: &[
            ("RUSTC_BOOTSTRAP", "1"),
            (
                "RUSTFLAGS",
                "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer",
            ),
        ],
    },
];

/// The folders with the plain programs, the checked ones, and those under ThreadSanitizer.
fn build() -> Anything<[PathBuf; 3]> {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/rust");
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("speed");
    let mut folders = Vec::new();
    for Way {
        name,
        command,
        variables,
    } in WAYS
    {
        let target = built.join(name);
        let (program, command) = match command {
            ["finishline", ..] => (env::current_exe()?, command),
            _ => (PathBuf::from("cargo"), command),
        };
        let mut build = Command::new(program);
        build
            .args(command)
            .args(["--release", "--quiet", "--target", TARGET])
            .args(["-p", "speed", "-p", "mixed"])
            .current_dir(&programs)
            .env_remove("RUSTFLAGS")
            .env("CARGO_TARGET_DIR", &target)
            .envs(variables.iter().copied());
        if !build.status()?.success() {
            return Err(format!("the {name} programs could not be built").into());
        }
        folders.push(folder_of_programs(&target)?);
    }
    folders.try_into().map_err(|_| "three builds".into())
}

/// The folder of the programs below a target directory. Checked programs are in one folder for each
/// version of the runtime. The newest folder counts.
fn folder_of_programs(target: &Path) -> Anything<PathBuf> {
    let direct = target.join(TARGET).join("release");
    let mut versions = Vec::new();
    for entry in std::fs::read_dir(target.join("finishline"))
        .into_iter()
        .flatten()
    {
        let folder = entry?.path().join(TARGET).join("release");
        if let Ok(about) = std::fs::metadata(folder.join("matmul")) {
            versions.push((about.modified()?, folder));
        }
    }
    versions.sort();
    Ok(versions.pop().map_or(direct, |(_, folder)| folder))
}

fn measure_all(words: &[String]) -> Anything<()> {
    let runs = words.iter().find_map(|word| word.parse().ok());
    let runs: usize = runs.unwrap_or(RUNS).max(1);
    let folders = build()?;
    println!(
        "{:<10} {:>8} {:>9} {:>7} {:>14} {:>9} {:>7} {:>20} {:>9}",
        "program",
        "plain s",
        "checked s",
        "ratio",
        "least to most",
        "TSan s",
        "ratio",
        "MiB, plain/ours/TSan",
        "TSan says"
    );
    let mut ratios = [Vec::new(), Vec::new()];
    for (name, size) in PROGRAMS {
        let mut costs = [const { Vec::new() }; 3];
        for _ in 0..runs {
            for (folder, costs) in folders.iter().zip(&mut costs) {
                costs.push(cost(&folder.join(name), size)?);
            }
        }
        let seconds = costs
            .each_ref()
            .map(|costs| sorted(costs, |cost| cost.seconds));
        let memory = costs
            .each_ref()
            .map(|costs| median(&sorted(costs, |cost| cost.mebibytes)));
        let [plain, checked, sanitized] = seconds.each_ref().map(|seconds| median(seconds));
        for (ratios, time) in ratios.iter_mut().zip([checked, sanitized]) {
            ratios.push(time / plain);
        }
        println!(
            "{name:<10} {plain:>8.3} {checked:>9.3} {:>7.1} {:>14} {sanitized:>9.3} {:>7.1} {:>20} {:>9}",
            checked / plain,
            format!("{:.3} to {:.3}", seconds[1][0], seconds[1][runs - 1]),
            sanitized / plain,
            format!("{:.0} / {:.0} / {:.0}", memory[0], memory[1], memory[2]),
            warnings(&folders[2].join(name), size)?,
        );
    }
    let [ours, others] = ratios.map(|ratios| geometric_mean(&ratios));
    println!("geometric mean of the ratios: {ours:.1} checked, {others:.1} under ThreadSanitizer");
    Ok(())
}

fn sorted(costs: &[Cost], what: impl Fn(&Cost) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = costs.iter().map(what).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

fn geometric_mean(values: &[f64]) -> f64 {
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (logarithms / values.len() as f64).exp()
}
