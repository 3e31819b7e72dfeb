//! Objects that nothing refers to any more give way; all others stay, wherever the reference is.
//!
//! Budgets are computed from [`cost`]: the object of globals, what must stay, and room for so many
//! more.

use crate::builder::{Body, Builder};
use finishline_ir::machine::*;
use finishline_ir::verify::verify;
use finishline_ir::*;
use finishline_model::event::Record;
use finishline_model::{Event, Location, TaskId};
use std::collections::BTreeSet;

/// What an array of a hundred ints costs: the garbage of these tests.
const ARRAY: u64 = cost::OBJECT + 800;
/// What a struct with two fields costs.
const PAIR: u64 = cost::OBJECT + 2 * cost::FIELD;

fn within(memory: u64) -> Limits {
    Limits {
        memory,
        ..Limits::default()
    }
}

/// Runs all tasks in turn, one step each; what it printed, and what it told.
fn run(module: &Module, memory: u64) -> (Result<String, Trap>, Vec<Record>) {
    verify(module).unwrap_or_else(|violations| panic!("{}\n{module}", violations[0]));
    let mut records = Vec::new();
    let mut machine = match Machine::new(module, &[], within(memory), &mut records) {
        Ok(machine) => machine,
        Err(trap) => return (Err(trap), records),
    };
    while machine.status(TaskId::MAIN) != Status::Done {
        for task in (0..machine.tasks_created()).map(TaskId::from_index) {
            if machine.status(task) == Status::Runnable
                && let Err(trap) = machine.step(task, &mut records)
            {
                return (Err(trap), records);
            }
        }
        assert!(machine.heap().used() <= memory);
    }
    (Ok(String::from_utf8(machine.output).unwrap()), records)
}

fn printed(module: &Module, memory: u64) -> String {
    run(module, memory).0.unwrap()
}

/// The first locations of the objects made after the globals.
fn objects(records: &[Record]) -> Vec<Location> {
    let made = |record: &Record| match record {
        Record::Event(Event::Alloc { first, .. }) => Some(*first),
        _ => None,
    };
    records.iter().filter_map(made).skip(1).collect()
}

/// Makes an array of a hundred ints and forgets it, so often.
fn churn(b: &mut Body<'_>, times: i64) {
    let (times, hundred) = (b.int(times), b.int(100));
    b.count_to(times, |b, _| {
        b.array(Type::Int, &[hundred]);
    });
}

/// An array of one int that holds `value`.
fn boxed(b: &mut Body<'_>, value: i64) -> Value {
    let (one, zero, value) = (b.int(1), b.int(0), b.int(value));
    let array = b.array(Type::Int, &[one]);
    b.store(array, Operand::Value(zero), value);
    array
}

fn print_boxed(b: &mut Body<'_>, array: Value) {
    let zero = b.int(0);
    let value = b.load(Type::Int, array, Operand::Value(zero));
    b.print(value);
}

const BOXED: u64 = cost::OBJECT + 8;

#[test]
fn a_loop_that_allocates_needs_room_for_what_it_holds() {
    let module = Builder::new().main(&[], |b| churn(b, 300));
    // The register holds the last array while the next one is made.
    let memory = cost::OBJECT + 2 * ARRAY;
    let (result, records) = run(&module, memory);
    assert_eq!(result, Ok(String::new()));
    let objects = objects(&records);
    assert!(objects.len() as u64 * ARRAY > 100 * memory);
    // Places are used again, locations are not.
    assert!(objects.iter().zip(0..).all(|(first, k)| first.0 == k * 100));
    let trap = run(&module, memory - 1).0.unwrap_err();
    let (request, used, budget) = (Some(ARRAY), cost::OBJECT + ARRAY, memory - 1);
    assert_eq!(
        trap.kind,
        TrapKind::Memory {
            request,
            used,
            budget
        }
    );
}

