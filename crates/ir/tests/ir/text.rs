//! The text form: printed and read, once with everything in it; and texts that are refused.

use crate::builder::Builder;
use finishline_generate::campaign::setting;
use finishline_generate::mutate::mutate;
use finishline_generate::rng::Rng;
use finishline_ir::text::read;
use finishline_ir::verify::verify;
use finishline_ir::*;
use finishline_model::source::Site;
use finishline_model::{AccessKind, FinishKind, Pass, Passes, TaskKind};

const EVERY_INSTRUCTION: &str = include_str!("every_instruction.ir");

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
            then: crate::builder::target(then, &[]),
            otherwise: crate::builder::target(join, &[n, negative]),
        });
        b.switch(then);
        let message = vec![PrintPart::Text("n \"is\"".into()), PrintPart::Value(n)];
        b.run(Op::Assert { condition, message });
        b.jump(join, &[square, n]);
        b.switch(join);
        b.print(parameters[1]);
        b.run(Op::CallRoom(vec![square_of, spawned]));
        b.get(
            Type::Int,
            Op::SizeOrZero {
                array: grid,
                dimension: 0,
            },
        );
    });
    module.unchecked.insert(
        finishline_model::AccessId(0),
        Unchecked {
            by: Passes::NONE.with(Pass::TaskLocal).with(Pass::ReadOnly),
            read_ahead: true,
        },
    );
    verify(&module).unwrap();
    assert_eq!(module.to_string(), EVERY_INSTRUCTION);
    let alone = module.functions[0].to_string();
    assert_eq!(
        alone,
        "f0(p0: int) -> int {\nbb0(v0: int):\n  v1: int = multiply v0, v0\n  return v1\n}\n"
    );
}

#[test]
fn every_instruction_is_read() {
    let module = read(EVERY_INSTRUCTION).unwrap();
    assert_eq!(verify(&module), Ok(()));
    assert_eq!(module.to_string(), EVERY_INSTRUCTION);
    let main = module.function(module.main);
    let assert = &main.block(BlockId(1)).instructions[0];
    assert_eq!(module.source.position(assert.site), ":46:1");
    let message = vec![
        PrintPart::Text("n \"is\"".into()),
        PrintPart::Value(Value(0)),
    ];
    let condition = Value(12);
    assert_eq!(assert.op, Op::Assert { condition, message });
    assert_eq!(module.source.accesses.len(), 4);
    assert_eq!(module.source.accesses[1].kind, AccessKind::Write);
    assert_eq!(module.source.accesses[1].function, "f1");
    assert_eq!(module.source.allocations.len(), 3);
}

/// `main` with these instructions.
fn main_with(instructions: &str) -> String {
    format!("main fn0\nfn0 main() {{\nbb0:\n{instructions}\nreturn\n}}\n")
}

#[test]
fn a_line_without_a_place_is_its_own_place() {
    let module = read(&main_with(
        "// A comment.\n\n  print \"// no comment\" // 7:3\n  print",
    ));
    let module = module.unwrap();
    let instructions = &module.function(module.main).blocks[0].instructions;
    let place = |index: usize| {
        let Site { line, column, .. } = *module.source.site(instructions[index].site);
        (line, column)
    };
    assert_eq!((place(0), place(1)), ((7, 3), (7, 1)));
}

#[test]
fn constants_are_read_as_they_are_printed() {
    let constants = [
        ("int", "-9223372036854775808", Const::Int(i64::MIN)),
        ("float", "0.1", Const::Float(0.1)),
        ("float", "-0.0", Const::Float(-0.0)),
        ("float", "1e300", Const::Float(1e300)),
        ("float", "5e-324", Const::Float(f64::from_bits(1))),
        ("float", "-inf", Const::Float(f64::NEG_INFINITY)),
        ("bool", "true", Const::Bool(true)),
        ("byte", "255", Const::Byte(255)),
        ("ref", "null", Const::Null),
    ];
    for (ty, text, constant) in constants {
        let line = format!("  v0: {ty} = const {text}");
        let module = read(&main_with(&line)).unwrap();
        let instruction = &module.functions[0].blocks[0].instructions[0];
        assert_eq!(instruction.op, Op::Const(constant));
        assert_eq!(format!("  v0: {ty} = {}", instruction.op), line);
    }
    let nan = read(&main_with("v0: float = const NaN")).unwrap();
    let Op::Const(Const::Float(nan)) = nan.functions[0].blocks[0].instructions[0].op else {
        panic!("no float");
    };
    assert!(nan.is_nan());
}

#[test]
fn strings_are_read_as_they_are_printed() {
    for text in [
        "",
        "a // b",
        "\"\\\n\r\t\0",
        "\u{1b}[0m é \u{200b}\u{301}",
        "'",
    ] {
        let line = format!("print {text:?}");
        let module = read(&main_with(&line)).unwrap();
        let instruction = &module.functions[0].blocks[0].instructions[0];
        assert_eq!(
            instruction.op,
            Op::Print(vec![PrintPart::Text(text.into())])
        );
        assert_eq!(instruction.op.to_string(), line);
    }
}

