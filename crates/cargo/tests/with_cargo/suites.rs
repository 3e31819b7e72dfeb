//! `test` on many tests: several at once, the line of progress, parts of a suite, and nextest.

use crate::ending::assert_ends;
use crate::package::{Called, Package, manifest, shared};
use finishline_answer::partition::whole;
use finishline_report::read_part;
use libtest_mimic::Trial;
use nix::pty::openpty;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(format!("suites::{name}"), move || {
            test();
            Ok(())
        })
    };
    vec![
        trial("several_tests_run_at_once", several_tests_run_at_once),
        trial(
            "an_interrupt_ends_each_of_them",
            an_interrupt_ends_each_of_them,
        ),
        trial(
            "progress_is_for_a_terminal_alone",
            progress_is_for_a_terminal_alone,
        ),
        trial("parts_have_each_test_once", parts_have_each_test_once),
        trial("nextest_starts_the_tests", nextest_starts_the_tests),
        trial("nextest_ends_a_test_alone", nextest_ends_a_test_alone),
        trial("nextest_is_interrupted", nextest_is_interrupted),
        trial("nextest_may_be_missing", nextest_may_be_missing),
    ]
}

fn library(name: &str, source: &str) -> Package {
    Package::new(&[("Cargo.toml", &manifest(name, "")), ("src/lib.rs", source)])
}

/// The first two tests end only if both run at the same time. The first one ends last.
const AT_ONCE: &str = "
    use std::{fs, path::Path, thread, time::Duration};
    fn wait_for(file: &str) {
        while !Path::new(file).exists() { thread::sleep(Duration::from_millis(5)) }
    }
    #[test] fn a_last() { fs::write(\"a\", \"\").unwrap(); wait_for(\"b-is-over\") }
    #[test] fn b_first() { wait_for(\"a\"); fs::write(\"b-is-over\", \"\").unwrap() }
    #[test] fn c_fails() { println!(\"words of c\"); panic!(\"c\") }
    #[test] fn d_passes() { println!(\"words of d\") }";

fn several_tests_run_at_once() {
    let package = library("several_tests_run_at_once", AT_ONCE);
    let remove = || {
        for file in ["a", "b-is-over"] {
            let _ = fs::remove_file(package.path(file));
        }
    };
    let run = |arguments: &[&str], status| {
        remove();
        package
            .finishline(&[&["test"], arguments].concat())
            .expect(status)
    };
    // Of the two ways to say how many, that of libtest comes first.
    for arguments in [
        &["--test-threads", "2"][..],
        &["--test-threads=1", "--", "--test-threads=3"],
    ] {
        let Called { stdout, .. } = run(arguments, 3);
        let verdicts = "test a_last ... ok\ntest b_first ... ok\ntest c_fails ... FAILED\n\
                        test d_passes ... ok\n";
        assert!(stdout.contains(verdicts), "{stdout}");
        assert!(
            stdout.contains("---- c_fails output ----\nwords of c"),
            "{stdout}"
        );
        assert!(!stdout.contains("words of d"), "{stdout}");
    }
    // The limit is that of each test: the second one has as much time as the first.
    let alone = ["--test-threads", "1", "--timeout", "3", "--", "--skip=c_"];
    let Called { stdout, .. } = run(&alone, 4);
    let verdicts = "test a_last ... TIMED OUT\ntest b_first ... ok\ntest d_passes ... ok\n";
    assert!(stdout.contains(verdicts), "{stdout}");
    for wrong in ["0", "-1", "many"] {
        run(&["--test-threads", wrong], 2);
    }
}

