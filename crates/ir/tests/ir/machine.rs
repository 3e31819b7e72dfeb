//! The reference interpreter on modules built by hand: every operation, every failure, every
//! status.

use crate::builder::{Body, Builder};
use finishline_ir::machine::*;
use finishline_ir::verify::verify;
use finishline_ir::*;
use finishline_model::event::Record;
use finishline_model::{
    Access, AccessKind, AllocationId, Event, FinishId, FinishKind, Location, SiteId, TaskId,
    TaskKind,
};

/// Runs depth-first: a new task before its creator.
fn run_with(
    module: &Module,
    arguments: &[Datum],
    limits: Limits,
) -> (Result<String, Trap>, Vec<Record>) {
    verify(module).unwrap_or_else(|violations| panic!("{}\n{module}", violations[0]));
    let mut events = Vec::new();
    let mut machine = match Machine::new(module, arguments, limits, &mut events) {
        Ok(machine) => machine,
        Err(trap) => return (Err(trap), events),
    };
    let mut stack = vec![TaskId::MAIN];
    while let Some(&task) = stack.last() {
        match machine.step(task, &mut events) {
            Ok(Progress::Created(child)) => stack.push(child),
            Ok(Progress::Ended) => drop(stack.pop()),
            Ok(Progress::Continue | Progress::Set(_) | Progress::Released(_)) => {}
            Ok(Progress::Blocked) => panic!("blocked: {:?}", machine.status(task)),
            Err(trap) => return (Err(trap), events),
        }
    }
    (Ok(String::from_utf8(machine.output).unwrap()), events)
}

fn run(module: &Module) -> Result<String, Trap> {
    run_with(module, &[], Limits::default()).0
}

