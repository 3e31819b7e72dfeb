//! The shapes of SARIF 2.1.0 that reports are made of, and how text gets into them.
//!
//! [SARIF 3.11.5]: braces in a message are doubled; [SARIF 3.11.6]: brackets in a link's text have a backslash before them. What is absent is
//! left out, as the standard wants it. `P` are the properties of a run, `I` those of an invocation: whatever the report adds.

use crate::json::write_pretty;
use finishline_answer::summary::Place;
use serde::Serialize;
use std::io;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

#[derive(Serialize)]
pub(crate) struct Log<'a, P, I> {
    #[serde(rename = "$schema")]
    pub(crate) schema: &'static str,
    pub(crate) version: &'static str,
    pub(crate) runs: [Run<'a, P, I>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Run<'a, P, I> {
    pub(crate) tool: Tool,
    pub(crate) invocations: Vec<Invocation<I>>,
    pub(crate) column_kind: &'static str,
    pub(crate) results: Vec<SarifResult<'a>>,
    pub(crate) properties: P,
}

#[derive(Serialize)]
pub(crate) struct Tool {
    pub(crate) driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Driver {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) semantic_version: &'static str,
    pub(crate) rules: Vec<Descriptor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    pub(crate) id: &'static str,
    pub(crate) short_description: Message,
    pub(crate) full_description: Message,
    pub(crate) help: Message,
    pub(crate) default_configuration: Configuration,
}

#[derive(Serialize)]
pub(crate) struct Configuration {
    pub(crate) level: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Invocation<I> {
    pub(crate) execution_successful: bool,
    pub(crate) exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) properties: Option<I>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SarifResult<'a> {
    pub(crate) rule_id: &'static str,
    pub(crate) rule_index: usize,
    pub(crate) level: &'static str,
    pub(crate) message: Message,
    pub(crate) locations: Vec<Location<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) related_locations: Vec<Location<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) stacks: Vec<Stack<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) code_flows: Vec<CodeFlow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) provenance: Option<Provenance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) occurrence_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) suppressions: Option<Vec<Suppression>>,
}

#[derive(Serialize)]
pub(crate) struct Suppression {
    pub(crate) kind: &'static str,
}

/// A message whose text has been escaped; only [`message`] makes one.
#[derive(Serialize)]
pub(crate) struct Message {
    pub(crate) text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Location<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) physical_location: Option<PhysicalLocation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) logical_locations: Vec<LogicalLocation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<Message>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PhysicalLocation {
    pub(crate) artifact_location: ArtifactLocation,
    pub(crate) region: Region,
}

#[derive(Serialize)]
pub(crate) struct ArtifactLocation {
    pub(crate) uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Region {
    pub(crate) start_line: u32,
    pub(crate) start_column: u32,
}

#[derive(Serialize)]
pub(crate) struct LogicalLocation<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: &'static str,
}

#[derive(Serialize)]
pub(crate) struct Stack<'a> {
    pub(crate) message: Message,
    pub(crate) frames: Vec<StackFrame<'a>>,
}

#[derive(Serialize)]
pub(crate) struct StackFrame<'a> {
    pub(crate) location: Location<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CodeFlow<'a> {
    pub(crate) thread_flows: Vec<ThreadFlow<'a>>,
}

#[derive(Serialize)]
pub(crate) struct ThreadFlow<'a> {
    pub(crate) message: Message,
    pub(crate) locations: Vec<FlowLocation<'a>>,
}

#[derive(Serialize)]
pub(crate) struct FlowLocation<'a> {
    pub(crate) location: Location<'a>,
}

/// Which of the run's invocations a result comes from.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Provenance {
    pub(crate) invocation_index: usize,
}

/// How the tool presents itself and its rules.
impl Driver {
    pub(crate) fn new(rules: Vec<Descriptor>) -> Driver {
        Driver {
            name: "finishline",
            version: env!("CARGO_PKG_VERSION"),
            semantic_version: env!("CARGO_PKG_VERSION"),
            rules,
        }
    }
}

impl<'a, P: Serialize, I: Serialize> Log<'a, P, I> {
    pub(crate) fn new(
        rules: Vec<Descriptor>,
        invocations: Vec<Invocation<I>>,
        results: Vec<SarifResult<'a>>,
        properties: P,
    ) -> Log<'a, P, I> {
        Log {
            schema: SCHEMA,
            version: "2.1.0",
            runs: [Run {
                tool: Tool {
                    driver: Driver::new(rules),
                },
                invocations,
                column_kind: "unicodeCodePoints",
                results,
                properties,
            }],
        }
    }

    pub(crate) fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        write_pretty(self, out)
    }
}

impl<'a> Location<'a> {
    /// A place, and what is said about it.
    pub(crate) fn at(place: &Place, text: &str) -> Location<'a> {
        Location {
            physical_location: Some(PhysicalLocation {
                artifact_location: ArtifactLocation {
                    uri: uri(&place.file),
                },
                region: Region {
                    start_line: place.line,
                    start_column: place.column,
                },
            }),
            ..Location::somewhere(text)
        }
    }

    /// What can be said although the place is not known.
    pub(crate) fn somewhere(text: &str) -> Location<'a> {
        Location {
            id: None,
            physical_location: None,
            logical_locations: Vec::new(),
            message: Some(message(text)),
        }
    }

    pub(crate) fn in_function(self, name: &'a str) -> Location<'a> {
        let function = LogicalLocation {
            name,
            kind: "function",
        };
        Location {
            logical_locations: vec![function],
            ..self
        }
    }
}

pub(crate) fn message(text: &str) -> Message {
    Message {
        text: text.replace('{', "{{").replace('}', "}}"),
    }
}

pub(crate) fn link(text: &str, location: u32) -> String {
    let text = text
        .replace('\\', r"\\")
        .replace('[', r"\[")
        .replace(']', r"\]");
    format!("[{text}]({location})")
}

/// A path as a URI reference: relative paths stay relative. Everything but unreserved characters
/// and `/` is encoded, a colon above all, which would make the first name look like a scheme.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    if path.starts_with('/') {
        uri += "file://";
    }
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}
