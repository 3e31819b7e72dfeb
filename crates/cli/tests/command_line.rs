//! The commands, their options, formats and exit statuses, on the real binary.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const FIG2: &str = "programs/esp-bags/figures/fig2.fin";
const FIG2_FIXED: &str = "programs/esp-bags/figures/fig2_fixed.fin";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn finishline(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_finishline"))
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("the binary starts")
}

fn status(output: &Output) -> i32 {
    output.status.code().expect("not ended by a signal")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// A scratch file in the target directory.
fn scratch(name: &str, contents: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, contents).expect("the scratch file");
    path.display().to_string()
}

/// The report as JSON. It must match its schema.
fn json(arguments: &[&str]) -> (Value, i32) {
    let output = finishline(arguments);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON on standard output");
    let schema = std::fs::read(root().join("docs/report.schema.json")).expect("the schema");
    let schema: Value = serde_json::from_slice(&schema).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let errors: Vec<String> = validator
        .iter_errors(&report)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    (report, status(&output))
}

#[test]
fn the_figure_of_the_paper_races_where_the_paper_says() {
    let (report, status) = json(&["check", "--format", "json", FIG2, "3"]);
    assert_eq!(status, 66);
    assert_eq!(report["verdict"], "race");
    assert_eq!(report["exit_status"], 66);
    let racing = &report["racing_locations"]["names"];
    assert_eq!(*racing, serde_json::json!(["B[0]", "B[1]", "B[2]"]));
    // Each race has a write of the first async and the write of the innermost one.
    let source = std::fs::read_to_string(root().join(FIG2)).expect("the program");
    let line_of = |text: &str| {
        source
            .lines()
            .position(|line| line.contains(text))
            .map(|at| at + 1)
    };
    let first_async = [
        line_of("B[i] += i").unwrap(),
        line_of("B[i] = A[j] + i").unwrap(),
    ];
    let innermost = line_of("B[i] = A[i];").unwrap();
    let mut covered = BTreeSet::new();
    for race in report["races"].as_array().expect("races") {
        let line = |which: &str| race[which]["place"]["line"].as_u64().unwrap() as usize;
        assert!(first_async.contains(&line("first")));
        assert_eq!(line("second"), innermost);
        assert_eq!(
            (&race["first"]["kind"], &race["second"]["kind"]),
            (&"write".into(), &"write".into())
        );
        let names = race["locations"]["names"].as_array().expect("names");
        covered.extend(names.iter().map(|name| name.as_str().unwrap().to_owned()));
    }
    assert_eq!(
        covered,
        BTreeSet::from(["B[0]", "B[1]", "B[2]"].map(str::to_owned))
    );
}

#[test]
fn its_clean_twin_is_certified_for_every_schedule() {
    let (report, status) = json(&["check", "--format", "json", FIG2_FIXED, "3"]);
    assert_eq!(status, 0);
    assert_eq!(report["verdict"], "certified");
    let output = finishline(&["check", FIG2_FIXED, "3"]);
    assert!(stderr(&output).contains("every schedule of this input"));
}

#[test]
fn sp_bags_refuses_what_it_can_not_judge_by_name() {
    let output = finishline(&["check", "--detector", "sp-bags", FIG2, "3"]);
    assert_eq!(status(&output), 2);
    let said = stderr(&output);
    assert!(
        said.contains("sp-bags") && said.contains("uses finish at") && said.contains("fig2.fin:"),
        "{said}"
    );
    let cilk = "programs/lessons/fibonacci_spawn_clean.fin";
    assert_eq!(
        status(&finishline(&["check", "--detector", "sp-bags", cilk, "6"])),
        0
    );
}

#[test]
fn all_detectors_are_asked() {
    let output = finishline(&["check", "--detector", "all", FIG2, "3"]);
    assert_eq!(status(&output), 66);
    let said = stderr(&output);
    for row in [
        "sp-bags: has no rule for finish",
        "esp-bags: 3 racing",
        "oracle: 3 racing",
        "detectors agree",
    ] {
        assert!(said.contains(row), "{row} is missing in {said}");
    }
}

