//! The table of a benchmark, made by hand, in each of its formats.

use finishline_answer::Verdict;
use finishline_model::{Pass, Passes};
use finishline_report::bench::table::{
    BenchFailure, BenchFailureKind, BenchTable, CheckColumn, Checked, ChecksMade, Cost, Overall,
    ProgramRow, ProverRow, ProverTable, RustRow, Spread, Target, Unit, Worst,
};
use finishline_report::bench::{Format, write, write_prover};
use serde_json::json;

fn render(table: &BenchTable, format: Format) -> String {
    let mut out = Vec::new();
    write(table, format, &mut out).expect("a Vec takes everything");
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(text.ends_with('\n'));
    text
}

fn spread(median: f64, least: f64, greatest: f64) -> Spread {
    Spread {
        median,
        least,
        greatest,
    }
}

/// A program that is twice as fast with fewer checks.
fn row(program: &'static str, slowdown: f64, memory_ratio: Option<f64>) -> ProgramRow {
    let all_checks = Checked {
        cost: Cost {
            seconds: spread(1.5, 1.0, 2.0),
            memory_bytes: 6 << 20,
            compile_seconds: 0.016,
            optimise_seconds: 0.004,
        },
        slowdown: spread(slowdown, slowdown / 2.0, slowdown * 2.0),
        paper_slowdown: Some(8.0),
        task_bytes: 4096,
        memory_ratio,
        made: ChecksMade {
            single: 400_000,
            ranges: 0,
            in_ranges: 0,
        },
    };
    let optimised = Checked {
        cost: Cost {
            optimise_seconds: 0.005,
            ..all_checks.cost
        },
        slowdown: spread(slowdown / 2.0, slowdown / 4.0, slowdown),
        paper_slowdown: Some(7.0),
        made: ChecksMade {
            single: 12_000,
            ranges: 300,
            in_ranges: 150_000,
        },
        ..all_checks
    };
    ProgramRow {
        program,
        tasks: 12_500_000,
        accesses: None,
        baseline: Cost {
            seconds: spread(0.5, 0.25, 1.0),
            memory_bytes: 3 << 20,
            compile_seconds: 0.012,
            optimise_seconds: 0.003,
        },
        checked: vec![all_checks, optimised],
    }
}

/// The same table with another column that the paper does not have, and with all accesses counted.
fn breakdown() -> BenchTable {
    let mut table = table();
    table.columns.insert(
        1,
        CheckColumn {
            key: "read_only".to_owned(),
            title: "read-only".to_owned(),
            passes: Passes::SEQUENTIAL.with(Pass::ReadOnly),
            of_breakdown: true,
            paper: None,
            ..table.columns[0].clone()
        },
    );
    for row in &mut table.programs {
        row.accesses = Some(1_000_000);
        let alone = Checked {
            paper_slowdown: None,
            slowdown: spread(1.75, 1.5, 2.0),
            ..row.checked[0]
        };
        row.checked.insert(1, alone);
    }
    table
}

/// The same table with a column for proofs, which the paper does not have.
fn with_proofs() -> BenchTable {
    let mut table = table();
    table.columns.push(CheckColumn {
        key: "with_proofs".to_owned(),
        title: "with proofs".to_owned(),
        passes: Passes::ALL,
        of_breakdown: false,
        overall: Overall {
            geometric_mean: 1.03,
            worst: Worst {
                program: "sor",
                value: 1.04,
            },
        },
        paper: None,
    });
    for row in &mut table.programs {
        let proved = Checked {
            paper_slowdown: None,
            slowdown: spread(1.04, 1.01, 1.09),
            ..row.checked[1]
        };
        row.checked.push(proved);
    }
    table
}

