//! The programs of `programs/rust/`. The tool must find exactly what each of them claims.
//!
//! All are built once in debug and once in release. Each build is run by `cargo finishline run`
//! twice, with the left and with the right half of each join first. All four runs must agree with
//! the claims, and the trace that each of them records must give the same report. Where the answer
//! rests on an order, other orders must show what is claimed for them. The claim of the Fin twin
//! must agree too, which the suite of Fin programs checks.

mod claims;
mod comparison;
mod expected;

use crate::package::{self, Called, shared};
use crate::recording;
use claims::{Claims, Marks};
use finishline_cargo::recorded::AskedProcess;
use libtest_mimic::{Failed, Trial};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Programs about which the tool is still wrong, and why. A right answer is a failure too: the
/// entry must be removed.
const KNOWN_GAPS: &[(&str, &str)] = &[];

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs");

/// In how many orders of their tasks programs are run whose answer rests on one.
const OTHER_ORDERS: &str = "8";

/// The package whose tests are the programs.
const TESTED: &str = "tested";

/// Calls `cargo finishline` with arguments, in the workspace of the programs or in a copy of it.
pub(crate) type Tool<'a> = &'a dyn Fn(&[&str]) -> Called;

pub(crate) fn trials() -> Vec<Trial> {
    let root = workspace();
    let packages = names_in(&root);
    let programs = packages.iter().flat_map(|package| Program::all_of(package));
    let mut trials: Vec<Trial> = programs.map(trial).collect();
    trials.push(Trial::test(format!("programs::{TESTED}"), || {
        Ok(check_tests(&finishline)?)
    }));
    trials
}

pub(crate) fn workspace() -> PathBuf {
    Path::new(PROGRAMS).join("rust")
}

/// Checks all tests, and one program with and one without a race of each package.
pub(crate) fn check_some(tool: Tool) -> Result<(), String> {
    for package in names_in(&workspace()) {
        let mut programs = Program::all_of(&package);
        programs.retain(|program| gap(program).is_none());
        let (racy, other): (Vec<_>, Vec<_>) = programs.into_iter().partition(|program| {
            program
                .claims()
                .is_ok_and(|claims| claims.verdict == "race")
        });
        for program in racy.first().into_iter().chain(other.first()) {
            program.check_once(tool, None, "left")?;
        }
    }
    check_tests(tool)
}

/// The names in a folder, in order; none if there is no folder.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn trial(program: Program) -> Trial {
    Trial::test(format!("programs::{}", program.name), move || {
        match (program.check(), gap(&program)) {
            (Ok(()), Some(why)) => Err(Failed::from(format!(
                "no gap any more, strike it off: {why}"
            ))),
            (Err(_), Some(_)) | (Ok(()), None) => Ok(()),
            (Err(wrong), None) => Err(wrong.into()),
        }
    })
}

fn gap(program: &Program) -> Option<&'static str> {
    let mut gaps = KNOWN_GAPS.iter();
    gaps.find_map(|(name, why)| (*name == program.name).then_some(*why))
}

/// One binary, and the path of its file in the workspace.
struct Program {
    name: String,
    source: String,
}

impl Program {
    /// The programs of a package.
    fn all_of(package: &str) -> Vec<Program> {
        let folder = workspace().join(package).join("src");
        let mut programs = Vec::new();
        if folder.join("main.rs").exists() {
            programs.push(Program {
                name: package.to_owned(),
                source: format!("{package}/src/main.rs"),
            });
        }
        for file in names_in(&folder.join("bin")) {
            if let Some(name) = file.strip_suffix(".rs") {
                programs.push(Program {
                    name: name.to_owned(),
                    source: format!("{package}/src/bin/{file}"),
                });
            }
        }
        programs
    }

    fn text(&self) -> Result<String, String> {
        read(&workspace().join(&self.source))
    }

    fn claims(&self) -> Result<Claims, String> {
        Claims::of_program(&self.text()?)
    }

