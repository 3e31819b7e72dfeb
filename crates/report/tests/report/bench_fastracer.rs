//! The tables of detectors on several threads, made by hand, in each of their formats.

use finishline_report::bench::Format;
use finishline_report::bench::fastracer::{
    DetectorColumn, FastRacerRow, FastRacerTable, Means, Missing, NoFigures, OnThreads, RacyRow,
    SerialRaces, UnderDetector, write,
};
use finishline_report::bench::table::{
    BenchFailure, BenchFailureKind, Checked, ChecksMade, Cost, Overall, Spread, Worst,
};
use serde_json::Value;

fn render(table: &FastRacerTable, format: Format) -> String {
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

fn under(slowdown: f64, paper_memory_ratio: Option<f64>) -> UnderDetector {
    UnderDetector {
        checked: Checked {
            cost: cost(slowdown / 4.0, 6),
            slowdown: spread(slowdown),
            paper_slowdown: None,
            task_bytes: 4096,
            memory_ratio: Some(1.5),
            made: ChecksMade {
                single: 70_000,
                ranges: 300,
                in_ranges: 4500,
            },
        },
        speedup: Some(spread(1.5)),
        paper_memory_ratio,
    }
}

fn missing(kind: Missing, message: &str) -> NoFigures {
    NoFigures {
        kind,
        message: message.to_owned(),
    }
}

/// Two programs under two detectors. The second detector can't judge the second program.
fn table() -> FastRacerTable {
    let column = |key: &str, paper_slowdown, programs| DetectorColumn {
        key: key.to_owned(),
        title: key.to_owned(),
        detector: "spd3",
        checks: "sequential".to_owned(),
        means: [3.0, 4.0]
            .map(|slowdown| {
                Some(Means {
                    programs,
                    slowdown: Overall {
                        geometric_mean: slowdown,
                        worst: Worst {
                            program: "sort",
                            value: 2.0 * slowdown,
                        },
                    },
                    speedup: Some(1.5),
                    memory_ratio: Some(1.5),
                })
            })
            .into(),
        paper_slowdown,
    };
    let row = |program, second: Result<UnderDetector, NoFigures>| FastRacerRow {
        program,
        tasks: Some(12_500),
        accesses: Some(74_500),
        on: [3.0, 4.0]
            .map(|slowdown| OnThreads {
                unchecked: cost(0.25, 4),
                speedup: spread(1.75),
                checked: vec![Ok(under(slowdown, None)), second.clone()],
            })
            .into(),
    };
    let refused = missing(Missing::Unsupported, "it has no rule for lock");
    let late = missing(Missing::Timeout, "stopped after 60 s");
    FastRacerTable {
        size: "A",
        rounds: 3,
        optimised: true,
        threads: vec![1, 2],
        limit: 60.0,
        columns: vec![column("first", None, 2), column("second", Some(6.41), 1)],
        programs: vec![
            row("sort", Ok(under(7.0, Some(16.0)))),
            row("fluidanimate", Err(refused)),
        ],
        racy: vec![RacyRow {
            program: "sort_racy",
            paper_races: Some(1024),
            locations: vec![vec![Ok(29), Ok(28)], vec![Ok(27), Err(late)]],
            serial: Ok(SerialRaces {
                locations: 26,
                distinct: 2,
            }),
        }],
        failures: vec![BenchFailure {
            program: "kmeans",
            kind: BenchFailureKind::Race,
            message: "first on 2: 1 racing locations".to_owned(),
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
        "size A, medians of 3 rounds",
        "sort 12,500 74,500 250 ms 250 ms 1.75x 0.88..3.50 4.00 MiB",
        "Slowdowns on 2 threads",
        "sort 4.00x 2.00..8.00 7.00x 3.50..14.00",
        "fluidanimate 4.00x 2.00..8.00 unsupported",
        "geometric mean 4.00x of 2 4.00x of 1",
        "worst 8.00x sort 8.00x sort",
        "paper - 6.41x",
        "Slowdowns on 1 thread",
        "sort 3.00x 1.50..6.00 7.00x 3.50..14.00",
        "Speedups of 2 threads over 1, with checks",
        "sort 1.50x 0.75..3.00 1.50x 0.75..3.00",
        "Memory on 2 threads",
        "sort 6.00 MiB 1.50x 6.00 MiB 1.50x (16.00x)",
        "sort_racy 29 27 28 timeout 26 2 1,024",
        "fluidanimate, second: it has no rule for lock",
        "sort_racy, second, 2 threads: stopped after 60 s",
        "kmeans: race: first on 2: 1 racing locations",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // The paper has figures for many threads only, and a reason is told once.
    for part in ["paper - 6.41x", "it has no rule for lock"] {
        assert_eq!(text.matches(part).count(), 1, "{part}\n{text}");
    }
}

#[test]
fn csv_has_a_cell_for_each_column() {
    let text = render(&table(), Format::Csv);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let heading = &lines[0];
    assert!(lines.iter().all(|line| line.len() == heading.len()));
    let at = |name: &str| {
        let column = heading.iter().position(|column| *column == name);
        column.expect(name)
    };
    let cell = |program: &str, threads: &str, configuration: &str, name: &str| -> String {
        let key = [program, threads, configuration];
        let places = ["program", "threads", "configuration"].map(at);
        let mut found = lines
            .iter()
            .filter(|line| places.map(|place| line[place]) == key);
        found.next().expect(configuration)[at(name)].to_owned()
    };
    for (program, threads, configuration, name, expected) in [
        ("sort", "1", "unchecked", "seconds", "0.25"),
        ("sort", "2", "unchecked", "speedup", "1.75"),
        ("sort", "2", "unchecked", "slowdown", ""),
        ("sort", "2", "first", "slowdown_greatest", "8"),
        ("sort", "2", "second", "paper_memory_ratio", "16"),
        ("fluidanimate", "1", "second", "failure", "unsupported"),
        ("fluidanimate", "1", "second", "seconds", ""),
        ("sort_racy", "2", "first", "racing_locations", "27"),
        ("sort_racy", "2", "second", "failure", "timeout"),
        ("sort_racy", "1", "serial", "distinct_races", "2"),
    ] {
        let found = cell(program, threads, configuration, name);
        assert_eq!(
            found, expected,
            "{program} {threads} {configuration} {name}"
        );
    }
}

#[test]
fn json_has_all_figures() {
    let value: Value = serde_json::from_str(&render(&table(), Format::Json)).expect("JSON");
    for (pointer, expected) in [
        ("/table", Value::from("fastracer")),
        ("/threads", Value::from(vec![1, 2])),
        ("/limit_seconds", Value::from(60.0)),
        ("/programs/0/runs/1/speedup/median", Value::from(1.75)),
        ("/programs/0/runs/1/checked/0/slowdown/median", 4.0.into()),
        ("/programs/0/runs/1/checked/0/failure", Value::Null),
        ("/programs/1/runs/0/checked/1/slowdown", Value::Null),
        (
            "/programs/1/runs/0/checked/1/failure/kind",
            "unsupported".into(),
        ),
        ("/racy/0/found/2/racing_locations", Value::from(27)),
        ("/racy/0/found/3/failure/kind", Value::from("timeout")),
        ("/racy/0/distinct_races", Value::from(2)),
        ("/overall/3/programs", Value::from(1)),
        ("/overall/3/paper_slowdown", Value::from(6.41)),
        ("/overall/0/worst/program", Value::from("sort")),
        ("/failures/0/kind", Value::from("race")),
    ] {
        assert_eq!(value.pointer(pointer), Some(&expected), "{pointer}");
    }
}

#[test]
fn every_name_in_the_files_is_documented() {
    let page = include_str!("../../../../docs/bench.md");
    let documented = |name: &str| {
        let stem = name.trim_end_matches("_least");
        let stem = stem.trim_end_matches("_greatest");
        assert!(page.contains(&format!("`{stem}`")), "no {name}");
    };
    let csv = render(&table(), Format::Csv);
    csv.lines().take(1).for_each(|heading| {
        heading.split(',').for_each(documented);
    });
    let json: Value = serde_json::from_str(&render(&table(), Format::Json)).expect("JSON");
    crate::bench::names(&json, &mut |name| documented(name));
}

#[test]
fn the_chart_has_a_bar_or_a_word_for_each_detector() {
    let svg = render(&table(), Format::Svg);
    crate::bench::well_formed(&svg);
    assert_eq!(svg.matches("class=\"bar ").count(), 3);
    assert!(svg.contains("second: unsupported"));
    assert!(svg.contains("on 2 threads: slowdowns at size A"));
    // The paper's chart has no numbers.
    assert!(!svg.contains("<path"));
    let mut none = table();
    none.columns[1].means = vec![None, None];
    assert!(render(&none, Format::Svg).contains("second, no figures"));
}

#[test]
fn an_empty_table_is_no_panic() {
    let empty = FastRacerTable {
        columns: Vec::new(),
        programs: Vec::new(),
        racy: Vec::new(),
        failures: Vec::new(),
        ..table()
    };
    for format in [Format::Text, Format::Csv, Format::Json, Format::Svg] {
        render(&empty, format);
    }
}
