//! `finishline bench esp-bags` on the real binary, at size small: the tables, the files, and
//! refused options.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn finishline(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_finishline"))
        .args(arguments)
        // The source tree is not needed: the programs are part of the tool.
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .expect("the binary starts")
}

fn esp_bags(arguments: &[&str]) -> Output {
    finishline(&[&["bench", "esp-bags"], arguments].concat())
}

fn status(output: &Output) -> Option<i32> {
    output.status.code()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

const SMALL: [&str; 4] = ["--size", "small", "--runs", "1"];

#[test]
fn every_form_of_the_table_is_written() {
    let [csv, json, svg] =
        ["bench.csv", "bench.json", "bench.svg"].map(|name| scratch(name).display().to_string());
    // Longer than the new contents: nothing of it may be left.
    std::fs::write(&csv, "x".repeat(100_000)).expect("the scratch file");
    let files = ["--csv", &csv, "--json", &json, "--svg", &svg];
    let only = ["--only", "fasta,crypt"];
    let output = esp_bags(&[&SMALL[..], &only, &files].concat());
    assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");

    let table = text(&output.stdout);
    for expected in [
        "crypt ",
        "fasta ",
        "geometric mean",
        "worst",
        "Rust -O",
        "no target is for their times",
        "target 50.0 ms",
    ] {
        assert!(table.contains(expected), "no {expected}\n{table}");
    }
    assert!(!table.contains("target 2.50x"), "{table}");

    let csv = std::fs::read_to_string(csv).expect("the CSV");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 3, "{csv}");
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
    // In the paper's order, not in that of the option.
    assert_eq!([rows[1][0], rows[2][0]], ["crypt", "fasta"]);

    let json = std::fs::read(json).expect("the JSON");
    let report: Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(report["size"], "small");
    assert_eq!(report["rounds"], 1);
    assert_eq!(report["failures"], serde_json::json!([]));
    // As in programs/esp-bags/README.md.
    let tasks = |index: usize| report["programs"][index]["tasks"].as_u64();
    assert_eq!([tasks(0), tasks(1)], [Some(6), Some(4)]);
    for program in report["programs"].as_array().expect("programs") {
        let checks = &program["checks"][0];
        let number = |value: &Value| value.as_f64().expect("a number");
        let seconds = number(&program["seconds"]["median"]);
        let ratio = number(&checks["seconds"]["median"]) / seconds;
        // With one round, the ratio of the round is the ratio of the medians.
        assert!((number(&checks["slowdown"]["median"]) / ratio - 1.0).abs() < 1e-9);
        assert!(seconds > 0.0 && number(&program["compile_seconds"]) > 0.0);
    }
    let rust: Vec<&Value> = report["rust"].as_array().expect("rows").iter().collect();
    assert_eq!(rust.len(), 1);
    assert_eq!(rust[0]["program"], "crypt");

    let svg = std::fs::read_to_string(svg).expect("the SVG");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    // For each program one bar with all checks, one optimised and one with proofs.
    assert_eq!(svg.matches("class=\"bar ").count(), 6);
}

#[test]
fn a_breakdown_measures_each_pass_alone_and_counts_checks() {
    let json = scratch("breakdown.json").display().to_string();
    let only = ["--only", "sor", "--breakdown", "--json", &json];
    let output = esp_bags(&[&SMALL[..], &only].concat());
    assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    for expected in ["each pass alone", "in percent of all", "Checks, optimised"] {
        assert!(table.contains(expected), "no {expected}\n{table}");
    }
    let json = std::fs::read(json).expect("the JSON");
    let report: Value = serde_json::from_slice(&json).expect("JSON");
    let kinds: Vec<&str> = (report["overall"].as_array().expect("columns").iter())
        .map(|column| column["checks"].as_str().expect("a name"))
        .collect();
    assert_eq!(kinds.first(), Some(&"full"));
    assert_eq!(kinds.last(), Some(&"with_proofs"));
    // Every access, all checks, seven passes alone, all except proofs, all.
    assert_eq!(kinds.len(), 11);
    let sor = &report["programs"][0];
    let accesses = sor["accesses"].as_i64().expect("they are counted");
    for checks in sor["checks"].as_array().expect("checks") {
        let number = |field: &str| checks[field].as_i64().expect("a number");
        let parts = number("single_checks") + number("in_ranges") + number("removed");
        assert_eq!(parts, accesses, "{checks}");
        assert!(number("single_checks") <= accesses, "{checks}");
        assert!(checks["optimise_seconds"].as_f64() < checks["compile_seconds"].as_f64());
        match checks["checks"].as_str() {
            Some("full") => assert_eq!(number("single_checks"), accesses),
            // Setting up the grid and comparing it with a serial sweep is sequential.
            _ => assert!(number("removed") > 0, "{checks}"),
        }
    }
}

