//! The parts of a suite of tests: JSON reports of `cargo finishline test --partition`.
//!
//! All that was found is in the reports, so neither the programs nor their sources are needed.
//! Suppressions and the number of races were chosen where the tests ran.

use super::all_parts;
use crate::destination::Destination;
use crate::options::{MergeOptions, MergedFormat};
use crate::outcome::{Problem, shown};
use finishline_answer::partition::{undivided, whole};
use finishline_answer::{Suite, suite_exit_status};
use finishline_report::{Format, read_part};
use std::path::Path;

/// Whether a file looks like a report, or like one that is damaged. Other parts begin with their
/// version.
pub(super) fn is_report(text: &str) -> bool {
    text.trim_start().starts_with('{') && !text.starts_with("{\"finishline\":")
}

pub(super) fn merge(options: &MergeOptions, texts: &[(&Path, String)]) -> Result<u8, Problem> {
    if options.races.wanted_races().is_some() || options.races.suppressions.is_some() {
        return Err(Problem::Usage(
            "--max-races and --suppressions of tests belong to `cargo finishline test`".to_owned(),
        ));
    }
    let mut parts: Vec<(&Path, Suite)> = Vec::new();
    for (path, text) in texts {
        let part = read_part(text);
        let part = part.map_err(|no_part| Problem::Usage(format!("{}:{no_part}", shown(path))))?;
        parts.push((path, part));
    }
    same_command(&parts)?;
    let numbers = parts.iter().filter_map(|(path, part)| {
        let partition = part.partition?;
        Some((*path, (partition.number, partition.of)))
    });
    all_parts(&numbers.collect::<Vec<_>>())?;
    let output = options.output.as_deref();
    let is_text = options.format == MergedFormat::Any(Format::Text);
    let about = &options.parts[0];
    let report = Destination::for_text(output, about, is_text, options.terminal.color)?;
    let suite = whole(parts.into_iter().map(|(_, part)| part));
    report.write(|style, out| match options.format {
        MergedFormat::Any(format) => finishline_report::write_suite(&suite, format, style, out),
        MergedFormat::Junit => finishline_report::write_junit(&suite, out),
    })?;
    Ok(suite_exit_status(&suite))
}

fn same_command(parts: &[(&Path, Suite)]) -> Result<(), Problem> {
    let Some((first, part)) = parts.first() else {
        return Ok(());
    };
    let command = undivided(&part.command);
    let mut others = parts.iter();
    match others.find(|(_, other)| undivided(&other.command) != command) {
        None => Ok(()),
        Some((path, other)) => Err(Problem::Usage(format!(
            "{} and {} are no parts of one suite: `{}` and `{}`",
            shown(first),
            shown(path),
            spoken(&command),
            spoken(&undivided(&other.command)),
        ))),
    }
}

fn spoken(command: &[String]) -> String {
    command.join(" ").escape_debug().to_string()
}
