//! Groups of like nodes, for drawings.

use crate::interleaved::{Generator, POLICIES, recorded};
use crate::judge::graph_of;
use crate::words::{parse, tell};
use finishline_graph::collapse::{Collapsed, collapse};
use finishline_graph::growth::Growth;
use finishline_graph::{Graph, NodeId};

fn graph(program: &str) -> Graph {
    let mut records = Vec::new();
    tell(&parse(program), 26, &mut records);
    graph_of(&records)
}

/// Every node is in one group or left out, and a group has as many nodes as it says.
fn check(graph: &Graph, collapsed: &Collapsed) {
    let mut sizes = vec![0; collapsed.groups.len()];
    let mut left_out = 0;
    for node in graph.nodes() {
        match collapsed.group_of(node) {
            Some(group) => sizes[group] += 1,
            None => left_out += 1,
        }
    }
    let told: Vec<usize> = collapsed.groups.iter().map(|group| group.nodes).collect();
    assert_eq!((sizes, left_out), (told, collapsed.left_out));
    for (index, group) in collapsed.groups.iter().enumerate() {
        assert_eq!(collapsed.group_of(group.node), Some(index));
    }
    let representatives = collapsed.groups.iter().map(|group| group.node);
    assert!(representatives.is_sorted());
}

#[test]
fn a_small_graph_stays_as_it_is() {
    let graph = graph("finish{ async{ wa } async{ wa } }");
    let collapsed = collapse(&graph, &[], graph.len());
    check(&graph, &collapsed);
    assert_eq!(collapsed.groups.len(), graph.len());
    assert_eq!(collapsed.left_out, 0);
}

#[test]
fn like_iterations_are_one() {
    let tasks = "async{ isolated{ } } ".repeat(1000);
    let graph = graph(&format!(
        "finish{{ {tasks} }} finish{{ {tasks} }} isolated{{ }}"
    ));
    let collapsed = collapse(&graph, &[], 100);
    check(&graph, &collapsed);
    // Main, its finish; a finish, a task's first node, the step behind its creation, its block and
    // what follows, the end of the finish; main's block, what follows, the end of main.
    let counts: Vec<usize> = collapsed.groups.iter().map(|group| group.nodes).collect();
    assert_eq!(counts, [1, 1, 2, 2000, 2000, 2000, 2000, 2, 1, 1, 1]);
}

#[test]
fn what_is_kept_is_alone() {
    let tasks = "async{ async{ } async{ } } ".repeat(100);
    let graph = graph(&format!("finish{{ {tasks} }}"));
    // Somewhere in the middle.
    let kept = NodeId(311);
    let collapsed = collapse(&graph, &[kept], 100);
    check(&graph, &collapsed);
    let group = collapsed.groups[collapsed.group_of(kept).unwrap()];
    assert_eq!((group.node, group.nodes), (kept, 1));
    assert!(collapsed.groups.len() <= 100 && collapsed.left_out == 0);
    // It is there even if nothing else is.
    let collapsed = collapse(&graph, &[kept], 0);
    check(&graph, &collapsed);
    assert_eq!(collapsed.groups.len(), 1);
    assert_eq!(collapsed.left_out, graph.len() - 1);
}

#[test]
fn deep_tasks_are_folded() {
    // Unlike on every level, so nothing is a repetition.
    let mut program = "isolated{ }".to_owned();
    for _ in 0..300 {
        program = format!("async{{ {program} }} isolated{{ }}");
    }
    let graph = graph(&program);
    let collapsed = collapse(&graph, &[], 50);
    check(&graph, &collapsed);
    assert!(collapsed.groups.len() <= 50 && collapsed.groups.len() > 40);
    assert_eq!(collapsed.left_out, 0);
    let folded: Vec<_> = collapsed
        .groups
        .iter()
        .filter(|group| group.folded)
        .collect();
    let [folded] = folded[..] else {
        panic!("{folded:?}")
    };
    assert!(folded.tasks > 250);
}

#[test]
fn what_can_not_be_collapsed_is_left_out_and_counted() {
    // A task with many steps that all differ, by the places of their accesses.
    let steps = "isolated{ wa } wb ".repeat(500);
    let graph = graph(&steps);
    let collapsed = collapse(&graph, &[], 60);
    check(&graph, &collapsed);
    assert_eq!(collapsed.groups.len(), 60);
    assert_eq!(collapsed.left_out, graph.len() - 60);
}

#[test]
fn random_graphs_are_divided() {
    for seed in 0..300 {
        let program = Generator::program(seed);
        let policy = POLICIES[seed as usize % POLICIES.len()];
        let graph = graph_of(&recorded(&program, policy, seed));
        for most in [0, 1, 5, 20, 1000] {
            let keep: Vec<NodeId> = graph.nodes().filter(|node| node.0 % 7 == 3).collect();
            for keep in [&keep[..], &[]] {
                let collapsed = collapse(&graph, keep, most);
                check(&graph, &collapsed);
                assert!(collapsed.groups.len() <= most.max(keep.len()));
                for node in keep {
                    let group = collapsed.groups[collapsed.group_of(*node).unwrap()];
                    assert_eq!(group.nodes, 1);
                }
            }
        }
    }
}

/// A million nodes, with tasks that are all alike or all different.
#[test]
fn large_graphs_are_collapsed_quickly() {
    for accesses_a_node in [0, 1] {
        let growth = Growth {
            nodes: 1_000_000,
            accesses_a_node,
            isolated_every: 10,
            tasks_a_finish: 100,
        };
        let graph = Graph::of(|builder| growth.tell(builder)).unwrap();
        let collapsed = collapse(&graph, &[], 200);
        check(&graph, &collapsed);
        assert!(collapsed.groups.len() <= 200);
        assert_eq!(collapsed.left_out, 0);
    }
}
