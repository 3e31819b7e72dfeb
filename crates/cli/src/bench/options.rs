//! The options of `finishline bench`, and of the processes that it starts for one measurement.

use super::drdp::suite as drdp;
use super::fastracer::suite as fastracer;
use super::one::{Configuration, FinSource};
use super::prove::{BLOCKS, Block};
use super::suite::{self, Benchmark};
use super::under::Under;
use super::zipper::suite as zipper;
use crate::options::{EXIT_STATUSES, parse_count, parse_jobs, parse_seconds};
use clap::{Args, Subcommand};
use finishline_baseline::Size;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct BenchOptions {
    #[command(subcommand)]
    pub(crate) table: BenchTable,
}

#[derive(Subcommand)]
pub(crate) enum BenchTable {
    /// The slowdowns of the ESP-bags paper's Table 3: its twelve programs, with all checks, with
    /// those that are needed and with none, and four of them in Rust
    #[command(after_help = EXIT_STATUSES)]
    EspBags(EspBagsOptions),
    /// Table 1 of the paper on the polyhedral model for finish and async: how long proving its
    /// programs and their parallel blocks takes
    #[command(after_help = EXIT_STATUSES)]
    Prove(BenchProveOptions),
    /// Tables 2 to 5 of the DRDP paper: its seven programs, with all checks, with the default ones,
    /// with none, and under DRDP; its orders of walking; and matmul beside ThreadSanitizer
    #[command(after_help = EXIT_STATUSES)]
    Drdp(DrdpOptions),
    /// Table 3 of the Zipper paper: how long three checkers take for the computation graphs of its
    /// 27 programs, and for graphs that grow
    #[command(after_help = EXIT_STATUSES)]
    Zipper(ZipperOptions),
    /// Figures 5 and 6 and Tables 1 and 2 of the FastRacer paper: its twelve programs on one thread
    /// and on several, under every detector that can check there, and the races of their twins
    #[command(name = "fastracer", after_help = EXIT_STATUSES)]
    FastRacer(FastRacerOptions),
}

#[derive(Args)]
pub(crate) struct ZipperOptions {
    /// Measure these programs alone
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        value_parser = parse_zipper_benchmark
    )]
    pub(crate) only: Vec<&'static zipper::Benchmark>,

    /// How often everything is measured
    #[arg(
        long,
        value_name = "N",
        default_value_t = 11,
        allow_hyphen_values = true,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) runs: u32,

    /// The nodes of the largest graph that grows
    #[arg(
        long,
        value_name = "N",
        default_value = "1000000",
        allow_hyphen_values = true,
        value_parser = parse_count
    )]
    pub(crate) max_nodes: usize,

    /// The time for one graph that grows; a checker that would take longer is left out
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "10",
        allow_hyphen_values = true,
        value_parser = parse_seconds
    )]
    pub(crate) timeout: Duration,

    /// Write the figures to this file, as a table for spreadsheets
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Write the figures to this file, for scripts
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write a chart of the growth to this file, for browsers
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Args)]
pub(crate) struct DrdpOptions {
    /// The size of the programs' input: small (only to try it out), medium or paper
    #[arg(long, value_name = "SIZE", default_value = "medium", value_parser = parse_drdp_size)]
    pub(crate) size: drdp::Size,

    /// Measure these programs alone
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        value_parser = parse_drdp_benchmark
    )]
    pub(crate) only: Vec<&'static drdp::Benchmark>,

    /// How often everything is measured
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        allow_hyphen_values = true,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) runs: u32,

    /// The time for each run; one that takes longer is stopped
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "600",
        allow_hyphen_values = true,
        value_parser = parse_seconds
    )]
    pub(crate) timeout: Duration,

    /// Write the figures to this file, as a table for spreadsheets
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Write the figures to this file, for scripts
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write a chart of the slowdowns to this file, for browsers
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Args)]
pub(crate) struct FastRacerOptions {
    /// The size of the programs' input: small (only to try it out), A, B or C
    #[arg(long, value_name = "SIZE", default_value = "A", value_parser = parse_bench_size)]
    pub(crate) size: Size,

    /// Measure these programs alone
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        value_parser = parse_fastracer_benchmark
    )]
    pub(crate) only: Vec<&'static fastracer::Benchmark>,

    /// Measure on this many threads, besides one; without it there is one for each processor
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_jobs)]
    pub(crate) threads: Option<NonZero<usize>>,

    /// How often everything is measured
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        allow_hyphen_values = true,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) runs: u32,

    /// The time for each run; one that takes longer is stopped
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "60",
        allow_hyphen_values = true,
        value_parser = parse_seconds
    )]
    pub(crate) timeout: Duration,

    /// Write the figures to this file, as a table for spreadsheets
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Write the figures to this file, for scripts
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write a chart of the slowdowns to this file, for browsers
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Args)]
pub(crate) struct BenchFinOptions {
    /// drdp/ or fastracer/, and a program
    #[arg(value_name = "NAME", value_parser = parse_fin_program)]
    pub(crate) program: FinSource,

