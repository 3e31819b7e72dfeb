//! The checks of a program for scripts. `docs/checks.schema.json` defines the format and
//! `docs/checks.md` explains it. Change fields there, here and in the CHANGELOG together. Every
//! field is always present.

use finishline_answer::explain::{ExplainedAccess, Explanation, Fate};
use finishline_model::{Pass, Passes};
use serde::Serialize;

/// Raised when a field is added, renamed or dropped.
const SCHEMA_VERSION: u32 = 2;

pub(super) fn render(explanation: &Explanation) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(&Report::new(explanation))?;
    Ok(text + "\n")
}

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    tool: Tool,
    program: &'a str,
    checks: String,
    passes: Vec<Made>,
    counts: Counts,
    accesses: Vec<AccessRow<'a>>,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Made {
    name: &'static str,
    reason: &'static str,
    accesses: usize,
}

#[derive(Serialize)]
struct Counts {
    accesses: usize,
    kept: usize,
    partly: usize,
    moved: usize,
    merged: usize,
    removed: usize,
    unreachable: usize,
}

#[derive(Serialize)]
struct AccessRow<'a> {
    line: u32,
    column: u32,
    kind: &'static str,
    place: &'a str,
    function: &'a str,
    fate: &'static str,
    by: Vec<&'static str>,
    checks: usize,
    range_checks: usize,
    wraps: bool,
}

impl<'a> Report<'a> {
    fn new(explanation: &'a Explanation) -> Self {
        let touched = |pass| {
            let touched = explanation.accesses.iter();
            touched.filter(|access| access.by.contains(pass)).count()
        };
        Report {
            schema_version: SCHEMA_VERSION,
            tool: Tool {
                name: "finishline",
                version: env!("CARGO_PKG_VERSION"),
            },
            program: &explanation.program,
            checks: explanation.passes.to_string(),
            passes: (explanation.passes.iter())
                .map(|pass| Made {
                    name: pass.name(),
                    reason: pass.reason(),
                    accesses: touched(pass),
                })
                .collect(),
            counts: Counts {
                accesses: explanation.accesses.len(),
                kept: explanation.count(Fate::Kept),
                partly: explanation.count(Fate::Partly),
                moved: explanation.count(Fate::Moved),
                merged: explanation.count(Fate::Merged),
                removed: explanation.count(Fate::Removed),
                unreachable: explanation.count(Fate::Unreachable),
            },
            accesses: explanation.accesses.iter().map(AccessRow::new).collect(),
        }
    }
}

impl<'a> AccessRow<'a> {
    fn new(access: &'a ExplainedAccess) -> Self {
        AccessRow {
            line: access.site.line,
            column: access.site.column,
            kind: access.kind.word(),
            place: &access.place,
            function: &access.function,
            fate: access.fate.word(),
            by: names(access.by),
            checks: access.checks,
            range_checks: access.range_checks,
            wraps: access.wraps,
        }
    }
}

fn names(passes: Passes) -> Vec<&'static str> {
    passes.iter().map(Pass::name).collect()
}
