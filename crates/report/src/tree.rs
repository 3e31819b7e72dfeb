//! The tasks of a finding as a small tree, drawn as SVG for a page.
//!
//! There is one row for each task, as in a listing of folders: `main`, the common tasks, then those
//! of (1), then those of (2), each ending in its access. The last row is the join that comes too
//! late. A dashed line leads to it from the task that it waits for. A row is as wide as its text.
//! So the text keeps its size on a narrow screen, where the drawing scrolls.

use crate::html::escape;
use crate::words::task::skipped;
use crate::words::{finding as pair, task as words};
use finishline_answer::finding::Finding;
use finishline_answer::task::{Created, Step, Task, WhyParallel};

/// Pixels between rows, between levels, and before the first of each.
const ROW: usize = 24;
const LEVEL: usize = 20;
const MARGIN: usize = 14;
/// The most pixels that a character takes.
const CHARACTER: usize = 8;
/// The most steps in a row before the middle is left out, and the steps shown before and after it.
const LONGEST: usize = 5;
const SHOWN: usize = 2;
/// The most characters of a label.
const LONGEST_LABEL: usize = 44;

struct Row {
    level: usize,
    label: String,
    mark: Mark,
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Task,
    Skipped,
    Access(u32),
    Join,
}

/// The drawing. None if the tasks are unknown.
pub(crate) fn draw(finding: &Finding) -> Option<String> {
    let (first, second) = (finding.first.task.as_ref()?, finding.second.task.as_ref()?);
    let why = finding.why.as_ref()?;
    let tree = Tree::new(finding, [first, second], why);
    Some(tree.svg())
}

struct Tree {
    rows: Vec<Row>,
    /// The row of the task that the join waits for.
    waited_for: Option<usize>,
}

impl Tree {
    fn new(finding: &Finding, [first, second]: [&Task; 2], why: &WhyParallel) -> Tree {
        let mut tree = Tree {
            rows: Vec::new(),
            waited_for: None,
        };
        tree.row(0, "main".to_owned(), Mark::Task);
        let common = first.common_steps(second);
        let fork = tree.steps(0, &first.steps[..common], why);
        for (number, task, access) in [(1, first, &finding.first), (2, second, &finding.second)] {
            let level = tree.steps(fork, &task.steps[common..], why);
            let label = format!("({number}) {}", pair::access(access));
            tree.row(level + 1, label, Mark::Access(number));
        }
        let (level, waits) = match (&why.join, tree.waited_for) {
            (Some(join), Some(waited_for)) => (
                tree.rows[waited_for].level,
                format!("{} comes too late", join.construct),
            ),
            (None, Some(waited_for)) => (tree.rows[waited_for].level, "no join".to_owned()),
            (_, None) => return tree,
        };
        tree.row(level, waits, Mark::Join);
        tree
    }

    fn row(&mut self, level: usize, label: String, mark: Mark) {
        let label = match label.char_indices().nth(LONGEST_LABEL) {
            Some((end, _)) => format!("{}…", &label[..end]),
            None => label,
        };
        self.rows.push(Row { level, label, mark });
    }

    /// Adds rows for nested tasks below this level. Returns the level of the innermost.
    fn steps(&mut self, mut level: usize, steps: &[Step], why: &WhyParallel) -> usize {
        let culprit = why.task.steps.last();
        for (index, step) in steps.iter().enumerate() {
            let is_shown = index < SHOWN || index + SHOWN >= steps.len();
            if steps.len() > LONGEST && !is_shown {
                if index == SHOWN {
                    level += 1;
                    self.row(level, skipped(steps.len() - 2 * SHOWN), Mark::Skipped);
                }
                continue;
            }
            level += 1;
            if culprit.is_some_and(|culprit| culprit == step || creates_same(culprit, step)) {
                self.waited_for.get_or_insert(self.rows.len());
            }
            self.row(level, label(step), Mark::Task);
        }
        level
    }

    fn svg(&self) -> String {
        let width = (self.rows.iter())
            .map(|row| x(row.level) + 12 + CHARACTER * row.label.chars().count())
            .max()
            .unwrap_or(0);
        let height = ROW * self.rows.len();
        let mut svg = format!(
            "<svg class=\"tree\" role=\"img\" aria-label=\"the tasks of both accesses\" \
             width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n"
        );
        for (index, row) in self.rows.iter().enumerate() {
            let parent = (self.rows[..index].iter())
                .rposition(|other| other.level + 1 == row.level && other.mark != Mark::Join);
            if let (Some(parent), true) = (parent, row.mark != Mark::Join) {
                let (from, to) = (x(self.rows[parent].level), x(row.level));
                let (top, down) = (y(parent) + 5, y(index));
                svg += &format!("<path class=\"edge\" d=\"M{from} {top}V{down}H{to}\"></path>\n");
            }
        }
        let last = self.rows.len().saturating_sub(1);
        if let (Some(waited_for), Some(Mark::Join)) =
            (self.waited_for, self.rows.last().map(|row| row.mark))
        {
            let (at, left) = (
                x(self.rows[last].level),
                x(self.rows[last].level) - LEVEL / 2,
            );
            let (top, down) = (y(waited_for), y(last));
            svg += &format!("<path class=\"late\" d=\"M{at} {top}H{left}V{down}H{at}\"></path>\n");
        }
        for (index, row) in self.rows.iter().enumerate() {
            svg += &drawn(row, x(row.level), y(index));
        }
        svg + "</svg>\n"
    }
}

fn x(level: usize) -> usize {
    MARGIN + LEVEL * level
}

fn y(index: usize) -> usize {
    ROW * index + ROW / 2
}

fn drawn(row: &Row, x: usize, y: usize) -> String {
    let (class, mark) = match row.mark {
        Mark::Task => (
            "task",
            format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"4\"></circle>"),
        ),
        Mark::Skipped => ("skipped", String::new()),
        Mark::Access(_) => (
            "access",
            format!(
                "<rect x=\"{}\" y=\"{}\" width=\"8\" height=\"8\"></rect>",
                x - 4,
                y - 4
            ),
        ),
        Mark::Join => (
            "join",
            format!("<path d=\"M{} {}l8 8m0 -8l-8 8\"></path>", x - 4, y - 4),
        ),
    };
    format!(
        "<g class=\"{class}\">{mark}<text x=\"{}\" y=\"{}\">{}</text></g>\n",
        x + 10,
        y + 4,
        escape(&row.label),
    )
}

/// Whether two steps create the same task. A path may end within the tasks of a step.
fn creates_same(one: &Step, another: &Step) -> bool {
    match (&one.created, &another.created) {
        (Created::Nested(parts), Created::Nested(others)) => {
            one.place == another.place && parts.first() == others.first()
        }
        _ => false,
    }
}

/// `async@9 (i = 0)`, `for_each@17`.
fn label(step: &Step) -> String {
    match &step.created {
        Created::One(creation) => words::label(step) + &words::captures(creation, None),
        Created::Nested(_) if step.place.is_some() => words::label(step),
        Created::Nested(_) => step.operation.clone(),
    }
}