fn table() -> BenchTable {
    let worst = |program, value| Worst { program, value };
    BenchTable {
        size: "A",
        rounds: 3,
        optimised: true,
        suite: 3,
        columns: vec![
            CheckColumn {
                key: "all_checks".to_owned(),
                title: "all checks".to_owned(),
                passes: Passes::SEQUENTIAL,
                of_breakdown: false,
                overall: Overall {
                    geometric_mean: 2.8284,
                    worst: worst("sor", 4.0),
                },
                paper: Some(Overall {
                    geometric_mean: 8.0,
                    worst: worst("sor", 8.0),
                }),
            },
            CheckColumn {
                key: "optimised".to_owned(),
                title: "optimised".to_owned(),
                passes: Passes::UNPROVED,
                of_breakdown: false,
                overall: Overall {
                    geometric_mean: 1.5,
                    worst: worst("sor", 2.0),
                },
                paper: Some(Overall {
                    geometric_mean: 7.0,
                    worst: worst("sor", 7.0),
                }),
            },
        ],
        programs: vec![row("crypt", 2.0, None), row("sor", 4.0, Some(2.0))],
        rust: vec![RustRow {
            program: "sor",
            fin_seconds: spread(0.5, 0.25, 1.0),
            rust_seconds: spread(0.4, 0.3, 0.5),
            ratio: spread(1.25, 1.0, 2.0),
        }],
        targets: vec![
            Target {
                key: "slowdown_worst",
                what: "slowdown, worst",
                unit: Unit::Times,
                limit: 3.2,
                measured: 4.0,
                program: Some("sor"),
            },
            Target {
                key: "compile_seconds_longest",
                what: "compile time, longest",
                unit: Unit::Seconds,
                limit: 0.05,
                measured: 0.016,
                program: Some("crypt"),
            },
        ],
        failures: vec![BenchFailure {
            program: "fasta",
            kind: BenchFailureKind::Race,
            message: "3 racing locations".to_owned(),
        }],
    }
}