/// What a `main` with this body prints.
fn output(build: impl FnOnce(&mut Body<'_>)) -> String {
    run(&Builder::new().main(&[], build)).unwrap()
}

/// How a `main` with this body fails; `build` returns the site to blame.
fn failure(build: impl FnOnce(&mut Body<'_>) -> SiteId) -> TrapKind {
    failure_within(Limits::default(), build)
}

fn failure_within(limits: Limits, build: impl FnOnce(&mut Body<'_>) -> SiteId) -> TrapKind {
    let mut site = SiteId(0);
    let module = Builder::new().main(&[], |body| site = build(body));
    let trap = run_with(&module, &[], limits)
        .0
        .expect_err("the program fails");
    assert_eq!((trap.site, trap.task), (site, TaskId::MAIN));
    trap.kind
}

/// The site of the instruction before the one built next.
fn last_site(body: &Body<'_>) -> SiteId {
    SiteId::from_index(body.builder.module.source.sites.len() - 1)
}

#[test]
fn values_of_every_type_are_computed_and_printed() {
    let printed = output(|b| {
        let (six, seven) = (b.int(6), b.int(7));
        let product = b.binary(BinaryOp::Multiply, six, seven);
        b.print(product);
        let not = b.get(Type::Int, Op::Unary(UnaryOp::Not, six));
        b.print(not);
        let half = b.get(Type::Float, Op::Convert(six, Type::Float));
        let root = b.get(Type::Float, Op::Math(MathFunction::Pow, vec![half, half]));
        b.print(root);
        let less = b.compare(CompareOp::Less, six, seven);
        b.print(less);
        let byte = b.get(Type::Byte, Op::Convert(seven, Type::Byte));
        b.print(byte);
        let null = b.constant(Const::Null);
        let object = b.array(Type::Int, &[six]);
        b.run(Op::Print(vec![
            PrintPart::Text("refs:".into()),
            PrintPart::Value(null),
            PrintPart::Value(object),
        ]));
        let abs = b.get(Type::Int, Op::Math(MathFunction::Abs, vec![not]));
        b.print(abs);
        b.run(Op::Print(Vec::new()));
    });
    assert_eq!(
        printed,
        "42\n-7\n46656.0\ntrue\n7\nrefs: null object\n7\n\n"
    );
}

#[test]
fn ranges_are_counted() {
    let printed = output(|b| {
        let (start, end, step) = (b.int(10), b.int(0), b.int(-3));
        for inclusive in [false, true] {
            let count = b.get(
                Type::Int,
                Op::RangeCount {
                    start,
                    end,
                    step,
                    inclusive,
                },
            );
            b.print(count);
        }
        let one = b.int(1);
        let inclusive = true;
        let up = b.get(
            Type::Int,
            Op::RangeCount {
                start: end,
                end: start,
                step: one,
                inclusive,
            },
        );
        b.print(up);
    });
    assert_eq!(printed, "4\n4\n11\n");
}

#[test]
fn loops_pass_block_arguments_all_at_once() {
    // A loop that swaps its two parameters: (1, 2) after three rounds is (2, 1).
    let printed = output(|b| {
        let (one, two, three) = (b.int(1), b.int(2), b.int(3));
        let (head, p) = b.block(&[Type::Int, Type::Int, Type::Int]);
        let (inside, _) = b.block(&[]);
        let (after, _) = b.block(&[]);
        b.jump(head, &[three, one, two]);
        b.switch(head);
        let zero = b.int(0);
        let more = b.compare(CompareOp::Greater, p[0], zero);
        b.branch(more, inside, after);
        b.switch(inside);
        let rest = b.binary(BinaryOp::Subtract, p[0], one);
        b.jump(head, &[rest, p[2], p[1]]);
        b.switch(after);
        b.print(p[1]);
        b.print(p[2]);
    });
    assert_eq!(printed, "2\n1\n");
}

#[test]
fn calls_return_to_their_place_and_recurse() {
    // f(n) = n < 1 ? 0 : n + f(n - 1)
    let mut builder = Builder::new();
    let f = builder.declare(Role::Function, &[Type::Int], Some(Type::Int));
    builder.define(f, |b| {
        let n = b.parameter(0);
        let one = b.int(1);
        let (base, _) = b.block(&[]);
        let (step, _) = b.block(&[]);
        let small = b.compare(CompareOp::Less, n, one);
        b.branch(small, base, step);
        b.switch(base);
        let zero = b.int(0);
        b.give(zero);
        b.switch(step);
        let less = b.binary(BinaryOp::Subtract, n, one);
        let rest = b.get(
            Type::Int,
            Op::Call {
                function: f,
                arguments: vec![less],
            },
        );
        let sum = b.binary(BinaryOp::Add, n, rest);
        b.give(sum);
    });
    let module = builder.main(&[Type::Int], |b| {
        let n = b.parameter(0);
        let sum = b.get(
            Type::Int,
            Op::Call {
                function: f,
                arguments: vec![n],
            },
        );
        b.print(sum);
        b.run(Op::Call {
            function: f,
            arguments: vec![n],
        });
        b.say("done");
    });
    let of = |n, limits| run_with(&module, &[Datum::Int(n)], limits).0;
    assert_eq!(of(100, Limits::default()).unwrap(), "5050\ndone\n");
    // f(n) nests n + 1 calls.
    assert_eq!(of(99_999, Limits::default()).unwrap(), "4999950000\ndone\n");
    let deep = of(100_000, Limits::default()).unwrap_err();
    assert_eq!(deep.kind, TrapKind::CallDepth { limit: 100_000 });
    let shallow = Limits {
        call_depth: 3,
        ..Limits::default()
    };
    assert!(of(2, shallow).is_ok());
    assert!(of(3, shallow).is_err());
    let cramped = Limits {
        memory: 10_000,
        ..Limits::default()
    };
    assert!(matches!(
        of(1000, cramped).unwrap_err().kind,
        TrapKind::Memory { .. }
    ));
}

/// `main` calls f, which calls g, which prints; or has the room of these calls instead of them.
fn nested_calls(inlined: bool) -> Module {
    let mut builder = Builder::new();
    let g = builder.function(Role::Function, &[Type::Int], None, |b| {
        b.print(b.parameter(0));
    });
    let f = builder.function(Role::Function, &[], None, |b| {
        let arguments = vec![b.int(1)];
        b.run(Op::Call {
            function: g,
            arguments,
        });
    });
    builder.main(&[], |b| {
        if inlined {
            b.run(Op::CallRoom(vec![f]));
            let one = b.int(1);
            b.run(Op::CallRoom(vec![f, g]));
            b.print(one);
        } else {
            b.run(Op::Call {
                function: f,
                arguments: Vec::new(),
            });
        }
    })
}

#[test]
fn the_room_of_a_call_fails_as_the_call_would() {
    let (calls, mut rooms) = (nested_calls(false), nested_calls(true));
    // As a pass would leave it.
    rooms.functions[rooms.main.index()].frame = calls.function(calls.main).frame;
    let mut seen = Vec::new();
    for call_depth in 0..4 {
        for memory in 0..1_000 {
            let limits = Limits {
                call_depth,
                memory,
                ..Limits::default()
            };
            let how = |module| run_with(module, &[], limits).0.map_err(|trap| trap.kind);
            let expected = how(&calls);
            assert_eq!(expected, how(&rooms), "{limits:?}");
            let word = expected.unwrap_or_else(|kind| kind.word().to_owned());
            if !seen.contains(&word) {
                seen.push(word);
            }
        }
    }
    assert_eq!(seen, ["memory", "call-depth", "1\n"]);
}

#[test]
fn structs_arrays_and_globals_keep_what_is_stored() {
    let mut builder = Builder::new();
    let total = builder.global("total", Const::Int(5));
    let scale = builder.global("scale", Const::Float(0.5));
    let pair = builder.structure("Pair", &[("x", Type::Int), ("next", Type::Ref)]);
    let allocation = builder.allocation("p");
    let module = builder.main(&[], |b| {
        let start = b.load_global(Type::Int, total);
        b.print(start);
        b.set_global(total, 8);
        let changed = b.load_global(Type::Int, total);
        b.print(changed);
        let scale = b.load_global(Type::Float, scale);
        b.print(scale);
        let p = b.get(
            Type::Ref,
            Op::NewStruct {
                layout: pair,
                allocation,
            },
        );
        b.run(Op::NonNull(p));
        b.store(p, Operand::Constant(1), p);
        let next = b.load(Type::Ref, p, Operand::Constant(1));
        let same = b.compare(CompareOp::Equal, p, next);
        b.print(same);
        let (two, three) = (b.int(2), b.int(3));
        let grid = b.array(Type::Float, &[two, three]);
        let one = b.int(1);
        let offset = b.get(
            Type::Int,
            Op::Index {
                array: grid,
                indices: vec![one, two],
            },
        );
        b.print(offset);
        b.store(grid, Operand::Value(offset), scale);
        let loaded = b.load(Type::Float, grid, Operand::Value(offset));
        b.print(loaded);
        for dimension in [0, 1] {
            let size = b.get(
                Type::Int,
                Op::Length {
                    array: grid,
                    dimension,
                },
            );
            b.print(size);
        }
        let null = b.constant(Const::Null);
        for array in [grid, null] {
            let dimension = 1;
            let size = b.get(Type::Int, Op::SizeOrZero { array, dimension });
            b.print(size);
        }
    });
    assert_eq!(
        run(&module).unwrap(),
        "5\n8\n0.5\ntrue\n5\n0.5\n2\n3\n3\n0\n"
    );
}

#[test]
fn failures_carry_their_values_and_their_site() {
    let index_of = |index: i64| {
        failure(|b| {
            let (three, index) = (b.int(3), b.int(index));
            let array = b.array(Type::Int, &[three]);
            b.get(
                Type::Int,
                Op::Index {
                    array,
                    indices: vec![index],
                },
            );
            last_site(b)
        })
    };
    let bounds = |index| TrapKind::OutOfBounds {
        index,
        size: 3,
        dimension: 0,
        dimensions: 1,
    };
    assert_eq!(index_of(3), bounds(3));
    assert_eq!(index_of(-1), bounds(-1));
    assert_eq!(
        bounds(3).message(),
        "index 3 is out of bounds: the array has size 3"
    );

    let non_null = failure(|b| {
        let null = b.constant(Const::Null);
        b.run(Op::NonNull(null))
    });
    assert_eq!(non_null, TrapKind::NullUse);
    let of_null: [fn(Value) -> Op; 2] = [
        |array| Op::Index {
            array,
            indices: Vec::new(),
        },
        |array| Op::Length {
            array,
            dimension: 0,
        },
    ];
    for of_null in of_null {
        let kind = failure(|b| {
            let null = b.constant(Const::Null);
            b.get(Type::Int, of_null(null));
            last_site(b)
        });
        assert_eq!(kind, TrapKind::NullUse);
    }

    let negative = failure(|b| {
        let size = b.int(-2);
        b.array(Type::Int, &[size]);
        last_site(b)
    });
    assert_eq!(negative, TrapKind::NegativeSize { size: -2 });

    let divide = |a: i64, by: i64| {
        failure(|b| {
            let (a, by) = (b.int(a), b.int(by));
            b.binary(BinaryOp::Divide, a, by);
            last_site(b)
        })
    };
    assert_eq!(divide(1, 0), TrapKind::DivisionByZero);
    assert_eq!(divide(i64::MIN, -1), TrapKind::DivisionOverflow);

    let zero_step = failure(|b| {
        let zero = b.int(0);
        let count = Op::RangeCount {
            start: zero,
            end: zero,
            step: zero,
            inclusive: false,
        };
        b.get(Type::Int, count);
        last_site(b)
    });
    assert_eq!(zero_step, TrapKind::ZeroStep);

    let assertion = failure(|b| {
        let (no, five) = (b.constant(Const::Bool(false)), b.int(5));
        let message = vec![PrintPart::Text("n is".into()), PrintPart::Value(five)];
        b.run(Op::Assert {
            condition: no,
            message,
        })
    });
    assert_eq!(
        assertion,
        TrapKind::AssertFailed {
            message: "n is 5".into()
        }
    );

    let memory = failure_within(
        Limits {
            memory: 1000,
            ..Limits::default()
        },
        |b| {
            let size = b.int(200);
            b.array(Type::Int, &[size]);
            last_site(b)
        },
    );
    // The object of globals has a header and no location.
    assert_eq!(
        memory,
        TrapKind::Memory {
            request: Some(1600 + cost::OBJECT),
            used: cost::OBJECT,
            budget: 1000
        }
    );
}

#[test]
fn an_assertion_that_holds_is_silent() {
    let printed = output(|b| {
        let yes = b.constant(Const::Bool(true));
        b.run(Op::Assert {
            condition: yes,
            message: Vec::new(),
        });
        b.say("on");
    });
    assert_eq!(printed, "on\n");
}

#[test]
fn a_check_tells_its_locations_and_an_access_tells_nothing() {
    let mut builder = Builder::new();
    builder.global("pad", Const::Int(0));
    let access = builder.access(AccessKind::Write);
    let module = builder.main(&[Type::Int], |b| {
        let ten = b.int(10);
        let array = b.array(Type::Byte, &[ten]);
        b.run(Op::Check {
            kind: AccessKind::Write,
            base: array,
            first: Operand::Constant(1),
            count: Operand::Value(b.parameter(0)),
            stride: Operand::Constant(3),
            access,
        });
        let null = b.constant(Const::Null);
        b.run(Op::Check {
            kind: AccessKind::Write,
            base: null,
            first: Operand::Constant(0),
            count: Operand::Constant(0),
            stride: Operand::Constant(1),
            access,
        });
    });
    let accesses = |count: i64| -> Vec<Access> {
        let (result, records) = run_with(&module, &[Datum::Int(count)], Limits::default());
        assert!(result.is_ok());
        let access = |record: &Record| match record {
            Record::Access(access) => Some(*access),
            Record::Event(_) => None,
        };
        records.iter().filter_map(access).collect()
    };
    // Location 0 is the global.
    let expected = Access {
        task: TaskId::MAIN,
        kind: AccessKind::Write,
        first: Location(2),
        count: 3,
        stride: 3,
        id: access,
    };
    assert_eq!(accesses(3), [expected]);
    assert_eq!(accesses(0), []);
}

#[test]
fn events_come_in_the_order_of_a_depth_first_run() {
    // finish { async { async {} } } async {}
    let mut builder = Builder::new();
    let inner = builder.async_body(&[], |_| {});
    let mut sites = Vec::new();
    let outer = builder.async_body(&[], |b| sites.push(b.async_(inner, &[])));
    let module = builder.main(&[], |b| {
        sites.push(b.begin(FinishKind::Lexical));
        sites.push(b.async_(outer, &[]));
        sites.push(b.end(FinishKind::Lexical));
        sites.push(b.async_(inner, &[]));
    });
    let (result, records) = run_with(&module, &[], Limits::default());
    assert!(result.is_ok());
    let main_site = module.function(module.main).site;
    let (main, finish) = (TaskId::MAIN, FinishId(1));
    let created = |task, parent, finish, site| Event::TaskBegin {
        task: TaskId(task),
        parent: Some(TaskId(parent)),
        kind: TaskKind::Async,
        finish,
        site,
    };
    let expected = [
        Event::TaskBegin {
            task: main,
            parent: None,
            kind: TaskKind::Main,
            finish: FinishId::ROOT,
            site: main_site,
        },
        Event::FinishBegin {
            task: main,
            finish: FinishId::ROOT,
            kind: FinishKind::Root,
            site: main_site,
        },
        Event::Alloc {
            task: main,
            allocation: AllocationId(0),
            first: Location(0),
            count: 0,
        },
        Event::FinishBegin {
            task: main,
            finish,
            kind: FinishKind::Lexical,
            site: sites[1],
        },
        created(1, 0, finish, sites[2]),
        created(2, 1, finish, sites[0]),
        Event::TaskEnd { task: TaskId(2) },
        Event::TaskEnd { task: TaskId(1) },
        Event::FinishEnd {
            task: main,
            finish,
            site: sites[3],
        },
        created(3, 0, FinishId::ROOT, sites[4]),
        Event::TaskEnd { task: TaskId(3) },
        Event::FinishEnd {
            task: main,
            finish: FinishId::ROOT,
            site: main_site,
        },
        Event::TaskEnd { task: main },
    ];
    assert_eq!(records, expected.map(Record::Event));
}

/// Steps a task until it does something else than to continue.
fn advance(machine: &mut Machine<'_>, task: TaskId) -> Progress {
    loop {
        match machine.step(task, &mut ()).expect("no failure") {
            Progress::Continue => {}
            other => return other,
        }
    }
}

#[test]
fn a_finish_waits_for_tasks_of_tasks_and_main_for_all() {
    // finish { async { async {} } } async {}
    let mut builder = Builder::new();
    let inner = builder.async_body(&[], |_| {});
    let outer = builder.async_body(&[], |b| {
        b.async_(inner, &[]);
    });
    let module = builder.main(&[], |b| {
        b.finish(|b| {
            b.async_(outer, &[]);
        });
        b.async_(inner, &[]);
    });
    verify(&module).unwrap();
    let mut machine = Machine::new(&module, &[], Limits::default(), &mut ()).unwrap();
    let main = TaskId::MAIN;
    assert_eq!(advance(&mut machine, main), Progress::Created(TaskId(1)));
    assert_eq!(advance(&mut machine, main), Progress::Blocked);
    assert_eq!(machine.status(main), Status::WaitingForFinish(FinishId(1)));
    assert_eq!(machine.status(TaskId(1)), Status::Runnable);
    assert_eq!(
        advance(&mut machine, TaskId(1)),
        Progress::Created(TaskId(2))
    );
    assert_eq!(advance(&mut machine, TaskId(1)), Progress::Ended);
    assert_eq!(machine.status(TaskId(1)), Status::Done);
    assert_eq!(machine.next(TaskId(1)), Next::Done);
    // The grandchild outlives its creator, and the finish waits for it.
    assert_eq!(advance(&mut machine, main), Progress::Blocked);
    assert_eq!(advance(&mut machine, TaskId(2)), Progress::Ended);
    assert_eq!(machine.status(main), Status::Runnable);
    assert_eq!(advance(&mut machine, main), Progress::Created(TaskId(3)));
    assert_eq!(advance(&mut machine, main), Progress::Blocked);
    assert_eq!(
        machine.status(main),
        Status::WaitingForFinish(FinishId::ROOT)
    );
    assert_eq!(advance(&mut machine, TaskId(3)), Progress::Ended);
    assert_eq!(advance(&mut machine, main), Progress::Ended);
    assert_eq!(machine.status(main), Status::Done);
    assert_eq!(machine.tasks_created(), 4);
}

#[test]
fn sync_waits_and_the_scope_stays_open() {
    let mut builder = Builder::new();
    let body = builder.function(Role::SpawnBody, &[], None, |_| {});
    let module = builder.main(&[], |b| {
        b.begin(FinishKind::SyncScope);
        b.spawn(body, &[]);
        b.sync();
        b.spawn(body, &[]);
        b.end(FinishKind::SyncScope);
    });
    verify(&module).unwrap();
    let mut machine = Machine::new(&module, &[], Limits::default(), &mut ()).unwrap();
    let main = TaskId::MAIN;
    let waiting = Status::WaitingForFinish(FinishId(1));
    for child in [TaskId(1), TaskId(2)] {
        assert_eq!(advance(&mut machine, main), Progress::Created(child));
        assert_eq!(advance(&mut machine, main), Progress::Blocked);
        assert_eq!(machine.status(main), waiting);
        assert_eq!(advance(&mut machine, child), Progress::Ended);
    }
    assert_eq!(advance(&mut machine, main), Progress::Ended);

    let (_, records) = run_with(&module, &[], Limits::default());
    let joins = |record: &&Record| matches!(record, Record::Event(Event::FinishJoin { .. }));
    assert_eq!(records.iter().filter(joins).count(), 1);
}

#[test]
fn isolated_blocks_exclude_each_other() {
    let mut builder = Builder::new();
    let total = builder.global("total", Const::Int(0));
    let add = |b: &mut Body<'_>| b.isolated(|b| b.update_global(BinaryOp::Add, total, 1));
    let body = builder.async_body(&[], add);
    let module = builder.main(&[], |b| {
        b.async_(body, &[]);
        add(b);
    });
    verify(&module).unwrap();
    let mut machine = Machine::new(&module, &[], Limits::default(), &mut ()).unwrap();
    let (main, child) = (TaskId::MAIN, TaskId(1));
    assert_eq!(advance(&mut machine, main), Progress::Created(child));
    assert_eq!(machine.next(child), Next::EnterIsolated);
    machine.step(child, &mut ()).unwrap();
    assert_eq!(machine.next(main), Next::EnterIsolated);
    assert_eq!(machine.status(main), Status::WaitingForIsolation);
    assert_eq!(machine.step(main, &mut ()), Ok(Progress::Blocked));
    let read = loop {
        match machine.next(child) {
            Next::Access { kind, location, .. } => break (kind, location),
            _ => drop(machine.step(child, &mut ()).unwrap()),
        }
    };
    assert_eq!(read, (AccessKind::Read, Location(0)));
    assert_eq!(advance(&mut machine, child), Progress::Ended);
    assert_eq!(machine.status(main), Status::Runnable);
    assert_eq!(advance(&mut machine, main), Progress::Ended);
    assert_eq!(machine.heap().object(Handle::GLOBALS).get(0), Datum::Int(2));
}

#[test]
fn dynamic_finishes_must_nest_within_their_task() {
    let unended = failure(|b| b.begin(FinishKind::Dynamic));
    assert!(matches!(
        unended,
        TrapKind::BeginFinishNeverEnded {
            ended: Ended::Task,
            ..
        }
    ));

    let without_begin = failure(|b| b.end(FinishKind::Dynamic));
    assert_eq!(without_begin, TrapKind::EndFinishWithoutBegin);

    // An outer begin_finish can't be ended inside an inner finish.
    let inside = failure(|b| {
        b.begin(FinishKind::Dynamic);
        b.begin(FinishKind::Lexical);
        let site = b.end(FinishKind::Dynamic);
        b.end(FinishKind::Lexical);
        site
    });
    assert_eq!(inside, TrapKind::EndFinishWithoutBegin);

    for kind in [FinishKind::Lexical, FinishKind::SyncScope] {
        let mut begin = SiteId(0);
        let crossing = failure(|b| {
            b.begin(kind);
            begin = b.begin(FinishKind::Dynamic);
            b.end(kind);
            begin
        });
        let ended = Ended::Finish(kind);
        assert_eq!(crossing, TrapKind::BeginFinishNeverEnded { begin, ended });
    }

    let mut begin = SiteId(0);
    let sync = failure(|b| {
        b.begin(FinishKind::SyncScope);
        begin = b.begin(FinishKind::Dynamic);
        let site = b.sync();
        b.end(FinishKind::Dynamic);
        b.end(FinishKind::SyncScope);
        site
    });
    assert_eq!(sync, TrapKind::SyncInsideBeginFinish { begin });

    // Opened in one function, closed in another.
    let mut builder = Builder::new();
    let open = builder.function(Role::Function, &[], None, |b| {
        b.begin(FinishKind::Dynamic);
    });
    let close = builder.function(Role::Function, &[], None, |b| {
        b.end(FinishKind::Dynamic);
    });
    let module = builder.main(&[], |b| {
        b.run(Op::Call {
            function: open,
            arguments: Vec::new(),
        });
        b.run(Op::Call {
            function: close,
            arguments: Vec::new(),
        });
        b.say("fine");
    });
    assert_eq!(run(&module).unwrap(), "fine\n");
}

#[test]
fn a_task_that_leaves_a_finish_open_is_named() {
    let mut builder = Builder::new();
    let mut begin = SiteId(0);
    let body = builder.async_body(&[], |b| begin = b.begin(FinishKind::Dynamic));
    let module = builder.main(&[], |b| {
        b.async_(body, &[]);
    });
    let trap = run(&module).unwrap_err();
    let kind = TrapKind::BeginFinishNeverEnded {
        begin,
        ended: Ended::Task,
    };
    assert_eq!(
        trap,
        Trap {
            kind,
            site: begin,
            task: TaskId(1)
        }
    );
}

#[test]
fn tasks_and_finishes_are_limited() {
    let mut builder = Builder::new();
    let body = builder.async_body(&[], |_| {});
    let module = builder.main(&[Type::Int], |b| {
        b.count_to(b.parameter(0), |b, _| {
            b.finish(|b| {
                b.async_(body, &[]);
            })
        });
    });
    let of = |count, limits| {
        run_with(&module, &[Datum::Int(count)], limits)
            .0
            .map_err(|trap| trap.kind)
    };
    // main is a task, and the root is a finish.
    let tasks = Limits {
        tasks: 10,
        ..Limits::default()
    };
    assert!(of(9, tasks).is_ok());
    assert_eq!(of(10, tasks), Err(TrapKind::TooManyTasks { limit: 10 }));
    let finishes = Limits {
        finishes: 10,
        ..Limits::default()
    };
    assert!(of(9, finishes).is_ok());
    assert_eq!(
        of(10, finishes),
        Err(TrapKind::TooManyFinishes { limit: 10 })
    );
}

#[test]
fn a_failing_or_blocked_step_changes_nothing() {
    let module = Builder::new().main(&[], |b| {
        let (one, zero) = (b.int(1), b.int(0));
        b.binary(BinaryOp::Divide, one, zero);
    });
    let mut machine = Machine::new(&module, &[], Limits::default(), &mut ()).unwrap();
    machine.step(TaskId::MAIN, &mut ()).unwrap();
    machine.step(TaskId::MAIN, &mut ()).unwrap();
    let before = machine.canonical_state();
    let first = machine.step(TaskId::MAIN, &mut ()).unwrap_err();
    assert_eq!(machine.canonical_state(), before);
    assert_eq!(machine.step(TaskId::MAIN, &mut ()), Err(first));
}

#[test]
fn states_do_not_tell_in_which_order_tasks_ran() {
    // Each child makes an object that refers to itself: ids depend on the order, the state does
    // not.
    let mut builder = Builder::new();
    let body = builder.async_body(&[Type::Ref, Type::Int], |b| {
        let one = b.int(1);
        let own = b.array(Type::Ref, &[one]);
        b.store(own, Operand::Constant(0), own);
        let (shared, index) = (b.parameter(0), b.parameter(1));
        b.store(shared, Operand::Value(index), own);
    });
    let module = builder.main(&[], |b| {
        let (zero, one, two) = (b.int(0), b.int(1), b.int(2));
        let shared = b.array(Type::Ref, &[two]);
        b.async_(body, &[shared, zero]);
        b.async_(body, &[shared, one]);
    });
    verify(&module).unwrap();
    let after = |order: [TaskId; 2]| {
        let mut machine = Machine::new(&module, &[], Limits::default(), &mut ()).unwrap();
        advance(&mut machine, TaskId::MAIN);
        advance(&mut machine, TaskId::MAIN);
        for task in order {
            assert_eq!(advance(&mut machine, task), Progress::Ended);
        }
        let shared = machine.heap().object(Handle(1)).get(0);
        (machine.canonical_state(), machine.canonical_heap(), shared)
    };
    let (state, heap, object) = after([TaskId(1), TaskId(2)]);
    let (other_state, other_heap, other_object) = after([TaskId(2), TaskId(1)]);
    assert_ne!(object, other_object);
    assert_eq!(state, other_state);
    assert_eq!(heap, other_heap);
}

/// A task that creates the next before it ends, a million deep, in bounded memory a task.
#[test]
fn long_chains_of_tasks_end_or_fail_cleanly() {
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
        b.async_(body, &[rest]);
    });
    let module = builder.main(&[Type::Int], |b| {
        b.async_(body, &[b.parameter(0)]);
    });
    let mut machine = Machine::new(
        &module,
        &[Datum::Int(1_000_000)],
        Limits::default(),
        &mut (),
    )
    .unwrap();
    // Breadth-first: a creator ends before its child starts, so one place is enough for all.
    let mut task = TaskId::MAIN;
    advance(&mut machine, task);
    loop {
        task = TaskId(task.0 + 1);
        match advance(&mut machine, task) {
            Progress::Created(_) => assert_eq!(advance(&mut machine, task), Progress::Ended),
            progress => break assert_eq!(progress, Progress::Ended),
        }
    }
    assert_eq!(machine.tasks_created(), 1_000_001);
    assert_eq!(advance(&mut machine, TaskId::MAIN), Progress::Ended);

    // Depth-first they are all alive at once.
    let tight = Limits {
        memory: 1 << 20,
        ..Limits::default()
    };
    let trap = run_with(&module, &[Datum::Int(1_000_000)], tight)
        .0
        .unwrap_err();
    assert!(matches!(trap.kind, TrapKind::Memory { .. }));
    assert!(run_with(&module, &[Datum::Int(1_000)], tight).0.is_ok());
}

#[test]
fn a_budget_too_small_for_the_globals_is_a_failure() {
    let mut builder = Builder::new();
    builder.global("total", Const::Int(0));
    let module = builder.main(&[], |_| {});
    let limits = Limits {
        memory: 39,
        ..Limits::default()
    };
    assert!(matches!(
        run_with(&module, &[], limits).0.unwrap_err().kind,
        TrapKind::Memory { .. }
    ));
}
