//! The report for a person at a terminal: findings, the event that ended the run, watched accesses.
//! For a proof: remarks and kernels. The last part always says what was established, with which
//! guarantee, and what would establish more.
//!
//! Lines are folded at [`LINE`](crate::page::LINE) columns. Commands and stack frames stay in one
//! piece, so that they can be copied or clicked. Words longer than a line stay in one piece too.

use crate::bench::seconds;
use crate::page::{BOLD, DIM, FRAME, GREEN, LABEL, Page, RED, YELLOW, fold};
use crate::rows::Row;
use crate::words::finding::{self as pair, APPARENT_REMARK, MAY_FOLLOW_REMARK};
use crate::words::{self, count, deadlock, position, proof, task};
use crate::{Selection, Style, is_noteworthy};
use anstyle::Style as Paint;
use finishline_answer::answer::{About, Answer, Check, Failure, Suite, Watch};
use finishline_answer::claim::Witness;
use finishline_answer::finding::{Finding, FoundAccess, Rule};
use finishline_answer::location::{Bytes, Location, Object};
use finishline_answer::place::Place;
use finishline_answer::process::{Process, UNCHECKED_REMARK};
use finishline_answer::proof::{Dataflow, Kernel, Proof, ReadSources, Remark};
use finishline_answer::task::Stack;
use finishline_answer::verdict::Verdict;
use std::collections::BTreeSet;
use std::io;

/// The most names in a list.
const NAMES: usize = 12;
/// The most reasons of a kernel, and the most remarks, in a list.
const LISTED: usize = 12;

pub(crate) fn write(
    answer: &Answer,
    selection: Selection,
    style: Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = Page::new(style);
    page.answer(answer, selection);
    out.write_all(page.text.as_bytes())
}

pub(crate) fn write_suite(suite: &Suite, style: Style, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = Page::new(style);
    for answer in suite.answers.iter().filter(|answer| is_noteworthy(answer)) {
        if let Some(test) = answer.process().and_then(|process| process.test.as_ref()) {
            page.labelled("", "test", BOLD, test);
        }
        page.answer(answer, Selection::default());
        page.blank();
    }
    page.suite(suite);
    out.write_all(page.text.as_bytes())
}

pub(crate) fn write_summary(
    suite: &Suite,
    style: Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = Page::new(style);
    page.suite(suite);
    out.write_all(page.text.as_bytes())
}

/// Writes the failure of a program that was only run.
pub(crate) fn write_failure(
    failure: &Failure,
    style: Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = Page::new(style);
    page.failure(failure);
    out.write_all(page.text.as_bytes())
}

/// The colour of a verdict.
fn paint_of(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Proved | Verdict::Certified | Verdict::Explored => GREEN,
        Verdict::CertifiedOrder | Verdict::Observed | Verdict::Apparent | Verdict::Unknown => {
            YELLOW
        }
        Verdict::Race | Verdict::Trap | Verdict::Deadlock => RED,
    }
}

/// The place, the access, and a detail.
fn row(lead: &str, below: &'static str, place: &Place, what: String, detail: String) -> Row {
    Row {
        lead: lead.to_owned(),
        below,
        position: position(place),
        what,
        detail,
        further: None,
    }
}

impl Page {
    fn answer(&mut self, answer: &Answer, selection: Selection) {
        let shown = answer.findings.len().min(selection.max_findings);
        for finding in &answer.findings[..shown] {
            self.finding(answer, finding);
            self.blank();
        }
        self.in_all(answer, shown);
        match &answer.about {
            About::Process(Process {
                stopped: Some(stopped),
                ..
            }) => {
                self.labelled("", "stopped", YELLOW, &words::stopped(stopped));
                self.stack("    ", &stopped.stack);
                self.labelled("  ", "task", LABEL, &task::task(&stopped.task));
                self.blank();
            }
            About::Check(_) | About::Process(_) => {}
            About::Proof(proof) => self.proof(proof, selection),
        }
        if let Some(failure) = &answer.failure {
            self.failure(failure);
            self.blank();
        }
        if let Some(Check {
            watched: Some(watch),
            ..
        }) = answer.check()
        {
            self.watch(watch);
            self.blank();
        }
        self.closing(answer);
    }

