//! The user's suppressions, on a real program.

use crate::compiled::findings;
use finishline_answer::suppressions::Suppressions;
use finishline_answer::verdict::Verdict;
use finishline_symbols::{Question, symbolise};

#[test]
fn functions_lines_and_variables_suppress() {
    let findings = findings(1);
    for (entries, suppressed) in [
        ("race:hist::bump", vec![0]),
        ("race:bump", vec![0]),
        ("race:fill", vec![]),
        ("race:s*", vec![1, 2]),
        ("race:main", vec![]),
        ("race:escaping", vec![3, 4]),
        ("hist.rs:*", vec![0, 1, 2, 3, 4]),
        ("src/hist.rs:11", vec![0]),
        ("TABLE", vec![0]),
        ("EMPTY\nTABLE", vec![0, 3, 4]),
        ("*", vec![0, 1, 2, 3, 4]),
        ("NONE", vec![]),
    ] {
        let suppressions = Suppressions::parse("s.txt", entries).expect("well-formed entries");
        let question = Question {
            suppressions: Some(&suppressions),
            ..Question::default()
        };
        let all = symbolise(findings, &Question::default()).findings;
        let run = symbolise(findings, &question);
        let found = run.suppressed.expect("suppressions");
        let is_suppressed =
            |number: &usize| found.findings.iter().any(|c| c.first == all[*number].first);
        let numbers: Vec<usize> = (0..all.len()).filter(is_suppressed).collect();
        assert_eq!(numbers, suppressed, "{entries}");
        assert_eq!(run.findings.len() + suppressed.len(), 5);
        assert_eq!(run.verdict, Verdict::Race, "a suppressed race is a race");
        assert_eq!(
            found.unmatched.is_empty(),
            !suppressed.is_empty(),
            "{entries}"
        );
    }
}
