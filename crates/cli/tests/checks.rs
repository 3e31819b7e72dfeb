//! `--checks` and `explain-checks` on the real binary. Removing checks changes the cost, but never
//! the answer.

use finishline_model::{Pass, Passes};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FIG2: &str = "programs/esp-bags/figures/fig2.fin";

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

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn scratch(name: &str, contents: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, contents).expect("the scratch file");
    path.display().to_string()
}

/// The explanation as JSON. It must match its schema.
fn explained(arguments: &[&str]) -> Value {
    let output = finishline(&[&["explain-checks", "--format", "json"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON on standard output");
    let schema = std::fs::read(root().join("docs/checks.schema.json")).expect("the schema");
    let schema: Value = serde_json::from_slice(&schema).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let errors: Vec<String> = validator
        .iter_errors(&report)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    report
}

/// `kind place`, for each access with this fate.
fn with_fate<'r>(report: &'r Value, fate: &str) -> Vec<String> {
    let accesses = report["accesses"].as_array().expect("accesses").iter();
    let word = |access: &'r Value, field: &str| access[field].as_str().expect("a word");
    (accesses.filter(|access| access["fate"] == fate))
        .map(|access| format!("{} {}", word(access, "kind"), word(access, "place")))
        .collect()
}

#[test]
fn an_unknown_pass_is_refused_and_all_are_named() {
    for command in ["check", "explain-checks"] {
        let output = finishline(&[command, "--checks", "read-only,magic", FIG2]);
        assert_eq!(output.status.code(), Some(2));
        let message = text(&output.stderr);
        assert!(message.contains("`magic`"), "{message}");
        for word in ["full", "sequential", "unproved", "optimised"] {
            assert!(message.contains(word), "{word} is not named: {message}");
        }
        for pass in Pass::ALL {
            assert!(message.contains(pass.name()), "{pass} is not named");
        }
    }
}

/// No pass, each alone, all except each, all.
fn some_sets() -> Vec<Passes> {
    let alone = Pass::ALL.map(|pass| Passes::NONE.with(pass));
    let but_one = Pass::ALL.map(|pass| Passes::ALL.without(pass));
    [Passes::NONE, Passes::ALL]
        .into_iter()
        .chain(alone)
        .chain(but_one)
        .collect()
}

/// Only the number of checked accesses may differ, and the order in which the locations of a range
/// were found racing.
#[test]
fn what_is_left_out_changes_nothing_that_is_said() {
    for (program, arguments) in [
        (FIG2, &["3"][..]),
        ("programs/esp-bags/sor_racy.fin", &["0"]),
        ("programs/errors/runtime/race_before_the_failure.fin", &[]),
        (
            "programs/lessons/isolated_then_plain_read_apparent.fin",
            &[],
        ),
    ] {
        let said = |passes: Passes| {
            let checks = passes.to_string();
            let options = ["check", "--format", "json", "--checks", &checks, program];
            let output = finishline(&[&options[..], arguments].concat());
            let mut report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let accesses = report["statistics"]["accesses"].take();
            (report, accesses.as_u64().expect("a number"))
        };
        let (expected, all) = said(Passes::NONE);
        assert_eq!(expected["exit_status"], 66, "{program}");
        for passes in some_sets() {
            let (report, _) = said(passes);
            assert_eq!(report, expected, "{program} with --checks {passes}");
        }
        let (_, sequential) = said(Passes::SEQUENTIAL);
        assert!(sequential <= all, "{program}");
    }
}

/// The arguments in the first lines of a program.
fn arguments(path: &Path) -> Vec<String> {
    let text = std::fs::read(path).expect("a program");
    let text = String::from_utf8_lossy(&text);
    let directives = text
        .lines()
        .filter_map(|line| line.strip_prefix("//@ args:"));
    (directives
        .flat_map(str::split_whitespace)
        .map(str::to_owned))
    .collect()
}

fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            programs(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "fin") {
            found.push(path);
        }
    }
}

/// For every program of the repository a proof changes only the number of checked accesses, often
/// to none.
#[test]
fn proofs_change_nothing_that_is_said() {
    let mut paths = Vec::new();
    programs(&root().join("programs"), &mut paths);
    let (mut fewer, mut none) = (0, 0);
    for path in paths {
        let program = path.display().to_string();
        let said = |checks: &str| {
            let options = [
                "check", "-q", "--format", "json", "--checks", checks, &program,
            ];
            let words = arguments(&path);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let output = finishline(&[&options[..], &words].concat());
            let mut report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let accesses = report
                .pointer_mut("/statistics/accesses")
                .map_or(0, |accesses| accesses.take().as_u64().expect("a number"));
            let said = (report, text(&output.stderr), output.status.code());
            (said, accesses)
        };
        let ((expected, all), (found, left)) = (said("unproved"), said("optimised"));
        assert_eq!(found, expected, "{program}");
        assert!(left <= all, "{program}");
        fewer += usize::from(left < all);
        none += usize::from(left == 0 && all > 0);
    }
    assert!(fewer >= 50 && none >= 30, "{fewer} of them, {none} to none");
}

