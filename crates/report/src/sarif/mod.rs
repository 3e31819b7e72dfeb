//! The report for code hosts and editors: SARIF 2.1.0, the part of it that the answer needs.
//!
//! One result a race, at its first access; the second access, the allocation, the spawn and the join
//! are related locations, and the message links to the second access, since viewers show only
//! related locations that a message links to. A clean answer is a run without results; verdict and
//! guarantee are properties of the run. A suppressed race is a result too, marked as such. Regions have a start only: the summary's source text is
//! folded to one line, so it is told in messages and not claimed to be the region's snippet.
//!
//! [SARIF 3.27.23]: either every result says whether it is suppressed, or none does.

pub(crate) mod log;

use crate::{exit_status, words};
use finishline_answer::summary::{AccessSummary, Failure, RaceSummary, Summary};
use finishline_answer::verdict::Verdict;
use log::{
    Configuration, Descriptor, Invocation, Location, Log, SarifResult, Suppression, link, message,
};
use serde::Serialize;
use std::io;

/// The id by which a message links to the second access.
const SECOND_ACCESS: u32 = 2;

pub(crate) fn write(summary: &Summary, out: &mut dyn io::Write) -> io::Result<()> {
    log(summary).write(out)
}

#[derive(Clone, Copy)]
pub(crate) enum Rule {
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

    pub(crate) fn descriptor(self) -> Descriptor {
        Descriptor {
            id: self.id(),
            short_description: message(self.title()),
            full_description: message(self.verdict().meaning()),
            help: message(self.help()),
            default_configuration: Configuration {
                level: self.level(),
            },
        }
    }
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

fn log(summary: &Summary) -> Log<'_, RunProperties<'_>, ()> {
    let mut results: Vec<SarifResult> = summary.races.iter().map(race).collect();
    results.extend(summary.failure.as_ref().map(failure));
    if let Some(suppressed) = &summary.suppressed {
        for result in &mut results {
            result.suppressions = Some(Vec::new());
        }
        results.extend(suppressed.races.iter().map(suppressed_race));
    }
    let rules = Rule::ALL.map(Rule::descriptor);
    let invocation = Invocation {
        execution_successful: summary.verdict != Verdict::Unknown,
        exit_code: exit_status(summary),
        properties: None,
    };
    let properties = RunProperties {
        program: &summary.program,
        arguments: &summary.arguments,
        detector: summary.detector.name(),
        verdict: summary.verdict.word(),
        meaning: summary.verdict.meaning(),
        guarantee: words::guarantee(summary),
        stronger: summary.strengthen.as_deref(),
        distinct_races: summary.distinct_races,
        suppressed_races: summary.suppressed_races(),
    };
    Log::new(rules.into(), vec![invocation], results, properties)
}

fn race(race: &RaceSummary) -> SarifResult<'_> {
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
        access(2, &race.second, Some(SECOND_ACCESS)),
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
        locations: vec![access(1, &race.first, None)],
        related_locations: related,
        stacks: Vec::new(),
        code_flows: Vec::new(),
        provenance: None,
        occurrence_count: Some(race.occurrences.max(1)),
        suppressions: None,
    }
}

/// By a file, not by a remark in the source.
fn suppressed_race(race: &RaceSummary) -> SarifResult<'_> {
    SarifResult {
        suppressions: Some(vec![Suppression { kind: "external" }]),
        ..self::race(race)
    }
}

fn failure(failure: &Failure) -> SarifResult<'_> {
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
        locations: vec![Location::at(&failure.place, &place)],
        related_locations: Vec::new(),
        stacks: Vec::new(),
        code_flows: Vec::new(),
        provenance: None,
        occurrence_count: None,
        suppressions: None,
    }
}

fn access(number: u32, access: &AccessSummary, id: Option<u32>) -> Location<'_> {
    let task = words::task(&access.task);
    let text = format!("({number}) {} in task {task}", words::access(access));
    Location {
        id,
        ..Location::at(&access.place, &text).in_function(&access.function)
    }
}
