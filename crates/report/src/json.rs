//! The report for scripts. `docs/report.schema.json` is its contract and `docs/report.md` explains
//! it: a field is added, renamed or dropped there and here together, and in the CHANGELOG.
//!
//! The shapes are spelled out here instead of derived on the model, so that the model can change
//! without the contract changing. Every field is always present; what is absent is `null`. Lists
//! that the summary cut short say how long they were.

use crate::{exit_status, words};
use finishline_answer::summary::{
    AccessSummary, Failure, Names, Place, RaceSummary, Summary, TaskPath, Watch,
};
use finishline_model::Statistics;
use serde::Serialize;
use std::io;

/// Raised when a field is added, renamed or dropped.
pub(crate) const SCHEMA_VERSION: u32 = 1;

pub(crate) fn write(summary: &Summary, out: &mut dyn io::Write) -> io::Result<()> {
    write_pretty(&Report::new(summary), out)
}

/// One document, with a newline at its end.
pub(crate) fn write_pretty(document: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(document)?;
    text.push(b'\n');
    out.write_all(&text)
}

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    tool: Tool,
    program: &'a str,
    arguments: &'a [String],
    detector: &'static str,
    verdict: &'static str,
    meaning: &'static str,
    guarantee: String,
    stronger: Option<&'a str>,
    exit_status: u8,
    races: Vec<Race<'a>>,
    distinct_races: usize,
    suppressed_races: usize,
    racing_locations: NameList<'a>,
    failure: Option<ProgramFailure<'a>>,
    watch: Option<WatchList<'a>>,
    statistics: Counts,
}

/// What wrote the report.
#[derive(Serialize)]
pub(crate) struct Tool {
    name: &'static str,
    version: &'static str,
}

impl Tool {
    pub(crate) const THIS: Tool = Tool {
        name: "finishline",
        version: env!("CARGO_PKG_VERSION"),
    };
}

#[derive(Serialize)]
struct NameList<'a> {
    count: u64,
    names: &'a [String],
    truncated: bool,
}

#[derive(Serialize)]
struct Race<'a> {
    apparent: bool,
    message: String,
    location: &'a str,
    locations: NameList<'a>,
    occurrences: u64,
    first: Access<'a>,
    second: Access<'a>,
    why: Why<'a>,
    allocated: Option<SourcePlace<'a>>,
    may_follow: bool,
    replay: &'a str,
}

#[derive(Serialize)]
struct Access<'a> {
    kind: &'static str,
    isolated: bool,
    place: SourcePlace<'a>,
    function: &'a str,
    task: Task<'a>,
}

#[derive(Serialize)]
struct Why<'a> {
    text: String,
    task: Task<'a>,
    spawned: SourcePlace<'a>,
    join: Option<LateJoin<'a>>,
}

#[derive(Serialize)]
struct LateJoin<'a> {
    what: &'a str,
    place: SourcePlace<'a>,
}

#[derive(Serialize)]
pub(crate) struct SourcePlace<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    text: &'a str,
}

#[derive(Serialize)]
struct Task<'a> {
    path: String,
    text: String,
    creations: Vec<TaskCreation<'a>>,
}

#[derive(Serialize)]
struct TaskCreation<'a> {
    index: u32,
    construct: &'static str,
    line: u32,
    captures: Vec<Capture<'a>>,
}

#[derive(Serialize)]
struct Capture<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct ProgramFailure<'a> {
    kind: &'static str,
    message: &'a str,
    place: SourcePlace<'a>,
    task: Task<'a>,
}

#[derive(Serialize)]
struct WatchList<'a> {
    location: &'a str,
    count: u64,
    accesses: Vec<Access<'a>>,
    truncated: bool,
}

#[derive(Serialize)]
struct Counts {
    tasks: u64,
    finishes: u64,
    isolated_blocks: u64,
    accesses: u64,
    locations: u64,
}

