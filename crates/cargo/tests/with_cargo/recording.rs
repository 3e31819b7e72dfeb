//! `run --record`: the trace of a process gives the report that the process gave, elsewhere and
//! later, and a trace that is not whole says so.

use crate::package::{Called, Package};
use crate::running::ENDS;
use finishline_answer::Answer;
use finishline_answer::exit_status::exit_status;
use finishline_answer::suppressions::Suppressions;
use finishline_cargo::recorded::{self, AskedProcess, NoAnswer};
use finishline_report::{Format, Selection, Style};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(format!("record::{name}"), move || {
            test();
            Ok(())
        })
    };
    vec![
        trial(
            "a_trace_gives_the_report_of_the_run",
            a_trace_gives_the_report_of_the_run,
        ),
        trial("a_trace_needs_no_other_file", a_trace_needs_no_other_file),
        trial("a_trace_can_be_asked_more", a_trace_can_be_asked_more),
        trial("a_part_of_a_trace", a_part_of_a_trace),
        trial("only_the_first_process", only_the_first_process),
        trial(
            "a_process_that_becomes_another",
            a_process_that_becomes_another,
        ),
        trial("a_program_does_as_it_likes", a_program_does_as_it_likes),
        trial("a_file_may_not_be_large", a_file_may_not_be_large),
        trial(
            "nothing_but_traces_is_replaced",
            nothing_but_traces_is_replaced,
        ),
        trial("without_names", without_names),
        trial("what_can_not_be_recorded", what_can_not_be_recorded),
    ]
}

/// What `run` asks if it is not told otherwise.
pub(crate) const USUAL: AskedProcess<'static> = AskedProcess {
    determinacy: false,
    max_races: None,
    suppressions: None,
};

/// The exit status and the report, in JSON.
pub(crate) fn analyzed(trace: &Path, asked: &AskedProcess) -> (i32, String) {
    let answer = try_to_analyze(trace, asked);
    let answer = answer.unwrap_or_else(|error| panic!("{}: {error:?}", trace.display()));
    (i32::from(exit_status(&answer)), json(&answer))
}

fn json(answer: &Answer) -> String {
    let mut report = Vec::new();
    let (all, plain) = (Selection::default(), Style::default());
    finishline_report::write(answer, Format::Json, all, plain, &mut report).expect("no file");
    String::from_utf8(report).expect("text")
}

fn try_to_analyze(trace: &Path, asked: &AskedProcess) -> Result<Answer, NoAnswer> {
    let file = File::open(trace).expect("there is a trace");
    let trace = recorded::open_process(file).map_err(NoAnswer::Trace)?;
    recorded::analyze(&mut trace.expect("it is a process's"), asked)
}

/// However the process ends. If nothing was heard of it, the trace knows more about it than the
/// run, and gives the same answer.
fn a_trace_gives_the_report_of_the_run() {
    let package = Package::with_rayon("recorded", ENDS);
    let orderly = ["returns", "exits", "claims", "panics", "waits"];
    let abrupt = ["aborts", "overflows", "faults", "is killed", "vanishes"];
    for does in ["idle", "clean", "races"] {
        for ends in orderly.iter().chain(&abrupt) {
            let record = ["run", "--quiet", "--format=json", "--record=it.trace"];
            let called = package.finishline(&[&record[..], &["--", does, ends]].concat());
            let (status, again) = analyzed(&package.path("it.trace"), &USUAL);
            assert_eq!(status, called.status, "{does}, {ends}");
            if orderly.contains(ends) || does == "races" {
                assert_eq!(again, called.stdout, "{does}, {ends}");
                continue;
            }
            let [report, again] = [&called.stdout, &again]
                .map(|text| serde_json::from_str::<Value>(text).expect("a report"));
            for field in ["program", "verdict", "because", "races", "failure"] {
                assert_eq!(again[field], report[field], "{does}, {ends}");
            }
        }
    }
}

