//! The output of programs against `docs/language.md`. Expected outputs are worked out by hand.

use crate::common::compile;
use finishline_engine::depth_first::{self, End, Program};
use finishline_ir::machine::Limits;
use std::sync::atomic::AtomicU64;

/// Runs a program and gives what it printed, and the word of its failure if it failed.
fn outcome(source: &str) -> (String, Option<&'static str>) {
    let module = compile(source).unwrap_or_else(|errors| panic!("{errors}\n{source}"));
    let mut printed = Vec::new();
    let program = Program {
        module: &module,
        arguments: &[],
        limits: Limits::default(),
    };
    let progress = AtomicU64::new(0);
    let outcome = depth_first::run(program, &mut (), &mut printed, &progress);
    let failed = match outcome.result {
        End::Finished => None,
        End::Trapped(trap) => Some(trap.kind.word()),
        other => panic!("{other:?}\n{source}"),
    };
    (String::from_utf8(printed).expect("text"), failed)
}

/// The lines that statements in `main` print, after these items.
fn prints(items: &str, statements: &str, expected: &[&str]) {
    let source = format!("{items}\nfn main() {{ {statements} }}\n");
    let (printed, failed) = outcome(&source);
    assert_eq!(failed, None, "{source}");
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected, "{source}");
}

fn fails(items: &str, statements: &str, word: &str) {
    let source = format!("{items}\nfn main() {{ {statements} }}\n");
    assert_eq!(outcome(&source).1, Some(word), "{source}");
}

/// Expressions in one `print` each.
fn values(cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        prints("", &format!("print({expression});"), &[expected]);
    }
}

#[test]
fn integers_wrap_and_divide_towards_zero() {
    values(&[
        ("9223372036854775807 + 1", "-9223372036854775808"),
        ("-9223372036854775808 - 1", "9223372036854775807"),
        ("4611686018427387904 * 2", "-9223372036854775808"),
        ("-7 / 2", "-3"),
        ("-7 % 2", "-1"),
        ("7 % -2", "1"),
        ("1 << 65", "2"),
        ("-8 >> 1", "-4"),
        ("-8 >>> 60", "15"),
        ("~0", "-1"),
        ("6 & 3 | 8 ^ 1", "11"),
        ("abs(-5) + min(2, 3) * max(2, 3)", "11"),
        ("0xff + 0b101 + 1_000", "1260"),
    ]);
    fails("", "let z = 0; print(1 / z);", "division-by-zero");
    fails("", "let z = 0; print(1 % z);", "division-by-zero");
    fails(
        "",
        "let m = -1; print(-9223372036854775808 / m);",
        "division-overflow",
    );
    fails(
        "",
        "let m = -1; print(-9223372036854775808 % m);",
        "division-overflow",
    );
}

#[test]
fn bytes_floats_and_conversions() {
    values(&[
        ("byte(300)", "44"),
        ("byte(-1)", "255"),
        ("'a'", "97"),
        ("int('a' + 'b')", "195"),
        ("'\\xff' + '\\x02'", "1"),
        ("~'\\x0f'", "240"),
        ("int(2.9)", "2"),
        ("int(-2.9)", "-2"),
        ("int(1e300)", "9223372036854775807"),
        ("byte(300.0)", "255"),
        ("int(0.0 / 0.0)", "0"),
        ("float(1) / 4.0", "0.25"),
        ("7.5 % 2.0", "1.5"),
        ("int(true) + int(false)", "1"),
        ("sqrt(16.0) + pow(2.0, 3.0)", "12.0"),
        ("floor(-1.5)", "-2.0"),
        ("1.0 / 0.0", "inf"),
        ("0.0 / 0.0 == 0.0 / 0.0", "false"),
    ]);
}

#[test]
fn operators_bind_as_the_table_says() {
    values(&[
        ("1 + 2 * 3", "7"),
        ("1 << 2 + 1", "8"),
        ("3 & 1 == 1", "true"),
        ("true || false && false", "true"),
        ("10 - 3 - 2", "5"),
        ("true ? 1 : false ? 2 : 3", "1"),
        ("-2 * -3", "6"),
        ("!true == false", "true"),
    ]);
}

#[test]
fn evaluation_is_from_left_to_right() {
    let items = "fn say(n: int): int { print(n); return n; }\nfn yes(n: int): bool { print(n); return true; }\n\
                 var a: int[];\nfn array(): int[] { print(0); return a; }";
    prints(
        items,
        "print(say(1) + say(2) * say(3));",
        &["1", "2", "3", "7"],
    );
    prints(
        items,
        "if yes(1) || yes(2) { } if !yes(3) && yes(4) { }",
        &["1", "3"],
    );
    prints(
        items,
        "a = new int[3]; array()[say(1)] = say(2);",
        &["0", "1", "2"],
    );
    // The element is read before the right side is evaluated.
    let update = "fn bump(): int { a[0] = 10; return 1; }";
    prints(
        &format!("{items}\n{update}"),
        "a = new int[1]; a[0] += bump(); print(a[0]);",
        &["1"],
    );
    // The right side comes before the bounds check.
    fails(
        items,
        "a = new int[1]; a[5] = say(7) / (a[0] - a[0]);",
        "division-by-zero",
    );
}

