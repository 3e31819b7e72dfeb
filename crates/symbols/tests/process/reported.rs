//! From a real process to the report that a person reads.

use crate::compiled::{findings, line};
use finishline_report::{Format, Style, native};
use finishline_symbols::{Question, symbolise};

fn text(way: usize) -> String {
    let question = Question {
        program: "hist",
        replay: "cargo finishline run",
        ..Question::default()
    };
    let run = symbolise(findings(way), &question);
    let mut out = Vec::new();
    native::write(&run, Format::Text, Style::default(), &mut out).expect("a Vec takes everything");
    String::from_utf8(out).expect("reports are UTF-8")
}

#[test]
fn a_race_of_a_real_process_reads_as_in_the_guide() {
    let text = text(1);
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
