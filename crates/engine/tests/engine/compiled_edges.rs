//! Compiled code against the reference interpreter, at the edges.
//!
//! These are operators at the ends of their types, ranges at the ends of the ints, budgets that are
//! just enough and just not, and output that fails. Values reach an operator as arguments of `main`
//! or through memory, so that no compiler knows them. Where code depends on that, literals are
//! tried too.

use crate::common::comparison::{agrees, compiled, interpret};
use crate::common::compile;
use finishline_ir::machine::{Datum, Limits, TrapKind};
use finishline_jit::End;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicU64, Ordering};

const INTS: [i64; 16] = [
    i64::MIN,
    i64::MIN + 1,
    -(1 << 32) - 1,
    -256,
    -64,
    -7,
    -1,
    0,
    1,
    2,
    7,
    63,
    64,
    65,
    1 << 62,
    i64::MAX,
];

const FLOATS: [f64; 18] = [
    f64::NEG_INFINITY,
    -1e300,
    -9.3e18,
    -2.5,
    -1.0,
    -0.5,
    -0.0,
    0.0,
    0.5,
    1.0,
    2.5,
    254.9,
    255.5,
    256.0,
    9.3e18,
    1e300,
    f64::INFINITY,
    f64::NAN,
];

/// Each division may fail, so each pair of these is a run of its own.
const DIVIDED: [i64; 8] = [i64::MIN, i64::MIN + 1, -7, -1, 0, 1, 2, i64::MAX];

const BYTES: [u8; 8] = [0, 1, 2, 7, 127, 128, 200, 255];

fn same(source: &str, arguments: &[Datum]) {
    let module = compile(source).unwrap_or_else(|errors| panic!("{errors}\n{source}"));
    match agrees(&module, arguments, Limits::default()) {
        Ok(compared) => assert!(compared, "it goes on for too long\n{source}"),
        Err(why) => panic!("{arguments:?}: {why}\n{source}"),
    }
}

/// Prints expressions over `a` and `b`, for all pairs of these values.
fn for_all_pairs(ty: &str, values: &[String], expressions: &[&str]) {
    let count = values.len();
    let stores = values.iter().enumerate();
    let stores: String = stores
        .map(|(index, value)| format!("all[{index}] = {value}; "))
        .collect();
    let prints: String = expressions
        .iter()
        .map(|expression| format!("print({expression}); "))
        .collect();
    same(
        &format!(
            "fn main() {{
                let all = new {ty}[{count}];
                {stores}
                for i in 0..{count} {{ for j in 0..{count} {{ let a = all[i]; let b = all[j]; {prints} }} }}
            }}"
        ),
        &[],
    );
}

const COMPARISONS: [&str; 2] = [
    "a == b, a != b, a < b, a <= b, a > b, a >= b",
    "a == b ? 1 : 0, a != b ? 1 : 0, a < b ? 1 : 0, a <= b ? 1 : 0, a > b ? 1 : 0, a >= b ? 1 : 0",
];

#[test]
fn operators_on_ints() {
    let values = INTS.map(|value| value.to_string());
    let own = [
        "a + b, a - b, a * b, a & b, a | b, a ^ b",
        "a << b, a >> b, a >>> b",
        "-a, ~a, abs(a), min(a, b), max(a, b)",
        "float(a), byte(a), int(a)",
    ];
    for_all_pairs("int", &values, &[&own[..], &COMPARISONS].concat());
}

#[test]
fn operators_on_floats() {
    let values = FLOATS.map(|value| match value {
        _ if value.is_nan() => "0.0 / 0.0".to_owned(),
        _ if value.is_infinite() => format!("{:.1} / 0.0", value.signum()),
        _ => format!("{value:?}"),
    });
    let own = [
        "a + b, a - b, a * b, a / b, a % b, -a",
        "abs(a), sqrt(a), floor(a), ceil(a), min(a, b), max(a, b)",
        "sin(a), cos(a), tan(a), asin(a), acos(a), atan(a)",
        "exp(a), log(a), pow(a, b), atan2(a, b)",
        "int(a), byte(a), float(a)",
    ];
    for_all_pairs("float", &values, &[&own[..], &COMPARISONS].concat());
}

