//! The report as one page to keep or to pass on. It has no scripts, loads nothing from elsewhere,
//! and is light or dark as the reader prefers.
//!
//! An access is shown in its source, and the tasks of a finding as a tree ([`crate::tree`]). In the
//! two task paths of a finding the common ancestors are dimmed, so that the fork is easy to see.
//!
//! Invariant: text reaches the page only through [`escape`] or as a literal of this file.

use crate::bench::seconds;
use crate::words::finding::{self as pair, APPARENT_REMARK, MAY_FOLLOW_REMARK};
use crate::words::task::{self as task_words, Shown};
use crate::words::{self, deadlock, position, proof as proof_words};
use crate::{Selection, is_noteworthy, orders, tree, unsafe_card};
use finishline_answer::answer::{About, Answer, Exploration, Failure, NotRun, Suite, Watch};
use finishline_answer::finding::{Finding, FoundAccess, Rule};
use finishline_answer::location::{Bytes, Location, Object};
use finishline_answer::place::{Place, SourceLines};
use finishline_answer::process::{Stopped, UNCHECKED_REMARK};
use finishline_answer::proof::{Dataflow, Kernel, Proof, ReadSources, Remark, Source};
use finishline_answer::task::{Stack, Task};
use finishline_answer::verdict::Verdict;
use std::collections::BTreeSet;
use std::io;

const STYLE: &str = include_str!("html.css");
/// The most names listed on a card.
const NAMES: usize = 24;
/// Lines of the source shown before and after an access.
const REACH: u32 = 2;

pub(crate) fn write(
    answer: &Answer,
    selection: Selection,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut body = answer_body(answer, selection);
    let time = answer
        .proof()
        .map(|proof| seconds(proof.time.as_secs_f64()));
    let time = time.map_or(String::new(), |time| format!(", {time}"));
    body += &footer(&format!("{}{time}", words::statistics(answer)));
    let title = format!("{}: {}", words::verdict(answer), words::command(answer));
    out.write_all(page(&title, &body).as_bytes())
}

pub(crate) fn write_suite(suite: &Suite, out: &mut dyn io::Write) -> io::Result<()> {
    let command = words::shell_words(suite.command.iter());
    let worst = suite.answers.iter().filter(|one| !one.is_idle());
    let worst = worst.map(|answer| tone(answer.verdict));
    let order = ["bad", "caution", "good"];
    let worst = worst.min_by_key(|tone| order.iter().position(|other| other == tone));
    let mut details = String::new();
    let processes = suite.answers.iter().filter_map(Answer::process);
    if let Some(started) = words::all_started(processes.clone()) {
        details += &definition("threads", &escape(&started));
    }
    if let Some(unseen) = words::all_unseen(processes) {
        details += &definition("unseen", &escape(&unseen));
    }
    if let Some(code) = words::unsafe_code::of_suite(suite) {
        details += &definition("unsafe", &escape(&code));
    }
    for note in words::notes(suite) {
        details += &definition("note", &escape(&note));
    }
    let mut body = format!(
        "<header class=\"{tone}\">\n<h1>{summary} <code>{command}</code></h1>\n\
         <dl>\n{details}</dl>\n</header>\n",
        tone = worst.unwrap_or("caution"),
        summary = escape(&words::suite(suite)),
        command = escape(&command),
    );
    body += &processes_card(suite);
    body.extend(unsafe_card::of_suite(suite));
    let answers = suite.answers.iter().enumerate();
    for (number, answer) in answers.filter(|(_, answer)| is_noteworthy(answer)) {
        body += &format!(
            "<h2 class=\"name\" id=\"process-{number}\">{}</h2>\n",
            escape(answer.process_name())
        );
        body += &answer_body(answer, Selection::default());
    }
    body += &footer(&words::suite(suite));
    let title = format!("{}: {command}", words::suite(suite));
    out.write_all(page(&title, &body).as_bytes())
}

/// A whole page; `body` is HTML already.
fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n{body}</body>\n</html>\n",
        title = escape(title),
    )
}

