//! Runs a process within limits of time and memory: one measurement, or a compiler.

use crate::bench::one::{Answer, WhyFailed};
use crate::bench::under::Under;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What one process may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    time: Duration,
    bytes: u64,
}

impl Limits {
    /// Memory up to three quarters of what is available now.
    pub(crate) fn new(time: Duration) -> Limits {
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

/// Why a process has no answer.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// It took longer than this.
    Late(Duration),
    /// It took more bytes than this.
    Big(u64),
    /// It could not be started, or not be watched.
    Lost(String),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::Late(time) => write!(f, "stopped after {} s", time.as_secs_f64()),
            Stopped::Big(bytes) => {
                let gigabytes = *bytes as f64 / (1_u64 << 30) as f64;
                write!(f, "out of memory: stopped at {gigabytes:.1} GiB")
            }
            Stopped::Lost(why) => f.write_str(why),
        }
    }
}

impl From<Stopped> for String {
    fn from(stopped: Stopped) -> String {
        stopped.to_string()
    }
}

/// Makes one measurement of a program in Fin, `drdp/sort` for example, by starting this program
/// again.
pub(crate) fn measure(
    finishline: &Path,
    program: &str,
    arguments: &[i64],
    under: Under,
    limits: Limits,
) -> Result<Answer, Stopped> {
    let mut command = Command::new(finishline);
    command
        .arg("bench-fin")
        .args([program, &under.word()])
        .args(arguments.iter().map(i64::to_string));
    let (status, line, complaint) = output_within(&mut command, limits)?;
    let answer = match status.success() {
        true => serde_json::from_str(&line).ok(),
        false => None,
    };
    Ok(answer.unwrap_or_else(|| Answer::Failed {
        why: WhyFailed::Broken,
        message: format!("its process ended with {status}: {}", complaint.trim()),
    }))
}

/// Runs a process that prints little. Or says why it was stopped.
pub(crate) fn output_within(
    command: &mut Command,
    limits: Limits,
) -> Result<(ExitStatus, String, String), Stopped> {
    let started = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child =
        started.map_err(|error| Stopped::Lost(format!("can't run {program}: {error}")))?;
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
        [Err(error), _] | [_, Err(error)] => {
            Err(Stopped::Lost(format!("can't read what it prints: {error}")))
        }
    }
}

/// Waits for a process, or stops it at a limit.
fn watch(child: &mut Child, limits: Limits) -> Result<ExitStatus, Stopped> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(error) => return Err(Stopped::Lost(format!("can't wait for it: {error}"))),
        }
        let over = if start.elapsed() > limits.time {
            Some(Stopped::Late(limits.time))
        } else if resident(child.id()).is_some_and(|bytes| bytes > limits.bytes) {
            Some(Stopped::Big(limits.bytes))
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
        assert!(late.to_string().contains("stopped after"), "{late}");
        let big = run("sleep 60", limits(60_000, 1)).expect_err("too big");
        assert!(matches!(big, Stopped::Big(1)), "{big}");
    }
}
