//! The report for code hosts and editors: SARIF 2.1.0, the part of it that the answer needs.
//!
//! One result a race, at its first access; the second access, the allocation, the spawn and the join
//! are related locations, and the message links to the second access, since viewers show only
//! related locations that a message links to. A clean answer is a run without results; verdict and
//! guarantee are properties of the run. A suppressed race is a result too, marked as such. Regions have a start only: the summary's source text is
//! folded to one line, so it is told in messages and not claimed to be the region's snippet.
//!
//! [SARIF 3.27.23]: either every result says whether it is suppressed, or none does. [SARIF 3.11.5]: braces in a message are doubled; [SARIF 3.11.6]: brackets in a link's text have a
//! backslash before them.

use crate::{exit_status, words};
use finishline_model::summary::{AccessSummary, Failure, Place, RaceSummary, Summary};
use finishline_model::verdict::Verdict;
use serde::Serialize;
use std::io;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The id by which a message links to the second access.
const SECOND_ACCESS: u32 = 2;

pub(crate) fn write(summary: &Summary, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(&Log::new(summary))?;
    text.push(b'\n');
    out.write_all(&text)
}

#[derive(Clone, Copy)]
enum Rule {
    Race,
    ApparentRace,
    ProgramFailure,
}

impl Rule {
    const ALL: [Rule; 3] = [Rule::Race, Rule::ApparentRace, Rule::ProgramFailure];

    const fn id(self) -> &'static str {
        match self {
            Rule::Race => "race",
            Rule::ApparentRace => "apparent-race",
            Rule::ProgramFailure => "program-failure",
        }
    }

    const fn level(self) -> &'static str {
        match self {
            Rule::Race | Rule::ProgramFailure => "error",
            Rule::ApparentRace => "warning",
        }
    }

    const fn verdict(self) -> Verdict {
        match self {
            Rule::Race => Verdict::Race,
            Rule::ApparentRace => Verdict::Apparent,
            Rule::ProgramFailure => Verdict::Trap,
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Rule::Race => "Two accesses race",
            Rule::ApparentRace => "Two accesses may race in another order of isolated blocks",
            Rule::ProgramFailure => "The program failed",
        }
    }

    const fn help(self) -> &'static str {
        match self {
            Rule::Race => {
                "Let a join wait for the task of the first access before the second access, for \
                 example by a finish around its async or a sync before the second access; or give \
                 each task a location of its own."
            }
            Rule::ApparentRace => {
                "Explore the other orders of the isolated blocks to confirm or refute it, or order \
                 the two accesses by a join."
            }
            Rule::ProgramFailure => {
                "Mend the failure and check again: what would have followed was not checked. If a \
                 race is reported as well, the failure may be its consequence."
            }
        }
    }
}

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool,
    invocations: [Invocation; 1],
    column_kind: &'static str,
    results: Vec<SarifResult<'a>>,
    properties: RunProperties<'a>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    version: &'static str,
    semantic_version: &'static str,
    rules: Vec<Descriptor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    id: &'static str,
    short_description: Message,
    full_description: Message,
    help: Message,
    default_configuration: Configuration,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    exit_code: u8,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunProperties<'a> {
    program: &'a str,
    arguments: &'a [String],
    detector: &'static str,
    verdict: &'static str,
    meaning: &'static str,
    guarantee: String,
    stronger: Option<&'a str>,
    distinct_races: usize,
    suppressed_races: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult<'a> {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Message,
    locations: [Location<'a>; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    occurrence_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suppressions: Option<Vec<Suppression>>,
}

#[derive(Serialize)]
struct Suppression {
    kind: &'static str,
}

/// A message whose text has been escaped; only [`message`] makes one.
#[derive(Serialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<LogicalLocation<'a>>,
    message: Message,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    start_column: u32,
}

#[derive(Serialize)]
struct LogicalLocation<'a> {
    name: &'a str,
    kind: &'static str,
}

