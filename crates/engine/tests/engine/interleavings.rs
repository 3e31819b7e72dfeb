//! All interleavings of programs whose conflicts and outcomes can be listed by hand.

use crate::builder::{Body, Builder};
use finishline_engine::interleavings::{
    Budget, Granularity, Interleavings, LocationName, Outcome, explore,
};
use finishline_ir::machine::{Limits, ObjectName};
use finishline_ir::verify::verify;
use finishline_ir::*;
use finishline_model::FinishKind;
use std::collections::BTreeSet;

/// Explores at both granularities, which must agree.
fn all(module: &Module) -> Interleavings {
    verify(module).unwrap_or_else(|violations| panic!("{}\n{module}", violations[0]));
    let at = |granularity| {
        explore(
            module,
            &[],
            Limits::default(),
            granularity,
            Budget::default(),
        )
    };
    let (visible, every) = (at(Granularity::Visible), at(Granularity::Instruction));
    assert!(!visible.gave_up && !every.gave_up);
    assert_eq!(visible.conflicts, every.conflicts);
    assert_eq!(visible.outcomes, every.outcomes);
    assert!(visible.states <= every.states);
    visible
}

/// The location of a global variable.
fn global(offset: u64) -> LocationName {
    LocationName {
        object: ObjectName {
            creator: Vec::new(),
            ordinal: 0,
        },
        offset,
    }
}

/// What the program prints, in every way it can finish.
fn outputs(found: &Interleavings) -> BTreeSet<String> {
    let text = |outcome: &Outcome| match outcome {
        Outcome::Finished { output, .. } => String::from_utf8(output.concat()).unwrap(),
        Outcome::Trapped { word, .. } => format!("trap: {word}"),
        Outcome::Deadlock { .. } => "deadlock".to_owned(),
    };
    found.outcomes.iter().map(text).collect()
}

fn set<const N: usize>(texts: [&str; N]) -> BTreeSet<String> {
    texts.map(String::from).into()
}

/// A program with a global `x`: `main` creates a task that does `child`, then does `parent`, waits
/// for all and prints `x`.
fn two_tasks(
    initial: i64,
    child: impl FnOnce(&mut Body<'_>, Operand),
    parent: impl FnOnce(&mut Body<'_>, Operand),
) -> Module {
    let mut builder = Builder::new();
    let x = builder.global("x", Const::Int(initial));
    let body = builder.async_body(&[], |b| child(b, x));
    builder.main(&[], |b| {
        b.finish(|b| {
            b.async_(body, &[]);
            parent(b, x);
        });
        let end = b.load_global(Type::Int, x);
        b.print(end);
    })
}

#[test]
fn two_writes_race_and_either_may_win() {
    let found = all(&two_tasks(
        0,
        |b, x| b.set_global(x, 1),
        |b, x| b.set_global(x, 2),
    ));
    assert_eq!(found.conflicts, BTreeSet::from([global(0)]));
    assert_eq!(outputs(&found), set(["1\n", "2\n"]));
}

#[test]
fn a_finish_orders_them() {
    let mut builder = Builder::new();
    let x = builder.global("x", Const::Int(0));
    let body = builder.async_body(&[], |b| b.set_global(x, 1));
    let module = builder.main(&[], |b| {
        b.finish(|b| {
            b.async_(body, &[]);
        });
        b.set_global(x, 2);
    });
    let found = all(&module);
    assert_eq!(found.conflicts, BTreeSet::new());
    assert_eq!(found.outcomes.len(), 1);
}

#[test]
fn sync_orders_what_was_spawned_before_it() {
    let mut builder = Builder::new();
    let x = builder.global("x", Const::Int(0));
    let y = builder.global("y", Const::Int(0));
    let writes = |global| move |b: &mut Body<'_>| b.set_global(global, 1);
    let set_x = builder.function(Role::SpawnBody, &[], None, writes(x));
    let set_y = builder.function(Role::SpawnBody, &[], None, writes(y));
    let module = builder.main(&[], |b| {
        b.begin(FinishKind::SyncScope);
        b.spawn(set_x, &[]);
        b.sync();
        b.spawn(set_y, &[]);
        b.set_global(x, 2);
        b.set_global(y, 2);
        b.end(FinishKind::SyncScope);
    });
    let found = all(&module);
    assert_eq!(found.conflicts, BTreeSet::from([global(1)]));
    assert_eq!(found.outcomes.len(), 2);
}

#[test]
fn two_reads_do_not_conflict_and_a_read_and_a_write_do() {
    let read = |b: &mut Body<'_>, x| {
        b.load_global(Type::Int, x);
    };
    assert_eq!(all(&two_tasks(0, read, read)).conflicts, BTreeSet::new());
    let write = |b: &mut Body<'_>, x| b.set_global(x, 1);
    assert_eq!(
        all(&two_tasks(0, read, write)).conflicts,
        BTreeSet::from([global(0)])
    );
    assert_eq!(
        all(&two_tasks(0, write, read)).conflicts,
        BTreeSet::from([global(0)])
    );
}

#[test]
fn an_update_is_two_accesses_and_loses_another() {
    let add = |b: &mut Body<'_>, x| b.update_global(BinaryOp::Add, x, 1);
    let found = all(&two_tasks(0, add, add));
    assert_eq!(found.conflicts, BTreeSet::from([global(0)]));
    assert_eq!(outputs(&found), set(["1\n", "2\n"]));
}

#[test]
fn isolated_updates_that_commute_have_one_outcome() {
    let add = |b: &mut Body<'_>, x| b.isolated(|b| b.update_global(BinaryOp::Add, x, 1));
    let found = all(&two_tasks(0, add, add));
    assert_eq!(found.conflicts, BTreeSet::new());
    assert_eq!(outputs(&found), set(["2\n"]));
    assert_eq!(found.outcomes.len(), 1);
}

#[test]
fn isolated_updates_that_do_not_commute_have_two() {
    let update = |op, by| move |b: &mut Body<'_>, x| b.isolated(|b| b.update_global(op, x, by));
    let found = all(&two_tasks(
        1,
        update(BinaryOp::Add, 1),
        update(BinaryOp::Multiply, 10),
    ));
    assert_eq!(found.conflicts, BTreeSet::new());
    assert_eq!(outputs(&found), set(["11\n", "20\n"]));
}

#[test]
fn an_isolated_access_races_with_one_that_is_not() {
    let isolated = |b: &mut Body<'_>, x| b.isolated(|b| b.set_global(x, 1));
    let found = all(&two_tasks(0, isolated, |b, x| b.set_global(x, 2)));
    assert_eq!(found.conflicts, BTreeSet::from([global(0)]));
}

#[test]
fn a_failure_does_not_hide_what_others_may_do_first() {
    // The child fails at once; its creator writes x, which a third task reads.
    let mut builder = Builder::new();
    let x = builder.global("x", Const::Int(0));
    let failing = builder.async_body(&[], |b| {
        let zero = b.int(0);
        b.binary(BinaryOp::Divide, zero, zero);
    });
    let reading = builder.async_body(&[], |b| {
        b.load_global(Type::Int, x);
    });
    let module = builder.main(&[], |b| {
        b.async_(failing, &[]);
        b.async_(reading, &[]);
        b.set_global(x, 1);
    });
    let found = all(&module);
    assert_eq!(found.conflicts, BTreeSet::from([global(0)]));
    assert_eq!(outputs(&found), set(["trap: division-by-zero"]));
}

#[test]
fn control_may_depend_on_a_race() {
    // The child asserts that x is still 0.
    let asserting = |b: &mut Body<'_>, x| {
        let (value, zero) = (b.load_global(Type::Int, x), b.int(0));
        let condition = b.compare(CompareOp::Equal, value, zero);
        b.run(Op::Assert {
            condition,
            message: Vec::new(),
        });
    };
    let found = all(&two_tasks(0, asserting, |b, x| b.set_global(x, 1)));
    assert_eq!(outputs(&found), set(["1\n", "trap: assert-failed"]));
}