#[test]
fn what_can_not_be_done_is_refused_with_status_2() {
    let broken = scratch("broken.fin", "fn main() { x = 1; }\n");
    let cases: &[&[&str]] = &[
        &[],
        &["frobnicate"],
        &["check"],
        &["check", "no/such/file.fin"],
        &["check", "programs"],
        &["check", FIG2],
        &["check", FIG2, "1", "2"],
        &["check", FIG2, "many"],
        &["check", FIG2, "99999999999999999999"],
        &["check", "--detector", "magic", FIG2, "1"],
        &["check", "--format", "xml", FIG2, "1"],
        &[
            "check",
            "--threads",
            "2",
            "--detector",
            "esp-bags",
            FIG2,
            "1",
        ],
        &["check", "--threads", "2", "--interpret", FIG2, "1"],
        &["check", "--threads", "2", "--detector", "all", FIG2, "1"],
        &["check", "--threads", "0", FIG2, "1"],
        &["run", "--threads", "2", "--interpret", FIG2, "1"],
        &["run", "--threads", "two", FIG2, "1"],
        &["check", "--memory", "lots", FIG2, "1"],
        &["check", "-o", "no/such/directory/report", FIG2, "1"],
        &["check", &broken],
        &["check", "--checks", "some", FIG2, "1"],
        &["check", "--checks", "", FIG2, "1"],
        &["explain-checks"],
        &["explain-checks", &broken],
        &["explain-checks", "no/such/file.fin"],
        &["explain-checks", FIG2, "1", "2"],
        &["explain-checks", FIG2, "many"],
        &["explain-checks", "--format", "sarif", FIG2],
        &["explain-checks", "--checks", "ranges,", FIG2],
        &["explain-checks", "-o", "no/such/directory/checks", FIG2],
        &["run", &broken],
        &["explain", "E9999"],
    ];
    for case in cases {
        let output = finishline(case);
        assert_eq!(status(&output), 2, "{case:?}");
        assert!(!output.stderr.is_empty(), "{case:?} says nothing");
        assert!(output.stdout.is_empty(), "{case:?}");
    }
}

/// The message names the wrong word and says what would be right.
#[test]
fn what_is_refused_is_refused_with_the_reason() {
    let cases: &[(&[&str], &str)] = &[
        (&["prove", FIG2, "3"], "`prove` answers for all inputs"),
        (
            &["prove", FIG2, "3"],
            "`finishline check programs/esp-bags/figures/fig2.fin 3`",
        ),
        (
            &["prove", FIG2, "-3", "x"],
            "takes no arguments of main: `-3 x`",
        ),
        (
            &["check", "--max-races", "-1", FIG2, "3"],
            "'-1' for '--max-races <N>': a whole number from 0",
        ),
        (
            &["prove", "--max-races", "-1", FIG2],
            "'-1' for '--max-races <N>': a whole number from 0",
        ),
        (
            &["prove", "--timeout", "-1", FIG2],
            "'-1' for '--timeout <SECONDS>': a time is a number of seconds, 0 or more",
        ),
        (
            &["check", "--threads", "-1", FIG2, "3"],
            "'-1' for '--threads <N>': a whole number from 1 to 1024 is needed",
        ),
        (&["bench", "esp-bags", "--runs", "-2"], "-2 is not in 1.."),
        (&["bench", "prove", "--runs", "-2"], "-2 is not in 1.."),
        (
            &["run", "--memory", "-1G", FIG2, "3"],
            "'-1G' for '--memory <SIZE>': a size is a number of bytes",
        ),
        (
            &["run", "--memory", "G", FIG2, "3"],
            "'G' for '--memory <SIZE>': a size is a number of bytes",
        ),
        (
            &["run", "--memory", "17179869184G", FIG2, "3"],
            "a size is at most 17179869183G",
        ),
        (
            &["run", "--memory", "18446744073709551616", FIG2, "3"],
            "a size is at most 17179869183G",
        ),
        (
            &["check", FIG2, "0xfg"],
            "`size: int` is a whole number of 64 bits, not `0xfg`",
        ),
        (
            &["check", FIG2, "9223372036854775808"],
            "is a whole number of 64 bits, not `9223372036854775808`",
        ),
        (
            &["check", FIG2, " 3"],
            "is a whole number of 64 bits, not ` 3`",
        ),
    ];
    for (case, reason) in cases {
        let output = finishline(case);
        assert_eq!(status(&output), 2, "{case:?}");
        let told = stderr(&output);
        assert!(told.contains(reason), "{case:?}: {told}");
    }
}

