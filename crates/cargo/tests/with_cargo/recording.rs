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
        trial("what_can_not_be_recorded", what_can_not_be_recorded),
    ]
}

/// What `run` asks if it is not told otherwise.
pub(crate) const USUAL: AskedProcess<'static> = AskedProcess {
    determinacy: false,
    max_races: 100,
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

/// However the process ends. If nothing could be heard of it at its end, the trace knows more about
/// it than the run, and gives the same answer.
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
            if orderly.contains(ends) {
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
                max_races: 1,
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
    let run = ["run", "--quiet", "--format=json", "--record=it.trace"];
    package.finishline(&run).expect(66);
    let (status, report) = analyzed(&package.path("it.trace"), &USUAL);
    let report: Value = serde_json::from_str(&report).expect("a report");
    assert_eq!((status, &report["verdict"]), (0, &Value::from("certified")));
}

fn what_can_not_be_recorded() {
    let package = Package::with_rayon("not_recorded", RACY);
    fs::create_dir(package.path("folder")).expect("folders can be made");
    for (arguments, told) in [
        (&["run", "--record", "folder"][..], "folder is no file"),
        (&["run", "--record", "/dev/null"], "/dev/null is no file"),
        (&["run", "--record", "no/such/folder"], "no/such/folder"),
        (&["test", "--record", "it.trace"], "--record"),
        (&["run", "--record"], "--record"),
    ] {
        let called = package.finishline(arguments).expect(2);
        assert!(called.stderr.contains(told), "{}", called.stderr);
        assert!(!called.stderr.contains("Compiling"), "{}", called.stderr);
    }
}
