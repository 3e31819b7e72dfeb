//! The layout of a tree: one row for each box, indented by its depth, as in a listing of folders.

use super::drawing::{Box, Drawing};
use super::layers::Point;
use finishline_answer::picture::Picture;

/// Pixels that a level is further to the right, and between rows.
const LEVEL: f64 = 30.0;
const GAP: f64 = 8.0;

/// Places the boxes. `box_of` has the box of each node of the picture.
pub(super) fn place(picture: &Picture, mut boxes: Vec<Box>, box_of: &[Option<usize>]) -> Drawing {
    let parent = |one: &Box| box_of[picture.nodes[one.node].inside?];
    let parents: Vec<Option<usize>> = boxes.iter().map(parent).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); boxes.len()];
    let mut to_place = Vec::new();
    for (at, parent) in parents.iter().enumerate() {
        match parent {
            Some(parent) => children[*parent].push(at),
            None => to_place.push((at, 0)),
        }
    }
    to_place.reverse();
    let (mut top, mut right) = (0.0, 0.0);
    while let Some((at, level)) = to_place.pop() {
        let one = &mut boxes[at];
        let left = f64::from(level) * LEVEL;
        one.centre = Point {
            x: left + one.size.x / 2.0,
            y: top + one.size.y / 2.0,
        };
        top += one.size.y + GAP;
        right = f64::max(right, left + one.size.x);
        to_place.extend(children[at].iter().rev().map(|child| (*child, level + 1)));
    }
    let line = |(at, parent): (usize, &Option<usize>)| {
        let (child, parent) = (&boxes[at], &boxes[(*parent)?]);
        let x = parent.centre.x - parent.size.x / 2.0 + LEVEL / 2.0;
        let y = child.centre.y;
        let from = parent.centre.y + parent.size.y / 2.0;
        let to = child.centre.x - child.size.x / 2.0;
        let points = [(x, from), (x, y), (to, y)].map(|(x, y)| Point { x, y });
        Some((None, points.to_vec()))
    };
    let lines = parents.iter().enumerate().filter_map(line).collect();
    Drawing {
        boxes,
        lines,
        races: Vec::new(),
        size: Point {
            x: right,
            y: top - GAP,
        },
    }
}
