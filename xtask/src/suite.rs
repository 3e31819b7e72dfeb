//! One call of `cargo test` that goes on after failures, shown while it runs.
//!
//! The tests are built first, so that the number of test binaries is known. Then cargo runs all
//! binaries. A [`Transcript`] reads the output line by line. It decides which lines are shown and
//! collects the failures:
//!
//! - A line for each test that passed is counted instead of shown.
//! - Each binary gets a line with its package, its file and its place among all binaries. If
//!   nothing else is shown for some seconds, a line tells how many tests are done.
//! - libtest lists the names of failed tests before each `test result:`, and cargo then names the
//!   target. Cargo's last words list all targets that failed.
//!
//! A failing test may print the same words: the tests of `cargo finishline` have whole transcripts
//! of cargo in their output. Hence the last list of each kind counts, and a target is believed only
//! if it is in cargo's closing list.

use crate::Failure;
use crate::command::CommandLine;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest time without a line.
const SILENCE: Duration = Duration::from_secs(15);

/// Runs `line`, a call of `cargo test`, without the variable `removed`. The answer is a command for
/// each failure.
pub(crate) fn run(line: &str, removed: &'static str) -> Result<Vec<String>, Failure> {
    let build = CommandLine::new(&format!(
        "{line} --no-run --message-format=json-render-diagnostics"
    ));
    let Some(artifacts) = build.output()? else {
        return Ok(vec![format!("{line} --no-run")]);
    };
    let mut transcript = Transcript::new(line, &artifacts);
    let tests = CommandLine::new(&format!("{line} --no-fail-fast")).env_remove(removed);
    let (reader, writer) = io::pipe().map_err(no_pipe)?;
    let mut child = tests.start(&writer)?;
    // The end of the output is seen when the child has the only writing end.
    drop(writer);
    let (sender, lines) = mpsc::channel();
    let reads = thread::spawn(move || {
        for bytes in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
            let sent = sender.send(String::from_utf8_lossy(&bytes).into_owned());
            if sent.is_err() {
                break;
            }
        }
    });
    loop {
        match lines.recv_timeout(SILENCE) {
            Ok(line) => {
                if let Some(shown) = transcript.line(&line) {
                    println!("{shown}");
                }
            }
            Err(RecvTimeoutError::Timeout) => println!("{}", transcript.progress()),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    reads.join().expect("reading lines does not panic");
    let status = child
        .wait()
        .map_err(|error| Failure::Failed(format!("lost `{tests}`: {error}")))?;
    let mut failures = transcript.failures();
    if failures.is_empty() && !status.success() {
        failures.push(line.to_string());
    }
    Ok(failures)
}

fn no_pipe(error: io::Error) -> Failure {
    Failure::Failed(format!("there is no pipe for the output: {error}"))
}

/// What the output of `cargo test` has told so far.
struct Transcript {
    /// The call of cargo for one of its targets, without the target.
    call: String,
    /// The package of each test binary, by the name of its file.
    packages: HashMap<String, String>,
    binary: Binary,
    binaries_begun: usize,
    /// The most recent list of failed tests.
    listed: Vec<String>,
    /// The failed tests of each target. A target that crashed has none.
    failed: HashMap<String, Vec<String>>,
    /// Cargo's closing list of targets.
    targets: Vec<String>,
    list: List,
}

/// The binary that runs now.
struct Binary {
    since: Instant,
    tests: usize,
    passed: usize,
}

/// The list that the next indented line belongs to.
#[derive(PartialEq, Eq)]
enum List {
    None,
    Tests,
    Targets,
}

impl Transcript {
    /// `artifacts` are cargo's messages about the build, one JSON object a line.
    fn new(line: &str, artifacts: &str) -> Transcript {
        let binary = |message: &str| {
            let executable = string_field(message, "executable")?;
            let package = string_field(message, "package_id")?;
            // The version stands alone if the package has the name of its directory.
            let (path, version) = package.rsplit_once('#')?;
            let name = version.split_once('@').map(|(name, _)| name);
            let package = name.unwrap_or_else(|| file_name(path));
            Some((file_name(executable).to_string(), package.to_string()))
        };
        let tests = |message: &&str| message.contains(r#""test":true},"features""#);
        Transcript {
            call: line.replace(" --workspace", ""),
            packages: artifacts.lines().filter(tests).filter_map(binary).collect(),
            binary: Binary {
                since: Instant::now(),
                tests: 0,
                passed: 0,
            },
            binaries_begun: 0,
            listed: Vec::new(),
            failed: HashMap::new(),
            targets: Vec::new(),
            list: List::None,
        }
    }

    /// Takes in one line of the output. The answer is the line to show, if any.
    fn line(&mut self, line: &str) -> Option<String> {
        let words = line.trim();
        if let Some(running) = words.strip_prefix("Running ")
            && let Some((file, executable)) = running.trim_end_matches(')').split_once(" (")
        {
            return Some(self.begin(file, executable));
        }
        if let Some(count) = words.strip_prefix("running ")
            && let Some(count) = count.split(' ').next().and_then(|word| word.parse().ok())
        {
            // A test may run its own binary again and show what that prints.
            self.binary.tests = self.binary.tests.max(count);
            return None;
        }
        if words.starts_with("test ") && words.ends_with(" ... ok") {
            self.binary.passed += 1;
            return None;
        }
        if words == "failures:" {
            self.listed.clear();
            self.list = List::Tests;
        } else if words.starts_with("error: ") && words.ends_with(" failed:") {
            self.targets.clear();
            self.list = List::Targets;
        } else if words.starts_with("test result: ") {
            self.list = List::None;
        } else if let Some(name) = line.strip_prefix("    ") {
            match self.list {
                List::None => {}
                List::Tests => self.listed.push(name.to_string()),
                List::Targets => self.targets.push(name.trim_matches('`').to_string()),
            }
        } else if let Some((_, target)) = words.split_once("failed, to rerun pass `") {
            let target = target.trim_end_matches('`').to_string();
            self.failed.insert(target, std::mem::take(&mut self.listed));
        }
        (!words.is_empty()).then(|| line.to_string())
    }

    /// Notes that a binary begins. The answer is its line.
    fn begin(&mut self, file: &str, executable: &str) -> String {
        self.binary = Binary {
            since: Instant::now(),
            tests: 0,
            passed: 0,
        };
        self.binaries_begun += 1;
        self.listed.clear();
        let package = self.packages.get(file_name(executable));
        format!(
            "[{} of {}] {} {file}",
            self.binaries_begun,
            self.packages.len(),
            package.map_or("?", String::as_str)
        )
    }

    /// How far the running binary is.
    fn progress(&self) -> String {
        let Binary {
            since,
            tests,
            passed,
        } = &self.binary;
        let seconds = since.elapsed().as_secs();
        format!("  … {passed} of {tests} tests passed after {seconds} s")
    }

    /// A command for each test that failed, and for each target that failed without saying where.
    fn failures(&self) -> Vec<String> {
        let mut commands = Vec::new();
        for target in &self.targets {
            let call = format!("{} {target}", self.call);
            match self.failed.get(target) {
                Some(tests) if !tests.is_empty() => {
                    let command = |test: &String| format!("{call} -- --exact {}", quoted(test));
                    commands.extend(tests.iter().map(command));
                }
                _ => commands.push(call),
            }
        }
        commands
    }
}

/// The value of a field with a string, in a JSON object on one line. The strings that are looked up
/// are names and paths: an escape in them is kept as it is.
pub(crate) fn string_field<'a>(message: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = message.split_once(&format!("\"{name}\":\""))?;
    rest.split('"').next()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A word for a shell. Names of doc tests have spaces and parentheses.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_:-./".contains(c);
    match name.chars().all(plain) {
        true => name.to_string(),
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of `cargo test --no-run` about an executable, shortened.
    fn artifact(package: &str, test: bool, executable: &str) -> String {
        let package = format!(r#""package_id":"path+file:///w/{package}""#);
        let target = r#""target":{"kind":["lib"],"test":true}"#;
        let profile = format!(r#""profile":{{"debuginfo":2,"test":{test}}},"features":[]"#);
        let executable = format!(r#""executable":"/w/target/debug/{executable}""#);
        format!("{{{package},{target},{profile},{executable}}}\n")
    }

    fn artifacts() -> String {
        artifact("crates/a#a-x@0.1.0", true, "deps/a_x-1")
            + &artifact("crates/a#a-x@0.1.0", false, "a")
            + &artifact("xtask#0.1.0", true, "deps/t-2")
            + "{\"reason\":\"build-finished\",\"success\":true}\n"
    }

    const LINE: &str = "cargo test --workspace";

    fn read(output: &str) -> (Vec<String>, Transcript) {
        let mut transcript = Transcript::new(LINE, &artifacts());
        let shown = output.lines().filter_map(|line| transcript.line(line));
        (shown.collect(), transcript)
    }

    #[test]
    fn the_binaries_of_the_build_are_counted() {
        let transcript = Transcript::new(LINE, &artifacts());
        assert_eq!(transcript.packages.len(), 2, "an executable is no test");
        assert_eq!(transcript.packages["a_x-1"], "a-x");
        assert_eq!(transcript.packages["t-2"], "xtask");
    }

    #[test]
    fn each_binary_and_its_result_are_shown() {
        let (shown, transcript) = read(
            "\
     Running unittests src/lib.rs (target/debug/deps/a_x-1)

running 3 tests
test one ... ok
test two ... ok
test three has been running for over 60 seconds
",
        );
        assert_eq!(
            shown,
            [
                "[1 of 2] a-x unittests src/lib.rs",
                "test three has been running for over 60 seconds"
            ]
        );
        assert!(
            transcript
                .progress()
                .starts_with("  … 2 of 3 tests passed after ")
        );
        let (shown, transcript) = read(
            "\
     Running tests/t.rs (target/debug/deps/t-2)
running 1 test
test one ... ok
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
     Running tests/u.rs (target/debug/deps/u-3)
",
        );
        assert_eq!(shown[0], "[1 of 2] xtask tests/t.rs");
        assert!(shown[1].starts_with("test result: ok. 1 passed"));
        assert_eq!(shown[2], "[2 of 2] ? tests/u.rs");
        assert!(transcript.failures().is_empty());
    }

    /// What cargo 1.95 printed about a failing, a crashing and a doc test, shortened.
    const FAILING: &str = "\
     Running unittests src/lib.rs (target/debug/deps/a_x-1)
running 3 tests
test good ... ok
test fails ... FAILED
test also ... FAILED

failures:

---- fails stdout ----

thread 'fails' (4390) panicked at a/src/lib.rs:1:21:
error: test failed, to rerun pass `-p other --lib`
error: 1 target failed:
    `-p other --lib`
failures:
    nested
test result: FAILED. 0 passed; 1 failed

failures:
    also
    fails

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.24s

error: test failed, to rerun pass `-p a-x --lib`
     Running tests/t.rs (target/debug/deps/t-2)

running 1 test
error: test failed, to rerun pass `-p a-x --test t`

Caused by:
  process didn't exit successfully: `/w/target/debug/deps/t-2` (signal: 6, SIGABRT)
   Doc-tests b_x

running 1 test
test b/src/lib.rs - (line 1) ... FAILED

failures:

---- b/src/lib.rs - (line 1) stdout ----
Test executable failed (exit status: 101).

failures:
    b/src/lib.rs - (line 1)

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.18s

error: doctest failed, to rerun pass `-p b-x --doc`
error: 3 targets failed:
    `-p a-x --lib`
    `-p a-x --test t`
    `-p b-x --doc`
";

    #[test]
    fn every_failure_has_its_command() {
        let (shown, transcript) = read(FAILING);
        assert_eq!(
            transcript.failures(),
            [
                "cargo test -p a-x --lib -- --exact also",
                "cargo test -p a-x --lib -- --exact fails",
                "cargo test -p a-x --test t",
                "cargo test -p b-x --doc -- --exact 'b/src/lib.rs - (line 1)'",
            ]
        );
        let panicked = "thread 'fails' (4390) panicked at a/src/lib.rs:1:21:";
        assert!(shown.iter().any(|line| line == panicked));
        assert!(!shown.iter().any(|line| line == "test good ... ok"));
    }

    #[test]
    fn the_names_of_a_binary_are_not_those_of_the_next() {
        let (_, transcript) = read(
            "\
failures:
    one
test result: FAILED. 0 passed; 1 failed
error: test failed, to rerun pass `-p a-x --lib`
     Running tests/passes.rs (target/debug/deps/passes-4)
failures:
    only printed
test result: ok. 1 passed; 0 failed
     Running tests/t.rs (target/debug/deps/t-2)
error: test failed, to rerun pass `-p a-x --test t`
error: 2 targets failed:
    `-p a-x --lib`
    `-p a-x --test t`
",
        );
        assert_eq!(
            transcript.failures(),
            [
                "cargo test -p a-x --lib -- --exact one",
                "cargo test -p a-x --test t"
            ]
        );
    }

    #[test]
    fn a_name_is_one_word_for_the_shell() {
        assert_eq!(quoted("machine::adds"), "machine::adds");
        assert_eq!(quoted("it's (line 1)"), r"'it'\''s (line 1)'");
    }
}