impl<'a> Report<'a> {
    fn new(summary: &'a Summary) -> Report<'a> {
        Report {
            schema_version: SCHEMA_VERSION,
            tool: Tool::THIS,
            program: &summary.program,
            arguments: &summary.arguments,
            detector: summary.detector.name(),
            verdict: summary.verdict.word(),
            meaning: summary.verdict.meaning(),
            guarantee: words::guarantee(summary),
            stronger: summary.strengthen.as_deref(),
            exit_status: exit_status(summary),
            races: summary.races.iter().map(Race::new).collect(),
            distinct_races: summary.distinct_races,
            suppressed_races: summary.suppressed_races(),
            racing_locations: NameList::new(&summary.racing_locations),
            failure: summary.failure.as_ref().map(ProgramFailure::new),
            watch: summary.watched.as_ref().map(WatchList::new),
            statistics: Counts::new(&summary.statistics),
        }
    }
}

impl<'a> NameList<'a> {
    fn new(names: &'a Names) -> NameList<'a> {
        NameList {
            count: names.count,
            names: &names.shown,
            truncated: (names.shown.len() as u64) < names.count,
        }
    }
}

impl<'a> Race<'a> {
    fn new(race: &'a RaceSummary) -> Race<'a> {
        Race {
            apparent: race.apparent,
            message: words::race_message(race),
            location: &race.location,
            locations: NameList::new(&race.locations),
            occurrences: race.occurrences,
            first: Access::new(&race.first),
            second: Access::new(&race.second),
            why: Why {
                text: words::why(race),
                task: Task::new(&race.why.task),
                spawned: SourcePlace::new(&race.why.spawned),
                join: race.why.join.as_ref().map(|join| LateJoin {
                    what: &join.what,
                    place: SourcePlace::new(&join.place),
                }),
            },
            allocated: race.allocated.as_ref().map(SourcePlace::new),
            may_follow: race.may_follow,
            replay: &race.replay,
        }
    }
}

impl<'a> Access<'a> {
    fn new(access: &'a AccessSummary) -> Access<'a> {
        Access {
            kind: access.kind.word(),
            isolated: access.isolated,
            place: SourcePlace::new(&access.place),
            function: &access.function,
            task: Task::new(&access.task),
        }
    }
}

impl<'a> SourcePlace<'a> {
    pub(crate) fn new(place: &'a Place) -> SourcePlace<'a> {
        SourcePlace {
            file: &place.file,
            line: place.line,
            column: place.column,
            text: &place.text,
        }
    }
}

impl<'a> Task<'a> {
    fn new(task: &'a TaskPath) -> Task<'a> {
        let mut path = "main".to_string();
        for creation in &task.creations {
            path += &format!(".{}", creation.index);
        }
        let creations = task.creations.iter().map(|creation| TaskCreation {
            index: creation.index,
            construct: creation.construct,
            line: creation.line,
            captures: (creation.captures.iter())
                .map(|(name, value)| Capture { name, value })
                .collect(),
        });
        Task {
            path,
            text: words::task(task),
            creations: creations.collect(),
        }
    }
}

impl<'a> ProgramFailure<'a> {
    fn new(failure: &'a Failure) -> ProgramFailure<'a> {
        ProgramFailure {
            kind: failure.kind,
            message: &failure.message,
            place: SourcePlace::new(&failure.place),
            task: Task::new(&failure.task),
        }
    }
}

impl<'a> WatchList<'a> {
    fn new(watch: &'a Watch) -> WatchList<'a> {
        WatchList {
            location: &watch.location,
            count: watch.count,
            accesses: watch.accesses.iter().map(Access::new).collect(),
            truncated: (watch.accesses.len() as u64) < watch.count,
        }
    }
}

impl Counts {
    fn new(statistics: &Statistics) -> Counts {
        Counts {
            tasks: statistics.tasks,
            finishes: statistics.finishes,
            isolated_blocks: statistics.isolated_blocks,
            accesses: statistics.accesses,
            locations: statistics.locations,
        }
    }
}
