//! The phrases that more than one format prints, so that they never differ.
//!
//! This file has phrases about whole answers, [`finding`] about pairs of accesses, [`task`] about
//! tasks and stacks, [`unsafe_code`] about where tasks were, [`deadlock`] about tasks that wait,
//! [`proof`] about proofs. All results may contain unescaped text of the user. The format must
//! escape it, with [`printable`] for text that a person reads. The sentences about verdicts and
//! guarantees are in `finishline_answer::verdict`.

pub(crate) mod deadlock;
pub(crate) mod finding;
pub(crate) mod proof;
pub(crate) mod task;
pub(crate) mod unsafe_code;

use finishline_answer::answer::{
    About, Answer, Check, Determinacy, Differing, Exploration, Failure, OrderedBlock, StateOfOrder,
    Suite, WhyNotRun,
};
use finishline_answer::finding::{Names, Rule};
pub(crate) use finishline_answer::location::counted as count;
use finishline_answer::place::Place;
use finishline_answer::process::{Limit, OrdersRun, Process, Started, Stopped, UnseenAtomic};
use finishline_answer::verdict::{
    self, EXPLORATION_GUARANTEE, Extent, ORDERS_RUN_GUARANTEE, Verdict,
};
use finishline_answer::{location, shell_word};
use finishline_model::kinds::WaitKind;

/// The most tests that an interrupt has left out and that are listed. The rest is counted.
const MOST_NOT_RUN: usize = 20;
/// The most operations or threads that are listed. The rest is counted.
const MOST_LISTED: usize = 8;

/// `fig2.fin:10:17`.
pub(crate) fn position(place: &Place) -> String {
    format!("{}:{}:{}", place.file, place.line, place.column)
}

/// `10:17`, with the file only if it differs from `file`.
pub(crate) fn position_in(place: &Place, file: &str) -> String {
    if place.file == file {
        format!("{}:{}", place.line, place.column)
    } else {
        position(place)
    }
}

/// `B[0], B[1], … and 7 more`, with at most `longest` names.
pub(crate) fn names(names: &Names, longest: usize) -> String {
    let shown: Vec<String> = (names.shown.iter().take(longest))
        .map(ToString::to_string)
        .collect();
    let mut text = shown.join(", ");
    let more = names.count.saturating_sub(shown.len() as u64);
    if more > 0 {
        text += if shown.is_empty() { "" } else { ", … and " };
        text += &format!("{more} more");
    }
    text
}

/// `and 3 more distinct pairs`, for pairs that are neither shown nor suppressed nor known.
pub(crate) fn more(answer: &Answer, shown: usize) -> Option<String> {
    let told = answer.suppressed_count() + answer.known_count() + shown as u64;
    let more = answer.distinct.saturating_sub(told);
    let pairs = || count(more, "more distinct pair", "more distinct pairs");
    (more > 0).then(|| format!("and {}", pairs()))
}

/// The number of pairs that the user suppressed. None if there were none.
pub(crate) fn suppressed(answer: &Answer) -> Option<String> {
    let file = &answer.suppressed.as_ref()?.file;
    let number = answer.suppressed_count();
    if number == 0 {
        return None;
    }
    if answer.process().is_some() {
        let pairs = count(number, "pair is", "pairs are");
        return Some(format!("{pairs} suppressed by {file}"));
    }
    Some(match (answer.all_suppressed(), number) {
        (true, 1) => format!("the only distinct race is suppressed by {file}"),
        (true, _) => format!("all {number} distinct races are suppressed by {file}"),
        (false, 1) => format!("1 more distinct race is suppressed by {file}"),
        (false, _) => format!("{number} more distinct races are suppressed by {file}"),
    })
}

/// The number of pairs that are known. None without a baseline, and if there were none.
pub(crate) fn known(answer: &Answer) -> Option<String> {
    let file = &answer.process()?.known.as_ref()?.file;
    let number = answer.known_count();
    let pairs = || count(number, "pair is", "pairs are");
    (number > 0).then(|| format!("{} known, by {file}", pairs()))
}