#[test]
fn operators_on_bytes_and_bools() {
    let values = BYTES.map(|value| format!("'\\x{value:02x}'"));
    let own = [
        "a + b, a - b, a * b, a & b, a | b, a ^ b, -a, ~a",
        "int(a), float(a), byte(a)",
    ];
    for_all_pairs("byte", &values, &[&own[..], &COMPARISONS].concat());
    let values = [false, true].map(|value| value.to_string());
    let own = ["a & b, a | b, a ^ b, !a, int(a), a == b, a != b, !a ? 1 : 0"];
    for_all_pairs("bool", &values, &own);
}

#[test]
fn divisions() {
    for operator in ["/", "%"] {
        for (ty, pairs) in [
            ("int", pairs(&DIVIDED, Datum::Int)),
            ("byte", pairs(&BYTES, Datum::Byte)),
        ] {
            let source = format!("fn main(a: {ty}, b: {ty}) {{ print(a {operator} b); }}");
            let module = compile(&source).expect("a program");
            for arguments in pairs {
                let agreed = agrees(&module, &arguments, Limits::default());
                assert_eq!(agreed, Ok(true), "{arguments:?}: {source}");
            }
        }
        for divisor in ["0", "1", "-1", "2", "-9223372036854775808"] {
            for a in [i64::MIN, -7, 0, 7] {
                let source = format!("fn main(a: int) {{ print(a {operator} {divisor}); }}");
                same(&source, &[Datum::Int(a)]);
            }
        }
        for divisor in ["'\\x00'", "'\\x01'", "'\\xff'"] {
            for a in [0, 128, 255] {
                let source = format!("fn main(a: byte) {{ print(a {operator} {divisor}); }}");
                same(&source, &[Datum::Byte(a)]);
            }
        }
    }
}

fn pairs<T: Copy>(values: &[T], datum: fn(T) -> Datum) -> Vec<[Datum; 2]> {
    let with = |a: &T| values.iter().map(|b| [datum(*a), datum(*b)]).collect();
    values.iter().flat_map(|a| -> Vec<_> { with(a) }).collect()
}

#[test]
fn ranges_at_the_ends_of_the_ints() {
    let bounds = [i64::MIN, i64::MIN + 1, -1, 0, 1, 3, i64::MAX - 1, i64::MAX];
    for dots in ["..", "..="] {
        let a_few = |range: &str, parameters: &str, step: &str| {
            format!(
                "fn main({parameters}) {{
                    {step}
                    var n = 0;
                    for i in {range} {{ print(i); n += 1; if n == 4 {{ break; }} }}
                }}"
            )
        };
        for step in ["1", "-1", "2", "-3", "0"] {
            let (range, step) = (format!("a{dots}b step s"), format!("let s = {step};"));
            let module = compile(&a_few(&range, "a: int, b: int", &step)).expect("a program");
            for arguments in pairs(&bounds, Datum::Int) {
                let agreed = agrees(&module, &arguments, Limits::default());
                assert_eq!(agreed, Ok(true), "{arguments:?}: {step} {range}");
            }
        }
        let source = a_few(&format!("a{dots}b step s"), "a: int, b: int, s: int", "");
        for [a, b] in pairs(&[i64::MIN, 0, i64::MAX], Datum::Int) {
            for step in [i64::MIN, -1, 0, 1, i64::MAX] {
                same(&source, &[a, b, Datum::Int(step)]);
            }
        }
    }
}

/// Each of them comes after accesses, of the function that fails and of those that wait for it.
#[test]
fn accesses_are_counted_up_to_the_failure() {
    let limits = Limits {
        tasks: 3,
        finishes: 3,
        call_depth: 3,
        ..Limits::default()
    };
    for failing in [
        "x = 1 / x;",
        "let a = new int[x - 1];",
        "let a = new int[x]; a[0] = 1;",
        "let a: int[] = null; a[0] = 1;",
        "let a: int[] = null; print(len(a));",
        "for i in 0..3 step x { }",
        "assert(x > 0, x);",
        "async { } x = 2; async { }",
        "finish { x = 2; finish { x = 3; finish { } } }",
        "begin_finish; begin_finish; x = 2; begin_finish;",
        "end_finish;",
        "end_finish; isolated { x = 1; }",
        "spawning(0);",
        "deeper(1);",
        "finish { x = 2; inner(); }",
    ] {
        let source = format!(
            "var x: int;
            fn nothing() {{ }}
            fn spawning(n: int) {{ x = 0; spawn nothing(); x = 0; begin_finish; x = 0; sync; }}
            fn deeper(n: int) {{ x = 0; deeper(n + 1); }}
            fn inner() {{ x = 0; x = 1 / x; }}
            fn fails() {{ x = 0; {failing} }}
            fn main() {{ async {{ x = 1; }} x = 0; x += 0; fails(); }}"
        );
        let module = compile(&source).unwrap_or_else(|errors| panic!("{errors}\n{source}"));
        let run = interpret(&module, &[], limits).expect("a short program");
        assert!(run.trap.is_some(), "{failing}");
        assert_eq!(agrees(&module, &[], limits), Ok(true), "{failing}");
    }
}

