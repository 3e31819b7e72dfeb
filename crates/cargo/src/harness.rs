//! Runs the tests of one program, each in its own process, and prints what libtest would print.
//!
//! As many tests run at once as libtest would run. Results are printed in the order of the list,
//! whichever test ends first, so two runs can be compared. What a test that is fine has printed is
//! dropped at once, unless it is to be shown. A test with a race fails, even if it passed by
//! itself.

use crate::course::{Event, Selected};
use crate::libtest::{Arguments, Selection, Test};
use crate::options::Color;
use crate::progress::Progress;
use crate::report::{Reporter, Standing};
use crate::run::{self, CutShort};
use crate::session::Session;
use crate::single_test::{self, Outcome};
use crate::ward::Ward;
use crate::{CARGO_FAILED, Problem, process};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

/// Runs the tests that the arguments select. The exit status is libtest's.
pub(crate) fn run(
    session: &Session,
    ward: &Ward,
    program: &Path,
    arguments: &[OsString],
) -> Result<u8, Problem> {
    let parsed = Arguments::read(arguments)?;
    if parsed.list || parsed.help {
        session.record(&Event::OnlyAsked)?;
        let mut command = process::unchecked(session, program, arguments);
        return Err(Problem::start(program, command.exec()));
    }
    let name = run::name_of(program);
    let interrupted = |test: Option<&Test>| {
        session.record(&Event::Interrupted {
            program: name.clone(),
            test: test.map(|test| test.name.clone()),
        })
    };
    let started = Instant::now();
    let selection = match parsed.select(session, program) {
        Ok(selection) if !ward.is_interrupted() => selection,
        Err(problem) if !ward.is_interrupted() => return Err(problem),
        // The terminal's interrupt has ended the program before it could list its tests.
        _ => return interrupted(None).map(|()| CARGO_FAILED),
    };
    let ignored = selection.tests.iter().filter(|test| test.ignored);
    session.record(&Event::Selected(Selected {
        program: name.clone(),
        ignored: ignored.map(|test| test.name.clone()).collect(),
        filtered_out: selection.filtered_out,
        elsewhere: selection.elsewhere,
    }))?;
    let reporter = Reporter::new(session)?;
    let mut printer = Printer::new(session, &parsed);
    printer.heading(&selection).map_err(Printer::problem)?;

    let is_shown = parsed.show_output || parsed.nocapture;
    let to_run = selection.tests.iter().filter(|test| !test.ignored);
    let progress = match printer.terse || session.options.quiet {
        true => Progress::hidden(),
        false => Progress::of_tests(to_run.count()),
    };
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    each_in_order(
        &selection.tests,
        parsed.test_threads(session.options.test_threads).get(),
        |test| {
            // Of two causes not to run a test the user's own matters less.
            let is_run = !test.ignored && !ward.is_interrupted();
            is_run.then(|| {
                progress.starts(&test.name);
                let outcome = single_test::run(session, &reporter, ward, program, &test.name);
                let mut outcome = outcome.inspect_err(|_| progress.ends(&test.name, None))?;
                progress.ends(&test.name, Some(&outcome));
                if outcome.is_fine() && !is_shown {
                    outcome.transcript.output = String::new();
                }
                Ok(outcome)
            })
        },
        |test, result: Option<Result<Outcome, Problem>>| {
            let Some(result) = result.transpose()? else {
                if !test.ignored {
                    return interrupted(Some(test));
                }
                tally.ignored += 1;
                let printed = progress.aside(|| printer.ignored(test));
                return printed.map_err(Printer::problem);
            };
            session.record(&Event::told(result.run.clone(), result.told.clone()))?;
            tally.count(&result);
            let printed = progress.aside(|| printer.verdict(test, &result));
            printed.map_err(Printer::problem)?;
            if !result.is_fine() || parsed.show_output {
                failures.push((test, result));
            }
            Ok(())
        },
    )?;
    progress.is_over();
    printer.details(&failures).map_err(Printer::problem)?;
    let not_here = selection.filtered_out + selection.elsewhere;
    printer
        .summary(&tally, not_here, ward.is_interrupted(), started)
        .map_err(Printer::problem)?;
    Ok(match tally.failed + tally.racing {
        0 if !ward.is_interrupted() => 0,
        _ => CARGO_FAILED,
    })
}

/// Processes all items on some threads and hands on each result in the order of the items.
fn each_in_order<'a, T: Sync, R: Send, E>(
    items: &'a [T],
    threads: usize,
    work: impl Fn(&'a T) -> R + Sync,
    mut done: impl FnMut(&'a T, R) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                // The receiver is gone because something has gone wrong. Start no further test.
                while let Some((at, item)) = take(items, next)
                    && sender.send((at, work(item))).is_ok()
                {}
            });
        }
        drop(sender);
        let mut waiting: Vec<Option<R>> = items.iter().map(|_| None).collect();
        let mut printed = 0;
        for (at, result) in receiver {
            waiting[at] = Some(result);
            while let Some(result) = waiting.get_mut(printed).and_then(Option::take) {
                done(&items[printed], result)?;
                printed += 1;
            }
        }
        Ok(())
    })
}

fn take<'a, T>(items: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    items.get(at).map(|item| (at, item))
}

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    racing: usize,
    ignored: usize,
}

impl Tally {
    fn count(&mut self, outcome: &Outcome) {
        let number = match (outcome.passed, outcome.standing) {
            (_, Standing::Races) => &mut self.racing,
            (true, Standing::UsedAfterFree) => &mut self.failed,
            (true, _) => &mut self.passed,
            (false, _) if outcome.run.cut_short == Some(CutShort::Interrupt) => return,
            (false, _) => &mut self.failed,
        };
        *number += 1;
    }
}