    fn finding(&mut self, answer: &Answer, finding: &Finding) {
        let paint = match finding.rule {
            Rule::Race | Rule::UseAfterFree => RED,
            Rule::Apparent
            | Rule::Unconfirmed
            | Rule::IsolationOrdered
            | Rule::LockOrdered
            | Rule::AtomicOrdered
            | Rule::ThreadOrdered => YELLOW,
        };
        self.labelled("", finding.rule.word(), paint, &pair::message(finding));
        self.accesses(finding);
        if let Some(why) = pair::why(finding) {
            self.labelled("  ", "why parallel", LABEL, &why);
        }
        if finding.rule == Rule::Apparent {
            let decide = match words::stronger(answer) {
                Some(_) => ": see `stronger` below",
                None => "",
            };
            let text = format!("{APPARENT_REMARK}{decide}");
            self.labelled("  ", "why apparent", LABEL, &text);
        }
        if let Some(by) = &finding.ordered_by {
            self.labelled("  ", "ordered by", LABEL, &pair::ordered_by(by));
        }
        if let Some(origin) = pair::origin(finding) {
            self.folded("  ", &origin);
        }
        if let Location::Bytes(Bytes {
            object: Object::Heap { allocated, .. },
            ..
        }) = &finding.location
        {
            self.stack("      ", allocated);
        }
        if let Some(elsewhere) = pair::elsewhere(finding, NAMES) {
            self.folded("  ", &elsewhere);
        }
        if finding.may_follow {
            self.folded("  ", MAY_FOLLOW_REMARK);
        }
        self.replay(&finding.replay);
        if let (Some(claim), Some(proof)) = (&finding.claim, answer.proof()) {
            if let Some(benign) = claim.benign {
                self.labelled("  ", "benign", LABEL, &proof::benign(benign));
            }
            if let Some(witness) = &claim.witness {
                self.witness(proof, witness);
            }
        }
    }

    fn witness(&mut self, proof: &Proof, witness: &Witness) {
        let case = proof::case(proof, witness);
        let run = proof::confirmation(&witness.confirmation);
        let text = format!("{case}; {run}");
        self.labelled("  ", proof::kind_of_case(witness), LABEL, &text);
        self.replay(&witness.replay);
    }

    fn replay(&mut self, command: &str) {
        if !command.is_empty() {
            self.command("replay", command);
        }
    }

    /// Adds a command, in one piece.
    fn command(&mut self, label: &str, command: &str) {
        let command = self.clean(command);
        let label = self.painted(LABEL, label);
        self.line(&format!("  {label}: {command}"));
    }

    /// The two accesses: in columns, or with their stacks if they have any.
    fn accesses(&mut self, finding: &Finding) {
        let accesses = [&finding.first, &finding.second];
        let by = pair::by_both(finding);
        let [top, side, bottom] = self.frame();
        if finding.first.machine.is_some() {
            let [first, second] = &by;
            self.stacked(1, [top, &format!("{side} ")], accesses[0], first);
            self.stacked(2, [bottom, "  "], accesses[1], second);
            return;
        }
        let leads = [(top, side), (bottom, "")];
        let rows = (1..).zip(leads).zip(accesses).zip(by);
        let rows = rows.filter_map(|(((number, (lead, below)), access), by)| {
            let what = format!("({number}) {}", pair::access(access));
            Some(row(lead, below, access.place()?, what, by))
        });
        let rows: Vec<Row> = rows.collect();
        self.rows(&rows);
    }

    /// An access of a process: place, access, source, task, and stack.
    fn stacked(&mut self, number: u32, [lead, below]: [&str; 2], access: &FoundAccess, by: &str) {
        let (lead, below) = (self.painted(FRAME, lead), self.painted(FRAME, below));
        let (site, what) = (task::site(&access.stack), pair::access(access));
        let what = self.clean(&format!("{site}   ({number}) {what}"));
        self.line(&format!("  {lead} {what}"));
        let source = access.place().map_or("", |place| &place.text);
        if !source.is_empty() {
            let source = self.clean(source);
            self.line(&format!("  {below}     {source}"));
        }
        let by = self.clean(by);
        for (number, line) in fold(&by, 12).into_iter().enumerate() {
            let inset = if number == 0 { "   " } else { "       " };
            self.line(&format!("  {below}{inset}{line}"));
        }
        self.stack(&format!("  {below}     "), &access.stack);
    }

    /// One line for each frame. Lines are not folded, so that they can be clicked.
    fn stack(&mut self, indent: &str, stack: &Stack) {
        for line in task::stack(stack) {
            let line = self.clean(&line);
            self.line(&format!("{indent}{line}"));
        }
    }

