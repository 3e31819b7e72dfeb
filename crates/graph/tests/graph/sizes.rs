//! Big graphs, deep ones, and runs that stop early.

use crate::judge::{graph_of, judge};
use crate::words::{parse, tell};
use finishline_graph::growth::Growth;
use finishline_graph::labels::{DepthFirstLabels, Online};
use finishline_graph::{CHECKERS, Graph};
use finishline_model::Location;
use finishline_model::event::{Record, replay};

const DEPTH: usize = 100_000;

/// Nothing recurses: tasks in tasks, and finishes in finishes.
#[test]
fn deep_graphs_are_judged() {
    for (open, races) in [("async{ ", 1), ("finish{ async{ ", 0), ("finish{ ", 0)] {
        let opened = open.matches('{').count();
        let (depth, close) = (DEPTH / opened, "} ".repeat(opened));
        let program = format!("{} wa {} ra", open.repeat(depth), close.repeat(depth));
        let mut records = Vec::new();
        tell(&parse(&program), 26, &mut records);
        let graph = graph_of(&records);
        // The closure would be too big.
        for checker in &CHECKERS[1..] {
            let found = checker.check(&graph).unwrap();
            assert_eq!(found.len(), races, "{open}, {}", checker.name());
        }
    }
}

/// Growth has the size that is asked for, and no races.
#[test]
fn grown_graphs_have_no_races() {
    for (isolated_every, tasks_a_finish) in [(0, 0), (3, 0), (0, 7), (2, 7)] {
        let growth = Growth {
            nodes: 500,
            accesses_a_node: 6,
            isolated_every,
            tasks_a_finish,
        };
        let mut records: Vec<Record> = Vec::new();
        growth.tell(&mut records);
        let graph = Graph::of(|builder| growth.tell(builder)).unwrap();
        assert!((500..510).contains(&graph.len()), "{}", graph.len());
        assert!(graph.access_count() > 2000, "{}", graph.access_count());
        assert_eq!(graph.blocks() > 0, isolated_every > 0);
        assert_eq!(judge(&records), Ok(Default::default()));
    }
}

/// A run that stops anywhere is judged up to there.
#[test]
fn a_run_may_stop_early() {
    let mut records = Vec::new();
    let program = "finish{ async{ wa isolated{ rb } } async{ wb } ra isolated{ wb } } ra";
    tell(&parse(program), 26, &mut records);
    for end in 1..=records.len() {
        judge(&records[..end]).unwrap_or_else(|why| panic!("up to {end}: {why}"));
    }
}

/// Locations may lie anywhere.
#[test]
fn locations_far_apart_are_found() {
    let mut records = Vec::new();
    tell(&parse("async{ wa wb } wa rb rc"), 26, &mut records);
    let far = [u64::MAX, 1 << 40, 7];
    for record in &mut records {
        if let Record::Access(access) = record {
            access.first = Location(far[access.first.0 as usize]);
        }
    }
    let mut labels = DepthFirstLabels::new().unwrap();
    replay(&records, &mut labels);
    assert!(labels.used_bytes() < 1 << 20);
    let found = labels.finish().unwrap();
    let found: Vec<u64> = found.iter().map(|race| race.location.0).collect();
    assert_eq!(found, [1 << 40, u64::MAX]);
}