#[test]
fn arguments_are_written_as_numbers_in_fin() {
    let program = scratch(
        "numbers.fin",
        "fn main(a: int, b: int, c: float, d: byte) { print(a, b, c, d); }\n",
    );
    for (words, printed) in [
        (
            ["0x10", "1_000", "1_000.5e1", "0b11"],
            "16 1000 10005.0 3\n",
        ),
        (
            ["-0x8000_0000_0000_0000", "-1_0", "-1_0.5", "7"],
            "-9223372036854775808 -10 -10.5 7\n",
        ),
    ] {
        let output = finishline(&[&["run", &program], &words[..]].concat());
        assert_eq!(stdout(&output), printed, "{}", stderr(&output));
    }
    // The largest value means no limit.
    let most = [
        "run",
        "--memory",
        "17179869183G",
        &program,
        "1",
        "2",
        "3",
        "4",
    ];
    assert_eq!(stdout(&finishline(&most)), "1 2 3.0 4\n");
}

#[test]
fn a_program_that_fails_ends_with_status_3_and_says_where() {
    let source = "fn main(n: int) {\n    let a = new int[2];\n    finish async { a[n] = 1; }\n}\n";
    let program = scratch("fails.fin", source);
    for command in ["run", "check"] {
        let output = finishline(&[command, &program, "-7"]);
        assert_eq!(status(&output), 3);
        let said = stderr(&output);
        for part in ["fails.fin:3:20", "-7", "size 2", "async@3 (n = -7)"] {
            assert!(
                said.contains(part),
                "{command}: {part} is missing in {said}"
            );
        }
    }
    assert_eq!(status(&finishline(&["run", &program, "1"])), 0);
}

#[test]
fn a_race_before_a_failure_counts_more() {
    let program = "programs/errors/runtime/race_before_the_failure.fin";
    let output = finishline(&["check", "--format", "json", program]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(status(&output), 66);
    assert!(report["failure"].is_object());
}

#[test]
fn what_the_program_prints_does_not_mix_with_the_report() {
    let program = scratch("prints.fin", "fn main() { print(\"hello\", 6 * 7); }\n");
    let output = finishline(&["check", &program]);
    assert_eq!(stdout(&output), "hello 42\n");
    assert!(stderr(&output).starts_with("certified"));
    let output = finishline(&["check", "--format", "json", &program]);
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok());
    assert_eq!(stderr(&output), "hello 42\n");
    let output = finishline(&["run", &program]);
    assert_eq!(
        (stdout(&output).as_str(), stderr(&output).as_str()),
        ("hello 42\n", "")
    );
}

#[test]
fn every_format_can_go_to_a_file() {
    let opens = [
        ("text", "race:"),
        ("json", "{"),
        ("sarif", "{"),
        ("html", "<!doctype html>"),
    ];
    for (format, opening) in opens {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report.{format}"));
        let file = path.display().to_string();
        let output = finishline(&["check", "--format", format, "-o", &file, FIG2, "3"]);
        assert_eq!(status(&output), 66);
        let report = std::fs::read_to_string(&path).expect("the report");
        assert!(report.starts_with(opening), "{format}: {report}");
        assert!(!report.contains('\u{1b}'), "no colours in a file");
    }
}

#[test]
fn races_are_capped_and_counted() {
    let (report, _) = json(&["check", "--format", "json", "--max-races", "1", FIG2, "3"]);
    assert_eq!(report["races"].as_array().map(Vec::len), Some(1));
    assert_eq!(report["distinct_races"], 2);
    let (report, status) = json(&["check", "--format", "json", "--max-races", "0", FIG2, "3"]);
    assert_eq!(
        (report["races"].as_array().map(Vec::len), status),
        (Some(0), 66)
    );
}

#[test]
fn the_replay_command_shows_every_access() {
    let (report, _) = json(&["check", "--format", "json", FIG2, "1"]);
    let replay = report["races"][0]["replay"].as_str().expect("a command");
    assert_eq!(replay, format!("finishline check {FIG2} 1 --watch 'B[0]'"));
    let (report, status) = json(&["check", FIG2, "1", "--watch", "B[0]", "--format", "json"]);
    assert_eq!(status, 66);
    // B[0] += 0 reads and writes, B[0] = A[0] writes.
    let kinds: Vec<_> = report["watch"]["accesses"]
        .as_array()
        .expect("accesses")
        .iter()
        .map(|a| &a["kind"])
        .collect();
    assert_eq!(kinds, ["read", "write", "write"]);
}

