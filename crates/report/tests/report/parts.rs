//! The parts of a suite: what a report stores is read as it was, and parts make up the whole.

use crate::json::SCHEMA;
use crate::native::{render_suite, value};
use crate::native_runs::{self, process};
use crate::{assert_valid, validator};
use finishline_answer::partition::{Partition, whole};
use finishline_answer::{Answer, Suite, suite_exit_status};
use finishline_report::{Format, NoPartOfSuite, Style, read_part};

fn part(number: usize, of: usize, suite: Suite) -> Suite {
    let option = format!("--partition={number}/{of}");
    Suite {
        command: suite.command.into_iter().chain([option]).collect(),
        partition: Some(Partition { number, of }),
        elsewhere: 3,
        ..suite
    }
}

fn json(suite: &Suite) -> String {
    render_suite(suite, Format::Json, Style::default())
}

/// Each kind of process, with every field that a report shows.
fn all_kinds() -> Suite {
    let mut suite = native_runs::suite();
    let all = native_runs::all().into_iter();
    suite.answers.extend(all.map(|(_, answer, _)| answer));
    suite
}

#[test]
fn a_part_is_read_as_it_was_written() {
    let written = part(2, 3, all_kinds());
    let text = json(&written);
    assert_valid(&validator(SCHEMA), "a part", &value(&text));
    let read = read_part(&text).expect("it is a part");
    assert_eq!(read, written);
}

#[test]
fn parts_make_up_the_whole() {
    let undivided = all_kinds();
    let mut halves = [Suite::default(), Suite::default()];
    for half in &mut halves {
        half.command.clone_from(&undivided.command);
        half.notes.clone_from(&undivided.notes);
    }
    for (at, answer) in undivided.answers.iter().enumerate() {
        halves[at % 2].answers.push(answer.clone());
    }
    halves[1].not_run.clone_from(&undivided.not_run);
    let [first, second] = halves;
    let merged = whole([part(1, 2, first), part(2, 2, second)]);
    let mut expected = undivided;
    let test = |answer: &Answer| answer.process().and_then(|process| process.test.clone());
    let programs: Vec<String> = expected
        .answers
        .iter()
        .map(|it| it.program.clone())
        .collect();
    let program = |answer: &Answer| programs.iter().position(|it| *it == answer.program);
    let key = |answer: &Answer| (program(answer), test(answer));
    expected.answers.sort_by_key(key);
    let keys = |suite: &Suite| suite.answers.iter().map(key).collect::<Vec<_>>();
    assert_eq!(keys(&merged), keys(&expected));
    assert_eq!(merged.command, expected.command);
    assert_eq!(merged.notes, expected.notes);
    assert_eq!(merged.not_run, expected.not_run);
    assert_eq!((merged.partition, merged.elsewhere), (None, 0));
    assert_eq!(suite_exit_status(&merged), suite_exit_status(&expected));
}

/// One part knows nothing of the tests of the others.
#[test]
fn a_part_with_nothing_to_check_is_no_failure() {
    let idle = Suite {
        answers: vec![native_runs::idle()],
        ..Suite::default()
    };
    assert_eq!(suite_exit_status(&idle), 4);
    let parts = [part(1, 2, idle.clone()), part(2, 2, Suite::default())];
    assert_eq!(parts.each_ref().map(suite_exit_status), [0, 0]);
    assert_eq!(suite_exit_status(&whole(parts)), 4);
    let interrupted = Suite {
        interrupted: true,
        ..part(1, 2, idle.clone())
    };
    assert_eq!(suite_exit_status(&interrupted), 4);
    let nothing_selected = Suite {
        elsewhere: 0,
        ..part(1, 2, Suite::default())
    };
    assert_eq!(suite_exit_status(&nothing_selected), 4);
    let text = render_suite(&part(1, 2, idle), Format::Text, Style::default());
    assert!(
        text.starts_with("summary: part 1 of 2, 1 process: 1 with"),
        "{text}"
    );
}

#[test]
fn what_is_no_part_is_refused() {
    let refused = |text: &str| read_part(text).expect_err("no part");
    for (text, at) in [
        ("{\n  \"tool\": 3 }", (2, 11)),
        ("{", (1, 1)),
        ("{}", (1, 2)),
    ] {
        let no_part = refused(text);
        let NoPartOfSuite::NoReport { line, column, why } = &no_part else {
            panic!("{text}: {no_part}")
        };
        assert_eq!((*line, *column), at, "{text}");
        assert!(!why.contains(" at line"), "{why}");
    }
    let whole = json(&native_runs::suite());
    assert!(matches!(refused(&whole), NoPartOfSuite::Whole));
    let text = json(&part(1, 2, native_runs::suite()));
    let old = text.replacen("0.1.0", "0.0.9", 1);
    assert!(matches!(refused(&old), NoPartOfSuite::Version(version) if version == "0.0.9"));
    // In the records alone: elsewhere there is no backslash before the quotation mark.
    let changed = text.replacen(
        "\\\"verdict\\\":\\\"Race\\\"",
        "\\\"verdict\\\":\\\"Trap\\\"",
        1,
    );
    assert_ne!(changed, text);
    assert!(matches!(refused(&changed), NoPartOfSuite::Damaged));
    let mut lacking = value(&text);
    let records = lacking["partition"]["records"].as_array_mut();
    records.expect("a list").pop();
    assert!(matches!(
        refused(&lacking.to_string()),
        NoPartOfSuite::Damaged
    ));
    // A program of tests that fails says so with every word that it has.
    let mut odd = native_runs::failed();
    process(&mut odd).test = Some("\"\\\n\u{1b}é".to_owned());
    let odd = part(
        1,
        1,
        Suite {
            answers: vec![odd],
            ..Suite::default()
        },
    );
    assert_eq!(read_part(&json(&odd)).expect("a part"), odd);
}