/// The frame is printed only if it is not the number of values.
#[test]
fn a_frame_of_another_size_is_kept() {
    let text = |frame| format!("main fn0\nfn0 f(){frame} {{\nbb0:\nv2: int = const 1\nreturn\n}}");
    let [usual, small] = ["", " frame 2"].map(|frame| read(&text(frame)).unwrap());
    assert_eq!((usual.functions[0].frame, small.functions[0].frame), (3, 2));
    assert!(!usual.to_string().contains("frame"));
    assert!(small.to_string().contains("fn0 f() frame 2 {"));
}

#[test]
fn a_wrong_text_is_refused_where_it_is_wrong() {
    let head = "main fn0\nfn0 main() {\nbb0:\n";
    for (text, expected) in [
        ("", "1:1: the text has no line `main`"),
        ("main fn0\nmain fn0", "2:1: there is a second `main`"),
        ("main 3", "1:6: expected `fn` and a number, found `3`"),
        ("fn1 f() {", "1:1: expected fn0, found fn1"),
        ("struct0 S { x int }", "1:15: expected `:`, found `int`"),
        (
            "struct0 S { x: int",
            "1:19: expected `,` or `}`, found the end of the line",
        ),
        ("global 0 g: int = 0.5", "1:19: expected an int, found `0`"),
        (
            "uses threads",
            "1:6: expected a parallel construct, found `threads`",
        ),
        ("unchecked acc0: luck", "1:17: `luck` is no reason"),
        (
            "fn0 f(a: int) {\nbb0:\nreturn\n}",
            "1:5: the parameters are not those of bb0",
        ),
        (
            "fn0 f() {\nbb0:\n  sync",
            "2:5: the block has no `jump`, `branch` or `return`",
        ),
        ("fn0 f() {", "1:10: the function has no end"),
        (
            &format!("{head}  v0: int = plus v1, v2"),
            "4:13: expected an instruction, found `plus`",
        ),
        (
            &format!("{head}  v0: int = add v1"),
            "4:19: expected `,`, found the end of the line",
        ),
        (
            &format!("{head}  v0: int = add v1, v2 v3"),
            "4:24: expected the end of the line, found `v3`",
        ),
        (
            &format!("{head}  v0 = globals"),
            "4:6: expected `:`, found `=`",
        ),
        (
            &format!("{head}  const 1"),
            "4:3: the type of a constant is that of its result",
        ),
        (
            &format!("{head}  v0: byte = const 256"),
            "4:20: expected a byte, found `256`",
        ),
        (
            &format!("{head}  print \"abc"),
            "4:13: the string has no end",
        ),
        (
            &format!("{head}  print \"\\q\""),
            "4:11: no character is written like this",
        ),
        (
            &format!("{head}  sync // here"),
            "4:11: expected a line of the source, found `here`",
        ),
        (
            &format!("{head}  v0: int = const 1\n  v0: int = const 1"),
            "5:3: v0 is defined twice",
        ),
        (
            &format!("{head}  v1048576: int = const 1"),
            "4:3: the largest number is 1048575",
        ),
        (
            &format!("{head}  load v0 + 0, acc4294967295"),
            "4:3: the largest number is 1048575",
        ),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert_eq!(error, expected, "{text}");
    }
}

/// The text with another number in one place: a value, a block, a function, a place in the source.
/// Most of these texts can be read, and many are modules that the verifier must refuse.
fn renumbered(text: &str, seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let is_first = |&at: &usize| {
        let digit = |at: usize| text.as_bytes()[at].is_ascii_digit();
        digit(at) && (at == 0 || !digit(at - 1))
    };
    let numbers: Vec<usize> = (0..text.len()).filter(is_first).collect();
    let (before, number) = text.split_at(numbers[rng.index(numbers.len())]);
    let after = number.trim_start_matches(|it: char| it.is_ascii_digit());
    format!("{before}{}{after}", rng.below(16))
}

/// A damaged text is refused at a place that exists, or it is the text of a module. The verifier
/// has an answer for each of these modules.
#[test]
fn damaged_texts_are_survived() {
    let (mut refused, mut wrong, mut right) = (0, 0, 0);
    let (first, count) = (
        setting("FINISHLINE_SEED", 1),
        setting("FINISHLINE_SEEDS", 5_000),
    );
    for seed in first..first + count {
        let text = match seed.is_multiple_of(2) {
            true => renumbered(EVERY_INSTRUCTION, seed),
            false => {
                let damaged = mutate(EVERY_INSTRUCTION.as_bytes(), seed);
                String::from_utf8_lossy(&damaged).into_owned()
            }
        };
        match read(&text) {
            Err(error) => {
                refused += 1;
                let line = text.lines().nth(error.line as usize - 1).unwrap_or("");
                let width = line.chars().count();
                assert!(error.column as usize <= width + 1, "seed {seed}: {error}");
            }
            Ok(module) => {
                let printed = module.to_string();
                let again = read(&printed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                assert_eq!(again.to_string(), printed, "seed {seed}");
                match verify(&module) {
                    Ok(()) => right += 1,
                    Err(_) => wrong += 1,
                }
            }
        }
    }
    let varied = refused > count / 4 && wrong > count / 10 && right > count / 10;
    assert!(
        count < 1000 || varied,
        "{refused} {wrong} {right} of {count}"
    );
}