fn footer(text: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("<footer>finishline {version}: {}</footer>\n", escape(text))
}

/// What was established, then the findings, then the rest of the answer.
fn answer_body(answer: &Answer, selection: Selection) -> String {
    let mut body = header(answer);
    let shown = answer.findings.len().min(selection.max_findings);
    for finding in &answer.findings[..shown] {
        body += &finding_card(answer, finding);
    }
    if let Some(more) = words::more(answer, shown) {
        body += &more_line(&more);
    }
    body.extend(answer.failure.iter().map(|it| failure_card(answer, it)));
    match &answer.about {
        About::Check(check) => {
            body += &racing_locations(answer);
            body.extend(check.exploration.iter().map(|it| orders_cards(it)));
            body.extend(check.watched.iter().map(|it| watch_card(answer, it)));
        }
        About::Process(process) => {
            body.extend(unsafe_card::of_process(answer, process));
            body.extend(process.stopped.iter().map(|it| stopped_card(answer, it)));
        }
        About::Proof(proof) => body += &proof_body(proof, selection),
    }
    body
}

fn header(answer: &Answer) -> String {
    let mut details = String::new();
    if let Some(limit) = answer.because() {
        details += &definition("because", &escape(limit.because()));
    }
    if let Some(started) = words::all_started(answer.process().into_iter()) {
        details += &definition("threads", &escape(&started));
    }
    if let Some(unseen) = words::all_unseen(answer.process().into_iter()) {
        details += &definition("unseen", &escape(&unseen));
    }
    if let Some(suppressed) = words::suppressed(answer) {
        details += &definition("suppressed", &escape(&suppressed));
    }
    if let Some(known) = words::known(answer) {
        details += &definition("known", &escape(&known));
    }
    if let Some(detector) = answer.detector() {
        details += &definition("detector", &escape(detector.name()));
    }
    details += &definition("guarantee", &escape(&words::guarantee(answer)));
    if let Some(code) = words::unsafe_code::of_process(answer) {
        details += &definition("unsafe", &escape(&code));
    }
    if let Some(stronger) = words::stronger(answer) {
        details += &definition("stronger", &escape(&stronger));
    }
    if let Some(orders) = words::orders(answer) {
        details += &definition("orders", &escape(&orders));
    }
    if let Some((states, _)) = words::determinacy(answer) {
        details += &definition("final states", &escape(&states));
    }
    let mut meaning = paragraph(words::meaning(answer));
    if let Some(failed) = words::failed_too(answer) {
        meaning += &paragraph(failed.meaning_besides());
    }
    format!(
        "<header class=\"{tone}\">\n<h1>{verdict} <code>{program}</code></h1>\n\
         {meaning}<dl>\n{details}</dl>\n</header>\n",
        tone = tone(answer.verdict),
        verdict = escape(&words::verdict(answer)),
        program = escape(&words::command(answer)),
    )
}

/// The class that colours a verdict.
fn tone(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Proved | Verdict::Certified | Verdict::Explored => "good",
        Verdict::CertifiedOrder | Verdict::Observed | Verdict::Apparent | Verdict::Unknown => {
            "caution"
        }
        Verdict::Race | Verdict::Trap | Verdict::Deadlock => "bad",
    }
}

/// A card with a tagged heading; `body` is HTML already.
fn card(tone: &str, tag: &str, heading: &str, body: &str) -> String {
    format!(
        "<section class=\"card {tone}\">\n\
         <h2><span class=\"tag\">{tag}</span> {}</h2>\n{body}</section>\n",
        escape(heading),
    )
}

fn orders_cards(explored: &Exploration) -> String {
    let mut cards = String::new();
    let determinacy = explored.determinacy.as_ref();
    if let Some(differ) = determinacy.and_then(|determinacy| determinacy.differ.as_ref()) {
        let heading = "Two orders that end differently";
        cards += &card(
            "caution",
            "final states",
            heading,
            &orders::side_by_side(differ),
        );
    }
    if let Some(tree) = orders::tree(explored) {
        cards += &card("", "orders", &orders::heading(explored), &tree);
    }
    cards
}

