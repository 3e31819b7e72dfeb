//! What the repairs of Zipper are for: programs on which the printed procedures are wrong.
//!
//! A program's graph is redrawn as the paper draws it, with async and wait nodes apart from what
//! they do. Only accesses to `a` count.

use crate::interleaved::{Policy, recorded};
use crate::judge::{graph_of, judge};
use crate::printed::{Kind, Printed, PrintedNode, Repair};
use crate::words::parse;
use finishline_detect::steps::Begins;
use finishline_graph::{Graph, NodeId};
use finishline_model::event::Record;
use finishline_model::{AccessKind, Location};
use std::collections::BTreeMap;

/// Which branch of an async node is visited first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum First {
    Task,
    Rest,
}

/// The places of a node's parts in the redrawn graph.
#[derive(Clone, Copy)]
struct Parts {
    wait: Option<usize>,
    body: usize,
    fork: Option<usize>,
}

impl Parts {
    fn entry(&self) -> usize {
        self.wait.unwrap_or(self.body)
    }
}

fn redraw(graph: &Graph, first: First) -> Vec<PrintedNode> {
    let creates: Vec<NodeId> = graph
        .nodes()
        .filter(|&node| graph.begins(node) == Begins::Task)
        .filter_map(|node| graph.predecessors(node).first().copied())
        .collect();
    let mut parts = Vec::new();
    let mut count = 0;
    let mut place = || {
        count += 1;
        count - 1
    };
    for node in graph.nodes() {
        let joins = graph.predecessors(node).len() > 1;
        parts.push(Parts {
            wait: joins.then(&mut place),
            body: place(),
            fork: creates.contains(&node).then(&mut place),
        });
    }
    let blank = PrintedNode {
        name: ' ',
        kind: Kind::Other,
        child: None,
        reads: false,
        writes: false,
    };
    let mut nodes = vec![blank; count];
    let mut created_by = BTreeMap::new();
    let mut joins: BTreeMap<usize, usize> = BTreeMap::new();
    for node in graph.nodes() {
        let own = parts[node.index()];
        for access in graph.accesses(node) {
            if access.location == Location(0) {
                nodes[own.body].reads |= access.kind == AccessKind::Read;
                nodes[own.body].writes |= access.kind == AccessKind::Write;
            }
        }
        if let Some(block) = graph.block(node) {
            nodes[own.body].kind = Kind::Isolated(block as usize);
        }
        if let Some(fork) = own.fork {
            nodes[own.body].child = Some(fork);
        }
        let Some((previous, joined)) = graph.predecessors(node).split_first() else {
            continue;
        };
        let before = parts[previous.index()];
        match graph.begins(node) {
            Begins::Task => {
                let fork = before.fork.expect("it creates");
                created_by.insert(graph.task(node), fork);
                let mut successors = vec![own.entry(), parts[node.index() + 1].entry()];
                if first == First::Rest {
                    successors.reverse();
                }
                nodes[fork].kind = Kind::Async {
                    successors,
                    join: usize::MAX,
                };
            }
            Begins::AfterCreation => {}
            _ => nodes[before.body].child = Some(own.entry()),
        }
        if let Some(wait) = own.wait {
            let forks = joined.iter().map(|last| created_by[&graph.task(*last)]);
            for fork in forks.clone() {
                joins.insert(fork, wait);
            }
            nodes[wait].kind = Kind::Wait {
                first_async: forks.min(),
            };
            nodes[wait].child = Some(own.body);
            for last in joined {
                nodes[parts[last.index()].body].child = Some(wait);
            }
        }
    }
    for (fork, wait) in joins {
        if let Kind::Async { join, .. } = &mut nodes[fork].kind {
            *join = wait;
        }
    }
    nodes
}

/// Whether `a` races in a run, by the printed procedures.
fn printed_finds(records: &[Record], first: First, without: Option<Repair>) -> bool {
    let mut printed = Printed::new(redraw(&graph_of(records), first), without);
    printed.run(0);
    !printed.races.is_empty()
}

/// The answer that the printed procedures give with all repairs that fit in, and without one.
#[test]
fn each_repair_is_needed() {
    use Policy::{Newest, Oldest};
    use Repair::{BlocksOfTheBag, JoinBagsOfTheBranch, SkipBehindSliderUp, SliderBeforeCheckUp};
    for (repair, program, policy, first, races) in [
        (
            BlocksOfTheBag,
            "async{ ra isolated{ } } wa isolated{ }",
            Newest,
            First::Task,
            true,
        ),
        (
            BlocksOfTheBag,
            "async{ ra } wa isolated{ } isolated{ }",
            Newest,
            First::Rest,
            true,
        ),
        (
            SkipBehindSliderUp,
            "async{ ra isolated{ } } isolated{ } wa",
            Newest,
            First::Rest,
            false,
        ),
        (
            SkipBehindSliderUp,
            "async{ isolated{ } ra } wa isolated{ }",
            Oldest,
            First::Task,
            false,
        ),
        (
            JoinBagsOfTheBranch,
            "async{ async{ wa } } ra",
            Newest,
            First::Task,
            true,
        ),
        (
            JoinBagsOfTheBranch,
            "async{ ra } async{ } wa",
            Newest,
            First::Rest,
            true,
        ),
        // The first is Fig. 2 of the paper.
        (
            SliderBeforeCheckUp,
            "async{ isolated{ wa } } isolated{ } ra",
            Newest,
            First::Rest,
            false,
        ),
        (
            SliderBeforeCheckUp,
            "async{ isolated{ } ra } isolated{ wa }",
            Oldest,
            First::Task,
            false,
        ),
    ] {
        let records = recorded(&parse(program), policy, 1);
        let judged = judge(&records).unwrap_or_else(|why| panic!("{program}: {why}"));
        assert_eq!(!judged.is_empty(), races, "{program}");
        assert_eq!(printed_finds(&records, first, None), races, "{program}");
        assert_eq!(
            printed_finds(&records, first, Some(repair)),
            !races,
            "{program}, {repair:?}"
        );
    }
}

/// Filing by branch is wrong in any case: a block orders more than the nodes of its own branch.
#[test]
fn filing_by_branch_gives_false_alarms() {
    for program in [
        // The block follows a task that was joined.
        "finish{ async{ finish{ async{ wa } } isolated{ } } isolated{ } ra }",
        // The block is in a task that was created behind the write.
        "finish{ async{ wa finish{ async{ isolated{ } } } } isolated{ } ra }",
    ] {
        let records = recorded(&parse(program), Policy::Newest, 1);
        assert_eq!(judge(&records), Ok(Default::default()), "{program}");
        assert!(printed_finds(&records, First::Task, None), "{program}");
    }
}
