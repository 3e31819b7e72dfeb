//! `finishline bench prove`: Table 1 of the paper on the polyhedral model for finish and async,
//! measured on this machine.
//!
//! The paper proves three whole programs of the Java Grande suite, and ten of their parallel blocks
//! one by one. The programs here are those of `esp-bags`. The blocks are their `forall` loops, in
//! the order of the source. The time of a program is that of the whole proof, and the time of a
//! block is that of its kernel. Programs are proved in turn, `--runs` times. So a machine that is
//! slow for a while slows down all of them.

use super::{Files, arithmetic, suite};
use crate::bench::options::BenchProveOptions;
use crate::outcome::{
    NOTHING_ESTABLISHED, NOTHING_FOUND, PROGRAM_FAILED, Problem, RACE_FOUND, say,
};
use crate::progress;
use finishline_answer::Answer;
use finishline_answer::Verdict;
use finishline_fin::hir;
use finishline_poly::{Budget, Detail, Options};
use finishline_report::bench::table::{ProverRow, ProverTable, Target, Unit};
use finishline_report::bench::{self as report, Format};
use std::collections::BTreeMap;
use std::time::Duration;

/// A row of the table.
pub(crate) struct Block {
    pub(crate) name: &'static str,
    program: &'static str,
    /// The number of the `forall` in the program, from 0. None means the whole program.
    forall: Option<usize>,
    /// [Table 1, Time] Time in seconds.
    paper_seconds: f64,
}

const fn whole(name: &'static str, paper_seconds: f64) -> Block {
    Block {
        name,
        program: name,
        forall: None,
        paper_seconds,
    }
}

const fn block(
    name: &'static str,
    program: &'static str,
    number: usize,
    paper_seconds: f64,
) -> Block {
    Block {
        name,
        program,
        forall: Some(number - 1),
        paper_seconds,
    }
}

/// The rows in the paper's order.
pub(crate) static BLOCKS: [Block; 13] = [
    whole("crypt", 7.6),
    block("crypt1", "crypt", 1, 0.24),
    block("crypt2", "crypt", 2, 0.24),
    whole("sor", 1.85),
    block("sor1", "sor", 1, 0.29),
    block("lufact1", "lufact", 1, 0.35),
    whole("series", 1.25),
    block("series1", "series", 1, 0.06),
    block("moldyn1", "moldyn", 1, 0.35),
    block("moldyn2", "moldyn", 2, 0.92),
    block("moldyn3", "moldyn", 3, 0.14),
    block("moldyn4", "moldyn", 4, 0.08),
    block("moldyn5", "moldyn", 5, 0.08),
];

/// The longest time that a program or a block should take.
const LONGEST_WHOLE: f64 = 0.2;
const LONGEST_BLOCK: f64 = 0.05;

pub(crate) fn prove(options: &BenchProveOptions) -> Result<u8, Problem> {
    let files = Files::open(&[(&options.csv, Format::Csv), (&options.json, Format::Json)])?;
    let chosen: Vec<&'static Block> = (BLOCKS.iter())
        .filter(|block| {
            let mut only = options.only.iter();
            options.only.is_empty() || only.any(|one| one.name == block.name)
        })
        .collect();
    let proofs = progress::timed(options.quiet, "proving", || proofs(&chosen, options))?;

    let rows: Vec<(&Block, Option<ProverRow>)> = (chosen.iter())
        .map(|block| (*block, row(block, &proofs[block.program])))
        .collect();
    let missing: Vec<&str> = (rows.iter())
        .filter(|(_, row)| row.is_none())
        .map(|(block, _)| block.name)
        .collect();
    let measured = || {
        rows.iter()
            .filter_map(|(block, row)| Some((*block, row.as_ref()?)))
    };
    let table = ProverTable {
        runs: options.runs as usize,
        optimised: !cfg!(debug_assertions),
        targets: targets(measured()),
        rows: measured().map(|(_, row)| row.clone()).collect(),
    };
    files.write(|format, out| report::write_prover(&table, format, out))?;
    for name in &missing {
        say(&format!("error: {name}: the prover knows no such kernel"));
    }
    let any = |verdict| table.rows.iter().any(|row| row.verdict == verdict);
    Ok(if any(Verdict::Race) {
        RACE_FOUND
    } else if !missing.is_empty() {
        PROGRAM_FAILED
    } else if any(Verdict::Unknown) {
        NOTHING_ESTABLISHED
    } else {
        NOTHING_FOUND
    })
}

