//! `run`: streams, exit statuses, and what is said of a run.

use crate::package::{Called, Package, shared};
use libtest_mimic::Trial;
use std::io::Write;
use std::process::Stdio;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(format!("run::{name}"), move || {
            test();
            Ok(())
        })
    };
    vec![
        trial(
            "a_race_decides_the_exit_status",
            a_race_decides_the_exit_status,
        ),
        trial(
            "without_a_race_the_status_is_the_programs",
            without_a_race_the_status_is_the_programs,
        ),
        trial(
            "streams_and_arguments_are_the_programs",
            streams_and_arguments_are_the_programs,
        ),
        trial(
            "what_is_not_parallel_is_not_called_clean",
            what_is_not_parallel_is_not_called_clean,
        ),
        trial(
            "what_ends_unheard_is_not_called_clean",
            what_ends_unheard_is_not_called_clean,
        ),
        trial(
            "the_program_has_the_users_environment",
            the_program_has_the_users_environment,
        ),
        trial("release_builds_are_checked", release_builds_are_checked),
        trial(
            "initialisers_are_ordered_in_every_profile",
            initialisers_are_ordered_in_every_profile,
        ),
    ]
}

/// The word of a verdict that holds for every schedule.
const CLEAN: &str = "certified";

fn a_race_decides_the_exit_status() {
    let package = Package::with_rayon(
        "a_race_decides_the_exit_status",
        "static mut TOTAL: u64 = 0;
         fn main() {
             let add = || unsafe { TOTAL += 1 };
             rayon::join(add, add);
             println!(\"{}\", unsafe { TOTAL });
             std::process::exit(3);
         }",
    );
    let called = package.finishline(&["run"]).expect(66);
    assert_eq!(called.stdout, "2\n");
    assert!(called.stderr.contains("race"), "{}", called.stderr);
}

fn without_a_race_the_status_is_the_programs() {
    let package = Package::with_rayon(
        "without_a_race_the_status_is_the_programs",
        "fn main() {
             let (a, b) = rayon::join(|| 3, || 4);
             std::process::exit(a + b);
         }",
    );
    let called = package.finishline(&["run"]).expect(7);
    assert!(called.stderr.contains(CLEAN), "{}", called.stderr);
    package
        .finishline(&["run", "--logical-threads", "3", "--first=right"])
        .expect(7);
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

fn what_is_not_parallel_is_not_called_clean() {
    let called = Package::plain(
        "what_is_not_parallel_is_not_called_clean",
        "fn main() { std::process::exit(5) }",
    )
    .finishline(&["run"])
    .expect(5);
    assert!(
        called.stderr.contains("nothing was parallel"),
        "{}",
        called.stderr
    );
    assert!(!called.stderr.contains(CLEAN), "{}", called.stderr);
}

fn what_ends_unheard_is_not_called_clean() {
    let package = Package::with_rayon(
        "what_ends_unheard_is_not_called_clean",
        "fn main() { rayon::join(|| (), || std::process::abort()); }",
    );
    let called = package.finishline(&["run"]).expect(128 + 6);
    assert!(!called.stderr.contains(CLEAN), "{}", called.stderr);
}

/// A program that starts cargo must not start it inside our session.
fn the_program_has_the_users_environment() {
    let package = Package::plain("the_program_has_the_users_environment",
        "fn main() {
             for name in [\"RUSTC_WRAPPER\", \"RUSTDOC\", \"FINISHLINE_SESSION\", \"CARGO_BUILD_BUILD_DIR\"] {
                 println!(\"{:?}\", std::env::var(name).ok());
             }
         }",
    );
    let mut command = package.command(&["run"]);
    command
        .env("CARGO_TARGET_DIR", shared("target"))
        .env("RUSTDOC", "mine");
    let called = Called::from(command).expect(0);
    assert_eq!(called.stdout, "None\nSome(\"mine\")\nNone\nNone\n");
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

/// Calls of std's own functions are seen in every kind of build: unoptimised ones share generic functions, others may inline them.
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
