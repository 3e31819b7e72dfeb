//! The part of a suite in its JSON report, for `finishline merge`: written and read.
//!
//! A report says what people and scripts want to know, and leaves out what only other formats show.
//! So the report of a part has all of its answers once more, as records: lines of JSON, each a
//! string of the document. What is in them may change with every version, and only the version that
//! has written them reads them. A digest of all records finds out files that were cut off, mixed up
//! or edited. Cost: linear in the report.

use crate::node::{Node, object};
use finishline_answer::answer::{Answer, NotRun, Suite};
use finishline_answer::partition::{Partition, digest};
use finishline_answer::unsafe_code::SurveyedCode;
use serde::{Deserialize, Serialize};
use std::{fmt, io};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The first record. The others are answers.
#[derive(Serialize, Deserialize)]
struct Opening {
    command: Vec<String>,
    partition: Partition,
    elsewhere: u64,
    notes: Vec<String>,
    not_run: Vec<NotRun>,
    interrupted: bool,
    unsafe_code: Option<Vec<SurveyedCode>>,
}

/// The field `partition` of a suite; `null` if it is no part.
pub(crate) fn node(suite: &Suite) -> io::Result<Node> {
    let Some(partition) = suite.partition else {
        return Ok(Node::NULL);
    };
    let opening = Opening {
        command: suite.command.clone(),
        partition,
        elsewhere: suite.elsewhere,
        notes: suite.notes.clone(),
        not_run: suite.not_run.clone(),
        interrupted: suite.interrupted,
        unsafe_code: suite.unsafe_code.clone(),
    };
    let mut records = vec![serde_json::to_string(&opening)?];
    for answer in &suite.answers {
        records.push(serde_json::to_string(answer)?);
    }
    Ok(object! {
        "number": partition.number,
        "of": partition.of,
        "elsewhere": suite.elsewhere,
        "digest": digest_of(&records),
        "records": records,
    })
}

fn digest_of(records: &[String]) -> String {
    format!("{:016x}", digest(records.iter().map(String::as_bytes)))
}

/// A document that is no part of a suite.
#[derive(Debug)]
pub enum NoPartOfSuite {
    /// No JSON, or not that of a report. Line and column count from 1.
    NoReport {
        line: usize,
        column: usize,
        why: String,
    },
    /// Of another version.
    Version(String),
    /// A report, but not of a part of the tests.
    Whole,
    Damaged,
}

impl fmt::Display for NoPartOfSuite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoPartOfSuite::NoReport { line, column, why } => {
                write!(f, "{line}:{column}: this is no report of Finishline: {why}")
            }
            NoPartOfSuite::Version(version) => write!(
                f,
                " the part is of Finishline {}, this is {VERSION}",
                version.escape_debug()
            ),
            NoPartOfSuite::Whole => f.write_str(
                " this report is of no part: `cargo finishline test --partition I/N --format json` writes parts",
            ),
            NoPartOfSuite::Damaged => f.write_str(" the part is damaged"),
        }
    }
}

#[derive(Deserialize)]
struct Document {
    tool: Tool,
    partition: Option<Stored>,
}

#[derive(Deserialize)]
struct Tool {
    version: String,
}

#[derive(Deserialize)]
struct Stored {
    digest: String,
    records: Vec<String>,
}

/// The part that a JSON report has.
pub fn read_part(text: &str) -> Result<Suite, NoPartOfSuite> {
    let document: Document = serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        NoPartOfSuite::NoReport {
            line: error.line(),
            column: error.column(),
            why: said.strip_suffix(&position).unwrap_or(&said).to_owned(),
        }
    })?;
    if document.tool.version != VERSION {
        return Err(NoPartOfSuite::Version(document.tool.version));
    }
    let stored = document.partition.ok_or(NoPartOfSuite::Whole)?;
    suite(&stored).ok_or(NoPartOfSuite::Damaged)
}

/// None if the records are not as they were written.
fn suite(stored: &Stored) -> Option<Suite> {
    if digest_of(&stored.records) != stored.digest {
        return None;
    }
    let (opening, answers) = stored.records.split_first()?;
    let opening: Opening = serde_json::from_str(opening).ok()?;
    let answers = answers.iter().map(|answer| serde_json::from_str(answer));
    Some(Suite {
        command: opening.command,
        answers: answers.collect::<Result<Vec<Answer>, _>>().ok()?,
        notes: opening.notes,
        not_run: opening.not_run,
        interrupted: opening.interrupted,
        partition: Some(opening.partition),
        elsewhere: opening.elsewhere,
        unsafe_code: opening.unsafe_code,
    })
}
