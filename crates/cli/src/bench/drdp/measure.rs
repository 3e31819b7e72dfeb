//! One measurement in its own process, and the rounds of a program: in each round every
//! configuration runs once, one after the other. So a machine that is slow for a while slows down
//! all configurations of a round.

use super::suite::{self, Benchmark, Size, traversal_word};
use crate::bench::one::{self, Answer, FinProgram, Measurement, Under};
use crate::bench::options::{BenchDrdpOneOptions, DrdpOptions};
use crate::outcome::Problem;
use finishline_engine::timing::Traversal;
use finishline_model::Passes;
use finishline_model::checks::NoSuchPass;
use finishline_report::bench::drdp::TraversalRow;
use finishline_report::bench::table::{BenchFailure, BenchFailureKind};
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Every configuration measured once.
pub(super) struct Round {
    pub(super) baseline: Measurement,
    pub(super) all_checks: Measurement,
    pub(super) default: Measurement,
    /// Or why there is none.
    pub(super) drdp: Result<Measurement, String>,
}

/// What one process may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    time: Duration,
    bytes: u64,
}

impl Limits {
    /// Memory up to three quarters of what is available now.
    pub(super) fn new(time: Duration) -> Limits {
        let available = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("MemAvailable:"))?;
            let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            Some(kilobytes * 1024)
        });
        Limits {
            time,
            bytes: available.map_or(u64::MAX, |bytes| bytes / 4 * 3),
        }
    }
}

/// The words of a configuration: `run`, `check:` or `drdp:` and a value of `--checks`, and for the
/// latter a colon and an order of walking.
pub(crate) fn word(under: Under) -> String {
    match under {
        Under::Nothing => "run".to_owned(),
        Under::Check(passes) => format!("check:{passes}"),
        Under::Drdp(passes, traversal) => format!("drdp:{passes}:{}", traversal_word(traversal)),
    }
}

pub(crate) fn parse(text: &str) -> Result<Under, String> {
    let passes = |text: &str| text.parse().map_err(|error: NoSuchPass| error.to_string());
    let mut words = text.splitn(3, ':');
    match (words.next(), words.next(), words.next()) {
        (Some("run"), None, None) => Ok(Under::Nothing),
        (Some("check"), Some(checks), None) => Ok(Under::Check(passes(checks)?)),
        (Some("drdp"), Some(checks), Some(walk)) => match suite::traversal(walk) {
            Some(traversal) => Ok(Under::Drdp(passes(checks)?, traversal)),
            None => Err(format!("the orders are {}", suite::TRAVERSALS.join(", "))),
        },
        _ => Err("run, check:CHECKS or drdp:CHECKS:ORDER".to_owned()),
    }
}

/// `finishline bench-drdp-one`.
pub(crate) fn one(options: &BenchDrdpOneOptions) -> Result<u8, Problem> {
    let program = FinProgram {
        name: options.program.name,
        source: options.program.source,
        arguments: &options.arguments,
    };
    one::print(&one::fin(&program, options.under)?)
}

/// All rounds of a program.
pub(super) fn rounds(
    finishline: &Path,
    benchmark: &'static Benchmark,
    options: &DrdpOptions,
    limits: Limits,
) -> Result<Vec<Round>, BenchFailure> {
    let arguments = benchmark.arguments(options.size);
    let measure = |under| measure(finishline, benchmark.name, arguments, under, limits);
    let needed = |under| {
        measure(under).map_err(|(kind, message)| BenchFailure {
            program: benchmark.name,
            kind,
            message,
        })
    };
    let mut rounds: Vec<Round> = Vec::new();
    for _ in 0..options.runs {
        let baseline = needed(Under::Nothing)?;
        let all_checks = needed(Under::Check(Passes::NONE))?;
        let default = needed(Under::Check(Passes::ALL))?;
        let drdp = match rounds.last() {
            // It would be stopped again, or take its long time again.
            Some(Round {
                drdp: Err(message), ..
            }) => Err(message.clone()),
            Some(Round {
                drdp: Ok(known), ..
            }) if options.size == Size::Paper => Ok(known.clone()),
            _ => match measure(Under::Drdp(Passes::ALL, Traversal::BEST)) {
                Ok(measured) => Ok(measured),
                Err((BenchFailureKind::Failed, message)) => Err(message),
                Err((kind @ BenchFailureKind::Race, message)) => {
                    let message = format!("drdp: {message}");
                    let program = benchmark.name;
                    return Err(BenchFailure {
                        program,
                        kind,
                        message,
                    });
                }
            },
        };
        let round = Round {
            baseline,
            all_checks,
            default,
            drdp,
        };
        round.same_lines(benchmark)?;
        rounds.push(round);
    }
    Ok(rounds)
}

impl Round {
    /// Checks that all configurations print the same.
    fn same_lines(&self, benchmark: &Benchmark) -> Result<(), BenchFailure> {
        let expected = &self.baseline.printed;
        let drdp = self.drdp.iter();
        for other in [&self.all_checks, &self.default].into_iter().chain(drdp) {
            if other.printed != *expected {
                let (found, expected) = (other.printed.trim_end(), expected.trim_end());
                return Err(BenchFailure {
                    program: benchmark.name,
                    kind: BenchFailureKind::Failed,
                    message: format!("with checks prints `{found}`, without `{expected}`"),
                });
            }
        }
        Ok(())
    }
}

