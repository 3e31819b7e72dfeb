//! Programs with locks, as a user asks about them: the same answer in every way, deadlocks with
//! their cycle, and conflicts that a lock keeps apart.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Nothing is accessed, so nothing is checked. But both tasks may wait for ever.
const OPPOSITE: &str = "fn main() {
    let a = new lock();
    let b = new lock();
    finish {
        async { locked (a) { locked (b) { } } }
        async { locked (b) { locked (a) { } } }
    }
}
";

/// What is accessed can be proved free of races.
const PROVED: &str = "var x: int; var y: int;
fn main() {
    let a = new lock();
    let b = new lock();
    finish {
        async { locked (a) { locked (b) { x = 1; } } }
        async { locked (b) { locked (a) { y = 1; } } }
    }
}
";

const COUNTER: &str = "var total: int;
fn main(n: int) {
    let guards = new lock[2];
    forall i in 0..n { locked (guards[1]) { total += i; } }
}
";

fn program(name: &str, source: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, source).expect("the directory for tests can be written");
    path.display().to_string()
}

fn json(arguments: &[&str]) -> (i32, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_finishline"));
    let output = command.args(arguments).args(["--format", "json"]);
    let output = output.output().expect("it runs");
    let report = serde_json::from_slice(&output.stdout).expect("a report");
    (output.status.code().expect("an exit status"), report)
}

#[test]
fn locks_in_opposite_orders_are_seen_in_every_way() {
    for (name, source) in [("opposite.fin", OPPOSITE), ("proved.fin", PROVED)] {
        let file = program(name, source);
        for options in [
            &["--checks", "full"][..],
            &["--checks", "optimised"],
            &["--checks", "unproved"],
            &["--interpret"],
            &["--detector", "oracle"],
            &["--detector", "all"],
        ] {
            let (status, report) = json(&[&["check", &file], options].concat());
            let found = (status, report["verdict"].as_str());
            assert_eq!(found, (0, Some("certified-order")), "{name} {options:?}");
        }
        let trace = format!("{file}.trace");
        let mut record = Command::new(env!("CARGO_BIN_EXE_finishline"));
        let recorded = record.args(["record", &file, "-o", &trace]).status();
        assert!(recorded.expect("it runs").success());
        let (_, report) = json(&["analyze", &trace]);
        assert_eq!(report["verdict"], "certified-order", "{name}, recorded");
    }
}

#[test]
fn a_deadlock_has_the_cycle_and_can_be_repeated() {
    let file = program("cycle.fin", OPPOSITE);
    let (status, report) = json(&["explore", &file]);
    assert_eq!((status, report["verdict"].as_str()), (66, Some("deadlock")));
    let failure = &report["failure"];
    assert_eq!(failure["lock"]["name"], "b");
    assert_eq!(failure["cycle"]["count"], 2);
    let held: Vec<&Value> = (failure["waiting"].as_array().expect("a list").iter())
        .filter_map(|waiting| waiting.get("lock"))
        .collect();
    let [lock] = held[..] else { panic!("{held:?}") };
    assert_eq!(
        (&lock["name"], &lock["holder"]["tasks"][0]),
        (&"a".into(), &0.into())
    );
    let schedule = failure["schedule"].as_str().expect("an order");
    let (status, again) = json(&["check", &file, "--schedule", schedule]);
    assert_eq!((status, again["verdict"].as_str()), (66, Some("deadlock")));
    assert_eq!(again["failure"]["cycle"], failure["cycle"]);
}

/// The isolated blocks do not conflict. So the locked ones decide.
const MIXED: &str = "var a = 0;
var b = 0;
fn main() {
    let l = new lock();
    finish {
        async { isolated { b = 1; } locked (l) { a = 1; } }
        async { isolated { b = 1; } locked (l) { a = 2; } }
    }
}
";

#[test]
fn the_blocks_that_decide_the_result_are_named_by_their_places() {
    let file = program("mixed.fin", MIXED);
    let (status, report) = json(&["explore", &file, "--determinacy"]);
    assert_eq!((status, report["verdict"].as_str()), (66, Some("explored")));
    let differ = &report["exploration"]["determinacy"]["differ"];
    assert_eq!(differ["what"], "a");
    let places = [0, 1].map(|at| {
        let place = &differ["decided_by"][at]["place"];
        (place["line"].as_u64(), place["column"].as_u64())
    });
    // The two `locked`.
    assert_eq!(places, [6, 7].map(|line| (Some(line), Some(37))));
}

#[test]
fn conflicts_under_a_lock_are_listed_on_demand() {
    let file = program("counter.fin", COUNTER);
    let (status, report) = json(&["check", &file, "3"]);
    assert_eq!(
        (status, report["races"].as_array().map(Vec::len)),
        (0, Some(0))
    );
    for schedule in [&[][..], &["--schedule", ""]] {
        let (status, report) = json(&[&["check", &file, "3", "--determinacy"], schedule].concat());
        assert_eq!(
            (status, report["verdict"].as_str()),
            (66, Some("certified-order"))
        );
        let conflicts = report["races"].as_array().expect("a list");
        // A read and a write, and two writes.
        assert_eq!(conflicts.len(), 2);
        for conflict in conflicts {
            assert_eq!(conflict["class"], "lock-ordered");
            assert_eq!(conflict["ordered_by"]["lock"], "guards[1]");
            assert_eq!(conflict["location"], "total");
        }
    }
}

#[test]
fn conflicts_of_isolated_blocks_are_listed_on_demand() {
    let source = "var x: int; fn main() { async isolated x = 1; isolated x = 2; }";
    let file = program("isolated_twice.fin", source);
    let (status, report) = json(&["check", &file, "--determinacy"]);
    assert_eq!(status, 66);
    let conflict = &report["races"][0];
    assert_eq!(conflict["class"], "isolation-ordered");
    assert_eq!(conflict["ordered_by"]["lock"], Value::Null);
}
