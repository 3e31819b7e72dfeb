//! A chart of the slowdowns: for each program a bar for each kind of checks, its spread as a line on it, and a mark where
//! the paper was.
//!
//! The scale is logarithmic: slowdowns multiply, and from 1x to 2x is as far as from 5x to 10x. Bars begin at 1x, where
//! checking costs nothing. The picture brings its own background, light or dark as the reader prefers; nothing is loaded
//! from elsewhere.

use super::times;
use crate::html::escape;
use finishline_model::bench::{BenchTable, CheckColumn, Checked};

const STYLE: &str = include_str!("svg.css");

const WIDTH: f64 = 860.0;
/// Left of the scale are the names of programs, right of it is room for the last number.
const LEFT: f64 = 120.0;
const RIGHT: f64 = WIDTH - 90.0;
const TOP: f64 = 84.0;
const BAR: f64 = 18.0;
const GAP: f64 = 14.0;

pub(super) fn render(table: &BenchTable) -> String {
    let row = BAR * table.columns.len() as f64 + GAP;
    let bottom = TOP + row * table.programs.len() as f64;
    let height = bottom + 40.0;
    let scale = Scale::of(table);
    let mut body = String::new();
    for value in scale.ticks() {
        let x = scale.x(value);
        body += &format!(
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>\n\
             <text class=\"soft middle\" x=\"{x:.1}\" y=\"{:.1}\">{value}x</text>\n",
            bottom + 18.0,
        );
    }
    for (index, program) in table.programs.iter().enumerate() {
        let y = TOP + row * index as f64 + GAP / 2.0;
        let middle = y + (row - GAP) / 2.0;
        body += &format!(
            "<text class=\"name\" x=\"{:.1}\" y=\"{middle:.1}\">{}</text>\n",
            LEFT - 10.0,
            escape(program.program),
        );
        for (column, checked) in program.checked.iter().enumerate() {
            let y = y + BAR * column as f64;
            body += &bar(&scale, program.program, column, checked, y);
        }
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.1}\" \
         width=\"{WIDTH}\" height=\"{height:.1}\" role=\"img\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{height:.1}\"/>\n\
         <text class=\"title\" x=\"20\" y=\"32\">{title}</text>\n{legend}{body}</svg>\n",
        title = escape(&format!(
            "What checking costs: slowdowns at size {}",
            table.size
        )),
        legend = legend(&table.columns),
    )
}

fn bar(scale: &Scale, program: &str, column: usize, checked: &Checked, y: f64) -> String {
    let slowdown = checked.slowdown;
    let (one, end) = (scale.x(1.0), scale.x(slowdown.median));
    // A bar of no length would not be seen.
    let width = (end - one).abs().max(1.5);
    let middle = y + BAR / 2.0;
    let paper = scale.x(checked.paper_slowdown);
    // The number stands right of all that is drawn close to it.
    let mut after = scale.x(slowdown.greatest).max(one).max(end);
    if (0.0..60.0).contains(&(paper - after)) {
        after = paper;
    }
    format!(
        "<rect class=\"bar c{column}\" data-program=\"{}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"2\"/>\n\
         <line class=\"spread\" x1=\"{:.1}\" y1=\"{middle:.1}\" x2=\"{:.1}\" y2=\"{middle:.1}\"/>\n\
         <path class=\"paper\" d=\"M{paper:.1} {:.1}l5 5l-5 5l-5 -5z\"/>\n\
         <text x=\"{:.1}\" y=\"{middle:.1}\">{}</text>\n",
        escape(program),
        one.min(end),
        y + 1.0,
        BAR - 2.0,
        scale.x(slowdown.least),
        scale.x(slowdown.greatest),
        middle - 5.0,
        after + 9.0,
        times(slowdown.median),
    )
}

fn legend(columns: &[CheckColumn]) -> String {
    let mut text = String::new();
    let mut x = 20.0;
    for (index, column) in columns.iter().enumerate() {
        let mean = times(column.overall.geometric_mean);
        let label = format!("{}, geometric mean {mean}", column.title);
        text += &format!(
            "<rect class=\"c{index}\" x=\"{x}\" y=\"50\" width=\"14\" height=\"14\" rx=\"2\"/>\n\
             <text x=\"{:.1}\" y=\"57\">{}</text>\n",
            x + 22.0,
            escape(&label),
        );
        // Letters are about 7 wide.
        x += 50.0 + 7.0 * label.len() as f64;
    }
    text + &format!(
        "<path class=\"paper\" d=\"M{:.1} 52l5 5l-5 5l-5 -5z\"/>\n\
         <text x=\"{:.1}\" y=\"57\">the ESP-bags paper, at its own size</text>\n",
        x + 7.0,
        x + 22.0,
    )
}

/// A logarithmic scale that has room for 1x and every value.
struct Scale {
    least: f64,
    greatest: f64,
}

impl Scale {
    fn of(table: &BenchTable) -> Scale {
        let mut scale = Scale {
            least: 0.95,
            greatest: 2.0,
        };
        for checked in table.programs.iter().flat_map(|row| &row.checked) {
            scale.least = scale.least.min(checked.slowdown.least);
            let most = checked.slowdown.greatest.max(checked.paper_slowdown);
            scale.greatest = scale.greatest.max(most);
        }
        scale
    }

    fn x(&self, value: f64) -> f64 {
        let part = (value / self.least).ln() / (self.greatest / self.least).ln();
        LEFT + part * (RIGHT - LEFT)
    }

    /// 1, 2 and 5 times the powers of ten.
    fn ticks(&self) -> Vec<f64> {
        let powers = (-3..=6).map(|power| 10_f64.powi(power));
        let ticks = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * power));
        let shown = |value: &f64| (self.least..=self.greatest).contains(value);
        ticks.filter(shown).collect()
    }
}