fn finding_card(answer: &Answer, finding: &Finding) -> String {
    let tasks = [&finding.first.task, &finding.second.task];
    let common = match tasks {
        [Some(first), Some(second)] => first.common_steps(second),
        _ => 0,
    };
    let accesses: String = [&finding.first, &finding.second]
        .map(|it| access(&answer.lines, it, common))
        .concat();
    let drawing = tree::draw(finding);
    let drawing = drawing.map(|svg| format!("<figure>\n{svg}</figure>\n"));
    let body = format!(
        "<ol class=\"accesses\">\n{accesses}</ol>\n{}<dl>\n{}</dl>\n",
        drawing.unwrap_or_default(),
        finding_details(answer, finding),
    );
    let tone = match finding.rule {
        Rule::Race | Rule::UseAfterFree => "bad",
        Rule::Apparent
        | Rule::Unconfirmed
        | Rule::IsolationOrdered
        | Rule::LockOrdered
        | Rule::AtomicOrdered
        | Rule::ThreadOrdered => "caution",
    };
    card(tone, finding.rule.word(), &pair::message(finding), &body)
}

fn finding_details(answer: &Answer, finding: &Finding) -> String {
    let mut details = String::new();
    if let Some(why) = pair::why(finding) {
        details += &definition("why parallel", &escape(&why));
    }
    if finding.rule == Rule::Apparent {
        details += &definition("why apparent", &escape(APPARENT_REMARK));
    }
    if let Some(by) = &finding.ordered_by {
        details += &definition("ordered by", &escape(&pair::ordered_by(by)));
    }
    if let Some(origin) = pair::origin(finding) {
        let stack = match &finding.location {
            Location::Bytes(Bytes {
                object: Object::Heap { allocated, .. },
                ..
            }) => stack(allocated),
            _ => String::new(),
        };
        details += &definition("object", &(escape(&origin) + &stack));
    }
    if let Some(elsewhere) = pair::elsewhere(finding, NAMES) {
        details += &definition("how often", &escape(&elsewhere));
    }
    if finding.may_follow {
        details += &definition("note", &escape(MAY_FOLLOW_REMARK));
    }
    if !finding.replay.is_empty() {
        details += &definition("replay", &code(&finding.replay));
    }
    if let (Some(claim), Some(proof)) = (&finding.claim, answer.proof()) {
        if let Some(benign) = claim.benign {
            details += &definition("benign", &escape(&proof_words::benign(benign)));
        }
        if let Some(witness) = &claim.witness {
            let case = proof_words::case(proof, witness);
            let run = proof_words::confirmation(&witness.confirmation);
            let kind = proof_words::kind_of_case(witness);
            details += &definition(kind, &escape(&format!("{case}; {run}")));
            details += &definition("replay", &code(&witness.replay));
        }
    }
    details
}

/// One access as an item of a list; the first `common` steps of its path are dimmed.
fn access(lines: &SourceLines, access: &FoundAccess, common: usize) -> String {
    let isolated = match access.isolated {
        true => " <span class=\"isolated\">isolated</span>",
        false => "",
    };
    let (kind, place) = match &access.machine {
        Some(_) => (pair::access(access), site(&access.stack)),
        None => {
            let place = access.place();
            let source = place.map(|place| source(place, Some(access.stack.function())));
            (pair::kind(access), source.unwrap_or_default())
        }
    };
    let by = match &access.task {
        Some(task) => path(task, common),
        None => match pair::by(access).as_str() {
            "" => String::new(),
            instance => format!("<div class=\"path\">{}</div>", escape(instance)),
        },
    };
    let stack = access.machine.as_ref().map(|_| stack(&access.stack));
    format!(
        "<li><span class=\"kind\">{}</span>{isolated} {place}{}{by}{}</li>\n",
        escape(&kind),
        excerpt(lines, access.place()),
        stack.unwrap_or_default(),
    )
}

/// A place, its text, and the function that contains it.
pub(crate) fn source(place: &Place, function: Option<&str>) -> String {
    let function = function.map(|function| format!(" in {}", escape(function)));
    format!(
        "{} <span class=\"place\">{}{}</span>",
        code(&place.text),
        escape(&position(place)),
        function.unwrap_or_default(),
    )
}

