//! Settings of a package: `[package.metadata.finishline]`, and `cfg(finishline)`.

use crate::package::{Package, manifest};
use libtest_mimic::Trial;
use std::fs;

pub(crate) fn trials() -> Vec<Trial> {
    vec![Trial::test("settings::settings_are_used", || {
        settings_are_used();
        Ok(())
    })]
}

const SOURCE: &str = "
    static mut TOTAL: u64 = 0;
    fn add() { unsafe { TOTAL += 1 } }
    fn main() {
        rayon::join(add, add);
        let (small, checked) = (cfg!(feature = \"small\"), cfg!(finishline));
        println!(\"{} {small} {checked}\", rayon::current_num_threads());
    }
    #[cfg(finishline)]
    #[test] fn only_checked() { assert_eq!(rayon::join(rayon::current_num_threads, || ()).0, 64) }";

/// One package serves all: as it is, with other options, beside a second one, with mistakes.
fn settings_are_used() {
    let settings = "[features]\nsmall = []\n[package.metadata.finishline]\n\
                    features = [\"small\"]\nlogical-threads = 64\nsuppressions = \"known\"\n";
    let first = manifest(
        "first",
        &format!("[dependencies]\nrayon = \"1.12\"\n{settings}"),
    );
    let second = manifest(
        "second",
        "[dependencies]\nrayon = \"1.12\"\n[features]\nsmall = []\n",
    );
    let package = Package::new(&[
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"first\", \"second\"]\nresolver = \"3\"\n",
        ),
        ("first/Cargo.toml", &first),
        ("first/src/main.rs", SOURCE),
        ("first/known", "TOTAL\n"),
        ("second/Cargo.toml", &second),
        ("second/src/main.rs", SOURCE),
    ]);
    let called = package.finishline(&["run", "-p", "first"]).expect(0);
    assert_eq!(called.stdout, "64 true true\n");
    assert!(!called.stderr.contains("warning"), "{}", called.stderr);
    assert!(called.stderr.contains("first/known"), "{}", called.stderr);
    let called = package.finishline(&["run", "-p", "second"]).expect(66);
    assert_eq!(called.stdout, "16 false true\n");

    // The command line comes first.
    fs::write(package.path("none"), "").expect("a file");
    let options = [
        "run",
        "-p",
        "first",
        "--logical-threads=2",
        "--suppressions=none",
    ];
    let called = package.finishline(&options).expect(66);
    assert_eq!(called.stdout, "2 true true\n");

    // Each program has the settings of its own package.
    let called = package
        .finishline(&["test", "--workspace", "--no-fail-fast"])
        .expect(3);
    for shown in [
        "test result: ok. 1 passed",
        "test result: FAILED. 0 passed; 1 failed",
    ] {
        assert!(called.stdout.contains(shown), "{}", called.stdout);
    }

    let wrong = first.replace("logical-threads", "order");
    fs::write(package.path("first/Cargo.toml"), wrong).expect("a file");
    let called = package.finishline(&["build"]).expect(2);
    let told = "first/Cargo.toml:10:1: [package.metadata.finishline]: unknown field `order`, \
                expected one of `features`, `logical-threads`, `orders`, `suppressions`\n";
    assert!(called.stderr.contains(told), "{}", called.stderr);
    assert!(!called.stderr.contains("Compiling"), "{}", called.stderr);
    package.finishline(&["build", "-p", "second"]).expect(0);
}
