//! Frames, inlining, names, sources, globals.

use crate::compiled::{LINE_TABLES, findings, line, object, pair, symbolised, task_of};
use finishline_answer::location::Object;
use finishline_answer::task::{Created, Origin};
use finishline_model::findings::{FindingsFile, ListedModule};
use finishline_symbols::{Question, parse, symbolise};

#[test]
fn an_access_is_told_by_the_users_line_and_all_frames_around_it() {
    for (way, run) in symbolised() {
        let access = &pair(&run, 0).first;
        let shown = access.stack.frame().expect("a frame");
        let place = shown.place.as_ref().expect("a place");
        assert_eq!(shown.function, "hist::bump", "{way:?}");
        assert_eq!(
            (place.file.as_str(), place.line, place.column),
            ("src/hist.rs", line("bump"), 5),
            "{way:?}"
        );
        assert!(
            place
                .text
                .starts_with("record::access(\"for_each\", \"write\", cell"),
            "{}",
            place.text
        );

        let frames = &access.stack.frames;
        let functions: Vec<&str> = frames.iter().map(|frame| frame.function.as_str()).collect();
        let closure = if way.mangling == "v0" {
            "hist::fill::{closure#0}"
        } else {
            "hist::fill::{closure}"
        };
        assert_eq!(functions[..2], ["hist::bump", closure], "{way:?}");
        let fill = functions
            .iter()
            .position(|name| *name == "hist::fill")
            .expect("fill");
        let place = frames[fill].place.as_ref().expect("a place");
        assert_eq!(
            (place.line, place.text.starts_with("Range(8).for_each")),
            (line("for_each"), true),
            "{way:?}"
        );
        // The frames in between are rayon's, and std's where rayon calls it.
        assert!(
            frames[2..fill]
                .iter()
                .all(|frame| matches!(frame.origin, Origin::Rayon | Origin::Std)),
            "{frames:#?}"
        );
        assert!(
            frames[2..fill].iter().any(|frame| frame
                .function
                .contains("plumbing::bridge_producer_consumer")),
            "{functions:#?}"
        );
        // `bump` is inlined in every way.
        assert!(frames[0].inlined && !frames[fill].inlined, "{way:?}");
        assert!(
            functions.iter().all(|name| !name.contains("17h")),
            "{functions:#?}"
        );
        assert!(functions.contains(&"hist::main"), "{functions:#?}");
    }
}

#[test]
fn a_global_is_told_by_its_symbol_and_its_definition() {
    for (way, run) in symbolised() {
        let Object::Global {
            name,
            size,
            offset,
            defined,
        } = object(&run, 0)
        else {
            panic!("{:?}", object(&run, 0));
        };
        assert_eq!((name.as_str(), *size), ("hist::TABLE", 32), "{way:?}");
        assert_eq!(*offset, 0, "{way:?}");
        let expected = (way.debug == "2").then(|| ("src/hist.rs".to_owned(), line("table")));
        assert_eq!(
            defined
                .as_ref()
                .map(|place| (place.file.clone(), place.line)),
            expected,
            "{way:?}"
        );

        let Object::Global {
            name, size, offset, ..
        } = object(&run, 3)
        else {
            panic!(
                "zeroed variables lie outside the file: {:?}",
                object(&run, 3)
            );
        };
        assert_eq!(
            (name.as_str(), *size, *offset),
            ("hist::EMPTY", 8000, 8),
            "{way:?}"
        );
    }
}

#[test]
fn a_block_and_a_variable_are_told_by_where_they_come_from() {
    for (way, run) in symbolised() {
        let Object::Heap {
            size,
            offset,
            allocated,
            task,
        } = object(&run, 1)
        else {
            panic!("{:?}", object(&run, 1));
        };
        assert_eq!((*size, *offset, task.steps.len()), (128, 24, 0), "{way:?}");
        assert_eq!(
            allocated.place().map(|place| place.line),
            Some(line("block")),
            "{way:?}"
        );
        let Object::Stack {
            function, place, ..
        } = object(&run, 2)
        else {
            panic!("{:?}", object(&run, 2));
        };
        assert_eq!(function, "hist::scope", "{way:?}");
        assert_eq!(
            place.as_ref().map(|place| place.line),
            Some(line("variable")),
            "{way:?}"
        );
    }
}

#[test]
fn without_the_executable_addresses_are_told() {
    let mut file = FindingsFile::clone(findings(0));
    file.modules[0].path = "/gone/hist".to_owned();
    let findings = parse(file.text().as_bytes()).expect("usable findings");
    let run = symbolise(&findings, &Question::default());
    let access = &pair(&run, 0).first;
    let shown = access.stack.frame().expect("a frame");
    assert!(
        shown.function.starts_with("0x") && shown.function.ends_with(" in /gone/hist"),
        "{}",
        shown.function
    );
    assert_eq!((&shown.place, &shown.origin), (&None, &Origin::System));
    assert_eq!(*object(&run, 0), Object::Unknown);
    let step = &task_of(access).steps[0];
    assert_eq!(step.operation, "join");
    assert!(matches!(&step.created, Created::Nested(parts) if parts.len() == 3));
}

#[test]
fn addresses_of_nothing_harm_nobody() {
    let strange = vec![0, 1, u64::MAX, 1 << 63];
    let mut file = FindingsFile::clone(findings(0));
    file.stacks.fill(strange);
    for path in ["/dev/zero", "/", "", "\0", file!()] {
        file.modules = vec![ListedModule {
            path: path.to_owned(),
            bias: u64::MAX,
            start: 0,
            end: u64::MAX,
        }];
        let findings = parse(file.text().as_bytes()).expect("usable findings");
        let run = symbolise(&findings, &Question::default());
        assert_eq!(run.findings.len(), 5);
        assert_eq!(run.findings[0].first.stack.frames.len(), 4);
    }
}

#[test]
fn line_tables_alone_still_give_the_lines() {
    let run = symbolise(findings(LINE_TABLES), &Question::default());
    let access = &pair(&run, 0).first;
    let shown = access.stack.frame().expect("a frame");
    assert_eq!(shown.function, "bump");
    assert_eq!(shown.place.as_ref().map(|p| p.line), Some(line("bump")));
}