/// The place of a stack, as far as it is known.
fn site(stack: &Stack) -> String {
    match (stack.place(), stack.frame()) {
        (Some(place), Some(frame)) if !place.text.is_empty() => {
            source(place, Some(&frame.function))
        }
        _ => format!(
            "<span class=\"place\">{}</span>",
            escape(&task_words::site(stack))
        ),
    }
}

/// A stack that can be opened. Empty for at most one frame, which is shown already.
fn stack(stack: &Stack) -> String {
    if stack.frames.len() <= 1 {
        return String::new();
    }
    let frames = task_words::stack(stack);
    let frames = frames
        .iter()
        .map(|frame| format!("<li>{}</li>\n", escape(frame)));
    format!(
        "<details>\n<summary>stack</summary>\n<ul class=\"stack\">\n{}</ul>\n</details>\n",
        frames.collect::<String>(),
    )
}

/// The lines around a place, with the place marked. Empty if the source is unknown.
fn excerpt(lines: &SourceLines, place: Option<&Place>) -> String {
    let Some(place) = place else {
        return String::new();
    };
    let near = lines.around(&place.file, place.line, REACH);
    if !near.iter().any(|(number, _)| *number == place.line) {
        return String::new();
    }
    let indents = near.iter().filter(|(_, text)| !text.trim().is_empty());
    let indents = indents.map(|(_, text)| text.len() - text.trim_start().len());
    let indent = indents.min().unwrap_or(0);
    let digits = near.last().map_or(0, |(last, _)| last.to_string().len());
    let shown = |text: &str| escape(&text.replace('\t', "    "));
    let mut html = String::from("<pre class=\"excerpt\">");
    for (number, text) in near {
        // Indentation may mix tabs and spaces, so the least indent may fall inside a character.
        let text = text.get(indent..).unwrap_or(text);
        let cut = indent.min((place.column as usize).saturating_sub(1));
        let line = if number == place.line {
            let column = (place.column as usize).saturating_sub(1 + cut);
            let width = match place.width {
                0 => usize::MAX,
                width => width as usize,
            };
            let part = |from: usize, most: usize| -> String {
                text.chars().skip(from).take(most).collect()
            };
            let (before, marked) = (part(0, column), part(column, width));
            let after = part(column.saturating_add(width), usize::MAX);
            format!(
                "<span class=\"hit\"><i>{number:digits$}</i> {}<mark>{}</mark>{}</span>\n",
                shown(&before),
                shown(&marked),
                shown(&after),
            )
        } else {
            format!("<span><i>{number:digits$}</i> {}</span>\n", shown(text))
        };
        html += &line;
    }
    html + "</pre>\n"
}

fn path(task: &Task, common: usize) -> String {
    // `main` is dimmed like every common ancestor, unless it is the task itself.
    let mut html = match task.steps.is_empty() {
        true => "<span>main</span>".to_owned(),
        false => "<span class=\"common\">main</span>".to_owned(),
    };
    for step in task_words::steps(task) {
        html += match step {
            Shown::Step { depth, .. } if depth < common => " › <span class=\"common\">",
            _ => " › <span>",
        };
        html += &match step {
            Shown::Step { text, .. } => escape(&text),
            Shown::Skipped(steps) => escape(&task_words::skipped(steps)),
        };
        html += "</span>";
    }
    format!("<div class=\"path\">task {html}</div>")
}