    /// Checks the program in all ways to build and run it.
    fn check(&self) -> Result<(), String> {
        let claims = self.claims()?;
        agrees_with_twin(&claims)?;
        build()?;
        for profile in PROFILES {
            for first in ["left", "right"] {
                self.check_once(&finishline, profile, first)?;
            }
        }
        if matches!(&claims.verdict[..], "certified-order" | "observed") {
            self.check_other_orders(&claims)?;
        }
        let mut marks = Marks::default();
        marks.add(&self.source, &self.text()?)?;
        let has_findings = claims.verdict == "race" || !marks.after_free.is_empty();
        if has_findings || claims.class.as_deref() == Some("unseen") {
            let (_, report) = self.run(&finishline, None, &["--format=text"])?;
            let file = workspace().join(&self.source);
            expected::compare(&report, &file.with_extension("stderr"), &self.name)?;
        }
        Ok(())
    }

    /// Checks one run against the claims of the program.
    fn check_once(&self, tool: Tool, profile: Option<&str>, first: &str) -> Result<(), String> {
        let claims = self.claims()?;
        let mut marks = Marks::default();
        marks.add(&self.source, &self.text()?)?;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let trace = folder.path().join("trace");
        let file = trace.to_str().ok_or("a folder without a name")?;
        let options = ["--determinacy", "--first", first, "--format=json"];
        let recorded = [&options, &["--record", file][..]].concat();
        let (status, report) = self.run(tool, profile, &recorded)?;
        let mut complaints = match serde_json::from_str(&report) {
            Ok(report) => comparison::complaints(&claims, &marks, &report),
            Err(error) => vec![format!("no report: {error}")],
        };
        let asked = AskedProcess {
            determinacy: true,
            ..recording::USUAL
        };
        if recording::analyzed(&trace, &asked) != (status, report) {
            complaints.push("the recorded run gives another report".to_owned());
        }
        let expected = comparison::exit_status(&claims);
        if status != expected {
            complaints.push(format!("exit status {status}, not {expected}"));
        }
        if complaints.is_empty() {
            return Ok(());
        }
        Err(format!(
            "in {}, to be seen by `cargo finishline run --bin {}{} {}`:\n    {}",
            self.source,
            self.name,
            profile
                .map(|option| format!(" {option}"))
                .unwrap_or_default(),
            options[..3].join(" "),
            complaints.join("\n    ")
        ))
    }

    /// Checks what runs in other orders of the tasks show together.
    fn check_other_orders(&self, claims: &Claims) -> Result<(), String> {
        let options = ["--orders", OTHER_ORDERS, "--format=json"];
        let (_, report) = self.run(&finishline, None, &options)?;
        let report: Value = serde_json::from_str(&report).map_err(|error| error.to_string())?;
        let expected = claims.orders.as_ref().unwrap_or(&claims.verdict);
        match &report["verdict"] == expected {
            true => Ok(()),
            false => Err(format!(
                "in {}, to be seen by `cargo finishline run --bin {} {}`:\n    \
                 verdict {}, not {expected}",
                self.source,
                self.name,
                options[..2].join(" "),
                report["verdict"]
            )),
        }
    }

    /// The exit status and the report.
    fn run(
        &self,
        tool: Tool,
        profile: Option<&str>,
        options: &[&str],
    ) -> Result<(i32, String), String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let report = folder.path().join("report");
        let output = report.to_str().ok_or("a folder without a name")?;
        let mut arguments = vec!["run", "--quiet", "--bin", &self.name, "--output", output];
        arguments.extend(profile);
        arguments.extend(options);
        let called = tool(&arguments);
        let report = fs::read_to_string(&report);
        let report = report.map_err(|error| format!("no report: {error}\n{}", called.stderr))?;
        Ok((called.status, report))
    }
}