/// The rows of a program in the comparison of traversals. One that is stopped has no row.
pub(super) fn traversals(
    finishline: &Path,
    benchmark: &'static Benchmark,
    size: Size,
    limits: Limits,
) -> Vec<TraversalRow> {
    let Some((_, paper)) = benchmark.traversals else {
        return Vec::new();
    };
    let arguments = benchmark.traversal_arguments(size).unwrap_or_default();
    let row = |(traversal, paper_average): (Traversal, f64)| {
        let under = Under::Drdp(Passes::NONE, traversal);
        let measured = measure(finishline, benchmark.name, arguments, under, limits).ok()?;
        let counted = measured.drdp?;
        Some(TraversalRow {
            program: benchmark.name,
            arguments: shown(arguments),
            traversal: traversal_word(traversal),
            walks: counted.walks,
            least: counted.least_visited,
            most: counted.most_visited,
            average: counted.visited as f64 / counted.walks.max(1) as f64,
            paper_average,
        })
    };
    let rows = Traversal::ALL.into_iter().zip(paper).map(row);
    rows.flatten().collect()
}

/// Arguments as one types them.
pub(super) fn shown(arguments: &[i64]) -> String {
    let words: Vec<String> = arguments.iter().map(i64::to_string).collect();
    words.join(" ")
}

/// Makes one measurement, by starting this program again.
pub(super) fn measure(
    finishline: &Path,
    program: &str,
    arguments: &[i64],
    under: Under,
    limits: Limits,
) -> Result<Measurement, (BenchFailureKind, String)> {
    let failed = |message| Err((BenchFailureKind::Failed, message));
    let mut command = Command::new(finishline);
    command
        .arg("bench-drdp-one")
        .args([program, &word(under)])
        .args(arguments.iter().map(i64::to_string));
    let (status, line, complaint) = match output_within(&mut command, limits) {
        Ok(output) => output,
        Err(why) => return failed(why),
    };
    let answer = match status.success() {
        true => serde_json::from_str(&line).ok(),
        false => None,
    };
    match answer {
        Some(Answer::Measured(measurement)) => Ok(measurement),
        Some(Answer::Race { message }) => Err((BenchFailureKind::Race, message)),
        Some(Answer::Failed { message }) => failed(message),
        None => failed(format!(
            "its process ended with {status}: {}",
            complaint.trim()
        )),
    }
}

/// Runs a process that prints little. Or says why it was stopped.
pub(super) fn output_within(
    command: &mut Command,
    limits: Limits,
) -> Result<(ExitStatus, String, String), String> {
    let started = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = started.map_err(|error| format!("can't run {program}: {error}"))?;
    let status = watch(&mut child, limits)?;
    let read = |from: Option<&mut dyn Read>| -> io::Result<String> {
        let mut text = Vec::new();
        if let Some(from) = from {
            from.read_to_end(&mut text)?;
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    let outputs = [
        read(child.stdout.as_mut().map(|out| out as &mut dyn Read)),
        read(child.stderr.as_mut().map(|out| out as &mut dyn Read)),
    ];
    match outputs {
        [Ok(out), Ok(err)] => Ok((status, out, err)),
        [Err(error), _] | [_, Err(error)] => Err(format!("can't read what it prints: {error}")),
    }
}

/// Waits for a process, or stops it at a limit.
fn watch(child: &mut Child, limits: Limits) -> Result<ExitStatus, String> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(error) => return Err(format!("can't wait for it: {error}")),
        }
        let over = if start.elapsed() > limits.time {
            Some(format!("stopped after {} s", limits.time.as_secs()))
        } else if resident(child.id()).is_some_and(|bytes| bytes > limits.bytes) {
            let gigabytes = limits.bytes as f64 / (1_u64 << 30) as f64;
            Some(format!("out of memory: stopped at {gigabytes:.1} GiB"))
        } else {
            None
        };
        if let Some(why) = over {
            let _ = child.kill();
            let _ = child.wait();
            return Err(why);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// The resident bytes of a process.
fn resident(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_stopped_at_a_limit() {
        let limits = |milliseconds, bytes| Limits {
            time: Duration::from_millis(milliseconds),
            bytes,
        };
        let run =
            |script: &str, limits| output_within(Command::new("sh").args(["-c", script]), limits);
        let (status, out, err) = run("echo a; echo b >&2", limits(60_000, u64::MAX)).expect("ends");
        assert!(status.success());
        assert_eq!((out.as_str(), err.as_str()), ("a\n", "b\n"));
        let late = run("sleep 60", limits(20, u64::MAX)).expect_err("too long");
        assert!(late.contains("stopped after"), "{late}");
        let big = run("sleep 60", limits(60_000, 1)).expect_err("too big");
        assert!(big.contains("out of memory"), "{big}");
    }

    #[test]
    fn configurations_are_known_by_their_words() {
        for text in [
            "run",
            "check:full",
            "check:optimised",
            "drdp:full:dfs-front",
        ] {
            assert_eq!(word(parse(text).expect(text)), text);
        }
        for text in [
            "",
            "walk",
            "run:full",
            "check",
            "check:x",
            "drdp:full",
            "drdp:full:up",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
