//! The text report `x.stderr` beside each program that has a race or unseen operations. It is
//! compared, or written if `FINISHLINE_BLESS=1`.
//!
//! Parts that depend on the versions of rustc and rayon are removed: lines and numbers of foreign
//! frames, and the number of accesses.

use std::env;
use std::fs;
use std::path::Path;

const BLESS: &str = "FINISHLINE_BLESS";

/// Compares a report with the one in the file.
pub(crate) fn compare(report: &str, file: &Path, program: &str) -> Result<(), String> {
    let report = normalised(report);
    let expected = fs::read_to_string(file).unwrap_or_default();
    if report == expected {
        return Ok(());
    }
    if env::var_os(BLESS).is_some() {
        return fs::write(file, report).map_err(|error| format!("{}: {error}", file.display()));
    }
    let different = expected
        .lines()
        .zip(report.lines())
        .position(|(expected, found)| expected != found);
    let at = different.unwrap_or_else(|| expected.lines().count().min(report.lines().count()));
    let line = |text: &str| text.lines().nth(at).unwrap_or("(nothing)").to_owned();
    Err(format!(
        "{}:{}: the report has changed:\n    expected {}\n    found    {}\nto accept it: {BLESS}=1 cargo test -p finishline-cargo --test with_cargo -- {program}",
        file.display(),
        at + 1,
        line(&expected),
        line(&report),
    ))
}

fn normalised(report: &str) -> String {
    let mut text = String::new();
    for line in report.lines() {
        let line = without_number_of_frames(line);
        let line = without_foreign_place(&line, " at /");
        text += match line
            .strip_prefix("run: ")
            .and_then(|run| run.split_once(':'))
        {
            Some((program, _)) => format!("run: {program}"),
            None => line,
        }
        .as_str();
        text.push('\n');
    }
    text
}

/// `… 11 frames of rayon, std, system` without the number.
fn without_number_of_frames(line: &str) -> String {
    match line.split_once("… ") {
        Some((before, after)) if after.contains(" frame") => {
            let (_, whose) = after.rsplit_once(" of ").unwrap_or(("", after));
            format!("{before}… frames of {whose}")
        }
        _ => line.to_owned(),
    }
}

/// `f at /rustc/…/library/alloc/src/alloc.rs:178:9` as `f at alloc.rs`.
fn without_foreign_place(line: &str, mark: &str) -> String {
    match line.split_once(mark) {
        Some((before, place)) => {
            let file = place.rsplit('/').next().unwrap_or(place);
            let file = file.split(':').next().unwrap_or(file);
            format!("{before} at {file}")
        }
        None => line.to_owned(),
    }
}
