//! What an executor tells besides events, and when.

use crate::builder::Builder;
use finishline_ir::listener::{Allocated, Creation, EventsAlone, Listener, Shape};
use finishline_ir::machine::*;
use finishline_ir::verify::verify;
use finishline_ir::*;
use finishline_model::event::Record;
use finishline_model::{Access, AllocationId, Event, Observer, TaskId, TaskKind};

/// Writes down what it hears, in words.
#[derive(Default)]
struct Heard(Vec<String>);

impl Observer for Heard {
    fn event(&mut self, event: &Event) {
        match event {
            Event::TaskBegin { task, .. } => self.0.push(format!("{task} begins")),
            Event::Alloc { task, first, .. } => self.0.push(format!("{task} makes {first:?}")),
            _ => {}
        }
    }

    fn access(&mut self, access: &Access) {
        self.0.push(format!("{} acts", access.task));
    }
}

impl Listener for Heard {
    fn created(&mut self, task: TaskId, creation: &Creation<'_>) {
        let Creation {
            parent,
            index,
            construct,
            function,
            captures,
            ..
        } = creation;
        let (construct, captures) = (construct.word(), captures());
        self.0.push(format!(
            "{task} is {parent}.{index}, {construct} {function} {captures:?}"
        ));
    }

    fn allocated(&mut self, object: &Allocated<'_>) {
        let Allocated {
            allocation,
            first,
            count,
            shape,
            ..
        } = object;
        self.0
            .push(format!("{count} from {first:?} by {allocation}: {shape:?}"));
    }
}

#[test]
fn captures_and_shapes_are_told_after_the_event_and_before_the_first_step() {
    let mut builder = Builder::new();
    let total = builder.global("total", Const::Int(0));
    let layout = builder.structure("Pair", &[("x", Type::Int), ("y", Type::Int)]);
    let pair = builder.allocation("pair");
    let inner = builder.async_body(&[Type::Int, Type::Bool], |b| {
        b.update_global(BinaryOp::Add, total, 1);
    });
    let outer = builder.async_body(&[], |b| {
        let (seven, yes) = (b.int(7), b.constant(Const::Bool(true)));
        b.async_(inner, &[seven, yes]);
        b.create(TaskKind::Async, Construct::Forall, inner, &[seven, yes]);
    });
    let mut array = AllocationId(0);
    let module = builder.main(&[], |b| {
        b.async_(outer, &[]);
        b.get(
            Type::Ref,
            Op::NewStruct {
                layout,
                allocation: pair,
            },
        );
        let (two, three) = (b.int(2), b.int(3));
        b.array(Type::Byte, &[two, three]);
        array = AllocationId::from_index(b.builder.module.source.allocations.len() - 1);
    });
    verify(&module).unwrap();

    let mut heard = Heard::default();
    let mut machine = Machine::new(&module, &[], Limits::default(), &mut heard).unwrap();
    // Main to its end; then the others, the last one created first.
    for task in [0, 1, 3, 2] {
        while !matches!(
            machine.step(TaskId(task), &mut heard).unwrap(),
            Progress::Ended | Progress::Blocked
        ) {}
    }
    assert_eq!(machine.path(TaskId(3)), [0, 1]);
    assert_eq!(machine.path(TaskId::MAIN), []);
    let expected = [
        "task0 begins",
        "task0 makes loc0",
        "1 from loc0 by alloc0: Globals",
        "task1 begins",
        "task1 is task0.0, async fn1 []",
        "task0 makes loc1",
        &format!("2 from loc1 by {pair}: Struct(struct0)"),
        "task0 makes loc3",
        &format!("6 from loc3 by {array}: Array([2, 3])"),
        "task2 begins",
        "task2 is task1.0, async fn0 [Int(7), Bool(true)]",
        "task3 begins",
        "task3 is task1.1, forall fn0 [Int(7), Bool(true)]",
        "task3 acts",
        "task3 acts",
        "task2 acts",
        "task2 acts",
    ];
    assert_eq!(heard.0, expected);
}

#[test]
fn an_observer_hears_events_alone_and_two_listeners_hear_the_same() {
    let mut builder = Builder::new();
    let body = builder.async_body(&[], |_| {});
    let module = builder.main(&[], |b| {
        b.async_(body, &[]);
    });
    let mut both = (
        (Heard::default(), Heard::default()),
        EventsAlone(Vec::new()),
    );
    let mut machine = Machine::new(&module, &[], Limits::default(), &mut both).unwrap();
    machine.step(TaskId::MAIN, &mut both).unwrap();
    let ((one, other), EventsAlone(events)) = both;
    assert_eq!(one.0.len(), 5, "{:?}", one.0);
    assert_eq!(one.0, other.0);
    let begins = |record: &&Record| matches!(record, Record::Event(Event::TaskBegin { .. }));
    assert_eq!(events.iter().filter(begins).count(), 2);
    assert!(matches!(
        events.last(),
        Some(Record::Event(Event::TaskBegin {
            task: TaskId(1),
            ..
        }))
    ));
    assert_eq!(Shape::Array(&[3][..]).kept(), Shape::Array([3].into()));
}
