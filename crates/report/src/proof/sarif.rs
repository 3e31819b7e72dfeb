//! A proof for code hosts and editors: SARIF 2.1.0.
//!
//! A race is a result at its first access, related to the second one. What leaves a kernel undecided is a result too, at the place that
//! would have to change, and so is a remark. Verdict and guarantee are properties of the run, as in the other logs.

use super::json::Bounds;
use super::{Selection, exit_status, races, words};
use crate::sarif;
use crate::sarif::log::{
    Configuration, Descriptor, Invocation, Location, Log, SarifResult, link, message,
};
use crate::words::position;
use finishline_answer::proof::{Proof, Reason, Remark, RemarkKind, StaticAccess, StaticRace};
use finishline_answer::verdict::Verdict;
use serde::Serialize;
use std::io;

/// The id by which a message links to the second access.
const SECOND_ACCESS: u32 = 2;

#[derive(Clone, Copy)]
enum Rule {
    Race,
    UnconfirmedRace,
    Unproved,
    DeadWrite,
    NeverWritten,
}

impl Rule {
    const ALL: [Rule; 5] = [
        Rule::Race,
        Rule::UnconfirmedRace,
        Rule::Unproved,
        Rule::DeadWrite,
        Rule::NeverWritten,
    ];

    fn descriptor(self) -> Descriptor {
        let (id, title, meaning, help) = match self {
            Rule::Race => return sarif::Rule::Race.descriptor(),
            Rule::UnconfirmedRace => (
                "unconfirmed-race",
                "A race that a run does not confirm",
                Verdict::Unknown.proof_meaning(),
                "Check the program on inputs of interest with `finishline check`.",
            ),
            Rule::Unproved => (
                "unproved",
                "This keeps a part of the program from being proved",
                Verdict::Unknown.proof_meaning(),
                "The message says what would make it provable.",
            ),
            Rule::DeadWrite => (
                RemarkKind::DeadWrite.word(),
                "A write that nobody reads",
                RemarkKind::DeadWrite.meaning(),
                "Remove the write, or read what it was meant for.",
            ),
            Rule::NeverWritten => (
                RemarkKind::NeverWritten.word(),
                "A read of what nobody wrote",
                RemarkKind::NeverWritten.meaning(),
                "Write it before, unless the starting value is what is wanted.",
            ),
        };
        Descriptor {
            id,
            short_description: message(title),
            full_description: message(meaning),
            help: message(help),
            default_configuration: Configuration {
                level: self.level(),
            },
        }
    }

    const fn level(self) -> &'static str {
        match self {
            Rule::Race => "error",
            Rule::UnconfirmedRace | Rule::Unproved => "warning",
            Rule::DeadWrite | Rule::NeverWritten => "note",
        }
    }

    fn result<'a>(self, text: &str, at: Location<'a>) -> SarifResult<'a> {
        SarifResult {
            rule_id: self.descriptor().id,
            rule_index: self as usize,
            level: self.level(),
            message: message(text),
            locations: vec![at],
            related_locations: Vec::new(),
            stacks: Vec::new(),
            code_flows: Vec::new(),
            provenance: None,
            occurrence_count: None,
            suppressions: None,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunProperties<'a> {
    program: &'a str,
    parameters: &'a [String],
    range: Vec<Bounds<'a>>,
    verdict: &'static str,
    meaning: &'static str,
    guarantee: String,
    stronger: Option<String>,
    distinct_races: usize,
}

pub(super) fn write(
    proof: &Proof,
    selection: Selection,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut results: Vec<SarifResult> = races(proof)
        .take(selection.max_races)
        .map(|(_, found)| race(proof, found))
        .collect();
    let reasons = proof.kernels.iter().flat_map(|kernel| &kernel.reasons);
    results.extend(reasons.map(reason));
    results.extend(proof.remarks.iter().map(remark));
    let rules = Rule::ALL.map(Rule::descriptor).into();
    let invocation: Invocation<()> = Invocation {
        execution_successful: proof.verdict != Verdict::Unknown,
        exit_code: exit_status(proof),
        properties: None,
    };
    let properties = RunProperties {
        program: &proof.program,
        parameters: &proof.parameters,
        range: proof.range.iter().map(Bounds::new).collect(),
        verdict: proof.verdict.word(),
        meaning: words::meaning(proof),
        guarantee: words::guarantee(proof),
        stronger: words::stronger(proof),
        distinct_races: races(proof).count(),
    };
    Log::new(rules, vec![invocation], results, properties).write(out)
}

fn race<'a>(proof: &Proof, race: &'a StaticRace) -> SarifResult<'a> {
    let rule = match race.stands() {
        true => Rule::Race,
        false => Rule::UnconfirmedRace,
    };
    let target = format!("(2) is at {}", position(&race.second.place));
    let mut text = format!(
        "{}: (1) is here, {}.",
        words::message(race),
        link(&target, SECOND_ACCESS)
    );
    if let Some(benign) = race.benign {
        text += &format!(" Benign: {}.", benign.meaning());
    }
    if let Some(witness) = &race.witness {
        let case = words::case(proof, witness);
        let run = words::confirmation(&witness.confirmation);
        let (kind, replay) = (words::kind_of_case(witness), &witness.replay);
        text += &format!(" The {kind}: {case}; {run}. Replay: {replay}");
    }
    SarifResult {
        related_locations: vec![Location {
            id: Some(SECOND_ACCESS),
            ..access(2, &race.second)
        }],
        ..rule.result(&text, access(1, &race.first))
    }
}

fn access(number: u32, access: &StaticAccess) -> Location<'_> {
    let text = format!(
        "({number}) {} {}",
        words::access(access),
        words::instance(&access.instance)
    );
    Location::at(&access.place, text.trim_end()).in_function(&access.function)
}

fn reason(reason: &Reason) -> SarifResult<'_> {
    let text = words::reason(reason);
    let help = format!("{text}. To make it provable: {}", reason.kind.help());
    Rule::Unproved.result(&help, Location::at(&reason.place, &text))
}

fn remark(remark: &Remark) -> SarifResult<'_> {
    let rule = match remark.kind {
        RemarkKind::DeadWrite => Rule::DeadWrite,
        RemarkKind::NeverWritten => Rule::NeverWritten,
    };
    let text = words::remark(remark);
    rule.result(&text, Location::at(&remark.place, &remark.place.text))
}
