//! A drawing as SVG: a file of its own, or a part of a page.
//!
//! Edges and the lines between racing nodes come first, so that boxes cover them. Text reaches the
//! file only through [`escape`].

use super::drawing::{self, Box, Drawing, LINE, PADDING, RaceLine};
use super::layers::Point;
use super::{View, words};
use crate::html::escape;
use finishline_answer::finding::Rule;
use finishline_answer::picture::{EdgeKind, Picture};
use std::collections::BTreeSet;

pub(super) const STYLE: &str = include_str!("svg.css");

/// Around everything.
const MARGIN: f64 = 20.0;
const TITLE: f64 = 26.0;
const NOTE: f64 = 18.0;
const LEGEND_ENTRY: f64 = 120.0;

/// A whole file.
pub(super) fn file(picture: &Picture, view: View) -> String {
    let drawing = drawing::draw(picture, view);
    let notes = words::notes(picture);
    let mut body = format!(
        "<text class=\"title\" x=\"0\" y=\"12\">{}</text>\n",
        escape(&words::title(picture)),
    );
    let mut top = TITLE;
    for note in &notes {
        body += &format!(
            "<text class=\"note\" x=\"0\" y=\"{}\">{}</text>\n",
            top + 10.0,
            escape(note)
        );
        top += NOTE;
    }
    let (entries, legend_width) = legend(&drawing, top + 12.0);
    body += &entries;
    top += if entries.is_empty() { 12.0 } else { 36.0 };
    body += &format!(
        "<g transform=\"translate(0 {top})\">\n{}</g>\n",
        content(&drawing)
    );
    let longest = notes
        .iter()
        .map(|note| note.chars().count())
        .max()
        .unwrap_or(0);
    let title = words::title(picture).chars().count() as f64 * 10.5;
    let width = drawing
        .size
        .x
        .max(legend_width)
        .max(longest as f64 * 6.5)
        .max(title);
    let width = width + 2.0 * MARGIN;
    let height = drawing.size.y + top + 2.0 * MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"{x} {x} {width:.0} {height:.0}\">\n<style>\n{STYLE}</style>\n{markers}\
         <rect class=\"page\" x=\"{x}\" y=\"{x}\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n",
        x = -MARGIN,
        markers = markers(),
    )
}

/// The heads of arrows. A head has the colour of its line, so there are several.
pub(super) fn markers() -> String {
    let marker = |(id, class): (&str, &str)| {
        format!(
            "<marker id=\"{id}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
             markerUnits=\"userSpaceOnUse\" markerWidth=\"9\" markerHeight=\"9\" \
             orient=\"auto\"><path class=\"{class}\" d=\"M0 0.5L8 4L0 7.5z\"/></marker>\n"
        )
    };
    let all = [
        ("arrow", "head"),
        ("arrow-isolation", "head isolation"),
        ("arrow-promise", "head promise"),
    ];
    format!("<defs>\n{}</defs>\n", all.map(marker).concat())
}

fn marker(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Continue | EdgeKind::Create | EdgeKind::Join => "arrow",
        EdgeKind::Promise => "arrow-promise",
        EdgeKind::Isolation => "arrow-isolation",
    }
}

/// Everything but title and legend.
pub(super) fn content(drawing: &Drawing) -> String {
    let lines = drawing.lines.iter().map(|(kind, path)| edge(*kind, path));
    let mut body: String = lines.collect();
    let races = drawing.races.iter().map(|line| race(line, &drawing.boxes));
    let (lines, labels): (Vec<String>, Vec<String>) = races.unzip();
    body.extend(lines);
    body.extend(drawing.boxes.iter().map(node));
    body.extend(labels);
    body
}

fn edge(kind: Option<EdgeKind>, path: &[Point]) -> String {
    let Some((start, rest)) = path.split_first() else {
        return String::new();
    };
    let mut d = format!("M{:.1} {:.1}", start.x, start.y);
    let mut from = *start;
    for to in rest {
        if (from.x - to.x).abs() < 0.5 || (from.y - to.y).abs() < 0.5 {
            d += &format!("L{:.1} {:.1}", to.x, to.y);
        } else {
            let middle = (from.y + to.y) / 2.0;
            let (x, y) = (to.x, to.y);
            d += &format!(
                "C{:.1} {middle:.1} {x:.1} {middle:.1} {x:.1} {y:.1}",
                from.x
            );
        }
        from = *to;
    }
    match kind {
        Some(kind) => format!(
            "<path class=\"edge {}\" d=\"{d}\" marker-end=\"url(#{})\"/>\n",
            kind.word(),
            marker(kind)
        ),
        None => format!("<path class=\"edge\" d=\"{d}\"/>\n"),
    }
}