fn agrees_with_twin(claims: &Claims) -> Result<(), String> {
    let Some(twin) = &claims.fin else {
        return Ok(());
    };
    let source = read(&Path::new(PROGRAMS).join(twin))?;
    let mut lines = source.lines();
    let verdict = lines.find_map(|line| line.strip_prefix("//@ verdict: "));
    match verdict {
        Some(verdict) if verdict.trim() == claims.verdict => Ok(()),
        // Isolated blocks of Fin that only update a location commute. Of locks and atomics the
        // order counts.
        Some("certified") if claims.verdict == "certified-order" => Ok(()),
        _ => Err(format!("{twin} claims {verdict:?}, not {}", claims.verdict)),
    }
}

/// Checks all tests of the package with tests against the claims above each.
fn check_tests(tool: Tool) -> Result<(), String> {
    let root = workspace();
    let mut marks = Marks::default();
    let mut tests = Vec::new();
    for folder in ["src", "tests"].map(|folder| format!("{TESTED}/{folder}")) {
        for file in names_in(&root.join(&folder)) {
            let file = format!("{folder}/{file}");
            let source = read(&root.join(&file))?;
            marks.add(&file, &source)?;
            tests.extend(Claims::of_tests(&file, &source)?);
        }
    }
    let called = tool(&[
        "test",
        "-p",
        TESTED,
        "--no-fail-fast",
        "--determinacy",
        "--format=json",
        "--",
        "--include-ignored",
    ]);
    let failed = |error| format!("no report: {error}\n{}", called.stderr);
    let suite: Value = serde_json::from_str(&called.stdout).map_err(failed)?;
    let mut complaints = Vec::new();
    for tested in &tests {
        let (name, marks) = (&tested.name, marks.of_test(tested, &tests));
        let mut reports = suite["reports"].as_array().into_iter().flatten();
        let report = reports.find(|report| {
            let test = report["test"].as_str().unwrap_or_default();
            test.rsplit("::").next() == Some(name.as_str())
        });
        match report {
            Some(report) => complaints.extend(
                comparison::complaints(&tested.claims, &marks, report)
                    .into_iter()
                    .map(|complaint| format!("{name}: {complaint}")),
            ),
            None => complaints.push(format!("{name}: no report")),
        }
    }
    match suite["reports"].as_array().map(Vec::len) {
        Some(number) if number == tests.len() => {}
        number => complaints.push(format!("{number:?} reports of {} tests", tests.len())),
    }
    if called.status != 66 {
        complaints.push(format!("exit status {}", called.status));
    }
    match complaints.is_empty() {
        true => Ok(()),
        false => Err(complaints.join("\n")),
    }
}

/// The options of cargo for a debug and for a release build.
const PROFILES: [Option<&str>; 2] = [None, Some("--release")];

/// Builds all programs, once.
fn build() -> Result<(), String> {
    static BUILT: OnceLock<Result<(), String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        for profile in PROFILES {
            let arguments: Vec<&str> = ["build", "--bins"].into_iter().chain(profile).collect();
            let called = finishline(&arguments);
            if called.status != 0 {
                return Err(called.stderr);
            }
        }
        remove_earlier_builds()
    });
    built.clone()
}

/// Removes earlier builds. Each version of the runtime has its own folder, and all programs
/// together are large.
fn remove_earlier_builds() -> Result<(), String> {
    let program = Program {
        name: "serial".to_owned(),
        source: String::new(),
    };
    let (_, report) = program.run(&finishline, None, &["--format=json"])?;
    let report: Value = serde_json::from_str(&report).map_err(|error| error.to_string())?;
    let executable = Path::new(report["arguments"][0].as_str().unwrap_or_default());
    let builds = shared("programs").join("finishline");
    for build in names_in(&builds).into_iter().map(|name| builds.join(name)) {
        if !executable.starts_with(&build) {
            fs::remove_dir_all(&build).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// `cargo finishline` in the workspace of the programs.
fn finishline(arguments: &[&str]) -> Called {
    let mut command = package::tool(&workspace(), arguments);
    command.env("CARGO_TARGET_DIR", shared("programs"));
    // Incremental builds take several times the space, and the sources seldom change.
    command.env("CARGO_INCREMENTAL", "0");
    Called::from(command)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
