//! The text report: snapshots, and rules for all of them.

use crate::{render, summaries};
use finishline_answer::answer::{About, Answer};
use finishline_answer::verdict::Verdict;
use finishline_model::Detector;
use finishline_report::{Format, Style};
use std::path::Path;

const PLAIN: Style = Style {
    color: false,
    unicode: true,
};
const ASCII: Style = Style {
    color: false,
    unicode: false,
};
const COLOR: Style = Style {
    color: true,
    unicode: true,
};

fn text(summary: &Answer, style: Style) -> String {
    render(summary, Format::Text, style)
}

#[test]
fn snapshots() {
    for (name, summary) in summaries::all() {
        check_snapshots(name, |style| text(&summary, style));
    }
}

/// Compares a report with its snapshots, with and without Unicode.
pub(crate) fn check_snapshots(name: &str, text: impl Fn(Style) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let bless = std::env::var_os("FINISHLINE_BLESS").is_some();
    let mut stale = Vec::new();
    for (extension, style) in [("txt", PLAIN), ("ascii.txt", ASCII)] {
        let path = folder.join(format!("{name}.{extension}"));
        let actual = text(style);
        if bless {
            std::fs::write(&path, actual).expect("the snapshot can be written");
        } else if std::fs::read_to_string(&path).unwrap_or_default() != actual {
            stale.push(format!("{}:\n{actual}", path.display()));
        }
    }
    assert!(
        stale.is_empty(),
        "these reports changed:\n\n{}\nTo accept them: FINISHLINE_BLESS=1 cargo test -p finishline-report",
        stale.join("\n"),
    );
}

#[test]
fn a_race_reads_as_in_the_design() {
    let expected = "\
race: write and write to B[0] are not ordered
  ┌─ fig2.fin:10:17   (1) write B[i] += i      task main › async@9 (i = 0)
  └─ fig2.fin:14:38   (2) write B[i] = A[i]    task main › async@14 › async@14 (i = 0)
  why parallel: async@9 was spawned at 9:13; the first join that waits for it is the end of finish@7,
                after (2)
  B was allocated at fig2.fin:5:13
  replay: finishline check fig2.fin 1 --watch 'B[0]'
";
    let actual = text(&summaries::racy(), PLAIN);
    assert!(actual.starts_with(expected), "{actual}");
}

#[test]
fn the_closing_says_how_many_races_are_suppressed() {
    let closing = |count: u64, distinct: u64| {
        let mut summary = summaries::partly_suppressed();
        summary.distinct = distinct;
        summary.suppressed.as_mut().expect("suppressions").count = count;
        let text = text(&summary, PLAIN);
        let lines = text.lines().filter(|line| line.starts_with("suppressed: "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(closing(0, 1), Vec::<String>::new());
    for (count, distinct, expected) in [
        (
            1,
            1,
            "suppressed: the only distinct race is suppressed by races.supp",
        ),
        (
            4,
            4,
            "suppressed: all 4 distinct races are suppressed by races.supp",
        ),
        (
            1,
            2,
            "suppressed: 1 more distinct race is suppressed by races.supp",
        ),
        (
            3,
            4,
            "suppressed: 3 more distinct races are suppressed by races.supp",
        ),
    ] {
        assert_eq!(closing(count, distinct), [expected]);
    }
}

#[test]
fn a_clean_report_says_for_what_it_holds() {
    let actual = text(&summaries::certified(), PLAIN);
    assert!(
        actual.starts_with("certified: free of races in every schedule of this input"),
        "{actual}"
    );
    assert!(
        actual.contains("\nguarantee: esp-bags, every schedule with this run's"),
        "{actual}"
    );
    assert!(
        actual.contains("\nrun: sum.fin 100 -2.5: 4 tasks, 3 finishes"),
        "{actual}"
    );
}

#[test]
fn every_report_closes_with_verdict_and_guarantee() {
    for (name, mut summary) in summaries::all() {
        for verdict in Verdict::ALL {
            for detector in Detector::ALL {
                summary.verdict = verdict;
                let About::Check(check) = &mut summary.about else {
                    panic!("a check");
                };
                check.detector = detector;
                let flowing = unfolded(&text(&summary, PLAIN));
                let line = format!("\n{}: {}\n", verdict.word(), verdict.meaning());
                assert!(format!("\n{flowing}").contains(&line), "{name}: {flowing}");
                let guarantee = if verdict == Verdict::Unknown {
                    format!("\nguarantee: {detector}, none\n")
                } else if summary.failure.is_some() {
                    let sentence = detector.guarantee();
                    format!("\nguarantee: {detector}, up to the failure, {sentence}\n")
                } else {
                    format!("\nguarantee: {detector}, {}\n", detector.guarantee())
                };
                assert!(flowing.contains(&guarantee), "{name}: {flowing}");
            }
        }
    }
}

/// Joins continuation lines to the line they continue.
fn unfolded(text: &str) -> String {
    let mut flowing = String::new();
    for line in text.lines() {
        match line.strip_prefix("   ") {
            Some(rest) => flowing += &format!(" {}", rest.trim_start()),
            None => flowing += &format!("\n{line}"),
        }
    }
    flowing.trim_start().to_string() + "\n"
}

#[test]
fn what_would_be_stronger_is_said_exactly_if_known() {
    for (name, summary) in summaries::all() {
        let actual = text(&summary, PLAIN);
        assert_eq!(
            actual.contains("\nstronger: "),
            summary
                .check()
                .is_some_and(|check| check.stronger.is_some()),
            "{name}"
        );
    }
}

#[test]
fn no_control_character_reaches_the_terminal() {
    for style in [PLAIN, ASCII] {
        for (name, summary) in summaries::all() {
            let actual = text(&summary, style);
            let bad = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
            assert!(!actual.contains(bad), "{name}: {actual:?}");
        }
    }
    let actual = text(&summaries::hostile(), PLAIN);
    assert!(
        actual.contains(r"a\u{1b}[31m<script>alert('x')</script>"),
        "{actual}"
    );
}

#[test]
fn ascii_style_is_ascii() {
    for (name, summary) in summaries::all() {
        let actual = text(&summary, ASCII);
        assert!(actual.is_ascii(), "{name}: {actual}");
    }
}

#[test]
fn colours_change_nothing_but_the_colour() {
    for (name, summary) in summaries::all() {
        let plain = text(&summary, PLAIN);
        let colored = text(&summary, COLOR);
        assert!(colored.contains("\u{1b}["), "{name}");
        assert_eq!(without_colors(&colored), plain, "{name}");
    }
}

pub(crate) fn without_colors(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (sequence, rest) = part.split_once('m').expect("a colour sequence ends in m");
        assert!(
            sequence.chars().all(|c| c.is_ascii_digit() || c == ';'),
            "{sequence:?}"
        );
        plain += rest;
    }
    plain
}

#[test]
fn lines_are_folded_and_tidy() {
    for (name, summary) in summaries::all() {
        for line in text(&summary, PLAIN).lines() {
            assert_eq!(line, line.trim_end(), "{name}");
            let command = line.starts_with("  replay: ") || line.starts_with("run: ");
            let in_one_piece = command || name == "hostile";
            assert!(
                in_one_piece || line.chars().count() <= 102,
                "{name}: {line}"
            );
        }
    }
}
