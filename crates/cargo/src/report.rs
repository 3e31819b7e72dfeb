//! Makes reports from runs: an answer for the findings of each process, and one document about all
//! of them.
//!
//! `finishline-symbols` and `finishline-report` decide what is established and in which words. This
//! file puts the parts together. A process that left no findings is never skipped: its verdict is
//! that nothing is known.

use crate::Problem;
use crate::course::{Concluded, Course};
use crate::options::{Color, Format, Options, Subcommand};
use crate::orders::{Ran, Shown};
use crate::run::{CutShort, Run};
use crate::session::Session;
use crate::unsafe_code;
use finishline_answer::answer::About;
use finishline_answer::baseline::{Baseline, KnownRace};
use finishline_answer::exit_status::{has_findings, has_use_after_free, suite_exit_status};
use finishline_answer::finding::{Suppressed, SuppressionEntry};
use finishline_answer::partition::{self, Partition};
use finishline_answer::process::Limit;
use finishline_answer::suppressions::Suppressions;
use finishline_answer::unsafe_code::UnsafeCode;
use finishline_answer::{Answer, Suite, Verdict};
use finishline_model::kinds::rayon::Division;
use finishline_report::{Selection, Style};
use finishline_symbols::{Executables, Findings, Position, ProgramsUnsafe, Question, Unseen};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What is known about a run, for the results of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Races,
    UsedAfterFree,
    NothingFound,
    /// The run was ended: a task waits in vain, its time was over, or the user interrupted.
    Stopped,
    /// Findings are missing or cut short.
    Unchecked,
}

/// Describes runs in the user's words.
pub(crate) struct Reporter<'a> {
    session: &'a Session,
    /// By their files.
    suppressions: BTreeMap<PathBuf, Suppressions>,
    baseline: Option<Baseline>,
    executables: Executables,
    /// The unsafe code of programs, as far as it is known.
    unsafe_code: Mutex<BTreeMap<PathBuf, Option<ProgramsUnsafe>>>,
}

/// A run in the user's words: its own answer and those of instrumented processes that it started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) processes: Vec<Answer>,
    /// Notes about missing findings, in sentences.
    notes: Vec<String>,
}

