//! What the passes are for: the loops of the usual kernels, as they come out. Each kernel has one
//! loop that is copied for speed; in it there must be nothing left but the work itself.

use crate::common::{compile, same};
use finishline_ir::dominators::Dominators;
use finishline_ir::loops::Loops;
use finishline_ir::machine::Limits;
use finishline_ir::{BinaryOp, Function, Instruction, Module, Op, Operand, Type};
use finishline_model::{Pass, Passes};
use finishline_opt::for_speed;

/// The instructions of each innermost loop of a function.
fn innermost_loops(function: &Function) -> Vec<Vec<&Instruction>> {
    let loops = Loops::of(function, &Dominators::of(function));
    let innermost = loops.iter().filter(|(_, this)| this.height == 0);
    innermost
        .map(|(_, this)| {
            let blocks = this.blocks.iter().map(|block| function.block(*block));
            blocks.flat_map(|block| &block.instructions).collect()
        })
        .collect()
}

fn is_bounds_or_null_check(op: &Op) -> bool {
    matches!(
        op,
        Op::Index { .. } | Op::NonNull(_) | Op::Length { .. } | Op::RangeCount { .. }
    )
}

fn is_int_multiply(function: &Function, op: &Op) -> bool {
    matches!(op, Op::Binary(BinaryOp::Multiply, a, _) if function.ty(*a) == Type::Int)
}

/// The loops of a program that have race checks and neither bounds checks nor multiplications of
/// ints.
fn lean_loops(module: &Module) -> Vec<Vec<&Instruction>> {
    let mut found = Vec::new();
    for function in &module.functions {
        for instructions in innermost_loops(function) {
            let lean = |i: &&Instruction| {
                !is_bounds_or_null_check(&i.op) && !is_int_multiply(function, &i.op)
            };
            let has_check = |i: &&Instruction| matches!(i.op, Op::Check { .. });
            if instructions.iter().all(lean) && instructions.iter().any(has_check) {
                found.push(instructions);
            }
        }
    }
    found
}

/// Speeds a program up, which must not show in its run.
#[track_caller]
fn sped_up(source: &str) -> Module {
    let module = compile(source);
    let fast = for_speed(&module, Passes::NONE);
    let runs = same(&module, &fast, &[], Limits::default(), 10_000_000);
    let (before, after) = runs.unwrap().expect("the program ends");
    assert_eq!(before.end, Some(Ok(())));
    assert!(after.steps < before.steps);
    fast
}

#[track_caller]
fn lean_loop(source: &str, instructions: usize) {
    let fast = sped_up(source);
    let sizes: Vec<usize> = lean_loops(&fast).iter().map(Vec::len).collect();
    assert!(
        sizes.contains(&instructions),
        "lean loops of {sizes:?} instructions\n{fast}"
    );
}

#[test]
fn matrix_product() {
    // Two loads with their checks, the product and the sum, a count and two offsets, the test.
    lean_loop(
        "fn main() {
            let n = 12;
            let a = new float[n, n]; let b = new float[n, n]; let c = new float[n, n];
            forall i in 0..n {
                for j in 0..n {
                    var sum = 0.0;
                    for k in 0..n { sum += a[i, k] * b[k, j]; }
                    c[i, j] = sum;
                }
            }
        }",
        10,
    );
}

#[test]
fn successive_over_relaxation() {
    // Six accesses with their checks, six operations on floats, three rows' offsets and two
    // neighbours', of which one is where the row goes next, a count, the test.
    lean_loop(
        "fn main() {
            let n = 12;
            let G = new float[n, n];
            forall i in 1..n - 1 {
                for j in 1..n - 1 step 2 {
                    G[i, j] = 0.3 * (G[i - 1, j] + G[i + 1, j] + G[i, j - 1] + G[i, j + 1]) + -0.25 * G[i, j];
                }
            }
        }",
        24,
    );
}

#[test]
fn row_update_of_a_factorisation() {
    // Three accesses with their checks, the product and the sum, a count and two offsets, the test.
    lean_loop(
        "fn main() {
            let n = 12;
            let a = new float[n, n];
            for i in 0..n { for j in 0..n { a[i, j] = float(i * j % 7 + 1); } }
            for k in 0..n - 1 {
                forall j in k + 1..n {
                    let t = a[j, k] / a[k, k];
                    for i in k + 1..n { a[j, i] += t * a[k, i]; }
                }
            }
        }",
        12,
    );
}

