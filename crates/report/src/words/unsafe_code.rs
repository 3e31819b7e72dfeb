//! The `unsafe` code of the user's crates, and whether parallel tasks were seen in it.

use super::{count, listed, position};
use finishline_answer::answer::{Answer, Suite};
use finishline_answer::unsafe_code::{UnsafeCode, UnsafeKind};

/// What `reached` means, for a page that has the list.
pub(crate) const MEANING: &str = "Reached means that a parallel task was seen in it. A task may \
     have been in the rest too: of accesses that repeat what the same part of a task did before, \
     only the first is remembered.";

/// Each kind's words.
const KINDS: [(&str, [&str; 2]); 3] = [
    (UnsafeKind::WORDS[0], ["block", "blocks"]),
    (UnsafeKind::WORDS[1], ["function", "functions"]),
    (UnsafeKind::WORDS[2], ["impl", "impls"]),
];

/// How much of a process's unsafe code parallel tasks reached, and which code they were not seen
/// in. None if it has none, or it is not known, or nothing was parallel.
pub(crate) fn of_process(answer: &Answer) -> Option<String> {
    let code = answer.process()?.unsafe_code.as_ref()?;
    told(code.iter()).filter(|_| !answer.is_idle())
}

/// The same of all processes.
pub(crate) fn of_suite(suite: &Suite) -> Option<String> {
    let code = suite.unsafe_code.as_ref()?;
    told(code.iter().map(|surveyed| &surveyed.code))
        .filter(|_| !suite.answers.iter().all(Answer::is_idle))
}

fn told<'a>(code: impl Iterator<Item = &'a UnsafeCode> + Clone) -> Option<String> {
    let parts = KINDS.iter().filter_map(|(word, [one, many])| {
        let of_kind = code.clone().filter(|it| it.kind.word() == *word);
        let (all, reached) = (
            of_kind.clone().count(),
            of_kind.filter(|it| it.reached).count(),
        );
        (all > 0).then(|| format!("{reached} of {}", count(all as u64, one, many)))
    });
    let parts = listed(parts.collect())?;
    let left = code.filter(|it| !it.reached).map(named).collect();
    Some(match listed(left) {
        Some(left) => format!("parallel tasks reached {parts}; not seen in: {left}"),
        None => format!("parallel tasks reached {parts}"),
    })
}

/// `fn put at src/main.rs:7:5`. Blocks go by their place alone.
fn named(code: &UnsafeCode) -> String {
    let at = position(&code.place);
    match &code.kind {
        UnsafeKind::Block => at,
        _ => format!("{} at {at}", what(code)),
    }
}

/// What the code is: `block`, `fn put`, `impl Sync for Output`.
pub(crate) fn what(code: &UnsafeCode) -> String {
    match &code.kind {
        UnsafeKind::Block => "block".to_owned(),
        UnsafeKind::Function(name) => format!("fn {name}"),
        UnsafeKind::Implementation(name) => format!("impl {name}"),
    }
}
