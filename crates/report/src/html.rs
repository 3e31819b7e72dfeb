//! The report as one page to keep or to pass on: no scripts, nothing loaded from elsewhere, light
//! or dark as the reader prefers.
//!
//! Invariant: text reaches the page only through [`escape`] or as a literal of this file. In the
//! two task paths of a race the common ancestors are dimmed, so that the eye finds the fork.

use crate::words::{self, Step};
use finishline_answer::summary::{
    AccessSummary, Failure, Place, RaceSummary, Summary, TaskPath, Watch,
};
use finishline_answer::verdict::Verdict;
use std::io;

const STYLE: &str = include_str!("html.css");
/// Names listed on a card before the list is cut short.
const NAMES: usize = 24;

pub(crate) fn write(summary: &Summary, out: &mut dyn io::Write) -> io::Result<()> {
    let mut body = verdict(summary);
    for race in &summary.races {
        body += &race_card(race);
    }
    if let Some(more) = words::more_races(summary) {
        body += &format!("<p class=\"more\">{}</p>\n", escape(&more));
    }
    body += &summary
        .failure
        .as_ref()
        .map(failure_card)
        .unwrap_or_default();
    body += &racing_locations(summary);
    body += &summary.watched.as_ref().map(watch_card).unwrap_or_default();
    body += &format!(
        "<footer>finishline {}: {}</footer>\n",
        env!("CARGO_PKG_VERSION"),
        escape(&words::statistics(&summary.statistics)),
    );
    let title = format!("{}: {}", summary.verdict, words::command(summary));
    out.write_all(page(&title, &body).as_bytes())
}

/// A whole page; `body` is HTML already.
pub(crate) fn page(title: &str, body: &str) -> String {
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

fn verdict(summary: &Summary) -> String {
    let verdict = summary.verdict;
    let mut details = String::new();
    if let Some(suppressed) = words::suppressed(summary) {
        details += &definition("suppressed", &escape(&suppressed));
    }
    details += &definition("detector", &escape(summary.detector.name()));
    details += &definition("guarantee", &escape(&words::guarantee(summary)));
    if let Some(stronger) = &summary.strengthen {
        details += &definition("stronger", &escape(stronger));
    }
    let mut meaning = paragraph(verdict.meaning());
    if summary.failure.is_some() && verdict != Verdict::Trap {
        meaning += &paragraph(Verdict::Trap.meaning());
    }
    format!(
        "<header class=\"{tone}\">\n<h1>{word} <code>{program}</code></h1>\n\
         {meaning}<dl>\n{details}</dl>\n</header>\n",
        tone = tone(verdict),
        word = escape(verdict.word()),
        program = escape(&words::command(summary)),
    )
}

/// The class that colours a verdict.
pub(crate) fn tone(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Proved | Verdict::Certified => "good",
        Verdict::CertifiedOrder | Verdict::Observed | Verdict::Apparent | Verdict::Unknown => {
            "caution"
        }
        Verdict::Race | Verdict::Trap => "bad",
    }
}

fn race_card(race: &RaceSummary) -> String {
    let common = (race.first.task.creations.iter())
        .zip(&race.second.task.creations)
        .take_while(|(first, second)| first.index == second.index)
        .count();
    let mut details = definition("why parallel", &escape(&words::why(race)));
    if race.apparent {
        details += &definition("why apparent", &escape(words::APPARENT_REMARK));
    }
    details += &definition("object", &escape(&words::origin(race)));
    if let Some(elsewhere) = words::elsewhere(race, NAMES) {
        details += &definition("how often", &escape(&elsewhere));
    }
    if race.may_follow {
        details += &definition("note", &escape(words::MAY_FOLLOW_REMARK));
    }
    details += &definition("replay", &format!("<code>{}</code>", escape(&race.replay)));
    format!(
        "<section class=\"card {tone}\">\n<h2><span class=\"tag\">{kind}</span> {message}</h2>\n\
         <ol class=\"accesses\">\n{first}{second}</ol>\n<dl>\n{details}</dl>\n</section>\n",
        tone = if race.apparent { "caution" } else { "bad" },
        kind = words::race_kind(race),
        message = escape(&words::race_message(race)),
        first = access(&race.first, common),
        second = access(&race.second, common),
    )
}

fn failure_card(failure: &Failure) -> String {
    format!(
        "<section class=\"card bad\">\n<h2><span class=\"tag\">failed</span> {message}</h2>\n\
         <ul class=\"accesses\">\n<li>{source}{path}</li>\n</ul>\n</section>\n",
        message = escape(&words::failure(failure)),
        source = source(&failure.place, None),
        path = path(&failure.task, 0),
    )
}

fn racing_locations(summary: &Summary) -> String {
    let racing = &summary.racing_locations;
    if racing.count == 0 {
        return String::new();
    }
    format!(
        "<section class=\"card\">\n<details open>\n<summary>racing locations ({})</summary>\n\
         <p class=\"names\">{}</p>\n</details>\n</section>\n",
        racing.count,
        escape(&words::names(racing, usize::MAX)),
    )
}

fn watch_card(watch: &Watch) -> String {
    let accesses: String = watch.accesses.iter().map(|a| access(a, 0)).collect();
    let more = match watch.count.saturating_sub(watch.accesses.len() as u64) {
        0 => String::new(),
        more => format!("<p class=\"more\">… and {more} more</p>\n"),
    };
    format!(
        "<section class=\"card\">\n<h2><span class=\"tag\">watch</span> {}, {}</h2>\n\
         <ol class=\"accesses\">\n{accesses}</ol>\n{more}</section>\n",
        escape(&watch.location),
        words::count(watch.count, "access", "accesses"),
    )
}

/// One access as an item of a numbered list; the first `common` steps of its path are dimmed.
fn access(access: &AccessSummary, common: usize) -> String {
    let isolated = if access.isolated {
        " <span class=\"isolated\">isolated</span>"
    } else {
        ""
    };
    format!(
        "<li><span class=\"kind\">{}</span>{isolated} {}{}</li>\n",
        access.kind.word(),
        source(&access.place, Some(&access.function)),
        path(&access.task, common),
    )
}

pub(crate) fn source(place: &Place, function: Option<&str>) -> String {
    let function = function
        .map(|f| format!(" in {}", escape(f)))
        .unwrap_or_default();
    format!(
        "<code>{}</code> <span class=\"place\">{}{function}</span>",
        escape(&place.text),
        escape(&words::position(place)),
    )
}

fn path(task: &TaskPath, common: usize) -> String {
    // `main` is dimmed like every other common ancestor, unless it is the task itself.
    let mut html = match task.creations.is_empty() {
        true => "<span>main</span>".to_string(),
        false => "<span class=\"common\">main</span>".to_string(),
    };
    for step in words::steps(task) {
        html += match step {
            Step::Creation { depth, .. } if depth < common => " › <span class=\"common\">",
            _ => " › <span>",
        };
        html += &match step {
            Step::Creation {
                label, captures, ..
            } => escape(&(label + &captures)),
            Step::Skipped(steps) => escape(&words::skipped(steps)),
        };
        html += "</span>";
    }
    format!("<div class=\"path\">task {html}</div>")
}

/// `value` is HTML already.
pub(crate) fn definition(term: &str, value: &str) -> String {
    format!("<dt>{term}</dt><dd>{value}</dd>\n")
}

pub(crate) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

/// Text as HTML, for elements and quoted attributes, with nothing invisible in it.
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
