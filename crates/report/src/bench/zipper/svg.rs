//! A chart of graphs that grow: nodes to the right, time upwards, both logarithmic. A line for each
//! checker and shape ends where the checker would take too long.

use super::{CHECKERS, ZipperRow, ZipperTable};
use crate::bench::svg::STYLE;
use crate::bench::table::Spread;
use crate::bench::{grouped, seconds};
use crate::html::escape;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = WIDTH - 130.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = HEIGHT - 60.0;

/// The classes that colour the checkers.
const COLORS: [&str; CHECKERS.len()] = ["contexts", "all", "optimised"];
/// How the lines of shapes are dashed.
const DASHES: [&str; 2] = ["", " stroke-dasharray=\"6 4\""];

pub(super) fn render(table: &ZipperTable) -> String {
    let times = table.growth.iter().flat_map(|row| row.seconds).flatten();
    let least = times.clone().map(|time| time.least).fold(1e-3, f64::min);
    let greatest = times.map(|time| time.greatest).fold(1e-2, f64::max);
    let most = table.growth.iter().map(|row| row.nodes).max().unwrap_or(1);
    let fewest = table.growth.iter().map(|row| row.nodes).min().unwrap_or(1);
    let power = 10_f64.powf((fewest as f64).log10().floor());
    let scale = Scale {
        nodes: [power, (most as f64).max(power * 10.0)],
        seconds: [least, greatest],
    };
    let mut body = scale.grid();
    let mut shapes: Vec<&str> = Vec::new();
    for row in &table.growth {
        if !shapes.contains(&row.graph) {
            shapes.push(row.graph);
        }
    }
    for (at, shape) in shapes.iter().enumerate() {
        let rows: Vec<&ZipperRow> = table
            .growth
            .iter()
            .filter(|row| row.graph == *shape)
            .collect();
        let dashes = DASHES[at % DASHES.len()];
        for checker in 0..CHECKERS.len() {
            body += &line(&scale, &rows, checker, dashes);
        }
        let (x, y) = (LEFT + 10.0 + 230.0 * at as f64, 52.0);
        body += &format!(
            "<line class=\"spread\" x1=\"{x}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\"{dashes}/>\n\
             <text x=\"{}\" y=\"{y}\">{}</text>\n",
            x + 30.0,
            x + 38.0,
            escape(shape),
        );
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\">\n\
         <title>{TITLE}</title>\n<style>\n{STYLE}{LINES}</style>\n\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n\
         <text class=\"title\" x=\"20\" y=\"28\">{TITLE}</text>\n{body}</svg>\n",
    )
}

const TITLE: &str = "The time to check a computation graph, by its number of nodes";

/// Lines in the colours of bars. The names at their ends stay readable on top of other lines.
const LINES: &str = "\
.curve { fill: none; stroke-width: 2; }
.curve.contexts { stroke: #8b6fc0; }
.curve.all { stroke: #4a7fc1; }
.curve.optimised { stroke: #3f9c6d; }
.end { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; }
@media (prefers-color-scheme: dark) { .end { stroke: #14171c; } }
";

fn line(scale: &Scale, rows: &[&ZipperRow], checker: usize, dashes: &str) -> String {
    let color = COLORS[checker];
    let points: Vec<(f64, Spread)> = (rows.iter())
        .filter_map(|row| Some((scale.x(row.nodes as f64), row.seconds[checker]?)))
        .collect();
    let Some((x, last)) = points.last() else {
        return String::new();
    };
    let path: Vec<String> = (points.iter())
        .map(|(x, time)| format!("{x:.1} {:.1}", scale.y(time.median)))
        .collect();
    let mut svg = format!(
        "<path class=\"curve {color}\" d=\"M{}\"{dashes}/>\n",
        path.join("L")
    );
    for (x, time) in &points {
        let (y, least, greatest) = (
            scale.y(time.median),
            scale.y(time.least),
            scale.y(time.greatest),
        );
        svg += &format!(
            "<line class=\"spread\" x1=\"{x:.1}\" y1=\"{least:.1}\" x2=\"{x:.1}\" \
             y2=\"{greatest:.1}\"/>\n<circle class=\"{color}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>\n"
        );
    }
    svg + &format!(
        "<text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{} {}</text>\n",
        x + 9.0,
        scale.y(last.median),
        CHECKERS[checker],
        seconds(last.median),
    )
}

/// Logarithmic scales, each from the least to the greatest value.
struct Scale {
    nodes: [f64; 2],
    seconds: [f64; 2],
}

impl Scale {
    fn x(&self, nodes: f64) -> f64 {
        LEFT + part(self.nodes, nodes) * (RIGHT - LEFT)
    }

    fn y(&self, seconds: f64) -> f64 {
        BOTTOM - part(self.seconds, seconds) * (BOTTOM - TOP)
    }

    /// Lines at powers of ten.
    fn grid(&self) -> String {
        let powers = || (-9..=9).map(|power| 10_f64.powi(power));
        let mut grid = String::new();
        for nodes in powers().filter(|nodes| inside(self.nodes, *nodes)) {
            let x = self.x(nodes);
            grid += &format!(
                "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{BOTTOM}\"/>\n\
                 <text class=\"soft middle\" x=\"{x:.1}\" y=\"{}\">{}</text>\n",
                BOTTOM + 18.0,
                grouped(nodes as u64),
            );
        }
        for time in powers().filter(|time| inside(self.seconds, *time)) {
            let y = self.y(time);
            grid += &format!(
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\"/>\n\
                 <text class=\"soft name\" x=\"{}\" y=\"{y:.1}\">{}</text>\n",
                LEFT - 8.0,
                seconds(time),
            );
        }
        grid
    }
}

fn part([least, greatest]: [f64; 2], value: f64) -> f64 {
    (value / least).ln() / (greatest / least).ln()
}

fn inside([least, greatest]: [f64; 2], value: f64) -> bool {
    (least * 0.999..=greatest * 1.001).contains(&value)
}
