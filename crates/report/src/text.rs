//! The report for a person at a terminal: races, failure, watched accesses, then always what was
//! established, with what guarantee, and what would establish more.
//!
//! Lines are folded at [`LINE`] columns, except commands, which stay in one piece to be copied, and
//! words longer than a line.

use crate::page::{BOLD, DIM, FRAME, GREEN, LABEL, LINE, Page, RED, YELLOW, fold};
use crate::{Style, words};
use anstyle::Style as Paint;
use finishline_model::summary::{
    AccessSummary, Failure, Place, RaceSummary, Summary, TaskPath, Watch,
};
use finishline_model::verdict::Verdict;
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
struct Row {
    /// What stands before it, and before its second line if it needs one.
    lead: String,
    below: &'static str,
    position: String,
    what: String,
    task: String,
}

impl Row {
    fn new(lead: &str, below: &'static str, place: &Place, what: &str, task: &TaskPath) -> Row {
        Row {
            lead: lead.to_string(),
            below,
            position: words::position(place),
            what: what.to_string(),
            task: format!("task {}", words::task(task)),
        }
    }
}

impl Page {
    fn failure(&mut self, failure: &Failure) {
        self.labelled("", "failed", RED, &words::failure(failure));
        let Failure { place, task, .. } = failure;
        self.rows(&[Row::new("at", "", place, &place.text, task)]);
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
        let [top, side, bottom] = if self.style.unicode {
            ["┌─", "│", "└─"]
        } else {
            [",-", "|", "`-"]
        };
        self.rows(&[
            Row::new(top, side, &first.place, &numbered(1, first), &first.task),
            Row::new(
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
                Row::new(
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

    /// Rows with their columns aligned. If one would be too long, all tasks go on lines of their own,
    /// and if that is not enough, all accesses too.
    fn rows(&mut self, rows: &[Row]) {
        let cleaned: Vec<[String; 3]> = rows
            .iter()
            .map(|row| [&row.position, &row.what, &row.task].map(|text| self.clean(text)))
            .collect();
        let widest = |column: usize| {
            let widths = cleaned.iter().map(|texts| texts[column].chars().count());
            widths.max().unwrap_or(0)
        };
        let (positions, whats, tasks) = (widest(0), widest(1), widest(2));
        let leads = rows
            .iter()
            .map(|row| row.lead.chars().count())
            .max()
            .unwrap_or(0);
        let access_fits = 2 + leads + 1 + positions + 3 + whats <= LINE;
        let task_fits = 2 + leads + 1 + positions + 3 + whats + 4 + tasks <= LINE;
        for (row, [position, what, task]) in rows.iter().zip(&cleaned) {
            let mut line = format!(
                "  {} {position:<positions$}",
                self.painted(FRAME, &row.lead)
            );
            let mut below = Vec::new();
            if access_fits {
                line += &format!("   {what:<whats$}");
            } else {
                below.push(what);
            }
            if task_fits {
                line += &format!("    {task}");
            } else {
                below.push(task);
            }
            self.line(&line);
            let frame = self.painted(FRAME, &format!("{:<leads$}", row.below));
            for text in below {
                for (number, line) in fold(text, 2 + leads + 7).into_iter().enumerate() {
                    let inset = if number == 0 { "   " } else { "       " };
                    self.line(&format!("  {frame}{inset}{line}"));
                }
            }
        }
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
