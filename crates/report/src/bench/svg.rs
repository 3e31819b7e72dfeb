//! A chart of the slowdowns. Each program has a bar for each kind of checks, a line on it for the
//! spread, and a mark for the paper's figure. A breakdown has bars for each pass alone, as in the
//! paper's Fig. 14.
//!
//! The scale is logarithmic, because slowdowns multiply: from 1x to 2x is as far as from 5x to 10x.
//! Bars begin at 1x, where checking costs nothing. The picture has its own background, light or
//! dark as the reader prefers. It loads nothing from elsewhere.

use super::times;
use crate::bench::table::{BenchTable, CheckColumn, Spread};
use crate::html::escape;
use finishline_model::{Pass, Passes};

pub(super) const STYLE: &str = include_str!("svg.css");

const WIDTH: f64 = 860.0;
/// The names of programs are left of the scale. Right of it is room for the last number.
const LEFT: f64 = 120.0;
const RIGHT: f64 = WIDTH - 90.0;
/// The start of the legend, and the distance between its lines.
const LEGEND: f64 = 57.0;
const LEGEND_LINE: f64 = 22.0;
const GAP: f64 = 14.0;
/// A table with more columns than this is a breakdown.
const PLAIN: usize = 3;

/// What is drawn.
pub(super) struct Chart<'a> {
    pub(super) title: String,
    /// The kinds of checks.
    pub(super) columns: Vec<Column>,
    /// By column a bar, or a word for why there is none.
    pub(super) programs: Vec<(&'a str, Vec<Result<Bar, &'static str>>)>,
    /// The paper with the other figures, if there are such.
    pub(super) paper: Option<&'static str>,
}

pub(super) struct Column {
    /// The class of its bars.
    pub(super) color: String,
    pub(super) title: String,
    /// None if no program has figures.
    pub(super) geometric_mean: Option<f64>,
}

/// The slowdown by one kind of checks, and the paper's.
pub(super) struct Bar {
    pub(super) slowdown: Spread,
    pub(super) paper: Option<f64>,
}

pub(super) fn render(table: &BenchTable) -> String {
    let columns = table.columns.iter().map(|column| Column {
        color: color(column),
        title: column.title.clone(),
        geometric_mean: Some(column.overall.geometric_mean),
    });
    let programs = table.programs.iter().map(|row| {
        let bars = row.checked.iter().map(|checked| {
            Ok(Bar {
                slowdown: checked.slowdown,
                paper: checked.paper_slowdown,
            })
        });
        (row.program, bars.collect())
    });
    draw(&Chart {
        title: format!("What checking costs: slowdowns at size {}", table.size),
        columns: columns.collect(),
        programs: programs.collect(),
        paper: Some("the ESP-bags paper, at its own size"),
    })
}

pub(super) fn draw(chart: &Chart) -> String {
    let (legend, legend_lines) = legend(chart);
    let top = LEGEND + LEGEND_LINE * legend_lines as f64 + 5.0;
    // A breakdown has many bars.
    let thick = if chart.columns.len() <= PLAIN {
        18.0
    } else {
        12.0
    };
    let row = thick * chart.columns.len() as f64 + GAP;
    let bottom = top + row * chart.programs.len() as f64;
    let height = bottom + 40.0;
    let scale = Scale::of(chart);
    let mut body = String::new();
    for value in scale.ticks() {
        let x = scale.x(value);
        body += &format!(
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>\n\
             <text class=\"soft middle\" x=\"{x:.1}\" y=\"{:.1}\">{value}x</text>\n",
            bottom + 18.0,
        );
    }
    for (index, (program, bars)) in chart.programs.iter().enumerate() {
        let y = top + row * index as f64 + GAP / 2.0;
        let middle = y + (row - GAP) / 2.0;
        body += &format!(
            "<text class=\"name\" x=\"{:.1}\" y=\"{middle:.1}\">{}</text>\n",
            LEFT - 10.0,
            escape(program),
        );
        for (index, (column, one)) in chart.columns.iter().zip(bars).enumerate() {
            let y = y + thick * index as f64;
            body += &match one {
                Ok(one) => bar(&scale, program, &column.color, one, (y, thick)),
                Err(why) => format!(
                    "<text class=\"soft small\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
                    scale.x(1.0) + 4.0,
                    y + thick / 2.0,
                    escape(&format!("{}: {why}", column.title)),
                ),
            };
        }
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.1}\" \
         width=\"{WIDTH}\" height=\"{height:.1}\" role=\"img\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{height:.1}\"/>\n\
         <text class=\"title\" x=\"20\" y=\"32\">{title}</text>\n{legend}{body}</svg>\n",
        title = escape(&title(chart)),
    )
}

