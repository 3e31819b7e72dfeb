//! What checking finds in the test suites of published crates, as they are.
//!
//! Each crate is taken from the registry at a released version, copied, and built and tested twice:
//! plainly, and checked. The tests of `programs/field` use such crates from parallel tasks, and are
//! run in the same way. The table, in Markdown, tells for each suite how many tests there are, how
//! many tasks they begin, their verdicts, how many of them have races or other findings, and the
//! time of a checked run against a plain one.
//!
//! Nothing is kept but below the target directory. The JSON reports are left there to be looked at.
//!
//! `cargo bench -p finishline-cargo --bench field [-- NAME…]`

use serde_json::Value;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

type Anything<T> = Result<T, Box<dyn Error>>;

struct Suite {
    name: &'static str,
    /// None: it is part of this project.
    version: Option<&'static str>,
    /// What is built.
    cargo: &'static str,
    /// Tests that are left out, by parts of their names.
    without: &'static [&'static str],
}

const fn published(name: &'static str, version: &'static str, cargo: &'static str) -> Suite {
    Suite {
        name,
        version: Some(version),
        cargo,
        without: &[],
    }
}

const SUITES: [Suite; 23] = [
    Suite {
        name: "programs/field",
        version: None,
        cargo: "--tests",
        without: &[],
    },
    published("rayon", "1.12.0", "--lib --tests"),
    published("rayon-core", "1.13.0", "--lib --tests"),
    published("indexmap", "2.14.2", "--lib --tests --features rayon"),
    published("hashbrown", "0.17.1", "--lib --tests --features rayon"),
    published("rayon-hash", "0.5.0", "--lib --tests"),
    published("rayon-cond", "0.4.0", "--lib --tests"),
    published("dashmap", "6.2.1", "--lib --tests --features rayon"),
    published("boxcar", "0.2.14", "--lib --tests"),
    published("jwalk", "0.9.0", "--lib --tests"),
    published("crossbeam-epoch", "0.9.21", "--lib --tests"),
    published("crossbeam-skiplist", "0.1.3", "--lib --tests"),
    published("arc-swap", "1.9.3", "--lib --tests"),
    published("thread_local", "1.1.10", "--lib --tests"),
    published("sharded-slab", "0.1.7", "--lib --tests"),
    published("scc", "3.8.8", "--lib --tests"),
    published("moka", "0.12.16", "--lib --tests --features sync"),
    published("papaya", "0.2.5", "--lib --tests"),
    published("tracing-subscriber", "0.3.23", "--lib --tests"),
    published("ndarray", "0.17.2", "--lib --tests --features rayon"),
    published("im", "15.1.0", "--lib --tests --features rayon"),
    published("append-only-vec", "0.1.10", "--lib --tests"),
    published("quick_cache", "0.7.0", "--lib --tests"),
];

/// A test that takes longer is ended.
const SECONDS_FOR_A_TEST: u64 = 300;
/// So is a plain run of a whole suite.
const FOR_A_PLAIN_RUN: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let first = words.first().map_or("", String::as_str);
    // Cargo calls this program as its subcommand, compiler and runner.
    if matches!(first, "finishline" | "--run-checked")
        || env::var_os("FINISHLINE_SESSION").is_some()
    {
        return finishline_cargo::main();
    }
    let names: Vec<&str> = words.iter().map(String::as_str).collect();
    let names: Vec<&str> = names
        .into_iter()
        .filter(|name| *name != "--bench")
        .collect();
    match go_through(&names) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn go_through(names: &[&str]) -> Anything<()> {
    let is_suite = |name: &&&str| SUITES.iter().any(|suite| suite.name == **name);
    if let Some(unknown) = names.iter().find(|name| !is_suite(name)) {
        return Err(format!("there is no suite `{unknown}`").into());
    }
    let field = Path::new(env!("CARGO_TARGET_TMPDIR")).join("field");
    fs::create_dir_all(&field)?;
    let chosen = SUITES
        .iter()
        .filter(|suite| names.is_empty() || names.contains(&suite.name));
    let mut rows = Vec::new();
    for suite in chosen {
        let row = match look_at(suite, &field) {
            Ok(row) => row,
            Err(error) => format!("| {} | {error} | | | | | | |", suite.name),
        };
        eprintln!("{row}");
        rows.push(row);
    }
    println!("| suite | version | tests | tasks | verdicts | not clean | plain s | checked s |");
    println!("|---|---|---|---|---|---|---|---|");
    for row in rows {
        println!("{row}");
    }
    Ok(())
}

