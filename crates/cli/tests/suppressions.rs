//! `finishline check --suppressions FILE`, end to end.
//!
//! The program is the paper's second figure with `size` 3. It has two distinct races, both in
//! `main` and on `B`, and both with the write at line 27: one with line 17, at `B[0]`, and one with
//! line 21, at `B[1]` and `B[2]`.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FIGURE: &str = "programs/esp-bags/figures/fig2.fin";

struct Answer {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Answer {
    fn report(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", self.stderr))
    }
}

/// Runs `finishline check` in the root of the repository.
fn check(arguments: &[&str]) -> Answer {
    let output = Command::new(env!("CARGO_BIN_EXE_finishline"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .arg("check")
        .args(arguments)
        .output()
        .expect("finishline runs");
    Answer {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// A scratch file for one test.
fn file(name: &str, text: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("suppressions");
    fs::create_dir_all(&folder).expect("a folder for the test");
    let path = folder.join(name);
    fs::write(&path, text).expect("the file can be written");
    path.to_str().expect("UTF-8").to_owned()
}

/// The figure's JSON report under these suppressions.
fn figure(name: &str, entries: &str) -> Answer {
    let suppressions = file(name, entries);
    let arguments = [
        "--suppressions",
        &suppressions,
        "--format",
        "json",
        FIGURE,
        "3",
    ];
    check(&arguments)
}

/// The lines of the two accesses of each listed race.
fn lines(report: &Value) -> Vec<[u64; 2]> {
    let races = report["races"].as_array().expect("races");
    let line = |race: &Value, access: &str| race[access]["place"]["line"].as_u64();
    races
        .iter()
        .map(|race| ["first", "second"].map(|access| line(race, access).expect("a line")))
        .collect()
}

#[test]
fn each_form_suppresses_what_it_names() {
    let (both, first, second) = ([[17, 27], [21, 27]], [[17, 27]], [[21, 27]]);
    let cases: [(&str, &str, &[[u64; 2]]); 13] = [
        ("nothing", "# no entry\n\n", &both),
        ("function", "race:main", &[]),
        ("function-pattern", "race:m*", &[]),
        ("line-of-both", "fig2.fin:27", &[]),
        ("line-of-the-first", "esp-bags/figures/fig2.fin:17", &second),
        ("line-of-the-second", "programs/*.fin:21", &first),
        ("location", "B[0]", &second),
        ("one-location-of-two", "B[1]", &both),
        ("all-locations", "B[1]\nB[2]", &first),
        ("object", "B", &[]),
        ("pattern", "B[*]", &[]),
        ("two-forms", "fig2.fin:17\nB[1]\nB[2]", &[]),
        ("another-object", "A\nB#2\nrace:fig2\nfig2.fin:14", &both),
    ];
    for (name, entries, listed) in cases {
        let answer = figure(name, entries);
        let report = answer.report();
        assert_eq!(lines(&report), listed, "{name}");
        let status = if listed.is_empty() { 0 } else { 66 };
        assert_eq!(answer.status, Some(status), "{name}");
        assert_eq!(report["exit_status"], status, "{name}");
        assert_eq!(report["suppressed_races"], 2 - listed.len(), "{name}");
        // The verdict does not change.
        assert_eq!(report["verdict"], "race", "{name}");
        assert_eq!(report["distinct_races"], 2, "{name}");
        assert_eq!(
            report["racing_locations"]["names"],
            json!(["B[0]", "B[1]", "B[2]"]),
            "{name}"
        );
    }
}

#[test]
fn suppressed_races_take_no_room_of_max_races_and_keep_their_place_in_the_run() {
    let suppressions = file("max-races", "fig2.fin:17");
    let options = ["--suppressions", &suppressions, "--max-races", "1"];
    let json = check(&[&options[..], &["--format", "json", FIGURE, "3"]].concat()).report();
    assert_eq!(lines(&json), [[21, 27]]);
    assert_eq!(json["races"][0]["may_follow"], true);
    let text = check(&[&options[..], &[FIGURE, "3"]].concat()).stderr;
    assert!(!text.contains("--max-races"), "{text}");
}

#[test]
fn the_text_says_how_many_are_suppressed() {
    for (name, entries, expected) in [
        ("text-all", "B", "all 2 distinct races are suppressed by "),
        ("text-one", "B[0]", "1 more distinct race is suppressed by "),
    ] {
        let suppressions = file(name, entries);
        let text = check(&["--suppressions", &suppressions, FIGURE, "3"]).stderr;
        // The path may be too long for the line.
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = format!("suppressed: {expected}{suppressions}");
        assert!(text.contains(&expected), "{expected}\n{text}");
        assert!(text.contains("race: two conflicting accesses"), "{text}");
        assert!(
            text.contains("racing locations (3): B[0], B[1], B[2]"),
            "{text}"
        );
    }
}

#[test]
fn a_suppressed_race_is_still_a_result_of_sarif() {
    let suppressions = file("sarif", "B[0]");
    let arguments = [
        "--suppressions",
        &suppressions,
        "--format",
        "sarif",
        FIGURE,
        "3",
    ];
    let log = check(&arguments).report();
    let results = log["runs"][0]["results"].as_array().expect("results");
    let marked: Vec<_> = results
        .iter()
        .map(|result| {
            let region = &result["locations"][0]["physicalLocation"]["region"];
            (region["startLine"].as_u64(), result["suppressions"].clone())
        })
        .collect();
    let expected = [
        (Some(21), json!([])),
        (Some(17), json!([{"kind": "external"}])),
    ];
    assert_eq!(marked, expected);
}

#[test]
fn a_failure_after_suppressed_races_is_the_status() {
    let program = file(
        "fails.fin",
        "var total = 0;\nfn main() {\n    async { total = 1; }\n    total = 2;\n    assert(total == 3);\n}\n",
    );
    for (name, entries, status) in [("fails-yes", "total", 3), ("fails-no", "other", 66)] {
        let suppressions = file(name, entries);
        let answer = check(&[
            "--suppressions",
            &suppressions,
            "--format",
            "json",
            &program,
        ]);
        assert_eq!(answer.status, Some(status), "{name}: {}", answer.stderr);
        assert_eq!(answer.report()["verdict"], "race", "{name}");
        assert_eq!(
            answer.report()["failure"]["kind"],
            "assert-failed",
            "{name}"
        );
    }
}

#[test]
fn entries_that_match_nothing_are_noted() {
    let suppressions = file("stale", "# known\nB[1]\n\nC\nrace:helper\nfig2.fin:14\n");
    let options = [
        "--suppressions",
        &suppressions,
        "--format",
        "json",
        FIGURE,
        "3",
    ];
    let notes = |answer: &Answer| -> Vec<String> {
        let notes = answer
            .stderr
            .lines()
            .filter(|line| line.starts_with("note: "));
        notes.map(str::to_owned).collect()
    };
    let expected = [(4, "C"), (5, "race:helper"), (6, "fig2.fin:14")].map(|(line, entry)| {
        format!("note: {suppressions}:{line}: `{entry}` matches no race of this run")
    });
    assert_eq!(notes(&check(&options)), expected);
    let quiet = check(&[&["--quiet"], &options[..]].concat());
    assert_eq!(notes(&quiet), Vec::<String>::new());
    assert_eq!(quiet.status, Some(66));
}

#[test]
fn a_file_that_cannot_be_understood_or_read_is_an_error() {
    let answer = figure("malformed", "B\nrace:\n\nfig2.fin:0\n");
    assert_eq!(answer.status, Some(2));
    assert_eq!(answer.stdout, "");
    for line in [2, 4] {
        let place = format!("malformed:{line}: ");
        let told = answer
            .stderr
            .lines()
            .any(|told| told.starts_with("error: ") && told.contains(&place));
        assert!(told, "{line}: {}", answer.stderr);
    }

    let missing = check(&["--suppressions", "no/such/file", FIGURE, "3"]);
    assert_eq!(missing.status, Some(2));
    assert!(
        missing.stderr.contains("can't read no/such/file"),
        "{}",
        missing.stderr
    );
}

#[test]
fn in_a_clean_run_every_entry_is_stale() {
    let suppressions = file("clean", "B\n");
    let clean = "programs/esp-bags/figures/fig2_fixed.fin";
    let answer = check(&["--suppressions", &suppressions, clean, "3"]);
    assert_eq!(answer.status, Some(0));
    let note = format!("note: {suppressions}:1: `B` matches no race of this run");
    assert!(answer.stderr.contains(&note), "{}", answer.stderr);
}
