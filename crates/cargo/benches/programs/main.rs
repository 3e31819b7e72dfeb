//! The cost of checking: the programs of `programs/rust/speed` plain, with calls that do nothing,
//! checked, and under ThreadSanitizer.
//!
//! In each round all four run one after the other, with one thread. Time is processor time, and
//! memory is the peak resident size. The table has the median of the plain times, and the medians
//! of the others as multiples of it. ThreadSanitizer does not look for what it would report
//! (`report_bugs=0`): its reports on programs with rayon are false, and cost it much time. None of
//! the programs has a race.
//!
//! `cargo bench -p finishline-cargo --bench programs [-- ROUNDS] [PROGRAM…]`. Besides the table
//! there are `rust.csv` and `rust.svg`, in `target/tmp/speed`.

mod builds;
mod table;

use nix::sys::resource::{UsageWho, getrusage};
use std::env;
use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use table::{Cost, Row};

pub(crate) type Anything<T> = Result<T, Box<dyn Error>>;

/// Each program with a size for which the plain run takes some tenths of a second.
const PROGRAMS: [(&str, &str); 12] = [
    ("matmul", "500"),
    ("matmul_rows", "500"),
    ("nbody", "5000"),
    ("blur", "2500"),
    ("quicksort", "4000000"),
    ("merge_sort", "3000000"),
    ("histogram", "80000000"),
    ("word_count", "3000000"),
    ("search", "2000000"),
    ("breadth_first", "500000"),
    ("tree", "150"),
    ("locks", "2000000"),
];

const ROUNDS: usize = 3;
/// The argument that makes this program run another one and print its cost.
const ONE: &str = "measure-one";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let first = words.first().map_or("", String::as_str);
    // Cargo calls this program as its subcommand, compiler and runner.
    if first == "finishline" || env::var_os("FINISHLINE_SESSION").is_some() {
        return finishline_cargo::main();
    }
    let done = match first {
        ONE => measure_one(&words[1..]),
        _ => measure_all(&words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a program. Its cost is that of all children of this process.
fn measure_one(words: &[String]) -> Anything<()> {
    let (program, arguments) = words.split_first().ok_or("which program?")?;
    let mut command = Command::new(program);
    let status = command.args(arguments).stdout(Stdio::null()).status()?;
    if !status.success() {
        return Err(format!("{program}: {status}").into());
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let times = [usage.user_time(), usage.system_time()];
    let seconds: f64 = times
        .map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
        .iter()
        .sum();
    println!("{seconds} {}", usage.max_rss() as f64 / 1024.0);
    Ok(())
}

fn cost(program: &Path, size: &str) -> Anything<Cost> {
    let mut command = Command::new(env::current_exe()?);
    command
        .arg(ONE)
        .arg(program)
        .arg(size)
        .env("RAYON_NUM_THREADS", "1")
        .env("TSAN_OPTIONS", "report_bugs=0");
    let output = command.stderr(Stdio::null()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    match numbers?[..] {
        [seconds, mebibytes] => Ok(Cost { seconds, mebibytes }),
        _ => Err(format!("{} could not be measured", program.display()).into()),
    }
}

fn measure_all(words: &[String]) -> Anything<()> {
    let rounds = words.iter().find_map(|word| word.parse().ok());
    let rounds: usize = rounds.unwrap_or(ROUNDS).max(1);
    let is_wanted = |name: &str| words.iter().any(|word| word == name);
    let any_wanted = PROGRAMS.iter().any(|(name, _)| is_wanted(name));
    let chosen = PROGRAMS
        .into_iter()
        .filter(|(name, _)| is_wanted(name) || !any_wanted);
    let folders = builds::all()?;
    let mut rows: Vec<Row> = Vec::new();
    for (program, size) in chosen {
        let mut costs = [const { Vec::new() }; builds::NAMES.len()];
        for round in 1..=rounds {
            eprintln!("{program}: round {round} of {rounds}");
            for (folder, costs) in folders.iter().zip(&mut costs) {
                costs.push(cost(&folder.join(program), size)?);
            }
        }
        rows.push(Row {
            program,
            size,
            costs,
        });
    }
    print!("{}", table::text(&rows));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("speed");
    for (name, text) in [
        ("rust.csv", table::csv(&rows)),
        ("rust.svg", table::svg(&rows)),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, text)?;
        println!("{}", path.display());
    }
    Ok(())
}