    /// The number of pairs and racing locations besides those shown.
    fn in_all(&mut self, answer: &Answer, shown: usize) {
        let before = self.text.len();
        if let Some(more) = words::more(answer, shown) {
            self.folded("", &more);
        }
        match &answer.about {
            About::Check(check) if check.racing_locations.count > 0 => {
                let racing = &check.racing_locations;
                let label = format!("racing locations ({})", racing.count);
                self.labelled("", &label, BOLD, &words::names(racing, NAMES));
            }
            About::Process(process) if process.statistics.racing_bytes > 0 => {
                let bytes = process.statistics.racing_bytes.to_string();
                self.labelled("", "racing bytes", BOLD, &bytes);
            }
            _ => {}
        }
        if self.text.len() > before {
            self.blank();
        }
    }

    fn failure(&mut self, failure: &Failure) {
        self.labelled("", "failed", RED, &words::failure(failure));
        let width = deadlock::number(failure.waiting.len()).len();
        let rows = deadlock::points(failure).enumerate().map(|(index, at)| {
            let lead = match failure.is_deadlock() {
                true => format!("{:>width$}", deadlock::number(index)),
                false => "at".to_owned(),
            };
            let task = format!("task {}", task::task(&at.task));
            Row {
                further: deadlock::waits(at, index),
                ..row(&lead, "", &at.place, at.place.text.clone(), task)
            }
        });
        let rows: Vec<Row> = rows.collect();
        self.rows(&rows);
        if let Some(near) = &failure.near {
            let text = near.text.clone();
            self.rows(&[row("at", "", near, text, String::new())]);
        }
        if let Some(command) = &failure.unchecked {
            self.folded("  ", UNCHECKED_REMARK);
            self.command("without checks", command);
        }
        if let Some(schedule) = &failure.schedule {
            self.labelled("  ", words::SCHEDULE, LABEL, schedule);
        }
        if let Some(cycle) = deadlock::cycle(failure) {
            self.labelled("  ", "cycle", LABEL, &cycle);
        }
    }

    fn watch(&mut self, watch: &Watch) {
        let accesses = count(watch.count, "access", "accesses");
        let order = match watch.count {
            0 | 1 => "",
            _ => " in the order of the run",
        };
        let text = format!("{}, {accesses}{order}", watch.location);
        self.labelled("", "watch", BOLD, &text);
        let width = watch.accesses.len().to_string().len();
        let rows = (1..).zip(&watch.accesses).filter_map(|(number, access)| {
            let lead = format!("{number:>width$}");
            let (what, by) = (pair::access(access), pair::by(access));
            Some(row(&lead, "", access.place()?, what, by))
        });
        let rows: Vec<Row> = rows.collect();
        self.rows(&rows);
        let more = watch.count.saturating_sub(watch.accesses.len() as u64);
        if more > 0 {
            self.folded("  ", &format!("… and {more} more"));
        }
    }

    /// Remarks, producers if asked for, and every kernel.
    fn proof(&mut self, proof: &Proof, selection: Selection) {
        for remark in proof.remarks.iter().take(LISTED) {
            self.remark(remark);
            self.blank();
        }
        let left = proof.remarks.len().saturating_sub(LISTED);
        if left > 0 {
            let more = count(left as u64, "more remark", "more remarks");
            self.folded("", &format!("and {more}"));
            self.blank();
        }
        if selection.sources {
            for read in &proof.sources {
                self.sources(read);
                self.blank();
            }
        }
        if proof.dataflow == Dataflow::CutShort {
            self.labelled("", "cut short", YELLOW, proof::CUT_SHORT);
            self.blank();
        }
        self.kernels(proof);
    }

    fn remark(&mut self, remark: &Remark) {
        self.labelled("", "remark", BOLD, &proof::remark(remark));
        let text = remark.place.text.clone();
        self.rows(&[row("at", "", &remark.place, text, String::new())]);
    }

    fn sources(&mut self, read: &ReadSources) {
        let (location, at) = (&read.location, position(&read.place));
        self.labelled("", "sources", BOLD, &format!("{location} at {at} reads"));
        let rows: Vec<Row> = (read.sources.iter())
            .map(|source| {
                let condition = proof::when(&source.condition);
                match &source.write {
                    Some(place) => {
                        let instance = proof::instance(&source.instance);
                        let what = format!("{} {instance}", place.text);
                        row("-", "", place, what.trim_end().to_owned(), condition)
                    }
                    None => Row {
                        lead: "-".to_owned(),
                        below: "",
                        position: "the starting value".to_owned(),
                        what: String::new(),
                        detail: condition,
                        further: None,
                    },
                }
            })
            .collect();
        self.rows(&rows);
    }

