//! In how many orders of their tasks programs and tests are run.

use crate::package::{Package, manifest};
use libtest_mimic::Trial;
use serde_json::{Value, json};

pub(crate) fn trials() -> Vec<Trial> {
    vec![Trial::test("orders::as_many_as_were_asked_for", || {
        as_many_as_were_asked_for();
        Ok(())
    })]
}

const SOURCE: &str = "
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    fn count() { rayon::join(|| COUNT.fetch_add(1, Relaxed), || COUNT.fetch_add(2, Relaxed)); }
    fn main() { count() }
    #[test] fn counts() { count() }
    #[test] fn rests_on_nothing() { rayon::join(|| (), || ()); }";

fn as_many_as_were_asked_for() {
    let settings = "[dependencies]\nrayon = \"1.12\"\n[package.metadata.finishline]\norders = 3\n";
    let package = Package::new(&[
        ("Cargo.toml", &manifest("counting", settings)),
        ("src/main.rs", SOURCE),
    ]);
    let reported = |arguments: &[&str]| -> Value {
        let called = package.finishline(arguments).expect(0);
        serde_json::from_str(&called.stdout).expect("JSON")
    };
    let run = |told, ended| json!({ "told": told, "ended": ended, "stopped": 0 });
    let of_tests = |arguments: &[&str]| {
        let all = [&["test", "--format=json"], arguments].concat();
        let suite = reported(&all);
        let mut reports = suite["reports"].as_array().into_iter().flatten();
        ["counts", "rests_on_nothing"].map(|test| {
            let report = reports.find(|report| report["test"] == test);
            report.expect("a report")["orders"].clone()
        })
    };
    assert_eq!(of_tests(&[]), [run(0, 3), Value::Null]);
    assert_eq!(of_tests(&["--orders", "2"]), [run(0, 2), Value::Null]);
    assert_eq!(of_tests(&["--orders", "1"]), [Value::Null, Value::Null]);
    assert_eq!(of_tests(&["--order", "1"]), [run(1, 1), run(1, 1)]);

    // The setting is for tests: a program may have effects.
    let of_program = |arguments: &[&str]| {
        let all = [&["run", "--format=json"], arguments].concat();
        reported(&all)["orders"].clone()
    };
    assert_eq!(of_program(&[]), Value::Null);
    assert_eq!(of_program(&["--orders", "2"]), run(0, 2));
    package
        .finishline(&["run", "--record", "trace", "--orders", "2"])
        .expect(2);
}
