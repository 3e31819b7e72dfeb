//! SARIF from real runs, checked against the rules of SARIF 2.1.0.
//!
//! The rules are the schema of the tests of `finishline-report`, and the official schema if
//! `FINISHLINE_SARIF_SCHEMA` names its file.

use crate::package::Package;
use jsonschema::Validator;
use libtest_mimic::Trial;
use serde_json::Value;
use std::env;
use std::fs;
use std::path::Path;

pub(crate) fn trials() -> Vec<Trial> {
    vec![Trial::test("sarif::every_log_is_valid", || {
        every_log_is_valid();
        Ok(())
    })]
}

const RULES: &str = include_str!("../../../report/tests/report/sarif-subset.schema.json");

const PROGRAM: &str = "
    use std::sync::{Mutex, mpsc};
    static mut TOTAL: u64 = 0;
    static COUNT: Mutex<u64> = Mutex::new(0);
    fn add() { unsafe { TOTAL += 1 } }
    fn count() { *COUNT.lock().unwrap() += 1 }
    fn main() {
        match std::env::args().nth(1).unwrap().as_str() {
            \"idle\" => {}
            \"clean\" => _ = rayon::join(|| (), || ()),
            \"races\" => _ = rayon::join(add, || { add(); unsafe { TOTAL = 7 } }),
            \"locks\" => _ = rayon::join(count, count),
            \"waits\" => {
                let (sender, receiver) = mpsc::channel::<()>();
                rayon::join(move || receiver.recv(), move || sender.send(()));
            }
            \"fails\" => _ = rayon::join(|| (), || panic!(\"a {} [b](c)\", 1)),
            _ => _ = rayon::join(add, || std::process::abort()),
        }
    }
    #[cfg(test)]
    mod tests {
        use super::*;
        #[test] fn clean() { rayon::join(|| (), || ()); }
        #[test] fn races() { rayon::join(add, add); }
        #[test] fn races_and_fails() { rayon::join(add, add); panic!() }
        #[test] fn idle() {}
        #[test] fn fails() { rayon::join(|| (), || ()); panic!() }
        #[test] fn aborts() { rayon::join(|| (), || ()); std::process::abort() }
    }";

/// Each way in which a run can end, with its exit status and the rules of its results.
fn every_log_is_valid() {
    let package = Package::with_rayon("logs_of_sarif", PROGRAM);
    fs::write(package.path("known"), "TOTAL\n").expect("a file");
    let log = |arguments: &[&str], status: i32| {
        let called = package.finishline(arguments).expect(status);
        let log: Value = serde_json::from_str(&called.stdout).expect("JSON and nothing else");
        for (whose, schema) in schemas() {
            let errors = schema.iter_errors(&log).map(|error| error.to_string());
            let errors: Vec<String> = errors.collect();
            assert!(errors.is_empty(), "{arguments:?}, {whose}: {errors:#?}");
        }
        log
    };
    let run = |program: &str, options: &[&str], status: i32| {
        let options = [&["run", "--format=sarif"], options, &["--", program]].concat();
        log(&options, status)
    };
    let rules = |log: &Value| {
        let results = log["runs"][0]["results"].as_array().into_iter().flatten();
        let rules = results.map(|result| result["ruleId"].as_str().unwrap_or_default().to_owned());
        let mut rules: Vec<String> = rules.collect();
        rules.dedup();
        rules
    };
    assert_eq!(rules(&run("races", &[], 66)), ["race"]);
    assert_eq!(
        rules(&run("locks", &["--determinacy"], 66)),
        ["lock-ordered"]
    );
    assert!(rules(&run("clean", &[], 0)).is_empty());
    assert!(rules(&run("idle", &[], 4)).is_empty());
    assert_eq!(rules(&run("waits", &[], 4)), ["stopped"]);
    let failed = run("fails", &[], 3);
    assert_eq!(rules(&failed), ["program-failure"]);
    // What is known of a program alone is where it begins.
    assert_eq!(places(&failed), ["src/main.rs:7"]);
    let suppressed = run("races", &["--suppressions", "known"], 0);
    let result = &suppressed["runs"][0]["results"][0];
    assert_eq!(result["suppressions"][0]["kind"], "external");
    assert_eq!(rules(&run("aborts", &[], 3)), ["program-failure"]);

    let tests = log(&["test", "--format=sarif"], 66);
    let invocations = tests["runs"][0]["invocations"].as_array();
    assert_eq!(invocations.map(Vec::len), Some(6));
    assert_eq!(
        rules(&tests),
        ["program-failure", "race", "program-failure"]
    );
    // A panic says its place, an abort does not.
    let failures = places(&tests);
    let lines = failures.iter().map(|place| place.as_str());
    let expected = ["src/main.rs:29", "src/main.rs:28", "src/main.rs:26"];
    assert_eq!(lines.collect::<Vec<_>>(), expected);
}

/// The places of failures.
fn places(log: &Value) -> Vec<String> {
    let results = log["runs"][0]["results"].as_array().into_iter().flatten();
    let failures = results.filter(|result| result["ruleId"] == "program-failure");
    failures
        .map(|failure| {
            let at = &failure["locations"][0]["physicalLocation"];
            let file = at["artifactLocation"]["uri"].as_str().unwrap_or_default();
            format!("{file}:{}", at["region"]["startLine"])
        })
        .collect()
}

fn schemas() -> Vec<(String, Validator)> {
    let ours = serde_json::from_str(RULES).expect("JSON");
    let mut schemas = vec![("our schema".to_owned(), ours)];
    if let Some(file) = env::var_os("FINISHLINE_SARIF_SCHEMA") {
        let text = fs::read_to_string(&file).expect("a file");
        let official = serde_json::from_str(&text).expect("JSON");
        schemas.push((Path::new(&file).display().to_string(), official));
    }
    let validator = |(name, schema): (String, Value)| {
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        (name, validator)
    };
    schemas.into_iter().map(validator).collect()
}
