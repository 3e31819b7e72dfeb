//! A finished [`Summary`] as text, JSON, SARIF 2.1.0 or HTML.
//!
//! This is the only room that knows formats: one file each, and [`words`] with the phrases they
//! share. A report adds nothing to what the summary says and leaves out nothing silently: whatever
//! is shortened says by how much. All text of the user (names, paths, source) is hostile until it
//! has been escaped for its format. Cost: linear in the summary.
//!
//! Runs of instrumented programs are told in the same words, in [`native`], and so are answers for every input, in [`proof`]. The tables of `finishline bench` have their own formats, in [`bench`], and so have the checks of a program, in [`explain`].
//!
//! The exit status of `finishline check` is part of the same contract as the JSON fields, so it is
//! decided here, in [`exit_status`], and nowhere else.

#![forbid(unsafe_code)]

pub mod bench;
pub mod explain;
mod html;
mod json;
pub mod native;
mod page;
pub mod proof;
mod rows;
mod sarif;
mod text;
mod words;

use finishline_answer::summary::{Failure, Summary};
use finishline_answer::verdict::Verdict;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// For a person at a terminal.
    Text,
    /// For scripts; `docs/report.schema.json` is its contract.
    Json,
    /// For code hosts and editors: SARIF 2.1.0.
    Sarif,
    /// One self-contained page.
    Html,
}

impl Format {
    pub const ALL: [Format; 4] = [Format::Text, Format::Json, Format::Sarif, Format::Html];

    /// The word after `--format`.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Sarif => "sarif",
            Format::Html => "html",
        }
    }

    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| f.name() == name)
    }
}

/// How a terminal wants its text; the other formats ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours.
    pub color: bool,
    /// Line drawing and other characters beyond ASCII; without it the report is pure ASCII.
    pub unicode: bool,
}

/// A file or a pipe: no colours, UTF-8.
impl Default for Style {
    fn default() -> Style {
        Style {
            color: false,
            unicode: true,
        }
    }
}

/// Writes the whole report, with a newline at its end.
pub fn write(
    summary: &Summary,
    format: Format,
    style: Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match format {
        Format::Text => text::write(summary, style, out),
        Format::Json => json::write(summary, out),
        Format::Sarif => sarif::write(summary, out),
        Format::Html => html::write(summary, out),
    }
}

/// Writes, as text, how a program failed that was run without checking.
pub fn write_failure(failure: &Failure, style: Style, out: &mut dyn io::Write) -> io::Result<()> {
    text::write_failure(failure, style, out)
}

/// The exit status that belongs to an answer: 66 for a race that is not suppressed, apparent ones included, also when
/// the program failed afterwards; 3 for a program that failed; 4 for `unknown`; 0 for nothing found.
pub fn exit_status(summary: &Summary) -> u8 {
    let racy = matches!(summary.verdict, Verdict::Race | Verdict::Apparent);
    if (racy || summary.distinct_races > 0) && !words::all_suppressed(summary) {
        66
    } else if summary.failure.is_some() || summary.verdict == Verdict::Trap {
        3
    } else if summary.verdict == Verdict::Unknown {
        4
    } else {
        0
    }
}
