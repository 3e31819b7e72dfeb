//! The verifier: a valid module passes, and for each rule a module that breaks just it is refused
//! with the right words.

use crate::builder::{Body, Builder, target};
use finishline_ir::verify::verify;
use finishline_ir::*;
use finishline_model::{AccessId, AccessKind, AllocationId, FinishKind, SiteId, TaskKind};

/// One `main` with an int, a float, a bool, a byte and a reference at hand, then `build`.
struct Values {
    int: Value,
    float: Value,
    bool: Value,
    byte: Value,
    reference: Value,
}

fn with_values(build: impl FnOnce(&mut Body<'_>, &Values)) -> Module {
    Builder::new().main(&[], |b| {
        let int = b.int(1);
        let values = Values {
            int,
            float: b.constant(Const::Float(1.0)),
            bool: b.constant(Const::Bool(true)),
            byte: b.constant(Const::Byte(1)),
            reference: b.array(Type::Int, &[int]),
        };
        build(b, &values);
    })
}

#[track_caller]
fn refused(module: &Module, words: &str) {
    let violations = verify(module).expect_err("the module breaks a rule");
    assert!(
        violations
            .iter()
            .any(|violation| violation.to_string().contains(words)),
        "expected {words:?} in {violations:?}\n{module}"
    );
}

#[track_caller]
fn op_refused(words: &str, ty: Type, op: impl FnOnce(&Values) -> Op) {
    let module = with_values(|b, v| {
        let op = op(v);
        b.get(ty, op);
    });
    refused(&module, words);
}

#[track_caller]
fn effect_refused(words: &str, op: impl FnOnce(&Values) -> Op) {
    let module = with_values(|b, v| {
        let op = op(v);
        b.run(op);
    });
    refused(&module, words);
}

/// Calls, a loop, an async, a finish, an isolated block, accesses: everything a pass may meet.
fn valid() -> Module {
    let mut builder = Builder::new();
    let total = builder.global("total", Const::Int(0));
    let square = builder.function(Role::Function, &[Type::Int], Some(Type::Int), |b| {
        let square = b.binary(BinaryOp::Multiply, b.parameter(0), b.parameter(0));
        b.give(square);
    });
    let body = builder.async_body(&[Type::Int], |b| {
        let arguments = vec![b.parameter(0)];
        let square = b.get(
            Type::Int,
            Op::Call {
                function: square,
                arguments,
            },
        );
        b.isolated(|b| {
            let old = b.load_global(Type::Int, total);
            let new = b.binary(BinaryOp::Add, old, square);
            b.store_global(total, new);
        });
    });
    builder.main(&[Type::Int], |b| {
        b.finish(|b| {
            b.count_to(b.parameter(0), |b, i| {
                b.async_(body, &[i]);
            });
        });
        let total = b.load_global(Type::Int, total);
        b.print(total);
    })
}

fn main_of(module: &mut Module) -> &mut Function {
    &mut module.functions[module.main.index()]
}

#[test]
fn a_valid_module_passes() {
    assert_eq!(verify(&valid()), Ok(()));
    assert_eq!(verify(&with_values(|_, _| {})), Ok(()));
}

#[test]
fn ids_are_in_range() {
    let broken = |change: fn(&mut Module)| {
        let mut module = valid();
        change(&mut module);
        refused(&module, "does not exist");
    };
    broken(|module| module.main = FunctionId(99));
    broken(|module| module.source.accesses[0].site = SiteId(9999));
    broken(|module| module.source.accesses[0].place = SiteId(9999));
    broken(|module| module.source.allocations[0].site = SiteId(9999));
    broken(|module| module.constructs[0].site = SiteId(9999));
    broken(|module| {
        module.unchecked.insert(AccessId(99), Unchecked::default());
    });
    broken(|module| main_of(module).site = SiteId(9999));
    broken(|module| main_of(module).blocks[0].instructions[0].site = SiteId(9999));
    broken(|module| main_of(module).blocks[0].instructions[1].result = Some(Value(99)));
    broken(|module| main_of(module).blocks[0].parameters[0] = Value(99));
    broken(|module| {
        main_of(module).blocks[0].terminator = Terminator::Jump(target(BlockId(9), &[]));
    });
    broken(|module| {
        main_of(module).blocks[0].terminator = Terminator::Jump(target(BlockId(1), &[Value(99)]));
    });
    op_refused("v99 does not exist", Type::Int, |_| {
        Op::Unary(UnaryOp::Negate, Value(99))
    });
    op_refused("struct0 does not exist", Type::Ref, |_| Op::NewStruct {
        layout: StructId(0),
        allocation: AllocationId(0),
    });
    op_refused("alloc9 does not exist", Type::Ref, |v| Op::NewArray {
        element: Type::Int,
        sizes: vec![v.int],
        allocation: AllocationId(9),
    });
    op_refused("acc9 does not exist", Type::Int, |v| Op::Load {
        base: v.reference,
        offset: Operand::Constant(0),
        access: AccessId(9),
    });
    effect_refused("fn9 does not exist", |_| Op::Call {
        function: FunctionId(9),
        arguments: Vec::new(),
    });
    effect_refused("fn9 does not exist", |_| {
        Op::CallRoom(vec![FunctionId(0), FunctionId(9)])
    });
    effect_refused("names no function", |_| Op::CallRoom(Vec::new()));
    op_refused("gets no value", Type::Int, |_| {
        Op::CallRoom(vec![FunctionId(0)])
    });
    let mut module = valid();
    main_of(&mut module).blocks.clear();
    refused(&module, "has no entry block");
}

#[test]
fn operands_and_results_have_their_types() {
    op_refused("v5 is float, not int", Type::Float, |_| {
        Op::Const(Const::Int(1))
    });
    op_refused("v2 is bool, not int or float or byte", Type::Bool, |v| {
        Op::Unary(UnaryOp::Negate, v.bool)
    });
    op_refused("v1 is float, not bool or int or byte", Type::Float, |v| {
        Op::Unary(UnaryOp::Not, v.float)
    });
    op_refused("v1 is float, not int", Type::Int, |v| {
        Op::Binary(BinaryOp::Add, v.int, v.float)
    });
    op_refused("v2 is bool, not int or float or byte", Type::Bool, |v| {
        Op::Binary(BinaryOp::Add, v.bool, v.bool)
    });
    op_refused("v1 is float, not int or byte or bool", Type::Float, |v| {
        Op::Binary(BinaryOp::Xor, v.float, v.float)
    });
    op_refused("v3 is byte, not int", Type::Byte, |v| {
        Op::Binary(BinaryOp::ShiftLeft, v.byte, v.byte)
    });
    op_refused("v4 is ref, not int or float or byte", Type::Bool, |v| {
        Op::Compare(CompareOp::Less, v.reference, v.reference)
    });
    op_refused("v0 is int, not ref", Type::Bool, |v| {
        Op::Compare(CompareOp::Equal, v.reference, v.int)
    });
    op_refused("v5 is int, not bool", Type::Int, |v| {
        Op::Compare(CompareOp::Equal, v.int, v.int)
    });
    op_refused("converts to bool", Type::Bool, |v| {
        Op::Convert(v.int, Type::Bool)
    });
    op_refused("v2 is bool, not int or float or byte", Type::Float, |v| {
        Op::Convert(v.bool, Type::Float)
    });
    op_refused("v4 is ref, not int", Type::Int, |v| {
        Op::Convert(v.reference, Type::Int)
    });
    op_refused("pow takes 2 operands", Type::Float, |v| {
        Op::Math(MathFunction::Pow, vec![v.float])
    });
    op_refused("v0 is int, not float", Type::Float, |v| {
        Op::Math(MathFunction::Sqrt, vec![v.int])
    });
    op_refused("v1 is float, not int", Type::Int, |v| {
        Op::Math(MathFunction::Min, vec![v.int, v.float])
    });
    op_refused("v3 is byte, not int", Type::Int, |v| Op::RangeCount {
        start: v.int,
        end: v.byte,
        step: v.int,
        inclusive: false,
    });
    let allocation = AllocationId(0);
    let element = Type::Int;
    op_refused("an array without dimensions", Type::Ref, |_| Op::NewArray {
        element,
        sizes: Vec::new(),
        allocation,
    });
    op_refused("v1 is float, not int", Type::Ref, |v| Op::NewArray {
        element,
        sizes: vec![v.float],
        allocation,
    });
    effect_refused("v0 is int, not ref", |v| Op::NonNull(v.int));
    op_refused("v0 is int, not ref", Type::Int, |v| Op::Index {
        array: v.int,
        indices: vec![v.int],
    });
    op_refused("v2 is bool, not int", Type::Int, |v| Op::Index {
        array: v.reference,
        indices: vec![v.bool],
    });
    op_refused("v0 is int, not ref", Type::Int, |v| Op::Length {
        array: v.int,
        dimension: 0,
    });
    op_refused("v5 is int, not ref", Type::Int, |_| Op::Globals);
    op_refused("v5 gets no value", Type::Int, |_| Op::Print(Vec::new()));
    effect_refused("has no result", |_| Op::Globals);
    effect_refused("v0 is int, not bool", |v| Op::Assert {
        condition: v.int,
        message: Vec::new(),
    });
}

#[test]
fn accesses_have_their_types() {
    let broken = |words: &str, op: fn(&Values, AccessId) -> Op| {
        let module = with_values(|b, v| {
            let access = b.builder.access(AccessKind::Write);
            b.run(op(v, access));
        });
        refused(&module, words);
    };
    broken("v0 is int, not ref", |v, access| Op::Check {
        kind: AccessKind::Write,
        base: v.int,
        first: Operand::Constant(0),
        count: Operand::Constant(1),
        stride: Operand::Constant(1),
        access,
    });
    broken("v2 is bool, not int", |v, access| Op::Check {
        kind: AccessKind::Write,
        base: v.reference,
        first: Operand::Constant(0),
        count: Operand::Value(v.bool),
        stride: Operand::Constant(1),
        access,
    });
    broken("-1 is negative", |v, access| Op::Store {
        base: v.reference,
        offset: Operand::Constant(-1),
        value: v.int,
        access,
    });
    broken("v3 is byte, not ref", |v, access| Op::Store {
        base: v.byte,
        offset: Operand::Constant(0),
        value: v.int,
        access,
    });
    broken("has no result", |v, access| Op::Load {
        base: v.reference,
        offset: Operand::Constant(0),
        access,
    });
}

#[test]
fn calls_and_creations_agree_with_what_they_run() {
    let broken = |words: &str, build: fn(&mut Body<'_>, FunctionId, FunctionId)| {
        let mut builder = Builder::new();
        let f = builder.function(Role::Function, &[Type::Int], Some(Type::Int), |b| {
            b.give(b.parameter(0));
        });
        let body = builder.async_body(&[Type::Int], |_| {});
        refused(&builder.main(&[], |b| build(b, f, body)), words);
    };
    broken("0 arguments for 1 parameters", |b, f, _| {
        b.run(Op::Call {
            function: f,
            arguments: Vec::new(),
        });
    });
    broken("v0 is bool, not int", |b, f, _| {
        let arguments = vec![b.constant(Const::Bool(true))];
        b.run(Op::Call {
            function: f,
            arguments,
        });
    });
    broken("v1 is float, not int", |b, f, _| {
        let arguments = vec![b.int(1)];
        b.get(
            Type::Float,
            Op::Call {
                function: f,
                arguments,
            },
        );
    });
    broken("calls the body of a task", |b, _, body| {
        let arguments = vec![b.int(1)];
        b.run(Op::Call {
            function: body,
            arguments,
        });
    });
    broken("2 arguments for 1 parameters", |b, _, body| {
        let one = b.int(1);
        b.async_(body, &[one, one]);
    });
    broken(
        "async creates a task of kind Async from a Function",
        |b, f, _| {
            let one = b.int(1);
            b.async_(f, &[one]);
        },
    );
    broken(
        "spawn creates a task of kind Spawn from a AsyncBody",
        |b, _, body| {
            let one = b.int(1);
            b.spawn(body, &[one]);
        },
    );
    broken("finish creates a task", |b, _, body| {
        let one = b.int(1);
        b.create(TaskKind::Async, Construct::Finish, body, &[one]);
    });
}

#[test]
fn functions_return_what_they_say() {
    let broken = |words: &str, result, give: Option<Const>| {
        let mut builder = Builder::new();
        builder.function(Role::Function, &[], result, |b| {
            let value = give.map(|constant| b.constant(constant));
            b.terminate(Terminator::Return(value));
        });
        refused(&builder.main(&[], |_| {}), words);
    };
    broken("returns no value", Some(Type::Int), None);
    broken("returns a value", None, Some(Const::Int(1)));
    broken(
        "v0 is bool, not int",
        Some(Type::Int),
        Some(Const::Bool(true)),
    );

    let mut builder = Builder::new();
    builder.function(Role::AsyncBody, &[], Some(Type::Int), |b| {
        let one = b.int(1);
        b.give(one);
    });
    refused(
        &builder.main(&[], |_| {}),
        "the body of a task has a result",
    );

    refused(
        &Builder::new().main(&[Type::Ref], |_| {}),
        "main takes a reference",
    );
    let mut module = valid();
    module.main = FunctionId(0);
    refused(&module, "main is no function without a result");
    let mut module = valid();
    main_of(&mut module).parameters.clear();
    refused(&module, "names and parameters of the entry block differ");
}

#[test]
fn jumps_agree_with_the_blocks_they_go_to() {
    let module = |jump: fn(&mut Body<'_>, BlockId)| {
        Builder::new().main(&[], |b| {
            let (next, _) = b.block(&[Type::Int]);
            jump(b, next);
        })
    };
    refused(
        &module(|b, next| b.jump(next, &[])),
        "0 arguments for 1 parameters",
    );
    let bool_argument = module(|b, next| {
        let yes = b.constant(Const::Bool(true));
        b.jump(next, &[yes]);
    });
    refused(&bool_argument, "v1 is bool, not int");
    let int_condition = Builder::new().main(&[], |b| {
        let one = b.int(1);
        let (next, _) = b.block(&[]);
        b.branch(one, next, next);
    });
    refused(&int_condition, "v0 is int, not bool");
    let to_entry = Builder::new().main(&[], |b| b.jump(Function::ENTRY, &[]));
    refused(&to_entry, "jumps to the entry block");
}

#[test]
fn uses_are_dominated_by_their_single_definition() {
    let mut twice = with_values(|b, v| {
        b.get(Type::Int, Op::Unary(UnaryOp::Negate, v.int));
    });
    main_of(&mut twice).blocks[0]
        .instructions
        .last_mut()
        .unwrap()
        .result = Some(Value(0));
    refused(&twice, "v0 is defined twice");

    let mut before = with_values(|_, _| {});
    main_of(&mut before).blocks[0].instructions.swap(0, 4);
    refused(&before, "v0 is used where it need not be defined");

    let mut never = valid();
    main_of(&mut never).values.push(Type::Int);
    let undefined = Value::from_index(main_of(&mut never).values.len() - 1);
    let print = main_of(&mut never)
        .blocks
        .last_mut()
        .unwrap()
        .instructions
        .last_mut()
        .unwrap();
    print.op = Op::Print(vec![PrintPart::Value(undefined)]);
    refused(&never, "is used where it need not be defined");

    // Defined on one branch, used behind the join.
    let one_branch = Builder::new().main(&[Type::Bool], |b| {
        let (then, _) = b.block(&[]);
        let (join, _) = b.block(&[]);
        b.branch(b.parameter(0), then, join);
        b.switch(then);
        let one = b.int(1);
        b.jump(join, &[]);
        b.switch(join);
        b.print(one);
    });
    refused(&one_branch, "v1 is used where it need not be defined");
}

#[test]
fn finishes_nest_within_a_function() {
    let broken = |words: &str, build: fn(&mut Body<'_>)| {
        refused(&Builder::new().main(&[], build), words);
    };
    broken("returns inside a finish", |b| {
        drop_site(b.begin(FinishKind::Lexical))
    });
    broken("closes a finish that is not the innermost", |b| {
        drop_site(b.end(FinishKind::Lexical))
    });
    broken("closes a finish that is not the innermost", |b| {
        b.begin(FinishKind::Lexical);
        b.begin(FinishKind::SyncScope);
        b.end(FinishKind::Lexical);
        b.end(FinishKind::SyncScope);
    });
    broken("only the machine opens", |b| {
        drop_site(b.begin(FinishKind::Root))
    });
    broken("only the machine opens", |b| {
        drop_site(b.end(FinishKind::Root))
    });
    broken("sync outside a finish", |b| drop_site(b.sync()));
    let different = Builder::new().main(&[Type::Bool], |b| {
        let (then, _) = b.block(&[]);
        let (join, _) = b.block(&[]);
        b.branch(b.parameter(0), then, join);
        b.switch(then);
        b.begin(FinishKind::Lexical);
        b.jump(join, &[]);
    });
    refused(&different, "is reached with different finishes open");
}

fn drop_site(_: SiteId) {}

#[test]
fn nothing_parallel_is_inside_an_isolated_block() {
    let inside = |build: fn(&mut Body<'_>, FunctionId)| {
        let mut builder = Builder::new();
        let body = builder.async_body(&[], |_| {});
        let module = builder.main(&[], |b| b.isolated(|b| build(b, body)));
        refused(
            &module,
            "something parallel happens inside an isolated block",
        );
    };
    inside(|b, body| drop_site(b.async_(body, &[])));
    inside(|b, _| b.finish(|_| {}));
    inside(|b, _| b.isolated(|_| {}));
    inside(|b, _| drop_site(b.begin(FinishKind::Dynamic)));

    // Through two calls, the callers first.
    let mut builder = Builder::new();
    let outer = builder.declare(Role::Function, &[], None);
    let inner = builder.function(Role::Function, &[], None, |b| b.isolated(|_| {}));
    builder.define(outer, |b| {
        b.run(Op::Call {
            function: inner,
            arguments: Vec::new(),
        });
    });
    let module = builder.main(&[], |b| {
        b.isolated(|b| {
            drop_site(b.run(Op::Call {
                function: outer,
                arguments: Vec::new(),
            }))
        });
    });
    refused(
        &module,
        "something parallel is called inside an isolated block",
    );

    let open = Builder::new().main(&[], |b| {
        b.isolated(|_| {});
        b.run(Op::IsolatedBegin);
    });
    refused(&open, "returns inside a finish or an isolated block");
    let unopened = Builder::new().main(&[], |b| drop_site(b.run(Op::IsolatedEnd)));
    refused(&unopened, "the end of no isolated block");
}

#[test]
fn constructs_are_announced() {
    let mut module = valid();
    for construct in [Construct::Async, Construct::Finish, Construct::Isolated] {
        let all = module.constructs.clone();
        module.constructs.retain(|used| used.construct != construct);
        refused(&module, &format!("{} is not in the list", construct.word()));
        module.constructs = all;
    }
    for kind in [FinishKind::Dynamic, FinishKind::SyncScope] {
        let mut module = Builder::new().main(&[], |b| {
            b.begin(kind);
            b.end(kind);
        });
        module.constructs.clear();
        refused(&module, "is not in the list of constructs");
    }
}

#[test]
fn every_access_is_checked_or_has_a_reason() {
    /// What stands between a check and its load, and how the two differ.
    struct Change {
        base: fn(&mut Body<'_>, Value) -> Value,
        first: Operand,
        count: Operand,
        between: fn(&mut Body<'_>),
    }
    let same = Change {
        base: |_, base| base,
        first: Operand::Constant(0),
        count: Operand::Constant(1),
        between: |b| b.say("nothing"),
    };
    let build = |change: &Change| {
        Builder::new().main(&[], |b| {
            let one = b.int(1);
            let base = b.array(Type::Int, &[one]);
            let checked = (change.base)(b, base);
            let access = b.builder.access(AccessKind::Read);
            let (first, count) = (change.first, change.count);
            let (kind, stride) = (AccessKind::Read, Operand::Constant(1));
            b.run(Op::Check {
                kind,
                base: checked,
                first,
                count,
                stride,
                access,
            });
            (change.between)(b);
            b.get(
                Type::Int,
                Op::Load {
                    base,
                    offset: Operand::Constant(0),
                    access,
                },
            );
        })
    };
    assert_eq!(verify(&build(&same)), Ok(()));
    let unguarded = [
        Change {
            base: |b, _| b.get(Type::Ref, Op::Globals),
            ..same
        },
        Change {
            first: Operand::Constant(1),
            ..same
        },
        Change {
            count: Operand::Constant(0),
            ..same
        },
        Change {
            count: Operand::Value(Value(0)),
            ..same
        },
        Change {
            between: |b| b.finish(|_| {}),
            ..same
        },
        Change {
            between: |b| b.isolated(|_| {}),
            ..same
        },
        Change {
            between: |b| {
                let (next, _) = b.block(&[]);
                b.jump(next, &[]);
                b.switch(next);
            },
            ..same
        },
    ];
    for change in &unguarded {
        let mut module = build(change);
        refused(&module, "acc0 has no check and no reason");
        module.unchecked.insert(AccessId(0), Unchecked::default());
        assert_eq!(verify(&module), Ok(()));
    }
}

#[test]
fn kinds_agree_with_the_source() {
    let mut module = valid();
    let read = module
        .source
        .accesses
        .iter()
        .position(|a| a.kind == AccessKind::Read)
        .unwrap();
    module.source.accesses[read].kind = AccessKind::Write;
    refused(&module, "is a write in the source, not a read");

    let module = with_values(|b, v| {
        let access = b.builder.access(AccessKind::Read);
        let (base, offset) = (v.reference, Operand::Constant(0));
        b.builder
            .module
            .unchecked
            .insert(access, Unchecked::default());
        b.run(Op::Store {
            base,
            offset,
            value: v.int,
            access,
        });
    });
    refused(&module, "acc0 is a read in the source, not a write");
}
