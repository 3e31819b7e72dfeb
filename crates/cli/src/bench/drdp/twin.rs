//! [DRDP Table 5] Matmul beside ThreadSanitizer: the same algorithm in Rust, with a thread for each
//! future, plain and with the sanitizer; in Fin on one thread, plain and checked.
//!
//! ThreadSanitizer finds nothing here, and its reports are off, as in the paper. It is part of the
//! Rust compiler, which must be installed.

use super::measure::{measure as measure_fin, shown};
use super::suite::{self, Size};
use crate::bench::arithmetic::{median, spread};
use crate::bench::one::Measurement;
use crate::bench::process::{Limits, output_within};
use crate::bench::under::Under;
use finishline_model::Passes;
use finishline_report::bench::drdp::{Twin, TwinRow};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = include_str!("../../../programs/drdp/matmul.rs");

/// The rows and the base case, by size. The paper has the first.
const ARGUMENTS: [[i64; 2]; 3] = [[128, 64], [512, 64], [128, 64]];

/// One run.
#[derive(Clone, Copy)]
struct Run {
    seconds: f64,
    bytes: f64,
}

pub(super) fn measure(finishline: &Path, size: Size, runs: u32, limits: Limits) -> Twin {
    let arguments = ARGUMENTS[size as usize];
    match rows(finishline, arguments, runs, limits) {
        Ok(rows) => Twin::Measured {
            arguments: shown(&arguments),
            rows,
        },
        Err(why) => Twin::Missing(why),
    }
}

fn rows(
    finishline: &Path,
    arguments: [i64; 2],
    runs: u32,
    limits: Limits,
) -> Result<Vec<TwinRow>, String> {
    let folder = Folder::new()?;
    let plain = compile(&folder, "plain", &[], limits)?;
    // The standard library stays as it is: the sanitizer does not see into it.
    let sanitizer = [
        "-Zsanitizer=thread",
        "-Cunsafe-allow-abi-mismatch=sanitizer",
    ];
    let sanitized = compile(&folder, "sanitized", &sanitizer, limits)?;
    let matmul = suite::find("matmul").ok_or("there is no matmul")?;
    let fin = |under| {
        let measured = measure_fin(finishline, matmul.name, &arguments, under, limits);
        measured.map(of_fin).map_err(|(_, message)| message)
    };
    let mut all: [Vec<Run>; 5] = Default::default();
    for _ in 0..runs {
        for (runs, one) in all.iter_mut().zip([
            run(&plain, arguments, limits),
            run(&sanitized, arguments, limits),
            fin(Under::Nothing),
            fin(Under::Check(Passes::NONE)),
            fin(Under::Check(Passes::ALL)),
        ]) {
            runs.push(one?);
        }
    }
    let [rust, tsan, fin, every, default] = &all;
    Ok(vec![
        row("Rust", rust, None),
        row("ThreadSanitizer", tsan, Some(rust)),
        row("Fin", fin, None),
        row("finishline, all checks", every, Some(fin)),
        row("finishline, default", default, Some(fin)),
    ])
}

fn row(tool: &'static str, runs: &[Run], plain: Option<&Vec<Run>>) -> TwinRow {
    let seconds: Vec<f64> = runs.iter().map(|run| run.seconds).collect();
    let bytes = |runs: &[Run]| {
        let bytes: Vec<f64> = runs.iter().map(|run| run.bytes).collect();
        median(&bytes)
    };
    let slowdown = plain.map(|plain| {
        let ratios = runs.iter().zip(plain);
        let ratios: Vec<f64> = ratios
            .map(|(this, that)| this.seconds / that.seconds)
            .collect();
        spread(&ratios)
    });
    TwinRow {
        tool,
        seconds: spread(&seconds),
        memory_bytes: bytes(runs) as u64,
        slowdown,
        memory_ratio: plain.map(|plain| bytes(runs) / bytes(plain).max(1.0)),
    }
}

fn of_fin(measured: Measurement) -> Run {
    Run {
        seconds: measured.run_seconds.max(1e-9),
        bytes: measured.peak_bytes.saturating_sub(measured.start_bytes) as f64,
    }
}

/// A folder that is gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, String> {
        let path = std::env::temp_dir().join(format!("finishline-twin-{}", std::process::id()));
        let made = fs::create_dir_all(&path).and_then(|()| fs::write(path.join(FILE), SOURCE));
        match made {
            Ok(()) => Ok(Folder(path)),
            Err(error) => Err(format!("can't write to {}: {error}", path.display())),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const FILE: &str = "matmul.rs";

fn compile(folder: &Folder, name: &str, flags: &[&str], limits: Limits) -> Result<PathBuf, String> {
    let binary = folder.0.join(name);
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    // Sanitizers are not stable yet.
    command
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["-O", "--edition", "2024", "--crate-name", "matmul", "-o"])
        .arg(&binary)
        .args(flags)
        .arg(folder.0.join(FILE));
    let (status, _, complaint) = output_within(&mut command, limits)?;
    match status.success() {
        true => Ok(binary),
        false => {
            let first = complaint.lines().next().unwrap_or_default().to_owned();
            Err(format!("rustc can't compile it: {first}"))
        }
    }
}

fn run(binary: &Path, arguments: [i64; 2], limits: Limits) -> Result<Run, String> {
    let mut command = Command::new(binary);
    command
        .env("TSAN_OPTIONS", "report_bugs=0")
        .args(arguments.map(|argument| argument.to_string()));
    let (status, printed, complaint) = output_within(&mut command, limits)?;
    let told = || -> Option<Run> {
        let mut words = printed.lines().nth(1)?.split(' ');
        Some(Run {
            seconds: words.next()?.parse().ok()?,
            bytes: words.next()?.parse().ok()?,
        })
    };
    let told = told().filter(|_| status.success());
    told.ok_or_else(|| format!("matmul in Rust ended with {status}: {}", complaint.trim()))
}
