//! Boxes and lines: what of a picture is drawn, how large each box is, and where it goes.

use super::layers::{self, Line, Point};
use super::{View, outline, words};
use crate::words::printable;
use finishline_answer::finding::Rule;
use finishline_answer::picture::{Begins, EdgeKind, Kind, Node, Picture};

/// Pixels of a character and of a line of text, and around them.
const CHARACTER: f64 = 7.3;
pub(super) const LINE: f64 = 16.0;
pub(super) const PADDING: f64 = 9.0;
/// The most characters of a line.
const LONGEST: usize = 38;

/// A picture with every place known.
pub(super) struct Drawing {
    pub(super) boxes: Vec<Box>,
    /// The paths of edges. In a tree they have no kind.
    pub(super) lines: Vec<(Option<EdgeKind>, Vec<Point>)>,
    pub(super) races: Vec<RaceLine>,
    pub(super) size: Point,
}

/// A node of the picture.
pub(super) struct Box {
    /// Its index in the picture.
    pub(super) node: usize,
    pub(super) class: &'static str,
    pub(super) races: bool,
    pub(super) lines: Vec<Text>,
    /// `×100`.
    pub(super) count: Option<String>,
    /// Everything about the node.
    pub(super) full: String,
    pub(super) centre: Point,
    pub(super) size: Point,
}

pub(super) struct Text {
    pub(super) class: &'static str,
    pub(super) text: String,
}

/// The path that is missing between two racing nodes.
pub(super) struct RaceLine {
    pub(super) rule: Rule,
    pub(super) nodes: [usize; 2],
    pub(super) from: Point,
    pub(super) to: Point,
    /// How far to the right it bends.
    pub(super) bend: f64,
}

pub(super) fn draw(picture: &Picture, view: View) -> Drawing {
    let races_at = |node: usize| {
        picture
            .races
            .iter()
            .flatten()
            .flatten()
            .any(|at| *at == node)
    };
    let drawn = |(index, node): &(usize, &Node)| match view {
        View::Graph => true,
        View::Tree => races_at(*index) || says_something(node),
    };
    let nodes = picture.nodes.iter().enumerate().filter(drawn);
    let boxes: Vec<Box> = nodes
        .map(|(index, node)| make_box(index, node, races_at(index)))
        .collect();
    // The box of each node.
    let mut box_of = vec![None; picture.nodes.len()];
    for (at, drawn) in boxes.iter().enumerate() {
        box_of[drawn.node] = Some(at);
    }
    let mut drawing = match view {
        View::Graph => graph(picture, boxes),
        View::Tree => outline::place(picture, boxes, &box_of),
    };
    drawing.races = race_lines(picture, view, &drawing, &box_of);
    // A line that bends is right of all boxes, and so is the word beside it.
    let bends = drawing.races.iter().map(|race| race.from.x + race.bend);
    let room = match view {
        View::Graph => 0.0,
        View::Tree => 90.0,
    };
    drawing.size.x = drawing.size.x.max(bends.fold(0.0, f64::max) + room);
    drawing
}

/// A line for each two nodes that race, however many races they have.
fn race_lines(
    picture: &Picture,
    view: View,
    drawing: &Drawing,
    box_of: &[Option<usize>],
) -> Vec<RaceLine> {
    let mut lines: Vec<RaceLine> = Vec::new();
    for (nodes, finding) in picture.races.iter().zip(&picture.answer.findings) {
        let Some(nodes) = nodes else { continue };
        let is_same = |line: &RaceLine| line.nodes == *nodes && line.rule == finding.rule;
        let [Some(first), Some(second)] = nodes.map(|node| box_of[node]) else {
            continue;
        };
        if lines.iter().any(is_same) {
            continue;
        }
        let (first, second) = (&drawing.boxes[first], &drawing.boxes[second]);
        let (from, to) = match view {
            View::Graph => borders(first, second),
            View::Tree => (right_of(first), right_of(second)),
        };
        let bend = match view {
            View::Graph => 0.0,
            // Each line further out than the one before.
            View::Tree => drawing.size.x - from.x.max(to.x) + 12.0 + 8.0 * lines.len() as f64,
        };
        lines.push(RaceLine {
            rule: finding.rule,
            nodes: *nodes,
            from,
            to,
            bend,
        });
    }
    lines
}

