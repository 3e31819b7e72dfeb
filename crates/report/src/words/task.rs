//! Tasks and stacks in words.

use super::position;
use finishline_answer::location::{counted, shortened};
use finishline_answer::task::{Created, Creation, Frame, Origin, Part, Stack, Step, Task};
use std::collections::BTreeSet;

/// The longest task path before its middle is left out. A deep recursion has thousands of steps.
const LONGEST_PATH: usize = 9;
const PATH_HEAD: usize = 2;
const PATH_TAIL: usize = 6;

/// The most halves listed for one step before the middle is left out.
const MOST_HALVES: usize = 8;

/// One step of a task path as shown, or the number of steps left out.
pub(crate) enum Shown {
    /// `depth` counts from 0 below `main`.
    Step {
        depth: usize,
        text: String,
    },
    Skipped(usize),
}

/// The steps from `main` to a task. Long paths are shortened in the middle.
pub(crate) fn steps(task: &Task) -> Vec<Shown> {
    let steps = &task.steps;
    let shown = |depth: usize| Shown::Step {
        depth,
        text: step(&steps[depth], steps.get(depth + 1)),
    };
    if steps.len() <= LONGEST_PATH {
        return (0..steps.len()).map(shown).collect();
    }
    let tail = steps.len() - PATH_TAIL;
    let mut path: Vec<Shown> = (0..PATH_HEAD).map(shown).collect();
    path.push(Shown::Skipped(tail - PATH_HEAD));
    path.extend((tail..steps.len()).map(shown));
    path
}

/// `main › async@14 › async@14 (i = 0)`.
pub(crate) fn task(task: &Task) -> String {
    let mut text = "main".to_owned();
    for step in steps(task) {
        text += " › ";
        text += &match step {
            Shown::Step { text, .. } => text,
            Shown::Skipped(steps) => skipped(steps),
        };
    }
    text
}

/// The two tasks of a pair. If they read the same, their numbers tell them apart.
pub(crate) fn tasks(tasks: [&Task; 2]) -> [String; 2] {
    let texts = tasks.map(task);
    if texts[0] == texts[1] && tasks[0].id != tasks[1].id {
        tasks.map(|one| format!("{} (task {})", task(one), one.id))
    } else {
        texts
    }
}

pub(crate) fn skipped(steps: usize) -> String {
    format!("… {steps} more …")
}

/// `async@9 (i = 0)`, or `for_each at src/hist.rs:17:14, halves left, right`.
fn step(step: &Step, next: Option<&Step>) -> String {
    match &step.created {
        Created::One(creation) => label(step) + &captures(creation, next),
        Created::Nested(created) => {
            let at = step.place.as_ref();
            let at = at.map(|place| format!(" at {}", position(place)));
            let (at, parts) = (at.unwrap_or_default(), parts(created));
            format!("{}{at}{parts}", step.operation)
        }
    }
}

/// `async@9`, with its index if only the index tells it apart.
pub(crate) fn label(step: &Step) -> String {
    let (operation, line) = (&step.operation, step.line());
    match &step.created {
        Created::One(creation) if creation.told_by_index => {
            format!("{operation}@{line} #{}", creation.index)
        }
        _ => format!("{operation}@{line}"),
    }
}

/// ` (i = 0, j = 1)`. Empty if there are none or the next step of the path repeats them all.
pub(crate) fn captures(creation: &Creation, next: Option<&Step>) -> String {
    let repeated = |capture| match next.map(|next| &next.created) {
        Some(Created::One(next)) => next.captures.contains(capture),
        _ => false,
    };
    if creation.captures.iter().all(repeated) {
        return String::new();
    }
    let told: Vec<String> = (creation.captures.iter())
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    format!(" ({})", told.join(", "))
}

fn parts(parts: &[Part]) -> String {
    let halves: Vec<&str> = parts.iter().filter_map(|part| part.kind.half()).collect();
    match (halves.as_slice(), parts.len()) {
        ([], 0 | 1) => String::new(),
        ([], deep) => format!(", {deep} deep"),
        ([half], _) => format!(", {half} half"),
        (halves, _) if halves.len() <= MOST_HALVES => format!(", halves {}", halves.join(", ")),
        (halves, _) => {
            let shown = MOST_HALVES / 2;
            let (head, tail) = (&halves[..shown], &halves[halves.len() - shown..]);
            let more = skipped(halves.len() - MOST_HALVES);
            format!(", halves {}, {more}, {}", head.join(", "), tail.join(", "))
        }
    }
}

/// `src/main.rs:9:5`, or the function if debug information has no line.
pub(crate) fn site(stack: &Stack) -> String {
    match (stack.place(), stack.frame()) {
        (Some(place), _) => position(place),
        (None, Some(frame)) => shortened(&frame.function),
        (None, None) => "an unknown place".to_owned(),
    }
}

/// `hist::fill at src/hist.rs:17:5`.
pub(crate) fn frame(frame: &Frame) -> String {
    let function = shortened(&frame.function);
    match &frame.place {
        Some(place) => format!("{function} at {}", position(place)),
        None => function,
    }
}

/// The frames of a stack that a user needs: those of the user's code and of other packages, and the
/// innermost. Frames of rayon, std and the system in between become one line.
pub(crate) fn stack(stack: &Stack) -> Vec<String> {
    let folds = |index: usize| {
        let origin = &stack.frames[index].origin;
        index > 0 && matches!(origin, Origin::Rayon | Origin::Std | Origin::System)
    };
    let mut lines = Vec::new();
    let mut at = 0;
    while at < stack.frames.len() {
        let rest = at..stack.frames.len();
        let run = rest.take_while(|index| folds(*index)).count();
        if run == 0 {
            lines.push(frame(&stack.frames[at]));
            at += 1;
        } else {
            let frames = &stack.frames[at..at + run];
            let owners: BTreeSet<&str> = frames.iter().map(|frame| frame.origin.word()).collect();
            let owners: Vec<&str> = owners.into_iter().collect();
            let frames = counted(run as u64, "frame", "frames");
            lines.push(format!("… {frames} of {}", owners.join(", ")));
            at += run;
        }
    }
    lines
}