/// In a line, as what a task captures, and in the message of an assertion.
#[test]
fn values_of_every_type_are_shown() {
    let source = "
        struct Point { x: int }
        fn main(i: int, f: float, t: bool, b: byte) {
            let p = new Point();
            let none: Point = null;
            let a: int[] = null;
            print(i, f, t, b, p, none, a, \"and so on\");
            print();
            finish { async { print(i, f, t, b, p, none, a); } }
            assert(t, \"not\", i, f, t, b, p, none, a);
        }";
    for (int, float, bool, byte) in [(-1, -0.0, true, 200), (i64::MIN, f64::NAN, false, 0)] {
        let arguments = [
            Datum::Int(int),
            Datum::Float(float),
            Datum::Bool(bool),
            Datum::Byte(byte),
        ];
        same(source, &arguments);
    }
}

/// Whatever is done to it; and where it is not done, nothing of it is.
#[test]
fn null_fails_when_it_is_used_and_not_before() {
    let uses = [
        "sum += a[n];",
        "a[n] = 1;",
        "sum += m[n, 1];",
        "m[1, n] += 2;",
        "sum += len(a);",
        "sum += len(m, 1);",
        "sum += p.x;",
        "p.x = 1;",
        "p.next.x += 1;",
    ];
    for used in uses {
        for around in [
            format!("for i in 0..n {{ {used} }}"),
            format!("if n > 0 {{ {used} }}"),
            format!("var i = 0; while i < n {{ i += 1; for j in 0..n {{ {used} }} }}"),
            format!("let a = b; for i in 0..n {{ {used} }}"),
        ] {
            let source = format!(
                "struct Node {{ x: int, next: Node }}
                fn try_it(a: int[], m: int[,], p: Node, b: int[], n: int): int {{
                    var sum = 0;
                    {{ {around} }}
                    return sum;
                }}
                fn main(n: int) {{ print(try_it(null, null, null, new int[3], n)); }}"
            );
            for n in [0, 2] {
                same(&source, &[Datum::Int(n)]);
            }
        }
    }
}

/// A `begin_finish` left open, and an `end_finish` or `sync` in a wrong place, in every kind of
/// scope.
#[test]
fn joins_that_do_not_nest() {
    let items = "fn nothing() { } fn open() { begin_finish; } fn close() { end_finish; }
        fn spawning() { spawn nothing(); open(); }
        fn syncing() { spawn nothing(); open(); sync; }";
    let wrong = [
        "open();",
        "close();",
        "open(); open(); close();",
        "spawning();",
        "syncing();",
    ];
    for wrong in wrong {
        for around in [
            wrong.to_owned(),
            format!("finish {{ {wrong} }}"),
            format!("async {{ {wrong} }}"),
            format!("open(); {wrong} close();"),
            format!("open(); async {{ {wrong} }} close();"),
            format!("finish {{ open(); finish {{ {wrong} }} close(); }}"),
        ] {
            same(
                &format!("{items} fn main() {{ print(1); {around} print(2); }}"),
                &[],
            );
        }
    }
}

/// Gives a program what its last failure asked for, until nothing is missing: with each budget, and
/// with one byte less, compiled code fails as the interpreter does. How often that was.
fn failures_for_want_of_memory(source: &str) -> usize {
    let module = compile(source).expect("a program");
    let within = |memory: u64| Limits {
        memory,
        ..Limits::default()
    };
    let (mut memory, mut failures) = (0, 0);
    loop {
        for memory in [memory.max(1) - 1, memory] {
            let agreed = agrees(&module, &[], within(memory));
            assert_eq!(agreed, Ok(true), "with {memory} bytes");
        }
        let run = interpret(&module, &[], within(memory)).expect("a short program");
        match run.trap.map(|trap| trap.kind) {
            None => return failures,
            Some(TrapKind::Memory {
                request: Some(request),
                used,
                ..
            }) => memory = used + request,
            Some(other) => panic!("{other:?}"),
        }
        failures += 1;
    }
}

/// Calls, also of functions that are inlined into each other, tasks, and all kinds of finishes.
const NESTED: &str = "
    fn least(a: int, b: int): int { let c = a * 2; let d = b * c; return d + 1; }
    fn less(a: int): int { return least(a, 2) * 2; }
    fn leaf(a: int, b: float): int { let c = less(a) + 1; return c * int(b); }
    fn down(n: int, b: float): int {
        if n == 0 { return leaf(n, b); }
        finish { async { print(leaf(n, b)); } }
        begin_finish;
        async { finish { async { print(down(n - 1, b)); } } }
        end_finish;
        async { print(n); }
        return 1 + down(n - 1, b + 1.0);
    }
    fn spawning(n: int) {
        if n > 0 { spawn spawning(n - 1); sync; spawning(n - 1); }
        print(n);
    }
    fn main() { print(down(3, 0.5)); spawning(3); }";

#[test]
fn limits_are_exact() {
    let module = compile(NESTED).expect("a program");
    for limit in 1..40 {
        for limits in [
            Limits {
                call_depth: limit,
                ..Limits::default()
            },
            Limits {
                tasks: limit,
                ..Limits::default()
            },
            Limits {
                finishes: limit,
                ..Limits::default()
            },
        ] {
            assert_eq!(agrees(&module, &[], limits), Ok(true), "{limits:?}");
        }
    }
}

/// Of frames, tasks and finishes alone: of objects compiled code may take more to be reachable than
/// the interpreter does.
#[test]
fn budgets_are_exact() {
    let failures = failures_for_want_of_memory(NESTED);
    assert!(failures > 15, "only {failures} failures");
    // What stays of tasks leaves less for the second call than for the first.
    let locals: String = (0..20).map(|k| format!("let a{k} = n * n; ")).collect();
    let source = format!(
        "fn large(n: int): int {{ {locals} if n > 0 {{ return large(n - 1); }} return a19; }}
        fn main() {{
            print(large(0));
            for i in 0..50 {{ async {{ }} }}
            print(large(0));
        }}"
    );
    assert!(failures_for_want_of_memory(&source) > 2);
    // First there is no room for `main`, then none for its globals.
    let globals: String = (0..50).map(|n| format!("var g{n}: int = {n};")).collect();
    let source = format!("{globals} fn main() {{ print(g0 + g49); }}");
    assert_eq!(failures_for_want_of_memory(&source), 2);
}

/// Takes a number of bytes and refuses more, at once or only when it is flushed.
struct Closing {
    room: usize,
    at_flush: bool,
}

impl Write for Closing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.at_flush {
            return Ok(bytes.len());
        }
        let count = bytes.len().min(self.room);
        self.room -= count;
        match count {
            0 => Err(ErrorKind::BrokenPipe.into()),
            _ => Ok(count),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.at_flush {
            true => Err(ErrorKind::BrokenPipe.into()),
            false => Ok(()),
        }
    }
}

#[test]
fn output_that_can_not_be_written_ends_the_run() {
    let source =
        "fn main(n: int) { for i in 0..n { finish { async { print(i); } } } print(1 / (n - 3)); }";
    let module = compile(source).expect("a program");
    let end = |n: i64, at_flush: bool| {
        let progress = AtomicU64::new(0);
        let arguments = [Datum::Int(n)];
        let program = compiled(&module, &arguments, Limits::default(), &progress);
        let mut output = Closing { room: 9, at_flush };
        let end = finishline_jit::run(program, 1, &mut output).expect("a compiler");
        (end, progress.load(Ordering::Relaxed))
    };
    // "0\n" to "3\n" fit, and half of the fifth line.
    let is_broken = |end: (End, u64), tasks: u64| match end {
        (End::OutputError(error), told) => error.kind() == ErrorKind::BrokenPipe && told == tasks,
        _ => false,
    };
    assert!(is_broken(end(1000, false), 5));
    assert!(is_broken(end(1000, true), 1000));
    // A failure of the program says more.
    assert!(
        matches!(end(3, true), (End::Trapped(trap), 3) if trap.kind == TrapKind::DivisionByZero)
    );
}