/// `proved`, or `proved for n from -4 to 4`.
pub(crate) fn verdict(answer: &Answer) -> String {
    match stated_range(answer) {
        Some(range) => format!("{} {range}", answer.verdict),
        None => answer.verdict.to_string(),
    }
}

/// The range that belongs to the verdict. A race exists for some input, so only `proved` has a
/// range.
pub(crate) fn stated_range(answer: &Answer) -> Option<String> {
    let range = proof::range(answer.proof()?);
    range.filter(|_| answer.verdict == Verdict::Proved)
}

/// The meaning of the verdict.
pub(crate) fn meaning(answer: &Answer) -> &'static str {
    let verdict = answer.verdict;
    match &answer.about {
        About::Check(_) => verdict.meaning(),
        About::Process(process) => verdict.native_meaning(process.extent, process.division),
        About::Proof(proof) => match proof::range(proof) {
            Some(_) => verdict.ranged_proof_meaning(),
            None => verdict.proof_meaning(),
        },
    }
}

/// The verdict about how the program failed, if that of the answer does not say so.
pub(crate) fn failed_too(answer: &Answer) -> Option<Verdict> {
    let says_so = match &answer.about {
        About::Check(_) | About::Proof(_) => {
            matches!(answer.verdict, Verdict::Trap | Verdict::Deadlock)
        }
        About::Process(_) => answer.verdict != Verdict::Race,
    };
    let failure = answer.failure.as_ref().filter(|_| !says_so)?;
    Some(match failure.is_deadlock() {
        true => Verdict::Deadlock,
        false => Verdict::Trap,
    })
}

/// What the answer covers. A detector's sentence is about a whole run. Of a failed program only a
/// part was seen, and an unknown answer guarantees nothing.
pub(crate) fn guarantee(answer: &Answer) -> String {
    match &answer.about {
        About::Proof(proof) => proof::guarantee(answer.verdict, proof),
        _ if answer.verdict == Verdict::Unknown => Extent::Nothing.guarantee().to_owned(),
        About::Check(Check {
            exploration: Some(_),
            ..
        }) => match answer.verdict {
            Verdict::Explored => EXPLORATION_GUARANTEE.to_owned(),
            _ => ORDERS_RUN_GUARANTEE.to_owned(),
        },
        About::Check(check) => match &answer.failure {
            Some(_) => format!("up to the failure, {}", check.detector.guarantee()),
            None => check.detector.guarantee().to_owned(),
        },
        About::Process(process) => {
            let guarantee = process.extent.guarantee();
            let divided = verdict::divided(process.division, process.logical_threads);
            let guarantee = guarantee.replace("{division}", &divided);
            let cut_short = answer.failure.is_some() || process.stopped.is_some();
            match cut_short && process.extent != Extent::Nothing {
                true => format!("up to where the run ended, {guarantee}"),
                false => guarantee,
            }
        }
    }
}

/// The guarantee with the detector behind it, if there is one.
pub(crate) fn guarantee_by(answer: &Answer) -> String {
    let guarantee = guarantee(answer);
    match answer.detector() {
        Some(detector) => format!("{detector}, {guarantee}"),
        None => guarantee,
    }
}

/// What would establish more.
pub(crate) fn stronger(answer: &Answer) -> Option<String> {
    match &answer.about {
        About::Check(check) => check.stronger.clone(),
        About::Process(process) => {
            let Some(limit) = process.because else {
                let further = verdict::divides_further(process.division);
                return further.filter(|_| answer.verdict == Verdict::Certified);
            };
            let asked = (answer.findings.iter())
                .any(|finding| !matches!(finding.rule, Rule::Race | Rule::UseAfterFree));
            // If there are races, only one question is left: whether unseen operations order them.
            let is_worth_it = limit == Limit::Unseen || (answer.verdict != Verdict::Race && !asked);
            is_worth_it.then(|| limit.stronger().to_owned())
        }
        About::Proof(proof) => proof::stronger(&answer.program, proof),
    }
}

