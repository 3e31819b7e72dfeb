//! Programs that each need a rule of the checkers.

use crate::interleaved::{POLICIES, Policy, recorded};
use crate::judge::{graph_of, judge};
use crate::words::{parse, tell};
use finishline_graph::NodeId;
use finishline_graph::zipper::Filing;
use finishline_model::event::Record;
use finishline_model::{
    Access, AccessId, AccessKind, Event, FinishId, FinishKind, Location, SiteId, TaskId, TaskKind,
};

/// Checks whether `a` races in the depth-first run of a program.
fn check(program: &str, races: bool) {
    let mut records = Vec::new();
    tell(&parse(program), 26, &mut records);
    let racing = judge(&records).unwrap_or_else(|why| panic!("{program}: {why}"));
    assert_eq!(racing.contains(&Location(0)), races, "{program}");
}

/// The same for tasks that take turns, one policy or all.
fn check_turns(program: &str, policies: &[Policy], races: bool) {
    for &policy in policies {
        let records = recorded(&parse(program), policy, 1);
        let racing = judge(&records).unwrap_or_else(|why| panic!("{program}, {policy:?}: {why}"));
        assert_eq!(
            racing.contains(&Location(0)),
            races,
            "{program}, {policy:?}"
        );
    }
}

#[test]
fn structure_orders_tasks_and_finishes() {
    for (program, races) in [
        ("async{ wa } ra", true),
        ("finish{ async{ wa } } ra", false),
        ("wa async{ ra }", false),
        ("async{ ra } ra", false),
        ("async{ async{ wa } } ra", true),
        ("finish{ async{ async{ wa } } } ra", false),
        ("async{ finish{ async{ wa } } } ra", true),
        ("async{ wa } finish{ async{ } } ra", true),
        ("scope{ async{ wa } sync ra }", false),
        ("scope{ async{ } sync async{ wa } ra }", true),
        ("scope{ begin{ async{ wa } sync ra } }", false),
        // A finish without tasks between them.
        ("async{ wa } finish{ } ra", true),
        // Of the branches of two asyncs with one wait node.
        ("finish{ async{ } async{ wa } ra } wa", true),
        ("finish{ async{ } async{ wa } } wa", false),
    ] {
        check(program, races);
    }
}

#[test]
fn the_chain_of_blocks_orders_what_is_before_and_behind_them() {
    for (program, races) in [
        ("async{ wa isolated{ } } isolated{ } ra", false),
        ("async{ isolated{ } wa } isolated{ } ra", true),
        ("async{ wa isolated{ } } ra isolated{ }", true),
        ("async{ isolated{ wa } } isolated{ ra }", false),
        ("async{ isolated{ wa } } ra", true),
        // The chain passes over blocks in between.
        (
            "async{ wa isolated{ } } async{ isolated{ } } isolated{ } ra",
            false,
        ),
        (
            "async{ wa isolated{ } } finish{ async{ isolated{ } } } ra",
            false,
        ),
        ("async{ wa isolated{ } } async{ isolated{ } ra }", false),
        // It is the first block behind the write that counts, and the last before the read.
        ("async{ wa isolated{ } isolated{ } } isolated{ } ra", false),
        (
            "async{ isolated{ } isolated{ } ra } isolated{ } wa isolated{ }",
            true,
        ),
        // Blocks behind both, and before both.
        ("finish{ async{ wa } wa } isolated{ } isolated{ }", true),
        ("isolated{ } isolated{ } async{ wa } ra", true),
        (
            "isolated{ } isolated{ } async{ isolated{ } wa } ra isolated{ } isolated{ }",
            true,
        ),
        // A block of a task that was created behind the write, or joined before the block.
        (
            "finish{ async{ wa finish{ async{ isolated{ } } } } isolated{ } ra }",
            false,
        ),
        (
            "finish{ async{ finish{ async{ wa } } isolated{ } } isolated{ } ra }",
            false,
        ),
        // All tasks that were joined count, of a finish and of those open inside it.
        (
            "async{ finish{ async{ wa } async{ } } isolated{ } } isolated{ } ra",
            false,
        ),
        (
            "async{ scope{ async{ wa } begin{ async{ } sync isolated{ } } } } isolated{ } ra",
            false,
        ),
        (
            "async{ scope{ async{ } begin{ async{ wa } sync isolated{ } } } } isolated{ } ra",
            false,
        ),
        // The read is behind a task with a block.
        (
            "async{ wa isolated{ } } finish{ async{ isolated{ } } async{ } } ra",
            false,
        ),
        (
            "async{ wa isolated{ } } finish{ async{ isolated{ } } ra }",
            true,
        ),
    ] {
        check(program, races);
    }
}