const RACY: &str = "
    static mut TOTAL: u64 = 0;
    fn add() { unsafe { TOTAL += 1 } }
    fn main() { rayon::join(add, add); }";

/// Neither the sources nor the executable are needed.
fn a_trace_needs_no_other_file() {
    let package = Package::with_rayon("recorded_elsewhere", RACY);
    let arguments = ["run", "--quiet", "--format=json", "--record=it.trace"];
    let mut command = package.command(&arguments);
    command.env("CARGO_TARGET_DIR", package.path("target"));
    let called = Called::from(command).expect(66);
    for gone in ["src", "target"] {
        fs::remove_dir_all(package.path(gone)).expect("it was there");
    }
    let (status, report) = analyzed(&package.path("it.trace"), &USUAL);
    assert_eq!((status, &report), (66, &called.stdout));
    assert!(report.contains("src/main.rs") && report.contains("TOTAL"));
}

/// What was not asked of the run: conflicts that locks order, fewer races, suppressions.
fn a_trace_can_be_asked_more() {
    let main = "
        use std::sync::Mutex;
        static TOTAL: Mutex<u64> = Mutex::new(0);
        static mut FIRST: u64 = 0;
        static mut SECOND: u64 = 0;
        fn add() {
            *TOTAL.lock().unwrap() += 1;
            unsafe { FIRST += 1 }
            unsafe { SECOND += 1 }
        }
        fn main() { rayon::join(add, add); }";
    let package = Package::with_rayon("recorded_and_asked", main);
    package
        .finishline(&["run", "--quiet", "--record=it.trace"])
        .expect(66);
    fs::write(package.path("known"), "*FIRST*\n").expect("files can be written");
    let known = Suppressions::parse("known", &package.read("known")).expect("it is right");
    for (option, asked) in [
        (
            "--determinacy",
            AskedProcess {
                determinacy: true,
                ..USUAL
            },
        ),
        (
            "--max-races=1",
            AskedProcess {
                max_races: Some(1),
                ..USUAL
            },
        ),
        (
            "--suppressions=known",
            AskedProcess {
                suppressions: Some(&known),
                ..USUAL
            },
        ),
    ] {
        let run = ["run", "--quiet", "--format=json", option];
        let called = package.finishline(&run).expect(66);
        let (_, again) = analyzed(&package.path("it.trace"), &asked);
        // The recorded command line did not have the option.
        let report = called.stdout.replace(&format!(" {option}"), "");
        assert_eq!(again, report, "{option}");
    }
}

/// A trace that ends early, in any place, is one of a process that is not known to have ended.
fn a_part_of_a_trace() {
    let package = Package::with_rayon("recorded_in_part", RACY);
    package
        .finishline(&["run", "--quiet", "--record=it.trace"])
        .expect(66);
    let whole = fs::read(package.path("it.trace")).expect("there is a trace");
    let part = package.path("part.trace");
    let (mut answers, mut errors) = (0, 0);
    for end in 0..whole.len() {
        fs::write(&part, &whole[..end]).expect("files can be written");
        let file = File::open(&part).expect("there is a trace");
        let answer = match recorded::open_process(file) {
            Ok(Some(mut trace)) => recorded::analyze(&mut trace, &USUAL).ok(),
            Ok(None) | Err(_) => None,
        };
        match answer {
            Some(answer) => {
                assert_ne!(exit_status(&answer), 0, "{end} of {} bytes", whole.len());
                answers += 1;
            }
            None => errors += 1,
        }
    }
    assert!(
        answers > 0 && errors > 0,
        "{answers} answers, {errors} errors"
    );
}

