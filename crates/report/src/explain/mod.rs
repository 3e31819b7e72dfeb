//! An [`Explanation`] of a program's checks as text or JSON, with one file for each format.

mod json;
mod text;

use crate::Style;
use finishline_answer::Explanation;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The source with its accesses marked, for a person.
    Text,
    /// For scripts; `docs/checks.schema.json` is its contract.
    Json,
}

impl Format {
    pub const ALL: [Format; 2] = [Format::Text, Format::Json];

    /// The word after `--format`.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
        }
    }

    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| f.name() == name)
    }
}

/// Writes the whole explanation, with a newline at its end.
pub fn write(
    explanation: &Explanation,
    format: Format,
    style: Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let text = match format {
        Format::Text => text::render(explanation, style),
        Format::Json => json::render(explanation)?,
    };
    out.write_all(text.as_bytes())
}
