//! `finishline bench zipper`: Table 3 of the Zipper paper, measured on this machine.
//!
//! A program is run once, and its computation graph is kept. Then each checker of
//! [`finishline_graph`] judges the graph, in turn with the others, `--runs` times. Most graphs are
//! so small that a checker takes microseconds, so it judges the graph many times in a row, and the
//! time is the mean.
//!
//! Graphs that grow come from [`finishline_graph::growth`]. There a checker takes part as long as
//! it is likely to stay within `--timeout`. What a checker took for a smaller graph tells, because
//! no checker grows faster than the square.

pub(crate) mod suite;

use super::{Files, arithmetic, bar, told};
use crate::bench::options::ZipperOptions;
use crate::outcome::Problem;
use finishline_engine::executor::{Executor, Forms};
use finishline_engine::picture;
use finishline_engine::question::Question;
use finishline_graph::growth::Growth;
use finishline_graph::{CHECKERS, Checker, Graph};
use finishline_ir::machine::{Datum, Limits};
use finishline_model::Passes;
use finishline_report::bench::Format;
use finishline_report::bench::table::{BenchFailure, BenchFailureKind};
use finishline_report::bench::zipper::{self as report, ZipperRow, ZipperTable};
use indicatif::ProgressBar;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};
use suite::{Benchmark, SUITE};

/// A checker judges a graph again and again for this time.
const BATCH: Duration = Duration::from_millis(1);
/// A checker that has taken more seconds than this for a graph that grows makes no more rounds.
const LONG: f64 = 2.0;

/// The numbers of nodes of graphs that grow.
const SIZES: [usize; 7] = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];
/// The number of tasks in a finish, where 0 means all. Every tenth task has an isolated block.
const SHAPES: [(&str, usize); 2] = [("one finish", 0), ("finishes of 100 tasks", 100)];

pub(crate) fn zipper(options: &ZipperOptions) -> Result<u8, Problem> {
    let files = Files::open(&[
        (&options.csv, Format::Csv),
        (&options.json, Format::Json),
        (&options.svg, Format::Svg),
    ])?;
    let chosen = SUITE.iter().filter(|benchmark| {
        let mut only = options.only.iter();
        options.only.is_empty() || only.any(|one| one.name == benchmark.name)
    });
    let (mut graphs, mut failures) = (Vec::new(), Vec::new());
    for benchmark in chosen {
        match graph(benchmark) {
            Ok(graph) => graphs.push((benchmark, graph)),
            Err(message) => failures.push(BenchFailure {
                program: benchmark.name,
                kind: BenchFailureKind::Failed,
                message,
            }),
        }
    }
    let sizes = SIZES.into_iter().filter(|size| *size <= options.max_nodes);
    let steps = u64::from(options.runs) + (SHAPES.len() * sizes.clone().count()) as u64;
    let bar = bar(steps, options.quiet);
    let programs = programs(&graphs, options.runs, &bar, &mut failures);
    drop(graphs);
    let mut growth = Vec::new();
    for (shape, tasks_a_finish) in SHAPES {
        growth.extend(grow(shape, tasks_a_finish, sizes.clone(), options, &bar));
    }
    bar.finish_and_clear();

    let table = ZipperTable {
        rounds: options.runs as usize,
        optimised: !cfg!(debug_assertions),
        limit: options.timeout.as_secs_f64(),
        programs,
        growth,
        failures,
    };
    files.write(|format, out| report::write(&table, format, out))?;
    Ok(told(&table.failures))
}

/// The computation graph of a program.
fn graph(benchmark: &Benchmark) -> Result<Graph, String> {
    let file = format!("{}.fin", benchmark.name);
    let program = finishline_fin::compile(&file, benchmark.source.as_bytes());
    let module = program.map_err(|errors| errors.render(false))?.module;
    let question = Question {
        module: &module,
        forms: Forms::new(&module, Executor::Interpreted, Passes::NONE),
        words: Vec::new(),
        arguments: benchmark
            .arguments
            .iter()
            .copied()
            .map(Datum::Int)
            .collect(),
        limits: Limits::default(),
        max_races: 0,
        suppressions: None,
        watch: None,
        schedule: None,
        progress: AtomicU64::new(0),
    };
    picture::graph(&question).map_err(|failure| failure.to_string())
}

/// The seconds of each round, by checker. None if it refuses the graph or takes too long.
type Times = [Option<Vec<f64>>; CHECKERS.len()];