/// The line that begins with these words, with single blanks.
fn line(text: &str, beginning: &str) -> String {
    let found = text.lines().find(|line| line.starts_with(beginning));
    let found = found.unwrap_or_else(|| panic!("no line {beginning}\n{text}"));
    found.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_text_has_every_figure() {
    let text = render(&table(), Format::Text);
    assert!(text.contains("size A, medians of 3 rounds\n"), "{text}");
    assert_eq!(
        line(&text, "crypt"),
        "crypt 12,500,000 500 ms 2.00x 1.00..4.00 8.00x 1.00x 0.50..2.00 7.00x"
    );
    assert_eq!(
        line(&text, "geometric mean"),
        "geometric mean 2.83x 8.00x 1.50x 7.00x"
    );
    assert_eq!(
        line(&text, "worst"),
        "worst 4.00x sor 8.00x 2.00x sor 7.00x"
    );
    let costs = text.split_once("Memory,").expect("the second table").1;
    assert_eq!(
        line(costs, "crypt"),
        "crypt 3.00 MiB 12.0 ms 3.00 ms 6.00 MiB - 16.0 ms 4.00 ms 6.00 MiB - 16.0 ms 5.00 ms"
    );
    assert!(line(costs, "sor").contains("6.00 MiB 2.00x 16.0 ms"));
    let rust = text.split_once("Rust -O").expect("the third table").1;
    assert_eq!(line(rust, "sor"), "sor 500 ms 400 ms 1.25x 1.00..2.00");
    assert_eq!(
        line(&text, "slowdown, worst"),
        "slowdown, worst 4.00x sor target 3.20x missed by 0.80x, 25 %"
    );
    assert_eq!(
        line(&text, "compile time"),
        "compile time, longest 16.0 ms crypt target 50.0 ms met"
    );
    assert!(text.contains("of 2 of the 3 programs"), "{text}");
    assert!(text.contains("fasta: race: 3 racing locations\n"), "{text}");
}

#[test]
fn proofs_have_a_column_beside_the_papers() {
    let table = with_proofs();
    let text = render(&table, Format::Text);
    assert_eq!(
        line(&text, "program"),
        "program tasks time all checks spread paper optimised spread paper with proofs spread"
    );
    assert!(line(&text, "crypt").ends_with("7.00x 1.04x 1.01..1.09"));
    assert!(line(&text, "geometric mean").ends_with("7.00x 1.03x"));
    assert!(line(&text, "worst").ends_with("7.00x 1.04x sor"));
    let csv = render(&table, Format::Csv);
    let heading = csv.lines().next().expect("a heading");
    assert!(heading.contains(",with_proofs_slowdown,"), "{heading}");
    let json: serde_json::Value =
        serde_json::from_str(&render(&table, Format::Json)).expect("JSON");
    assert_eq!(json["overall"][2]["passes"], "optimised");
    assert_eq!(json["overall"][1]["passes"], "unproved");
    let svg = render(&table, Format::Svg);
    well_formed(&svg);
    for (class, bars) in [("all", 2), ("optimised", 2), ("with-proofs", 2)] {
        let found = svg.matches(&format!("class=\"bar {class}\"")).count();
        assert_eq!(found, bars, "{class}");
        assert!(svg.contains(&format!("\n.{class} {{ fill:")), "{class}");
    }
    // The legend has the means in full, as without the column.
    assert!(svg.contains("with proofs, geometric mean 1.03x"), "{svg}");
}

#[test]
fn columns_are_straight() {
    let text = render(&table(), Format::Text);
    let ends: Vec<usize> = ["program", "crypt", "sor"]
        .iter()
        .map(|name| {
            let line = text.lines().find(|line| line.starts_with(name));
            line.expect("a line of the first table").chars().count()
        })
        .collect();
    assert_eq!(ends[0], ends[1]);
    assert_eq!(ends[0], ends[2]);
}

#[test]
fn what_spoils_the_figures_is_said() {
    let spoiled = BenchTable {
        optimised: false,
        size: "small",
        ..table()
    };
    let text = render(&spoiled, Format::Text);
    assert!(text.contains("built without optimisation"), "{text}");
    assert!(text.contains("at size small"), "{text}");
    let text = render(&table(), Format::Text);
    assert!(!text.contains("without optimisation") && !text.contains("small"));
}

#[test]
fn the_csv_has_a_cell_for_every_column() {
    let text = render(&table(), Format::Csv);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let [heading, crypt, sor] = &rows[..] else {
        panic!("a heading and two programs: {text}");
    };
    assert!(rows.iter().all(|row| row.len() == heading.len()), "{text}");
    let at = |name: &str| {
        let found = heading.iter().position(|known| *known == name);
        found.unwrap_or_else(|| panic!("no column {name}"))
    };
    for (name, of_crypt, of_sor) in [
        ("program", "crypt", "sor"),
        ("size", "A", "A"),
        ("rounds", "3", "3"),
        ("tasks", "12500000", "12500000"),
        ("seconds", "0.5", "0.5"),
        ("memory_bytes", "3145728", "3145728"),
        ("compile_seconds", "0.012", "0.012"),
        ("optimise_seconds", "0.003", "0.003"),
        ("accesses", "", ""),
        ("rust_seconds", "", "0.4"),
        ("rust_ratio", "", "1.25"),
        ("rust_ratio_least", "", "1"),
        ("rust_ratio_greatest", "", "2"),
        ("all_checks_slowdown", "2", "4"),
        ("all_checks_slowdown_least", "1", "2"),
        ("all_checks_slowdown_greatest", "4", "8"),
        ("all_checks_seconds", "1.5", "1.5"),
        ("all_checks_paper_slowdown", "8", "8"),
        ("all_checks_memory_bytes", "6291456", "6291456"),
        ("all_checks_task_bytes", "4096", "4096"),
        ("all_checks_memory_ratio", "", "2"),
        ("all_checks_compile_seconds", "0.016", "0.016"),
        ("all_checks_optimise_seconds", "0.004", "0.004"),
        ("optimised_slowdown", "1", "2"),
        ("optimised_paper_slowdown", "7", "7"),
        ("optimised_optimise_seconds", "0.005", "0.005"),
        ("optimised_single_checks", "12000", "12000"),
        ("optimised_range_checks", "300", "300"),
        ("optimised_in_ranges", "150000", "150000"),
        ("optimised_removed", "", ""),
    ] {
        assert_eq!(crypt[at(name)], of_crypt, "{name}");
        assert_eq!(sor[at(name)], of_sor, "{name}");
    }
}

#[test]
fn the_json_is_as_documented() {
    let text = render(&table(), Format::Json);
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let range = |median: f64, least: f64, greatest: f64| {
        json!({"median": median,
    "least": least, "greatest": greatest})
    };
    assert_eq!(report["schema_version"], 1);
    assert_eq!(report["table"], "esp-bags");
    assert_eq!(report["size"], "A");
    assert_eq!(report["rounds"], 3);
    assert_eq!(report["optimised"], true);
    assert_eq!(
        report["programs"][1],
        json!({
            "program": "sor", "tasks": 12_500_000, "accesses": null,
            "seconds": range(0.5, 0.25, 1.0),
            "memory_bytes": 3 << 20, "compile_seconds": 0.012, "optimise_seconds": 0.003,
            "checks": [{
                "checks": "all_checks", "seconds": range(1.5, 1.0, 2.0),
                "slowdown": range(4.0, 2.0, 8.0),
                "paper_slowdown": 8.0, "memory_bytes": 6 << 20, "task_bytes": 4096,
                "memory_ratio": 2.0,
                "compile_seconds": 0.016, "optimise_seconds": 0.004, "single_checks": 400_000,
                "range_checks": 0, "in_ranges": 0, "removed": null,
            }, {
                "checks": "optimised", "seconds": range(1.5, 1.0, 2.0),
                "slowdown": range(2.0, 1.0, 4.0),
                "paper_slowdown": 7.0, "memory_bytes": 6 << 20, "task_bytes": 4096,
                "memory_ratio": 2.0,
                "compile_seconds": 0.016, "optimise_seconds": 0.005, "single_checks": 12_000,
                "range_checks": 300, "in_ranges": 150_000, "removed": null,
            }],
        })
    );
    assert_eq!(
        report["programs"][0]["checks"][0]["memory_ratio"],
        json!(null)
    );
    assert_eq!(
        report["overall"][0],
        json!({
            "checks": "all_checks", "passes": "sequential", "geometric_mean": 2.8284,
            "worst": {"program": "sor", "slowdown": 4.0},
            "paper_geometric_mean": 8.0, "paper_worst": {"program": "sor", "slowdown": 8.0},
        })
    );
    assert_eq!(
        report["rust"],
        json!([{
            "program": "sor", "fin_seconds": range(0.5, 0.25, 1.0),
            "rust_seconds": range(0.4, 0.3, 0.5),
            "ratio": range(1.25, 1.0, 2.0),
        }])
    );
    assert_eq!(
        report["targets"][0],
        json!({
            "name": "slowdown_worst", "what": "slowdown, worst", "unit": "times",
            "limit": 3.2, "measured": 4.0,
            "program": "sor", "met": false,
        })
    );
    assert_eq!(report["targets"][1]["met"], true);
    assert_eq!(
        report["failures"],
        json!([{"program": "fasta", "kind": "race", "message": "3 racing locations"}])
    );
}

#[test]
fn every_name_in_the_files_is_documented() {
    let page = include_str!("../../../../docs/bench.md");
    let documented = |name: &str| {
        assert!(
            page.contains(&format!("`{name}`")),
            "docs/bench.md lacks {name}"
        );
    };
    let mut table = breakdown();
    table.columns.extend(with_proofs().columns.pop());
    let csv = render(&table, Format::Csv);
    let heading = csv.lines().next().expect("a heading");
    for name in heading.split(',') {
        let mut kinds = table.columns.iter();
        match kinds.find_map(|column| name.strip_prefix(&format!("{}_", column.key))) {
            Some(figure) => documented(&format!("CHECKS_{figure}")),
            None => documented(name),
        }
    }
    for column in &table.columns {
        documented(&column.key);
    }
    for pass in Passes::ALL.without(Pass::Sequential).iter() {
        documented(&pass.name().replace('-', "_"));
    }
    let json: serde_json::Value =
        serde_json::from_str(&render(&table, Format::Json)).expect("JSON");
    names(&json, &mut |name| documented(name));
}

#[test]
fn a_breakdown_has_tables_of_its_own() {
    let text = render(&breakdown(), Format::Text);
    // The first table is the same as without a breakdown.
    assert_eq!(
        line(&text, "crypt"),
        line(&render(&table(), Format::Text), "crypt")
    );
    let slowdowns = text.split_once("each pass alone").expect("the table").1;
    assert_eq!(
        line(slowdowns, "program"),
        "program all checks read-only optimised"
    );
    assert_eq!(line(slowdowns, "crypt"), "crypt 2.00x 1.75x 1.00x");
    assert_eq!(
        line(slowdowns, "geometric mean"),
        "geometric mean 2.83x 2.83x 1.50x"
    );
    let shares = text.split_once("in percent of all").expect("the table").1;
    assert_eq!(line(shares, "crypt"), "crypt 40.0 40.0 1.2");
    let counts = text.split_once("Checks, optimised").expect("the table").1;
    // 1,000,000 - 12,000 - 150,000
    assert_eq!(
        line(counts, "crypt"),
        "crypt 1,000,000 12,000 300 150,000 838,000"
    );
    assert!(!render(&table(), Format::Text).contains("each pass alone"));
}

#[test]
fn the_files_have_the_counts_of_a_breakdown() {
    let report = render(&breakdown(), Format::Json);
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let [alone, optimised] = [1, 2].map(|index| &report["programs"][0]["checks"][index]);
    assert_eq!(report["programs"][0]["accesses"], 1_000_000);
    assert_eq!(alone["removed"], 600_000);
    assert_eq!(alone["paper_slowdown"], json!(null));
    assert_eq!(optimised["removed"], 838_000);
    assert_eq!(report["overall"][1]["passes"], "sequential,read-only");
    assert_eq!(report["overall"][1]["paper_worst"], json!(null));
    let svg = render(&breakdown(), Format::Svg);
    assert_eq!(svg.matches("class=\"bar read-only\"").count(), 2);
    assert_eq!(svg.matches("class=\"bar ").count(), 6);
    // One mark in the legend, and one for each figure of the paper.
    assert_eq!(svg.matches("class=\"paper\"").count(), 1 + 4);
}

/// A range can have more locations than there were accesses to them.
#[test]
fn more_checked_than_accessed_is_shown_as_it_is() {
    let mut table = breakdown();
    table.programs[0].accesses = Some(160_000);
    let text = render(&table, Format::Text);
    let counts = text.split_once("Checks, optimised").expect("the table").1;
    assert_eq!(
        line(counts, "crypt"),
        "crypt 160,000 12,000 300 150,000 -2,000"
    );
}

pub(crate) fn names(value: &serde_json::Value, found: &mut impl FnMut(&str)) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                found(name);
                names(value, found);
            }
        }
        serde_json::Value::Array(values) => {
            for value in values {
                names(value, found);
            }
        }
        _ => {}
    }
}

