//! `finishline bench fastracer` on the real binary, at size small: the tables, the files, words in
//! place of figures, and refused options.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn finishline(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_finishline"))
        .args(arguments)
        // The source tree is not needed: the programs are part of the tool.
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .expect("the binary starts")
}

fn fastracer(arguments: &[&str]) -> Output {
    let small = ["bench", "fastracer", "--size", "small", "--runs", "1"];
    finishline(&[&small, arguments].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn scratch(name: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.display().to_string()
}

fn read_json(path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("the JSON")).expect("JSON")
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().expect("a list")
}

/// The lists have an object for each configuration. They are in the same order everywhere.
fn configurations(report: &Value) -> Vec<&str> {
    let overall = list(report, "overall").iter();
    let alone = overall.filter(|one| one["threads"] == 1);
    alone
        .map(|one| one["configuration"].as_str().expect("a name"))
        .collect()
}

#[test]
fn every_form_of_the_table_is_written() {
    let [csv, json, svg] = ["fastracer.csv", "fastracer.json", "fastracer.svg"].map(scratch);
    let output = fastracer(&[
        "--only",
        "sort,karatsuba,sort_racy",
        "--threads",
        "2",
        "--csv",
        &csv,
        "--json",
        &json,
        "--svg",
        &svg,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    let table = text(&output.stdout);
    for expected in [
        "Slowdowns on 2 threads",
        "Slowdowns on 1 thread",
        "Speedups of 2 threads",
        "Memory on 2 threads",
        "Locations that race",
        "geometric mean",
        "spd3",
    ] {
        assert!(table.contains(expected), "no {expected}\n{table}");
    }

    let report = read_json(&json);
    assert_eq!(report["table"], "fastracer");
    assert_eq!(report["threads"], serde_json::json!([1, 2]));
    assert_eq!(report["failures"], serde_json::json!([]));
    let names = configurations(&report);
    assert!(names.contains(&"spd3"), "{names:?}");
    let programs = list(&report, "programs");
    // In the paper's order, not in that of the option, with the tasks of the README.
    let known: Vec<(&str, u64)> = (programs.iter())
        .map(|row| {
            let tasks = row["tasks"].as_u64().expect("a number");
            (row["program"].as_str().expect("a name"), tasks)
        })
        .collect();
    assert_eq!(known, [("karatsuba", 24), ("sort", 38)]);
    for row in programs {
        assert!(row["accesses"].as_u64() > Some(0), "{row}");
        for (run, threads) in list(row, "runs").iter().zip([1, 2]) {
            assert_eq!(run["threads"], threads);
            let seconds = run["seconds"]["median"].as_f64().expect("a number");
            let checked = list(run, "checked");
            assert_eq!(checked.len(), names.len());
            for (one, name) in checked.iter().zip(&names) {
                assert_eq!(one["configuration"], *name);
                assert_eq!(one["failure"], Value::Null, "{one}");
                let number = |field: &str| one[field]["median"].as_f64().expect("a number");
                let ratio = number("seconds") / seconds;
                // With one round, the ratio of the round is the ratio of the medians.
                assert!((number("slowdown") / ratio - 1.0).abs() < 1e-9, "{run}");
                assert!(number("speedup") > 0.0);
                let accesses = one["single_checks"].as_u64().expect("a number")
                    + one["in_ranges"].as_u64().expect("a number");
                if one["checks"] == "sequential" {
                    assert_eq!(Some(accesses), row["accesses"].as_u64(), "{run}");
                }
            }
        }
    }
    let racy = &list(&report, "racy")[0];
    // As many as the comment of the program lists.
    assert_eq!(racy["serial_locations"], 29);
    assert!(racy["distinct_races"].as_u64() > Some(0), "{racy}");
    assert_eq!(list(racy, "found").len(), 2 * names.len());
    for found in list(racy, "found") {
        assert_eq!(found["racing_locations"], 29, "{found}");
    }

    let csv = std::fs::read_to_string(csv).expect("the CSV");
    let cells: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    // For each number of threads: two programs with and without checks, and the twin; its check on
    // one thread.
    assert_eq!(
        cells.len(),
        1 + 2 * (2 * (1 + names.len()) + names.len()) + 1
    );
    assert!(cells.iter().all(|count| *count == cells[0]), "{csv}");

    let svg = std::fs::read_to_string(svg).expect("the SVG");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("class=\"bar ").count(), 2 * names.len());
}

#[test]
fn a_detector_without_figures_has_a_word_in_their_place() {
    let [csv, json, svg] = ["words.csv", "words.json", "words.svg"].map(scratch);
    let files = ["--csv", &csv, "--json", &json, "--svg", &svg];
    // This program has locks, for which spd3 has no rule.
    let only = ["--only", "fluidanimate,fluidanimate_racy", "--threads", "1"];
    let output = fastracer(&[&only[..], &files].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(
        table.contains("fluidanimate, spd3: it has no rule for lock"),
        "{table}"
    );
    assert!(!table.contains("Speedups"), "{table}");
    let report = read_json(&json);
    assert_eq!(report["threads"], serde_json::json!([1]));
    let row = &list(&report, "programs")[0];
    assert_eq!(row["tasks"], 64);
    let is_spd3 = |one: &&Value| one["configuration"] == "spd3";
    let checked = list(&list(row, "runs")[0], "checked").iter();
    let spd3 = checked.clone().find(is_spd3).expect("a configuration");
    assert_eq!(spd3["failure"]["kind"], "unsupported");
    assert_eq!(spd3["slowdown"], Value::Null);
    let overall = list(&report, "overall").iter().find(is_spd3);
    let overall = overall.expect("a configuration");
    assert_eq!(overall["programs"], 0);
    assert_eq!(overall["geometric_mean"], Value::Null);
    let found = list(&list(&report, "racy")[0], "found")
        .iter()
        .find(is_spd3);
    assert_eq!(
        found.expect("a configuration")["failure"]["kind"],
        "unsupported"
    );
    let csv = std::fs::read_to_string(csv).expect("the CSV");
    assert!(csv.contains("fluidanimate,small,1,1,spd3,unsupported,64,"));
    let svg = std::fs::read_to_string(svg).expect("the SVG");
    assert!(svg.contains("spd3: unsupported") && svg.contains("spd3, no figures"));
}

#[test]
fn a_program_that_takes_too_long_is_told() {
    let output = fastracer(&["--only", "karatsuba,sort_racy", "--timeout", "0"]);
    // Without its run without checks a program has no row.
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(
        table.contains("karatsuba: failed: stopped after 0 s"),
        "{table}"
    );
    assert!(
        table.contains("sort_racy, serial: stopped after 0 s"),
        "{table}"
    );
    assert!(table.contains("timeout"), "{table}");
}

#[test]
fn one_measurement_on_threads_is_one_line_of_json() {
    for (under, tasks) in [
        ("threads:1", Value::Null),
        ("threads:2", Value::Null),
        ("threads:2:spd3:sequential", 24.into()),
    ] {
        let output = finishline(&["bench-fin", "fastracer/karatsuba", under, "0"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(answer["end"], "measured", "{answer}");
        assert_eq!(answer["tasks"], tasks, "{answer}");
        assert!(answer["run_seconds"].as_f64() > Some(0.0), "{answer}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (arguments, reason) in [
        (
            &["--only", "bodytrack"][..],
            "the programs are blackscholes",
        ),
        (&["--size", "D"], "the sizes are small, A, B, C"),
        (&["--threads", "0"], "a whole number from 1"),
        (&["--timeout", "soon"], "a number of seconds"),
        (&["--svg", "no/such/folder.svg"], "can't write"),
    ] {
        let output = finishline(&[&["bench", "fastracer"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let message = text(&output.stderr);
        assert!(message.contains(reason), "{message}");
    }
    let output = finishline(&["bench-fin", "zipper/add", "run"]);
    assert_eq!(output.status.code(), Some(2));
}
