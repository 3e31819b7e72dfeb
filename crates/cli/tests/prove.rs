//! `finishline prove` and `finishline bench prove` on the real binary: answers, options, formats
//! and exit statuses.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// Runs the binary in the folder of scratch files.
fn finishline(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_finishline"))
        .args(arguments)
        .current_dir(folder())
        .output()
        .expect("the binary starts")
}

fn status(output: &Output) -> i32 {
    output.status.code().expect("not ended by a signal")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn scratch(name: &str, contents: &str) -> String {
    std::fs::write(folder().join(name), contents).expect("the scratch file");
    name.to_owned()
}

/// The report about a program, which must match its schema, and the exit status.
fn prove(file: &str, options: &[&str]) -> (Value, i32) {
    let output = finishline(&[&["prove", file, "--format", "json"], options].concat());
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{file}: {error}: {}", text(&output.stderr)));
    let schema = std::fs::read(root().join("docs/report.schema.json")).expect("the schema");
    let schema: Value = serde_json::from_slice(&schema).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let errors: Vec<String> = validator
        .iter_errors(&report)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{file}: {errors:?}");
    assert_eq!(report["exit_status"], status(&output));
    (report, status(&output))
}

/// Both loops write `B[N]`.
const RACY: &str = "\
fn main(N: int) {
    let B = new int[2 * N + 1];
    finish {
        async { for i in 0..=N { B[i] = i; } }
        for j in N..=2 * N { B[j] = -j; }
    }
}
";

fn proved() -> String {
    RACY.replace("N..=2", "N + 1..=2")
}

const INDIRECT: &str = "\
fn main(N: int) {
    let a = new int[N];
    let b = new int[N];
    for k in 0..N { b[k] = k * k % N; }
    forall i in 0..N {
        a[b[i]] = i;
    }
}
";

#[test]
fn a_race_comes_with_its_smallest_case_which_a_run_confirms() {
    let file = scratch("prove_racy.fin", RACY);
    let (report, status) = prove(&file, &[]);
    assert_eq!(status, 66);
    assert_eq!(report["verdict"], "race");
    assert_eq!(report["parameters"], json!(["N"]));
    let [race] = &report["races"].as_array().expect("races")[..] else {
        panic!("{report:#}");
    };
    assert_eq!(race["location"], "B[N]");
    let witness = &race["witness"];
    assert_eq!(witness["arguments"], json!([0]));
    assert_eq!(witness["location"], "B[0]");
    assert_eq!(witness["confirmation"]["kind"], "confirmed");
    let mut lines = ["first", "second"].map(|which| race[which]["place"]["line"].as_u64());
    lines.sort_unstable();
    assert_eq!(lines, [Some(4), Some(5)]);
    // The given command shows the race.
    let replay = witness["replay"].as_str().expect("a command");
    let run = Command::new("sh")
        .args([
            "-c",
            &replay.replacen("finishline", env!("CARGO_BIN_EXE_finishline"), 1),
        ])
        .current_dir(folder())
        .output()
        .expect("a shell");
    assert_eq!(run.status.code(), Some(66), "{replay}");
    let shown = text(&run.stderr);
    assert!(
        shown.contains("race: write and write to B[0] are not ordered"),
        "{shown}"
    );
    assert!(shown.contains("watch: B[0], 2 accesses"), "{shown}");
}

/// A condition names the inputs first, then the counters that the location depends on.
#[test]
fn a_condition_on_inputs_comes_before_the_counters() {
    let loops = |parameters: &str, n: &str| {
        format!(
            "fn main({parameters}) {{
                let bucket = new int[16];
                forall k in 0..{n} {{ bucket[k % 16] = k; }}
            }}"
        )
    };
    for (name, program, condition) in [
        // k and k + 16 race, and both are below n.
        (
            "prove_inputs.fin",
            loops("n: int", "n"),
            "n ≥ 17, and every k with 0 ≤ k ≤ -17 + n",
        ),
        (
            "prove_counters.fin",
            loops("", "20"),
            "every k with 0 ≤ k ≤ 3",
        ),
    ] {
        let (report, status) = prove(&scratch(name, &program), &[]);
        assert_eq!(status, 66);
        assert_eq!(report["races"][0]["condition"], condition);
    }
}

#[test]
fn a_text_report_goes_to_standard_error() {
    let file = scratch("prove_text.fin", RACY);
    let output = finishline(&["prove", &file]);
    assert_eq!(status(&output), 66);
    assert_eq!(text(&output.stdout), "");
    let report = text(&output.stderr);
    for part in [
        "race: write and write to B[N] are not ordered",
        "; confirmed by a run\n",
        "  replay: finishline check prove_text.fin 0 --watch 'B[0]'\n",
        "\nrace  finish@3:5 ",
        // For the least N the size of B wraps around to 1.
        "\nguarantee: for N at least -4611686018427387904: every input and every schedule",
    ] {
        assert!(report.contains(part), "no {part} in\n{report}");
    }
    assert!(!report.contains('\u{1b}'));
    let painted = finishline(&["prove", &file, "--color", "always"]);
    assert!(text(&painted.stderr).contains('\u{1b}'));
}

