//! The tables of promises, made by hand, in each of their formats.

use finishline_report::bench::Format;
use finishline_report::bench::drdp::{
    DrdpRow, DrdpTable, Ours, TraversalRow, Twin, TwinRow, UnderDrdp, write,
};
use finishline_report::bench::table::{
    BenchFailure, BenchFailureKind, Checked, ChecksMade, Cost, Overall, Spread, Target, Unit, Worst,
};
use serde_json::Value;

fn render(table: &DrdpTable, format: Format) -> String {
    let mut out = Vec::new();
    write(table, format, &mut out).expect("a Vec takes everything");
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(text.ends_with('\n'));
    text
}

fn spread(median: f64) -> Spread {
    Spread {
        median,
        least: median / 2.0,
        greatest: median * 2.0,
    }
}

fn cost(seconds: f64, megabytes: u64) -> Cost {
    Cost {
        seconds: spread(seconds),
        memory_bytes: megabytes << 20,
        compile_seconds: 0.01,
        optimise_seconds: 0.001,
    }
}

fn checked(slowdown: f64, single: u64) -> Checked {
    Checked {
        cost: cost(slowdown / 4.0, 6),
        slowdown: spread(slowdown),
        paper_slowdown: None,
        task_bytes: 4096,
        memory_ratio: Some(1.5),
        made: ChecksMade {
            single,
            ranges: 300,
            in_ranges: 4500,
        },
    }
}

fn ours(slowdown: f64, questions: u64) -> Ours {
    Ours {
        checked: checked(slowdown, 70_000),
        questions,
        comparisons: 1500,
    }
}

fn row(program: &'static str, drdp: Result<UnderDrdp, String>) -> DrdpRow {
    DrdpRow {
        program,
        arguments: "8 2".to_owned(),
        tasks: 12_500,
        baseline: cost(0.25, 4),
        all_checks: ours(3.0, 1000),
        default: ours(1.25, 0),
        drdp,
        paper_slowdown: 20.5,
        paper_memory_ratio: 224.0,
    }
}

fn table() -> DrdpTable {
    let overall = |value| Overall {
        geometric_mean: value,
        worst: Worst {
            program: "sort",
            value,
        },
    };
    let drdp = UnderDrdp {
        checked: checked(44.0, 1),
        reads: 61_000,
        writes: 9_000,
        height: 7,
        tree_joins: 54,
        non_tree_joins: 12,
    };
    let tool = |tool, slowdown: Option<f64>| TwinRow {
        tool,
        seconds: spread(0.5),
        memory_bytes: 3 << 20,
        slowdown: slowdown.map(spread),
        memory_ratio: slowdown,
    };
    DrdpTable {
        size: "medium",
        rounds: 3,
        optimised: true,
        suite: 7,
        programs: vec![
            row("matmul", Ok(drdp)),
            row("sort", Err("out of memory: stopped at 17.0 GiB".to_owned())),
        ],
        overall: Some([overall(3.0), overall(1.25)]),
        traversals: vec![TraversalRow {
            program: "poisson",
            arguments: "12 2 3".to_owned(),
            traversal: "bfs-back",
            walks: 1968,
            least: 1,
            most: 7,
            average: 3.43,
            paper_average: 2.84,
        }],
        twin: Twin::Measured {
            arguments: "512 64".to_owned(),
            rows: vec![tool("Rust", None), tool("ThreadSanitizer", Some(20.0))],
        },
        targets: vec![Target {
            key: "comparisons_worst",
            what: "comparisons a question, worst",
            unit: Unit::Number,
            limit: 2.0,
            measured: 1.5,
            program: Some("sort"),
        }],
        failures: vec![BenchFailure {
            program: "health",
            kind: BenchFailureKind::Failed,
            message: "the budget is too small".to_owned(),
        }],
    }
}