impl<'a> Reporter<'a> {
    pub(crate) fn new(session: &'a Session) -> Result<Reporter<'a>, Problem> {
        let configured = session.configured.iter();
        let of_packages = configured.filter_map(|it| session.suppressions(&it.folder));
        let files = of_packages.chain(session.options.suppressions.as_deref());
        let mut suppressions = BTreeMap::new();
        for file in files {
            suppressions.insert(file.to_owned(), read_suppressions(file)?);
        }
        Ok(Reporter {
            session,
            suppressions,
            baseline: read_baseline(&session.options)?,
            executables: Executables::default(),
            unsafe_code: Mutex::default(),
        })
    }

    /// Whether conflicts that are no races are listed too, and how many of either kind.
    pub(crate) fn listed(&self) -> (bool, usize) {
        let options = &self.session.options;
        (options.determinacy, options.max_races)
    }

    /// Notes something that is no part of a report.
    pub(crate) fn note(&self, sentence: &str) {
        if !self.session.options.quiet {
            // If it can't be written, there is nothing left to do.
            let _ = writeln!(io::stderr().lock(), "note: {sentence}");
        }
    }

    /// The operations that the instrumentation left out of a process.
    pub(crate) fn unseen(&self, findings: &Findings) -> Unseen {
        let directory = Path::new(&self.session.command.directory);
        self.executables.unseen(findings, directory)
    }

    /// The unsafe code of a process's program, if it is known.
    pub(crate) fn unsafe_code(&self, findings: &Findings) -> Option<Vec<UnsafeCode>> {
        let mut programs = self
            .unsafe_code
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let path = PathBuf::from(&findings.executable);
        let of_program = || unsafe_code::of_program(&path).map(ProgramsUnsafe::new);
        let program = programs.entry(path.clone()).or_insert_with(of_program);
        let directory = Path::new(&self.session.command.directory);
        Some(program.as_mut()?.reached(findings, directory))
    }

    /// Asks about a run. `failure` says how it failed, if it did.
    pub(crate) fn asking<T>(
        &self,
        run: &Run,
        failure: Option<&str>,
        ask: impl FnOnce(Question) -> T,
    ) -> T {
        let panicked = run.panicked.as_ref().map(|at| Position {
            // The compiler names files from the workspace's folder on.
            file: self
                .session
                .workspace
                .join(&at.file)
                .to_string_lossy()
                .into_owned(),
            line: at.line,
            column: at.column,
        });
        ask(Question {
            directory: &self.session.command.directory,
            program: &run.program_name(),
            test: run.test.as_deref(),
            replay: &self
                .session
                .command
                .replay(run.test.as_deref(), run.order()),
            failure,
            panicked: panicked.as_ref(),
            executable: &run.program.to_string_lossy(),
            unchecked: &self.session.command.unchecked(run.test.as_deref()),
            status: run.ended.status(),
            suppressions: (self.session.suppressions(&run.package))
                .and_then(|file| self.suppressions.get(file)),
            baseline: self.baseline.as_ref(),
            cut_short: run.cut_short.map(CutShort::limit),
            unseen: Unseen::default(),
            unsafe_code: None,
        })
    }

    /// Describes a run. `failure` says how it failed, if it did.
    pub(crate) fn tell(&self, run: &Run, failure: Option<&str>) -> Told {
        self.asking(run, failure, |question| self.told(run, &question))
    }

    fn told(&self, run: &Run, question: &Question) -> Told {
        let name = question.program;
        let mut told = Told {
            processes: Vec::new(),
            notes: Vec::new(),
        };
        if !run.checked && run.failure.is_none() {
            told.notes.push(format!(
                "the unit tests of {name} are not checked: it has procedural macros, which run in \
                 the compiler"
            ));
            return told;
        }
        let mut heard = false;
        for path in &run.findings {
            let findings = match finishline_symbols::read(path) {
                Ok(findings) => findings,
                Err(unusable) => {
                    told.notes
                        .push(format!("{}: {unusable}", run_name(name, run)));
                    continue;
                }
            };
            let is_run_itself =
                Path::new(&findings.executable).file_name() == run.program.file_name();
            heard |= is_run_itself;
            // For a process that the run started, neither its ending nor the user's name for it is
            // known.
            let question = match is_run_itself {
                true => question.clone(),
                false => Question {
                    program: "",
                    failure: None,
                    status: 0,
                    ..question.clone()
                },
            };
            let question = Question {
                unseen: self.unseen(&findings),
                unsafe_code: self.unsafe_code(&findings),
                ..question
            };
            let answer = finishline_symbols::symbolise(&findings, &question);
            told.processes.push(answer);
        }
        told.in_orders(run.orders);
        if !heard {
            told.processes.push(finishline_symbols::unheard(question));
        }
        told
    }

    /// Reports all runs of the session and returns the exit status.
    pub(crate) fn conclude(&self, course: &Course) -> Result<u8, Problem> {
        let mut suite = Suite {
            command: self.session.command.words(),
            not_run: course.not_run.clone(),
            interrupted: course.interrupted && self.session.subcommand.tests(),
            partition: self.partition(),
            elsewhere: course.elsewhere as u64,
            ..Suite::default()
        };
        let mut runs: Vec<&Concluded> = course.runs.iter().collect();
        if self.session.subcommand == Subcommand::Nextest {
            // They ended in any order.
            runs.sort_by_cached_key(|Concluded { run, .. }| {
                (run.package.clone(), run.program_name(), run.test.clone())
            });
        }
        for Concluded { run, told } in runs {
            let told = told.clone();
            let told = told.unwrap_or_else(|| self.tell(run, run.failure.as_deref()));
            suite.answers.extend(told.processes);
            suite.notes.extend(told.notes);
            if self.session.subcommand == Subcommand::Test {
                suite.survey();
            }
        }
        if self.session.subcommand.tests() && !suite.interrupted {
            suite.notes.extend(match self.session.subcommand {
                // Nextest has said why.
                Subcommand::Nextest if course.runs.is_empty() => Some("no test was run".to_owned()),
                Subcommand::Nextest => None,
                _ => course.why_empty(),
            });
        }
        if course.doc_tests_skipped {
            let note = "doc tests are skipped: rustdoc builds them in a way that can't be checked";
            suite.notes.push(note.to_owned());
        }
        if !self.is_told_alone(&suite) {
            suite.survey();
        }
        self.write(&suite)?;
        if suite.partition.is_none() {
            // Other parts may have the races.
            self.note_unmatched(&suite);
            self.note_gone(&suite);
        }
        if let Some(path) = &self.session.options.write_baseline {
            self.write_baseline(path, &suite)?;
        }
        Ok(suite_exit_status(&suite))
    }

    /// The part of the tests that was to be run. That of nextest is given as `hash:1/2`.
    fn partition(&self) -> Option<Partition> {
        let option = self.session.command.partition.as_ref()?;
        let part = option.strip_prefix(partition::OPTION)?;
        let (_, part) = part.split_once(':').unwrap_or(("", part));
        part.parse().ok()
    }

    /// Notes suppressions that match no race of any process. They may have outlived their race.
    fn note_unmatched(&self, suite: &Suite) {
        let suppressed: Vec<&Suppressed> = suite
            .answers
            .iter()
            .filter_map(|answer| answer.suppressed.as_ref())
            .collect();
        let files: BTreeSet<&str> = suppressed.iter().map(|it| it.file.as_str()).collect();
        for file in files {
            let mut of_file = suppressed.iter().filter(|it| it.file == file);
            let first = of_file.next().map_or(&[][..], |first| &first.unmatched);
            let others: Vec<_> = of_file.collect();
            let is_unmatched = |entry: &&SuppressionEntry| {
                others.iter().all(|other| other.unmatched.contains(entry))
            };
            for entry in first.iter().filter(is_unmatched) {
                let (line, text) = (entry.line, entry.text.escape_debug());
                self.note(&format!(
                    "{file}:{line}: `{text}` matches no race of this run"
                ));
            }
        }
    }

    /// Notes known races that were not found. They may be repaired.
    fn note_gone(&self, suite: &Suite) {
        let Some(baseline) = &self.baseline else {
            return;
        };
        let found = found(suite);
        let gone = baseline.races.iter().filter(|race| !found.contains(race));
        let gone = gone.count();
        if gone > 0 && !suite.interrupted {
            let (file, all) = (&baseline.file, baseline.races.len());
            self.note(&format!(
                "{file}: {gone} of {all} known races were not found in this run"
            ));
        }
    }

    fn write_baseline(&self, path: &Path, suite: &Suite) -> Result<(), Problem> {
        if suite.interrupted || suite.partition.is_some() {
            self.note("not all tests were run, so the baseline is not written");
            return Ok(());
        }
        let unlisted = suite.answers.iter().any(|answer| {
            let listed = answer.findings.len() as u64 + answer.suppressed_count();
            answer.distinct > listed + answer.known_count()
        });
        if unlisted {
            self.note("the baseline has only the races that `--max-races` lists");
        }
        let baseline = Baseline {
            file: String::new(),
            races: found(suite),
        };
        fs::write(path, baseline.text()).map_err(|error| Problem::write(path, error))
    }

    fn write(&self, suite: &Suite) -> Result<(), Problem> {
        let options = &self.session.options;
        match &options.output {
            Some(path) => {
                let failed = |error| Problem::write(path, error);
                let mut file = BufWriter::new(File::create(path).map_err(failed)?);
                let style = style(options.color, false);
                self.document(suite, style, &mut file)
                    .and_then(|()| file.flush())
                    .map_err(failed)
            }
            None => {
                let (mut stream, terminal): (Box<dyn Write>, bool) =
                    match options.report_on_standard_output() {
                        true => (Box::new(io::stdout()), io::stdout().is_terminal()),
                        false => (Box::new(io::stderr()), io::stderr().is_terminal()),
                    };
                let style = style(options.color, terminal);
                self.document(suite, style, &mut stream)
                    .and_then(|()| stream.flush())
                    .or_else(whoever_reads_has_enough)
            }
        }
    }

    /// Whether the report is that of one process, not of a suite.
    fn is_told_alone(&self, suite: &Suite) -> bool {
        let is_run = self.session.subcommand == Subcommand::Run;
        is_run && suite.notes.is_empty() && suite.answers.len() == 1
    }

    fn document(&self, suite: &Suite, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let options = &self.session.options;
        let Some(format) = options.format.of_report() else {
            return finishline_report::write_junit(suite, out);
        };
        match suite.answers.as_slice() {
            [run] if self.is_told_alone(suite) => {
                finishline_report::write(run, format, Selection::default(), style, out)
            }
            // The races of tests have been reported already.
            _ if options.format == Format::Text
                && options.output.is_none()
                && self.session.subcommand.tests() =>
            {
                finishline_report::write_summary(suite, style, out)
            }
            _ => finishline_report::write_suite(suite, format, style, out),
        }
    }
}

impl Told {
    /// Adds in which orders the run was, once that is known.
    pub(crate) fn in_orders(&mut self, orders: Option<Ran>) {
        for answer in &mut self.processes {
            if let About::Process(process) = &mut answer.about {
                process.orders = orders.map(Into::into);
            }
        }
    }

