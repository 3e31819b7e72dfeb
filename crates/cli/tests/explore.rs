//! `finishline explore` and `finishline check --schedule`, as a user calls them: limits, formats,
//! orders that do not fit.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// In which order the tasks write `last` decides whether the assertion holds. The blocks on `free`
/// conflict with nothing.
const LAST: &str = "var last = 0; var free = 0;
fn main(n: int) {
    finish for i in 0..n {
        async { isolated { last = i; } }
    }
    assert(last != 0 || n < 2, \"the first one was last\");
}
";

/// A block that waits for another one in a loop.
const SPIN: &str = "var flag = false;
fn main() {
    async { var seen = false; while !seen { isolated { seen = flag; } } }
    isolated { flag = true; }
}
";

const RACY: &str = "var t = 0; var x = 0;
fn main() {
    finish { async { isolated { t = 0; } } isolated { t = 1; } }
    if t == 0 { finish { async { x = 20; } x = 10; } }
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
    let report = serde_json::from_slice(&output.stdout).expect("a report");
    (output.status.code().expect("an exit status"), report)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn orders_that_fail_are_told_and_repeated() {
    let file = program("last.fin", LAST);
    let (status, report) = json(&["explore", &file, "3"]);
    // Of the 3! orders those fail that end with the first task.
    assert_eq!((status, &report["verdict"]), (3, &Value::from("trap")));
    assert_eq!(report["exploration"]["orders"], 6);
    assert_eq!(report["exploration"]["faulty_orders"], 2);
    for faulty in report["exploration"]["faulty"].as_array().expect("a list") {
        let schedule = faulty["schedule"].as_str().expect("an order");
        assert!(schedule.ends_with(" 0"), "{schedule}");
        let (status, again) = json(&["check", &file, "3", "--schedule", schedule]);
        assert_eq!((status, &again["verdict"]), (3, &Value::from("trap")));
        assert_eq!(again["failure"]["schedule"], schedule);
    }
    let (status, other) = json(&["check", &file, "3", "--schedule", "2 0 1"]);
    assert_eq!(
        (status, &other["verdict"]),
        (0, &Value::from("certified-order"))
    );
}

#[test]
fn a_race_of_another_order_is_found_and_repeated() {
    let file = program("racy.fin", RACY);
    assert_eq!(json(&["check", &file]).1["verdict"], "certified-order");
    let (status, report) = json(&["explore", &file]);
    assert_eq!((status, &report["verdict"]), (66, &Value::from("race")));
    let race = &report["races"][0];
    assert_eq!(
        (&race["location"], &race["schedule"]),
        (&"x".into(), &"main 0".into())
    );
    let replay = race["replay"].as_str().expect("a command");
    assert!(
        replay.ends_with("--watch x --schedule 'main 0'"),
        "{replay}"
    );
    let (status, again) = json(&["check", &file, "--schedule", "main 0"]);
    assert_eq!((status, &again["verdict"]), (66, &Value::from("race")));
    assert_eq!(json(&["check", &file, "--schedule", "0 main"]).0, 0);
}

#[test]
fn limits_end_in_unknown() {
    let file = program("limits.fin", LAST);
    let (status, report) = json(&["explore", &file, "5", "--max-orders", "1"]);
    assert_eq!((status, &report["verdict"]), (4, &Value::from("unknown")));
    assert_eq!(report["guarantee"], "none");
    let forever = ["explore", &file, "2", "--timeout", "1e19"];
    assert_eq!(json(&forever).1["exploration"]["orders"], 2);
    let (status, report) = json(&["explore", &file, "5", "--timeout", "0"]);
    assert_eq!(
        (status, &report["exploration"]["orders"]),
        (4, &Value::from(0))
    );
    let spin = program("spin.fin", SPIN);
    let limits = ["explore", &spin, "--max-blocks", "20", "--max-orders", "50"];
    let (status, report) = json(&limits);
    assert_eq!((status, &report["verdict"]), (4, &Value::from("unknown")));
    assert!(report["exploration"]["too_long"].as_u64() > Some(0));
    let stronger = report["stronger"].as_str().expect("something");
    assert!(stronger.contains("--max-blocks"), "{stronger}");
}

/// A task that has failed stops; the others go on, and may race.
#[test]
fn a_race_beside_a_failure_is_told() {
    let source = "var d = 0;
        fn main() { finish { async { d = 1; assert(false); } async { isolated { } print(d); } } }";
    let file = program("beside.fin", source);
    let (status, report) = json(&["explore", &file]);
    assert_eq!((status, &report["verdict"]), (66, &Value::from("race")));
    assert_eq!(report["races"][0]["location"], "d");
    let schedule = report["races"][0]["schedule"].as_str().expect("an order");
    let (status, again) = json(&["check", &file, "--schedule", schedule]);
    assert_eq!((status, &again["verdict"]), (66, &Value::from("race")));
}

/// That nothing follows a failure inside a block orders no accesses, and the orders in which others
/// come first are run, even if another task has failed before.
#[test]
fn failures_hide_no_races() {
    for (name, body) in [
        (
            "hidden.fin",
            "async { x = 1; isolated { c = 1; } } isolated { assert(x == 5); }",
        ),
        (
            "twice.fin",
            "async { assert(false); } async { isolated { assert(c == 1); } }
             async { isolated { c = 2; } x = 1; } async { isolated { c = 3; } x = 2; }",
        ),
    ] {
        let source = format!("var x = 0; var c = 0; fn main() {{ finish {{ {body} }} }}");
        let file = program(name, &source);
        let (status, report) = json(&["explore", &file]);
        assert_eq!(
            (status, &report["verdict"]),
            (66, &Value::from("race")),
            "{name}"
        );
        assert_eq!(report["races"][0]["location"], "x", "{name}");
    }
}

/// After the order of the race the program spins.
#[test]
fn a_race_before_blocks_that_spin_is_told() {
    let source = "var flag = false; var x = 0;
        fn main() {
            async { var seen = false; while !seen { isolated { seen = flag; } } }
            async { x = 1; }
            x = 2;
            isolated { flag = true; }
        }";
    let file = program("race_and_spin.fin", source);
    let (status, report) = json(&["explore", &file, "--max-blocks", "50"]);
    assert_eq!((status, &report["verdict"]), (66, &Value::from("race")));
    assert_eq!(report["races"][0]["location"], "x");
}

/// Neither a loop without end nor one inside a block outlasts the time.
#[test]
fn the_time_ends_a_run() {
    for (name, body) in [
        (
            "outside.fin",
            "async { isolated { x = 2; } while x > 0 { } }",
        ),
        (
            "inside.fin",
            "async { isolated { while true { x += 1; } } }",
        ),
    ] {
        let source = format!("var x = 0; fn main() {{ async isolated {{ x = 1; }} {body} }}");
        let file = program(name, &source);
        let (status, report) = json(&["explore", &file, "--timeout", "0.2"]);
        assert_eq!(
            (status, &report["verdict"]),
            (4, &Value::from("unknown")),
            "{name}"
        );
    }
}

#[test]
fn orders_that_do_not_fit_are_refused() {
    let file = program("refused.fin", LAST);
    for (schedule, message) in [
        (
            "0 7",
            "at block 2 of it, task 7 has no isolated or locked block to run",
        ),
        (
            "0 0",
            "at block 2 of it, task 0 has no isolated or locked block to run",
        ),
        (
            "main",
            "at block 1 of it, task main has no isolated or locked block to run",
        ),
        (
            "0 1 2 main",
            "at block 4 of it, task main has no isolated or locked block to run",
        ),
        ("0 x", "`x` is not a task"),
        ("+1", "`+1` is not a task"),
        ("0*0", "`0*0` is not a task"),
        ("0..1", "`0..1` is not a task"),
        ("0*99999999999", "`0*99999999999` is not a task"),
    ] {
        let output = finishline(&["check", &file, "3", "--schedule", schedule]);
        assert_eq!(output.status.code(), Some(2), "{schedule}");
        assert!(
            stderr(&output).contains(message),
            "{schedule}: {}",
            stderr(&output)
        );
    }
    let bags = [
        "check",
        &file,
        "3",
        "--schedule",
        "0",
        "--detector",
        "esp-bags",
    ];
    assert_eq!(finishline(&bags).status.code(), Some(2));
}

#[test]
fn check_says_what_exploring_would_take() {
    let file = program("takes.fin", LAST);
    let (_, report) = json(&["check", &file, "4"]);
    let stronger = report["stronger"].as_str().expect("something");
    assert!(
        stronger.starts_with("24 orders of the isolated and locked blocks differ: "),
        "{stronger}"
    );
    assert!(
        stronger.contains(&format!("`finishline explore {file} 4`")),
        "{stronger}"
    );
    let (_, report) = json(&["check", &file, "6"]);
    let stronger = report["stronger"].as_str().expect("something");
    assert!(stronger.starts_with("more than 100 orders"), "{stronger}");
}

#[test]
fn orders_that_end_differently_are_told() {
    let source = LAST.replace("assert", "//");
    let file = program("differ.fin", &source);
    let asked = ["explore", &file, "3", "--determinacy"];
    let (status, report) = json(&asked);
    assert_eq!((status, &report["verdict"]), (66, &Value::from("explored")));
    let told = &report["exploration"]["determinacy"];
    assert_eq!(told["states"], 3);
    let differ = &told["differ"];
    assert_eq!(differ["what"], "last");
    for order in differ["orders"].as_array().expect("orders") {
        // The task of the last block is the value.
        let schedule = order["schedule"].as_str().expect("an order");
        let value = order["value"].as_str().expect("a value");
        assert!(schedule.ends_with(value), "{order}");
    }
    let decided = differ["decided_by"].as_array().expect("two blocks");
    assert_eq!(decided.len(), 2);
    assert_eq!(decided[0]["place"]["line"], 4);
    let text = stderr(&finishline(&asked));
    assert!(text.contains("final states: 3 that differ"), "{text}");
    assert!(text.contains("ends with last = "), "{text}");
    assert!(text.contains("decided by: which comes first"), "{text}");
    let html = finishline(&[&asked[..], &["--format", "html"]].concat());
    let html = String::from_utf8_lossy(&html.stdout).into_owned();
    assert!(html.contains("Two orders that end differently"), "{html}");
    assert!(html.contains("The orders that were run"), "{html}");
    assert_eq!(
        html.matches("<summary>").count(),
        3,
        "a branch for each first block"
    );
    // One order, one state: nothing is found.
    let (status, report) = json(&["explore", &file, "1", "--determinacy"]);
    assert_eq!(
        (status, &report["exploration"]["determinacy"]["states"]),
        (0, &1.into())
    );
    // Nobody asked.
    let (status, report) = json(&["explore", &file, "3"]);
    assert_eq!(
        (status, &report["exploration"]["determinacy"]),
        (0, &Value::Null)
    );
}

/// Every program with isolated blocks whose orders can all be run: as many are run as there are
/// said to be, and final states differ with reduction iff they do without.
#[test]
fn programs_have_as_many_orders_as_they_are_said_to_have() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let (mut counted, mut differ) = (0, 0);
    for folder in ["lessons", "zipper", "zipper/figures"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("programs") {
            let path = entry.expect("an entry").path();
            let source = std::fs::read_to_string(&path).unwrap_or_default();
            if path.extension().is_none_or(|it| it != "fin") || !source.contains("isolated") {
                continue;
            }
            let arguments = source.lines().filter_map(|it| it.strip_prefix("//@ args:"));
            let arguments: Vec<&str> = arguments.flat_map(str::split_whitespace).collect();
            let file = path.display().to_string();
            let asked = [&["explore", &file], &arguments[..], &["--determinacy"]].concat();
            let bounded = ["--max-orders", "3000"];
            let (_, all) = json(&[&asked[..], &bounded, &["--reduction", "none"]].concat());
            let (_, reduced) = json(&[&asked[..], &bounded].concat());
            let [all, reduced] = [&all, &reduced].map(|report| &report["exploration"]);
            if !all["incomplete"].is_null() {
                continue;
            }
            if let Some(said) = reduced["in_all"].as_str() {
                assert_eq!(said, all["orders"].to_string(), "{file}");
                counted += 1;
            }
            let states = |explored: &Value| explored["determinacy"]["states"].clone();
            assert_eq!(states(reduced), states(all), "{file}");
            differ += u32::from(states(all).as_u64() > Some(1));
        }
    }
    assert!(counted > 10 && differ > 2, "{counted} {differ}");
}
