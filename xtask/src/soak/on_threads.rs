//! The programs of `programs/fastracer` on several threads under every detector that judges such
//! runs, again and again for some time: none hangs or crashes, and the answers stay the same.
//!
//! A program is asked in two sizes. The small one has the oddest schedules, since all is over in
//! no time; size A keeps the threads busy for about a second. The answer of a small program is also
//! that of one thread.

use crate::command::CommandLine;
use crate::{Failure, root};
use std::fs;
use std::time::{Duration, Instant};

/// How many threads the runs have. The machine may have fewer processors.
const THREADS: [u32; 2] = [2, 8];

const DETECTORS: [&str; 6] = [
    "finishline",
    "fastracer",
    "spd3",
    "ptracer",
    "c-racer",
    "fasttrack",
];

/// A run that takes longer hangs.
const SECONDS: u32 = 900;

/// The exit statuses of `finishline check`: clean, a race, and a detector that does not know some
/// construct of the program.
const CLEAN: i32 = 0;
const RACE: i32 = 66;
const REFUSED: i32 = 2;

/// One question to the tool.
struct Run<'a> {
    program: &'a str,
    size: u32,
    detector: &'a str,
    threads: u32,
}

impl Run<'_> {
    fn command(&self) -> CommandLine {
        CommandLine::new(&format!(
            "timeout {SECONDS} target/release/finishline check programs/fastracer/{} {} \
             --detector {} --threads {}",
            self.program, self.size, self.detector, self.threads
        ))
    }

    /// The exit status, or the command if it is none that the program may have.
    fn status(&self) -> Result<i32, String> {
        let command = self.command();
        let ended = command
            .end()
            .map_err(|failure| format!("{command}: {failure:?}"))?;
        let expected = match self.program.ends_with("_racy.fin") {
            true => RACE,
            false => CLEAN,
        };
        match ended.code() {
            Some(code) if code == expected || code == REFUSED => Ok(code),
            _ => Err(format!("{command}: {ended}")),
        }
    }
}

/// Goes through all programs for so many minutes with each number of threads. What failed.
pub(super) fn go_through(minutes: u64) -> Result<Vec<String>, Failure> {
    if minutes == 0 {
        return Ok(Vec::new());
    }
    CommandLine::new("cargo build --release --quiet --package finishline").run()?;
    let programs = programs()?;
    let mut failed = Vec::new();
    for threads in THREADS {
        println!("== programs/fastracer on {threads} threads for {minutes} minutes");
        let begun = Instant::now();
        let mut runs = 0_u64;
        let for_all = Duration::from_secs(60 * minutes);
        let questions = [0, 0, 1].into_iter().cycle().flat_map(|size| {
            let each = programs.iter().map(move |program| (size, program));
            each.flat_map(|(size, program)| DETECTORS.map(|detector| (size, program, detector)))
        });
        for (size, program, detector) in questions {
            if begun.elapsed() >= for_all {
                break;
            }
            let run = Run {
                program,
                size,
                detector,
                threads,
            };
            runs += 1;
            match run.status() {
                Ok(several) if size == 0 => {
                    let one = Run { threads: 1, ..run };
                    if one.status() != Ok(several) {
                        failed.push(format!("{}: another answer", one.command()));
                    }
                }
                Ok(_) => {}
                Err(why) => failed.push(why),
            }
        }
        println!("{runs} runs");
    }
    Ok(failed)
}

fn programs() -> Result<Vec<String>, Failure> {
    let unread = |error| Failure::Failed(format!("programs/fastracer: {error}"));
    let folder = fs::read_dir(root().join("programs/fastracer")).map_err(unread)?;
    let names = folder.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names
        .collect::<Result<Vec<String>, std::io::Error>>()
        .map_err(unread)?;
    names.retain(|name| name.ends_with(".fin"));
    names.sort();
    Ok(names)
}
