//! Each kind of mistake has a program under `programs/errors/static` that shows it. Each code is
//! explained.

use finishline_fin::diagnostic::Code;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn codes(bytes: &[u8]) -> Vec<Code> {
    match finishline_fin::compile("test.fin", bytes) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.errors.iter().map(|error| error.code).collect(),
    }
}

#[test]
fn every_kind_of_mistake_has_a_program() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/errors/static");
    let mut shown = BTreeSet::new();
    for entry in fs::read_dir(directory).expect("the programs with errors") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "fin") {
            let found = codes(&fs::read(&path).expect("a program"));
            assert!(!found.is_empty(), "{} is accepted", path.display());
            shown.extend(found.into_iter().map(Code::name));
        }
    }
    // A file that is not text can't be read as a program. The test below covers it.
    let missing: Vec<_> = Code::ALL
        .iter()
        .filter(|code| **code != Code::NotText && !shown.contains(code.name()))
        .collect();
    assert!(missing.is_empty(), "no program shows {missing:?}");
}

#[test]
fn what_is_not_text_is_refused_with_its_position() {
    let errors = finishline_fin::compile("test.fin", b"fn main() {\n  \xff }")
        .err()
        .expect("not UTF-8");
    assert_eq!(errors.positions(), [(Code::NotText, 2, 3)]);
}

#[test]
fn codes_are_distinct_and_explained() {
    let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
    assert_eq!(names.len(), Code::ALL.len());
    for code in Code::ALL {
        assert_eq!(Code::from_name(code.name()), Some(*code));
        assert!(code.explanation().ends_with('.') && !code.title().is_empty());
    }
}

#[test]
fn one_mistake_is_one_error_and_all_are_shown() {
    let source = "fn f(a: Unknown): int { return a.x + 1; }\n\
                  fn main() {\n\
                  let p = f(missing);\n\
                  let q = p + 1;\n\
                  var n = 0;\n\
                  async { print(n + q); }\n\
                  n = true;\n\
                  }\n";
    let errors = finishline_fin::compile("test.fin", source.as_bytes())
        .err()
        .expect("errors");
    let found: Vec<_> = errors
        .positions()
        .iter()
        .map(|(code, line, _)| (*code, *line))
        .collect();
    let expected = [
        (Code::UnknownType, 1),
        (Code::UnknownName, 3),
        (Code::MutableCapture, 6),
        (Code::Mismatch, 7),
    ];
    assert_eq!(found, expected);
}