    pub(crate) fn standing(&self) -> Standing {
        if self.processes.iter().any(has_findings) {
            return Standing::Races;
        }
        if self.processes.iter().any(has_use_after_free) {
            return Standing::UsedAfterFree;
        }
        let stopped = |run: &Answer| {
            let stops = [Limit::Stopped, Limit::TimedOut, Limit::Interrupted];
            run.because().is_some_and(|limit| stops.contains(&limit))
        };
        if self.processes.iter().any(stopped) {
            return Standing::Stopped;
        }
        let cut_short = |run: &Answer| {
            run.verdict == Verdict::Unknown && run.because() != Some(Limit::NothingParallel)
        };
        match !self.notes.is_empty() || self.processes.iter().any(cut_short) {
            true => Standing::Unchecked,
            false => Standing::NothingFound,
        }
    }

    /// What the run shows about the orders of its tasks.
    pub(crate) fn shown(&self) -> Shown {
        let decides = |run: &Answer| {
            run.verdict == Verdict::Race || run.failure.is_some() || has_use_after_free(run)
        };
        match self.standing() {
            _ if self.processes.iter().any(decides) => return Shown::Enough,
            Standing::Stopped => return Shown::Stopped,
            Standing::Unchecked => return Shown::Enough,
            Standing::Races | Standing::UsedAfterFree | Standing::NothingFound => {}
        }
        let is_divided = |run: &Answer| {
            let division = run.process().map(|process| process.division);
            matches!(division, Some(Division::Items | Division::Partly))
        };
        if self.processes.iter().any(Answer::rests_on_an_order) {
            Shown::NothingInThisOrder
        } else if self.processes.iter().any(is_divided) {
            Shown::NothingDivided
        } else {
            Shown::Nothing
        }
    }

