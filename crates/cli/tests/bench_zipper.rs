//! `finishline bench zipper` on the real binary, with small graphs: the tables, the files, and
//! refused options.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn zipper(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_finishline"))
        .args(["bench", "zipper"])
        .args(arguments)
        // The source tree is not needed: the programs are part of the tool.
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn scratch(name: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.display().to_string()
}

#[test]
fn the_whole_table_is_measured_in_every_form() {
    let [csv, json, svg] = ["zipper.csv", "zipper.json", "zipper.svg"].map(scratch);
    let output = zipper(&[
        "--runs",
        "2",
        "--max-nodes",
        "3000",
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
        "antidep2_var_yes",
        "medians of 2 rounds",
        "finishes of 100 tasks",
    ] {
        assert!(table.contains(expected), "no {expected}\n{table}");
    }

    let report: Value =
        serde_json::from_slice(&std::fs::read(json).expect("the JSON")).expect("JSON");
    let rows = |field: &str| report[field].as_array().expect("rows").clone();
    let programs = rows("programs");
    assert_eq!(programs.len(), 27);
    // The nodes of the paper's table, in its order.
    let nodes: Vec<u64> = programs
        .iter()
        .filter_map(|row| row["nodes"].as_u64())
        .collect();
    let of_paper = [
        11, 11, 11, 11, 11, 11, 13, 13, 15, 17, 19, 23, 23, 27, 27, 27, 37, 43, 43, 45, 45, 53, 62,
        207, 207, 2005, 2005,
    ];
    assert_eq!(nodes, of_paper);
    assert_eq!(report["failures"], serde_json::json!([]));
    for row in &programs {
        let has_promises = row["graph"].as_str().expect("a name").contains("futures");
        assert_eq!(row["zipper_seconds"].is_null(), has_promises, "{row}");
        for field in ["cg_seconds", "labels_seconds", "labels_to_cg"] {
            let [least, median, greatest] = ["least", "median", "greatest"]
                .map(|which| row[field][which].as_f64().expect("a number"));
            assert!(
                0.0 < least && least <= median && median <= greatest,
                "{row}"
            );
        }
    }
    // Two sizes of each of two shapes.
    assert_eq!(rows("growth").len(), 4);

    let csv = std::fs::read_to_string(csv).expect("the CSV");
    let cells: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(cells.len(), 1 + 27 + 4);
    assert!(cells.iter().all(|count| *count == cells[0]), "{csv}");

    let svg = std::fs::read_to_string(svg).expect("the SVG");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    // A line for each checker and shape.
    assert_eq!(svg.matches("class=\"curve ").count(), 6);
}

#[test]
fn a_checker_that_takes_too_long_is_left_out() {
    let json = scratch("short.json");
    let output = zipper(&[
        "--only",
        "add",
        "--runs",
        "1",
        "--max-nodes",
        "3000",
        "--timeout",
        "0",
        "--json",
        &json,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: Value =
        serde_json::from_slice(&std::fs::read(json).expect("the JSON")).expect("JSON");
    // The smallest graph is always measured, the others never.
    let measured: Vec<bool> = (report["growth"].as_array().expect("rows").iter())
        .map(|row| row["cg_seconds"].is_object())
        .collect();
    assert_eq!(measured, [true, false, true, false]);
    assert_eq!(report["programs"].as_array().expect("rows").len(), 1);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (arguments, reason) in [
        (&["--only", "fasta"][..], "the programs are clumped_access"),
        (&["--runs", "0"], "0 is not in"),
        (&["--timeout", "soon"], "a number of seconds"),
        (&["--svg", "no/such/folder.svg"], "can't write"),
    ] {
        let output = zipper(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            text(&output.stderr).contains(reason),
            "{}",
            text(&output.stderr)
        );
    }
}