fn node(one: &Box) -> String {
    let (x, y) = (
        one.centre.x - one.size.x / 2.0,
        one.centre.y - one.size.y / 2.0,
    );
    let (width, height) = (one.size.x, one.size.y);
    let races = if one.races { " races" } else { "" };
    let mut svg = format!(
        "<g class=\"node {class}{races}\" id=\"node-{id}\"><title>{full}</title>\
         <rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"6\"/>",
        class = one.class,
        id = one.node,
        full = escape_lines(&one.full),
    );
    for (at, line) in one.lines.iter().enumerate() {
        svg += &format!(
            "<text class=\"{}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            line.class,
            x + PADDING,
            y + PADDING / 2.0 + LINE * (at as f64 + 0.5),
            escape(&line.text),
        );
    }
    if let Some(count) = &one.count {
        svg += &format!(
            "<text class=\"count\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + width - PADDING,
            y + PADDING / 2.0 + LINE / 2.0,
            escape(count),
        );
    }
    svg + "</g>\n"
}

/// The line between two racing nodes, and its label.
fn race(line: &RaceLine, boxes: &[Box]) -> (String, String) {
    let (from, to) = (line.from, line.to);
    let text = words::no_path(line.rule);
    let size = Point {
        x: text.chars().count() as f64 * 7.0 + 10.0,
        y: 16.0,
    };
    let (d, at) = if line.bend == 0.0 {
        let d = format!("M{:.1} {:.1}L{:.1} {:.1}", from.x, from.y, to.x, to.y);
        (d, free_place(from, to, size, boxes))
    } else {
        let right = from.x.max(to.x) + line.bend;
        let d = format!(
            "M{:.1} {:.1}H{right:.1}V{:.1}H{:.1}",
            from.x, from.y, to.y, to.x
        );
        let (x, y) = (right + size.x / 2.0 + 4.0, (from.y + to.y) / 2.0);
        (d, Point { x, y })
    };
    let class = tone(line.rule);
    let path = format!("<path class=\"race {class}\" d=\"{d}\"/>\n");
    let label = format!(
        "<g class=\"race {class}\" data-nodes=\"{first} {second}\"><rect x=\"{x:.1}\" y=\"{y:.1}\" \
         width=\"{width:.1}\" height=\"{height:.1}\" rx=\"8\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\">{text}</text></g>\n",
        at.x,
        at.y,
        first = line.nodes[0],
        second = line.nodes[1],
        x = at.x - size.x / 2.0,
        y = at.y - size.y / 2.0,
        width = size.x,
        height = size.y,
    );
    (path, label)
}

/// A point of a line where a label of this size covers no box, as close to the middle as possible.
/// If there is none, the middle.
fn free_place(from: Point, to: Point, size: Point, boxes: &[Box]) -> Point {
    let at = |part: f64| Point {
        x: from.x + (to.x - from.x) * part,
        y: from.y + (to.y - from.y) * part,
    };
    let is_free = |point: &Point| {
        !boxes.iter().any(|one| {
            let (dx, dy) = (one.centre.x - point.x, one.centre.y - point.y);
            dx.abs() < (one.size.x + size.x) / 2.0 && dy.abs() < (one.size.y + size.y) / 2.0
        })
    };
    let parts =
        (0..20).flat_map(|step| [0.5 - 0.02 * f64::from(step), 0.5 + 0.02 * f64::from(step)]);
    parts.map(at).find(is_free).unwrap_or_else(|| at(0.5))
}

/// The class that colours a race.
pub(super) fn tone(rule: Rule) -> &'static str {
    match rule {
        Rule::Apparent => "apparent",
        _ => "real",
    }
}

/// The kinds of edges that occur, and the width of all.
fn legend(drawing: &Drawing, y: f64) -> (String, f64) {
    let kinds: BTreeSet<EdgeKind> = drawing.lines.iter().filter_map(|(kind, _)| *kind).collect();
    let mut entries = String::new();
    let mut x = 0.0;
    for kind in kinds {
        let line = [Point { x, y }, Point { x: x + 30.0, y }];
        entries += &edge(Some(kind), &line);
        let word = kind.word();
        entries += &format!(
            "<text class=\"note\" x=\"{}\" y=\"{y}\">{word}</text>\n",
            x + 38.0
        );
        x += LEGEND_ENTRY;
    }
    (entries, x)
}

/// Escapes each line. Control characters are escaped visibly, so lines are taken apart before.
fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}
