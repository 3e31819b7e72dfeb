//! `merge` of the parts of a suite of tests. The parts are made by hand; that `cargo finishline`
//! writes such parts is tested with it.

use finishline_answer::answer::{About, Failure};
use finishline_answer::partition::Partition;
use finishline_answer::place::SourceLines;
use finishline_answer::process::{Limit, Process, ProcessStatistics};
use finishline_answer::{Answer, Extent, Suite, Verdict};
use finishline_model::Detector;
use finishline_model::kinds::rayon::Division;
use finishline_report::{Format, Style};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn clean(program: &str, test: &str) -> Answer {
    Answer {
        program: program.to_owned(),
        arguments: vec![],
        verdict: Verdict::Certified,
        findings: vec![],
        distinct: 0,
        suppressed: None,
        failure: None,
        lines: SourceLines::default(),
        about: About::Process(Process {
            test: Some(test.to_owned()),
            replay: format!("cargo finishline test -- --exact {test}"),
            detector: Detector::EspBags,
            extent: Extent::EverySchedule,
            because: None,
            unseen: vec![],
            started: vec![],
            stopped: None,
            orders: None,
            unsafe_code: None,
            known: None,
            status: 0,
            logical_threads: 16,
            division: Division::Items,
            statistics: ProcessStatistics::default(),
        }),
    }
}

fn racy(program: &str, test: &str) -> Answer {
    Answer {
        verdict: Verdict::Race,
        distinct: 1,
        ..clean(program, test)
    }
}

fn failed(program: &str, test: &str) -> Answer {
    let failure = Failure {
        kind: Failure::PROCESS,
        message: "the test failed".to_owned(),
        schedule: None,
        at: None,
        near: None,
        unchecked: None,
        waiting: vec![],
        cycle: None,
    };
    Answer {
        failure: Some(failure),
        ..clean(program, test)
    }
}

fn idle(program: &str, test: &str) -> Answer {
    let mut answer = clean(program, test);
    answer.verdict = Verdict::Unknown;
    if let About::Process(process) = &mut answer.about {
        process.because = Some(Limit::NothingParallel);
    }
    answer
}

/// The path of a file of this name.
fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("suites.{name}"));
    path.display().to_string()
}

/// Writes the report of a part to a file.
fn part(name: &str, number: usize, of: usize, answers: Vec<Answer>) -> String {
    let option = format!("--partition={number}/{of}");
    let command = ["cargo", "finishline", "test", &option, "--release"];
    let suite = Suite {
        command: command.map(str::to_owned).to_vec(),
        answers,
        notes: vec!["doc tests are skipped".to_owned()],
        partition: Some(Partition { number, of }),
        elsewhere: 1,
        ..Suite::default()
    };
    written(name, &suite)
}

fn written(name: &str, suite: &Suite) -> String {
    let mut report = Vec::new();
    finishline_report::write_suite(suite, Format::Json, Style::default(), &mut report)
        .expect("a Vec takes everything");
    changed(name, &String::from_utf8(report).expect("text"))
}

fn changed(name: &str, text: &str) -> String {
    let path = file(name);
    fs::write(&path, text).expect("it can be written");
    path
}

fn merge(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_finishline"));
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .arg("merge")
        .args(arguments)
        .output()
        .expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (status.code(), text(&stdout), text(&stderr))
}

#[test]
fn the_parts_are_one_report() {
    let one = part("one.1", 1, 3, vec![clean("b", "b::z"), clean("a", "a::y")]);
    let two = part("one.2", 2, 3, vec![racy("a", "a::x"), idle("b", "b::a")]);
    let three = part("one.3", 3, 3, vec![failed("a", "a::z")]);
    let all = [one.as_str(), &two, &three];
    let (status, stdout, stderr) = merge(&all);
    assert_eq!((status, &*stdout), (Some(66), ""), "{stderr}");
    let summary = "summary: 5 processes: 3 certified, 1 race, 1 with nothing parallel\n";
    assert!(stderr.contains(summary), "{stderr}");
    assert_eq!(
        stderr.matches("doc tests are skipped").count(),
        1,
        "{stderr}"
    );

    // In whatever order the parts are named.
    for parts in [[&one, &two, &three], [&three, &one, &two]] {
        let parts = parts.map(String::as_str);
        let (status, stdout, _) = merge(&[&parts[..], &["--format=json"]].concat());
        let report: Value = serde_json::from_str(&stdout).expect("JSON and nothing else");
        assert_eq!(
            (status, &report["exit_status"]),
            (Some(66), &Value::from(66))
        );
        let command = ["cargo", "finishline", "test", "--release"];
        assert_eq!(report["command"], Value::from(command.to_vec()));
        assert_eq!(report["partition"], Value::Null);
        let reports = report["reports"].as_array().expect("a list");
        let mut tests: Vec<&str> = reports
            .iter()
            .filter_map(|it| it["test"].as_str())
            .collect();
        let first = tests.iter().position(|test| test.starts_with("a::"));
        // A program's tests come together and in their order.
        assert!(first == Some(0) || first == Some(2), "{tests:?}");
        tests.sort_unstable();
        assert_eq!(tests, ["a::x", "a::y", "a::z", "b::a", "b::z"]);
    }
    for (format, has) in [
        ("html", "<!doctype html>"),
        ("sarif", "\"version\": \"2.1.0\""),
        (
            "junit",
            "<testsuites name=\"cargo finishline test --release\" tests=\"5\"",
        ),
    ] {
        let output = file(&format!("one.{format}"));
        let (status, stdout, stderr) =
            merge(&[&all[..], &["--format", format, "-o", &output]].concat());
        assert_eq!((status, &*stdout), (Some(66), ""), "{stderr}");
        let report = fs::read_to_string(&output).expect("a report");
        assert!(report.contains(has), "{format}: {report}");
    }
}