fn failure_card(answer: &Answer, failure: &Failure) -> String {
    let points = deadlock::points(failure).enumerate().map(|(index, at)| {
        let number = match failure.is_deadlock() {
            true => format!("{} ", deadlock::number(index)),
            false => String::new(),
        };
        let waits = deadlock::waits(at, index).map(|waits| paragraph(&waits));
        format!(
            "<li>{number}{}{}{}{}</li>\n",
            source(&at.place, None),
            excerpt(&answer.lines, Some(&at.place)),
            path(&at.task, 0),
            waits.unwrap_or_default(),
        )
    });
    let points: String = points.collect();
    let mut body = match points.is_empty() {
        true => points,
        false => format!("<ul class=\"accesses\">\n{points}</ul>\n"),
    };
    if let Some(near) = &failure.near {
        body += &format!(
            "<ul class=\"accesses\">\n<li>{}</li>\n</ul>\n",
            source(near, None)
        );
    }
    if let Some(command) = &failure.unchecked {
        let details = definition("without checks", &code(command));
        body += &format!("{}<dl>\n{details}</dl>\n", paragraph(UNCHECKED_REMARK));
    }
    if let Some(schedule) = &failure.schedule {
        body += &paragraph(&format!("{}: {schedule}", words::SCHEDULE));
    }
    if let Some(cycle) = deadlock::cycle(failure) {
        body += &paragraph(&format!("cycle: {cycle}"));
    }
    card("bad", "failed", &words::failure(failure), &body)
}

fn stopped_card(answer: &Answer, stopped: &Stopped) -> String {
    let body = format!(
        "<ul class=\"accesses\">\n<li>{}{}{}{}</li>\n</ul>\n",
        site(&stopped.stack),
        excerpt(&answer.lines, stopped.stack.place()),
        path(&stopped.task, 0),
        stack(&stopped.stack),
    );
    card("caution", "stopped", &words::stopped(stopped), &body)
}

fn racing_locations(answer: &Answer) -> String {
    let racing = answer.check().map(|check| &check.racing_locations);
    let Some(racing) = racing.filter(|racing| racing.count > 0) else {
        return String::new();
    };
    format!(
        "<section class=\"card\">\n<details open>\n<summary>racing locations ({})</summary>\n\
         <p class=\"names\">{}</p>\n</details>\n</section>\n",
        racing.count,
        escape(&words::names(racing, usize::MAX)),
    )
}

fn watch_card(answer: &Answer, watch: &Watch) -> String {
    let accesses = watch.accesses.iter();
    let accesses: String = accesses.map(|it| access(&answer.lines, it, 0)).collect();
    let more = match watch.count.saturating_sub(watch.accesses.len() as u64) {
        0 => String::new(),
        more => more_line(&format!("… and {more} more")),
    };
    let count = words::count(watch.count, "access", "accesses");
    let heading = format!("{}, {count}", watch.location);
    let body = format!("<ol class=\"accesses\">\n{accesses}</ol>\n{more}");
    card("", "watch", &heading, &body)
}

/// All processes, with links to those that are told below, and the tests that were not run.
fn processes_card(suite: &Suite) -> String {
    let row = |(number, answer): (usize, &Answer)| {
        let name = escape(answer.process_name());
        let limit = answer.because().map_or("", |limit| limit.because());
        format!(
            "<tr class=\"{tone}\"><td><span class=\"tag\">{verdict}</span></td><td>{name}</td>\
             <td>{program}</td><td class=\"number\">{tasks}</td><td>{limit}</td></tr>\n",
            tone = tone(answer.verdict),
            verdict = escape(answer.verdict.word()),
            name = match is_noteworthy(answer) {
                true => format!("<a href=\"#process-{number}\">{name}</a>"),
                false => name,
            },
            program = escape(&answer.program),
            tasks = answer
                .process()
                .map_or(0, |process| process.statistics.tasks),
            limit = escape(limit),
        )
    };
    let left = |left: &NotRun| {
        format!(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td></td><td></td></tr>\n",
            left.why.word(),
            escape(left.test.as_deref().unwrap_or("all tests")),
            escape(&left.program),
        )
    };
    let rows: String = suite.answers.iter().enumerate().map(row).collect();
    format!(
        "<section class=\"card\">\n<h2>Processes</h2>\n<table>\n\
         <tr><th>verdict</th><th>process</th><th>program</th><th>tasks</th><th>because</th></tr>\n\
         {rows}{}</table>\n</section>\n",
        suite.not_run.iter().map(left).collect::<String>(),
    )
}

