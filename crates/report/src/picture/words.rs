//! A picture in words: the title, notes, labels of nodes.

use crate::words::{self, task as task_words};
use finishline_answer::finding::Rule;
use finishline_answer::location::counted;
use finishline_answer::picture::{Accessed, Begins, Node, NodeAccess, Picture};
use finishline_answer::task::Created;
use finishline_model::AccessKind;

/// The most accesses of a kind in a label.
const MOST_NAMES: usize = 3;

/// `race: fig2.fin 3`.
pub(super) fn title(picture: &Picture) -> String {
    let answer = &picture.answer;
    format!("{}: {}", words::verdict(answer), words::command(answer))
}

/// What a reader should know about the picture as a whole.
pub(super) fn notes(picture: &Picture) -> Vec<String> {
    let (all, drawn) = (picture.nodes_of_graph, picture.nodes.len() as u64);
    let nodes = counted(all, "node", "nodes");
    let mut notes = vec![match all == drawn {
        true => nodes,
        false => format!("{nodes} in {drawn} groups: ×n stands for n like ones"),
    }];
    if picture.left_out > 0 {
        let left_out = counted(picture.left_out, "node is", "nodes are");
        notes.push(format!(
            "{left_out} left out, because the picture would be too large"
        ));
    }
    notes.extend(words::more(&picture.answer, picture.answer.findings.len()));
    let mut findings = picture.answer.findings.iter();
    if findings.any(|finding| finding.seen.times > 1) {
        notes.push("accesses that race several times are marked once".to_owned());
    }
    let unknown = picture.races.iter().filter(|race| race.is_none()).count();
    if unknown > 0 {
        let races = counted(unknown as u64, "race has", "races have");
        notes.push(format!("{races} no nodes in the picture"));
    }
    if let Some(failure) = &picture.answer.failure {
        notes.push(format!("the run ended early: {}", words::failure(failure)));
    }
    notes
}

/// The word beside the line between two racing nodes.
pub(super) fn no_path(rule: Rule) -> &'static str {
    match rule {
        Rule::Apparent => "only isolation",
        _ => "no path",
    }
}

/// What a node is and where: `async@16 (i = 0)`, `step@17`, `end of finish@5`. Joins and tasks are
/// named after the line where they begin.
pub(super) fn heading(node: &Node) -> String {
    let at = |what: &str| match &node.place {
        Some(place) => format!("{what}@{}", place.line),
        None => what.to_owned(),
    };
    match &node.begins {
        Begins::Main => at("main"),
        Begins::Task => task(node),
        Begins::Root => "finish of main".to_owned(),
        Begins::Finish(word) => at(word),
        Begins::SyncScope => at("scope of sync"),
        Begins::FinishEnd(word, line) => format!("end of {word}@{line}"),
        Begins::EndOfMain => "end of main".to_owned(),
        Begins::EndOfSyncScope => at("implicit sync"),
        Begins::Sync => at("sync"),
        Begins::Isolated => at("isolated"),
        Begins::AfterSet => at("after set"),
        Begins::Get => at("after get"),
        Begins::AfterCreation | Begins::AfterIsolated | Begins::Other => at("step"),
    }
}

/// `main`, `async@9 (i = 0)`. Of like tasks, the values that differ are not told.
pub(super) fn task(node: &Node) -> String {
    let Some(step) = &node.task else {
        return "main".to_owned();
    };
    match &step.created {
        Created::One(creation) if node.count == 1 => {
            task_words::label(step) + &task_words::captures(creation, None)
        }
        _ => task_words::label(step),
    }
}

/// `×100`. None for a single node.
pub(super) fn count(node: &Node) -> Option<String> {
    (node.count > 1).then(|| format!("×{}", node.count))
}

/// `12 tasks in all`.
pub(super) fn folded(node: &Node) -> Option<String> {
    let tasks = counted(node.folded_tasks?, "task", "tasks");
    Some(format!("{tasks} with all in them"))
}

/// A line of a label: `writes B[0], B[1], +3`, and whether it races.
pub(super) struct AccessLine {
    pub(super) text: String,
    pub(super) races: bool,
}

/// What a node accesses: the racing accesses one by one, then the others.
pub(super) fn accesses(node: &Node) -> Vec<AccessLine> {
    let racing = node.accesses.iter().filter(|access| access.races);
    let mut lines: Vec<AccessLine> = racing
        .map(|access| AccessLine {
            text: format!(
                "{}s {}@{}",
                access.kind.word(),
                accessed(access),
                access.line
            ),
            races: true,
        })
        .collect();
    for kind in [AccessKind::Write, AccessKind::Read] {
        let names: Vec<String> = (node.accesses.iter())
            .filter(|access| access.kind == kind && !access.races)
            .map(accessed)
            .collect();
        if names.is_empty() {
            continue;
        }
        let mut shown = names[..names.len().min(MOST_NAMES)].join(", ");
        if names.len() > MOST_NAMES {
            shown += &format!(", +{}", names.len() - MOST_NAMES);
        }
        let text = format!("{}s {shown}", kind.word());
        lines.push(AccessLine { text, races: false });
    }
    let left_out = node.access_count.saturating_sub(node.accesses.len() as u64);
    if left_out > 0 {
        let text = format!("{} more", counted(left_out, "access", "accesses"));
        lines.push(AccessLine { text, races: false });
    }
    lines
}

/// `B[0]`, or `B[i]` for like nodes.
pub(super) fn accessed(access: &NodeAccess) -> String {
    match &access.location {
        Accessed::One(location) => location.to_string(),
        Accessed::Each(place) => place.clone(),
    }
}

/// Everything about a node, one fact a line.
pub(super) fn full(node: &Node) -> String {
    let mut lines = vec![heading(node)];
    if let Some(place) = &node.place {
        let (line, column, text) = (place.line, place.column, &place.text);
        lines.push(
            format!("begins at {line}:{column} {text}")
                .trim_end()
                .to_owned(),
        );
    }
    lines.push(format!("task {}", task(node)));
    lines.extend(count(node).map(|count| format!("{count} like nodes")));
    lines.extend(folded(node));
    for access in &node.accesses {
        let races = if access.races { ", races" } else { "" };
        let (kind, what, line) = (access.kind.word(), accessed(access), access.line);
        lines.push(format!("{kind}s {what}, line {line}{races}"));
    }
    let left_out = node.access_count.saturating_sub(node.accesses.len() as u64);
    if left_out > 0 {
        lines.push(format!("{} more", counted(left_out, "access", "accesses")));
    }
    lines.join("\n")
}