#[test]
fn a_watched_name_that_nothing_has_is_noted_and_hides_no_race() {
    let asked = |quiet: &[&'static str]| {
        let output = finishline(&[&["check", FIG2, "1", "--watch", "C\u{1b}[0]"], quiet].concat());
        assert_eq!(status(&output), 66);
        stderr(&output)
    };
    let told = asked(&[]);
    assert!(told.contains("race: write and write to B[0]"), "{told}");
    assert!(
        told.contains("no location of this run is called `C\\u{1b}[0]`"),
        "{told}"
    );
    assert!(!asked(&["-q"]).contains("note:"));
}

/// The path of a program may contain anything. The printed command still works and is safe to
/// print.
#[test]
fn the_replay_command_works_for_strange_paths() {
    let source = "var g: int;\nfn main() { finish { async { g = 1; } g = 2; } }\n";
    let program = scratch("it's\n\u{1b}[31m \\ strange.fin", source);
    let (report, _) = json(&["check", "--format", "json", &program]);
    let replay = report["races"][0]["replay"].as_str().expect("a command");
    assert!(!replay.contains(char::is_control), "{replay}");
    let finishline = env!("CARGO_BIN_EXE_finishline");
    let command = replay.replacen("finishline", finishline, 1);
    let mut shell = Command::new("bash");
    let output = shell.args(["-c", &command]).output().expect("bash");
    assert_eq!(status(&output), 66, "{command}: {}", stderr(&output));
    assert!(stderr(&output).contains("watch: g, 2 accesses"));
}

/// Neither the user's words nor file names can control the terminal.
#[test]
fn errors_show_control_characters_escaped() {
    let strange = "a\u{1b}[31m";
    for case in [
        &["check", FIG2, strange][..],
        &["check", strange],
        &["check", "-o", "no/such/\u{1b}/report", FIG2, "1"],
        &["explain", strange],
    ] {
        let told = stderr(&finishline(case));
        assert!(told.contains("\\u{1b}"), "{case:?}: {told}");
        assert!(!told.contains('\u{1b}'), "{case:?}: {told}");
    }
}

/// If an option left out races, the note names the option that would show more.
#[test]
fn the_most_races_are_named_where_they_matter() {
    let told = stderr(&finishline(&["check", FIG2, "3", "--max-races", "1"]));
    assert!(told.contains("and 1 more distinct pair\n"), "{told}");
    assert!(
        told.contains("note: `--max-races 2` shows all races"),
        "{told}"
    );
    assert!(!stderr(&finishline(&["check", FIG2, "3"])).contains("--max-races"));
    // Two races in tasks with paths too long to show both.
    let program = scratch(
        "nested.fin",
        "fn f(n: int, A: int[]) {
            if n > 0 { async { A[n] += 1; f(n - 1, A); A[n - 1] += 1; } A[n] += 2; }
        }
        fn main(n: int) { let A = new int[n + 1]; finish f(n, A); }",
    );
    let told = stderr(&finishline(&["check", &program, "100000"]));
    assert!(told.contains("more distinct pairs\n"), "{told}");
    assert!(!told.contains("--max-races"), "{told}");
}

/// With little address space a program is still compiled. The memory that ended tasks leave behind
/// does not reduce the stack.
#[test]
fn little_address_space_is_enough_for_code_and_for_many_tasks() {
    let program = scratch(
        "many.fin",
        "fn main(n: int) { finish { for i in 0..n { async { } } } print(n); }\n",
    );
    let finishline = env!("CARGO_BIN_EXE_finishline");
    let command = format!("ulimit -v 200000; {finishline} run {program} 5000000");
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", &command]).output().expect("a shell");
    assert_eq!(stderr(&output), "");
    assert_eq!(stdout(&output), "5000000\n");
}

#[test]
fn colours_are_for_terminals() {
    assert!(!stderr(&finishline(&["check", FIG2, "3"])).contains('\u{1b}'));
    assert!(stderr(&finishline(&["check", "--color", "always", FIG2, "3"])).contains('\u{1b}'));
}