/// The order of blocks is that of the run, not of the text.
#[test]
fn blocks_are_ordered_as_they_ran() {
    let program = "async{ wa isolated{ } } isolated{ } ra";
    check_turns(program, &[Policy::Newest], false);
    check_turns(program, &[Policy::Oldest], true);
    let program = "async{ isolated{ } wa } ra isolated{ }";
    check_turns(program, &[Policy::Newest], true);
    check_turns(program, &[Policy::Oldest], false);
}

/// A block with several steps: what it creates is behind its beginning, what it joins is before its
/// end, and neither is before the other.
#[test]
fn a_block_with_tasks_does_not_order_them() {
    check("isolated{ async{ wa } finish{ async{ wa } } }", true);
    check("isolated{ finish{ async{ wa } wa } } isolated{ }", true);
    check(
        "isolated{ } isolated{ async{ wa } finish{ async{ wa } } } isolated{ }",
        true,
    );
    check(
        "async{ isolated{ finish{ async{ wa } } } } isolated{ } ra",
        false,
    );
}

/// The same if the task that the block creates runs after the one that it joins.
#[test]
fn a_block_with_tasks_does_not_order_them_when_they_take_turns() {
    let (main, site) = (TaskId::MAIN, SiteId(0));
    let begin_task = |task: u32, finish: u32| Event::TaskBegin {
        task: TaskId(task),
        parent: (task > 0).then_some(main),
        kind: TaskKind::Async,
        finish: FinishId(finish),
        site,
    };
    let begin_finish = |finish: u32| Event::FinishBegin {
        task: main,
        finish: FinishId(finish),
        kind: FinishKind::Lexical,
        site,
    };
    let end_finish = |finish: u32| Event::FinishEnd {
        task: main,
        finish: FinishId(finish),
        site,
    };
    let end_task = |task: u32| Event::TaskEnd { task: TaskId(task) };
    let enter = Event::IsolatedBegin { task: main, site };
    let leave = Event::IsolatedEnd { task: main, site };
    let events = [
        vec![begin_task(0, 0), begin_finish(0), enter, leave, enter],
        vec![begin_task(1, 0), begin_finish(1), begin_task(2, 1)],
        vec![end_task(2), end_finish(1), leave, enter, leave],
        vec![end_task(1), end_finish(0), end_task(0)],
    ];
    let mut records: Vec<Record> = Vec::new();
    for event in events.into_iter().flatten() {
        if let Event::TaskEnd {
            task: TaskId(1 | 2),
        } = event
        {
            records.push(Record::Access(Access {
                task: event.task(),
                kind: AccessKind::Write,
                first: Location(0),
                count: 1,
                stride: 1,
                id: AccessId(0),
            }));
        }
        records.push(Record::Event(event));
    }
    assert_eq!(judge(&records), Ok([Location(0)].into()));
}

#[test]
fn one_reader_is_not_enough() {
    check("async{ ra isolated{ } } async{ ra } isolated{ } wa", true);
    check("async{ ra } async{ ra isolated{ } } isolated{ } wa", true);
    check(
        "async{ ra isolated{ } } async{ ra isolated{ } } isolated{ } wa",
        false,
    );
    for policy in POLICIES {
        check_turns("async{ ra } async{ ra } async{ ra } wa", &[policy], true);
        check_turns(
            "finish{ async{ ra } async{ ra } async{ ra } } wa",
            &[policy],
            false,
        );
    }
    // Of many readers one is not waited for.
    let many = "async{ ra } ".repeat(40);
    check_turns(&format!("finish{{ {many} }} wa"), &POLICIES, false);
    check_turns(
        &format!("async{{ ra }} finish{{ {many} }} wa"),
        &POLICIES,
        true,
    );
}

