//! Every program under `programs/` is a test: the answers of the real binary must match the
//! program's own claims.
//!
//! The claims in a program follow from the definitions in `docs/language.md`. They are `//@`
//! directives at its top and `//~` marks on its lines. `programs/README.md` has the list. The
//! claims are compared exactly, in both directions, with the JSON reports of the default detector
//! and of the oracle. All detectors must agree. The text report, made without proofs, is compared
//! with `x.stderr` beside the program. With `FINISHLINE_BLESS=1` it is rewritten, unless a claim is
//! wrong.

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::{Debug, Write as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

const BLESS: &str = "FINISHLINE_BLESS";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut programs = Vec::new();
    let mut reports = Vec::new();
    collect(&root, Path::new("programs"), &mut programs, &mut reports);
    let mut trials = vec![Trial::test("every report has its program", {
        let programs = programs.clone();
        move || no_orphans(&programs, &reports)
    })];
    trials.extend(programs.into_iter().map(|program| {
        let root = root.clone();
        let name = program.display().to_string();
        Trial::test(name, move || Ok(Case::load(&root, &program)?.check()?))
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The `.fin` and `.stderr` files under a directory, relative to the root, in order.
fn collect(root: &Path, under: &Path, programs: &mut Vec<PathBuf>, reports: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(root.join(under)).expect("the directory of programs can be read");
    let mut entries: Vec<_> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    entries.sort();
    for entry in entries {
        let path = under.join(entry);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("fin") => programs.push(path),
            // Those of Rust programs are compared by the tests that run these.
            Some("stderr") if root.join(path.with_extension("rs")).exists() => {}
            Some("stderr") => reports.push(path),
            _ if root.join(&path).is_dir() => collect(root, &path, programs, reports),
            _ => {}
        }
    }
}

fn no_orphans(programs: &[PathBuf], reports: &[PathBuf]) -> Result<(), Failed> {
    if programs.is_empty() {
        return Err("no programs found".into());
    }
    let orphans: Vec<_> = reports
        .iter()
        .filter(|report| !programs.contains(&report.with_extension("fin")))
        .collect();
    if orphans.is_empty() {
        Ok(())
    } else {
        Err(format!("no program for {orphans:?}").into())
    }
}

/// The claims of a program about itself.
#[derive(Default)]
struct Claims {
    verdict: String,
    exit: Option<i32>,
    arguments: Vec<String>,
    options: Vec<String>,
    /// Names of locations, without white space.
    racing: BTreeSet<String>,
    /// The lines that the program prints. Empty if there is no claim.
    stdout: Vec<String>,
    /// Lines of the accesses of races that are reported.
    lines: RaceLines,
    /// The code and line of each error of the source, in order.
    errors: Vec<(u64, String)>,
    /// The line and kind of the failure at run time.
    trap: Option<(u64, String)>,
    /// What `explore` says, how many orders it runs, and how many there are. `-` claims nothing.
    explore: Option<[String; 3]>,
}

#[derive(Default, PartialEq, Debug)]
struct RaceLines {
    race: BTreeSet<u64>,
    apparent: BTreeSet<u64>,
}

impl Claims {
    fn parse(source: &str) -> Result<Claims, String> {
        let mut claims = Claims::default();
        for (line, text) in (1..).zip(source.lines()) {
            if let Some(directive) = text.strip_prefix("//@ ") {
                claims
                    .directive(directive)
                    .map_err(|error| format!("line {line}: {error}"))?;
            }
            for mark in text.split("//~ ").skip(1) {
                claims
                    .mark(line, mark.trim())
                    .map_err(|error| format!("line {line}: {error}"))?;
            }
        }
        if claims.verdict.is_empty() {
            Err("no `//@ verdict:`".into())
        } else {
            Ok(claims)
        }
    }

    fn directive(&mut self, directive: &str) -> Result<(), String> {
        let (key, value) = directive
            .split_once(':')
            .ok_or("a directive is `//@ key: value`")?;
        let value = value.trim();
        let words = || value.split_whitespace().map(str::to_owned);
        match key {
            "verdict" => self.verdict = value.to_owned(),
            "exit" => self.exit = Some(value.parse().map_err(|_| "not an exit status")?),
            "args" => self.arguments.extend(words()),
            "options" => self.options.extend(words()),
            "racing" => self.racing.extend(words()),
            "stdout" => self.stdout.push(value.to_owned()),
            "explore" => {
                let words: Vec<String> = words().collect();
                let words = words.try_into().map_err(|_| "a verdict and two numbers")?;
                self.explore = Some(words);
            }
            // Claims about every input. No run can confirm them.
            "prove" | "race" | "source" | "benign" | "dead" | "never-written" | "range"
            | "reason" => {}
            _ => return Err(format!("unknown directive `{key}`")),
        }
        Ok(())
    }

    fn mark(&mut self, line: u64, mark: &str) -> Result<(), String> {
        match mark.split_whitespace().collect::<Vec<_>>()[..] {
            ["race"] => _ = self.lines.race.insert(line),
            ["apparent"] => _ = self.lines.apparent.insert(line),
            ["race", "unlisted"] => {}
            ["error", code] => self.errors.push((line, code.to_owned())),
            ["trap", kind] => self.trap = Some((line, kind.to_owned())),
            _ => return Err(format!("unknown mark `{mark}`")),
        }
        Ok(())
    }

    fn exit(&self) -> Result<i32, String> {
        let usual = match self.verdict.as_str() {
            "certified" | "certified-order" => 0,
            "race" | "apparent" | "deadlock" => 66,
            "trap" => 3,
            "error" => 2,
            word => return Err(format!("unknown verdict `{word}`")),
        };
        Ok(self.exit.unwrap_or(usual))
    }
}

/// The differences found, in words.
#[derive(Default)]
struct Complaints(String);

impl Complaints {
    fn add(&mut self, complaint: &str) {
        self.0.push_str(complaint);
        self.0.push('\n');
    }

    fn compare(&mut self, what: &str, claimed: &dyn Debug, found: &dyn Debug) {
        let (claimed, found) = (format!("{claimed:?}"), format!("{found:?}"));
        if claimed != found {
            self.add(&format!(
                "{what}:\n    claimed {claimed}\n    found   {found}"
            ));
        }
    }
}

/// One program and its claims.
struct Case<'a> {
    root: &'a Path,
    program: &'a Path,
    claims: Claims,
}

impl<'a> Case<'a> {
    fn load(root: &'a Path, program: &'a Path) -> Result<Case<'a>, String> {
        let source = fs::read_to_string(root.join(program)).map_err(|error| error.to_string())?;
        Ok(Case {
            root,
            program,
            claims: Claims::parse(&source)?,
        })
    }

    fn check(&self) -> Result<(), String> {
        let mut complaints = Complaints::default();
        let exit = Some(self.claims.exit()?);
        // The number of accesses that are proved in time, and so not checked, depends on the
        // machine.
        let output = self.run(&["--checks", "unproved"])?;
        complaints.compare("the exit status", &exit, &output.status.code());
        if !self.claims.stdout.is_empty() {
            let stdout = String::from_utf8_lossy(&output.stdout);
            let printed: Vec<_> = stdout.lines().collect();
            complaints.compare("what the program prints", &self.claims.stdout, &printed);
        }
        let report = String::from_utf8_lossy(&output.stderr);
        if self.claims.verdict == "error" {
            let what = "the errors (line, code)";
            complaints.compare(what, &self.claims.errors, &errors_in(&report));
        } else {
            self.check_json("auto", &mut complaints)?;
            self.check_json("oracle", &mut complaints)?;
            let status = self.run(&["--detector", "all"])?.status.code();
            complaints.compare("the exit status of `--detector all`", &exit, &status);
        }
        if let Some([verdict, reduced, all]) = &self.claims.explore {
            self.check_orders("optimal", verdict, reduced, &mut complaints)?;
            if all != "-" {
                self.check_orders("none", verdict, all, &mut complaints)?;
            }
        }
        self.check_report(&report, &mut complaints)?;
        if self.claims.options.is_empty() {
            self.check_threads(&mut complaints)?;
        }
        if complaints.0.is_empty() {
            Ok(())
        } else {
            Err(complaints.0)
        }
    }

    /// Checks on several threads say the same, if their detector judges the program. What is
    /// certified prints the same lines on several threads, in some order.
    fn check_threads(&self, complaints: &mut Complaints) -> Result<(), String> {
        const REFUSED: Option<i32> = Some(2);
        // `fasttrack` may miss what other orders of critical sections have.
        for detector in ["auto", "spd3", "ptracer", "c-racer", "fastracer"] {
            let checked = self.run(&["--detector", detector, "--threads", "8"])?;
            // The threads may run isolated and locked blocks in another order. The report says so.
            let report = String::from_utf8_lossy(&checked.stderr);
            let mut words = ["certified-order: ", "--schedule "].iter();
            let in_other_order = words.any(|word| report.contains(word));
            if checked.status.code() != REFUSED && !in_other_order {
                let what = format!("the exit status of {detector} on 8 threads");
                complaints.compare(&what, &Some(self.claims.exit()?), &checked.status.code());
            }
            if self.claims.verdict == "trap" && checked.status.code() != REFUSED {
                let what = format!("whether {detector} on 8 threads knows nothing");
                complaints.compare(&what, &false, &report.contains("unknown: "));
            }
        }
        if self.claims.verdict != "certified" {
            return Ok(());
        }
        let run = |threads: &str| -> Result<_, String> {
            let output = Command::new(env!("CARGO_BIN_EXE_finishline"))
                .current_dir(self.root)
                .args(["run", "--quiet", "--threads", threads])
                .arg(self.program)
                .arg("--")
                .args(&self.claims.arguments)
                .output()
                .map_err(|error| error.to_string())?;
            let stdout = String::from_utf8_lossy(&output.stdout);
            let mut lines: Vec<String> = stdout.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            Ok((output.status.code(), lines))
        };
        let alone = run("1")?;
        for threads in ["2", "8"] {
            let what = format!("a run on {threads} threads");
            complaints.compare(&what, &alone, &run(threads)?);
        }
        Ok(())
    }

    /// `finishline check`, as a user in the root of the repository would call it.
    fn run(&self, options: &[&str]) -> Result<Output, String> {
        Command::new(env!("CARGO_BIN_EXE_finishline"))
            .current_dir(self.root)
            .arg("check")
            .args(options)
            .args(&self.claims.options)
            .arg(self.program)
            .args(&self.claims.arguments)
            .output()
            .map_err(|error| format!("finishline does not run: {error}"))
    }

    /// Compares all claims with the JSON report of one detector.
    fn check_json(&self, detector: &str, complaints: &mut Complaints) -> Result<(), String> {
        let output = self.run(&["--detector", detector, "--format", "json"])?;
        let report: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
            let stderr = String::from_utf8_lossy(&output.stderr);
            format!(
                "{}{detector}: no JSON report: {error}\n{stderr}",
                complaints.0
            )
        })?;
        let mut compare = |what: &str, claimed: &dyn Debug, found: &dyn Debug| {
            complaints.compare(&format!("{detector}: {what}"), claimed, found);
        };
        let locations = &report["racing_locations"];
        let names: BTreeSet<String> = array(&locations["names"])
            .filter_map(Value::as_str)
            .map(without_space)
            .collect();
        let failure = report["failure"].as_object().map(|failure| {
            let kind = failure["kind"].as_str().unwrap_or_default();
            (
                failure["place"]["line"].as_u64().unwrap_or_default(),
                kind.to_owned(),
            )
        });
        let races_shown = array(&report["races"]).count();
        compare(
            "the verdict",
            &self.claims.verdict,
            &report["verdict"].as_str().unwrap_or("none"),
        );
        compare("the racing locations", &self.claims.racing, &names);
        compare(
            "how many",
            &Some(self.claims.racing.len()),
            &locations["count"].as_u64(),
        );
        compare(
            "the races shown, of all",
            &report["distinct_races"].as_u64(),
            &Some(races_shown),
        );
        compare(
            "the lines with races",
            &self.claims.lines,
            &race_lines(&report),
        );
        compare("the failure (line, kind)", &self.claims.trap, &failure);
        Ok(())
    }

    /// Compares the claims about all orders of isolated blocks.
    fn check_orders(
        &self,
        reduction: &str,
        verdict: &str,
        orders: &str,
        complaints: &mut Complaints,
    ) -> Result<(), String> {
        let output = Command::new(env!("CARGO_BIN_EXE_finishline"))
            .current_dir(self.root)
            .args(["explore", "--format", "json", "--reduction", reduction])
            .arg(self.program)
            .args(&self.claims.arguments)
            .output()
            .map_err(|error| format!("finishline does not run: {error}"))?;
        let report: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("explore: no JSON report: {error}"))?;
        let found = report["verdict"].as_str().unwrap_or("none");
        complaints.compare(&format!("explore, {reduction}"), &verdict, &found);
        if orders != "-" {
            let found = report["exploration"]["orders"].to_string();
            complaints.compare(&format!("orders, {reduction}"), &orders, &found.as_str());
        }
        Ok(())
    }

    /// Compares the text report with the blessed one, or blesses it.
    fn check_report(&self, report: &str, complaints: &mut Complaints) -> Result<(), String> {
        let path = self.program.with_extension("stderr");
        let blessed = fs::read_to_string(self.root.join(&path)).unwrap_or_default();
        if blessed == report {
            return Ok(());
        }
        if complaints.0.is_empty() && std::env::var_os(BLESS).is_some() {
            return fs::write(self.root.join(&path), report).map_err(|error| error.to_string());
        }
        let (path, program) = (path.display(), self.program.display());
        let difference = difference(&blessed, report);
        complaints.add(&format!(
            "the report differs from {path}:\n{difference}\
             to accept it: {BLESS}=1 cargo test -p finishline --test programs -- {program}"
        ));
        Ok(())
    }
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn without_space(name: &str) -> String {
    name.split_whitespace().collect()
}

