//! The time of each checker on graphs that grow, as far as it gets in ten seconds.
//!
//! `cargo bench -p finishline-graph --bench checkers`. Each row is a graph of
//! [`finishline_graph::growth`]. Times are wall-clock milliseconds: the least of several rounds,
//! one round if it takes long. A checker whose last time makes a longer one than ten seconds likely
//! is left out from then on. `labels` is measured from the graph and online, without one.
//! Nanoseconds are those of `labels` for an entry of an access set, and online for an access. A
//! number keeps only the graphs of so many nodes and only `labels`, and tells the peak of memory.

use finishline_graph::growth::Growth;
use finishline_graph::labels::{DepthFirstLabels, Online};
use finishline_graph::{CHECKERS, Graph};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(10);
const SIZES: [usize; 9] = [
    1_000, 2_005, 5_000, 10_000, 20_000, 50_000, 100_000, 300_000, 1_000_000,
];

/// The least time of a few rounds.
fn least(mut run: impl FnMut()) -> Duration {
    let mut least = Duration::MAX;
    let began = Instant::now();
    for _ in 0..7 {
        let round = Instant::now();
        run();
        least = least.min(round.elapsed());
        if began.elapsed() > Duration::from_secs(2) {
            break;
        }
    }
    least
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn main() {
    let only: Option<usize> = std::env::args().find_map(|argument| argument.parse().ok());
    let shapes = [
        ("one finish", 0, 0),
        ("one finish, blocks", 10, 0),
        ("finishes of 100 tasks", 0, 100),
        ("finishes of 100 tasks, blocks", 10, 100),
    ];
    for (name, isolated_every, tasks_a_finish) in shapes {
        println!("{name}");
        print!("{:>10} {:>10} {:>10}", "nodes", "accesses", "build ms");
        for checker in CHECKERS {
            print!(" {:>10}", checker.name());
        }
        println!(" {:>10} {:>8} {:>8}", "online", "ns", "ns");
        let mut latest = [Some((0, Duration::ZERO)); CHECKERS.len()];
        for size in SIZES {
            if only.is_some_and(|only| only != size) {
                continue;
            }
            let growth = Growth {
                nodes: size,
                accesses_a_node: 10,
                isolated_every,
                tasks_a_finish,
            };
            let mut graph = None;
            let build = Instant::now();
            graph.replace(Graph::of(|builder| growth.tell(builder)).expect("memory"));
            let build = build.elapsed();
            let graph = graph.expect("built above");
            print!(
                "{:>10} {:>10} {:>10.1}",
                graph.len(),
                graph.access_count(),
                milliseconds(build)
            );
            for (checker, latest) in CHECKERS.iter().zip(&mut latest) {
                let likely = latest.map(|(before, time)| {
                    let grown = size as f64 / f64::max(before as f64, 1.0);
                    time.mul_f64(if before == 0 { 0.0 } else { grown * grown })
                });
                let linear = checker.name() == "labels";
                if !linear && (only.is_some() || likely.is_none_or(|likely| likely > LIMIT)) {
                    *latest = None;
                    print!(" {:>10}", "-");
                    continue;
                }
                let mut refused = false;
                let time = least(|| refused = checker.check(&graph).is_err());
                *latest = Some((size, time)).filter(|_| !refused && time < LIMIT);
                match refused {
                    true => print!(" {:>10}", "refused"),
                    false => print!(" {:>10.2}", milliseconds(time)),
                }
            }
            let labels = latest.last().copied().flatten();
            let labels = labels.map_or(0.0, |(_, time)| time.as_secs_f64());
            let entries = graph.access_count();
            drop(graph);
            let online = least(|| {
                let mut labels = DepthFirstLabels::new().expect("memory");
                growth.tell(&mut labels);
                assert!(labels.finish().expect("judged").is_empty());
            });
            let each = |seconds: f64, count: usize| seconds * 1e9 / count as f64;
            println!(
                " {:>10.2} {:>8.1} {:>8.1}",
                milliseconds(online),
                each(labels, entries),
                each(online.as_secs_f64(), entries)
            );
        }
    }
    if only.is_some() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status.lines().find(|line| line.starts_with("VmHWM"));
        println!("{}", peak.unwrap_or("no peak is known"));
    }
}