/// `index 5 is out of bounds (out-of-bounds)`. Failures of processes have no kind.
pub(crate) fn failure(failure: &Failure) -> String {
    match &failure.at {
        Some(_) => format!("{} ({})", failure.message, failure.kind),
        None => failure.message.clone(),
    }
}

/// The label of an order of isolated and locked blocks.
pub(crate) const SCHEDULE: &str = "order of the blocks";

/// Which orders an exploration leaves out, as the option says it.
pub(crate) fn reduction(explored: &Exploration) -> &'static str {
    match explored.reduced {
        true => "optimal",
        false => "none",
    }
}

/// Whether the order of the isolated blocks decides how the program ends: how many states there
/// are, then two that differ, as labels and texts.
pub(crate) fn determinacy(answer: &Answer) -> Option<(String, Vec<(&'static str, String)>)> {
    let explored = answer.check()?.exploration.as_ref()?;
    let Determinacy { states, differ } = explored.determinacy.as_ref()?;
    let told = match (states, &explored.incomplete) {
        (0, _) => "no order was run to its end".to_owned(),
        (1, None) => "the same in every order that was run to its end".to_owned(),
        (1, Some(_)) => "the same in the orders that were run to their end".to_owned(),
        (states, _) => format!("{states} that differ, so the order decides the result"),
    };
    let mut details = Vec::new();
    if let Some(differ) = differ {
        for StateOfOrder { value, schedule } in &differ.orders {
            let ends = format!("{schedule} ends with {} = {value}", differ.what);
            details.push(("order", ends));
        }
        details.extend(decided_by(differ).map(|blocks| ("decided by", blocks)));
    }
    Some((told, details))
}

/// The blocks whose order makes the difference.
pub(crate) fn decided_by(differ: &Differing) -> Option<String> {
    let [first, second] = differ.decided_by.as_ref()?;
    let block = |block: &OrderedBlock| match &block.place {
        Some(place) => format!("the block at {} of task {}", position(place), block.task),
        None => format!("a block of task {}", block.task),
    };
    let (first, second) = (block(first), block(second));
    Some(format!("which comes first, {first} or {second}"))
}

/// Which orders were run: of isolated blocks, or of tasks.
pub(crate) fn orders(answer: &Answer) -> Option<String> {
    match &answer.about {
        About::Process(process) => process.orders.as_ref().map(orders_of_tasks),
        About::Check(_) | About::Proof(_) => orders_of_blocks(answer),
    }
}

fn orders_of_tasks(orders: &OrdersRun) -> String {
    let mut told = match (orders.told, orders.ended) {
        (0, ended) => format!(
            "tasks were run in {}, and none shows a race",
            count(u64::from(ended), "order", "orders")
        ),
        (told, 1) => format!("tasks were run in order {told} alone"),
        (told, 2) => format!("this is the answer of order {told}; the usual one shows nothing"),
        (told, ended) => format!(
            "this is the answer of order {told}; {} before it show nothing",
            ended - 1
        ),
    };
    if orders.stopped > 0 {
        told += &format!(
            "; {} ended early: a task waits there for one that runs later, or it took too long",
            count(u64::from(orders.stopped), "more was", "more were")
        );
    }
    told
}

fn orders_of_blocks(answer: &Answer) -> Option<String> {
    let explored = answer.check()?.exploration.as_ref()?;
    let mut parts = vec![format!("{} run", explored.orders)];
    if explored.cut_off > 0 {
        parts.push(format!(
            "{} cut off, as an equivalent one was run",
            explored.cut_off
        ));
    }
    if explored.too_long > 0 {
        parts.push(format!(
            "{} given up, with too many blocks",
            explored.too_long
        ));
    }
    if explored.trials > 0 {
        parts.push(format!(
            "{} to find out what a block touches in another order",
            count(explored.trials, "partial run", "partial runs")
        ));
    }
    if let Some(why) = &explored.incomplete {
        parts.push(why.clone());
    } else if explored.reduced {
        parts.push("every other one only exchanges blocks that do not conflict".to_owned());
    } else {
        parts.push("these are all".to_owned());
    }
    if let Some(in_all) = explored.in_all.as_ref().filter(|_| explored.reduced) {
        parts.push(format!("there are {in_all} in all"));
    }
    for (number, what) in [
        (explored.races, "with a race"),
        (explored.deadlocks, "with a deadlock"),
        (explored.failures, "that fail"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    }
    Some(parts.join("; "))
}

/// The counts of a run.
pub(crate) fn statistics(answer: &Answer) -> String {
    match &answer.about {
        About::Check(check) => {
            let did = &check.statistics;
            [
                count(did.tasks, "task", "tasks"),
                count(did.finishes, "finish", "finishes"),
                count(did.isolated_blocks, "isolated block", "isolated blocks"),
                count(did.accesses, "access", "accesses"),
                count(did.locations, "location", "locations"),
            ]
            .join(", ")
        }
        About::Process(process) => {
            let did = &process.statistics;
            [
                count(did.tasks, "task", "tasks"),
                count(did.finishes, "finish", "finishes"),
                count(did.accesses, "access", "accesses"),
                count(did.atomic_accesses, "atomic access", "atomic accesses"),
                count(did.threads, "more thread", "more threads"),
            ]
            .join(", ")
        }
        About::Proof(proof) => proof::statistics(proof),
    }
}

/// The question as one would type it in a shell: the program and its arguments, or the command for
/// one test.
pub(crate) fn command(answer: &Answer) -> String {
    if let Some(Process { test, replay, .. }) = answer.process()
        && test.is_some()
        && !replay.is_empty()
    {
        return replay.clone();
    }
    if answer.proof().is_some() {
        return answer.program.clone();
    }
    shell_words(std::iter::once(&answer.program).chain(&answer.arguments))
}

pub(crate) fn shell_words<'w>(words: impl Iterator<Item = &'w String>) -> String {
    words
        .map(|word| shell_word(word))
        .collect::<Vec<_>>()
        .join(" ")
}

/// `a task spins in vain at src/main.rs:7:9`.
pub(crate) fn stopped(stopped: &Stopped) -> String {
    let at = task::site(&stopped.stack);
    match stopped.what {
        WaitKind::Futex => {
            format!("a task waits in vain for a lock, a message or a signal at {at}")
        }
        WaitKind::Spin => format!("a task spins in vain, or searches without end, at {at}"),
        WaitKind::Join => format!("a task waits in vain for the end of a thread at {at}"),
        WaitKind::Creator => {
            format!("a thread waits at {at} for another one that can't go on before it does")
        }
    }
}

/// `fetch_max at src/main.rs:7:9`.
pub(crate) fn unseen(atomic: &UnseenAtomic) -> String {
    let operation = atomic.operation.as_deref().unwrap_or("inline assembly");
    match &atomic.place {
        Some(place) => format!("{operation} at {}", position(place)),
        None => format!("{operation} in {}", location::shortened(&atomic.function)),
    }
}

/// The unseen operations, the first ones in full. None if there are none.
pub(crate) fn all_unseen<'r>(processes: impl Iterator<Item = &'r Process>) -> Option<String> {
    let mut told: Vec<String> = Vec::new();
    for atomic in processes.flat_map(|process| &process.unseen).map(unseen) {
        if !told.contains(&atomic) {
            told.push(atomic);
        }
    }
    listed(told)
}

