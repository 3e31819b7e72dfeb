//! Depth-first runs: the order of events, what ends a run, deep nesting.

use crate::builder::Builder;
use finishline_engine::depth_first::{self, End, Outcome, Program};
use finishline_ir::listener::{Creation, Listener};
use finishline_ir::machine::{Datum, Limits, TrapKind};
use finishline_ir::*;
use finishline_model::event::Record;
use finishline_model::{Access, Event, FinishKind, Observer, TaskId};
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::AtomicU64;

/// Runs with ints for the parameters and nobody listening.
fn run(
    module: &Module,
    arguments: &[i64],
    limits: Limits,
    output: &mut (dyn Write + Send),
    fuel: Option<u64>,
) -> Outcome {
    let arguments: Vec<Datum> = arguments.iter().copied().map(Datum::Int).collect();
    let program = Program {
        module,
        arguments: &arguments,
        limits,
    };
    let (fuel, progress) = (fuel.unwrap_or(u64::MAX), AtomicU64::new(0));
    depth_first::run_for(fuel, program, &mut (), output, &progress)
}

/// Remembers what each task captured.
#[derive(Default)]
struct Captures(Vec<(TaskId, Vec<Datum>)>);

impl Observer for Captures {
    fn event(&mut self, _: &Event) {}
    fn access(&mut self, _: &Access) {}
}

impl Listener for Captures {
    fn created(&mut self, task: TaskId, creation: &Creation<'_>) {
        self.0.push((task, (creation.captures)()));
    }
}

/// main(n): prints "before", creates n tasks that print their number, prints "after".
fn printing() -> Module {
    let mut builder = Builder::new();
    let body = builder.async_body(&[Type::Int], |b| b.print(b.parameter(0)));
    builder.main(&[Type::Int], |b| {
        b.say("before");
        b.count_to(b.parameter(0), |b, i| {
            b.async_(body, &[i]);
        });
        b.say("after");
    })
}

#[test]
fn children_run_before_their_creator_goes_on() {
    let module = printing();
    let mut output = Vec::new();
    let mut heard = (Vec::<Record>::new(), Captures::default());
    let program = Program {
        module: &module,
        arguments: &[Datum::Int(3)],
        limits: Limits::default(),
    };
    let outcome = depth_first::run(program, &mut heard, &mut output, &AtomicU64::new(0));
    let (records, Captures(captures)) = heard;
    assert!(matches!(outcome.result, End::Finished));
    assert_eq!(
        String::from_utf8(output).unwrap(),
        "before\n0\n1\n2\nafter\n"
    );
    let expected = [1, 2, 3].map(|k| (TaskId(k), vec![Datum::Int(i64::from(k) - 1)]));
    assert_eq!(captures, expected);
    // A child's life is not interrupted.
    let lives: Vec<_> = (records.iter())
        .filter_map(|record| match record {
            Record::Event(Event::TaskBegin { task, .. }) => Some((*task, true)),
            Record::Event(Event::TaskEnd { task }) => Some((*task, false)),
            _ => None,
        })
        .collect();
    let life = |k| [(TaskId(k), true), (TaskId(k), false)];
    let children = [1, 2, 3].map(life).concat();
    assert_eq!(
        lives,
        [&[life(0)[0]], &children[..], &[life(0)[1]]].concat()
    );
}

#[test]
fn fuel_is_the_number_of_steps() {
    let module = printing();
    let with = |fuel| {
        let arguments = [2];
        run(
            &module,
            &arguments,
            Limits::default(),
            &mut io::sink(),
            fuel,
        )
    };
    let steps = with(None).steps.expect("an interpreted run");
    assert!(matches!(with(Some(steps)).result, End::Finished));
    let short = with(Some(steps - 1));
    assert!(matches!(short.result, End::OutOfFuel));
    assert_eq!(short.steps, Some(steps - 1));
}

/// A reader that goes away after some bytes.
struct Closing(usize);

impl Write for Closing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.0);
        self.0 -= count;
        if count == 0 {
            Err(ErrorKind::BrokenPipe.into())
        } else {
            Ok(count)
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn output_that_can_not_be_written_ends_the_run() {
    let module = printing();
    let arguments = [1000];
    let limits = Limits::default();
    let outcome = run(&module, &arguments, limits, &mut Closing(9), None);
    match outcome.result {
        End::OutputError(error) => assert_eq!(error.kind(), ErrorKind::BrokenPipe),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_failure_ends_the_run_and_keeps_what_was_printed() {
    let mut builder = Builder::new();
    let body = builder.async_body(&[Type::Int], |b| {
        b.print(b.parameter(0));
        let zero = b.int(0);
        b.binary(BinaryOp::Divide, b.parameter(0), zero);
    });
    let module = builder.main(&[], |b| {
        let five = b.int(5);
        b.async_(body, &[five]);
        b.say("never");
    });
    let mut output = Vec::new();
    let outcome = run(&module, &[], Limits::default(), &mut output, None);
    match outcome.result {
        End::Trapped(trap) => {
            assert_eq!(
                (trap.kind, trap.task),
                (TrapKind::DivisionByZero, TaskId(1))
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(output, b"5\n");
}

/// Each task creates the next inside a finish: all alive at once, none on the stack of this
/// process.
#[test]
fn nesting_is_bounded_by_memory_alone() {
    let mut builder = Builder::new();
    let body = builder.declare(Role::AsyncBody, &[Type::Int], None);
    builder.define(body, |b| {
        let (one, zero) = (b.int(1), b.int(0));
        let (next, _) = b.block(&[]);
        let (last, _) = b.block(&[]);
        let rest = b.binary(BinaryOp::Subtract, b.parameter(0), one);
        let more = b.compare(CompareOp::Greater, rest, zero);
        b.branch(more, next, last);
        b.switch(next);
        b.begin(FinishKind::Lexical);
        b.async_(body, &[rest]);
        b.end(FinishKind::Lexical);
    });
    let module = builder.main(&[Type::Int], |b| {
        b.async_(body, &[b.parameter(0)]);
    });
    let of =
        |depth: i64, limits: Limits| run(&module, &[depth], limits, &mut io::sink(), None).result;
    assert!(matches!(of(1_000_000, Limits::default()), End::Finished));
    let tight = Limits {
        memory: 1 << 24,
        ..Limits::default()
    };
    match of(1_000_000, tight) {
        End::Trapped(trap) => assert!(matches!(trap.kind, TrapKind::Memory { .. })),
        other => panic!("{other:?}"),
    }
}
