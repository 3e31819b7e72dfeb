//! The exit statuses are a contract of the command line.

use crate::summaries;
use finishline_answer::exit_status;
use finishline_answer::exit_status::has_findings;

#[test]
fn every_kind_of_answer_has_its_exit_status() {
    let expected = [
        ("racy", 66),
        ("apparent", 66),
        ("certified", 0),
        ("certified-order", 0),
        ("failed", 3),
        ("race-then-failed", 66),
        ("deadlock", 66),
        ("deadlock-of-many", 66),
        ("race-then-deadlock", 66),
        ("watched", 66),
        ("watched-in-vain", 0),
        ("truncated", 66),
        ("partly-suppressed", 66),
        ("all-suppressed", 0),
        ("suppressed-then-failed", 3),
        ("suppressed-in-vain", 66),
        ("deep", 66),
        ("hostile", 66),
        ("unknown", 4),
    ];
    let actual: Vec<_> = summaries::all()
        .iter()
        .map(|(name, summary)| (*name, exit_status(summary)))
        .collect();
    assert_eq!(actual, expected);
}

#[test]
fn a_suppressed_apparent_race_does_not_count() {
    let mut summary = summaries::all_suppressed();
    summary.verdict = finishline_answer::verdict::Verdict::Apparent;
    assert_eq!(exit_status(&summary), 0);
}

#[test]
fn a_race_counts_even_if_the_verdict_is_about_the_failure() {
    let mut summary = summaries::race_then_failed();
    summary.verdict = finishline_answer::verdict::Verdict::Trap;
    assert_eq!(exit_status(&summary), 66);
}

/// Pairs are looked for in a second run, and that may be cut short before the first pair.
#[test]
fn a_race_counts_before_any_pair_of_it_is_known() {
    for (mut summary, name) in [
        (summaries::racy(), "race"),
        (summaries::apparent(), "apparent"),
    ] {
        summary.distinct = 0;
        summary.findings.clear();
        assert_eq!(exit_status(&summary), 66, "{name}");
    }
}

#[test]
fn failures_and_unknown_answers_are_no_findings() {
    for (name, summary) in summaries::all() {
        assert_eq!(
            has_findings(&summary),
            exit_status(&summary) == 66,
            "{name}"
        );
    }
}

/// A failure is told by its verdict, or beside an answer that says no more.
#[test]
fn a_failure_counts_with_or_without_its_message() {
    let mut summary = summaries::failed();
    summary.failure = None;
    assert_eq!(exit_status(&summary), 3);
    let mut summary = summaries::failed();
    summary.verdict = finishline_answer::verdict::Verdict::Unknown;
    assert_eq!(exit_status(&summary), 3);
}