/// The suite's row of the table.
fn look_at(suite: &Suite, field: &Path) -> Anything<String> {
    let folder = match suite.version {
        Some(version) => fetch(suite.name, version, field)?,
        None => Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(suite.name),
    };
    let name = suite.name.replace('/', "-");
    let target = field.join("target").join(&name);
    eprintln!("{name}: building");
    let plainly = |more: &[&str]| {
        let mut cargo = Command::new("cargo");
        cargo
            .arg("test")
            .args(suite.cargo.split_whitespace())
            .args(more)
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", &target);
        cargo
    };
    let built = plainly(&["--no-run", "--quiet"]).output()?;
    if !built.status.success() {
        return Err(format!("does not build: {}", last_line(&built)).into());
    }
    let skips = suite.without.iter().flat_map(|part| ["--skip", part]);
    let skips: Vec<&str> = skips.collect();
    eprintln!("{name}: plain run");
    let begun = Instant::now();
    let mut plain = plainly(&["--no-fail-fast", "--quiet", "--"]);
    let plain = output_within(plain.args(&skips), FOR_A_PLAIN_RUN)?;
    let plain_seconds = begun.elapsed().as_secs_f64();
    let plain_failures = plain.map(|plain| failures(&String::from_utf8_lossy(&plain.stdout)));

    let report = field.join(format!("{name}.json"));
    let checked = |subcommand: &[&str]| {
        let program = env::current_exe()?;
        let mut checked = Command::new(program);
        checked
            .arg("finishline")
            .args(subcommand)
            .args(suite.cargo.split_whitespace())
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", &target);
        Anything::Ok(checked)
    };
    eprintln!("{name}: checked build");
    let built = checked(&["test", "--quiet", "--no-run"])?.output()?;
    if !built.status.success() {
        return Err(format!("is not built checked: {}", last_line(&built)).into());
    }
    eprintln!("{name}: checked run");
    let begun = Instant::now();
    checked(&["test", "--quiet", "--format", "json", "--no-fail-fast"])?
        .args(["--timeout", &SECONDS_FOR_A_TEST.to_string(), "--output"])
        .arg(&report)
        .arg("--")
        .args(&skips)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let checked_seconds = begun.elapsed().as_secs_f64();
    let findings = Findings::of(&serde_json::from_slice(&fs::read(&report)?)?);
    let plain_seconds = match plain_failures {
        Some(_) => format!("{plain_seconds:.1}"),
        None => format!("over {plain_seconds:.0}"),
    };
    let failed_plainly = plain_failures.unwrap_or(0);
    let and_plainly = match failed_plainly {
        0 => String::new(),
        count => format!(" ({count} fail in a plain run)"),
    };
    Ok(format!(
        "| {} | {} | {} | {} | {} | {}{and_plainly} | {plain_seconds} | {checked_seconds:.1} |",
        suite.name,
        suite.version.unwrap_or("–"),
        findings.tests,
        findings.tasks,
        findings.verdicts(),
        findings.not_clean(),
    ))
}

/// What a report of tests says.
#[derive(Default)]
struct Findings {
    tests: u64,
    tasks: u64,
    verdicts: BTreeMap<String, u64>,
    /// Tests with races, that failed, or whose verdict is `unknown`.
    not_clean: Vec<String>,
}