    /// A line for each kernel, in aligned columns, and below it why it is undecided.
    fn kernels(&mut self, proof: &Proof) {
        let labels: Vec<String> = (proof.kernels.iter())
            .map(|kernel| self.clean(&proof::kernel(kernel)))
            .collect();
        let widest = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or(0);
        let labelled = widest(&mut labels.iter().map(|label| label.chars().count()));
        let said = widest(&mut (proof.kernels.iter()).map(|kernel| kernel.verdict.word().len()));
        for (kernel, label) in proof.kernels.iter().zip(&labels) {
            let verdict = format!("{:<said$}", kernel.verdict);
            let verdict = self.painted(paint_of(kernel.verdict), &verdict);
            let compared = proof::compared(kernel.accesses as u64, kernel.pairs as u64);
            let time = self.clean(&seconds(kernel.time.as_secs_f64()));
            self.line(&format!(
                "{verdict}  {label:<labelled$}   {compared}, {time}"
            ));
            self.reasons(kernel);
        }
        if !proof.kernels.is_empty() {
            self.blank();
        }
    }

    fn reasons(&mut self, kernel: &Kernel) {
        for reason in kernel.reasons.iter().take(LISTED) {
            let text = format!("{}: {}", position(&reason.place), proof::reason(reason));
            self.labelled("  ", "why", LABEL, &text);
        }
        let left = kernel.reasons.len().saturating_sub(LISTED);
        if left > 0 {
            let more = count(left as u64, "more reason", "more reasons");
            self.folded("  ", &format!("and {more}"));
        }
        let kinds: BTreeSet<_> = kernel.reasons.iter().map(|reason| reason.kind).collect();
        for kind in kinds {
            self.labelled("  ", "help", LABEL, kind.help());
        }
    }

    fn closing(&mut self, answer: &Answer) {
        let verdict = answer.verdict;
        let range = words::stated_range(answer);
        let meaning = words::meaning(answer);
        self.verdict(verdict.word(), range.as_deref(), paint_of(verdict), meaning);
        if let Some(failed) = words::failed_too(answer) {
            self.labelled("", failed.word(), RED, failed.meaning_besides());
        }
        if let Some(limit) = answer.because() {
            self.labelled("", "because", BOLD, limit.because());
        }
        if let Some(started) = words::all_started(answer.process().into_iter()) {
            self.labelled("", "threads", BOLD, &started);
        }
        if let Some(unseen) = words::all_unseen(answer.process().into_iter()) {
            self.labelled("", "unseen", BOLD, &unseen);
        }
        if let Some(suppressed) = words::suppressed(answer) {
            self.labelled("", "suppressed", BOLD, &suppressed);
        }
        if let Some(known) = words::known(answer) {
            self.labelled("", "known", BOLD, &known);
        }
        self.labelled("", "guarantee", BOLD, &words::guarantee_by(answer));
        if let Some(code) = words::unsafe_code::of_process(answer) {
            self.labelled("", "unsafe", BOLD, &code);
        }
        if let Some(stronger) = words::stronger(answer) {
            self.labelled("", "stronger", BOLD, &stronger);
        }
        if let Some(orders) = words::orders(answer) {
            self.labelled("", "orders", BOLD, &orders);
        }
        if let Some((states, details)) = words::determinacy(answer) {
            self.labelled("", "final states", BOLD, &states);
            for (label, detail) in details {
                self.labelled("  ", label, LABEL, &detail);
            }
        }
        let (command, statistics) = (words::command(answer), words::statistics(answer));
        let line = match answer.proof() {
            Some(proof) => {
                let time = seconds(proof.time.as_secs_f64());
                format!("prove: {command}: {statistics}, {time}")
            }
            None => format!("run: {command}: {statistics}"),
        };
        let line = self.clean(&line);
        let line = self.painted(DIM, &line);
        self.line(&line);
    }

    fn suite(&mut self, suite: &Suite) {
        self.labelled("", "summary", BOLD, &words::suite(suite));
        for answer in suite.answers.iter().filter(|answer| is_noteworthy(answer)) {
            let name = answer.process_name();
            self.folded("  ", &format!("{}: {name}", answer.verdict));
        }
        let processes = suite.answers.iter().filter_map(Answer::process);
        if let Some(started) = words::all_started(processes.clone()) {
            self.labelled("", "threads", BOLD, &started);
        }
        if let Some(unseen) = words::all_unseen(processes) {
            self.labelled("", "unseen", BOLD, &unseen);
        }
        if let Some(code) = words::unsafe_code::of_suite(suite) {
            self.labelled("", "unsafe", BOLD, &code);
        }
        for note in words::notes(suite) {
            self.labelled("", "note", BOLD, &note);
        }
    }
}