/// `list = new Node { next: list }`, for ever.
fn endless_list() -> Module {
    let mut builder = Builder::new();
    let node = builder.structure("Node", &[("value", Type::Int), ("next", Type::Ref)]);
    let allocation = builder.allocation("node");
    builder.main(&[], |b| {
        let null = b.constant(Const::Null);
        let (head, list) = b.block(&[Type::Ref]);
        b.jump(head, &[null]);
        b.switch(head);
        let layout = node;
        let node = b.get(Type::Ref, Op::NewStruct { layout, allocation });
        b.store(node, Operand::Constant(1), list[0]);
        b.jump(head, &[node]);
    })
}

#[test]
fn what_stays_reachable_fails_where_the_sum_of_costs_says() {
    let module = endless_list();
    // Past several collections, and at the first.
    for budget in [20_000_000, 5_000_001, 100_000, 300] {
        let (result, records) = run(&module, budget);
        let fit = (budget - cost::OBJECT) / PAIR;
        assert_eq!(objects(&records).len() as u64, fit);
        let (request, used) = (Some(PAIR), cost::OBJECT + fit * PAIR);
        assert_eq!(
            result.unwrap_err().kind,
            TrapKind::Memory {
                request,
                used,
                budget
            }
        );
    }
}

#[test]
fn garbage_that_refers_to_itself_gives_way() {
    let mut builder = Builder::new();
    let pair = builder.structure("Pair", &[("one", Type::Ref), ("other", Type::Ref)]);
    let allocation = builder.allocation("pair");
    let module = builder.main(&[], |b| {
        let (times, two, zero) = (b.int(1000), b.int(2), b.int(0));
        b.count_to(times, |b, _| {
            let new = |b: &mut Body<'_>| {
                let layout = pair;
                b.get(Type::Ref, Op::NewStruct { layout, allocation })
            };
            let (one, other) = (new(b), new(b));
            let ring = b.array(Type::Ref, &[two]);
            b.store(one, Operand::Constant(1), other);
            b.store(other, Operand::Constant(0), one);
            b.store(other, Operand::Constant(1), ring);
            b.store(ring, Operand::Value(zero), ring);
        });
    });
    let ring = 2 * PAIR + cost::OBJECT + 16;
    let memory = cost::OBJECT + 3 * ring;
    let (result, records) = run(&module, memory);
    assert_eq!(result, Ok(String::new()));
    assert_eq!(objects(&records).len(), 3000);
}

#[test]
fn globals_fields_and_elements_keep_what_they_refer_to() {
    let mut builder = Builder::new();
    let global = builder.global("kept", Const::Null);
    let pair = builder.structure("Pair", &[("skip", Type::Float), ("next", Type::Ref)]);
    let allocation = builder.allocation("pair");
    // Makes the chain global, array, struct, array and forgets all but the global.
    let make = builder.function(Role::Function, &[], None, |b| {
        let (five, three) = (b.int(5), b.int(3));
        let array = b.array(Type::Ref, &[five]);
        b.store_global(global, array);
        let layout = pair;
        let pair = b.get(Type::Ref, Op::NewStruct { layout, allocation });
        b.store(array, Operand::Value(three), pair);
        let last = boxed(b, 42);
        b.store(pair, Operand::Constant(1), last);
    });
    let module = builder.main(&[], |b| {
        b.run(Op::Call {
            function: make,
            arguments: Vec::new(),
        });
        churn(b, 1000);
        let array = b.load_global(Type::Ref, global);
        let three = b.int(3);
        let pair = b.load(Type::Ref, array, Operand::Value(three));
        let last = b.load(Type::Ref, pair, Operand::Constant(1));
        print_boxed(b, last);
    });
    let kept = cost::OBJECT + cost::FIELD + (cost::OBJECT + 5 * 8) + PAIR + BOXED;
    assert_eq!(printed(&module, kept + 2 * ARRAY), "42\n");
    assert!(run(&module, kept + 2 * ARRAY - 1).0.is_err());
}

#[test]
fn registers_of_callers_keep_what_they_refer_to() {
    let mut builder = Builder::new();
    let busy = builder.function(Role::Function, &[], None, |b| churn(b, 1000));
    let module = builder.main(&[], |b| {
        let kept = boxed(b, 7);
        b.run(Op::Call {
            function: busy,
            arguments: Vec::new(),
        });
        print_boxed(b, kept);
    });
    let memory = cost::OBJECT + BOXED + 2 * ARRAY;
    assert_eq!(printed(&module, memory), "7\n");
    assert!(run(&module, memory - 1).0.is_err());
}

