//! Findings written by hand, of a program that is not there: every kind of task and object, told by address.

use finishline_report::{Format, Style, native};
use finishline_symbols::{Question, read, symbolise};
use std::path::Path;

#[test]
fn what_can_be_told_without_the_program_is_told() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/written");
    let findings = read(&folder.join("siblings.json")).expect("usable findings");
    let run = symbolise(&findings, &Question::default());
    let mut out = Vec::new();
    native::write(&run, Format::Text, Style::default(), &mut out).expect("a Vec takes everything");
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