#[test]
fn without_the_overlap_it_is_proved() {
    let file = scratch("prove_proved.fin", &proved());
    let (report, status) = prove(&file, &[]);
    assert_eq!((status, &report["verdict"]), (0, &json!("proved")));
    assert_eq!(report["races"], json!([]));
    assert_eq!(report["stronger"], Value::Null);
    let text = text(&finishline(&["prove", &file]).stderr);
    let proved = "\nproved for N at least -4611686018427387904: free of races in every schedule";
    assert!(text.contains(proved), "{text}");
    let least = json!([{"parameter": "N", "least": -(1_i64 << 62), "greatest": null}]);
    assert_eq!(report["range"], least);
    let asserted = scratch(
        "prove_asserted.fin",
        &self::proved().replacen("{\n", "{\n    assert(N >= 0);\n", 1),
    );
    let (report, _) = prove(&asserted, &[]);
    assert_eq!(
        (&report["verdict"], &report["range"]),
        (&json!("proved"), &json!([]))
    );
}

#[test]
fn what_is_not_affine_is_named_with_its_place() {
    let file = scratch("prove_indirect.fin", INDIRECT);
    let (report, status) = prove(&file, &[]);
    assert_eq!((status, &report["verdict"]), (4, &json!("unknown")));
    let reasons = report["kernels"][0]["reasons"].as_array().expect("reasons");
    let indirect = |reason: &&Value| reason["kind"] == "indirect" && reason["place"]["line"] == 6;
    assert!(reasons.iter().any(|reason| indirect(&reason)), "{report:#}");
    let text = text(&finishline(&["prove", &file]).stderr);
    assert!(text.contains("\n  help: use an index"), "{text}");
    let flowing: Vec<&str> = text.split_whitespace().collect();
    let command = "`finishline check prove_indirect.fin N`";
    assert!(flowing.join(" ").contains(command), "{text}");
}

/// A kernel that runs out of time names the time as its only reason.
#[test]
fn no_time_means_no_answer() {
    let moldyn = root().join("programs/esp-bags/moldyn.fin");
    let (report, status) = prove(&moldyn.display().to_string(), &["--timeout", "0"]);
    assert_eq!((status, &report["verdict"]), (4, &json!("unknown")));
    let kernels = report["kernels"].as_array().expect("kernels").iter();
    let reasons: Vec<&Value> = kernels
        .flat_map(|kernel| kernel["reasons"].as_array().expect("reasons"))
        .collect();
    assert!(!reasons.is_empty());
    for reason in reasons {
        assert_eq!(reason["kind"], "timeout", "{report:#}");
    }
    let proved = scratch("prove_late.fin", &proved());
    let racy = scratch("prove_late_racy.fin", RACY);
    for file in [proved, racy] {
        let (report, _) = prove(&file, &["--timeout", "0"]);
        assert_eq!(report["verdict"], "unknown", "{report:#}");
    }
}

#[test]
fn a_program_without_tasks_is_proved() {
    let file = scratch("prove_nothing.fin", "fn main() { print(1); }\n");
    let (report, status) = prove(&file, &[]);
    assert_eq!(status, 0);
    assert_eq!(report["kernels"], json!([]));
}

/// The program fails at every input that has the race.
#[test]
fn a_race_behind_a_failure_is_not_called_one() {
    let source = "\
var x = 0;
fn main(N: int) {
    assert(false);
    finish { async x = 1; x = 2; }
}
";
    let file = scratch("prove_failing.fin", source);
    let (report, status) = prove(&file, &[]);
    assert_ne!(status, 66, "{report:#}");
    for race in report["races"].as_array().expect("races") {
        assert_eq!(race["witness"]["confirmation"]["kind"], "failed");
    }
}

#[test]
fn what_can_not_be_done_is_refused_with_status_2() {
    let good = scratch("prove_good.fin", RACY);
    let broken = scratch("prove_broken.fin", "fn main() { x = 1; }\n");
    std::fs::write(folder().join("prove_bytes.fin"), [0xff, 0xfe, 0]).expect("the scratch file");
    let cases: &[&[&str]] = &[
        &["prove"],
        &["prove", "no/such/file.fin"],
        &["prove", "."],
        &["prove", &broken],
        &["prove", "prove_bytes.fin"],
        // The answer is for all arguments.
        &["prove", &good, "3"],
        &["prove", &good, "--format", "xml"],
        &["prove", &good, "--timeout", "soon"],
        &["prove", &good, "--timeout", "-1"],
        &["prove", &good, "--timeout", "nan"],
        &["prove", &good, "--timeout", "inf"],
        &["prove", &good, "--max-races", "many"],
        &["prove", &good, "-o", "no/such/folder/report"],
        &["bench", "prove", "--only", "crypt3"],
        &["bench", "prove", "--runs", "0"],
        &["bench", "prove", "--json", "no/such/folder/table"],
    ];
    for case in cases {
        let output = finishline(case);
        let said = text(&output.stderr);
        assert_eq!(status(&output), 2, "{case:?}: {said}");
        assert!(
            !said.is_empty() && !said.contains("panicked"),
            "{case:?}: {said}"
        );
        assert_eq!(text(&output.stdout), "", "{case:?}");
    }
}