#[test]
fn fields_and_arrays_in_fields_are_read_once() {
    let fast = sped_up(
        "struct System { x: float[], y: float[], scale: float, n: int }
        fn move_all(s: System) { for i in 0..s.n { s.x[i] += s.scale * s.y[i]; } }
        fn main() {
            let s = new System();
            s.n = 20; s.scale = 2.0;
            s.x = new float[20]; s.y = new float[20];
            finish async move_all(s);
        }",
    );
    let without_fields = |instructions: &&Vec<&Instruction>| {
        let is_field = |i: &&Instruction| {
            matches!(
                i.op,
                Op::Load {
                    offset: Operand::Constant(_),
                    ..
                }
            )
        };
        !instructions.iter().any(is_field)
    };
    // Their checks are still told.
    let loops = lean_loops(&fast);
    let checks: Vec<usize> = loops
        .iter()
        .filter(without_fields)
        .map(|l| {
            l.iter()
                .filter(|i| matches!(i.op, Op::Check { .. }))
                .count()
        })
        .collect();
    assert!(checks.contains(&6), "{checks:?}\n{fast}");
}

#[test]
fn while_loops_with_a_bound() {
    // A load with its check, the sum, the counter, the test.
    lean_loop(
        "fn main() {
            let a = new int[50];
            var i = 0;
            var sum = 0;
            while i < len(a) { sum += a[i]; i += 1; }
            print(sum);
        }",
        5,
    );
}

#[test]
fn small_functions_are_inlined_with_their_room() {
    let fast = sped_up(
        "fn square(x: int): int { return x * x; }
        fn cube(x: int): int { return square(x) * x; }
        fn main() { var sum = 0; for i in 0..10 { sum += cube(i); } print(sum); }",
    );
    let main = fast.function(fast.main);
    let ops = || {
        main.blocks
            .iter()
            .flat_map(|b| &b.instructions)
            .map(|i| &i.op)
    };
    assert!(!ops().any(|op| matches!(op, Op::Call { .. })), "{main}");
    let rooms: Vec<usize> = ops()
        .filter_map(|op| match op {
            Op::CallRoom(nested) => Some(nested.len()),
            _ => None,
        })
        .collect();
    assert_eq!(rooms, [1, 2], "{main}");
}

#[test]
fn a_loop_before_and_after() {
    let module = compile(
        "fn fill(a: int[], n: int) { for i in 0..n { a[i] = i; } }
        fn main() { fill(new int[5], 5); }",
    );
    let fast = for_speed(&module, Passes::NONE);
    let text = format!("{}\n{}", module.functions[0], fast.functions[0]);
    assert_eq!(text, include_str!("a_loop.ir"), "\n{text}");
}

/// The checks of ranges alone are left of these loops, behind them or in front of them.
#[test]
fn the_checks_of_merges_filters_and_loops_with_calls_leave_them() {
    let kernels = [
        // A merge goes on with one of two indices.
        "var p = 0; var q = n / 2; var k = 0;
         while p < n / 2 && q < n {
             if a[q] < a[p] { b[k] = a[q]; q += 1; } else { b[k] = a[p]; p += 1; }
             k += 1;
         }",
        // A filter goes on with an index when it keeps something.
        "var k = 0; for i in 0..n { if i % 3 == 1 { b[k] = i; k += 1; } }",
        // The array is a field of an object, and a call that stays changes other things.
        "for i in 0..n { box.a[i] = turn(box, i); }",
    ];
    for kernel in kernels {
        let source = format!(
            "struct Box {{ a: int[], v: int }}
fn turn(box: Box, x: int): int {{ var y = x; for r in 0..3 {{ y = -y; }} box.v = y; return y; }}
fn work(a: int[], b: int[], box: Box, n: int) {{ {kernel} }}
fn main() {{
    let box = new Box();
    box.a = new int[8];
    finish async work(new int[8], new int[8], box, 8);
}}"
        );
        let module = for_speed(&compile(&source), [Pass::Ranges].into_iter().collect());
        let named = |function: &&Function| function.name == "work";
        let work = module.functions.iter().find(named).expect("it is there");
        let is_range = |op: &Op| {
            matches!(
                op,
                Op::Check {
                    count: Operand::Value(_),
                    ..
                }
            )
        };
        let of_elements = |op: &Op| {
            matches!(
                op,
                Op::Check {
                    first: Operand::Value(_),
                    count: Operand::Constant(1),
                    ..
                }
            )
        };
        let all = work.blocks.iter().flat_map(|block| &block.instructions);
        assert!(all.clone().any(|i| is_range(&i.op)), "{kernel}");
        let mut without = innermost_loops(work).into_iter().filter(|instructions| {
            let stores = |i: &&Instruction| matches!(i.op, Op::Store { .. });
            let checks = |i: &&Instruction| of_elements(&i.op);
            instructions.iter().any(stores) && !instructions.iter().any(checks)
        });
        assert!(without.next().is_some(), "{kernel}\n{work}");
    }
}