/// The title, and what the numbers of a long legend are.
fn title(chart: &Chart) -> String {
    let legend = match chart.columns.len() {
        0..=PLAIN => "",
        _ => ", in the legend their geometric means",
    };
    format!("{}{legend}", chart.title)
}

/// The class of a column. The same passes always have the same class, whatever else is measured.
fn color(column: &CheckColumn) -> String {
    match column.passes {
        Passes::NONE => "full".to_owned(),
        Passes::SEQUENTIAL => "all".to_owned(),
        Passes::UNPROVED => "optimised".to_owned(),
        Passes::ALL => "with-proofs".to_owned(),
        some => {
            let alone = some.without(Pass::Sequential).iter().next();
            alone.map_or("other", Pass::name).to_owned()
        }
    }
}

fn bar(
    scale: &Scale,
    program: &str,
    color: &str,
    measured: &Bar,
    (y, thick): (f64, f64),
) -> String {
    let slowdown = measured.slowdown;
    let (one, end) = (scale.x(1.0), scale.x(slowdown.median));
    // A bar without length would be invisible.
    let width = (end - one).abs().max(1.5);
    let middle = y + thick / 2.0;
    // The number stands right of everything drawn near it.
    let mut after = scale.x(slowdown.greatest).max(one).max(end);
    let mut mark = String::new();
    if let Some(paper) = measured.paper.map(|paper| scale.x(paper)) {
        if (0.0..60.0).contains(&(paper - after)) {
            after = paper;
        }
        mark = format!(
            "<path class=\"paper\" d=\"M{paper:.1} {:.1}l5 5l-5 5l-5 -5z\"/>\n",
            middle - 5.0
        );
    }
    let small = if thick < 15.0 { " class=\"small\"" } else { "" };
    format!(
        "<rect class=\"bar {color}\" data-program=\"{}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"2\"/>\n\
         <line class=\"spread\" x1=\"{:.1}\" y1=\"{middle:.1}\" x2=\"{:.1}\" y2=\"{middle:.1}\"/>\n\
         {mark}<text{small} x=\"{:.1}\" y=\"{middle:.1}\">{}</text>\n",
        escape(program),
        one.min(end),
        y + 1.0,
        thick - 2.0,
        scale.x(slowdown.least),
        scale.x(slowdown.greatest),
        after + 9.0,
        times(slowdown.median),
    )
}

/// The legend of colours with the geometric means, and its number of lines.
fn legend(chart: &Chart) -> (String, usize) {
    let labels = chart.columns.iter().map(|column| {
        let title = &column.title;
        let mean = column.geometric_mean.map(times);
        let label = match (mean, chart.columns.len()) {
            (None, _) => format!("{title}, no figures"),
            (Some(mean), 0..=PLAIN) => format!("{title}, geometric mean {mean}"),
            (Some(mean), _) => format!("{title} {mean}"),
        };
        (Some(&column.color), label)
    });
    let paper = chart.paper.map(|paper| (None, paper.to_owned()));
    let mut text = String::new();
    let (mut x, mut y, mut lines) = (20.0, LEGEND, 1);
    for (color, label) in labels.chain(paper) {
        // Letters are about 7 pixels wide.
        let width = 50.0 + 7.0 * label.len() as f64;
        if x > 20.0 && x + width > WIDTH {
            (x, y, lines) = (20.0, y + LEGEND_LINE, lines + 1);
        }
        text += &match color {
            Some(color) => format!(
                "<rect class=\"{color}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"14\" height=\"14\" rx=\"2\"/>\n",
                y - 7.0
            ),
            None => format!(
                "<path class=\"paper\" d=\"M{:.1} {:.1}l5 5l-5 5l-5 -5z\"/>\n",
                x + 7.0,
                y - 5.0
            ),
        };
        text += &format!(
            "<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>\n",
            x + 22.0,
            escape(&label)
        );
        x += width;
    }
    (text, lines)
}

/// A logarithmic scale that has room for 1x and every value.
struct Scale {
    least: f64,
    greatest: f64,
}

impl Scale {
    fn of(chart: &Chart) -> Scale {
        let mut scale = Scale {
            least: 0.95,
            greatest: 2.0,
        };
        let bars = chart.programs.iter().flat_map(|(_, bars)| bars);
        for bar in bars.flatten() {
            scale.least = scale.least.min(bar.slowdown.least);
            let paper = bar.paper.unwrap_or(1.0);
            let most = bar.slowdown.greatest.max(paper);
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