#[test]
fn one_measurement_is_one_line_of_json() {
    // Whether anything is checked. For sor everything is proved.
    for (configuration, tasks, checks) in [
        ("run", Value::Null, false),
        ("check:sequential", 20.into(), true),
        ("check:read-only,ranges", 20.into(), true),
        ("check:unproved", 20.into(), true),
        ("check:optimised", 20.into(), false),
        ("rust", Value::Null, false),
    ] {
        let output = finishline(&["bench-one", "sor", "small", configuration]);
        assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
        let line = text(&output.stdout);
        assert_eq!(line.lines().count(), 1, "{line}");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(answer["end"], "measured", "{line}");
        assert_eq!(answer["tasks"], tasks, "{line}");
        assert!(answer["run_seconds"].as_f64() > Some(0.0), "{line}");
        assert!(answer["optimise_seconds"].as_f64() <= answer["compile_seconds"].as_f64());
        let checked =
            answer["single_checks"].as_u64() > Some(0) || answer["in_ranges"].as_u64() > Some(0);
        assert_eq!(checked, checks, "{line}");
        assert!(answer["peak_bytes"].as_u64() >= answer["start_bytes"].as_u64());
        let printed = answer["printed"].as_str().expect("a line");
        assert!(printed.starts_with("sor 6 total "), "{line}");
    }
}

#[test]
fn unknown_names_are_refused() {
    let output = esp_bags(&["--only", "crypt,crypto"]);
    assert_eq!(status(&output), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("crypto"), "{message}");
    assert!(
        message.contains("the programs are crypt, lufact, moldyn"),
        "{message}"
    );

    let output = esp_bags(&["--size", "D"]);
    assert_eq!(status(&output), Some(2));
    let message = text(&output.stderr);
    assert!(
        message.contains("the sizes are small, A, B, C"),
        "{message}"
    );

    assert_eq!(status(&esp_bags(&["--runs", "0"])), Some(2));
    assert_eq!(status(&finishline(&["bench"])), Some(2));
    assert_eq!(status(&finishline(&["bench", "sp-bags"])), Some(2));

    for (configuration, expected) in [
        ("check", "check: and some passes"),
        ("check:all", "there is no pass `all`"),
    ] {
        let output = finishline(&["bench-one", "sor", "small", configuration]);
        assert_eq!(status(&output), Some(2));
        let message = text(&output.stderr);
        assert!(message.contains(expected), "{message}");
    }

    let output = finishline(&["bench-one", "fasta", "small", "rust"]);
    assert_eq!(status(&output), Some(2));
    let message = text(&output.stderr);
    assert!(
        message.contains("there is one of crypt, series, sor, matmul"),
        "{message}"
    );
}

#[test]
fn a_file_that_can_not_be_written_is_told_before_anything_is_measured() {
    let path = scratch("no such directory").join("bench.csv");
    let output = esp_bags(&["--size", "C", "--csv", &path.display().to_string()]);
    assert_eq!(status(&output), Some(2));
    let message = text(&output.stderr);
    assert!(
        message.contains("can't write") && message.contains("bench.csv"),
        "{message}"
    );
}

#[test]
fn no_file_is_written_over_another() {
    let path = scratch("both").display().to_string();
    // One file with two names.
    let other_name = scratch(".").join("both").display().to_string();
    for other in [&path, &other_name] {
        for [a, b] in [["--csv", "--json"], ["--json", "--svg"], ["--csv", "--svg"]] {
            // The measurement would take minutes.
            let output = esp_bags(&["--size", "C", a, &path, b, other]);
            assert_eq!(status(&output), Some(2));
            let message = text(&output.stderr);
            assert!(message.contains("are one file"), "{message}");
        }
    }
    // A device has room for everything.
    let nowhere = ["--csv", "/dev/null", "--json", "/dev/null"];
    let output = esp_bags(&[&SMALL[..], &["--only", "fasta"], &nowhere].concat());
    assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
}

#[test]
fn the_help_does_not_show_the_single_measurement() {
    let help = text(&finishline(&["--help"]).stdout);
    assert!(
        help.contains("bench ") && !help.contains("bench-one"),
        "{help}"
    );
}
