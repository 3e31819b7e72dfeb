//! Compiled programs with promises and futures against the interpreter's cooperative run: events,
//! output and failures must be the same, also for want of memory.

use crate::common::comparison::{agrees, compiled, trap};
use crate::common::compile;
use crate::promise_cases::PROGRAMS;
use finishline_ir::machine::{Datum, Limits};
use finishline_model::{Detector, Passes};
use std::io::{self, Write};
use std::process::Command;
use std::sync::atomic::AtomicU64;

fn check(what: &str, source: &str, limits: Limits) {
    let module = compile(source).unwrap_or_else(|errors| panic!("{what}: {errors}"));
    match agrees(&module, &[], limits) {
        Ok(compared) => assert!(compared, "{what}"),
        Err(why) => panic!("{what} with {limits:?}: {why}"),
    }
}

#[test]
fn every_program() {
    for (what, source) in PROGRAMS {
        check(what, source, Limits::default());
    }
}

/// With ever less memory a program fails ever earlier, by the frames of all its tasks. The last
/// program is left out: which of its objects are dead is not the same in both.
#[test]
fn every_program_with_little_memory() {
    for (what, source) in &PROGRAMS[..PROGRAMS.len() - 1] {
        for step in 0..24 {
            let memory = 400 << (step / 2);
            let memory = if step % 2 == 0 {
                memory
            } else {
                memory * 3 / 2
            };
            let limits = Limits {
                memory,
                ..Limits::default()
            };
            check(what, source, limits);
        }
    }
}

#[test]
fn every_program_with_other_limits() {
    for (what, source) in PROGRAMS {
        for limit in [1, 2, 3, 5, 9, 20] {
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
                check(what, source, limits);
            }
        }
    }
}

