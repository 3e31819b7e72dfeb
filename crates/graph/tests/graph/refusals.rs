//! What checkers refuse, and how they say it.

use crate::interleaved::{Policy, recorded};
use crate::judge::graph_of;
use crate::words::{parse, tell};
use finishline_detect::Failure;
use finishline_detect::order::{ESCAPING, LOCKS, PROMISES, RELEASES};
use finishline_graph::closure::{MOST_NODES, TransitiveClosure};
use finishline_graph::labels::{AnyOrderLabels, DepthFirstLabels, Online};
use finishline_graph::zipper::{Filing, Zipper};
use finishline_graph::{CHECKERS, Checker, Graph};

/// The names of the checkers that refuse a graph, each for this construct.
fn refused_by(graph: &Graph, construct: &'static str) -> Vec<&'static str> {
    let refuses = |checker: &&&dyn Checker| match checker.check(graph) {
        Ok(_) => false,
        Err(failure) => {
            assert_eq!(failure, Failure::Unsupported(construct));
            true
        }
    };
    CHECKERS
        .iter()
        .filter(refuses)
        .map(|checker| checker.name())
        .collect()
}

fn told(program: &str) -> Graph {
    let mut records = Vec::new();
    tell(&parse(program), 26, &mut records);
    graph_of(&records)
}

#[test]
fn locks_and_releases_are_refused_by_name() {
    let all = ["cg", "zipper", "labels"];
    assert_eq!(refused_by(&told("lock0{ wa }"), LOCKS), all);
    assert_eq!(refused_by(&told("release0 acquire0"), RELEASES), all);
    assert_eq!(refused_by(&told("glimpse0 wa forget"), RELEASES), all);
}

#[test]
fn zipper_refuses_what_is_not_made_of_branches() {
    let promises = graph_of(&recorded(
        &parse("async{ wa release0 } acquire0 ra"),
        Policy::Newest,
        1,
    ));
    assert_eq!(refused_by(&promises, PROMISES), ["zipper"]);
    assert!(Filing::of(&promises).is_err());
    assert_eq!(
        Zipper.check(&promises).unwrap_err().to_string(),
        "this detector has no rule for promises and futures"
    );
    let escaping = told("finish{ finish{ escape1{ wa } async{ } } ra }");
    assert_eq!(refused_by(&escaping, ESCAPING), ["zipper"]);
    for checker in [CHECKERS[0], CHECKERS[2]] {
        assert_eq!(
            checker.check(&escaping).unwrap().len(),
            1,
            "{}",
            checker.name()
        );
    }
}

fn online_refuses<L: Online>(program: &str, construct: &'static str) {
    let mut labels = L::new().unwrap();
    tell(&parse(program), 26, &mut labels);
    assert_eq!(
        labels.finish().unwrap_err(),
        Failure::Unsupported(construct)
    );
}

#[test]
fn labels_refuse_a_run_as_it_goes_on() {
    online_refuses::<AnyOrderLabels>("lock0{ wa }", LOCKS);
    online_refuses::<AnyOrderLabels>("release0", RELEASES);
    online_refuses::<DepthFirstLabels>("lock0{ wa }", LOCKS);
    online_refuses::<DepthFirstLabels>("finish{ finish{ escape1{ wa } } ra }", ESCAPING);
}

#[test]
fn the_closure_refuses_what_would_take_all_memory() {
    let big = told(&"async{ } ".repeat(MOST_NODES / 2));
    let (what, limit) = ("nodes", MOST_NODES);
    let failure = TransitiveClosure.check(&big).unwrap_err();
    assert_eq!(failure, Failure::TooMany { what, limit });
}