fn right_of(one: &Box) -> Point {
    Point {
        x: one.centre.x + one.size.x / 2.0,
        y: one.centre.y,
    }
}

/// Whether a node is worth a row of the tree.
fn says_something(node: &Node) -> bool {
    let opens = matches!(
        node.begins,
        Begins::Main | Begins::Task | Begins::Root | Begins::Finish(_) | Begins::SyncScope
    );
    opens || !node.accesses.is_empty() || node.kind == Kind::Isolated
}

fn make_box(index: usize, node: &Node, races: bool) -> Box {
    let accesses = words::accesses(node);
    let mut lines = vec![Text {
        class: "heading",
        text: words::heading(node),
    }];
    // The nodes of a task are below its first one, so only those with accesses name it again.
    if !matches!(node.begins, Begins::Task | Begins::Main) && !accesses.is_empty() {
        lines.push(Text {
            class: "soft",
            text: words::task(node),
        });
    }
    lines.extend(words::folded(node).map(|text| Text {
        class: "soft",
        text,
    }));
    lines.extend(accesses.into_iter().map(|access| Text {
        class: if access.races { "racing" } else { "access" },
        text: access.text,
    }));
    for line in &mut lines {
        line.text = shortened(&printable(&line.text));
    }
    let count = words::count(node);
    let longest = lines.iter().map(|line| line.text.chars().count()).max();
    let badge = count.as_ref().map_or(0, |count| count.chars().count() + 2);
    let heading = lines[0].text.chars().count() + badge;
    let characters = longest.unwrap_or(0).max(heading) as f64;
    Box {
        node: index,
        class: class(node),
        races,
        size: Point {
            x: characters * CHARACTER + 2.0 * PADDING,
            y: lines.len() as f64 * LINE + PADDING,
        },
        lines,
        count,
        full: words::full(node),
        centre: Point::default(),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The class that colours a box.
fn class(node: &Node) -> &'static str {
    match node.begins {
        _ if node.folded_tasks.is_some() => "folded",
        Begins::Main | Begins::Task => "task",
        _ if node.kind == Kind::Isolated => "isolated",
        Begins::FinishEnd(..) | Begins::EndOfMain | Begins::EndOfSyncScope | Begins::Sync => "wait",
        Begins::Get => "wait",
        _ => "step",
    }
}

fn graph(picture: &Picture, mut boxes: Vec<Box>) -> Drawing {
    let sizes: Vec<Point> = boxes.iter().map(|one| one.size).collect();
    let edges = picture.edges.iter();
    let lines: Vec<Line> = edges
        .map(|edge| Line {
            from: edge.from,
            to: edge.to,
            // A task should go straight down. What only orders should bend around it.
            weight: match edge.kind {
                EdgeKind::Continue => 4.0,
                EdgeKind::Create | EdgeKind::Join => 1.0,
                EdgeKind::Promise | EdgeKind::Isolation => 0.3,
            },
        })
        .collect();
    let layout = layers::layout(&sizes, &lines);
    for (one, centre) in boxes.iter_mut().zip(layout.centres) {
        one.centre = centre;
    }
    let kinds = picture.edges.iter().map(|edge| Some(edge.kind));
    Drawing {
        boxes,
        lines: kinds.zip(layout.paths).collect(),
        races: Vec::new(),
        size: layout.size,
    }
}

/// Where the straight line between the centres of two boxes leaves them.
fn borders(first: &Box, second: &Box) -> (Point, Point) {
    let leave = |from: &Box, to: &Box| {
        let (dx, dy) = (to.centre.x - from.centre.x, to.centre.y - from.centre.y);
        let across = from.size.x / 2.0 / dx.abs();
        let down = from.size.y / 2.0 / dy.abs();
        let part = across.min(down).min(0.5);
        Point {
            x: from.centre.x + dx * part,
            y: from.centre.y + dy * part,
        }
    };
    (leave(first, second), leave(second, first))
}
