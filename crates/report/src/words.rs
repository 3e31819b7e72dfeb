//! The phrases that more than one format prints, so that they never drift apart.
//!
//! Everything returned here may contain the user's text as it is: escaping is the format's duty,
//! with [`printable`] for what a person looks at. Sentences about verdicts and guarantees are not
//! written here but in `finishline_answer::verdict`.

use finishline_answer::shell_word;
use finishline_answer::summary::{
    AccessSummary, Creation, Failure, Names, Place, RaceSummary, Summary, TaskPath,
};
use finishline_answer::verdict::Verdict;
use finishline_model::Statistics;
use finishline_model::event::AccessKind;

/// A task path longer than this is shortened in the middle: a deep recursion has thousands.
pub(crate) const LONGEST_PATH: usize = 9;
pub(crate) const PATH_HEAD: usize = 2;
pub(crate) const PATH_TAIL: usize = 6;

/// `race` or `apparent race`.
pub(crate) fn race_kind(race: &RaceSummary) -> &'static str {
    if race.apparent {
        "apparent race"
    } else {
        "race"
    }
}

/// `write and write to B[0] are not ordered`.
pub(crate) fn race_message(race: &RaceSummary) -> String {
    let conflict = conflict(race.first.kind, race.second.kind, &race.location);
    let relation = if race.apparent {
        "are ordered only by the isolated blocks of this run"
    } else {
        "are not ordered"
    };
    format!("{conflict} {relation}")
}

/// `write and write to B[0]`.
pub(crate) fn conflict(first: AccessKind, second: AccessKind, location: &str) -> String {
    let preposition = match (first, second) {
        (AccessKind::Write, AccessKind::Write) => "to",
        _ => "of",
    };
    format!(
        "{} and {} {preposition} {location}",
        first.word(),
        second.word()
    )
}

pub(crate) const APPARENT_REMARK: &str = "only the order in which the isolated blocks ran \
     separates (1) and (2); another order might exclude this race or show it";

pub(crate) const MAY_FOLLOW_REMARK: &str =
    "not the first race of the run: it may be a consequence of an earlier one";

/// `write B[i] += i (isolated)`.
pub(crate) fn access(access: &AccessSummary) -> String {
    access_at(access.kind, &access.place, access.isolated)
}

/// The same, by its parts.
pub(crate) fn access_at(kind: AccessKind, place: &Place, isolated: bool) -> String {
    let isolated = if isolated { " (isolated)" } else { "" };
    format!("{} {}{isolated}", kind.word(), place.text)
}

/// `fig2.fin:10:17`.
pub(crate) fn position(place: &Place) -> String {
    format!("{}:{}:{}", place.file, place.line, place.column)
}

/// `10:17`, with the file only if it is another one.
pub(crate) fn position_in(place: &Place, file: &str) -> String {
    if place.file == file {
        format!("{}:{}", place.line, place.column)
    } else {
        position(place)
    }
}

/// Which task was spawned too freely, and which join comes too late.
pub(crate) fn why(race: &RaceSummary) -> String {
    let file = &race.first.place.file;
    let spawned = position_in(&race.why.spawned, file);
    let task = culprit(race);
    let Some(join) = &race.why.join else {
        return format!(
            "{task} was spawned at {spawned}; the program failed before any join waited for it"
        );
    };
    let article = if join.what.starts_with("the ") {
        ""
    } else {
        "the "
    };
    // `the end of finish@7` already says where; a bare `sync` does not.
    let at = if join.what.contains('@') {
        String::new()
    } else {
        format!(" at {}", position_in(&join.place, file))
    };
    format!(
        "{task} was spawned at {spawned}; the first join that waits for it is {article}{}{at}, after (2)",
        join.what
    )
}

/// The task that runs beside the second access. Its captures are told only where its label alone
/// would be ambiguous: when another creation on either access's path has the same one.
fn culprit(race: &RaceSummary) -> String {
    let Some(task) = race.why.task.creations.last() else {
        return "main".to_string();
    };
    let label = label(task);
    let paths = race
        .first
        .task
        .creations
        .iter()
        .chain(&race.second.task.creations);
    let namesakes = paths.filter(|other| self::label(other) == label).count();
    if namesakes > 1 {
        label + &captures(task, None)
    } else {
        label
    }
}

/// What was allocated where, or that it is global.
pub(crate) fn origin(race: &RaceSummary) -> String {
    match &race.allocated {
        Some(place) => {
            format!(
                "{} was allocated at {}",
                object(&race.location),
                position(place)
            )
        }
        None => format!("{} is a global variable", race.location),
    }
}

/// The object of a location: `B` of `B[3]`, `p` of `p.x`.
pub(crate) fn object(location: &str) -> &str {
    let last_step = if location.ends_with(']') { '[' } else { '.' };
    match location.rfind(last_step) {
        Some(end) if end > 0 => &location[..end],
        _ => location,
    }
}

/// `also at B[1], B[2] (3 locations, 5 times)`; none for a pair seen once.
pub(crate) fn elsewhere(race: &RaceSummary, longest: usize) -> Option<String> {
    let times = count(race.occurrences, "time", "times");
    if race.locations.count > 1 {
        let others = Names {
            shown: race
                .locations
                .shown
                .iter()
                .filter(|n| **n != race.location)
                .cloned()
                .collect(),
            count: race.locations.count - 1,
        };
        let locations = count(race.locations.count, "location", "locations");
        Some(format!(
            "also at {} ({locations}, {times})",
            names(&others, longest)
        ))
    } else if race.occurrences > 1 {
        Some(format!("seen {times}"))
    } else {
        None
    }
}

