//! The `unsafe` code of the user's crates as a table of the page.

use crate::html::{escape, paragraph, source};
use crate::words;
use finishline_answer::answer::{Answer, Suite};
use finishline_answer::process::Process;
use finishline_answer::unsafe_code::UnsafeCode;

/// The unsafe code of a process. None if it has none, or nothing was parallel.
pub(crate) fn of_process(answer: &Answer, process: &Process) -> Option<String> {
    let code = process.unsafe_code.as_ref()?;
    let rows = code.iter().map(|code| match code.reached {
        true => (code, "reached".to_owned()),
        false => (code, String::new()),
    });
    card(answer.is_idle(), rows)
}

/// The unsafe code of all processes.
pub(crate) fn of_suite(suite: &Suite) -> Option<String> {
    let code = suite.unsafe_code.as_ref()?;
    let rows = code.iter().map(|surveyed| {
        let reached = match (&surveyed.first, surveyed.processes) {
            (None, _) => String::new(),
            (Some(first), 1) => format!("reached by {first}"),
            (Some(first), many) => format!("reached by {first} and {} more", many - 1),
        };
        (&surveyed.code, reached)
    });
    card(suite.answers.iter().all(Answer::is_idle), rows)
}

/// All unsafe code, and what is known about parallel tasks in it. None if nothing was parallel.
fn card<'a>(is_idle: bool, rows: impl Iterator<Item = (&'a UnsafeCode, String)>) -> Option<String> {
    let row = |(code, reached): (&UnsafeCode, String)| {
        let tone = if reached.is_empty() {
            "caution"
        } else {
            "good"
        };
        format!(
            "<tr class=\"{tone}\"><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            escape(&words::unsafe_code::what(code)),
            source(&code.place, None),
            escape(&reached),
        )
    };
    let rows: String = rows.map(row).collect();
    if is_idle || rows.is_empty() {
        return None;
    }
    Some(format!(
        "<section class=\"card\">\n<h2>Unsafe code</h2>\n<table>\n\
         <tr><th>what</th><th>where</th><th>parallel tasks</th></tr>\n{rows}</table>\n{}</section>\n",
        paragraph(words::unsafe_code::MEANING),
    ))
}