/// The budget is found out to the byte: the largest that fails, and the smallest that does not.
#[test]
fn the_budget_counts_blocked_tasks_to_the_byte() {
    let source = "
        fn deep(n: int, p: promise<int>): int {
            if n == 0 { return p.get(); }
            return 1 + deep(n - 1, p);
        }
        fn plain(n: int): int { if n == 0 { return 0; } return 1 + plain(n - 1); }
        fn main() {
            let p = new promise<int>();
            for i in 0..20 { async { finish { async { print(deep(i * 5, p)); } } print(plain(90)); } }
            print(plain(300));
            async { print(plain(50)); }
            p.set(1);
        }";
    let module = compile(source).unwrap_or_else(|errors| panic!("{errors}"));
    let fails = |memory| {
        let limits = Limits {
            memory,
            ..Limits::default()
        };
        result(&module, 0, limits, None) == "memory"
    };
    let (mut low, mut high) = (1 << 10, 1 << 20);
    assert!(fails(low) && !fails(high));
    while high - low > 1 {
        let middle = (low + high) / 2;
        match fails(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    for memory in [low - 1000, low - 8, low, high, high + 8] {
        let limits = Limits {
            memory,
            ..Limits::default()
        };
        check("frames of blocked tasks", source, limits);
    }
}

/// Runs an optimised program with one argument or none; what it prints, or the word for its
/// failure.
fn result(
    module: &finishline_ir::Module,
    argument: i64,
    limits: Limits,
    detector: Option<Detector>,
) -> String {
    let module = finishline_opt::for_speed(module, Passes::NONE);
    let progress = AtomicU64::new(0);
    let arguments = [Datum::Int(argument)];
    let parameters = module.function(module.main).parameters.len();
    let program = compiled(&module, &arguments[..parameters], limits, &progress);
    let mut output = Vec::new();
    let end = match detector {
        Some(detector) => {
            let checked = finishline_jit::check(program, detector, &mut output);
            let (end, findings) = checked.expect("an inline form").expect("a compiler");
            assert!(findings.expect("a judgement").racing.is_empty());
            end
        }
        None => finishline_jit::run(program, 1, &mut output).expect("a compiler"),
    };
    match trap(end) {
        Some(trap) => trap.kind.word().to_owned(),
        None => String::from_utf8_lossy(&output).trim_end().to_owned(),
    }
}

fn printed(source: &str, argument: i64, detector: Option<Detector>) -> String {
    let module = compile(source).unwrap_or_else(|errors| panic!("{errors}"));
    result(&module, argument, Limits::default(), detector)
}

const BOTH: [Option<Detector>; 2] = [None, Some(Detector::Finishline)];

const BLOCKED: &str = "
    var sum = 0;
    fn main(n: int) {
        let p = new promise<int>();
        finish {
            for i in 0..n { async { let got = p.get(); isolated { sum += got + i; } } }
            p.set(1);
        }
        print(sum);
    }";

#[test]
fn a_hundred_thousand_blocked_tasks() {
    let n: i64 = 100_000;
    let expected = (n + n * (n - 1) / 2).to_string();
    for detector in BOTH {
        assert_eq!(printed(BLOCKED, n, detector), expected);
    }
}

#[test]
fn a_million_gets_in_a_row() {
    let source = "
        fn main(n: int) {
            let ping = new promise<int>[n];
            let pong = new promise<int>[n];
            for i in 0..n { ping[i] = new promise<int>(); pong[i] = new promise<int>(); }
            async { for i in 0..n { let got = ping[i].get(); pong[i].set(got + 1); } }
            var sum = 0;
            for i in 0..n { ping[i].set(i); sum += pong[i].get(); }
            print(sum);
        }";
    for (detector, n) in BOTH.into_iter().zip([1_000_000i64, 300_000]) {
        let expected = (n + n * (n - 1) / 2).to_string();
        assert_eq!(printed(source, n, detector), expected);
    }
}

/// Each task waits for the one that it creates, a million deep.
#[test]
fn a_long_chain_of_futures() {
    let source = "
        fn chain(n: int): int {
            if n == 0 { return 0; }
            let next = future { chain(n - 1) };
            return next.get() + 1;
        }
        fn late(n: int) {
            let p = new promise<int>[n + 1];
            for i in 0..n + 1 { p[i] = new promise<int>(); }
            for i in 0..n { async { p[i + 1].set(p[i].get() + 1); } }
            p[0].set(0);
            print(p[n].get());
        }
        fn main(n: int) { print(chain(n)); late(n); }";
    for (detector, n) in BOTH.into_iter().zip([200_000, 50_000]) {
        assert_eq!(printed(source, n, detector), format!("{n}\n{n}"));
    }
}

/// References are on the stacks of blocked tasks and in their saved registers alone, and the heap
/// is too small for what dies meanwhile.
#[test]
fn the_collector_sees_the_stacks_of_blocked_tasks() {
    let source = "
        struct Node { next: Node, value: int }
        var total = 0;
        fn hold(n: int, p: promise<int>): int {
            let a = new Node(); a.value = n;
            if n % 3 == 0 { return a.value + hold(n + 1, p); }
            let b = new Node(); b.value = n; b.next = a;
            let c = new int[3]; c[1] = n;
            let d = new promise<Node>();
            d.set(b);
            let got = p.get();
            return got + a.value + b.next.value + c[1] + d.get().value;
        }
        fn main(n: int) {
            let p = new promise<int>();
            finish {
                for i in 0..n { async { let own = hold(i, p); isolated { total += own; } } }
                for i in 0..400 * n { let dead = new Node(); dead.value = i; }
                p.set(0);
            }
            print(total);
        }";
    let n = 1000;
    let expected: i64 = (0..n)
        .map(|i| if i % 3 == 0 { i + 4 * (i + 1) } else { 4 * i })
        .sum();
    let module = compile(source).unwrap_or_else(|errors| panic!("{errors}"));
    // What lives takes less, what dies a hundred times as much.
    let limits = Limits {
        memory: 2 << 20,
        ..Limits::default()
    };
    for detector in BOTH {
        assert_eq!(result(&module, n, limits, detector), expected.to_string());
    }
}

/// As deep as calls may nest, in tasks that are blocked there.
#[test]
fn blocked_tasks_nest_as_deep_as_calls_may() {
    let source = "
        fn deep(n: int, p: promise<int>): int {
            if n == 0 { return p.get(); }
            return 1 + deep(n - 1, p);
        }
        fn main(n: int) {
            let p = new promise<int>();
            for i in 0..20 { async { assert(deep(n, p) == n); } }
            p.set(0);
            print(deep(n, p));
        }";
    assert_eq!(printed(source, 99_998, None), "99998");
    assert_eq!(printed(source, 100_000, None), "call-depth");
}

/// More tasks one after the other than stacks could be made, each deep.
#[test]
fn stacks_are_used_again() {
    let source = "
        fn deep(n: int, p: promise<int>): int {
            if n == 0 { return p.get(); }
            return 1 + deep(n - 1, p);
        }
        fn main(n: int) {
            var sum = 0;
            for i in 0..n {
                let p = new promise<int>();
                let f = future { deep(i % 700, p) };
                p.set(1);
                sum += f.get();
            }
            print(sum);
        }";
    let n = 100_000;
    let expected: i64 = (0..n).map(|i| 1 + i % 700).sum();
    assert_eq!(printed(source, n, None), expected.to_string());
}

/// Notes the resident memory of this process whenever the program prints.
#[derive(Default)]
struct Resident(Vec<u64>);

impl Write for Resident {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let statistics = std::fs::read_to_string("/proc/self/statm")?;
        let pages = statistics.split_whitespace().nth(1);
        let pages: u64 = pages.and_then(|n| n.parse().ok()).expect("a number");
        self.0.push(4096 * pages);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes of resident memory for each of many tasks that do something and then wait.
fn resident_per_task(before: &str, checked: bool) -> u64 {
    const TASKS: u64 = 20_000;
    let source = format!(
        "var x = 0.0;
        fn deep(n: int): int {{ if n == 0 {{ return 0; }} return 1 + deep(n - 1); }}
        fn main() {{
            let p = new promise<int>();
            print(0);
            for i in 0..{TASKS} {{ async {{ {before} p.get(); }} }}
            print(1);
            p.set(1);
        }}"
    );
    let module = compile(&source).unwrap_or_else(|errors| panic!("{errors}"));
    let progress = AtomicU64::new(0);
    let program = compiled(&module, &[], Limits::default(), &progress);
    let mut resident = Resident::default();
    if checked {
        let run = finishline_jit::check(program, Detector::Finishline, &mut resident);
        let (end, _) = run.expect("an inline form").expect("a compiler");
        assert!(trap(end).is_none());
    } else {
        let end = finishline_jit::run(program, 1, &mut resident).expect("a compiler");
        assert!(trap(end).is_none());
    }
    let [before, blocked] = resident.0[..] else {
        panic!("the program prints twice")
    };
    (blocked - before) / TASKS
}

/// Set in the process that measures its own memory.
const MEASURES: &str = "FINISHLINE_MEASURES_ITSELF";

/// The runtime's functions run on another stack, and what a task used while it was deeper is given
/// back.
#[test]
fn a_blocked_task_keeps_little_memory() {
    if std::env::var_os(MEASURES).is_none() {
        // The other tests use memory, too.
        let own = std::env::current_exe().expect("the path of this program");
        let name = "compiled_promises::a_blocked_task_keeps_little_memory";
        let status = Command::new(own)
            .args(["--exact", name, "--nocapture"])
            .env(MEASURES, "1")
            .status();
        assert!(status.expect("a process").success());
        return;
    }
    let busy = "let a = new int[4]; a[1] = i; let b = float(a[1]); isolated { x += sin(b); }";
    for checked in [false, true] {
        let idle = resident_per_task("", checked);
        let busy = resident_per_task(busy, checked);
        let deep = resident_per_task("assert(deep(1000) == 1000);", checked);
        println!("checked: {checked}; bytes for each task: {idle} {busy} {deep}");
        assert!(idle < 6 << 10, "{idle} bytes");
        assert!(busy < 6 << 10, "{busy} bytes");
        assert!(deep < 6 << 10, "{deep} bytes");
    }
}

/// More captures than fit in registers, or in the first pages of a stack.
#[test]
fn a_task_with_many_captures() {
    for captures in [7, 100, 1000] {
        let each = |text: &dyn Fn(usize) -> String| (0..captures).map(text).collect::<String>();
        let source = format!(
            "fn main() {{
                let p = new promise<int>();
                {}
                for i in 0..3 {{ async {{
                    var ints = p.get();
                    var floats = 0.0;
                    {}
                    print(i, ints, floats);
                }} }}
                p.set(1);
            }}",
            each(&|k| format!("let i{k} = {k}; let f{k} = {k}.5;")),
            each(&|k| format!("ints = ints * 3 % 1009 + i{k}; floats = floats * 0.5 + f{k};")),
        );
        check("many captures", &source, Limits::default());
    }
}

/// An output that fails, while tasks are blocked, ends the run.
#[test]
fn an_output_that_fails() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("full"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let source = "fn main() {
        let p = new promise<int>();
        for i in 0..10 { async { p.get(); } }
        async { print(p.get()); }
        p.set(1);
    }";
    let module = compile(source).unwrap_or_else(|errors| panic!("{errors}"));
    let progress = AtomicU64::new(0);
    let program = compiled(&module, &[], Limits::default(), &progress);
    let end = finishline_jit::run(program, 1, &mut Full).expect("a compiler");
    let failed =
        matches!(&end, finishline_jit::End::OutputError(error) if error.to_string() == "full");
    assert!(failed, "{end:?}");
}
