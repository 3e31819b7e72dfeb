//! A native run for a person at a terminal, in the style of the other text reports: pairs, what stopped the run, then always what was
//! established, with what guarantee, and what would establish more.

use super::{trouble, words};
use crate::Style;
use crate::page::{BOLD, DIM, FRAME, LABEL, Page, RED, YELLOW, fold};
use crate::text::paint_of;
use crate::words::{MAY_FOLLOW_REMARK, count};
use finishline_answer::native::{
    Conflict, ConflictClass, NativeAccess, NativeRun, NativeSuite, Object, Stack,
};
use finishline_answer::verdict::Verdict;
use std::io;

pub(super) fn write(run: &NativeRun, style: Style, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = Page::new(style);
    page.native_run(run);
    out.write_all(page.text.as_bytes())
}

pub(super) fn write_suite(
    suite: &NativeSuite,
    style: Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = Page::new(style);
    for run in suite.runs.iter().filter(|run| is_noteworthy(run)) {
        if let Some(test) = &run.test {
            page.labelled("", "test", BOLD, test);
        }
        page.native_run(run);
        page.blank();
    }
    page.summary(suite);
    out.write_all(page.text.as_bytes())
}

pub(super) fn write_summary(
    suite: &NativeSuite,
    style: Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = Page::new(style);
    page.summary(suite);
    out.write_all(page.text.as_bytes())
}

/// A clean process among many is one of a number, whatever status of its own it ended with.
fn is_noteworthy(run: &NativeRun) -> bool {
    trouble(run).is_some() && !run.is_idle()
}

impl Page {
    fn native_run(&mut self, run: &NativeRun) {
        for conflict in &run.conflicts {
            self.conflict(conflict);
            self.blank();
        }
        let more = words::more(run);
        if let Some(more) = &more {
            self.folded("", more);
        }
        let bytes = run.statistics.racing_bytes;
        if bytes > 0 {
            self.labelled("", "racing bytes", BOLD, &bytes.to_string());
        }
        if more.is_some() || bytes > 0 {
            self.blank();
        }
        if let Some(stopped) = &run.stopped {
            self.labelled("", "stopped", YELLOW, &words::stopped(stopped));
            self.stack("    ", &stopped.stack);
            self.labelled("  ", "task", LABEL, &words::task(&stopped.task));
            self.blank();
        }
        if let Some(failure) = &run.failure {
            self.labelled("", "failed", RED, failure);
            self.blank();
        }
        self.native_closing(run);
    }

    fn conflict(&mut self, conflict: &Conflict) {
        let paint = match conflict.class {
            ConflictClass::Race => RED,
            ConflictClass::LockOrdered | ConflictClass::AtomicOrdered => YELLOW,
        };
        self.labelled("", conflict.class.word(), paint, &words::message(conflict));
        let [top, side, bottom] = if self.style.unicode {
            ["┌─", "│ ", "└─"]
        } else {
            [",-", "| ", "`-"]
        };
        let [first, second] = words::tasks(conflict);
        self.access(1, [top, side], &conflict.first, &first);
        self.access(2, [bottom, "  "], &conflict.second, &second);
        self.labelled("  ", "why parallel", LABEL, &words::why(conflict));
        if let Some(by) = &conflict.ordered_by {
            self.labelled("  ", "ordered by", LABEL, &words::ordered_by(by));
        }
        if let Some(origin) = words::origin(&conflict.object) {
            self.folded("  ", &origin);
        }
        if let Object::Heap { allocated, .. } = &conflict.object {
            self.stack("      ", allocated);
        }
        if conflict.locations > conflict.bytes {
            let bytes = count(conflict.locations, "byte", "bytes");
            self.folded("  ", &format!("the same at {bytes} in all"));
        }
        if conflict.may_follow {
            self.folded("  ", MAY_FOLLOW_REMARK);
        }
        if !conflict.replay.is_empty() {
            let replay = self.clean(&conflict.replay);
            let label = self.painted(LABEL, "replay");
            self.line(&format!("  {label}: {replay}"));
        }
    }