#[test]
fn promises_belong_to_the_structure() {
    for (program, races) in [
        ("async{ wa release0 } acquire0 ra", false),
        ("async{ release0 wa } acquire0 ra", true),
        (
            "async{ ra release0 } async{ ra release1 } async{ ra } acquire0 acquire1 wa",
            true,
        ),
        (
            "async{ ra release0 } async{ ra release1 } acquire0 acquire1 wa",
            false,
        ),
    ] {
        check_turns(program, &POLICIES, races);
    }
    // A block behind a get follows what was done before the set, and is passed on by a set.
    let behind_get = "async{ wa release0 } async{ acquire0 isolated{ } } isolated{ } ra";
    check_turns(behind_get, &[Policy::Newest], false);
    check_turns(behind_get, &[Policy::Oldest], true);
    let before_set = "async{ wa isolated{ } } async{ isolated{ } release0 } acquire0 ra";
    check_turns(before_set, &[Policy::Newest], false);
    // What is joined late does not make a task forget the blocks before it.
    let late =
        "isolated{ } async{ isolated{ } release0 } async{ wa isolated{ } } isolated{ } acquire0 ra";
    check_turns(late, &[Policy::Newest], false);
    // A set inside a block: the getter is behind its beginning, the next block behind its end.
    let inside = "async{ isolated{ release0 wa } } isolated{ } ra";
    check_turns(inside, &[Policy::Newest], false);
    let inside = "async{ isolated{ wa release0 } } acquire0 ra";
    check_turns(inside, &POLICIES, false);
}

/// The run of [Zipper Fig. 3]: c, d, h and g are isolated blocks and ran in this order.
fn figure_3() -> Vec<Record> {
    let (main, other, site) = (TaskId(0), TaskId(1), SiteId(0));
    let mut events = vec![Event::TaskBegin {
        task: main,
        parent: None,
        kind: TaskKind::Main,
        finish: FinishId::ROOT,
        site,
    }];
    events.push(Event::FinishBegin {
        task: main,
        finish: FinishId::ROOT,
        kind: FinishKind::Root,
        site,
    });
    events.push(Event::TaskBegin {
        task: other,
        parent: Some(main),
        kind: TaskKind::Async,
        finish: FinishId::ROOT,
        site,
    });
    for task in [other, main, main, other] {
        events.push(Event::IsolatedBegin { task, site });
        events.push(Event::IsolatedEnd { task, site });
    }
    events.push(Event::TaskEnd { task: other });
    events.push(Event::FinishEnd {
        task: main,
        finish: FinishId::ROOT,
        site,
    });
    events.into_iter().map(Record::Event).collect()
}

/// The last row of [Zipper Table 2]. Our graph has a few nodes more, without names: before a block
/// and behind one there is always a node.
#[test]
fn figure_3_is_filed_as_in_the_last_row_of_table_2() {
    let graph = graph_of(&figure_3());
    // In the order of the run: main, its finish = a, b, before d, c, e, d, f, h, behind h, g, i, j.
    let names = ". a b . c e d f h . g i j".replace(' ', "");
    assert_eq!(graph.len(), names.len());
    let filing = Filing::of(&graph).unwrap();
    let shown = |nodes: &[NodeId]| {
        let names = nodes
            .iter()
            .map(|node| names.as_bytes()[node.index()] as char);
        let mut names: Vec<char> = names.filter(|name| !['.', 'a'].contains(name)).collect();
        names.sort();
        names.into_iter().collect::<String>()
    };
    let blocks: Vec<_> = (0..4)
        .map(|block| filing.of_block(block).map(shown))
        .collect();
    assert_eq!(blocks, [["bc", ""], ["d", "df"], ["fh", "h"], ["", "gij"]]);
    let branches = 0..filing.branches();
    let branches: Vec<_> = branches
        .map(|branch| filing.of_branch(branch).map(shown))
        .collect();
    assert_eq!(branches, [["j", ""], ["egi", "bce"], ["", ""]]);
}
