//! The figures of all programs, as text, CSV and a picture.

use super::builds::NAMES;
use std::fmt::Write;

/// The cost of a run: processor seconds, and mebibytes.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    pub(crate) mebibytes: f64,
}

/// A program, with the costs of all rounds for each way to build it.
pub(crate) struct Row {
    pub(crate) program: &'static str,
    pub(crate) size: &'static str,
    pub(crate) costs: [Vec<Cost>; NAMES.len()],
}

impl Row {
    /// The median of what is asked about the runs of a build.
    fn median(&self, build: usize, what: fn(&Cost) -> f64) -> f64 {
        let sorted = self.sorted(build, what);
        sorted[sorted.len() / 2]
    }

    fn sorted(&self, build: usize, what: fn(&Cost) -> f64) -> Vec<f64> {
        let mut values: Vec<f64> = self.costs[build].iter().map(what).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// How many times as long as the plain program it takes, by the medians.
    fn slowdown(&self, build: usize) -> f64 {
        let seconds = |build| self.median(build, |cost| cost.seconds);
        seconds(build) / seconds(0)
    }

    /// The least and the greatest time of the runs, as multiples of the plain median.
    fn spread(&self, build: usize) -> [f64; 2] {
        let sorted = self.sorted(build, |cost| cost.seconds);
        let plain = self.median(0, |cost| cost.seconds);
        [sorted[0] / plain, sorted[sorted.len() - 1] / plain]
    }
}

fn geometric_mean(rows: &[Row], build: usize) -> f64 {
    let logarithms = rows.iter().map(|row| row.slowdown(build).ln());
    (logarithms.sum::<f64>() / rows.len() as f64).exp()
}

pub(crate) fn text(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<14} {:>9} {:>8} {:>7} {:>7} {:>13} {:>7} {:>22}\n",
        "program",
        "size",
        "plain s",
        NAMES[1],
        NAMES[2],
        "least to most",
        NAMES[3],
        "MiB, plain/ours/TSan"
    );
    for row in rows {
        let [least, most] = row.spread(2);
        let memory = [0, 2, 3].map(|build| row.median(build, |cost| cost.mebibytes));
        let _ = writeln!(
            text,
            "{:<14} {:>9} {:>8.3} {:>6.1}x {:>6.1}x {:>13} {:>6.1}x {:>22}",
            row.program,
            row.size,
            row.median(0, |cost| cost.seconds),
            row.slowdown(1),
            row.slowdown(2),
            format!("{least:.1} to {most:.1}"),
            row.slowdown(3),
            format!("{:.0} / {:.0} / {:.0}", memory[0], memory[1], memory[2]),
        );
    }
    let [calls, ours, theirs] = [1, 2, 3].map(|build| geometric_mean(rows, build));
    let _ = writeln!(
        text,
        "geometric means of the slowdowns: {} {calls:.2}, {} {ours:.2}, {} {theirs:.2}; ours is \
         {:.2} of theirs",
        NAMES[1],
        NAMES[2],
        NAMES[3],
        ours / theirs
    );
    text
}

pub(crate) fn csv(rows: &[Row]) -> String {
    let mut csv = String::from("program,size,build,seconds,least,most,slowdown,mebibytes\n");
    for row in rows {
        for (build, name) in NAMES.iter().enumerate() {
            let sorted = row.sorted(build, |cost| cost.seconds);
            let _ = writeln!(
                csv,
                "{},{},{name},{},{},{},{:.3},{:.1}",
                row.program,
                row.size,
                row.median(build, |cost| cost.seconds),
                sorted[0],
                sorted[sorted.len() - 1],
                row.slowdown(build),
                row.median(build, |cost| cost.mebibytes),
            );
        }
    }
    csv
}

const BAR: usize = 14;
const LABELS: usize = 130;
const WIDTH: f64 = 520.0;
const COLOURS: [&str; NAMES.len()] = ["", "#b8b8b8", "#2f6fb0", "#c8702a"];

/// Bars of the slowdowns, on a logarithmic scale from 1 on.
pub(crate) fn svg(rows: &[Row]) -> String {
    let builds = 1..NAMES.len();
    let slowdowns = rows
        .iter()
        .flat_map(|row| builds.clone().map(|build| row.slowdown(build)));
    let most = slowdowns.fold(10.0, f64::max);
    let length = |slowdown: f64| WIDTH * (slowdown.max(1.0).ln() / most.ln());
    let group = BAR * NAMES.len();
    let height = group * rows.len() + 60;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<title>Slowdown of checked Rust \
         programs</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (index, row) in rows.iter().enumerate() {
        let top = 40 + group * index;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            LABELS - 8,
            top + 2 * BAR,
            row.program
        );
        for build in builds.clone() {
            let y = top + BAR * (build - 1);
            let slowdown = row.slowdown(build);
            let _ = writeln!(
                svg,
                "<rect x=\"{LABELS}\" y=\"{y}\" width=\"{:.1}\" height=\"{}\" fill=\"{}\"/>\n\
                 <text x=\"{:.1}\" y=\"{}\">{slowdown:.1}</text>",
                length(slowdown),
                BAR - 2,
                COLOURS[build],
                LABELS as f64 + length(slowdown) + 4.0,
                y + BAR - 4,
            );
        }
    }
    for build in builds {
        let x = LABELS + 150 * (build - 1);
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"12\" width=\"10\" height=\"10\" fill=\"{}\"/>\n\
             <text x=\"{}\" y=\"21\">{}</text>",
            COLOURS[build],
            x + 14,
            NAMES[build]
        );
    }
    svg + "</svg>\n"
}