/// The lines of both accesses of every race of a report.
fn race_lines(report: &Value) -> RaceLines {
    let mut lines = RaceLines::default();
    for race in array(&report["races"]) {
        let apparent = race["apparent"].as_bool().unwrap_or_default();
        let lines = if apparent {
            &mut lines.apparent
        } else {
            &mut lines.race
        };
        lines.extend(
            ["first", "second"]
                .map(|access| race[access]["place"]["line"].as_u64().unwrap_or_default()),
        );
    }
    lines
}

/// The line and code of each error in a rendered list of errors: `error[E0101]: …` and below it
/// `--> path:line:column`, the place of its primary label.
fn errors_in(report: &str) -> Vec<(u64, String)> {
    let mut errors = Vec::new();
    let mut code = None;
    for line in report.lines() {
        if let Some((name, _)) = line
            .strip_prefix("error[")
            .and_then(|rest| rest.split_once(']'))
        {
            code = Some(name.to_owned());
        } else if let Some(place) = line.trim_start().strip_prefix("--> ") {
            let number = place
                .rsplit(':')
                .nth(1)
                .and_then(|number| number.parse().ok());
            errors.extend(number.zip(code.take()));
        }
    }
    errors
}

/// The lines that differ, `-` blessed and `+` found, and the equal lines in between.
fn difference(blessed: &str, found: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (blessed.lines().collect(), found.lines().collect());
    // common[i][j]: the length of the longest common subsequence of old[i..] and new[j..].
    let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let mut out = String::new();
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        let (sign, line) = if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
            (' ', old[i - 1])
        } else if j == new.len() || i < old.len() && common[i + 1][j] >= common[i][j + 1] {
            i += 1;
            ('-', old[i - 1])
        } else {
            j += 1;
            ('+', new[j - 1])
        };
        writeln!(out, "{sign} {line}").expect("a string can be written to");
    }
    out
}