/// All proofs of each program that has a chosen block.
fn proofs(
    chosen: &[&Block],
    options: &BenchProveOptions,
) -> Result<BTreeMap<&'static str, Vec<Answer>>, Problem> {
    let mut programs: BTreeMap<&'static str, (hir::Program, Vec<Answer>)> = BTreeMap::new();
    for block in chosen {
        if !programs.contains_key(block.program) {
            programs.insert(block.program, (read(block.program)?, Vec::new()));
        }
    }
    let prover = Options {
        budget: Budget::Time(options.timeout),
        // The paper's verdict needs dataflow, this one does not.
        detail: Detail::Races,
    };
    for _ in 0..options.runs {
        for (program, proofs) in programs.values_mut() {
            proofs.push(finishline_poly::prove(program, &prover).proof);
        }
    }
    let proofs = programs.into_iter();
    Ok(proofs.map(|(name, (_, proofs))| (name, proofs)).collect())
}

fn read(name: &str) -> Result<hir::Program, Problem> {
    let known = suite::find(name);
    let benchmark = known.ok_or_else(|| Problem::Usage(format!("there is no program {name}")))?;
    let file = format!("{name}.fin");
    finishline_fin::analyse(&file, benchmark.source.as_bytes())
        .map_err(|diagnostics| Problem::Source(diagnostics.render(false)))
}

/// The result of one proof for a row.
struct Judged {
    verdict: Verdict,
    accesses: usize,
    pairs: usize,
    time: Duration,
}

fn judged(block: &Block, proof: &Answer) -> Option<Judged> {
    let Some(number) = block.forall else {
        return Some(Judged {
            verdict: proof.verdict,
            accesses: proof.kernels().iter().map(|kernel| kernel.accesses).sum(),
            pairs: proof.kernels().iter().map(|kernel| kernel.pairs).sum(),
            time: proof.proof()?.time,
        });
    };
    let mut foralls = proof.kernels().iter().filter(|k| k.construct == "forall");
    let kernel = foralls.nth(number)?;
    Some(Judged {
        verdict: kernel.verdict,
        accesses: kernel.accesses,
        pairs: kernel.pairs,
        time: kernel.time,
    })
}

/// The row of a block, if every proof knows it.
fn row(block: &Block, proofs: &[Answer]) -> Option<ProverRow> {
    let judged: Option<Vec<Judged>> = proofs.iter().map(|proof| judged(block, proof)).collect();
    let judged = judged?;
    let seconds: Vec<f64> = judged.iter().map(|one| one.time.as_secs_f64()).collect();
    // A run that ran out of time differs from the others.
    let differs = judged.iter().find(|one| one.verdict != judged[0].verdict);
    let first = judged.first()?;
    Some(ProverRow {
        name: block.name,
        program: block.program,
        whole: block.forall.is_none(),
        verdict: differs.map_or(first.verdict, |_| Verdict::Unknown),
        accesses: first.accesses,
        pairs: first.pairs,
        seconds: arithmetic::spread(&seconds),
        paper_seconds: block.paper_seconds,
    })
}

fn targets<'a>(rows: impl Iterator<Item = (&'a Block, &'a ProverRow)> + Clone) -> Vec<Target> {
    let longest = |whole: bool| {
        let rows = rows.clone().filter(move |(_, row)| row.whole == whole);
        rows.max_by(|(_, one), (_, other)| one.seconds.median.total_cmp(&other.seconds.median))
    };
    let target = |whole, key, what, limit| {
        longest(whole).map(|(block, row)| Target {
            key,
            what,
            unit: Unit::Seconds,
            limit,
            measured: row.seconds.median,
            program: Some(block.name),
        })
    };
    let targets = [
        target(
            true,
            "program_seconds_longest",
            "a whole program, the longest",
            LONGEST_WHOLE,
        ),
        target(
            false,
            "block_seconds_longest",
            "a block, the longest",
            LONGEST_BLOCK,
        ),
    ];
    targets.into_iter().flatten().collect()
}