/// The words of each line. How wide columns are is tested elsewhere.
fn squeezed(text: &str) -> String {
    let lines = text.lines();
    let lines = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn text_has_all_tables() {
    let text = squeezed(&render(&table(), Format::Text));
    for part in [
        "Tables 2 to 5 of the DRDP paper",
        "size medium, medians of 3 rounds",
        // Table 2: slowdowns, memory and what DRDP counts.
        "matmul 8 2 12,500 250 ms 3.00x 1.50..6.00 1.25x 0.62..2.50 44.00x 20.50x",
        "sort 8 2 12,500 250 ms 3.00x 1.50..6.00 1.25x 0.62..2.50 - 20.50x",
        "geometric mean 3.00x 1.25x",
        "matmul 4.00 MiB 6.00 MiB 1.50x 6.00 MiB 1.50x 6.00 MiB 1.50x 224.00x",
        "matmul 7 9,000 61,000 54 12",
        "sort under drdp: out of memory: stopped at 17.0 GiB",
        // Table 4. Without questions there is nothing to divide.
        "matmul all 750 ms 6.00 MiB 70,000 300 4,500 1,000 1.50",
        "matmul default 312 ms 6.00 MiB 70,000 300 4,500 0 -",
        // Table 3.
        "poisson 12 2 3 bfs-back 1,968 1 7 3.43 2.84",
        // Table 5.
        "Table 5: matmul beside ThreadSanitizer, 512 64",
        "ThreadSanitizer 500 ms 3.00 MiB 20.00x 10.00..40.00 20.00x",
        "Targets, of 2 of the 7 programs",
        "comparisons a question, worst 1.50 sort target 2.00 met",
        "health: failed: the budget is too small",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let missing = DrdpTable {
        twin: Twin::Missing("can't run rustc".to_owned()),
        ..table()
    };
    assert!(render(&missing, Format::Text).contains("not measured: can't run rustc"));
}

#[test]
fn csv_has_a_cell_for_each_column() {
    let text = render(&table(), Format::Csv);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let [heading, matmul, sort] = &lines[..] else {
        panic!("{text}");
    };
    assert_eq!([matmul.len(), sort.len()], [heading.len(); 2]);
    let cell = |row: &[&str], name: &str| -> String {
        let column = heading.iter().position(|column| *column == name);
        row[column.expect(name)].to_owned()
    };
    for (name, of_matmul, of_sort) in [
        ("arguments", "8 2", "8 2"),
        ("all_checks_slowdown", "3", "3"),
        ("all_checks_slowdown_greatest", "6", "6"),
        ("default_seconds_least", "0.15625", "0.15625"),
        ("all_checks_questions", "1000", "1000"),
        ("drdp_slowdown", "44", ""),
        ("drdp_height", "7", ""),
        ("drdp_non_tree_joins", "12", ""),
        ("paper_memory_ratio", "224", "224"),
    ] {
        assert_eq!(cell(matmul, name), of_matmul, "{name}");
        assert_eq!(cell(sort, name), of_sort, "{name}");
    }
}

#[test]
fn json_has_all_figures() {
    let value: Value = serde_json::from_str(&render(&table(), Format::Json)).expect("JSON");
    for (pointer, expected) in [
        ("/table", Value::from("drdp")),
        ("/size", Value::from("medium")),
        ("/programs/0/all_checks/slowdown/median", Value::from(3.0)),
        ("/programs/0/default/comparisons", Value::from(1500)),
        ("/programs/0/drdp/writes", Value::from(9000)),
        ("/programs/0/drdp_failure", Value::Null),
        ("/programs/1/drdp", Value::Null),
        (
            "/programs/1/drdp_failure",
            Value::from("out of memory: stopped at 17.0 GiB"),
        ),
        ("/overall/default/worst_program", Value::from("sort")),
        ("/traversals/0/average", Value::from(3.43)),
        ("/twin/rows/1/slowdown/greatest", Value::from(40.0)),
        ("/twin/missing", Value::Null),
        ("/targets/0/unit", Value::from("number")),
        ("/failures/0/kind", Value::from("failed")),
    ] {
        assert_eq!(value.pointer(pointer), Some(&expected), "{pointer}");
    }
}

#[test]
fn the_chart_has_a_bar_for_each_kind_of_checks() {
    let svg = render(&table(), Format::Svg);
    for class in ["bar all", "bar with-proofs"] {
        let bars = svg.matches(&format!("class=\"{class}\"")).count();
        assert_eq!(bars, 2, "{class}");
    }
    assert!(svg.contains("the DRDP paper, at its own size"));
}