const WAITING: &str = "
    fn wait(name: &str) {
        let mut child = std::process::Command::new(\"sleep\").arg(\"3600\").spawn().unwrap();
        std::fs::write(\"new\".to_owned() + name, child.id().to_string()).unwrap();
        std::fs::rename(\"new\".to_owned() + name, \"waits\".to_owned() + name).unwrap();
        child.wait().unwrap();
    }
    #[test] fn a() { wait(\"a\") }
    #[test] fn b() { wait(\"b\") }
    #[test] fn c() {}";

fn an_interrupt_ends_each_of_them() {
    let package = library("an_interrupt_ends_each_of_them", WAITING);
    let (stdout, stderr) = interrupted(&package, &["test", "--lib"], "-INT", true);
    let verdicts = "test a ... INTERRUPTED\ntest b ... INTERRUPTED\n";
    assert!(stdout.contains(verdicts), "{stdout}");
    assert!(stderr.contains("note: not run: c, and"), "{stderr}");
}

/// Nextest hears of the terminal's signal itself. Of another one it hears when its tests end.
fn nextest_is_interrupted() {
    let package = library("nextest_is_interrupted", WAITING);
    let nextest = ["nextest", "run", "--no-fail-fast"];
    if !nextest_is_installed() {
        return absence(&package, &nextest);
    }
    for (signal, to_group) in [("-INT", true), ("-TERM", false)] {
        let (_, stderr) = interrupted(&package, &nextest, signal, to_group);
        let summary = "summary: interrupted after 2 processes, nothing is established: 2 unknown";
        assert!(stderr.contains(summary), "{stderr}");
        assert!(!stderr.contains("second signal"), "{stderr}");
    }
}

/// Sends a signal while the first two tests wait, to the whole group or to the first process. What
/// has been printed in the end.
fn interrupted(
    package: &Package,
    arguments: &[&str],
    signal: &str,
    to_group: bool,
) -> (String, String) {
    for file in ["waitsa", "waitsb"] {
        let _ = fs::remove_file(package.path(file));
    }
    let mut command = package.command(&[arguments, &["--test-threads=2"]].concat());
    command
        .env("CARGO_TARGET_DIR", shared("target"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let child = command.spawn().expect("the tool starts");
    let waiting = ["waitsa", "waitsb"].map(|file| {
        loop {
            match fs::read_to_string(package.path(file)) {
                Ok(process) => break process,
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
    });
    let receiver = match to_group {
        true => format!("-{}", child.id()),
        false => child.id().to_string(),
    };
    let mut kill = Command::new("kill");
    let sent = kill.args([signal, "--", &receiver]).status();
    assert!(sent.expect("kill can be started").success());
    let output = child.wait_with_output().expect("the tool ends");
    waiting.iter().for_each(|process| assert_ends(process));
    assert_eq!(output.status.code(), Some(4));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// What comes to standard output, and to a terminal that is standard error, or both streams.
fn on_a_terminal(package: &Package, arguments: &[&str], both: bool) -> (String, String) {
    let terminal = openpty(None, None).expect("a terminal");
    let mut command = package.command(arguments);
    command
        .env("CARGO_TARGET_DIR", shared("target"))
        .env("TERM", "xterm")
        .stdout(match both {
            true => Stdio::from(terminal.slave.try_clone().expect("one more handle")),
            false => Stdio::piped(),
        })
        .stderr(Stdio::from(terminal.slave));
    let child = command.spawn().expect("the tool starts");
    // The command keeps the other end open.
    drop(command);
    let mut master = File::from(terminal.master);
    let reader = thread::spawn(move || {
        let mut shown = Vec::new();
        // When the last process closes its end, that is an error and no end of file.
        let _ = master.read_to_end(&mut shown);
        String::from_utf8_lossy(&shown).into_owned()
    });
    let output = child.wait_with_output().expect("the tool ends");
    let stdout = String::from_utf8(output.stdout).expect("text");
    (stdout, reader.join().expect("no panic"))
}

fn progress_is_for_a_terminal_alone() {
    let package = library(
        "progress_is_for_a_terminal_alone",
        "use std::{thread::sleep, time::Duration};
         #[test] fn a() { println!(\"words of a\"); sleep(Duration::from_secs(1)) }
         #[test] fn b() { sleep(Duration::from_secs(1)); panic!() }
         #[test] fn c() { sleep(Duration::from_secs(1)) }",
    );
    let arguments = ["test", "--lib", "--color=never", "--test-threads=1"];
    let progress = [
        "0 of 3 tests, running a",
        "2 of 3 tests, 1 failed, running c",
    ];
    let (stdout, terminal) = on_a_terminal(&package, &arguments, false);
    for shown in progress {
        assert!(terminal.contains(shown), "{terminal}");
    }
    let verdicts =
        "\nrunning 3 tests\ntest a ... ok\ntest b ... FAILED\ntest c ... ok\n\nfailures:";
    assert!(stdout.starts_with(verdicts), "{stdout}");
    assert!(
        !stdout.contains("of 3 tests") && !stdout.contains('\u{1b}'),
        "{stdout}"
    );
    // The summary of the session comes where the line was.
    let last = terminal.rsplit("of 3 tests").next().unwrap_or_default();
    assert!(last.contains("summary: 3 processes"), "{terminal}");

    // Output on the same terminal never comes behind the line.
    let (_, terminal) = on_a_terminal(&package, &arguments, true);
    assert!(terminal.contains(progress[0]), "{terminal}");
    for verdict in ["test a ... ok", "test b ... FAILED", "test c ... ok"] {
        let before = terminal.split(verdict).next().unwrap_or_default();
        let alone = ["\n", "\r", "\u{1b}[2K"]
            .iter()
            .any(|end| before.ends_with(end));
        assert!(
            alone && before.len() < terminal.len(),
            "{verdict} in {terminal:?}"
        );
    }

    let Called { stdout, stderr, .. } = package.finishline(&arguments).expect(3);
    assert!(stdout.starts_with(verdicts), "{stdout}");
    assert!(!stderr.contains("of 3 tests"), "{stderr}");
    for quiet in [&["--quiet"][..], &["--", "-q"]] {
        let (_, terminal) = on_a_terminal(&package, &[&arguments, quiet].concat(), false);
        assert!(!terminal.contains("of 3 tests"), "{terminal}");
    }
}

const SUITE: &str = "
    static mut TOTAL: u64 = 0;
    fn add() { unsafe { TOTAL += 1 } }
    #[test] fn clean() { rayon::join(|| (), || ()); }
    #[test] fn fails() { rayon::join(|| (), || ()); panic!(\"because\") }
    #[test] fn idle() {}
    #[test] #[ignore] fn ignored() {}
    #[test] fn races() { rayon::join(add, add); }
    mod more {
        #[test] fn one() {}
        #[test] fn two() { rayon::join(|| (), || ()); }
    }";

fn suite_of(report: &str) -> BTreeMap<String, Value> {
    let suite: Value = serde_json::from_str(report).expect("JSON and nothing else");
    let reports = suite["reports"].as_array().cloned().unwrap_or_default();
    let named = reports.into_iter().map(|report| {
        let name = format!("{} {}", report["program"], report["test"]);
        (name, report)
    });
    named.collect()
}

fn parts_have_each_test_once() {
    let manifest = manifest(
        "parts_have_each_test_once",
        "[dependencies]\nrayon = \"1.12\"\n[[test]]\nname = \"own\"\nharness = false\n",
    );
    let package = Package::new(&[
        ("Cargo.toml", &manifest),
        ("src/lib.rs", SUITE),
        ("tests/own.rs", "fn main() {}"),
        (
            "tests/more.rs",
            "#[test] fn races() {} #[test] fn three() {}",
        ),
    ]);
    let report = |options: &[&str]| {
        let all = ["test", "--no-fail-fast", "--format=json"];
        package.finishline(&[&all, options].concat())
    };
    let undivided = report(&[]).expect(66).stdout;
    let expected = suite_of(&undivided);
    assert_eq!(expected.len(), 9);
    let mut together = BTreeMap::new();
    let mut parts = Vec::new();
    let mut statuses = Vec::new();
    for number in 1..=3 {
        let called = report(&["--partition", &format!("{number}/3")]);
        let of_part = suite_of(&called.stdout);
        assert!(of_part.len() < expected.len());
        for (name, report) in of_part {
            assert!(
                together.insert(name.clone(), report).is_none(),
                "{name} is there twice"
            );
        }
        statuses.push(called.status);
        parts.push(read_part(&called.stdout).expect("a part"));
    }
    // The commands that repeat a race are the same too: a test needs no part.
    assert_eq!(together, expected);
    assert!(statuses.contains(&66), "{statuses:?}");
    assert!(statuses.iter().any(|status| *status != 66), "{statuses:?}");
    let elsewhere = parts.iter().map(|part| part.elsewhere).sum::<u64>();
    // Nine that are run and one that is ignored, each in one of three parts.
    assert_eq!(elsewhere, 2 * 10);
    let merged = whole(parts);
    let mut text = Vec::new();
    let style = finishline_report::Style::default();
    let json = finishline_report::Format::Json;
    finishline_report::write_suite(&merged, json, style, &mut text).expect("a Vec takes all");
    let [merged, undivided] = [String::from_utf8(text).expect("text"), undivided]
        .map(|text| serde_json::from_str::<Value>(&text).expect("JSON"));
    for field in [
        "command",
        "exit_status",
        "verdicts",
        "notes",
        "not_run",
        "partition",
    ] {
        assert_eq!(merged[field], undivided[field], "{field}");
    }

    // More parts than tests: some are empty, and that is no failure.
    let empty = (1..=60).map(|number| format!("--partition={number}/60"));
    let mut empty = empty.map(|part| package.finishline(&["test", "--lib", &part]));
    let empty = empty.find(|called| called.stderr.contains("0 processes: nothing was checked"));
    let empty = empty.expect("an empty part").expect(0);
    assert!(
        empty.stdout.contains("\nrunning 0 tests\n"),
        "{}",
        empty.stdout
    );
    // But a filter that matches nothing has nothing in any part.
    let nothing = package.finishline(&["test", "--lib", "--partition=1/2", "no_such_test"]);
    nothing.expect(4);
    for wrong in ["0/2", "3/2", "half"] {
        package
            .finishline(&["test", "--partition", wrong])
            .expect(2);
    }
}

fn nextest_is_installed() -> bool {
    let mut nextest = Command::new("cargo");
    let output = nextest.args(["nextest", "--version"]).output();
    output.is_ok_and(|output| output.status.success())
}

const MISSING: &str = "error: cargo-nextest is not installed: ";

/// What is tested where nextest is not installed.
fn absence(package: &Package, arguments: &[&str]) {
    eprintln!("note: cargo-nextest is not installed, so its absence is tested");
    let stderr = package.finishline(arguments).expect(2).stderr;
    assert!(stderr.contains(MISSING), "{stderr}");
}

fn nextest_starts_the_tests() {
    let manifest = manifest(
        "nextest_starts_the_tests",
        "[dependencies]\nrayon = \"1.12\"\n",
    );
    let package = Package::new(&[
        ("Cargo.toml", &manifest),
        ("src/lib.rs", SUITE),
        (
            "tests/more.rs",
            "#[test] fn in_another_program() { println!(\"words of it\") }",
        ),
    ]);
    let nextest = |options: &[&str]| {
        package.finishline(&[&["nextest", "run", "--no-fail-fast"], options].concat())
    };
    if !nextest_is_installed() {
        return absence(&package, &["nextest", "run"]);
    }
    let Called { stdout, stderr, .. } = nextest(&[]).expect(66);
    for shown in [
        "5 passed, 2 failed, 1 skipped",
        "nextest_starts_the_tests fails",
        "nextest_starts_the_tests races",
        "nextest_starts_the_tests::TOTAL are not ordered",
        "because",
        "cargo nextest run --no-fail-fast -- --include-ignored --exact fails",
        "summary: 7 processes: 2 certified, 1 race, 1 trap, 3 with nothing parallel",
    ] {
        assert!(stderr.contains(shown), "{shown} in\n{stderr}");
    }
    assert!(!stderr.contains("words of it"), "{stderr}");
    assert_eq!(stdout, "");

    let json = nextest(&["--format=json", "--test-threads=4", "--retries=0"])
        .expect(66)
        .stdout;
    let reports = suite_of(&json);
    let verdict = |test: &str| {
        let name = format!("\"nextest_starts_the_tests\" \"{test}\"");
        reports[&name]["verdict"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(reports.len(), 7);
    assert_eq!(
        ["clean", "races", "idle"].map(verdict),
        ["certified", "race", "unknown"]
    );
    let race = &reports["\"nextest_starts_the_tests\" \"races\""];
    let replay = race["races"][0]["replay"].as_str().unwrap_or_default();
    let words: Vec<&str> = replay.split(' ').skip(2).collect();
    assert!(words.starts_with(&["nextest", "run"]), "{replay}");
    assert!(
        replay.ends_with("-- --include-ignored --exact races"),
        "{replay}"
    );
    package.finishline(&words).expect(66);

    // What nextest skips is skipped, and what it ends has ended.
    nextest(&["-E", "test(clean) | test(=more::two)"]).expect(0);
    nextest(&["no_such_test"]).expect(4);
    let parts = [1, 2].map(|number| {
        let part = format!("--partition=hash:{number}/2");
        let called = nextest(&["--format=json", "--no-tests=pass", &part]);
        read_part(&called.stdout).expect("a part")
    });
    assert_eq!(
        parts.iter().map(|part| part.answers.len()).sum::<usize>(),
        7
    );
    let merged = whole(parts);
    assert!(
        !merged.command.iter().any(|word| word.contains("hash")),
        "{:?}",
        merged.command
    );
    let listed = package.finishline(&["nextest", "list"]).expect(0);
    assert!(listed.stdout.contains("more::two"), "{}", listed.stdout);
    for wrong in [
        &["nextest"][..],
        &["nextest", "archive"],
        &["nextest", "--lib"],
    ] {
        let stderr = package.finishline(wrong).expect(2).stderr;
        assert!(stderr.contains("comes `run` or `list`"), "{stderr}");
    }
}

/// A signal of nextest to one test is not the user's to all.
fn nextest_ends_a_test_alone() {
    let manifest = manifest("nextest_ends_a_test_alone", "");
    let package = Package::new(&[
        ("Cargo.toml", &manifest),
        ("src/lib.rs", WAITING),
        (
            ".config/nextest.toml",
            "[profile.default]\nslow-timeout = { period = \"3s\", terminate-after = 1 }\n",
        ),
    ]);
    let options = ["nextest", "run", "--no-fail-fast", "--test-threads=1"];
    let arguments = [&options[..], &["-E", "test(=a) | test(=c)"]].concat();
    if !nextest_is_installed() {
        return absence(&package, &arguments);
    }
    let Called { stderr, .. } = package.finishline(&arguments).expect(4);
    for shown in [
        "1 passed, 1 timed out",
        "summary: 2 processes: 1 unknown, 1 with nothing parallel",
    ] {
        assert!(stderr.contains(shown), "{shown} in\n{stderr}");
    }
    assert_ends(&package.read("waitsa"));
}

fn nextest_may_be_missing() {
    let package = library("nextest_may_be_missing", "#[test] fn nothing() {}");
    // A folder of commands with cargo and what it starts, and nothing else.
    let commands = package.path("commands");
    fs::create_dir(&commands).expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    for name in ["cargo", "rustc", "rustup"] {
        let found = std::env::split_paths(&path).map(|folder| folder.join(name));
        if let Some(found) = found.into_iter().find(|file| file.exists()) {
            std::os::unix::fs::symlink(found, commands.join(name)).expect("a link");
        }
    }
    let mut command = package.command(&["nextest", "run"]);
    command
        .env("PATH", &commands)
        .env("CARGO_HOME", package.path("empty"))
        .env_remove("CARGO")
        .env("CARGO_TARGET_DIR", package.path("target"));
    let called = Called::from(command).expect(2);
    assert!(called.stderr.contains(MISSING), "{}", called.stderr);
    assert!(!package.path("target").exists(), "something was built");
}
