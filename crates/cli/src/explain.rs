//! `finishline explain`: what an error code or a verdict means.

use crate::options::ExplainOptions;
use crate::outcome::{NOTHING_FOUND, Problem};
use finishline_answer::Verdict;
use finishline_fin::diagnostic::Code;
use std::io::{self, Write};

pub(crate) fn explain(options: &ExplainOptions) -> Result<u8, Problem> {
    let text = match &options.code {
        None => list(),
        Some(word) => one(word).ok_or_else(|| {
            Problem::Usage(format!(
                "there is no error code and no verdict `{}`\nhelp: `finishline explain` lists them all",
                word.escape_debug()
            ))
        })?,
    };
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(Problem::Output)?;
    Ok(NOTHING_FOUND)
}

fn one(word: &str) -> Option<String> {
    if let Some(code) = Code::from_name(word) {
        let (name, title, explanation) = (code.name(), code.title(), code.explanation());
        return Some(format!("{name}: {title}\n\n{explanation}\n"));
    }
    let verdict = Verdict::ALL
        .into_iter()
        .find(|verdict| verdict.word() == word)?;
    Some(format!("{verdict}: {}\n", verdict.meaning()))
}

fn list() -> String {
    let verdicts = Verdict::ALL.map(|verdict| format!("  {verdict:<16} {}\n", verdict.meaning()));
    let codes = Code::ALL
        .iter()
        .map(|code| format!("  {:<16} {}\n", code.name(), code.title()));
    format!(
        "Verdicts:\n{}\nErrors:\n{}",
        verdicts.concat(),
        codes.collect::<String>()
    )
}