/// Each task has its own column. No other pass can tell elements of one array apart.
const STRIPES: &str = "\
fn main(n: int) {
    let a = new int[2 * n];
    forall i in 0..n { a[2 * i] = i; a[2 * i + 1] = a[2 * i]; }
    forall i in 0..n { a[i] = a[0]; }
}
";

#[test]
fn what_is_proved_is_explained_for_the_arguments_given() {
    let program = scratch("stripes.fin", STRIPES);
    let by_proof = |more: &[&str]| {
        let report = explained(&[&[program.as_str()][..], more].concat());
        let accesses = report["accesses"].as_array().expect("accesses").iter();
        let proved = accesses.filter(|access| access["by"] == serde_json::json!(["proved"]));
        let name =
            |access: &Value| format!("{} {}", access["kind"], access["place"]).replace('"', "");
        proved.map(name).collect::<Vec<String>>()
    };
    let apart = ["write a[2 * i]", "write a[2 * i + 1]", "read a[2 * i]"];
    assert_eq!(by_proof(&["5"]), apart);
    assert_eq!(by_proof(&["5", "--interpret"]), apart);
    // With one iteration nothing is parallel.
    assert_eq!(by_proof(&["1"])[3..], ["write a[i]", "read a[0]"]);
    assert_eq!(by_proof(&["5", "--checks", "unproved"]), [""; 0]);
    assert_eq!(by_proof(&[]), [""; 0]);
    let refused = finishline(&["explain-checks", &program, "5", "6"]);
    assert_eq!(refused.status.code(), Some(2));
    let message = text(&refused.stderr);
    assert!(
        message.contains("main takes 1 argument, 2 given"),
        "{message}"
    );

    let accesses = |checks: &str, size: &str| {
        let options = ["check", "-q", "--format", "json", "--checks", checks];
        let output = finishline(&[&options[..], &[&program, size]].concat());
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        report["statistics"]["accesses"].as_u64().expect("a number")
    };
    // Five of each access. Nothing is proved about those of the second loop.
    assert_eq!(accesses("full", "5"), 25);
    assert_eq!(accesses("proved", "5"), 10);
    assert_eq!(accesses("proved", "1"), 0);
    // Sums may wrap around for so large an argument. The program fails before it gets there.
    assert_eq!(accesses("proved", "4611686018427387904"), 0);
}

/// Two tasks write `shared[0]`. No pass can remove that check. Nothing runs before them.
const TWO_TASKS: &str = "\
var shared: int[];
fn main() {
    shared = new int[2];
    finish {
        async { write(0); }
        async { write(0); }
    }
    print(shared[1]);
}
fn write(at: int) { shared[at] = at; }
fn forgotten() { shared[1] = 1; }
";

#[test]
fn every_access_has_its_fate() {
    let program = scratch("two_tasks.fin", TWO_TASKS);
    for more in [&[][..], &["--interpret"]] {
        let report = |checks: &str| explained(&[&["--checks", checks, &program], more].concat());
        let full = report("full");
        assert_eq!(full["program"], program.as_str());
        assert_eq!(full["checks"], "full");
        assert_eq!(
            with_fate(&full, "kept"),
            [
                "write shared",
                "read shared",
                "read shared[1]",
                "read shared",
                "write shared[at]"
            ]
        );
        let unreachable = ["read shared", "write shared[1]"];
        assert_eq!(with_fate(&full, "unreachable"), unreachable);

        let sequential = report("sequential");
        assert_eq!(
            with_fate(&sequential, "kept"),
            ["read shared", "write shared[at]"]
        );
        assert_eq!(
            with_fate(&sequential, "removed"),
            ["write shared", "read shared", "read shared[1]"]
        );
        assert_eq!(with_fate(&sequential, "unreachable"), unreachable);
        assert_eq!(sequential["accesses"][0]["by"][0], "sequential");

        let optimised = report("optimised");
        let kept = with_fate(&optimised, "kept");
        assert!(kept.contains(&"write shared[at]".to_owned()), "{kept:?}");
        let removed = with_fate(&optimised, "removed");
        for access in with_fate(&sequential, "removed") {
            assert!(removed.contains(&access), "{access} of {removed:?}");
        }
        assert_eq!(with_fate(&optimised, "unreachable"), unreachable);
    }
}

