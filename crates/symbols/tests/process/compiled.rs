//! The program of these tests, compiled and run in several ways.

use finishline_answer::location::{Location, Object};
use finishline_answer::task::{Task, WhyParallel};
use finishline_answer::{Answer, Finding, FoundAccess};
use finishline_symbols::{Findings, Question, read, symbolise};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

const SOURCES: [(&str, &str); 3] = [
    ("rayon_core", include_str!("programs/rayon_core.rs.txt")),
    ("rayon", include_str!("programs/rayon.rs.txt")),
    ("hist", include_str!("programs/hist.rs.txt")),
];

/// A way to compile that affects debug information.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Way {
    pub(crate) optimised: bool,
    /// The value of `-C debuginfo`.
    pub(crate) debug: &'static str,
    pub(crate) mangling: &'static str,
}

pub(crate) const WAYS: [Way; 5] = [
    Way {
        optimised: false,
        debug: "2",
        mangling: "legacy",
    },
    Way {
        optimised: false,
        debug: "2",
        mangling: "v0",
    },
    Way {
        optimised: true,
        debug: "2",
        mangling: "v0",
    },
    Way {
        optimised: true,
        debug: "1",
        mangling: "legacy",
    },
    Way {
        optimised: true,
        debug: "line-tables-only",
        mangling: "v0",
    },
];

/// The way whose debug information has lines but not the paths of inlined functions.
pub(crate) const LINE_TABLES: usize = 4;

/// The findings of a run of the program compiled in this way. It is compiled and run once.
pub(crate) fn findings(way: usize) -> &'static Findings {
    static RUNS: [OnceLock<Findings>; WAYS.len()] = [const { OnceLock::new() }; WAYS.len()];
    RUNS[way].get_or_init(|| compiled_and_run(WAYS[way]))
}

fn compiled_and_run(way: Way) -> Findings {
    let name = format!("{}-{}-{}", way.optimised, way.debug, way.mangling);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(folder.join("src")).expect("a folder for the program");
    for (name, source) in SOURCES {
        let file = format!("src/{name}.rs");
        std::fs::write(folder.join(&file), source).expect("a source file");
        let kind = if name == "hist" { "bin" } else { "rlib" };
        let mut rustc = Command::new(std::env::var("RUSTC").as_deref().unwrap_or("rustc"));
        rustc
            .current_dir(&folder)
            .args(["--edition", "2021", &file, "--crate-name", name]);
        rustc.args(["--crate-type", kind, "-L.", "--cap-lints=allow"]);
        for (used, _) in SOURCES.iter().take_while(|(other, _)| *other != name) {
            rustc.args(["--extern", used]);
        }
        rustc.arg(if way.optimised {
            "-Copt-level=3"
        } else {
            "-Copt-level=0"
        });
        rustc.arg(format!("-Cdebuginfo={}", way.debug));
        rustc.arg(format!("-Csymbol-mangling-version={}", way.mangling));
        // The older scheme needs the unstable options.
        run(rustc.arg("-Zunstable-options").env("RUSTC_BOOTSTRAP", "1"));
    }
    let file = folder.join("findings.json");
    run(Command::new(folder.join("hist"))
        .current_dir(&folder)
        .arg(&file));
    read(&file).expect("usable findings")
}

fn run(command: &mut Command) {
    let output = command.output().expect("the command starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
}

/// The answer about the run of each way except [`LINE_TABLES`].
pub(crate) fn symbolised() -> Vec<(Way, Answer)> {
    let told = |(number, way)| (way, symbolise(findings(number), &Question::default()));
    let ways = WAYS.into_iter().enumerate();
    ways.take(LINE_TABLES).map(told).collect()
}

/// The line of the program with this mark.
pub(crate) fn line(mark: &str) -> u32 {
    let mark = format!("// line: {mark}");
    let (_, hist) = SOURCES[2];
    let line = hist.lines().position(|line| line.ends_with(&mark));
    line.expect("the mark exists") as u32 + 1
}

/// One of the five pairs, in the order of the program.
pub(crate) fn pair(run: &Answer, number: usize) -> &Finding {
    assert_eq!(run.findings.len(), 5);
    &run.findings[number]
}

/// The object that the bytes of a pair belong to.
pub(crate) fn object(run: &Answer, number: usize) -> &Object {
    match &pair(run, number).location {
        Location::Bytes(bytes) => &bytes.object,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn task_of(access: &FoundAccess) -> &Task {
    access.task.as_ref().expect("a task")
}

pub(crate) fn why_of(finding: &Finding) -> &WhyParallel {
    finding.why.as_ref().expect("a reason")
}