    fn access(&mut self, number: u32, [lead, below]: [&str; 2], access: &NativeAccess, task: &str) {
        let (lead, below) = (self.painted(FRAME, lead), self.painted(FRAME, below));
        let what = format!(
            "{}   ({number}) {}",
            words::site(&access.stack),
            words::access(access)
        );
        let what = self.clean(&what);
        self.line(&format!("  {lead} {what}"));
        let source = access.stack.place().map_or("", |place| &place.text);
        if !source.is_empty() {
            let source = self.clean(source);
            self.line(&format!("  {below}     {source}"));
        }
        let task = self.clean(&format!("task {task}"));
        for (number, line) in fold(&task, 12).into_iter().enumerate() {
            let inset = if number == 0 { "   " } else { "       " };
            self.line(&format!("  {below}{inset}{line}"));
        }
        self.stack(&format!("  {below}     "), &access.stack);
    }

    /// One line a frame; lines stay whole, to be clicked.
    fn stack(&mut self, indent: &str, stack: &Stack) {
        for line in words::stack(stack) {
            let line = self.clean(&line);
            self.line(&format!("{indent}{line}"));
        }
    }

    fn native_closing(&mut self, run: &NativeRun) {
        let verdict = run.verdict;
        self.labelled(
            "",
            verdict.word(),
            paint_of(verdict),
            verdict.native_meaning(),
        );
        // A race does not say that the run ended early.
        if run.failure.is_some() && verdict == Verdict::Race {
            self.labelled(
                "",
                Verdict::Trap.word(),
                RED,
                Verdict::Trap.native_meaning(),
            );
        }
        if let Some(limit) = run.because {
            self.labelled("", "because", BOLD, limit.because());
        }
        if let Some(unseen) = words::all_unseen(run.unseen.iter()) {
            self.labelled("", "unseen", BOLD, &unseen);
        }
        if let Some(suppressed) = words::suppressed(run) {
            self.labelled("", "suppressed", BOLD, &suppressed);
        }
        let guarantee = format!("{}, {}", run.detector, words::guarantee(run));
        self.labelled("", "guarantee", BOLD, &guarantee);
        if let Some(stronger) = words::stronger(run) {
            self.labelled("", "stronger", BOLD, stronger);
        }
        let ran = self.clean(&format!(
            "run: {}: {}",
            words::command(run),
            words::statistics(run)
        ));
        let ran = self.painted(DIM, &ran);
        self.line(&ran);
    }

    fn summary(&mut self, suite: &NativeSuite) {
        let mut counts = Vec::new();
        for verdict in Verdict::ALL {
            let with = suite
                .runs
                .iter()
                .filter(|run| run.verdict == verdict && !run.is_idle());
            match with.count() {
                0 => {}
                n => counts.push(format!("{n} {verdict}")),
            }
        }
        match suite.runs.iter().filter(|run| run.is_idle()).count() {
            0 => {}
            n => counts.push(format!("{n} with nothing parallel")),
        }
        let processes = count(suite.runs.len() as u64, "process", "processes");
        let counts = if counts.is_empty() {
            "nothing was checked".to_owned()
        } else {
            counts.join(", ")
        };
        self.labelled("", "summary", BOLD, &format!("{processes}: {counts}"));
        for run in &suite.runs {
            if is_noteworthy(run) {
                let name = run.test.as_ref().unwrap_or(&run.program);
                self.folded("  ", &format!("{}: {name}", run.verdict));
            }
        }
        let unseen = suite.runs.iter().flat_map(|run| &run.unseen);
        if let Some(unseen) = words::all_unseen(unseen) {
            self.labelled("", "unseen", BOLD, &unseen);
        }
        for note in &suite.notes {
            self.labelled("", "note", BOLD, note);
        }
    }
}
