//! A proof for scripts: `proof` in `docs/report.schema.json`. What a proof has in common with a report of `finishline check` has the same name there.

use super::{Selection, exit_status, races, words};
use crate::json::{SCHEMA_VERSION, SourcePlace, Tool, write_pretty};
use finishline_answer::proof::{
    Kernel, ParameterRange, Proof, ReadSources, Reason, Remark, Source, StaticAccess, StaticRace,
    Witness,
};
use serde::Serialize;
use std::io;

pub(super) fn write(
    proof: &Proof,
    selection: Selection,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    write_pretty(&Report::new(proof, selection), out)
}

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    tool: Tool,
    program: &'a str,
    parameters: &'a [String],
    range: Vec<Bounds<'a>>,
    verdict: &'static str,
    meaning: &'static str,
    guarantee: String,
    stronger: Option<String>,
    exit_status: u8,
    kernels: Vec<JudgedKernel<'a>>,
    races: Vec<Race<'a>>,
    distinct_races: usize,
    remarks: Vec<Questionable<'a>>,
    sources: Vec<Produced<'a>>,
    dataflow: &'static str,
    seconds: f64,
}

/// The values of a parameter for which the answer holds; SARIF has the same.
#[derive(Serialize)]
pub(super) struct Bounds<'a> {
    parameter: &'a str,
    least: Option<i64>,
    greatest: Option<i64>,
}

#[derive(Serialize)]
struct JudgedKernel<'a> {
    construct: &'static str,
    place: SourcePlace<'a>,
    verdict: &'static str,
    distinct_races: usize,
    reasons: Vec<Why<'a>>,
    accesses: usize,
    pairs: usize,
    seconds: f64,
}

#[derive(Serialize)]
struct Why<'a> {
    kind: &'static str,
    text: &'static str,
    help: &'static str,
    place: SourcePlace<'a>,
    concerns: &'a str,
}

#[derive(Serialize)]
struct Race<'a> {
    kernel: usize,
    message: String,
    location: &'a str,
    condition: &'a str,
    first: Access<'a>,
    second: Access<'a>,
    benign: Option<&'static str>,
    witness: Option<Case<'a>>,
}

#[derive(Serialize)]
struct Access<'a> {
    kind: &'static str,
    isolated: bool,
    place: SourcePlace<'a>,
    function: &'a str,
    instance: Vec<Counter<'a, &'a str>>,
}

/// A counter of a loop, and its value.
#[derive(Serialize)]
struct Counter<'a, V> {
    name: &'a str,
    value: V,
}

#[derive(Serialize)]
struct Case<'a> {
    arguments: &'a [i64],
    location: &'a str,
    first: Vec<Counter<'a, i64>>,
    second: Vec<Counter<'a, i64>>,
    confirmation: Confirmed,
    replay: &'a str,
}

#[derive(Serialize)]
struct Confirmed {
    kind: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Questionable<'a> {
    kind: &'static str,
    text: &'static str,
    place: SourcePlace<'a>,
    location: &'a str,
    condition: &'a str,
}

#[derive(Serialize)]
struct Produced<'a> {
    place: SourcePlace<'a>,
    location: &'a str,
    producers: Vec<Producer<'a>>,
}

#[derive(Serialize)]
struct Producer<'a> {
    write: Option<SourcePlace<'a>>,
    instance: Vec<Counter<'a, &'a str>>,
    condition: &'a str,
}

impl<'a> Report<'a> {
    fn new(proof: &'a Proof, selection: Selection) -> Self {
        let told = races(proof).take(selection.max_races);
        Report {
            schema_version: SCHEMA_VERSION,
            tool: Tool::THIS,
            program: &proof.program,
            parameters: &proof.parameters,
            range: proof.range.iter().map(Bounds::new).collect(),
            verdict: proof.verdict.word(),
            meaning: words::meaning(proof),
            guarantee: words::guarantee(proof),
            stronger: words::stronger(proof),
            exit_status: exit_status(proof),
            kernels: proof.kernels.iter().map(JudgedKernel::new).collect(),
            races: told.map(|(kernel, race)| Race::new(kernel, race)).collect(),
            distinct_races: races(proof).count(),
            remarks: proof.remarks.iter().map(Questionable::new).collect(),
            sources: proof.sources.iter().map(Produced::new).collect(),
            dataflow: proof.dataflow.word(),
            seconds: proof.time.as_secs_f64(),
        }
    }
}

