//! Every program under `programs/`, recorded and analysed: the report and the exit status must be
//! those of `check`. And files that are no whole traces, as the command line meets them.

use finishline_model::kinds::{NativeFinishKind, NativeTaskKind, rayon};
use finishline_model::{AccessKind, FinishId};
use finishline_trace::process::{Call, End, Recorder, Start};
use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

const RACY: &str = "programs/esp-bags/figures/fig2.fin";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut programs = Vec::new();
    collect(Path::new("programs"), &mut programs);
    assert!(!programs.is_empty(), "no programs found");
    let mut trials = vec![
        Trial::test("what is no whole trace is refused", refused),
        Trial::test("a trace that was cut off is judged up to there", cut_off),
        Trial::test("a detector that can't judge a trace is refused", unfit),
        Trial::test("suppressions and all detectors", options),
        Trial::test("the trace of a native program", native),
        Trial::test("a trace does not take the place of the program", in_place),
    ];
    trials.extend(programs.into_iter().map(|program| {
        let name = program.display().to_string();
        Trial::test(name, move || compare(&program))
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The programs under a directory, relative to the root.
fn collect(under: &Path, programs: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(root().join(under)).expect("the directory can be read");
    for entry in entries {
        let path = under.join(entry.expect("an entry").file_name());
        if path.extension().is_some_and(|extension| extension == "fin") {
            programs.push(path);
        } else if root().join(&path).is_dir() {
            collect(&path, programs);
        }
    }
}

fn finishline(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_finishline"));
    let command = command.args(words).current_dir(root());
    command.output().expect("the binary starts")
}

/// A file for a trace, of this name.
fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.to_str().expect("a path of text").to_owned()
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, a: T, b: T) -> Result<(), Failed> {
    match a == b {
        true => Ok(()),
        false => Err(format!("{what} differs:\n{a:#?}\n{b:#?}").into()),
    }
}

fn in_place() -> Result<(), Failed> {
    let (program, source) = (file("in_place.fin"), "fn main() { }\n");
    fs::write(&program, source)?;
    let recorded = finishline(&["record", &program, "-o", &program]);
    equal("the status", recorded.status.code(), Some(2))?;
    equal(
        "the program",
        fs::read_to_string(&program)?.as_str(),
        source,
    )
}

fn compare(program: &Path) -> Result<(), Failed> {
    let source = fs::read_to_string(root().join(program)).unwrap_or_default();
    let arguments = source.lines().filter_map(|it| it.strip_prefix("//@ args:"));
    let arguments: Vec<&str> = arguments.flat_map(str::split_whitespace).collect();
    let path = program.to_str().expect("a path of text");
    let trace = file(&format!("{}.trace", path.replace('/', "_")));
    // Proofs take long, and all else is the same without them.
    let run = |words: &[&str]| {
        let program = [&[path], &arguments[..]].concat();
        finishline(&[words, &["--checks", "unproved"], &program].concat())
    };
    let checked = run(&["check", "--format", "json"]);
    let recorded = run(&["record", "-o", &trace]);
    if checked.status.code() == Some(2) {
        return equal(
            "the status of a bad program",
            recorded.status.code(),
            Some(2),
        );
    }
    let analyzed = finishline(&["analyze", "--format", "json", &trace]);
    fs::remove_file(&trace).map_err(|error| format!("{trace}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // A check prints what the program prints to standard error if its report goes elsewhere.
    equal("the output", text(&recorded.stdout), {
        let printed = text(&checked.stderr);
        let notes = printed.find("note: ").unwrap_or(printed.len());
        printed[..notes].to_owned()
    })?;
    // How many orders an exploration would take can't be told without the program.
    let report = |bytes: &[u8]| -> Vec<String> {
        let text = text(bytes);
        let lines = text.lines().map(str::to_owned);
        lines
            .filter(|line| !line.contains("finishline explore"))
            .collect()
    };
    equal(
        "the report",
        report(&checked.stdout),
        report(&analyzed.stdout),
    )?;
    equal("the status", checked.status.code(), analyzed.status.code())
}

/// Records the racy example. The bytes of the trace.
fn recorded(trace: &str) -> Vec<u8> {
    let recorded = finishline(&["record", RACY, "3", "-o", trace]);
    assert_eq!(recorded.status.code(), Some(0));
    fs::read(trace).expect("a trace")
}

fn refused() -> Result<(), Failed> {
    let trace = file("refused.trace");
    let whole = recorded(&trace);
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let half = &whole[..whole.len() - 1];
    let cases: [(&str, &[u8], &str); 4] = [
        ("foreign", b"fn main() {}", "this is no trace of Finishline"),
        ("empty", b"", "this is no trace of Finishline"),
        ("damaged", &flipped, "has a wrong checksum"),
        ("cut off", half, "cut off in the middle of a chunk"),
    ];
    for (what, bytes, expected) in cases {
        fs::write(&trace, bytes)?;
        let output = finishline(&["analyze", &trace]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        equal(what, output.status.code(), Some(2))?;
        if !said.starts_with("error: ") || !said.contains(expected) {
            return Err(format!("{what}: {said}").into());
        }
    }
    let missing = finishline(&["analyze", &file("missing.trace")]);
    equal("a missing file", missing.status.code(), Some(2))?;
    let nowhere = finishline(&["record", RACY, "3", "-o", "/dev/null"]);
    equal("a trace to no file", nowhere.status.code(), Some(2))
}

/// The first chunks of a trace.
fn cut(whole: &[u8], chunks: usize) -> &[u8] {
    let mut end = 16;
    for _ in 0..chunks {
        let length = whole[end + 1..end + 5].try_into().expect("four bytes");
        end += 9 + u32::from_le_bytes(length) as usize;
    }
    &whole[..end]
}

fn cut_off() -> Result<(), Failed> {
    let trace = file("cut_off.trace");
    let whole = recorded(&trace);
    // The names alone.
    fs::write(&trace, cut(&whole, 1))?;
    let output = finishline(&["analyze", &trace]);
    equal("the status without a run", output.status.code(), Some(4))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !said.contains("the recording was cut off") {
        return Err(said.into());
    }
    // The run without its end.
    fs::write(&trace, cut(&whole, 2))?;
    let output = finishline(&["analyze", &trace]);
    equal("the status without an end", output.status.code(), Some(66))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let names = ["race: write and write to B[0]", "the recording was cut off"];
    match names.iter().all(|name| said.contains(name)) {
        true => Ok(()),
        false => Err(said.into()),
    }
}

fn unfit() -> Result<(), Failed> {
    let trace = file("unfit.trace");
    recorded(&trace);
    let output = finishline(&["analyze", &trace, "--detector", "sp-bags"]);
    equal("the status", output.status.code(), Some(2))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match said.contains("--detector auto") {
        true => Ok(()),
        false => Err(said.into()),
    }
}

fn options() -> Result<(), Failed> {
    let (trace, list) = (file("options.trace"), file("options.txt"));
    recorded(&trace);
    let all = finishline(&["analyze", &trace, "--detector", "all"]);
    equal("the status of all", all.status.code(), Some(66))?;
    let said = String::from_utf8_lossy(&all.stderr).into_owned();
    if !said.contains("the detectors agree") {
        return Err(said.into());
    }
    fs::write(&list, "B\n")?;
    let suppressed = finishline(&["analyze", &trace, "--suppressions", &list]);
    equal(
        "the status of known races",
        suppressed.status.code(),
        Some(0),
    )
}

/// The trace of a process whose two tasks write to the same word, or to two words.
fn process(path: &str, words: [u64; 2]) -> Result<(), Failed> {
    let start = Start {
        process: 1,
        began: 0,
        executable: "/no/such/program".to_owned(),
        arguments: Vec::new(),
        directory: "/".to_owned(),
        modules: Vec::new(),
        stack: 0x7000_0000..0x7001_0000,
        thread_locals: 0..0,
        logical_threads: 16,
        right_first: false,
        max_races: 100,
        is_test: false,
    };
    let mut recorder = Recorder::new(fs::File::create(path)?, &start)?;
    let (finish, place) = (FinishId(1), 0x1000);
    let mut calls = vec![Call::FinishBegin {
        kind: NativeFinishKind::Rayon(rayon::FinishKind::Join),
        place,
    }];
    for (kind, address) in [
        NativeTaskKind::Rayon(rayon::TaskKind::JoinLeft),
        NativeTaskKind::Rayon(rayon::TaskKind::JoinRight),
    ]
    .into_iter()
    .zip(words)
    {
        calls.extend([
            Call::TaskBegin {
                kind,
                finish,
                place,
                entry: 0x7000_f000,
            },
            Call::Access {
                kind: AccessKind::Write,
                address,
                bytes: 8,
                place,
                is_range: false,
                lower: None,
            },
            Call::TaskEnd,
        ]);
    }
    calls.push(Call::FinishEnd(finish));
    for call in &calls {
        recorder.call(call, 0, &[]);
    }
    recorder.end(&End {
        goes_on: false,
        modules: Vec::new(),
        accesses: 2,
        unfollowed: 0,
        drop_in: Some(rayon::INTERFACE_VERSION),
        failed: false,
        stopped: None,
        division: rayon::Division::None,
    })?;
    Ok(())
}

fn native() -> Result<(), Failed> {
    let trace = file("native.trace");
    for (words, status, expected) in [
        ([0x5000, 0x5000], 66, "race: write and write"),
        // Nothing is known of the executable, so it may have atomic operations that are not seen.
        ([0x5000, 0x5008], 0, "observed: "),
    ] {
        process(&trace, words)?;
        let output = finishline(&["analyze", &trace]);
        equal(expected, output.status.code(), Some(status))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !said.contains(expected) {
            return Err(said.into());
        }
    }
    let native: [(&[&str], &str); 4] = [
        (
            &["analyze", &trace, "--detector", "oracle"],
            "the detector that",
        ),
        (
            &["analyze", &trace, "--detector", "all"],
            "the detector that",
        ),
        (
            &["analyze", &trace, "--partition", "1/2", "-o", "part"],
            "has no parts",
        ),
        (
            &["graph", &trace, "-o", "graph.svg"],
            "the trace of a native program",
        ),
    ];
    for (words, expected) in native {
        refused_with(words, expected)?;
    }
    let whole = fs::read(&trace)?;
    let why = "the report is about it";
    refused_with(&["analyze", &trace, "-o", &trace], why)?;
    equal("the trace", fs::read(&trace)?, whole)?;
    refused_with(&["check", RACY, "3", "-o", RACY], why)?;
    refused_with(&["analyze", "/dev/null"], "is no file")?;
    recorded(&trace);
    refused_with(&["analyze", &trace, "--determinacy"], "check --determinacy")
}

fn refused_with(words: &[&str], expected: &str) -> Result<(), Failed> {
    let output = finishline(words);
    equal(&words.join(" "), output.status.code(), Some(2))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match said.starts_with("error: ") && said.contains(expected) {
        true => Ok(()),
        false => Err(format!("{words:?}: {said}").into()),
    }
}