/// Reasons why kernels are undecided, a table of all kernels, remarks, and producers if asked for.
fn proof_body(proof: &Proof, selection: Selection) -> String {
    let mut body: String = proof.kernels.iter().map(reasons_card).collect();
    body += &kernels_card(proof);
    body += &remarks_card(proof);
    if selection.sources {
        body.extend(proof.sources.iter().map(sources_card));
    }
    if proof.dataflow == Dataflow::CutShort {
        body += &more_line(proof_words::CUT_SHORT);
    }
    body
}

/// Why a kernel is undecided, and what would help.
fn reasons_card(kernel: &Kernel) -> String {
    if kernel.reasons.is_empty() {
        return String::new();
    }
    let mut details = String::new();
    for reason in &kernel.reasons {
        let (at, text) = (position(&reason.place), proof_words::reason(reason));
        details += &definition("why", &escape(&format!("{at}: {text}")));
    }
    let kinds: BTreeSet<_> = kernel.reasons.iter().map(|reason| reason.kind).collect();
    for kind in kinds {
        details += &definition("help", &escape(kind.help()));
    }
    let body = format!("<dl>\n{details}</dl>\n");
    card("caution", "undecided", &proof_words::kernel(kernel), &body)
}

fn kernels_card(proof: &Proof) -> String {
    if proof.kernels.is_empty() {
        return String::new();
    }
    let row = |kernel: &Kernel| {
        format!(
            "<tr class=\"{tone}\"><td><span class=\"tag\">{verdict}</span></td><td>{label}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{time}</td></tr>\n",
            kernel.accesses,
            kernel.pairs,
            tone = tone(kernel.verdict),
            verdict = escape(kernel.verdict.word()),
            label = escape(&proof_words::kernel(kernel)),
            time = seconds(kernel.time.as_secs_f64()),
        )
    };
    format!(
        "<section class=\"card\">\n<h2>Kernels</h2>\n<table>\n\
         <tr><th>verdict</th><th>where</th><th>accesses</th><th>pairs</th><th>time</th></tr>\n\
         {}</table>\n</section>\n",
        proof.kernels.iter().map(row).collect::<String>(),
    )
}

fn remarks_card(proof: &Proof) -> String {
    if proof.remarks.is_empty() {
        return String::new();
    }
    let remark = |remark: &Remark| {
        format!(
            "<li>{}<div>{}</div></li>\n",
            escape(&proof_words::remark(remark)),
            source(&remark.place, None)
        )
    };
    format!(
        "<section class=\"card\">\n<h2>Remarks</h2>\n<ul class=\"accesses\">\n{}</ul>\n</section>\n",
        proof.remarks.iter().map(remark).collect::<String>(),
    )
}

fn sources_card(read: &ReadSources) -> String {
    let producer = |producer: &Source| {
        let write = match &producer.write {
            Some(place) => source(place, None),
            None => "the starting value".to_owned(),
        };
        let when = [
            proof_words::instance(&producer.instance),
            proof_words::when(&producer.condition),
        ];
        let when = when.join(" ");
        format!(
            "<li>{write}<div class=\"path\">{}</div></li>\n",
            escape(when.trim())
        )
    };
    format!(
        "<section class=\"card\">\n<details>\n<summary>{} at {} reads</summary>\n\
         <ul class=\"accesses\">\n{}</ul>\n</details>\n</section>\n",
        escape(&read.location),
        escape(&position(&read.place)),
        read.sources.iter().map(producer).collect::<String>(),
    )
}

/// `value` is HTML already.
fn definition(term: &str, value: &str) -> String {
    format!("<dt>{term}</dt><dd>{value}</dd>\n")
}

pub(crate) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

fn more_line(text: &str) -> String {
    format!("<p class=\"more\">{}</p>\n", escape(text))
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}

/// Text as HTML, for elements and quoted attributes. Invisible characters are escaped.
pub(crate) fn escape(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in words::printable(text).chars() {
        match c {
            '&' => html += "&amp;",
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            '"' => html += "&quot;",
            '\'' => html += "&#39;",
            _ => html.push(c),
        }
    }
    html
}
