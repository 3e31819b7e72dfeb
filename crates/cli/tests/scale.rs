//! Work on several threads, in several processes, or with interruptions: the answer is that of one
//! process that does it all at once.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

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

/// The path of a file of this name.
fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.display().to_string()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_finishline"));
    command.args(arguments);
    command
}

fn finishline(arguments: &[&str]) -> Output {
    command(arguments).output().expect("it runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Lets processes of their own do the parts. Their files.
fn in_parts(name: &str, arguments: &[&str], count: usize) -> Vec<String> {
    let parts = (1..=count).map(|number| {
        let part = file(&format!("{name}.{number}"));
        let partition = format!("{number}/{count}");
        let words = [arguments, &["--partition", &partition, "-o", &part, "-q"]].concat();
        let child = command(&words).stderr(Stdio::piped()).spawn();
        (child.expect("it starts"), part)
    });
    let parts: Vec<(Child, String)> = parts.collect();
    let wait = |(child, part): (Child, String)| {
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        part
    };
    parts.into_iter().map(wait).collect()
}

fn merge(parts: &[String]) -> (i32, Value) {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    json(&[&["merge"], &parts[..]].concat())
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

#[test]
fn four_parts_of_an_exploration_give_the_answer_of_one() {
    let file = program("parts.fin", LATE);
    for (name, arguments) in [
        ("clean", &["6", "-1", "-1"][..]),
        ("first", &["6", "51", "43"]),
        ("all", &["6", "51", "43", "--all"]),
        ("small", &["3", "21", "-1"]),
        ("unreduced", &["5", "-1", "-1", "--reduction", "none"]),
    ] {
        let asked = [&["explore", &file], arguments].concat();
        let parts = in_parts(&format!("parts_{name}"), &asked, 4);
        let (status, merged) = merge(&parts);
        let (expected_status, expected) = json(&[&asked[..], &["--jobs", "2"]].concat());
        assert_eq!(status, expected_status, "{name}");
        assert_eq!(without_costs(merged), without_costs(expected), "{name}");
    }
}

#[test]
fn a_part_that_was_not_finished_leaves_the_answer_unknown() {
    let file = program("unfinished.fin", LATE);
    let asked = ["explore", &file, "6", "-1", "-1", "--max-orders", "40"];
    let (status, merged) = merge(&in_parts("unfinished", &asked, 2));
    assert_eq!((status, &merged["verdict"]), (4, &Value::from("unknown")));
}

#[test]
fn four_parts_of_an_analysis_give_the_answer_of_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    for (name, source, arguments) in [
        ("fig2", "esp-bags/figures/fig2.fin", &["30"][..]),
        ("rows", "lessons/matrix_rows_vs_columns_racy.fin", &[]),
        ("clean", "lessons/wavefront_clean.fin", &["2"]),
        ("order", "lessons/isolated_ticket_order.fin", &["3"]),
        (
            "apparent",
            "lessons/isolated_publishes_data_apparent.fin",
            &[],
        ),
    ] {
        let (source, trace) = (root.join(source), file(&format!("parts_{name}.trace")));
        let source = source.display().to_string();
        finishline(&[&["record", &source, "-o", &trace], arguments].concat());
        let parts = in_parts(&format!("analysis_{name}"), &["analyze", &trace], 4);
        let (status, expected) = json(&["analyze", &trace]);
        assert_eq!(merge(&parts), (status, expected), "{name}");
    }
}

#[test]
fn parts_that_are_no_answer_are_refused() {
    let source = program("refused_parts.fin", LATE);
    let asked = |n| ["explore", source.as_str(), n, "-1", "-1"];
    let parts = in_parts("refused_parts", &asked("5"), 2);
    let [a, b] = [parts[0].as_str(), parts[1].as_str()];
    let other = &in_parts("refused_other", &asked("4"), 2)[1];
    let three = &in_parts("refused_three", &asked("5"), 3)[2];
    let text = fs::read_to_string(a).expect("a part");
    let changed = |name: &str, text: String| {
        let path = file(name);
        fs::write(&path, text).expect("it can be written");
        path
    };
    let damaged = changed(
        "refused.damaged",
        text.replacen("\"orders\":", "\"orders\":1", 1),
    );
    let cut = changed("refused.cut", text[..text.len() - 5].to_owned());
    let old = changed("refused.old", text.replacen("0.1.0", "0.0.9", 1));
    let empty = changed("refused.empty", String::new());
    for (parts, message) in [
        (&[a][..], "missing of 2 parts: 2"),
        (&[a, a], "part 1 of 2 is there twice"),
        (&[a, b, b], "part 2 of 2 is there twice"),
        (&[a, other], "are no parts of one answer"),
        (&[a, three], "is one of 3 parts"),
        (&[&damaged, b], "the part is damaged or cut off"),
        (&[&cut, b], "the part is damaged or cut off"),
        (&[&old, b], "the part is of Finishline 0.0.9"),
        (&[&empty, b], "this is no part of an answer"),
        (&[&source, b], "this is no part of an answer"),
        (&[a, b, "-o", a], "is a part: the report needs another file"),
    ] {
        let output = finishline(&[&["merge"], parts].concat());
        assert_eq!(output.status.code(), Some(2), "{parts:?}");
        assert!(
            stderr(&output).contains(message),
            "{parts:?}: {}",
            stderr(&output)
        );
    }
    for partition in ["0/4", "5/4", "1", "x/y", "-1/4"] {
        let words = [&asked("3")[..], &["-o", a, "--partition", partition]].concat();
        assert_eq!(finishline(&words).status.code(), Some(2), "{partition}");
    }
    let nowhere = [&asked("3")[..], &["--partition", "1/2"]].concat();
    assert_eq!(finishline(&nowhere).status.code(), Some(2));
    // The trace was recorded again, of another run.
    let trace = file("refused.trace");
    finishline(&["record", &source, "4", "-1", "-1", "-o", &trace]);
    let parts = in_parts("refused_trace", &["analyze", &trace], 2);
    finishline(&["record", &source, "5", "-1", "-1", "-o", &trace]);
    let output = finishline(&["merge", &parts[0], &parts[1]]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("is not the trace"),
        "{}",
        stderr(&output)
    );
}

/// How many pieces a checkpoint has.
fn kept(checkpoint: &str) -> usize {
    let text = fs::read_to_string(checkpoint).unwrap_or_default();
    text.lines().count().saturating_sub(2)
}

/// Starts an exploration, and waits until a piece of it is in the checkpoint.
fn started(arguments: &[&str], checkpoint: &str) -> Child {
    let _ = fs::remove_file(checkpoint);
    let mut command = command(arguments);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    let begin = Instant::now();
    while kept(checkpoint) == 0 {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "nothing was kept"
        );
        thread::sleep(Duration::from_millis(2));
    }
    child
}

#[test]
fn an_exploration_that_was_killed_goes_on() {
    let (source, checkpoint) = (program("killed.fin", LATE), file("killed.checkpoint"));
    let asked = [
        "explore", &source, "8", "-1", "-1", "--format", "json", "--jobs",
    ];
    let kept_too = ["2", "--checkpoint", &checkpoint];
    let resumed = [&asked[..], &kept_too].concat();
    let mut child = started(&resumed, &checkpoint);
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    assert!(kept(&checkpoint) > 0);
    // Of other arguments nothing is taken over.
    let other = [
        "explore",
        &source,
        "7",
        "-1",
        "-1",
        "--checkpoint",
        &checkpoint,
    ];
    let output = finishline(&other);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("of another exploration"),
        "{}",
        stderr(&output)
    );
    let output = finishline(&resumed);
    let merged: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let once = finishline(&[&asked[..], &["2"]].concat());
    let once: Value = serde_json::from_slice(&once.stdout).expect("a report");
    assert_eq!(once["exploration"]["orders"], 40320);
    assert_eq!(merged, once);
    assert!(!Path::new(&checkpoint).exists(), "nothing is left to do");
}

#[test]
fn an_interrupted_exploration_reports_and_goes_on() {
    let (source, checkpoint) = (
        program("interrupted.fin", LATE),
        file("interrupted.checkpoint"),
    );
    let asked = ["explore", &source, "8", "-1", "-1", "--jobs", "1"];
    let resumed = [&asked[..], &["--checkpoint", &checkpoint]].concat();
    let child = started(&resumed, &checkpoint);
    let interrupt = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(interrupt.expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("it was interrupted"), "{said}");
    assert!(said.contains("the same command goes on from"), "{said}");
    let before = kept(&checkpoint);
    assert!(before > 0);
    // A limit interrupts, too. The orders of the pieces that are kept are not run again.
    let limited = [&resumed[..], &["--max-orders", "2000"]].concat();
    let (status, report) = json(&limited);
    assert_eq!((status, &report["verdict"]), (4, &Value::from("unknown")));
    assert!(kept(&checkpoint) > before);
    let (status, report) = json(&resumed);
    assert_eq!((status, &report["verdict"]), (0, &Value::from("explored")));
    assert_eq!(report["exploration"]["orders"], 40320);
}
