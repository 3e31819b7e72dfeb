//! `test`: interrupts and time limits, which end tests early.

use crate::package::{Called, Package, manifest, shared};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(format!("ending::{name}"), move || {
            test();
            Ok(())
        })
    };
    vec![
        trial("an_interrupt_ends_all_tests", an_interrupt_ends_all_tests),
        trial("tests_have_a_time_limit", tests_have_a_time_limit),
    ]
}

/// In the order of the list. A test that waits says so by a file, with the id of a process that it
/// has started.
const TESTS: &str = "
    static mut TOTAL: u64 = 0;
    fn add() { unsafe { TOTAL += 1 } }
    fn wait() {
        let mut child = std::process::Command::new(\"sleep\").arg(\"3600\").spawn().unwrap();
        std::fs::write(\"waits.new\", child.id().to_string()).unwrap();
        std::fs::rename(\"waits.new\", \"waits\").unwrap();
        child.wait().unwrap();
    }
    #[test] fn a_clean() { rayon::join(|| (), || ()); }
    #[test] fn b_races() { rayon::join(add, add); }
    #[test] fn c_waits() { rayon::join(|| (), || ()); wait() }
    #[test] fn d_clean() { rayon::join(|| (), || ()); }
    #[test] #[ignore] fn e_ignored() {}
    #[test] fn f_races_and_waits() { rayon::join(add, add); wait() }";

fn package(name: &str) -> Package {
    let manifest = manifest(name, "[dependencies]\nrayon = \"1.12\"\n");
    let next = "#[test] fn in_the_next_program() {}";
    Package::new(&[
        ("Cargo.toml", &manifest),
        ("src/lib.rs", TESTS),
        ("tests/next.rs", next),
    ])
}

/// Waits until a process that has been sent a signal is gone. If the process lives, it does so for
/// an hour.
pub(crate) fn assert_ends(process: &str) {
    let is_running = || {
        let status = fs::read_to_string(format!("/proc/{process}/stat"));
        status.is_ok_and(|status| !status.contains(") Z "))
    };
    let tries = (0..1000).take_while(|_| is_running());
    let tries = tries
        .inspect(|_| thread::sleep(Duration::from_millis(20)))
        .count();
    assert!(tries < 1000, "a test has left {process} running");
}

/// Sends a signal while the third test waits, to the whole group as a terminal does, or to the
/// process that the user has started.
fn interrupted(package: &Package, arguments: &[&str], signal: &str, to_group: bool) -> Called {
    let _ = fs::remove_file(package.path("waits"));
    let temporary = package.path("temporary");
    fs::create_dir_all(&temporary).expect("a folder");
    let mut command = package.command(&[&["test"], arguments].concat());
    command
        .env("CARGO_TARGET_DIR", shared("target"))
        .env("TMPDIR", &temporary)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let child = command.spawn().expect("the tool starts");
    let tool = child.id();
    let started = loop {
        match fs::read_to_string(package.path("waits")) {
            Ok(started) => break started,
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    };
    let receiver = match to_group {
        true => format!("-{tool}"),
        false => tool.to_string(),
    };
    let sent = Command::new("kill")
        .args([signal, "--", &receiver])
        .status();
    assert!(sent.expect("kill can be started").success());
    let output = child.wait_with_output().expect("the tool ends");
    assert_ends(&started);
    let left: Vec<_> = fs::read_dir(&temporary).expect("a folder").collect();
    assert!(left.is_empty(), "{left:?}");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Called {
        status: output.status.code().expect("an exit status"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn an_interrupt_ends_all_tests() {
    let package = package("interrupted-tests");
    let options = ["--no-fail-fast", "--", "--test-threads=1", "--skip=b_races"];
    for (signal, to_group) in [("-INT", true), ("-INT", false), ("-TERM", false)] {
        let called = interrupted(&package, &options, signal, to_group).expect(4);
        let Called { stdout, stderr, .. } = &called;
        for shown in [
            "test a_clean ... ok\ntest c_waits ... INTERRUPTED\n",
            "test result: INTERRUPTED. 1 passed; 0 failed;",
        ] {
            assert!(stdout.contains(shown), "{signal}: {stdout}");
        }
        let summary = "summary: interrupted after 2 processes, nothing is established: 1 unknown, \
                       1 without a finding\n";
        for shown in [summary, "note: not run: d_clean, f_races_and_waits"] {
            assert!(stderr.contains(shown), "{signal}: {stderr}");
        }
        for hidden in ["certified", "can't", "panicked"] {
            assert!(!stderr.contains(hidden), "{signal}: {stderr}");
        }
    }
    let json = ["--format=json", "--", "--test-threads=1"];
    let called = interrupted(&package, &json, "-INT", true).expect(66);
    let suite: Value = serde_json::from_str(&called.stdout).expect("JSON and nothing else");
    assert_eq!(suite["interrupted"], true);
    let not_run = suite["not_run"].as_array().into_iter().flatten();
    let not_run: Vec<String> = not_run
        .map(|it| format!("{} {}", it["test"], it["why"]).replace('"', ""))
        .collect();
    let expected = [
        "e_ignored ignored",
        "d_clean interrupted",
        "f_races_and_waits interrupted",
    ];
    assert_eq!(not_run, expected);
    let waiting = &suite["reports"][2];
    assert_eq!(waiting["verdict"], "unknown");
    assert_eq!(waiting["because"]["kind"], "interrupted");
}

fn tests_have_a_time_limit() {
    let package = package("limited-tests");
    // Long enough to find a race, and short enough for a test.
    let limited = ["test", "--lib", "--timeout", "10", "c_"];
    let called = package.finishline(&limited).expect(4);
    let Called { stdout, stderr, .. } = &called;
    for shown in [
        "test c_waits ... TIMED OUT\n",
        "because: it took longer than `--timeout` allows, and was ended\n",
    ] {
        assert!(stdout.contains(shown), "{stdout}");
    }
    assert!(stderr.contains("unknown: c_waits"), "{stderr}");
    assert_ends(&package.read("waits"));
    // A race that was found in time is a race.
    let json = ["test", "--lib", "--timeout=10", "--format=json", "f_"];
    let report = package.finishline(&json).expect(66).stdout;
    let report: Value = serde_json::from_str(&report).expect("JSON and nothing else");
    let report = &report["reports"][0];
    assert_eq!(report["verdict"], "race");
    assert_eq!(report["because"]["kind"], "timed-out");
    for wrong in ["0", "-1", "soon"] {
        package.finishline(&["test", "--timeout", wrong]).expect(2);
    }
}
