//! `run`: streams, exit statuses, and what a report says about a run.

use crate::package::{Called, Package, shared};
use libtest_mimic::Trial;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(format!("run::{name}"), move || {
            test();
            Ok(())
        })
    };
    vec![
        trial("every_exit_status", every_exit_status),
        trial("what_does_not_build", what_does_not_build),
        trial("options_of_the_run", options_of_the_run),
        trial(
            "streams_and_arguments_are_the_programs",
            streams_and_arguments_are_the_programs,
        ),
        trial(
            "the_program_has_the_users_environment",
            the_program_has_the_users_environment,
        ),
        trial("release_builds_are_checked", release_builds_are_checked),
        trial(
            "interrupts_end_the_program_alone",
            interrupts_end_the_program_alone,
        ),
        trial("two_runs_are_the_same", two_runs_are_the_same),
        trial(
            "reports_go_where_they_are_wanted",
            reports_go_where_they_are_wanted,
        ),
        trial(
            "a_drop_in_of_another_version_is_not_believed",
            a_drop_in_of_another_version_is_not_believed,
        ),
        trial(
            "initialisers_are_ordered_in_every_profile",
            initialisers_are_ordered_in_every_profile,
        ),
    ]
}

/// Does what its first argument says, then ends as its second one says.
pub(crate) const ENDS: &str = "
    use std::process::{Command, abort, exit, id};
    use std::sync::mpsc;
    unsafe extern \"C\" { fn _exit(status: i32) -> !; }
    static mut TOTAL: u64 = 0;
    fn add() { unsafe { TOTAL += 1 } }
    fn endless(n: u64) -> u64 { if n == 0 { 0 } else { std::hint::black_box(endless(n + 1)) + 1 } }
    fn main() {
        let argument = |n: usize| std::env::args().nth(n).unwrap();
        match argument(1).as_str() {
            \"idle\" => {}
            \"clean\" => _ = rayon::join(|| (), || ()),
            _ => _ = rayon::join(add, add),
        }
        println!(\"done\");
        match argument(2).as_str() {
            \"returns\" => {}
            \"exits\" => exit(5),
            \"claims\" => exit(66),
            \"panics\" => panic!(),
            \"aborts\" => abort(),
            \"overflows\" => _ = endless(1),
            \"faults\" => unsafe { std::ptr::null_mut::<u8>().write_volatile(1) },
            \"is killed\" => _ = Command::new(\"kill\").args([\"-9\", &id().to_string()]).status(),
            \"vanishes\" => unsafe { _exit(0) },
            _ => {
                let (sender, receiver) = mpsc::channel::<()>();
                rayon::join(move || receiver.recv(), move || sender.send(()));
            }
        }
    }";

/// Text, JSON and exit status agree, whatever a program does and however it ends.
fn every_exit_status() {
    let package = Package::with_rayon("every_exit_status", ENDS);
    for (does, ends, status, verdict) in [
        ("clean", "returns", 0, "certified"),
        ("clean", "exits", 5, "certified"),
        ("clean", "claims", 66, "certified"),
        ("clean", "panics", 3, "trap"),
        ("clean", "aborts", 3, "trap"),
        ("clean", "overflows", 3, "trap"),
        ("clean", "faults", 3, "trap"),
        ("clean", "is killed", 3, "trap"),
        ("clean", "vanishes", 4, "unknown"),
        ("clean", "waits", 4, "unknown"),
        ("idle", "returns", 4, "unknown"),
        ("idle", "exits", 4, "unknown"),
        ("idle", "panics", 3, "trap"),
        ("races", "returns", 66, "race"),
        ("races", "exits", 66, "race"),
        ("races", "panics", 66, "race"),
        ("races", "aborts", 66, "race"),
        ("races", "overflows", 66, "race"),
        ("races", "is killed", 66, "race"),
        ("races", "vanishes", 66, "race"),
        ("races", "waits", 66, "race"),
    ] {
        let called = package
            .finishline(&["run", "--", does, ends])
            .expect(status);
        assert_eq!(called.stdout, "done\n");
        let told = format!("\n{verdict}: ");
        assert!(
            called.stderr.contains(&told),
            "{does}, {ends}: {}",
            called.stderr
        );
        let json = ["run", "--format=json", "--", does, ends];
        let called = package.finishline(&json).expect(status);
        let report: Value = serde_json::from_str(&called.stdout).expect("one report");
        assert_eq!(report["verdict"], verdict, "{does}, {ends}");
        assert_eq!(report["exit_status"], status, "{does}, {ends}");
    }
}

fn what_does_not_build() {
    let package = Package::plain("what_does_not_build", "fn main() { nonsense }");
    for subcommand in ["build", "run", "test"] {
        package.finishline(&[subcommand]).expect(2);
    }
    package.finishline(&["run", "--bin", "nowhere"]).expect(2);
}

fn options_of_the_run() {
    let package = Package::with_rayon(
        "options_of_the_run",
        "fn main() {
        let order = std::sync::Mutex::new(Vec::new());
        rayon::join(|| order.lock().unwrap().push(1), || order.lock().unwrap().push(2));
        println!(\"{} {:?}\", rayon::current_num_threads(), order.lock().unwrap());
    }",
    );
    let printed = |options: &[&str]| package.finishline(&[&["run"], options].concat()).stdout;
    assert_eq!(printed(&[]), "16 [1, 2]\n");
    assert_eq!(
        printed(&["--logical-threads", "3", "--first=right"]),
        "3 [2, 1]\n"
    );
}

fn streams_and_arguments_are_the_programs() {
    let package = Package::plain(
        "streams_and_arguments_are_the_programs",
        "fn main() {
             let input = std::io::read_to_string(std::io::stdin()).unwrap();
             let arguments: Vec<String> = std::env::args().skip(1).collect();
             println!(\"{input} {arguments:?}\");
         }",
    );
    let mut command = package.command(&["run", "--quiet", "--", "--format", "-q", "a b"]);
    command.env("CARGO_TARGET_DIR", shared("target"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the tool starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"hello").expect("the program reads");
    drop(input);
    let output = child.wait_with_output().expect("the tool ends");
    assert_eq!(output.stdout, b"hello [\"--format\", \"-q\", \"a b\"]\n");
}

/// A program that starts cargo must not start it inside our session.
fn the_program_has_the_users_environment() {
    let package = Package::plain("the_program_has_the_users_environment",
        "fn main() {
             for name in [\"RUSTC_WRAPPER\", \"RUSTDOC\", \"FINISHLINE_SESSION\", \"CARGO_BUILD_BUILD_DIR\", \"CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER\"] {
                 println!(\"{:?}\", std::env::var(name).ok());
             }
         }",
    );
    let mut command = package.command(&["run"]);
    command
        .env("CARGO_TARGET_DIR", shared("target"))
        .env("RUSTDOC", "mine");
    let called = Called::from(command);
    assert_eq!(called.stdout, "None\nSome(\"mine\")\nNone\nNone\nNone\n");
}

fn release_builds_are_checked() {
    let package = Package::with_rayon(
        "release_builds_are_checked",
        "fn main() {
             let mut cells = [0_u64; 2];
             let cells = &raw mut cells as usize;
             let write = |at: usize| unsafe { *(cells as *mut u64).add(at) += 1 };
             rayon::join(|| write(0), || write(std::env::args().count() - 1));
             println!(\"{}\", unsafe { *(cells as *mut u64) });
         }",
    );
    package.finishline(&["run", "--release"]).expect(66);
    package
        .finishline(&["run", "--release", "--", "elsewhere"])
        .expect(0);
}

const RACY: &str = "
    static mut TOTAL: u64 = 0;
    fn main() {
        let add = || unsafe { TOTAL += 1 };
        rayon::join(add, add);
        println!(\"ready\");
        if std::env::args().count() > 1 { std::thread::sleep(std::time::Duration::from_secs(15 * 60)) }
    }";

/// As from a terminal: all processes get the interrupt, and earlier findings are reported.
fn interrupts_end_the_program_alone() {
    let package = Package::with_rayon("interrupts_end_the_program_alone", RACY);
    let mut command = package.command(&["run", "--", "wait"]);
    command.env("CARGO_TARGET_DIR", shared("target"));
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = command.spawn().expect("the tool starts");
    let mut line = String::new();
    let output = child.stdout.take().expect("a pipe");
    BufReader::new(output)
        .read_line(&mut line)
        .expect("the program prints");
    let group = format!("-{}", child.id());
    let sent = Command::new("kill").args(["-INT", "--", &group]).status();
    assert!(sent.expect("kill can be started").success());
    let output = child.wait_with_output().expect("the tool ends");
    let report = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(66), "{report}");
    assert!(report.contains("killed by signal 2"), "{report}");
}

/// This includes details that depend on addresses, unless the system randomises these.
fn two_runs_are_the_same() {
    let package = Package::with_rayon("two_runs_are_the_same", RACY);
    let json = || {
        package
            .finishline(&["run", "--format=json"])
            .expect(66)
            .stdout
    };
    let fixed = Command::new("setarch").args(["-R", "true"]).status();
    if fixed.is_ok_and(|status| status.success()) {
        assert_eq!(json(), json());
    }
}

fn reports_go_where_they_are_wanted() {
    let package = Package::with_rayon("reports_go_where_they_are_wanted", RACY);
    let colored = package.finishline(&["run", "--color=always"]).expect(66);
    assert!(colored.stderr.contains("\x1b["), "{}", colored.stderr);
    let building = package.finishline(&["build", "--color=always"]).expect(0);
    assert!(building.stderr.contains("\x1b["), "{}", building.stderr);
    let plain = package.finishline(&["run", "--color=never"]).expect(66);
    assert!(!plain.stderr.contains("\x1b["), "{}", plain.stderr);
    let mut unwanted = package.command(&["run"]);
    unwanted
        .env("NO_COLOR", "1")
        .env("CARGO_TARGET_DIR", shared("target"));
    let unwanted = Called::from(unwanted).expect(66);
    assert!(!unwanted.stderr.contains("\x1b["), "{}", unwanted.stderr);
    let options = ["run", "-q", "--format=json", "-o", "report"];
    let called = package.finishline(&options).expect(66);
    assert_eq!(
        (called.stdout.as_str(), called.stderr.as_str()),
        ("ready\n", "")
    );
    let report: Value = serde_json::from_str(&package.read("report")).expect("JSON");
    assert_eq!(report["verdict"], "race");

    std::fs::write(package.path("known"), "race: \n").expect("a file");
    for file in ["known", "nowhere"] {
        let called = package
            .finishline(&["run", "--suppressions", file])
            .expect(2);
        assert!(called.stdout.is_empty(), "before anything is run");
    }
    std::fs::write(package.path("known"), "TOTAL\nrace:nobody\n").expect("a file");
    let called = package
        .finishline(&["run", "--suppressions", "known"])
        .expect(0);
    let notes = called
        .stderr
        .matches(" matches no race of this run")
        .count();
    assert_eq!(notes, 1, "{}", called.stderr);
    assert!(
        called.stderr.contains("known:2: `race:nobody`"),
        "{}",
        called.stderr
    );
}

/// Calls of std's own functions are seen in every kind of build. Unoptimised builds share generic
/// functions, others may inline them.
fn initialisers_are_ordered_in_every_profile() {
    let package = Package::with_rayon(
        "initialisers_are_ordered_in_every_profile",
        "static TABLE: std::sync::OnceLock<Vec<u64>> = std::sync::OnceLock::new();
         fn get() -> u64 { TABLE.get_or_init(|| vec![1, 2, 3])[1] }
         fn main() { println!(\"{:?}\", rayon::join(get, get)) }",
    );
    let whole = "profile.release.lto='fat'";
    for arguments in [
        &["run"][..],
        &["run", "--release"],
        &["run", "--release", "--config", whole],
    ] {
        assert_eq!(package.finishline(arguments).expect(0).stdout, "(2, 2)\n");
    }
}

/// A drop-in of another version may mean something else, so none of its messages are believed,
/// early or late.
fn a_drop_in_of_another_version_is_not_believed() {
    let package = Package::with_rayon(
        "a_drop_in_of_another_version_is_not_believed",
        "unsafe extern \"C\" { fn __finishline_attach(version: u32) -> u32; }
         fn main() {
             let attach = |when: &str| match std::env::args().any(|argument| argument == when) {
                 true => unsafe { __finishline_attach(99) },
                 false => 0,
             };
             attach(\"before\");
             rayon::join(|| (), || ());
             attach(\"after\");
         }",
    );
    package.finishline(&["run"]).expect(0);
    for when in ["before", "after"] {
        let called = package.finishline(&["run", "--", when]).expect(4);
        assert!(called.stderr.contains("version 99"), "{}", called.stderr);
        assert!(called.stderr.contains("unknown: "), "{}", called.stderr);
    }
}
