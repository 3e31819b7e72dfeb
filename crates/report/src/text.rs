//! The report for a person at a terminal: races, failure, watched accesses, then always what was
//! established, with what guarantee, and what would establish more.
//!
//! Lines are folded at [`LINE`](crate::page::LINE) columns, except commands, which stay in one piece to be copied, and
//! words longer than a line.

use crate::page::{BOLD, DIM, GREEN, LABEL, Page, RED, YELLOW};
use crate::rows::Row;
use crate::{Style, words};
use anstyle::Style as Paint;
use finishline_answer::summary::{
    AccessSummary, Failure, Place, RaceSummary, Summary, TaskPath, Watch,
};
use finishline_answer::verdict::Verdict;
use std::io;

/// Names listed before a list is cut short.
const NAMES: usize = 12;

pub(crate) fn write(summary: &Summary, style: Style, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = Page::new(style);
    for race in &summary.races {
        page.race(race, summary.strengthen.is_some());
        page.blank();
    }
    page.races_in_all(summary);
    if let Some(failure) = &summary.failure {
        page.failure(failure);
        page.blank();
    }
    if let Some(watch) = &summary.watched {
        page.watch(watch);
        page.blank();
    }
    page.closing(summary);
    out.write_all(page.text.as_bytes())
}

/// A failure of a program that was only run.
pub(crate) fn write_failure(
    failure: &Failure,
    style: Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = Page::new(style);
    page.failure(failure);
    out.write_all(page.text.as_bytes())
}

/// An access or a failure: where, what, by which task.
fn row(lead: &str, below: &'static str, place: &Place, what: &str, task: &TaskPath) -> Row {
    Row {
        lead: lead.to_string(),
        below,
        position: words::position(place),
        what: what.to_string(),
        detail: format!("task {}", words::task(task)),
    }
}

impl Page {
    fn failure(&mut self, failure: &Failure) {
        self.labelled("", "failed", RED, &words::failure(failure));
        let Failure { place, task, .. } = failure;
        self.rows(&[row("at", "", place, &place.text, task)]);
    }

    fn race(&mut self, race: &RaceSummary, stronger_follows: bool) {
        let paint = if race.apparent { YELLOW } else { RED };
        self.labelled(
            "",
            words::race_kind(race),
            paint,
            &words::race_message(race),
        );
        let numbered =
            |number: u32, access: &AccessSummary| format!("({number}) {}", words::access(access));
        let (first, second) = (&race.first, &race.second);
        let [top, side, bottom] = self.frame();
        self.rows(&[
            row(top, side, &first.place, &numbered(1, first), &first.task),
            row(
                bottom,
                "",
                &second.place,
                &numbered(2, second),
                &second.task,
            ),
        ]);
        self.labelled("  ", "why parallel", LABEL, &words::why(race));
        if race.apparent {
            let decide = if stronger_follows {
                ": see `stronger` below"
            } else {
                ""
            };
            self.labelled(
                "  ",
                "why apparent",
                LABEL,
                &format!("{}{decide}", words::APPARENT_REMARK),
            );
        }
        self.folded("  ", &words::origin(race));
        if let Some(elsewhere) = words::elsewhere(race, NAMES) {
            self.folded("  ", &elsewhere);
        }
        if race.may_follow {
            self.folded("  ", words::MAY_FOLLOW_REMARK);
        }
        let replay = self.clean(&race.replay);
        let label = self.painted(LABEL, "replay");
        self.line(&format!("  {label}: {replay}"));
    }

    fn races_in_all(&mut self, summary: &Summary) {
        let before = self.text.len();
        if let Some(more) = words::more_races(summary) {
            self.folded("", &more);
        }
        let racing = &summary.racing_locations;
        if racing.count > 0 {
            let label = format!("racing locations ({})", racing.count);
            self.labelled("", &label, BOLD, &words::names(racing, NAMES));
        }
        if self.text.len() > before {
            self.blank();
        }
    }

    fn watch(&mut self, watch: &Watch) {
        let count = words::count(watch.count, "access", "accesses");
        let order = if watch.count > 1 {
            " in the order of the run"
        } else {
            ""
        };
        self.labelled(
            "",
            "watch",
            BOLD,
            &format!("{}, {count}{order}", watch.location),
        );
        let width = watch.accesses.len().to_string().len();
        let rows: Vec<Row> = (1..)
            .zip(&watch.accesses)
            .map(|(number, access)| {
                let lead = format!("{number:>width$}");
                row(
                    &lead,
                    "",
                    &access.place,
                    &words::access(access),
                    &access.task,
                )
            })
            .collect();
        self.rows(&rows);
        let more = watch.count.saturating_sub(watch.accesses.len() as u64);
        if more > 0 {
            self.folded("  ", &format!("… and {more} more"));
        }
    }

    fn closing(&mut self, summary: &Summary) {
        let verdict = summary.verdict;
        self.labelled("", verdict.word(), paint_of(verdict), verdict.meaning());
        if summary.failure.is_some() && verdict != Verdict::Trap {
            self.labelled("", Verdict::Trap.word(), RED, Verdict::Trap.meaning());
        }
        if let Some(suppressed) = words::suppressed(summary) {
            self.labelled("", "suppressed", BOLD, &suppressed);
        }
        let guarantee = format!("{}, {}", summary.detector, words::guarantee(summary));
        self.labelled("", "guarantee", BOLD, &guarantee);
        if let Some(stronger) = &summary.strengthen {
            self.labelled("", "stronger", BOLD, stronger);
        }
        let statistics = words::statistics(&summary.statistics);
        let run = self.clean(&format!("run: {}: {statistics}", words::command(summary)));
        let run = self.painted(DIM, &run);
        self.line(&run);
    }
}

pub(crate) fn paint_of(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Proved | Verdict::Certified => GREEN,
        Verdict::CertifiedOrder | Verdict::Observed | Verdict::Apparent | Verdict::Unknown => {
            YELLOW
        }
        Verdict::Race | Verdict::Trap => RED,
    }
}