/// The value of an attribute of the first element that has all of `marks`.
fn attribute(svg: &str, marks: [&str; 2], name: &str) -> f64 {
    let element = svg
        .split('<')
        .find(|element| marks.iter().all(|mark| element.contains(mark)))
        .unwrap_or_else(|| panic!("no element with {marks:?}"));
    let value = element.split_once(&format!(" {name}=\"")).expect(name).1;
    let value = value.split('"').next().expect(name);
    value.parse().expect("a number")
}

#[test]
fn the_chart_is_well_formed() {
    for table in [table(), breakdown()] {
        well_formed(&render(&table, Format::Svg));
    }
}

pub(crate) fn well_formed(svg: &str) {
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap_or_default();
        let element = tag.split([' ', '/']).next().unwrap_or_default();
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "{tag}"),
            None if tag.ends_with('/') => {}
            None => open.push(element),
        }
        assert!(tag.matches('"').count().is_multiple_of(2), "{tag}");
    }
    assert_eq!(open, Vec::<&str>::new());
    assert!(svg.contains("prefers-color-scheme: dark"));
}

#[test]
fn the_scale_of_the_chart_is_logarithmic() {
    let svg = render(&table(), Format::Svg);
    let width = |program: &str| {
        let mark = format!("data-program=\"{program}\"");
        attribute(&svg, ["class=\"bar ", &mark], "width")
    };
    // 4 = 2², so its bar is twice as long as that of 2.
    assert!((width("sor") - 2.0 * width("crypt")).abs() < 0.3);
}