#[test]
fn the_status_is_that_of_the_whole() {
    for (name, first, second, status) in [
        ("clean", clean("a", "x"), idle("a", "y"), 0),
        ("failed", clean("a", "x"), failed("a", "y"), 3),
        ("race", failed("a", "x"), racy("a", "y"), 66),
        ("idle", idle("a", "x"), idle("a", "y"), 4),
    ] {
        let one = part(&format!("{name}.1"), 1, 2, vec![first]);
        let two = part(&format!("{name}.2"), 2, 2, vec![second]);
        assert_eq!(merge(&[&one, &two]).0, Some(status), "{name}");
    }
}

#[test]
fn what_is_no_part_is_refused_with_its_position() {
    let a = part("refused.1", 1, 2, vec![clean("a", "x")]);
    let b = part("refused.2", 2, 2, vec![racy("a", "y")]);
    let (a, b) = (a.as_str(), b.as_str());
    let three = part("refused.3", 3, 3, vec![]);
    let text = fs::read_to_string(b).expect("a part");
    let damaged = changed("refused.damaged", &text.replace("--release", "--offline"));
    let other = {
        let mut suite = finishline_report::read_part(&text).expect("a part");
        suite.command.push("--offline".to_owned());
        written("refused.other", &suite)
    };
    let lines = text.lines().count();
    let cut = changed("refused.cut", &text[..text.len() - 3]);
    let old = changed("refused.old", &text.replacen("0.1.0", "0.0.9", 1));
    let comma = changed("refused.comma", "{\n  \"a\": 1,,\n}\n");
    let tool = changed("refused.tool", "{\n  \"tool\": {}\n}\n");
    let whole = finishline_report::read_part(&text).expect("a part");
    let whole = Suite {
        partition: None,
        ..whole
    };
    let whole = written("refused.whole", &whole);
    let list = changed("refused.list", "[]\n");
    let record = changed("refused.explore", "{\"finishline\":\"0.1.0\"}\n");
    let at_the_end = format!("refused.cut:{}:", lines - 1);
    for (arguments, message) in [
        (&[a][..], "missing of 2 parts: 2"),
        (&[a, a], "part 1 of 2 is there twice"),
        (&[b, a, b], "part 2 of 2 is there twice"),
        (&[a, &three], "is one of 3 parts"),
        (
            &[a, &other],
            "are no parts of one suite: `cargo finishline test",
        ),
        (&[a, &damaged], "refused.damaged: the part is damaged"),
        (&[a, &cut], &at_the_end),
        (&[a, &old], "refused.old: the part is of Finishline 0.0.9"),
        (&[a, &comma], "refused.comma:2:10: this is no report"),
        (&[a, &tool], "refused.tool:2:12: this is no report"),
        (&[a, &whole], "refused.whole: this report is of no part"),
        (&[a, &list], "refused.list:1:"),
        (&[a, &record], "refused.explore:"),
        (&[&list], "this is no part of an answer"),
        (&[a, b, "-o", a], "is a part: the report needs another file"),
        (
            &[a, b, "--max-races=1"],
            "belong to `cargo finishline test`",
        ),
        (
            &[a, b, "--suppressions=x"],
            "belong to `cargo finishline test`",
        ),
        (&[a, b, "--format=yaml"], "the formats are"),
    ] {
        let (status, stdout, stderr) = merge(arguments);
        assert_eq!((status, &*stdout), (Some(2), ""), "{arguments:?}");
        assert!(stderr.contains(message), "{arguments:?}: {stderr}");
    }
    // Neither was a part overwritten.
    assert_eq!(merge(&[a, b]).0, Some(66));
    // White space does not matter.
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let on_a_line = changed("refused.line", &value.to_string());
    assert_eq!(merge(&[a, &on_a_line]).0, Some(66));
}
