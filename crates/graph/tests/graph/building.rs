//! The graphs themselves: nodes, edges, access sets, and the run that they tell again.

use crate::interleaved::{Generator, POLICIES, Policy, recorded};
use crate::judge::graph_of;
use crate::words::{parse, tell};
use finishline_graph::{Graph, NodeId, NodeKind};
use finishline_model::TaskId;
use finishline_model::event::Record;

fn graph(program: &str) -> Graph {
    let mut records = Vec::new();
    tell(&parse(program), 26, &mut records);
    graph_of(&records)
}

/// The number of nodes of [Zipper Table 3]: 1000 tasks in a finish are 2005 nodes.
#[test]
fn nodes_are_counted_as_in_the_paper() {
    assert_eq!(graph("").len(), 3);
    assert_eq!(graph("finish{ }").len(), 5);
    assert_eq!(graph("isolated{ }").len(), 5);
    let tasks = "async{ wa } ".repeat(1000);
    assert_eq!(graph(&format!("finish{{ {tasks} }}")).len(), 2005);
}

#[test]
fn a_small_graph_has_these_nodes_and_edges() {
    let graph = graph("wa finish{ async{ isolated{ rb } } isolated{ wb wb rb } } ra wa");
    let nodes: Vec<String> = graph
        .nodes()
        .map(|node| {
            let before = graph
                .predecessors(node)
                .iter()
                .map(|node| node.0.to_string());
            let isolation = graph
                .isolation_edge_to(node)
                .map(|node| format!("+{}", node.0));
            let accesses = graph.accesses(node).iter().map(|access| {
                let kind = &access.kind.word()[..1];
                format!(" {kind}{}", access.location.0)
            });
            format!(
                "{:?} {:?} {}{}{}",
                graph.kind(node),
                graph.task(node).0,
                before.collect::<Vec<_>>().join(","),
                isolation.unwrap_or_default(),
                accesses.collect::<String>()
            )
        })
        .collect();
    assert_eq!(
        nodes,
        [
            "Step 0 ",
            "Step 0 0 w0",
            "Async 0 1",
            "Step 1 2",
            "Step 0 2",
            "Isolated 1 3 r1",
            "Step 1 5",
            "Isolated 0 4+5 r1 w1",
            "Step 0 7",
            "Wait 0 8,6 r0 w0",
            "Wait 0 9",
        ]
    );
    assert_eq!((graph.blocks(), graph.access_count()), (2, 6));
    assert_eq!(graph.kind(NodeId(2)), NodeKind::Async);
}

#[test]
fn access_sets_conflict_if_one_writes() {
    let graph = graph("ra rb wc+3*2 async{ wb rc we+1*1 } async{ ra rb rc }");
    let conflicts = |a: u32, b: u32| {
        let mut found = Vec::new();
        graph.conflicts(NodeId(a), NodeId(b), |location| found.push(location.0));
        found
    };
    assert_eq!(conflicts(1, 2), [1, 2, 4]);
    assert_eq!(conflicts(2, 1), [1, 2, 4]);
    assert_eq!(conflicts(1, 4), [2]);
    assert_eq!(conflicts(2, 4), [1]);
    assert_eq!(conflicts(1, 1), [2, 4, 6]);
}

/// A graph tells a run with the same graph, in the order of the run.
#[test]
fn a_graph_tells_its_run_again() {
    for seed in 0..300 {
        for policy in POLICIES {
            let records = recorded(&Generator::program(seed), policy, seed);
            let graph = graph_of(&records);
            let mut told: Vec<Record> = Vec::new();
            graph.replay(&mut told);
            let events = |records: &[Record]| -> Vec<Record> {
                let is_event = |record: &&Record| matches!(record, Record::Event(_));
                records.iter().filter(is_event).copied().collect()
            };
            assert_eq!(events(&records), events(&told));
            let again = graph_of(&told);
            for node in graph.nodes() {
                assert_eq!(graph.accesses(node), again.accesses(node));
                assert_eq!(graph.predecessors(node), again.predecessors(node));
            }
        }
    }
}

#[test]
fn a_depth_first_run_is_known_as_one() {
    let program = parse("async{ async{ wa } ra } isolated{ rb } async{ } finish{ async{ } }");
    for (policy, turns) in [(Policy::Newest, false), (Policy::Oldest, true)] {
        let graph = graph_of(&recorded(&program, policy, 1));
        assert_eq!(graph.constructs().turns, turns, "{policy:?}");
    }
    let mut records = Vec::new();
    tell(&program, 26, &mut records);
    assert!(!graph_of(&records).constructs().turns);
    // The creator goes on before its task has ended.
    for record in &mut records {
        if let Record::Access(access) = record {
            access.task = TaskId::MAIN;
        }
    }
    assert!(graph_of(&records).constructs().turns);
}