#[test]
fn a_chart_has_room_for_any_slowdown() {
    let mut table = table();
    table.programs = vec![row("crypt", 0.3, None), row("sor", 900.0, None)];
    let svg = render(&table, Format::Svg);
    for number in svg
        .split(['"', ' ', 'M'])
        .filter_map(|word| word.parse::<f64>().ok())
    {
        assert!((0.0..=860.0).contains(&number), "{number}");
    }
}

#[test]
fn an_empty_table_is_no_panic() {
    let empty = BenchTable {
        columns: Vec::new(),
        programs: Vec::new(),
        rust: Vec::new(),
        targets: Vec::new(),
        ..table()
    };
    for format in [Format::Text, Format::Csv, Format::Json, Format::Svg] {
        render(&empty, format);
    }
}

fn prover_table() -> ProverTable {
    ProverTable {
        runs: 3,
        optimised: true,
        rows: vec![ProverRow {
            name: "sor1",
            program: "sor",
            whole: false,
            verdict: Verdict::Proved,
            accesses: 18,
            pairs: 35,
            seconds: spread(0.0125, 0.01, 0.02),
            paper_seconds: 0.29,
        }],
        targets: vec![Target {
            key: "block_seconds_longest",
            what: "a block, the longest",
            unit: Unit::Seconds,
            limit: 0.05,
            measured: 0.0125,
            program: Some("sor1"),
        }],
    }
}