/// Prints as libtest does.
struct Printer {
    stream: Box<dyn Write>,
    color: bool,
    show_passing: bool,
    show_live: bool,
    terse: bool,
}

const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";

impl Printer {
    fn new(session: &Session, arguments: &Arguments) -> Printer {
        let (stream, terminal): (Box<dyn Write>, bool) =
            match session.options.report_on_standard_output() {
                true => (Box::new(io::stderr()), io::stderr().is_terminal()),
                false => (Box::new(io::stdout()), io::stdout().is_terminal()),
            };
        Printer {
            stream,
            color: match (session.options.color, arguments.color.as_deref()) {
                (Color::Always, _) | (Color::Auto, Some("always")) => true,
                (Color::Never, _) | (Color::Auto, Some("never")) => false,
                (Color::Auto, _) => terminal,
            },
            show_passing: arguments.show_output,
            show_live: arguments.nocapture,
            terse: arguments.quiet || session.options.quiet,
        }
    }

    fn problem(error: io::Error) -> Problem {
        Problem::new(format!("can't write the results of tests: {error}"))
    }

    fn colored(&self, color: &str, word: &str) -> String {
        match self.color {
            true => format!("{color}{word}\x1b[0m"),
            false => word.to_owned(),
        }
    }

    fn heading(&mut self, selection: &Selection) -> io::Result<()> {
        let number = selection.tests.len();
        writeln!(
            self.stream,
            "\nrunning {number} {}",
            plural(number, "test", "tests")
        )
    }

    fn ignored(&mut self, test: &Test) -> io::Result<()> {
        let word = self.colored(YELLOW, "ignored");
        match self.terse {
            true => write!(self.stream, "i"),
            false => writeln!(self.stream, "test {} ... {word}", test.name),
        }
    }

    fn verdict(&mut self, test: &Test, outcome: &Outcome) -> io::Result<()> {
        let (color, word, letter) = match (outcome.passed, outcome.standing) {
            (true, Standing::Races) => (RED, "RACE", "R"),
            (false, Standing::Races) => (RED, "FAILED, RACE", "R"),
            (_, Standing::Stopped) => match outcome.run.cut_short {
                Some(CutShort::TimeLimit) => (RED, "TIMED OUT", "T"),
                Some(CutShort::Interrupt) => (YELLOW, "INTERRUPTED", "I"),
                None => (RED, "STOPPED", "S"),
            },
            (_, Standing::UsedAfterFree) => (RED, "FAILED, USE AFTER FREE", "F"),
            (false, _) => (RED, "FAILED", "F"),
            (true, Standing::Unchecked) => (YELLOW, "ok, unchecked", "u"),
            (true, Standing::NothingFound) => (GREEN, "ok", "."),
        };
        let word = self.colored(color, word);
        let live = match self.show_live {
            true => outcome.transcript.output.as_str(),
            false => "",
        };
        match self.terse {
            true => write!(self.stream, "{live}{letter}")?,
            false => writeln!(self.stream, "test {} ... {live}{word}", test.name)?,
        }
        self.stream.flush()
    }

    fn details(&mut self, shown: &[(&Test, Outcome)]) -> io::Result<()> {
        let (fine, bad): (Vec<_>, Vec<_>) =
            shown.iter().partition(|(_, outcome)| outcome.is_fine());
        for (title, outcomes) in [("successes", fine), ("failures", bad)] {
            if outcomes.is_empty() || (title == "successes" && !self.show_passing) {
                continue;
            }
            writeln!(self.stream, "\n{title}:")?;
            for (test, outcome) in &outcomes {
                self.detail(test, outcome)?;
            }
            writeln!(self.stream, "\n{title}:")?;
            for (test, _) in &outcomes {
                writeln!(self.stream, "    {}", test.name)?;
            }
        }
        Ok(())
    }

    fn detail(&mut self, test: &Test, outcome: &Outcome) -> io::Result<()> {
        let output = match self.show_live {
            true => "",
            false => outcome.transcript.output.trim_end(),
        };
        let failure = outcome.unshown_failure();
        if !output.is_empty() || failure.is_some() {
            writeln!(self.stream, "\n---- {} output ----", test.name)?;
            for text in [output, failure.unwrap_or_default()] {
                if !text.is_empty() {
                    writeln!(self.stream, "{text}")?;
                }
            }
        }
        if let Some((remark, command)) = &outcome.hint {
            writeln!(self.stream, "\n---- {} hint ----", test.name)?;
            writeln!(self.stream, "{remark}:\n{command}")?;
        }
        if !outcome.report.is_empty() {
            writeln!(self.stream, "\n---- {} report ----", test.name)?;
            self.stream.write_all(&outcome.report)?;
        }
        Ok(())
    }

    fn summary(
        &mut self,
        tally: &Tally,
        filtered_out: usize,
        interrupted: bool,
        started: Instant,
    ) -> io::Result<()> {
        let Tally {
            passed,
            failed,
            racing,
            ignored,
        } = tally;
        let word = match failed + racing {
            _ if interrupted => self.colored(YELLOW, "INTERRUPTED"),
            0 => self.colored(GREEN, "ok"),
            _ => self.colored(RED, "FAILED"),
        };
        let seconds = started.elapsed().as_secs_f64();
        writeln!(
            self.stream,
            "\ntest result: {word}. {passed} passed; {failed} failed; {racing} with races; {ignored} ignored; {filtered_out} filtered out; finished in {seconds:.2}s\n"
        )?;
        self.stream.flush()
    }
}

fn plural<'a>(number: usize, one: &'a str, many: &'a str) -> &'a str {
    match number {
        1 => one,
        _ => many,
    }
}