/// Measures every program `runs` times.
fn programs(
    graphs: &[(&'static Benchmark, Graph)],
    runs: u32,
    bar: &ProgressBar,
    failures: &mut Vec<BenchFailure>,
) -> Vec<ZipperRow> {
    let mut times: Vec<(Times, [u32; CHECKERS.len()])> = Vec::new();
    for (benchmark, graph) in graphs {
        // What a checker says, and how often it can judge the graph in a batch.
        let mut repetitions = [1; CHECKERS.len()];
        times.push((
            std::array::from_fn(|at| {
                let (seconds, races) = time(CHECKERS[at], graph, 1)?;
                repetitions[at] = (BATCH.as_secs_f64() / seconds).clamp(1.0, 10_000.0) as u32;
                if races != benchmark.races {
                    failures.push(BenchFailure {
                        program: benchmark.name,
                        kind: BenchFailureKind::Failed,
                        message: format!("{} is wrong about its races", CHECKERS[at].name()),
                    });
                }
                Some(Vec::new())
            }),
            repetitions,
        ));
    }
    for round in 1..=runs {
        bar.set_message(format!("programs, round {round} of {runs}"));
        for ((_, graph), (times, repetitions)) in graphs.iter().zip(&mut times) {
            for (at, times) in times.iter_mut().enumerate() {
                if let Some(times) = times
                    && let Some((seconds, _)) = time(CHECKERS[at], graph, repetitions[at])
                {
                    times.push(seconds);
                }
            }
        }
        bar.inc(1);
    }
    (graphs.iter().zip(times))
        .map(|((benchmark, graph), (times, _))| {
            let words = benchmark.arguments.iter().map(ToString::to_string);
            let arguments = words.collect::<Vec<_>>().join(" ");
            ZipperRow {
                arguments,
                races: benchmark.races,
                paper: Some(benchmark.paper),
                ..row(benchmark.name, graph, &times)
            }
        })
        .collect()
}

/// Measures graphs of one shape, as far as each checker gets.
fn grow(
    shape: &'static str,
    tasks_a_finish: usize,
    sizes: impl Iterator<Item = usize>,
    options: &ZipperOptions,
    bar: &ProgressBar,
) -> Vec<ZipperRow> {
    let limit = options.timeout.as_secs_f64();
    // The nodes and seconds of the graph before. None once a checker is left out.
    let mut latest = [Some((1, 0.0)); CHECKERS.len()];
    let mut rows = Vec::new();
    for size in sizes {
        bar.set_message(format!("{shape}, {size} nodes"));
        let growth = Growth {
            nodes: size,
            accesses_a_node: 10,
            isolated_every: 10,
            tasks_a_finish,
        };
        let Ok(graph) = Graph::of(|builder| growth.tell(builder)) else {
            break;
        };
        let mut times: Times = latest.map(|latest| {
            let (nodes, seconds) = latest?;
            let grown = graph.len() as f64 / nodes as f64;
            (seconds * grown * grown <= limit).then(Vec::new)
        });
        for _ in 0..options.runs {
            for (checker, times) in CHECKERS.iter().zip(&mut times) {
                if let Some(of_checker) = times
                    && of_checker.iter().sum::<f64>() <= LONG
                {
                    match time(*checker, &graph, 1) {
                        Some((seconds, _)) => of_checker.push(seconds),
                        None => *times = None,
                    }
                }
            }
        }
        for (latest, times) in latest.iter_mut().zip(&times) {
            let seconds = times.as_ref().map(|times| arithmetic::median(times));
            *latest = seconds.map(|seconds| (graph.len(), seconds));
        }
        rows.push(row(shape, &graph, &times));
        bar.inc(1);
    }
    rows
}

/// The mean time of a checker for a graph, and whether it found races. None if it refuses.
fn time(checker: &dyn Checker, graph: &Graph, repetitions: u32) -> Option<(f64, bool)> {
    let began = Instant::now();
    let mut races = false;
    for _ in 0..repetitions {
        races = !checker.check(graph).ok()?.is_empty();
    }
    Some((
        began.elapsed().as_secs_f64() / f64::from(repetitions),
        races,
    ))
}

fn row(name: &'static str, graph: &Graph, times: &Times) -> ZipperRow {
    let seconds = (times.each_ref()).map(|times| Some(arithmetic::spread(times.as_ref()?)));
    let ratio = |of: usize, to: usize| {
        let pairs = times[of].as_ref()?.iter().zip(times[to].as_ref()?);
        let ratios: Vec<f64> = pairs.map(|(of, to)| of / to).collect();
        Some(arithmetic::spread(&ratios))
    };
    ZipperRow {
        graph: name,
        arguments: String::new(),
        nodes: graph.len() as u64,
        accesses: graph.access_count() as u64,
        blocks: graph.blocks() as u64,
        races: false,
        seconds,
        zipper_to_cg: ratio(1, 0),
        labels_to_cg: ratio(2, 0),
        paper: None,
    }
}