#[test]
fn ranges_count_as_they_say() {
    let count = |range: &str| format!("for i in {range} {{ print(i); }}");
    let cases: &[(&str, &[&str])] = &[
        ("0..3", &["0", "1", "2"]),
        ("1..=3", &["1", "2", "3"]),
        ("3..0", &[]),
        ("0..7 step 3", &["0", "3", "6"]),
        ("3..0 step -1", &["3", "2", "1"]),
        ("3..=0 step -2", &["3", "1"]),
        (
            "9223372036854775806..=9223372036854775807",
            &["9223372036854775806", "9223372036854775807"],
        ),
        (
            "9223372036854775800..9223372036854775807 step 5",
            &["9223372036854775800", "9223372036854775805"],
        ),
        (
            "-9223372036854775807..-9223372036854775808 step -1",
            &["-9223372036854775807"],
        ),
    ];
    for (range, expected) in cases {
        prints("", &count(range), expected);
    }
    // Bounds are evaluated once; the counter is new in every iteration.
    prints(
        "",
        "var n = 3; for i in 0..n { n = 0; print(i); }",
        &["0", "1", "2"],
    );
    fails("", "var s = 0; for i in 0..3 step s { }", "zero-step");
}

#[test]
fn loops_and_variables() {
    prints(
        "",
        "var x = 0; while x < 10 { x += 1; if x == 2 { continue; } if x > 3 { break; } print(x); }",
        &["1", "3"],
    );
    prints(
        "",
        "var x = 1; if x == 1 { var x = 5; x += 1; print(x); } print(x);",
        &["6", "1"],
    );
    prints(
        "",
        "var a = 1; var b = 2; for i in 0..3 { let t = a; a = b; b = t; } print(a, b);",
        &["2 1"],
    );
    prints(
        "",
        "var x: int; var p: bool; var f: float; print(x, p, f);",
        &["0 false 0.0"],
    );
    prints(
        "fn f(n: int): int { while true { if n > 2 { return n; } else { return -n; } } }",
        "print(f(1), f(3));",
        &["-1 3"],
    );
    prints(
        "",
        "var s = 0; for i in 0..4 { for j in 0..4 { if j > i { break; } s += 10 * i + j; } } print(s);",
        &["210"],
    );
}

#[test]
fn functions_structs_and_arrays() {
    let fib = "fn fib(n: int): int { if n < 2 { return n; } return fib(n - 1) + fib(n - 2); }";
    prints(fib, "print(fib(15));", &["610"]);
    let node = "struct Node { value: int, next: Node }";
    prints(
        node,
        "let a = new Node(); let b = new Node(); a.next = b; b.value = 7; print(a.next.value, b.next == null, a == b, a.next == b);",
        &["7 true false true"],
    );
    prints(
        "",
        "let m = new int[2, 3]; m[1, 2] = 5; print(len(m), len(m, 1), m[1, 2], m[0, 0]);",
        &["2 3 5 0"],
    );
    prints(
        "",
        "let a = new int[2][]; a[0] = new int[3]; print(len(a[0]), a[1] == null);",
        &["3 true"],
    );
    prints(
        "var g: int = -4;\nlet c = 2.5;\nvar on = true;",
        "g *= 3; print(g, c, on);",
        &["-12 2.5 true"],
    );
    fails(node, "let a = new Node(); print(a.next.value);", "null-use");
    fails("", "let a: int[] = null; print(len(a));", "null-use");
    fails("", "let a = new int[2]; print(a[2]);", "out-of-bounds");
    fails(
        "",
        "let m = new int[2, 2]; print(m[0, -1]);",
        "out-of-bounds",
    );
    fails("", "var n = -1; let a = new int[n];", "negative-size");
    fails(
        "fn f(n: int): int { return f(n + 1); }",
        "print(f(0));",
        "call-depth",
    );
    fails("", "assert(1 > 2, \"one is\", 1);", "assert-failed");
}

/// Depth-first, a task runs where it is created; what it captured is from then.
#[test]
fn tasks_run_depth_first() {
    prints(
        "",
        "finish { for i in 0..2 { async { print(i); async print(i + 10); } print(-1); } }",
        &["0", "10", "-1", "1", "11", "-1"],
    );
    prints(
        "",
        "var x = 1; let y = x; x = 2; finish async print(y, 3); print(x);",
        &["1 3", "2"],
    );
    prints(
        "",
        "forall i in 0..=4 step 2 { print(i); }",
        &["0", "2", "4"],
    );
    let fib = "struct Cell { v: int }\n\
               fn fib(n: int): int { if n < 2 { return n; } let a = new Cell(); let b = new Cell(); \
               a.v = spawn fib(n - 1); b.v = spawn fib(n - 2); sync; return a.v + b.v; }";
    prints(fib, "print(fib(10));", &["55"]);
    prints(
        "var t: int;",
        "finish { async isolated { t += 1; } isolated t += 2; } print(t);",
        &["3"],
    );
    let early = "var n: int;\nfn take(k: int): int { isolated { n += 1; if n > k { return n; } } return 0; }";
    prints(
        early,
        "print(take(1), take(1)); for i in 0..3 { isolated { if i == 1 { break; } n += 10; } } print(n);",
        &["0 2", "12"],
    );
    let across = "var x: int;\nfn open() { begin_finish; }\nfn close() { end_finish; }";
    prints(across, "open(); async x = 4; close(); print(x);", &["4"]);
    fails("", "end_finish;", "end-finish-without-begin");
    fails("", "finish { begin_finish; }", "begin-finish-never-ended");
    fails(
        "fn f() { }",
        "spawn f(); begin_finish; sync; end_finish;",
        "sync-inside-begin-finish",
    );
}