/// A program that starts itself again is recorded once.
fn only_the_first_process() {
    let main = "
        static mut TOTAL: u64 = 0;
        fn add() { unsafe { TOTAL += 1 } }
        fn main() {
            match std::env::args().nth(1) {
                Some(_) => _ = rayon::join(add, add),
                None => {
                    let own = std::env::current_exe().unwrap();
                    std::process::Command::new(own).arg(\"again\").status().unwrap();
                    rayon::join(|| (), || ());
                }
            }
        }";
    let package = Package::with_rayon("recorded_once", main);
    let called = package.finishline(&["run", "--record=it.trace"]).expect(66);
    assert!(called.stderr.contains("the first process alone"));
    assert!(!called.stderr.contains("not written"));
    let (status, report) = analyzed(&package.path("it.trace"), &USUAL);
    let report: Value = serde_json::from_str(&report).expect("a report");
    assert_eq!((status, &report["verdict"]), (0, &Value::from("certified")));
}

fn a_process_that_becomes_another() {
    let main = "
        use std::os::unix::process::CommandExt;
        static mut TOTAL: u64 = 0;
        fn add() { unsafe { TOTAL += 1 } }
        fn main() {
            if std::env::args().len() > 1 { rayon::join(add, add); return; }
            let own = std::env::current_exe().unwrap();
            panic!(\"{}\", std::process::Command::new(own).arg(\"again\").exec());
        }";
    let package = Package::with_rayon("recorded_before_exec", main);
    let called = package
        .finishline(&["run", "--quiet", "--record=it.trace"])
        .expect(66);
    assert!(called.stderr.contains("it ends before the run did"));
    assert_eq!(analyzed(&package.path("it.trace"), &USUAL).0, 4);
}

/// It removes its executable, goes elsewhere, closes all files and opens others, and copies itself.
fn a_program_does_as_it_likes() {
    let main = "
        use std::io::Write;
        unsafe extern \"C\" { fn close(file: i32) -> i32; fn fork() -> i32; fn wait(status: *mut i32) -> i32; }
        static mut TOTAL: [u64; 5000] = [0; 5000];
        fn add(at: usize) { unsafe { TOTAL[at * 7919 % 5000] += at as u64 } }
        fn main() {
            let here = std::env::current_dir().unwrap();
            for file in 3..100 { unsafe { close(file); } }
            let mut files: Vec<_> = (0..20)
                .map(|n| std::fs::File::create(here.join(format!(\"own{n}\"))).unwrap())
                .collect();
            std::fs::remove_file(std::env::current_exe().unwrap()).unwrap();
            std::env::set_current_dir(\"/\").unwrap();
            for n in 0..5000 { rayon::join(|| add(n), || add(n + 1)); }
            if unsafe { fork() } != 0 { unsafe { wait(std::ptr::null_mut()); } }
            rayon::join(|| add(1), || add(1));
            for file in &mut files { file.write_all(b\"own\").unwrap(); }
        }";
    let package = Package::with_rayon("recorded_as_it_likes", main);
    let run = ["run", "--quiet", "--format=json", "--record=it.trace"];
    let called = package.finishline(&run).expect(66);
    assert!(!called.stderr.contains("the trace"), "{}", called.stderr);
    for number in 0..20 {
        assert_eq!(
            package
                .read(&format!("own{number}"))
                .trim_end_matches("own"),
            ""
        );
    }
    let (status, report) = analyzed(&package.path("it.trace"), &USUAL);
    let whole: Value = serde_json::from_str(&called.stdout).expect("reports");
    let report: Value = serde_json::from_str(&report).expect("a report");
    let processes = whole["reports"].as_array().expect("two processes");
    assert_eq!((status, processes.len()), (66, 2));
    assert!(processes.contains(&report));
}

/// The program is not killed for it.
fn a_file_may_not_be_large() {
    let main = "
        unsafe extern \"C\" { fn setrlimit(what: i32, limit: *const [u64; 2]) -> i32; }
        static mut TOTAL: [u64; 5000] = [0; 5000];
        fn main() {
            unsafe { setrlimit(1, &[30_000, 30_000]) };
            let mut at = 1;
            for n in 0..100_000 {
                at = at * 7919 % 5003;
                rayon::join(|| unsafe { TOTAL[at % 5000] += n }, || ());
            }
        }";
    let package = Package::with_rayon("recorded_in_little", main);
    let called = package.finishline(&["run", "--quiet", "--record=it.trace"]);
    assert!(called.stderr.contains("certified: "), "{}", called.stderr);
    assert!(
        called.stderr.contains("file too large"),
        "{}",
        called.stderr
    );
    assert!(called.stderr.contains("it ends before the run did"));
    called.expect(2);
    assert_eq!(analyzed(&package.path("it.trace"), &USUAL).0, 4);
}

fn nothing_but_traces_is_replaced() {
    let package = Package::with_rayon("recorded_over", RACY);
    let record = |path: &str| package.finishline(&["run", "--quiet", "--record", path]);
    for path in ["src/main.rs", "Cargo.toml", "."] {
        let called = record(path).expect(2);
        assert!(called.stderr.contains("is no trace: it is not replaced"));
    }
    assert_eq!(package.read("src/main.rs"), RACY);
    let both = ["run", "--record=it.trace", "--output=it.trace"];
    let called = package.finishline(&both).expect(2);
    assert!(called.stderr.contains("another file at once"));

    fs::write(package.path("empty"), "").expect("files can be written");
    symlink(package.path("empty"), package.path("link")).expect("links can be made");
    record("link").expect(66);
    assert!(package.path("link").is_symlink());
    assert_eq!(analyzed(&package.path("empty"), &USUAL).0, 66);

    // A trace stays if there is nothing to take its place.
    let before = fs::read(package.path("empty")).expect("there is a trace");
    fs::write(package.path("src/main.rs"), "fn main() { nothing() }").expect("it is there");
    record("empty").expect(2);
    assert!(fs::read(package.path("empty")).expect("it is there") == before);
    let names = fs::read_dir(package.path(".")).expect("a folder");
    let left = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    assert_eq!(left.filter(|name| name.contains("unfinished")).count(), 0);
}

/// Whoever completes a trace may be killed. Then the executable is asked, unless it is another one.
fn without_names() {
    let package = Package::with_rayon("recorded_without_names", RACY);
    let record = || {
        package
            .finishline(&["run", "--quiet", "--record=it.trace"])
            .expect(66)
    };
    record();
    let whole = fs::read(package.path("it.trace")).expect("there is a trace");
    let (mut at, mut names) = (16, 0);
    while at < whole.len() {
        let length = whole[at + 1..at + 5].try_into().expect("four bytes");
        names = at;
        at += 9 + u32::from_le_bytes(length) as usize;
    }
    fs::write(package.path("part.trace"), &whole[..names]).expect("files can be written");
    let (status, report) = analyzed(&package.path("part.trace"), &USUAL);
    assert_eq!((status, report.contains("src/main.rs")), (66, true));

    fs::write(
        package.path("src/main.rs"),
        format!("{RACY}\nfn _other() {{}}"),
    )
    .expect("it is there");
    record();
    let (status, report) = analyzed(&package.path("part.trace"), &USUAL);
    assert_eq!((status, report.contains("src/main.rs")), (66, false));
}

fn what_can_not_be_recorded() {
    let package = Package::with_rayon("not_recorded", RACY);
    fs::create_dir(package.path("folder")).expect("folders can be made");
    for (arguments, told) in [
        (&["run", "--record", "folder"][..], "is no trace"),
        (&["run", "--record", "/dev/null"], "is no trace"),
        (&["run", "--record", "no/such/folder"], "no/such/folder"),
        (&["test", "--record", "it.trace"], "--record"),
        (&["run", "--record"], "--record"),
    ] {
        let called = package.finishline(arguments).expect(2);
        assert!(called.stderr.contains(told), "{}", called.stderr);
        assert!(!called.stderr.contains("Compiling"), "{}", called.stderr);
    }
}