/// Who started threads: `4 started by tokio at src/main.rs:3:5 and 1 started at src/main.rs:9:5`.
/// None if nobody did.
pub(crate) fn all_started<'r>(processes: impl Iterator<Item = &'r Process>) -> Option<String> {
    let mut all: Vec<Started> = Vec::new();
    for one in processes.flat_map(|process| &process.started) {
        let is_same = |it: &&mut Started| it.library == one.library && it.place == one.place;
        match all.iter_mut().find(is_same) {
            Some(known) => known.threads += one.threads,
            None => all.push(one.clone()),
        }
    }
    listed(all.iter().map(started).collect())
}

fn started(started: &Started) -> String {
    let mut told = format!("{} started", started.threads);
    if let Some(library) = &started.library {
        told += &format!(" by {library}");
    }
    if let Some(place) = &started.place {
        told += &format!(" at {}", position(place));
    }
    told
}

/// The first of several things in full, and how many more there are. None if there are none.
pub(crate) fn listed(mut all: Vec<String>) -> Option<String> {
    let more = all.len().saturating_sub(MOST_LISTED);
    all.truncate(MOST_LISTED);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    let last = all.pop()?;
    Some(match all.is_empty() {
        true => last,
        false => format!("{} and {last}", all.join(", ")),
    })
}

