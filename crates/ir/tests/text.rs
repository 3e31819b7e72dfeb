//! The printed form, once with everything in it.

mod builder;

use builder::Builder;
use finishline_ir::*;
use finishline_model::{AccessKind, FinishKind, Pass, Passes, TaskKind};

#[test]
fn every_instruction_has_a_line() {
    let mut builder = Builder::new();
    let total = builder.global("total", Const::Float(0.5));
    let pair = builder.structure("Pair", &[("x", Type::Int), ("next", Type::Ref)]);
    let allocation = builder.allocation("pair");
    let square_of = builder.function(Role::Function, &[Type::Int], Some(Type::Int), |b| {
        let square = b.binary(BinaryOp::Multiply, b.parameter(0), b.parameter(0));
        b.give(square);
    });
    let body = builder.async_body(&[Type::Int], |b| {
        b.isolated(|b| {
            let old = b.load_global(Type::Float, total);
            let new = b.get(Type::Float, Op::Math(MathFunction::Sqrt, vec![old]));
            b.store_global(total, new);
        });
    });
    let spawned = builder.function(Role::SpawnBody, &[], None, |_| {});
    let mut module = builder.main(&[Type::Int, Type::Bool], |b| {
        let n = b.parameter(0);
        let square = b.get(
            Type::Int,
            Op::Call {
                function: square_of,
                arguments: vec![n],
            },
        );
        let count = Op::RangeCount {
            start: n,
            end: square,
            step: n,
            inclusive: true,
        };
        b.get(Type::Int, count);
        b.get(
            Type::Ref,
            Op::NewStruct {
                layout: pair,
                allocation,
            },
        );
        let grid = b.array(Type::Byte, &[n, square]);
        let at = b.get(
            Type::Int,
            Op::Index {
                array: grid,
                indices: vec![n, n],
            },
        );
        b.get(
            Type::Int,
            Op::Length {
                array: grid,
                dimension: 1,
            },
        );
        b.run(Op::NonNull(grid));
        let access = b.builder.access(AccessKind::Write);
        b.run(Op::Check {
            kind: AccessKind::Write,
            base: grid,
            first: Operand::Constant(0),
            count: Operand::Value(at),
            stride: Operand::Constant(2),
            access,
        });
        let byte = b.get(Type::Byte, Op::Convert(n, Type::Byte));
        b.store(grid, Operand::Value(at), byte);
        b.begin(FinishKind::SyncScope);
        b.begin(FinishKind::Lexical);
        b.create(TaskKind::Async, Construct::Forall, body, &[n]);
        b.end(FinishKind::Lexical);
        b.async_(body, &[n]);
        b.spawn(spawned, &[]);
        b.sync();
        b.end(FinishKind::SyncScope);
        b.begin(FinishKind::Dynamic);
        b.end(FinishKind::Dynamic);
        b.constant(Const::Null);
        let (then, _) = b.block(&[]);
        let (join, parameters) = b.block(&[Type::Int, Type::Int]);
        let condition = b.compare(CompareOp::LessEqual, n, square);
        let negative = b.get(Type::Int, Op::Unary(UnaryOp::Negate, n));
        b.terminate(Terminator::Branch {
            condition,
            then: builder::target(then, &[]),
            otherwise: builder::target(join, &[n, negative]),
        });
        b.switch(then);
        let message = vec![PrintPart::Text("n \"is\"".into()), PrintPart::Value(n)];
        b.run(Op::Assert { condition, message });
        b.jump(join, &[square, n]);
        b.switch(join);
        b.print(parameters[1]);
        b.run(Op::CallRoom(vec![square_of, spawned]));
    });
    module.unchecked.insert(
        finishline_model::AccessId(0),
        Unchecked {
            by: Passes::NONE.with(Pass::TaskLocal).with(Pass::ReadOnly),
            read_ahead: true,
        },
    );
    finishline_ir::verify::verify(&module).unwrap();
    assert_eq!(module.to_string(), include_str!("every_instruction.ir"));
    let alone = module.functions[0].to_string();
    assert_eq!(
        alone,
        "f0(p0: int) -> int {\nbb0(v0: int):\n  v1: int = multiply v0, v0\n  return v1\n}\n"
    );
}
