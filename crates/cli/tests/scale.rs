//! Explorations on several threads: the answer is that of one.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// All orders of the tasks' blocks differ. Those that begin as `first` and `second` say have a
/// race.
const LATE: &str = "var order = 0; var x = 0; var y = 0;
fn main(n: int, first: int, second: int) {
    finish for i in 0..n {
        async { isolated { order = order * 10 + i; } }
    }
    var begin = order;
    while begin >= 100 { begin = begin / 10; }
    if begin == first { finish { async { x = 1; } x = 2; } }
    if begin == second { finish { async { y = 1; } y = 2; } }
}
";

fn program(name: &str, source: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, source).expect("the directory for tests can be written");
    path.display().to_string()
}

fn finishline(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_finishline"));
    command.args(arguments).output().expect("it runs")
}

fn json(arguments: &[&str]) -> (i32, Value) {
    let output = finishline(&[arguments, &["--format", "json"]].concat());
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        panic!("no report: {}", String::from_utf8_lossy(&output.stderr));
    });
    (output.status.code().expect("an exit status"), report)
}

/// A report without the number of runs that only several pieces need.
fn without_costs(mut report: Value) -> Value {
    let explored = report["exploration"].as_object_mut().expect("orders");
    for cost in ["probes", "cut_off", "trials"] {
        explored.remove(cost);
    }
    report
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_jobs() {
    let file = program("jobs.fin", LATE);
    // No race: every count is the same.
    let clean = ["explore", &file, "6", "-1", "-1", "--jobs"];
    let (status, one) = json(&[&clean[..], &["1"]].concat());
    assert_eq!((status, &one["verdict"]), (0, &Value::from("explored")));
    assert_eq!(one["exploration"]["orders"], 720);
    assert_eq!(one["exploration"]["probes"], 0);
    for jobs in ["2", "5"] {
        let (_, several) = json(&[&clean[..], &[jobs]].concat());
        assert!(several["exploration"]["probes"].as_u64() > Some(1));
        assert_eq!(without_costs(several), without_costs(one.clone()));
    }
    // All races: the same are found, in their own order.
    let every = ["explore", &file, "6", "51", "43", "--all", "--jobs"];
    let (_, one) = json(&[&every[..], &["1"]].concat());
    let (_, several) = json(&[&every[..], &["2"]].concat());
    assert_eq!(one["distinct_races"], 2);
    assert_eq!(several["distinct_races"], 2);
    let faulty = |report: &Value| report["exploration"]["faulty_orders"].as_u64();
    assert!(faulty(&one) >= Some(48) && faulty(&one) == faulty(&several));
    // The first race: that of the first piece, whoever is faster.
    let first = ["explore", &file, "6", "51", "43", "--jobs"];
    let (status, two) = json(&[&first[..], &["2"]].concat());
    assert_eq!((status, &two["verdict"]), (66, &Value::from("race")));
    for jobs in ["2", "3", "7"] {
        assert_eq!(json(&[&first[..], &[jobs]].concat()).1, two);
    }
}

#[test]
fn odd_numbers_of_jobs_are_refused() {
    let file = program("odd_jobs.fin", LATE);
    for jobs in ["0", "-1", "x", "99999999"] {
        let output = finishline(&["explore", &file, "2", "0", "0", "--jobs", jobs]);
        assert_eq!(output.status.code(), Some(2), "{jobs}");
    }
}