#[test]
fn a_report_can_go_to_a_file() {
    let file = scratch("prove_to_file.fin", RACY);
    for format in ["text", "json", "sarif"] {
        let name = format!("prove_report.{format}");
        let output = finishline(&["prove", &file, "--format", format, "-o", &name]);
        assert_eq!(status(&output), 66);
        assert_eq!(text(&output.stdout) + &text(&output.stderr), "");
        let report = std::fs::read_to_string(folder().join(name)).expect("the report");
        assert!(report.contains("are not ordered"), "{report}");
    }
    let log = finishline(&["prove", &file, "--format", "sarif"]);
    let log: Value = serde_json::from_slice(&log.stdout).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(log["runs"][0]["results"][0]["ruleId"], "race");
    assert_eq!(log["runs"][0]["properties"]["verdict"], "race");
}

#[test]
fn races_are_listed_as_far_as_wanted_and_all_are_counted() {
    let file = scratch("prove_cut.fin", RACY);
    let (report, status) = prove(&file, &["--max-races", "0"]);
    assert_eq!(status, 66);
    assert_eq!(report["races"], json!([]));
    assert_eq!(report["distinct_races"], 1);
    let output = finishline(&["prove", &file, "--max-races", "0"]);
    let said = text(&output.stderr);
    assert!(said.contains("and 1 more distinct pair\n"), "{said}");
    assert!(
        said.contains("note: `--max-races 1` shows all races"),
        "{said}"
    );
    let quiet = finishline(&["prove", &file, "--max-races", "0", "-q"]);
    assert!(!text(&quiet.stderr).contains("note:"));
}

/// A program that is proved for every input is clean on the input of its test. A program that races
/// there is not proved.
#[test]
fn proofs_agree_with_the_expected_verdicts_of_programs() {
    let mut proved = 0;
    for suite in ["programs/lessons", "programs/esp-bags", "programs/affine"] {
        let Ok(files) = std::fs::read_dir(root().join(suite)) else {
            continue;
        };
        for file in files {
            let path = file.expect("a file").path();
            if path.extension().is_none_or(|extension| extension != "fin") {
                continue;
            }
            let source = std::fs::read_to_string(&path).expect("the program");
            let verdict = source
                .lines()
                .find_map(|line| line.strip_prefix("//@ verdict: "));
            let path = path.display().to_string();
            let output = finishline(&["prove", &path]);
            let (said, status) = (text(&output.stderr), status(&output));
            assert!([0, 66, 4].contains(&status), "{said}");
            if matches!(verdict, Some("race" | "apparent")) {
                assert_ne!(status, 0, "{said}");
            }
            assert!(!said.contains("contradict"), "{said}");
            proved += usize::from(status == 0);
        }
    }
    assert!(proved > 20, "{proved}");
}

/// [Table 1] Every program and every block is found and proved.
#[test]
fn the_table_of_the_paper_is_measured() {
    let files = ["--csv", "prove.csv", "--json", "prove.json"];
    let output = finishline(&[&["bench", "prove", "--runs", "1"], &files[..]].concat());
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    let json = std::fs::read(folder().join("prove.json")).expect("the JSON");
    let table: Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(
        (&table["table"], &table["runs"]),
        (&json!("prove"), &json!(1))
    );
    let blocks = table["blocks"].as_array().expect("blocks");
    let names: Vec<&str> = (blocks.iter())
        .filter_map(|block| block["block"].as_str())
        .collect();
    let expected = [
        "crypt", "crypt1", "crypt2", "sor", "sor1", "lufact1", "series", "series1", "moldyn1",
        "moldyn2", "moldyn3", "moldyn4", "moldyn5",
    ];
    assert_eq!(names, expected);
    for block in blocks {
        assert_eq!(block["verdict"], "proved", "{block}");
        assert!(
            block["seconds"]["median"]
                .as_f64()
                .is_some_and(|time| time > 0.0)
        );
        let whole = block["block"] == block["program"];
        assert_eq!(block["whole"], whole);
    }
    assert_eq!(blocks[9]["paper_seconds"], 0.92);
    let targets = table["targets"].as_array().expect("targets");
    assert_eq!(targets.len(), 2);
    let csv = std::fs::read_to_string(folder().join("prove.csv")).expect("the CSV");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 14, "{csv}");
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
    let shown = text(&output.stdout);
    for expected in ["moldyn5 ", "7.60 s", "a block, the longest", "1 run\n"] {
        assert!(shown.contains(expected), "no {expected}\n{shown}");
    }
}

#[test]
fn some_of_the_table_is_measured_more_than_once() {
    let only = ["--only", "series1,series", "--runs", "3"];
    let output = finishline(&[&["bench", "prove"], &only[..]].concat());
    assert_eq!(status(&output), 0);
    let shown = text(&output.stdout);
    assert!(shown.contains("medians of 3 runs"), "{shown}");
    let whole = shown.find("\nseries ").expect("the program");
    let block = shown.find("\nseries1 ").expect("the block");
    assert!(whole < block && !shown.contains("crypt"), "{shown}");
}
