//! The figures for scripts. Every field is always present. Missing values are `null`.

use super::{DrdpRow, DrdpTable, Ours, TraversalRow, Twin, TwinRow, UnderDrdp};
use crate::bench::json::{Failure, Held, Range, SCHEMA_VERSION, Tool};
use crate::bench::table::{Checked, Overall};

use serde::Serialize;

pub(super) fn render(table: &DrdpTable) -> serde_json::Result<String> {
    let overall = |index: usize| table.overall.map(|overall| Means::new(&overall[index]));
    let report = Report {
        schema_version: SCHEMA_VERSION,
        tool: Tool::THIS,
        table: "drdp",
        size: table.size,
        rounds: table.rounds,
        optimised: table.optimised,
        programs: table.programs.iter().map(Program::new).collect(),
        overall: Whole {
            all_checks: overall(0),
            default: overall(1),
        },
        traversals: table.traversals.iter().map(Traversal::new).collect(),
        twin: Beside::new(&table.twin),
        targets: table.targets.iter().map(Held::new).collect(),
        failures: table.failures.iter().map(Failure::new).collect(),
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    tool: Tool,
    table: &'static str,
    size: &'a str,
    rounds: usize,
    optimised: bool,
    programs: Vec<Program<'a>>,
    overall: Whole,
    traversals: Vec<Traversal<'a>>,
    twin: Beside<'a>,
    targets: Vec<Held<'a>>,
    failures: Vec<Failure<'a>>,
}

#[derive(Serialize)]
struct Whole {
    all_checks: Option<Means>,
    default: Option<Means>,
}

#[derive(Serialize)]
struct Means {
    geometric_mean: f64,
    worst_program: &'static str,
    worst_slowdown: f64,
}

impl Means {
    fn new(overall: &Overall) -> Means {
        Means {
            geometric_mean: overall.geometric_mean,
            worst_program: overall.worst.program,
            worst_slowdown: overall.worst.value,
        }
    }
}

#[derive(Serialize)]
struct Program<'a> {
    program: &'a str,
    arguments: &'a str,
    tasks: u64,
    seconds: Range,
    memory_bytes: u64,
    all_checks: Detected,
    default: Detected,
    drdp: Option<Counted>,
    drdp_failure: Option<&'a str>,
    paper_slowdown: f64,
    paper_memory_ratio: f64,
}

impl<'a> Program<'a> {
    fn new(row: &'a DrdpRow) -> Self {
        Program {
            program: row.program,
            arguments: &row.arguments,
            tasks: row.tasks,
            seconds: Range::new(row.baseline.seconds),
            memory_bytes: row.baseline.memory_bytes,
            all_checks: Detected::new(&row.all_checks),
            default: Detected::new(&row.default),
            drdp: row.drdp.as_ref().ok().map(Counted::new),
            drdp_failure: row.drdp.as_ref().err().map(String::as_str),
            paper_slowdown: row.paper_slowdown,
            paper_memory_ratio: row.paper_memory_ratio,
        }
    }
}

#[derive(Serialize)]
struct Costs {
    seconds: Range,
    slowdown: Range,
    memory_bytes: u64,
    task_bytes: u64,
    memory_ratio: Option<f64>,
    single_checks: u64,
    range_checks: u64,
    in_ranges: u64,
}

impl Costs {
    fn new(checked: &Checked) -> Costs {
        Costs {
            seconds: Range::new(checked.cost.seconds),
            slowdown: Range::new(checked.slowdown),
            memory_bytes: checked.cost.memory_bytes,
            task_bytes: checked.task_bytes,
            memory_ratio: checked.memory_ratio,
            single_checks: checked.made.single,
            range_checks: checked.made.ranges,
            in_ranges: checked.made.in_ranges,
        }
    }
}

#[derive(Serialize)]
struct Detected {
    #[serde(flatten)]
    costs: Costs,
    questions: u64,
    comparisons: u64,
}

impl Detected {
    fn new(ours: &Ours) -> Detected {
        Detected {
            costs: Costs::new(&ours.checked),
            questions: ours.questions,
            comparisons: ours.comparisons,
        }
    }
}

#[derive(Serialize)]
struct Counted {
    #[serde(flatten)]
    costs: Costs,
    reads: u64,
    writes: u64,
    height: u32,
    tree_joins: u64,
    non_tree_joins: u64,
}

impl Counted {
    fn new(drdp: &UnderDrdp) -> Counted {
        Counted {
            costs: Costs::new(&drdp.checked),
            reads: drdp.reads,
            writes: drdp.writes,
            height: drdp.height,
            tree_joins: drdp.tree_joins,
            non_tree_joins: drdp.non_tree_joins,
        }
    }
}

#[derive(Serialize)]
struct Traversal<'a> {
    program: &'a str,
    arguments: &'a str,
    traversal: &'a str,
    walks: u64,
    least: u64,
    most: u64,
    average: f64,
    paper_average: f64,
}

impl<'a> Traversal<'a> {
    fn new(row: &'a TraversalRow) -> Self {
        Traversal {
            program: row.program,
            arguments: &row.arguments,
            traversal: row.traversal,
            walks: row.walks,
            least: row.least,
            most: row.most,
            average: row.average,
            paper_average: row.paper_average,
        }
    }
}

#[derive(Serialize)]
struct Beside<'a> {
    arguments: Option<&'a str>,
    missing: Option<&'a str>,
    rows: Vec<Tooled<'a>>,
}

#[derive(Serialize)]
struct Tooled<'a> {
    tool: &'a str,
    seconds: Range,
    memory_bytes: u64,
    slowdown: Option<Range>,
    memory_ratio: Option<f64>,
}

impl<'a> Beside<'a> {
    fn new(twin: &'a Twin) -> Self {
        let tooled = |row: &'a TwinRow| Tooled {
            tool: row.tool,
            seconds: Range::new(row.seconds),
            memory_bytes: row.memory_bytes,
            slowdown: row.slowdown.map(Range::new),
            memory_ratio: row.memory_ratio,
        };
        match twin {
            Twin::Missing(why) => Beside {
                arguments: None,
                missing: Some(why),
                rows: Vec::new(),
            },
            Twin::Measured { arguments, rows } => Beside {
                arguments: Some(arguments),
                missing: None,
                rows: rows.iter().map(tooled).collect(),
            },
        }
    }
}