fn render_prover(table: &ProverTable, format: Format) -> String {
    let mut out = Vec::new();
    write_prover(table, format, &mut out).expect("a Vec takes everything");
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn the_table_of_the_prover_has_its_forms() {
    let mut table = prover_table();
    let text = render_prover(&table, Format::Text);
    for line in [
        "medians of 3 runs\n",
        "block  verdict  accesses  pairs     time    least  greatest   paper\n",
        "sor1   proved         18     35  12.5 ms  10.0 ms   20.0 ms  290 ms\n",
        "a block, the longest  12.5 ms  sor1  target 50.0 ms  met\n",
    ] {
        assert!(text.contains(line), "no {line}{text}");
    }
    assert!(!text.contains("without optimisation"));
    table.optimised = false;
    assert!(render_prover(&table, Format::Text).contains("without optimisation"));
    assert_eq!(
        render_prover(&table, Format::Csv),
        "block,program,runs,verdict,accesses,pairs,seconds,seconds_least,seconds_greatest,paper_seconds\n\
         sor1,sor,3,proved,18,35,0.0125,0.01,0.02,0.29\n"
    );
    let document: serde_json::Value =
        serde_json::from_str(&render_prover(&table, Format::Json)).expect("JSON");
    assert_eq!(document["table"], "prove");
    assert_eq!(
        document["blocks"][0],
        json!({
            "block": "sor1", "program": "sor", "whole": false, "verdict": "proved",
            "accesses": 18, "pairs": 35,
            "seconds": {"median": 0.0125, "least": 0.01, "greatest": 0.02}, "paper_seconds": 0.29,
        })
    );
    assert_eq!(document["targets"][0]["met"], true);
    let chart = write_prover(&table, Format::Svg, &mut std::io::sink());
    assert!(chart.is_err(), "there is none");
}
