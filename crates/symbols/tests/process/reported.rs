//! From a real process to the report that a person reads.

use crate::compiled::{findings, line};
use finishline_report::{Format, Selection, Style, write};
use finishline_symbols::{Question, symbolise};

fn report(way: usize, format: Format) -> String {
    let question = Question {
        program: "hist",
        replay: "cargo finishline run",
        ..Question::default()
    };
    let run = symbolise(findings(way), &question);
    let mut out = Vec::new();
    let (all, style) = (Selection::default(), Style::default());
    write(&run, format, all, style, &mut out).expect("a Vec takes everything");
    String::from_utf8(out).expect("reports are UTF-8")
}

#[test]
fn a_race_of_a_real_process_reads_as_in_the_guide() {
    let text = report(1, Format::Text);
    let (bump, call) = (line("bump"), line("for_each"));
    let expected = format!(
        "\
race: write and write to bytes 0..8 of hist::TABLE are not ordered
  ┌─ src/hist.rs:{bump}:5   (1) write of 8 bytes
  │      record::access(\"for_each\", \"write\", cell as usize, r#\"{{\"kind\":\"global\"}}\"#); // l…
  │    task main › for_each at src/hist.rs:{call}:14, halves left, left, left
  │      hist::bump at src/hist.rs:{bump}:5
  │      hist::fill::{{closure#0}} at src/hist.rs:{call}:27
  │      … "
    );
    assert!(text.starts_with(&expected), "{text}");
}

#[test]
fn a_page_about_a_real_process_shows_its_source() {
    let page = report(1, Format::Html);
    let bump = line("bump");
    let marked = format!("<span class=\"hit\"><i>{bump}</i> ");
    assert!(page.contains(&marked), "{page}");
    assert!(
        page.contains("<mark>record::access(&quot;for_each&quot;"),
        "{page}"
    );
    let call = line("for_each");
    assert!(page.contains(&format!(">for_each@{call}</text>")), "{page}");
}