impl Findings {
    fn of(report: &Value) -> Findings {
        let mut findings = Findings::default();
        for test in report["reports"].as_array().into_iter().flatten() {
            let text = |value: &Value| value.as_str().unwrap_or("?").to_string();
            let nothing_parallel = test["because"]["kind"] == "nothing-parallel";
            let verdict = match nothing_parallel {
                true => "serial".to_string(),
                false => text(&test["verdict"]),
            };
            findings.tests += 1;
            findings.tasks += test["statistics"]["tasks"].as_u64().unwrap_or(0);
            let failed = !test["failure"].is_null();
            if failed || matches!(&verdict[..], "race" | "unknown") {
                let failed = if failed { ", failed" } else { "" };
                findings
                    .not_clean
                    .push(format!("`{}` {verdict}{failed}", text(&test["test"])));
            }
            *findings.verdicts.entry(verdict).or_default() += 1;
        }
        findings
    }

    fn verdicts(&self) -> String {
        let of_each = self.verdicts.iter();
        let of_each = of_each.map(|(verdict, count)| format!("{count} {verdict}"));
        of_each.collect::<Vec<_>>().join(", ")
    }

    fn not_clean(&self) -> String {
        match &self.not_clean[..] {
            [] => "–".to_string(),
            tests => tests.join(", "),
        }
    }
}

/// A copy of a crate's files.
fn fetch(name: &str, version: &str, field: &Path) -> Anything<PathBuf> {
    let copy = field.join(format!("{name}-{version}"));
    if copy.join("Cargo.toml").exists() {
        return Ok(copy);
    }
    eprintln!("{name}: fetching");
    let fetching = field.join("fetching");
    fs::create_dir_all(fetching.join("src"))?;
    fs::write(fetching.join("src/lib.rs"), "")?;
    fs::write(
        fetching.join("Cargo.toml"),
        format!(
            "[package]\nname = \"fetching\"\nedition = \"2024\"\n\n[dependencies]\n\
             \"{name}\" = {{ version = \"={version}\", default-features = false }}\n\n[workspace]\n"
        ),
    )?;
    let mut cargo = Command::new("cargo");
    cargo
        .args(["metadata", "--format-version", "1"])
        .current_dir(&fetching);
    let output = cargo.output()?;
    if !output.status.success() {
        return Err(format!("is not there: {}", last_line(&output)).into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(|package| package["name"] == name && package["version"] == version);
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    let source = manifest.and_then(|manifest| Path::new(manifest).parent());
    copy_folder(source.ok_or("is not among cargo's packages")?, &copy)?;
    Ok(copy)
}

fn copy_folder(from: &Path, to: &Path) -> Anything<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_folder(&entry.path(), &to)?,
            false => {
                fs::copy(entry.path(), to)?;
            }
        }
    }
    Ok(())
}

/// What a command prints. None: it takes too long, and is ended.
fn output_within(command: &mut Command, most: Duration) -> Anything<Option<Output>> {
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let id = nix::unistd::Pid::from_raw(child.id() as i32);
    let (done, ended) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let in_time = ended.recv_timeout(most).is_ok();
        if !in_time {
            // Cargo ends its tests when it is interrupted.
            let _ = nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT);
        }
        in_time
    });
    let output = child.wait_with_output()?;
    let _ = done.send(());
    let in_time = watch.join().map_err(|_| "the watch failed")?;
    Ok(in_time.then_some(output))
}

/// How many tests failed, as the test harness says.
fn failures(text: &str) -> u64 {
    let counts = text.lines().filter_map(|line| {
        let (before, _) = line.strip_prefix("test result: ")?.split_once(" failed")?;
        before.rsplit(' ').next()?.parse::<u64>().ok()
    });
    counts.sum()
}

fn last_line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let error = text.lines().find(|line| line.starts_with("error"));
    error.unwrap_or("no error is told").to_string()
}