    /// What it runs under: run, races, check:CHECKS, drdp:CHECKS:ORDER, threads:N or
    /// threads:N:DETECTOR:CHECKS
    #[arg(value_parser = Under::parse)]
    pub(crate) under: Under,

    #[arg(value_name = "ARGS")]
    pub(crate) arguments: Vec<i64>,
}

#[derive(Args)]
pub(crate) struct BenchProveOptions {
    /// Measure these programs and blocks alone
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = parse_block)]
    pub(crate) only: Vec<&'static Block>,

    /// How often everything is measured
    #[arg(
        long,
        value_name = "N",
        default_value_t = 11,
        allow_hyphen_values = true,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) runs: u32,

    /// The time for each kernel; one that takes longer is unknown
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "10",
        allow_hyphen_values = true,
        value_parser = parse_seconds
    )]
    pub(crate) timeout: Duration,

    /// Write the figures to this file, as a table for spreadsheets
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Write the figures to this file, for scripts
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Args)]
pub(crate) struct EspBagsOptions {
    /// The size of the programs' input: small (only to try it out), A, B or C
    #[arg(long, value_name = "SIZE", default_value = "A", value_parser = parse_bench_size)]
    pub(crate) size: Size,

    /// Measure these programs alone
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = parse_benchmark)]
    pub(crate) only: Vec<&'static Benchmark>,

    /// How often everything is measured
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        allow_hyphen_values = true,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) runs: u32,

    /// Also measure what each pass that leaves checks out does alone: the paper's Fig. 14, with
    /// counts of checks
    #[arg(long)]
    pub(crate) breakdown: bool,

    /// Write the figures to this file, as a table for spreadsheets
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Write the figures to this file, for scripts
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write a chart of the slowdowns to this file, for browsers
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Args)]
pub(crate) struct BenchOneOptions {
    #[arg(value_name = "NAME", value_parser = parse_benchmark)]
    pub(crate) program: &'static Benchmark,

    #[arg(value_name = "SIZE", value_parser = parse_bench_size)]
    pub(crate) size: Size,

    /// run, rust, or check: and what --checks takes
    #[arg(value_parser = Configuration::parse)]
    pub(crate) configuration: Configuration,
}

fn parse_benchmark(word: &str) -> Result<&'static Benchmark, String> {
    suite::find(word).ok_or_else(|| format!("the programs are {}", suite::names(|_| true)))
}

fn parse_drdp_benchmark(word: &str) -> Result<&'static drdp::Benchmark, String> {
    drdp::find(word).ok_or_else(|| format!("the programs are {}", drdp::names()))
}

fn parse_fastracer_benchmark(word: &str) -> Result<&'static fastracer::Benchmark, String> {
    fastracer::find(word).ok_or_else(|| format!("the programs are {}", fastracer::names()))
}

fn parse_fin_program(word: &str) -> Result<FinSource, String> {
    match word.split_once('/') {
        Some(("drdp", name)) => {
            let drdp::Benchmark { name, source, .. } = parse_drdp_benchmark(name)?;
            Ok(FinSource { name, source })
        }
        Some(("fastracer", name)) => {
            let fastracer::Benchmark { name, source, .. } = parse_fastracer_benchmark(name)?;
            Ok(FinSource { name, source })
        }
        _ => Err("drdp/ or fastracer/, and a program".to_owned()),
    }
}

fn parse_zipper_benchmark(word: &str) -> Result<&'static zipper::Benchmark, String> {
    zipper::find(word).ok_or_else(|| format!("the programs are {}", zipper::names()))
}

fn parse_drdp_size(word: &str) -> Result<drdp::Size, String> {
    let mut found = drdp::Size::ALL
        .into_iter()
        .filter(|(name, _)| *name == word);
    found.next().map(|(_, size)| size).ok_or_else(|| {
        let words = drdp::Size::ALL.map(|(name, _)| name).join(", ");
        format!("the sizes are {words}")
    })
}

fn parse_block(word: &str) -> Result<&'static Block, String> {
    let mut found = BLOCKS.iter().filter(|block| block.name == word);
    found.next().ok_or_else(|| {
        let names: Vec<&str> = BLOCKS.iter().map(|block| block.name).collect();
        format!("the programs and blocks are {}", names.join(", "))
    })
}

fn parse_bench_size(word: &str) -> Result<Size, String> {
    let known = suite::SIZES.into_iter();
    let mut found = known.filter(|(name, _)| name.eq_ignore_ascii_case(word));
    found.next().map(|(_, size)| size).ok_or_else(|| {
        let words = suite::SIZES.map(|(name, _)| name).join(", ");
        format!("the sizes are {words}")
    })
}