impl<'a> Log<'a> {
    fn new(summary: &'a Summary) -> Log<'a> {
        let mut results: Vec<SarifResult> = summary.races.iter().map(SarifResult::race).collect();
        results.extend(summary.failure.as_ref().map(SarifResult::failure));
        if let Some(suppressed) = &summary.suppressed {
            for result in &mut results {
                result.suppressions = Some(Vec::new());
            }
            results.extend(suppressed.races.iter().map(SarifResult::suppressed));
        }
        let run = Run {
            tool: Tool {
                driver: Driver::new(),
            },
            invocations: [Invocation {
                execution_successful: summary.verdict != Verdict::Unknown,
                exit_code: exit_status(summary),
            }],
            column_kind: "unicodeCodePoints",
            results,
            properties: RunProperties {
                program: &summary.program,
                arguments: &summary.arguments,
                detector: summary.detector.name(),
                verdict: summary.verdict.word(),
                meaning: summary.verdict.meaning(),
                guarantee: words::guarantee(summary),
                stronger: summary.strengthen.as_deref(),
                distinct_races: summary.distinct_races,
                suppressed_races: summary.suppressed_races(),
            },
        };
        Log {
            schema: SCHEMA,
            version: "2.1.0",
            runs: [run],
        }
    }
}

impl Driver {
    fn new() -> Driver {
        let rules = Rule::ALL.map(|rule| Descriptor {
            id: rule.id(),
            short_description: message(rule.title()),
            full_description: message(rule.verdict().meaning()),
            help: message(rule.help()),
            default_configuration: Configuration {
                level: rule.level(),
            },
        });
        Driver {
            name: "finishline",
            version: env!("CARGO_PKG_VERSION"),
            semantic_version: env!("CARGO_PKG_VERSION"),
            rules: rules.into(),
        }
    }
}

impl<'a> SarifResult<'a> {
    fn race(race: &'a RaceSummary) -> SarifResult<'a> {
        let rule = if race.apparent {
            Rule::ApparentRace
        } else {
            Rule::Race
        };
        let mut text = format!(
            "{}: (1) is here, {}. {}.",
            words::race_message(race),
            link(
                &format!("(2) is at {}", words::position(&race.second.place)),
                SECOND_ACCESS
            ),
            words::why(race),
        );
        if race.apparent {
            text += &format!(" It is only apparent: {}.", words::APPARENT_REMARK);
        }
        if race.may_follow {
            text += &format!(" It is {}.", words::MAY_FOLLOW_REMARK);
        }
        text += &format!(" Replay: {}", race.replay);

        let task = words::task(&race.why.task);
        let spawned = format!("{task} was spawned here");
        let mut related = vec![
            Location::access(2, &race.second, Some(SECOND_ACCESS)),
            Location::at(&race.why.spawned, &spawned),
        ];
        if let Some(join) = &race.why.join {
            let waits = format!("{}: the first join that waits for {task}", join.what);
            related.push(Location::at(&join.place, &waits));
        }
        if let Some(place) = &race.allocated {
            let allocated = format!("{} was allocated here", words::object(&race.location));
            related.push(Location::at(place, &allocated));
        }
        SarifResult {
            rule_id: rule.id(),
            rule_index: rule as usize,
            level: rule.level(),
            message: message(&text),
            locations: [Location::access(1, &race.first, None)],
            related_locations: related,
            occurrence_count: Some(race.occurrences.max(1)),
            suppressions: None,
        }
    }

    /// By a file, not by a remark in the source.
    fn suppressed(race: &'a RaceSummary) -> SarifResult<'a> {
        SarifResult {
            suppressions: Some(vec![Suppression { kind: "external" }]),
            ..SarifResult::race(race)
        }
    }

    fn failure(failure: &'a Failure) -> SarifResult<'a> {
        let rule = Rule::ProgramFailure;
        let place = format!(
            "{} in task {}",
            failure.place.text,
            words::task(&failure.task)
        );
        SarifResult {
            rule_id: rule.id(),
            rule_index: rule as usize,
            level: rule.level(),
            message: message(&words::failure(failure)),
            locations: [Location::at(&failure.place, &place)],
            related_locations: Vec::new(),
            occurrence_count: None,
            suppressions: None,
        }
    }
}

impl<'a> Location<'a> {
    fn at(place: &Place, text: &str) -> Location<'a> {
        Location {
            id: None,
            physical_location: PhysicalLocation {
                artifact_location: ArtifactLocation {
                    uri: uri(&place.file),
                },
                region: Region {
                    start_line: place.line,
                    start_column: place.column,
                },
            },
            logical_locations: Vec::new(),
            message: message(text),
        }
    }

    fn access(number: u32, access: &'a AccessSummary, id: Option<u32>) -> Location<'a> {
        let task = words::task(&access.task);
        let text = format!("({number}) {} in task {task}", words::access(access));
        Location {
            id,
            logical_locations: vec![LogicalLocation {
                name: &access.function,
                kind: "function",
            }],
            ..Location::at(&access.place, &text)
        }
    }
}

fn message(text: &str) -> Message {
    Message {
        text: text.replace('{', "{{").replace('}', "}}"),
    }
}

fn link(text: &str, location: u32) -> String {
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
