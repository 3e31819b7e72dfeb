//! Runs the tests of one program, each in a process of its own, and prints what libtest would.
//!
//! As many run at once as libtest would have run. Results are printed in the order of the list whatever ends first, so that two
//! runs can be compared. A test with a race has failed, also if it passed.

use crate::findings::{Ended, Run};
use crate::libtest::{Arguments, Selection, Test, run_only};
use crate::options::Color;
use crate::process::{self, Checked};
use crate::report::{self, Judgement, Verdict};
use crate::session::Session;
use crate::transcript::Transcript;
use crate::{CARGO_FAILED, Problem};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

/// Runs the tests that the arguments select; the exit status is libtest's.
pub(crate) fn run(
    session: &Session,
    program: &Path,
    arguments: &[OsString],
) -> Result<u8, Problem> {
    let parsed = Arguments::read(arguments)?;
    if parsed.list || parsed.help {
        let mut command = process::unchecked(session, program, arguments);
        return Err(Problem::start(program, command.exec()));
    }
    let started = Instant::now();
    let selection = parsed.select(session, program)?;
    let mut printer = Printer::new(session, &parsed);
    printer.heading(&selection).map_err(Printer::problem)?;

    let mut tally = Tally::default();
    let mut failures = Vec::new();
    each_in_order(
        &selection.tests,
        parsed.test_threads().get(),
        |test| run_one(session, program, test),
        |test, result| {
            let Some(result) = result.transpose()? else {
                tally.ignored += 1;
                return printer.ignored(test).map_err(Printer::problem);
            };
            session.record(&result.run)?;
            tally.count(&result);
            printer.verdict(test, &result).map_err(Printer::problem)?;
            if !result.is_fine() || parsed.show_output {
                failures.push((test, result));
            }
            Ok(())
        },
    )?;
    printer.details(&failures).map_err(Printer::problem)?;
    printer
        .summary(&tally, selection.filtered_out, started)
        .map_err(Printer::problem)?;
    Ok(match tally.failed + tally.racing {
        0 => 0,
        _ => CARGO_FAILED,
    })
}

/// What came of one test.
struct Outcome {
    run: Run,
    judgement: Judgement,
    transcript: Transcript,
    passed: bool,
}

impl Outcome {
    fn races(&self) -> bool {
        matches!(self.judgement.verdict, Verdict::Races(_))
    }

    fn is_fine(&self) -> bool {
        self.passed && !self.races()
    }
}

/// Runs a test, unless it is ignored.
fn run_one(session: &Session, program: &Path, test: &Test) -> Option<Result<Outcome, Problem>> {
    (!test.ignored).then(|| {
        let (run, printed) = execute(session, program, &test.name)?;
        let judgement = report::judge(&run, &session.options)?;
        let transcript = Transcript::read(&printed, &test.name);
        Ok(Outcome {
            passed: run.ended == Ended::Exited(0) && transcript.passed == Some(true),
            run,
            judgement,
            transcript,
        })
    })
}

/// Both standard streams go to one file, so that their order is kept. A pipe would stay open as long as any process that the
/// test has left behind.
fn execute(session: &Session, program: &Path, test: &str) -> Result<(Run, Vec<u8>), Problem> {
    let mut checked = Checked::new(session, program, &run_only(test))?;
    let path = checked.folder.join("output");
    let failed = |error| Problem::write(&path, error);
    let file = File::create(&path).map_err(failed)?;
    let twin = file.try_clone().map_err(failed)?;
    checked
        .command
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(twin);
    let status = checked.command.status();
    let status = status.map_err(|error| Problem::start(program, error))?;
    let printed = fs::read(&path).map_err(|error| Problem::read(&path, error))?;
    Ok((checked.collect(Some(test), status)?, printed))
}

/// Does the work for all items on some threads, and hands each result on in the order of the items.
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
                // Nobody listens any more: something has gone wrong, and no further test need start.
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
        let number = match (outcome.passed, outcome.races()) {
            (_, true) => &mut self.racing,
            (true, false) => &mut self.passed,
            (false, false) => &mut self.failed,
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
        let (color, word, letter) = match (outcome.passed, outcome.judgement.verdict) {
            (true, Verdict::Races(_)) => (RED, "RACE", "R"),
            (false, Verdict::Races(_)) => (RED, "FAILED, RACE", "R"),
            (false, _) => (RED, "FAILED", "F"),
            (true, Verdict::Unchecked) => (YELLOW, "ok, unchecked", "u"),
            (true, Verdict::NothingFound | Verdict::NotParallel) => (GREEN, "ok", "."),
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
        let output = outcome.transcript.output.trim_end();
        let shown = !output.is_empty() && !self.show_live;
        let ended = (!outcome.passed).then(|| ending(outcome)).flatten();
        if shown || ended.is_some() {
            writeln!(self.stream, "\n---- {} output ----", test.name)?;
        }
        if shown {
            writeln!(self.stream, "{output}")?;
        }
        if let Some(ended) = ended {
            writeln!(self.stream, "{ended}")?;
        }
        if outcome.races() {
            writeln!(self.stream, "\n---- {} races ----", test.name)?;
            write!(self.stream, "{}", outcome.judgement.text)?;
        }
        Ok(())
    }

    fn summary(&mut self, tally: &Tally, filtered_out: usize, started: Instant) -> io::Result<()> {
        let Tally {
            passed,
            failed,
            racing,
            ignored,
        } = tally;
        let word = match failed + racing {
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

/// How a test ended that libtest has no words for.
fn ending(outcome: &Outcome) -> Option<String> {
    match (outcome.run.ended, outcome.transcript.passed) {
        (Ended::Killed { signal }, _) => Some(format!("the process was killed by signal {signal}")),
        (Ended::Exited(code), None) => Some(format!(
            "the test ended its process, with exit status {code}"
        )),
        (Ended::Exited(code), Some(true)) => Some(format!(
            "the test passed, but its process ended with exit status {code}"
        )),
        (Ended::Exited(_), Some(false)) => None,
    }
}

fn plural<'a>(number: usize, one: &'a str, many: &'a str) -> &'a str {
    match number {
        1 => one,
        _ => many,
    }
}