    /// Whether something was parallel, or may have been.
    pub(crate) fn is_parallel(&self) -> bool {
        let mut limits = self.processes.iter().map(Answer::because);
        limits.any(|limit| limit != Some(Limit::NothingParallel))
    }

    /// The report of a test, if there is anything to report. Unsafe code is summed up at the end.
    pub(crate) fn text(&self, style: Style) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        for run in self.processes.iter().filter(|run| is_told_at_once(run)) {
            let mut run = run.clone();
            if let About::Process(process) = &mut run.about {
                process.unsafe_code = None;
            }
            let (format, all) = (finishline_report::Format::Text, Selection::default());
            finishline_report::write(&run, format, all, style, &mut text)?;
        }
        Ok(text)
    }
}

/// Whether a test is reported before the others end.
fn is_told_at_once(run: &Answer) -> bool {
    let stopped = run
        .process()
        .is_some_and(|process| process.stopped.is_some());
    has_findings(run)
        || has_use_after_free(run)
        || stopped
        || run.because() == Some(Limit::TimedOut)
}

fn run_name(program: &str, run: &Run) -> String {
    match &run.test {
        Some(test) => format!("`{test}` of {program}"),
        None => program.to_owned(),
    }
}

/// The races of all processes that are not suppressed.
fn found(suite: &Suite) -> BTreeSet<KnownRace> {
    let findings = suite.answers.iter().flat_map(|answer| {
        let known = answer.process().and_then(|process| process.known.as_ref());
        let known = known.into_iter().flat_map(|known| &known.findings);
        answer.findings.iter().chain(known)
    });
    findings.map(KnownRace::of).collect()
}

fn read_baseline(options: &Options) -> Result<Option<Baseline>, Problem> {
    let Some(path) = &options.baseline else {
        return Ok(None);
    };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        // The first run makes it.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                && options.write_baseline.as_ref() == Some(path) =>
        {
            String::new()
        }
        Err(error) => return Err(Problem::read(path, error)),
    };
    let baseline = Baseline::parse(&path.to_string_lossy(), &text);
    baseline
        .map(Some)
        .map_err(|mistake| Problem::new(mistake.to_string()))
}

fn read_suppressions(path: &Path) -> Result<Suppressions, Problem> {
    let text = fs::read_to_string(path).map_err(|error| Problem::read(path, error))?;
    Suppressions::parse(&path.to_string_lossy(), &text).map_err(|mistakes| {
        let mistakes: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        Problem::new(mistakes.join("\n"))
    })
}

/// Ignores a closed pipe, which is no failure.
fn whoever_reads_has_enough(error: io::Error) -> Result<(), Problem> {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Problem::new(format!("can't write the report: {error}"))),
    }
}

/// The style of text on a stream.
pub(crate) fn style(color: Color, terminal: bool) -> Style {
    let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    let plain = dumb || env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Style {
        color: match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !plain,
        },
        ..Style::default()
    }
}
