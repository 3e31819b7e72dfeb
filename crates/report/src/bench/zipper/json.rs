//! The figures for scripts. `docs/bench.md` explains the fields. Every field is always present.
//! Missing values are `null`.

use super::{ZipperRow, ZipperTable};
use crate::bench::json::{Failure, Range, SCHEMA_VERSION, Tool};

use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    tool: Tool,
    table: &'static str,
    rounds: usize,
    optimised: bool,
    limit_seconds: f64,
    programs: Vec<Row<'a>>,
    growth: Vec<Row<'a>>,
    failures: Vec<Failure<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    graph: &'a str,
    arguments: &'a str,
    nodes: u64,
    accesses: u64,
    blocks: u64,
    races: bool,
    cg_seconds: Option<Range>,
    zipper_seconds: Option<Range>,
    labels_seconds: Option<Range>,
    zipper_to_cg: Option<Range>,
    labels_to_cg: Option<Range>,
    paper_cg_seconds: Option<f64>,
    paper_zipper_seconds: Option<f64>,
}

impl<'a> Row<'a> {
    fn new(row: &'a ZipperRow) -> Self {
        let [cg, zipper, labels] = row.seconds.map(|seconds| seconds.map(Range::new));
        Row {
            graph: row.graph,
            arguments: &row.arguments,
            nodes: row.nodes,
            accesses: row.accesses,
            blocks: row.blocks,
            races: row.races,
            cg_seconds: cg,
            zipper_seconds: zipper,
            labels_seconds: labels,
            zipper_to_cg: row.zipper_to_cg.map(Range::new),
            labels_to_cg: row.labels_to_cg.map(Range::new),
            paper_cg_seconds: row.paper.map(|[cg, _]| cg / 1e3),
            paper_zipper_seconds: row.paper.map(|[_, zipper]| zipper / 1e3),
        }
    }
}

pub(super) fn render(table: &ZipperTable) -> serde_json::Result<String> {
    let report = Report {
        schema_version: SCHEMA_VERSION,
        tool: Tool::THIS,
        table: "zipper",
        rounds: table.rounds,
        optimised: table.optimised,
        limit_seconds: table.limit,
        programs: table.programs.iter().map(Row::new).collect(),
        growth: table.growth.iter().map(Row::new).collect(),
        failures: table.failures.iter().map(Failure::new).collect(),
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}