#[test]
fn the_text_marks_what_is_paid_for() {
    let program = scratch("marked.fin", TWO_TASKS);
    let arguments = ["explain-checks", "--checks", "sequential", &program];
    let output = finishline(&arguments);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
    let listing = text(&output.stdout);
    for expected in [
        " 3 │     shared = new int[2];\n   │     ------ write shared: removed by sequential\n",
        "10 │ fn write(at: int) { shared[at] = at; }\n   │                     ^^^^^^ read shared: kept\n",
        "   │                     ^^^^^^^^^^ write shared[at]: kept\n",
        "7 shared accesses, a run pays for 2, marked ^\n",
    ] {
        assert!(listing.contains(expected), "no {expected}\nin\n{listing}");
    }
    assert!(!listing.contains('\u{1b}'), "colours are for terminals");
    let painted = finishline(&[&arguments[..], &["--color", "always"]].concat());
    assert!(text(&painted.stdout).contains('\u{1b}'));

    let file = scratch("marked.txt", "");
    let output = finishline(&[&arguments[..], &["--color", "always", "-o", &file]].concat());
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(0), String::new())
    );
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), listing);
}

/// The counts of the whole suite add up. A program whose accesses are all checked has none removed.
#[test]
fn the_counts_add_up_on_the_benchmarks() {
    let folder = root().join("programs/esp-bags");
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "fin") {
            continue;
        }
        let program = path.display().to_string();
        for checks in ["full", "optimised"] {
            let report = explained(&["--checks", checks, &program]);
            let count = |name: &str| report["counts"][name].as_u64().expect("a number");
            let fates = [
                "kept",
                "partly",
                "moved",
                "merged",
                "removed",
                "unreachable",
            ];
            let sum: u64 = fates.iter().map(|fate| count(fate)).sum();
            assert_eq!(count("accesses"), sum, "{program}");
            match checks {
                "full" => assert_eq!(count("kept") + count("unreachable"), sum, "{program}"),
                _ => assert!(count("removed") > 0, "{program}"),
            }
        }
    }
}

const HASHED: &str = "fn hash(k: int): int { return abs(k * 1000003 * 1000003 * 1000003) % 16; }
fn main(n: int) { let bucket = new int[16]; forall k in 0..n { bucket[hash(k)] = k; } }
";

/// Two hashes collide in 64 bits, but not as endless integers. A proof must not hide the race.
#[test]
fn a_proof_counts_with_integers_that_wrap_around() {
    let program = scratch("hashed.fin", HASHED);
    for checks in ["optimised", "unproved", "proved", "full"] {
        let arguments = [
            "check",
            "--checks",
            checks,
            "--detector",
            "all",
            &program,
            "16",
        ];
        let output = finishline(&arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(66), "{checks}: {said}");
        assert!(said.contains("esp-bags: 6 racing locations"), "{said}");
        assert!(said.contains("oracle: 6 racing locations"), "{said}");
    }
    let report = explained(&[&program, "16"]);
    assert_eq!(with_fate(&report, "kept"), ["write bucket[hash(k)]"]);
    assert_eq!(report["accesses"][0]["wraps"], true);
}

/// The bound of the loop wraps around only for the largest argument.
#[test]
fn a_proof_is_used_for_the_arguments_that_it_covers() {
    let program = scratch(
        "bound.fin",
        "fn main(n: int) {
    let a = new int[4];
    forall i in n - 1..n + 1 { a[i - n + 1] = 1; }
}
",
    );
    let last = i64::MAX.to_string();
    for (argument, fate, wraps) in [
        ("4", "removed", false),
        ("-4611686018427387904", "removed", false),
        (last.as_str(), "kept", true),
        ("-9223372036854775808", "kept", true),
    ] {
        let report = explained(&[&program, "--", argument]);
        assert_eq!(report["accesses"][0]["fate"], fate, "{argument}");
        assert_eq!(report["accesses"][0]["wraps"], wraps, "{argument}");
        let shown = finishline(&["explain-checks", &program, "--", argument]);
        let shown = text(&shown.stdout);
        assert_eq!(
            shown.contains("integers may leave 64 bits"),
            wraps,
            "{shown}"
        );
        let output = finishline(&["check", "--detector", "all", &program, "--", argument]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
}

/// A depth-first run never reaches the second write.
#[test]
fn a_creator_goes_on_when_its_callee_never_ends() {
    let program = scratch(
        "endless_callee.fin",
        "fn f(A: int[], n: int) { A[0] = 1; while n < 0 {} }
fn main(n: int) { let A = new int[4]; spawn f(A, n); if n < 0 { A[0] = 2; } }
",
    );
    let output = finishline(&["prove", &program]);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(66), "{said}");
    assert!(
        said.contains("write and write to A[0] are not ordered, for n < 0"),
        "{said}"
    );
}