#[test]
fn objects_have_one_name_in_all_schedules() {
    // Two tasks each make an array, hand it to a child and write element 1 themselves, as the child
    // does.
    let mut builder = Builder::new();
    let inner = builder.async_body(&[Type::Ref], |b| {
        let seven = b.int(7);
        b.store(b.parameter(0), Operand::Constant(1), seven);
    });
    let outer = builder.async_body(&[], |b| {
        let two = b.int(2);
        b.array(Type::Byte, &[two]);
        let array = b.array(Type::Int, &[two]);
        b.async_(inner, &[array]);
        b.store(array, Operand::Constant(1), two);
    });
    let module = builder.main(&[], |b| {
        b.async_(outer, &[]);
        b.async_(outer, &[]);
    });
    let name = |task| LocationName {
        object: ObjectName {
            creator: vec![task],
            ordinal: 1,
        },
        offset: 1,
    };
    let found = all(&module);
    assert_eq!(found.conflicts, BTreeSet::from([name(0), name(1)]));
    assert_eq!(found.outcomes.len(), 4);
}

#[test]
fn prints_in_another_order_are_the_same_outcome() {
    let found = all(&two_tasks(0, |b, _| b.say("a"), |b, _| b.say("b")));
    assert_eq!(outputs(&found), set(["0\na\nb\n"]));
}

#[test]
fn an_endless_or_large_program_makes_it_give_up() {
    let endless = Builder::new().main(&[], |b| {
        let (head, _) = b.block(&[]);
        b.jump(head, &[]);
        b.switch(head);
        b.jump(head, &[]);
    });
    let budget = Budget {
        states: 100,
        steps: 1000,
    };
    let visible = Granularity::Visible;
    assert!(explore(&endless, &[], Limits::default(), visible, budget).gave_up);
    let add = |b: &mut Body<'_>, x| (0..5).for_each(|_| b.update_global(BinaryOp::Add, x, 1));
    let large = two_tasks(0, add, add);
    let found = explore(&large, &[], Limits::default(), visible, budget);
    assert!(found.gave_up);
}