impl<'a> Bounds<'a> {
    pub(super) fn new(range: &'a ParameterRange) -> Self {
        Bounds {
            parameter: &range.parameter,
            least: range.least,
            greatest: range.greatest,
        }
    }
}

impl<'a> JudgedKernel<'a> {
    fn new(kernel: &'a Kernel) -> Self {
        JudgedKernel {
            construct: kernel.construct,
            place: SourcePlace::new(&kernel.place),
            verdict: kernel.verdict.word(),
            distinct_races: kernel.races.len(),
            reasons: kernel.reasons.iter().map(Why::new).collect(),
            accesses: kernel.accesses,
            pairs: kernel.pairs,
            seconds: kernel.time.as_secs_f64(),
        }
    }
}

impl<'a> Why<'a> {
    fn new(reason: &'a Reason) -> Self {
        Why {
            kind: reason.kind.word(),
            text: reason.kind.meaning(),
            help: reason.kind.help(),
            place: SourcePlace::new(&reason.place),
            concerns: &reason.concerns,
        }
    }
}

impl<'a> Race<'a> {
    fn new(kernel: usize, race: &'a StaticRace) -> Self {
        Race {
            kernel,
            message: words::message(race),
            location: &race.location,
            condition: &race.condition,
            first: Access::new(&race.first),
            second: Access::new(&race.second),
            benign: race.benign.map(|benign| benign.word()),
            witness: race.witness.as_ref().map(Case::new),
        }
    }
}

impl<'a> Access<'a> {
    fn new(access: &'a StaticAccess) -> Self {
        Access {
            kind: access.kind.word(),
            isolated: access.isolated,
            place: SourcePlace::new(&access.place),
            function: &access.function,
            instance: symbolic(&access.instance),
        }
    }
}

fn symbolic(counters: &[(String, String)]) -> Vec<Counter<'_, &str>> {
    (counters.iter())
        .map(|(name, value)| Counter {
            name,
            value: value.as_str(),
        })
        .collect()
}

fn concrete(counters: &[(String, i64)]) -> Vec<Counter<'_, i64>> {
    (counters.iter())
        .map(|(name, value)| Counter {
            name,
            value: *value,
        })
        .collect()
}

impl<'a> Case<'a> {
    fn new(witness: &'a Witness) -> Self {
        Case {
            arguments: &witness.arguments,
            location: &witness.location,
            first: concrete(&witness.first),
            second: concrete(&witness.second),
            confirmation: Confirmed {
                kind: witness.confirmation.word(),
                text: words::confirmation(&witness.confirmation),
            },
            replay: &witness.replay,
        }
    }
}

impl<'a> Questionable<'a> {
    fn new(remark: &'a Remark) -> Self {
        Questionable {
            kind: remark.kind.word(),
            text: remark.kind.meaning(),
            place: SourcePlace::new(&remark.place),
            location: &remark.location,
            condition: &remark.condition,
        }
    }
}

impl<'a> Produced<'a> {
    fn new(read: &'a ReadSources) -> Self {
        Produced {
            place: SourcePlace::new(&read.place),
            location: &read.location,
            producers: read.sources.iter().map(Producer::new).collect(),
        }
    }
}

impl<'a> Producer<'a> {
    fn new(source: &'a Source) -> Self {
        Producer {
            write: source.write.as_ref().map(SourcePlace::new),
            instance: symbolic(&source.instance),
            condition: &source.condition,
        }
    }
}