/// `B[0], B[1], … and 7 more`: at most `longest` of them.
pub(crate) fn names(names: &Names, longest: usize) -> String {
    let listed = names.shown.len().min(longest);
    let mut text = names.shown[..listed].join(", ");
    let more = names.count.saturating_sub(listed as u64);
    if more > 0 {
        text += if listed > 0 { ", … and " } else { "" };
        text += &format!("{more} more");
    }
    text
}

/// `and 3 more distinct pairs`.
pub(crate) fn more_races(summary: &Summary) -> Option<String> {
    let wanted = summary
        .distinct_races
        .saturating_sub(summary.suppressed_races());
    let more = wanted.saturating_sub(summary.races.len());
    let pairs = || count(more as u64, "more distinct pair", "more distinct pairs");
    (more > 0).then(|| format!("and {}", pairs()))
}

/// Races were found, and the user wants to hear of none.
pub(crate) fn all_suppressed(summary: &Summary) -> bool {
    let suppressed = summary.suppressed_races();
    suppressed > 0 && suppressed >= summary.distinct_races
}

/// How many races were left out at the user's wish; none if there were none.
pub(crate) fn suppressed(summary: &Summary) -> Option<String> {
    let suppressed = summary.suppressed.as_ref()?;
    let (file, count) = (&suppressed.file, suppressed.count);
    match (all_suppressed(summary), count) {
        (_, 0) => None,
        (true, 1) => Some(format!("the only distinct race is suppressed by {file}")),
        (true, _) => Some(format!(
            "all {count} distinct races are suppressed by {file}"
        )),
        (false, 1) => Some(format!("1 more distinct race is suppressed by {file}")),
        (false, _) => Some(format!(
            "{count} more distinct races are suppressed by {file}"
        )),
    }
}

/// What the detector's answer is worth. Its sentence is about a whole run: of a program that
/// failed only a part was seen, and an unknown answer guarantees nothing.
pub(crate) fn guarantee(summary: &Summary) -> String {
    let guarantee = summary.detector.guarantee();
    if summary.verdict == Verdict::Unknown {
        "none".to_string()
    } else if summary.failure.is_some() {
        format!("up to the failure, {guarantee}")
    } else {
        guarantee.to_string()
    }
}

/// `index 5 is out of bounds (out-of-bounds)`.
pub(crate) fn failure(failure: &Failure) -> String {
    format!("{} ({})", failure.message, failure.kind)
}

pub(crate) fn statistics(statistics: &Statistics) -> String {
    [
        count(statistics.tasks, "task", "tasks"),
        count(statistics.finishes, "finish", "finishes"),
        count(
            statistics.isolated_blocks,
            "isolated block",
            "isolated blocks",
        ),
        count(statistics.accesses, "access", "accesses"),
        count(statistics.locations, "location", "locations"),
    ]
    .join(", ")
}

pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// The program and its arguments as one would type them in a shell.
pub(crate) fn command(summary: &Summary) -> String {
    let words = std::iter::once(&summary.program).chain(&summary.arguments);
    words
        .map(|word| shell_word(word))
        .collect::<Vec<_>>()
        .join(" ")
}

/// One step of a task path, or how many were left out.
pub(crate) enum Step {
    /// `async@9` and ` (i = 0)`; `depth` counts from 0 below `main`.
    Creation {
        depth: usize,
        label: String,
        captures: String,
    },
    Skipped(usize),
}

/// The steps from `main` to a task, long paths shortened in the middle.
pub(crate) fn steps(path: &TaskPath) -> Vec<Step> {
    let creations = &path.creations;
    let step = |depth: usize| Step::Creation {
        depth,
        label: label(&creations[depth]),
        captures: captures(&creations[depth], creations.get(depth + 1)),
    };
    if creations.len() <= LONGEST_PATH {
        return (0..creations.len()).map(step).collect();
    }
    let tail = creations.len() - PATH_TAIL;
    let mut steps: Vec<Step> = (0..PATH_HEAD).map(step).collect();
    steps.push(Step::Skipped(tail - PATH_HEAD));
    steps.extend((tail..creations.len()).map(step));
    steps
}

/// `main › async@14 › async@14 (i = 0)`.
pub(crate) fn task(path: &TaskPath) -> String {
    let mut text = "main".to_string();
    for step in steps(path) {
        text += " › ";
        match step {
            Step::Creation {
                label, captures, ..
            } => text += &(label + &captures),
            Step::Skipped(steps) => text += &skipped(steps),
        }
    }
    text
}

pub(crate) fn skipped(steps: usize) -> String {
    format!("… {steps} more …")
}

fn label(creation: &Creation) -> String {
    let Creation {
        construct,
        line,
        index,
        ..
    } = creation;
    if creation.told_by_index {
        format!("{construct}@{line} #{index}")
    } else {
        format!("{construct}@{line}")
    }
}

/// ` (i = 0, j = 1)`; empty if the next step of the path repeats them all, or there are none.
fn captures(creation: &Creation, next: Option<&Creation>) -> String {
    let told = &creation.captures;
    let repeated = |capture| next.is_some_and(|next| next.captures.contains(capture));
    if told.iter().all(repeated) {
        return String::new();
    }
    let told: Vec<String> = told
        .iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    format!(" ({})", told.join(", "))
}

/// The text with everything that does not show as itself escaped: control characters, which could
/// drive a terminal, and invisible or direction-changing ones, which could make a report look like
/// another.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '\'' | '"' => shown.push(c),
            _ => shown.extend(c.escape_debug()),
        }
    }
    shown
}
