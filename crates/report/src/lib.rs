//! An answer as text, JSON, SARIF 2.1.0 or HTML, and the processes of a command as JUnit XML.
//!
//! Only this crate knows formats. Each format has one writer for all kinds of answers, and
//! [`words`] has the phrases that they share. A report adds nothing to the answer and leaves out
//! nothing silently: a shortened list says by how much. All text of the user (names, paths, source)
//! is hostile until it has been escaped for its format. Cost: linear in the answer.
//!
//! The computation graph of a run is drawn in [`picture`].
//!
//! The tables of `finishline bench` have their own formats in [`bench`], and the checks of a
//! program have theirs in [`explain`].

#![forbid(unsafe_code)]

pub mod bench;
pub mod explain;
mod html;
mod json;
mod junit;
mod node;
mod orders;
mod page;
mod parts;
pub mod picture;
mod rows;
mod sarif;
mod text;
mod tree;
mod unsafe_card;
mod words;

pub use parts::{NoPartOfSuite, read_part};

use finishline_answer::answer::{Answer, Failure, Suite};
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

/// The style of text on a terminal. The other formats ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours.
    pub color: bool,
    /// Line drawing and other characters beyond ASCII. Without it the report is pure ASCII.
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

/// How much of an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The most findings.
    pub max_findings: usize,
    /// Whether text and HTML have the producers of every read; JSON always has them, SARIF never.
    pub sources: bool,
}

/// Every finding, no producers.
impl Default for Selection {
    fn default() -> Selection {
        Selection {
            max_findings: usize::MAX,
            sources: false,
        }
    }
}

/// Writes the whole report, with a newline at its end.
pub fn write(
    answer: &Answer,
    format: Format,
    selection: Selection,
    style: Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match format {
        Format::Text => text::write(answer, selection, style, out),
        Format::Json => json::write(answer, selection, out),
        Format::Sarif => sarif::write(answer, selection, out),
        Format::Html => html::write(answer, selection, out),
    }
}

/// Writes one document about all processes of a command.
pub fn write_suite(
    suite: &Suite,
    format: Format,
    style: Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match format {
        Format::Text => text::write_suite(suite, style, out),
        Format::Json => json::write_suite(suite, out),
        Format::Sarif => sarif::write_suite(suite, out),
        Format::Html => html::write_suite(suite, out),
    }
}

/// Writes the processes of a command as JUnit XML, for build servers that show tests.
pub fn write_junit(suite: &Suite, out: &mut dyn io::Write) -> io::Result<()> {
    junit::write_suite(suite, out)
}

/// Writes the summary below the reports of a command's processes: the number of processes with each
/// verdict.
pub fn write_summary(suite: &Suite, style: Style, out: &mut dyn io::Write) -> io::Result<()> {
    text::write_summary(suite, style, out)
}

/// Writes, as text, the failure of a program that was run without checking.
pub fn write_failure(failure: &Failure, style: Style, out: &mut dyn io::Write) -> io::Result<()> {
    text::write_failure(failure, style, out)
}

/// Whether a process is worth reporting on its own. A clean process is only counted, whatever its
/// exit status.
fn is_noteworthy(answer: &Answer) -> bool {
    finishline_answer::exit_status::trouble(answer).is_some() && !answer.is_idle()
}
