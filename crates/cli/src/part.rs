//! The file of a part of an answer: what `--partition` and `--checkpoint` write, and `merge` reads.
//!
//! The file has lines of JSON. The first line says what was asked, and which part of it this is.
//! The last one has a checksum of all others, so a file that was cut off or changed is found out.
//! What is between depends on the question. A file is read only by the version that has written it.

use crate::outcome::{Problem, shown};
use finishline_engine::partition::Part;
use finishline_trace::checksum::checksum;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The first line.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// The version that has written the file.
    finishline: String,
    /// From 1, and how many there are. None: everything.
    partition: Option<(usize, usize)>,
    pub(crate) question: Asked,
}

/// What was asked. Parts of one answer have the same.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Asked {
    Explore(AskedOrders),
    Analyze(AskedTrace),
}

/// The orders of a program. The source is here so that the parts are all that `merge` needs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AskedOrders {
    pub(crate) program: String,
    pub(crate) source: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) memory: u64,
    /// All orders, not one of several that do the same.
    pub(crate) unreduced: bool,
    pub(crate) all: bool,
    pub(crate) max_blocks: usize,
    pub(crate) determinacy: bool,
}

/// A trace, which `merge` reads again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AskedTrace {
    pub(crate) trace: String,
    pub(crate) bytes: u64,
    /// Of its beginning and its end.
    pub(crate) checksum: u32,
    pub(crate) detector: Option<String>,
}

impl Opening {
    pub(crate) fn new(question: Asked, part: Option<Part>) -> Opening {
        Opening {
            finishline: VERSION.to_owned(),
            partition: part.map(|part| (part.number + 1, part.of)),
            question,
        }
    }

    pub(crate) fn partition(&self) -> Option<(usize, usize)> {
        self.partition
    }
}

#[derive(Serialize, Deserialize)]
struct Closing {
    checksum: u32,
}

/// The text of a file.
pub(crate) fn written(opening: &Opening, lines: impl Iterator<Item = String>) -> String {
    let mut text = line(opening);
    text.extend(lines);
    let closing = Closing {
        checksum: checksum(&[text.as_bytes()]),
    };
    text + &line(&closing)
}

/// A line of a file. The types here have nothing that JSON can't say.
pub(crate) fn line(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default() + "\n"
}

/// A file, read and found whole.
pub(crate) struct PartFile {
    pub(crate) opening: Opening,
    lines: Vec<String>,
}

impl PartFile {
    pub(crate) fn read(path: &Path) -> Result<PartFile, Problem> {
        PartFile::parse(path, &text_of(path)?)
    }

    /// The content of this file.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<PartFile, Problem> {
        let refused = |what: &str| Problem::Usage(format!("{}: {what}", shown(path)));
        let first = text.lines().next().ok_or_else(|| foreign(path))?;
        let version: Version = serde_json::from_str(first).map_err(|_| foreign(path))?;
        if version.finishline != VERSION {
            let version = version.finishline.escape_debug();
            return Err(refused(&format!(
                "the part is of Finishline {version}, this is {VERSION}"
            )));
        }
        let damaged = || refused("the part is damaged or cut off");
        let body = text.strip_suffix('\n').ok_or_else(damaged)?;
        let (body, last) = body.rsplit_once('\n').ok_or_else(damaged)?;
        let closing: Closing = serde_json::from_str(last).map_err(|_| damaged())?;
        if checksum(&[body.as_bytes(), b"\n"]) != closing.checksum {
            return Err(damaged());
        }
        Ok(PartFile {
            opening: serde_json::from_str(first).map_err(|_| damaged())?,
            lines: body.lines().skip(1).map(str::to_owned).collect(),
        })
    }

    /// What is between the first line and the last.
    pub(crate) fn records<T: DeserializeOwned>(&self, path: &Path) -> Result<Vec<T>, Problem> {
        let records = self.lines.iter().map(|line| serde_json::from_str(line));
        let records: Result<Vec<T>, _> = records.collect();
        records.map_err(|_| Problem::Usage(format!("{}: the part is damaged", shown(path))))
    }
}

/// The content of a file that has to be text.
pub(crate) fn text_of(path: &Path) -> Result<String, Problem> {
    let bytes = fs::read(path).map_err(|error| Problem::Read(path.to_owned(), error))?;
    String::from_utf8(bytes).map_err(|_| foreign(path))
}

fn foreign(path: &Path) -> Problem {
    let path = shown(path);
    Problem::Usage(format!(
        "{path}: this is no part of an answer of Finishline"
    ))
}

#[derive(Deserialize)]
struct Version {
    finishline: String,
}