/// Each task holds an object in its registers alone while the others make garbage between any two
/// of its steps; the last one holds it as a capture.
#[test]
fn registers_of_tasks_that_wait_keep_what_they_refer_to() {
    let mut builder = Builder::new();
    let bodies: Vec<FunctionId> = (1..=3)
        .map(|number| {
            builder.async_body(&[Type::Ref], |b| {
                let own = boxed(b, number);
                churn(b, 100);
                print_boxed(b, own);
                let captured = b.parameter(0);
                print_boxed(b, captured);
            })
        })
        .collect();
    let module = builder.main(&[], |b| {
        b.finish(|b| {
            for (index, body) in bodies.iter().enumerate() {
                let captured = boxed(b, 10 + index as i64);
                b.async_(*body, &[captured]);
            }
            churn(b, 100);
        });
    });
    let memory = cost::OBJECT + 6 * BOXED + 4 * 2 * ARRAY;
    let text = printed(&module, memory);
    let lines: BTreeSet<&str> = text.lines().collect();
    assert_eq!(lines, BTreeSet::from(["1", "2", "3", "10", "11", "12"]));
}

/// What an ended task or a function that has returned referred to is garbage; a register that is
/// only never read again still counts.
#[test]
fn references_end_with_their_frame() {
    let mut builder = Builder::new();
    let holds = builder.function(Role::Function, &[], None, |b| churn(b, 1));
    let task = builder.async_body(&[], |b| churn(b, 1));
    let garbage = builder.function(Role::Function, &[], None, |b| {
        for _ in 0..3 {
            b.run(Op::Call {
                function: holds,
                arguments: Vec::new(),
            });
            b.finish(|b| {
                b.async_(task, &[]);
            });
        }
    });
    let module = builder.main(&[], |b| {
        b.run(Op::Call {
            function: garbage,
            arguments: Vec::new(),
        });
        let hundred = b.int(100);
        for _ in 0..3 {
            b.array(Type::Int, &[hundred]);
        }
    });
    assert_eq!(printed(&module, cost::OBJECT + 3 * ARRAY), "");
    let (result, records) = run(&module, cost::OBJECT + 3 * ARRAY - 1);
    assert!(result.is_err());
    assert_eq!(objects(&records).len(), 6 + 2);
}

/// An array too large for any budget is refused with what is reachable, as any other.
#[test]
fn what_is_in_use_is_counted_after_a_collection() {
    for (size, request) in [
        (1_000_000, Some(8_000_000 + cost::OBJECT)),
        (i64::MAX, None),
    ] {
        let module = Builder::new().main(&[], |b| {
            churn(b, 5);
            let size = b.int(size);
            b.array(Type::Int, &[size]);
        });
        let budget = 1_000_000;
        let kind = TrapKind::Memory {
            request,
            used: cost::OBJECT + ARRAY,
            budget,
        };
        assert_eq!(run(&module, budget).0.unwrap_err().kind, kind);
    }
}

/// With dead objects kept, a state has all of them, and the budget still bounds what can be
/// reached.
#[test]
fn dead_objects_can_be_kept() {
    let module = Builder::new().main(&[], |b| churn(b, 10));
    let limits = within(cost::OBJECT + 2 * ARRAY);
    let mut machine = Machine::new(&module, &[], limits, &mut ()).unwrap();
    machine.keep_dead_objects();
    while machine.step(TaskId::MAIN, &mut ()).unwrap() != Progress::Ended {}
    assert_eq!(machine.heap().used(), cost::OBJECT + 10 * ARRAY);
    assert_eq!(machine.heap().objects().count(), 11);

    let module = endless_list();
    let budget = 10_000;
    let mut machine = Machine::new(&module, &[], within(budget), &mut ()).unwrap();
    machine.keep_dead_objects();
    let trap = loop {
        if let Err(trap) = machine.step(TaskId::MAIN, &mut ()) {
            break trap;
        }
    };
    assert_eq!(Some(trap), run(&module, budget).0.err());
}
