//! Findings written by hand, for a program that does not exist: every kind of task and object,
//! described by address.

use finishline_answer::verdict::{Extent, Verdict};
use finishline_model::Detector;
use finishline_model::findings::{
    FindingsFile, ListedAccess, ListedFinish, ListedObject, ListedPair, ListedTask, ListedWait,
};
use finishline_model::kinds::{
    ConflictClass, NativeAccessKind, NativeFinishKind, NativeTaskKind, WaitKind, rayon,
};
use finishline_report::{Format, Selection, Style, write};
use finishline_symbols::{Question, parse, read, symbolise, unheard};
use std::path::Path;

#[test]
fn what_can_be_told_without_the_program_is_told() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/written");
    let findings = read(&folder.join("siblings.json")).expect("usable findings");
    let run = symbolise(&findings, &Question::default());
    let mut out = Vec::new();
    let (all, style) = (Selection::default(), Style::default());
    write(&run, Format::Text, all, style, &mut out).expect("a Vec takes everything");
    let actual = String::from_utf8(out).expect("reports are UTF-8");
    let snapshot = folder.join("siblings.txt");
    if std::env::var_os("FINISHLINE_BLESS").is_some() {
        std::fs::write(&snapshot, &actual).expect("the snapshot can be written");
    }
    let expected = std::fs::read_to_string(&snapshot).unwrap_or_default();
    assert_eq!(
        actual, expected,
        "to accept it: FINISHLINE_BLESS=1 cargo test -p finishline-symbols"
    );
}

/// The findings of a process in which a thread that main started calls join. The user's code does
/// not appear in the stacks.
fn with_thread(stopped: Option<ListedWait>) -> String {
    let task = |id, kind, parent, finish, stack| ListedTask {
        id,
        kind,
        parent,
        finish,
        stack,
    };
    let access = |task| ListedAccess {
        kind: NativeAccessKind::Write,
        atomic: false,
        address: 8,
        size: 8,
        stack: 0,
        task,
        locks: Vec::new(),
    };
    let file = FindingsFile {
        complete: true,
        executable: "/t/app".to_owned(),
        directory: "/t".to_owned(),
        drop_in: true,
        stopped,
        stacks: vec![vec![4112]],
        tasks: vec![
            task(0, NativeTaskKind::Main, 0, 0, None),
            task(1, NativeTaskKind::Thread, 0, 0, Some(0)),
            task(
                2,
                NativeTaskKind::Rayon(rayon::TaskKind::JoinLeft),
                1,
                1,
                Some(0),
            ),
            task(
                3,
                NativeTaskKind::Rayon(rayon::TaskKind::JoinRight),
                1,
                1,
                Some(0),
            ),
        ],
        finishes: vec![ListedFinish {
            id: 1,
            kind: NativeFinishKind::Rayon(rayon::FinishKind::Join),
            task: 1,
            stack: Some(0),
        }],
        races: vec![ListedPair {
            class: ConflictClass::Race,
            address: 8,
            bytes: 8,
            object: ListedObject::Global {},
            ordered_by: None,
            first: access(2),
            second: access(3),
            locations: 8,
        }],
        ..FindingsFile::new(Detector::EspBags)
    };
    file.text()
}

#[test]
fn the_thread_of_a_harness_is_not_told() {
    let findings = parse(with_thread(None).as_bytes()).expect("usable findings");
    let operations = |test: Option<&str>| {
        let question = Question {
            test,
            ..Question::default()
        };
        let run = symbolise(&findings, &question);
        let task = run.findings[0].first.task.clone();
        let operations = task
            .expect("a task")
            .steps
            .into_iter()
            .map(|step| step.operation);
        operations.collect::<Vec<_>>()
    };
    assert_eq!(operations(Some("tests::a")), ["join"]);
    assert_eq!(operations(None), ["thread", "join"]);
}

/// The runtime ends a process whose tasks wait in vain. That is no failure of the program.
#[test]
fn a_run_that_was_stopped_has_not_failed() {
    let stopped = ListedWait {
        what: WaitKind::Spin,
        task: 0,
        stack: 0,
    };
    for (stopped, failed) in [(Some(stopped), false), (None, true)] {
        let findings = parse(with_thread(stopped).as_bytes()).expect("usable findings");
        let question = Question {
            failure: Some("the test ended its process"),
            ..Question::default()
        };
        assert_eq!(symbolise(&findings, &question).failure.is_some(), failed);
    }
}

#[test]
fn a_process_that_was_not_heard_of_is_not_called_clean() {
    let ended = |failure| {
        let question = Question {
            program: "app",
            failure,
            status: 9,
            ..Question::default()
        };
        let run = unheard(&question);
        assert_eq!(
            (
                run.process().map(|it| (it.extent, it.status)),
                run.program.as_str()
            ),
            (Some((Extent::Nothing, 9)), "app")
        );
        run.verdict
    };
    assert_eq!(ended(None), Verdict::Unknown);
    assert_eq!(ended(Some("killed")), Verdict::Trap);
}

#[test]
fn what_is_no_findings_file_is_refused_by_name() {
    for path in [
        "/no/such/file",
        "/dev/zero",
        "/",
        concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
    ] {
        let why = read(Path::new(path)).expect_err("unusable").to_string();
        assert!(why.starts_with(&format!("{path}: ")), "{why}");
    }
}