#[test]
fn detectors_and_verdicts_are_explained() {
    let table = stdout(&finishline(&["detectors"]));
    let rows = stdout(&finishline(&["detectors", "--format", "json"]));
    let rows: Value = serde_json::from_str(&rows).expect("JSON");
    for row in rows.as_array().expect("rows") {
        for field in ["name", "guarantee"] {
            assert!(table.contains(row[field].as_str().expect("text")));
        }
    }
    let list = stdout(&finishline(&["explain"]));
    for word in ["E0303", "certified-order"] {
        assert!(list.contains(word));
        let output = finishline(&["explain", word]);
        assert_eq!(status(&output), 0);
        assert!(stdout(&output).starts_with(word));
    }
}

/// With little address space the program's stack is smaller than the budget asks for. A program
/// that nests too deeply is told that the system has no more memory. Other programs are not
/// affected.
#[test]
fn little_address_space_is_no_reason_to_crash() {
    let names: Vec<String> = (0..60).map(|k| format!("a{k}")).collect();
    let locals: String = names
        .iter()
        .map(|name| format!("let {name} = n * n;\n"))
        .collect();
    let sum = names.join(" + ");
    let source = format!(
        "fn deep(n: int): int {{\n\
         if n == 0 {{ return 0; }}\n\
         {locals}\
         return deep(n - 1) + {sum};\n\
         }}\n\
         fn main(n: int) {{ deep(n); }}\n"
    );
    let program = scratch("deep.fin", &source);
    for command in ["run", "check"] {
        for (depth, expected) in [("1000", 0), ("99000", 3)] {
            let output = Command::new("sh")
                .args(["-c", "ulimit -v 500000 && exec \"$@\"", "sh"])
                .args([env!("CARGO_BIN_EXE_finishline"), command, &program, depth])
                .output()
                .expect("a shell");
            assert_eq!(status(&output), expected, "{}", stderr(&output));
            if expected != 0 {
                let told = stderr(&output) + &stdout(&output);
                assert!(told.contains("the system refused"), "{told}");
            }
        }
    }
}

/// If a reader such as `head` closes the pipe, the run ends without a complaint.
#[test]
fn a_closed_pipe_is_no_error_to_report() {
    let program = scratch(
        "endless.fin",
        "fn main() { while true { print(\"again\"); } }\n",
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_finishline"))
        .args(["run", &program])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
}

/// Of the races that are not apparent, the first is surely possible. Later ones may be its
/// consequences.
#[test]
fn later_races_may_follow_from_the_first() {
    let source = "var x: int; var a: int; var y: int; var z: int;\n\
                  fn main() {\n\
                  async { x = 1; isolated { a = 1; } }\n\
                  isolated { a = 2; }\n\
                  print(x);\n\
                  async { y = 1; z = 1; }\n\
                  y = 2;\n\
                  z = 2;\n\
                  }\n";
    let program = scratch("follow.fin", source);
    let (report, _) = json(&["check", "--format", "json", &program]);
    let told: Vec<_> = report["races"]
        .as_array()
        .expect("races")
        .iter()
        .map(|race| {
            let flag = |field: &str| race[field].as_bool().expect("a bool");
            let location = race["location"].as_str().expect("a name").to_owned();
            (location, flag("apparent"), flag("may_follow"))
        })
        .collect();
    let expected = [("x", true, false), ("y", false, false), ("z", false, true)];
    assert_eq!(
        told,
        expected.map(|(name, apparent, follows)| (name.to_owned(), apparent, follows))
    );
}

/// A word that looks like an option is read as one.
#[test]
fn a_replay_command_can_be_typed() {
    let source = "var g: int;\nfn main(limit: float) { async { g = 1; } g = 2; }\n";
    let program = scratch("replay.fin", source);
    let (report, _) = json(&["check", "--format", "json", &program, "--", "-inf"]);
    let replay = report["races"][0]["replay"].as_str().expect("a command");
    assert_eq!(
        replay,
        format!("finishline check --watch g -- {program} -inf")
    );
    let words: Vec<&str> = replay.split(' ').skip(1).collect();
    assert_eq!(status(&finishline(&words)), 66);
}

/// Without memory for the global variables there is no task and no heap, but there is still a
/// message.
#[test]
fn a_program_that_can_not_even_start_says_why() {
    let program = scratch("starts.fin", "var g: int;\nfn main() { g = 1; }\n");
    let (report, status) = json(&["check", "--format", "json", "--memory", "1", &program]);
    assert_eq!((status, &report["failure"]["kind"]), (3, &"memory".into()));
    let output = finishline(&["run", "--memory", "1", &program]);
    assert!(stderr(&output).contains("budget of 1"));
}