/// `3 processes: 1 race, 2 with nothing parallel`. A suite that was not run to its end establishes
/// nothing, so the verdicts of its clean processes are not named.
pub(crate) fn suite(suite: &Suite) -> String {
    let mut counts = Vec::new();
    let is_named = |verdict: Verdict| !suite.interrupted || !is_clean(verdict);
    for verdict in Verdict::ALL.into_iter().filter(|it| is_named(*it)) {
        let with = (suite.answers.iter())
            .filter(|answer| answer.verdict == verdict && !answer.is_idle())
            .count();
        if with > 0 {
            counts.push(format!("{with} {verdict}"));
        }
    }
    match suite
        .answers
        .iter()
        .filter(|one| !is_named(one.verdict))
        .count()
    {
        0 => {}
        others => counts.push(format!("{others} without a finding")),
    }
    match suite.answers.iter().filter(|one| one.is_idle()).count() {
        0 => {}
        idle => counts.push(format!("{idle} with nothing parallel")),
    }
    let counts = match counts.is_empty() {
        true => "nothing was checked".to_owned(),
        false => counts.join(", "),
    };
    let processes = count(suite.answers.len() as u64, "process", "processes");
    let part = match suite.partition {
        Some(part) => format!("part {} of {}, ", part.number, part.of),
        None => String::new(),
    };
    match suite.interrupted {
        true => format!("{part}interrupted after {processes}, nothing is established: {counts}"),
        false => format!("{part}{processes}: {counts}"),
    }
}

fn is_clean(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Proved
        | Verdict::Certified
        | Verdict::CertifiedOrder
        | Verdict::Explored
        | Verdict::Observed => true,
        Verdict::Race
        | Verdict::Apparent
        | Verdict::Trap
        | Verdict::Deadlock
        | Verdict::Unknown => false,
    }
}

/// What was not checked, and why. The tests that an interrupt has left out are one note.
pub(crate) fn notes(suite: &Suite) -> Vec<String> {
    let mut notes = suite.notes.clone();
    let left = suite
        .not_run
        .iter()
        .filter(|it| it.why == WhyNotRun::Interrupted);
    let mut left: Vec<String> = left
        .map(|it| match &it.test {
            Some(test) => test.clone(),
            None => format!("all tests of {}", it.program),
        })
        .collect();
    let more = left.len().saturating_sub(MOST_NOT_RUN);
    left.truncate(MOST_NOT_RUN);
    if more > 0 {
        left.push(format!("and {more} more"));
    }
    match (suite.interrupted, left.is_empty()) {
        (false, _) => {}
        (true, true) => notes.push("not run: what cargo would have started next".to_owned()),
        (true, false) => notes.push(format!(
            "not run: {}, and what cargo would have started next",
            left.join(", ")
        )),
    }
    notes
}

/// The text with everything escaped that does not show as itself. Control characters could drive a
/// terminal. Invisible or direction-changing characters could make a report look like another.
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
