//! The table of checkers of graphs, made by hand, in each of its formats.

use finishline_report::bench::Format;
use finishline_report::bench::table::Spread;
use finishline_report::bench::zipper::{ZipperRow, ZipperTable, write};
use serde_json::Value;

fn render(table: &ZipperTable, format: Format) -> String {
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

fn row(graph: &'static str, nodes: u64, zipper: Option<f64>) -> ZipperRow {
    ZipperRow {
        graph,
        arguments: String::new(),
        nodes,
        accesses: 10 * nodes,
        blocks: 3,
        races: true,
        seconds: [Some(spread(0.25)), zipper.map(spread), Some(spread(0.0005))],
        zipper_to_cg: zipper.map(|zipper| spread(zipper / 0.25)),
        labels_to_cg: Some(spread(0.002)),
        paper: Some([4.0, 14.0]),
    }
}

fn table() -> ZipperTable {
    let grown = |nodes, zipper| ZipperRow {
        paper: None,
        races: false,
        ..row("one finish", nodes, zipper)
    };
    ZipperTable {
        rounds: 3,
        optimised: true,
        limit: 10.0,
        programs: vec![row("add", 23, Some(0.5)), row("pipeline", 62, None)],
        growth: vec![grown(1_000, Some(0.5)), grown(10_000, None)],
        failures: Vec::new(),
    }
}

#[test]
fn text_has_milliseconds_ratios_and_the_papers_figures() {
    let text = render(&table(), Format::Text);
    let line = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        let words = line.expect("a line").split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        line("add"),
        "add 23 yes yes 250 500 0.5000 2.000 1.00..4.00 0.002 0.00..0.00 4 14 3.50"
    );
    // What a checker refuses is a dash.
    assert_eq!(
        line("pipeline"),
        "pipeline 62 yes yes 250 – 0.5000 – – 0.002 0.00..0.00 4 14 3.50"
    );
    assert!(line("one finish").starts_with("one finish 1,000 10,000 3 250 ms 500 ms 500 µs"));
    assert!(text.contains("more than 10.0 s"), "{text}");
}

#[test]
fn every_graph_is_a_line_of_csv_and_an_object_of_json() {
    let csv = render(&table(), Format::Csv);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 5);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    let column = |name: &str| rows[0].iter().position(|it| *it == name).expect("a column");
    assert_eq!(rows[1][column("paper_zipper_seconds")], "0.014");
    assert_eq!(rows[2][column("zipper_seconds")], "");

    let report: Value = serde_json::from_str(&render(&table(), Format::Json)).expect("JSON");
    assert_eq!(report["table"], "zipper");
    assert_eq!(report["programs"][0]["cg_seconds"]["median"], 0.25);
    assert_eq!(report["programs"][1]["zipper_to_cg"], Value::Null);
    assert_eq!(report["growth"][1]["nodes"], 10_000);
}

#[test]
fn the_chart_has_a_line_for_each_checker() {
    let svg = render(&table(), Format::Svg);
    assert_eq!(svg.matches("class=\"curve ").count(), 3);
    assert!(svg.contains(">1,000<") && svg.contains(">10,000<"));
    // Nothing to draw is no failure.
    let empty = ZipperTable {
        growth: Vec::new(),
        ..table()
    };
    assert!(!render(&empty, Format::Svg).contains("NaN"));
}
