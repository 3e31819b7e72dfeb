//! Compiled code against the reference interpreter: events, output and failures must be the same.
//!
//! A detector whose fast path is inline must find what a detector finds that hears of every access.
//! Compared are all programs of the repository, and random ones. Each random program is compiled
//! six times, so `FINISHLINE_SEEDS=n` runs a hundredth of n of them instead of 300;
//! `FINISHLINE_SEED=s` starts at seed s.

use crate::common::comparison::{agrees, compiled, trap};
use crate::common::compile;
use finishline_engine::arguments;
use finishline_generate::campaign::within;
use finishline_generate::random::{Settings, program};
use finishline_generate::render::render;
use finishline_ir::machine::{Datum, Limits};
use finishline_model::{Detector, Passes};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The `.fin` files under a directory.
fn programs(under: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(under).expect("the directory of programs");
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            programs(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "fin") {
            found.push(path);
        }
    }
}

#[test]
fn every_program_of_the_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let mut found = Vec::new();
    programs(&root, &mut found);
    let mut compared = 0;
    for path in &found {
        let source = fs::read_to_string(path).expect("a program");
        let Ok(module) = compile(&source) else {
            // It is there for its error.
            continue;
        };
        let directive = |name: &str| {
            let line = source.lines().find_map(|line| line.strip_prefix(name));
            line.map_or(Vec::new(), |words| {
                words.split_whitespace().map(str::to_owned).collect()
            })
        };
        let Ok(arguments) = arguments::parse(&module, &directive("//@ args:")) else {
            continue;
        };
        let limits = Limits {
            memory: match &directive("//@ options:")[..] {
                [option, size] if option == "--memory" => size_of_words(size),
                _ => Limits::default().memory,
            },
            ..Limits::default()
        };
        match agrees(&module, &arguments, limits) {
            Ok(true) => compared += 1,
            Ok(false) => {}
            Err(why) => panic!("{}: {why}", path.display()),
        }
    }
    assert!(compared > 120, "only {compared} programs were compared");
}

fn size_of_words(word: &str) -> u64 {
    let (digits, shift) = match word.as_bytes().last() {
        Some(b'K') => (&word[..word.len() - 1], 10),
        Some(b'M') => (&word[..word.len() - 1], 20),
        Some(b'G') => (&word[..word.len() - 1], 30),
        _ => (word, 0),
    };
    digits.parse::<u64>().expect("a size") << shift
}

fn number(variable: &str, otherwise: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given
        .and_then(|given| given.parse().ok())
        .unwrap_or(otherwise)
}

#[test]
fn random_programs() {
    let first = number("FINISHLINE_SEED", 0);
    let settings = [
        Settings::default(),
        Settings::spawn_sync(),
        Settings::async_finish(),
        Settings::wrapping(),
        Settings::promises(0),
        Settings::promises(3),
        Settings::locks(0),
        Settings::locks(3),
    ];
    for seed in first..first + number("FINISHLINE_SEEDS", 30_000) / 100 {
        let settings = &settings[seed as usize % settings.len()];
        let source = render(&program(seed, settings));
        let module = compile(&source).expect("the generator makes programs without errors");
        // Some get little, so that they fail for it.
        let limits = match seed % 5 {
            0 => Limits {
                call_depth: 1 + (seed / 5 % 3) as u32,
                tasks: 2 + (seed / 5 % 11) as u32,
                finishes: 2 + (seed / 5 % 7) as u32,
                ..Limits::default()
            },
            _ => Limits::default(),
        };
        if let Err(why) = agrees(&module, &[], limits) {
            panic!("seed {seed} with {limits:?}: {why}\n{source}");
        }
    }
}

/// Runs a compiled program, optimised, with one argument; what it prints, or the word for its
/// failure.
fn result(source: &str, argument: i64, limits: Limits, checked: bool) -> String {
    let module = compile(source).expect("a program without errors");
    let module = finishline_opt::for_speed(&module, Passes::SEQUENTIAL);
    let progress = AtomicU64::new(0);
    let arguments = [Datum::Int(argument)];
    let program = compiled(&module, &arguments, limits, &progress);
    let mut output = Vec::new();
    let end = if checked {
        let checked = finishline_jit::check(program, Detector::EspBags, &mut output);
        let (end, findings) = checked.expect("an inline form").expect("a compiler");
        assert!(findings.expect("a judgement").racing.is_empty());
        end
    } else {
        finishline_jit::run(program, 1, &mut output).expect("a compiler")
    };
    match trap(end) {
        Some(trap) => trap.kind.word().to_owned(),
        None => String::from_utf8_lossy(&output).trim_end().to_owned(),
    }
}

const CHAIN: &str = "
    var total: int = 0;
    fn chain(n: int) { if n > 0 { async { chain(n - 1); } } else { total = 1; } }
    fn main(n: int) { finish { chain(n); } print(total); }";

#[test]
fn a_chain_of_ten_million_tasks() {
    assert_eq!(result(CHAIN, 10_000_000, Limits::default(), false), "1");
    assert_eq!(result(CHAIN, 1_000_000, Limits::default(), true), "1");
    let little = Limits {
        memory: 10 << 20,
        ..Limits::default()
    };
    assert_eq!(result(CHAIN, 1_000_000, little, true), "memory");
}

#[test]
fn deep_spawns_and_calls() {
    let spawns = "
        fn deep(n: int): int {
            if n == 0 { return 1; }
            let below = new int[1];
            below[0] = spawn deep(n - 1);
            sync;
            return below[0] + 1;
        }
        fn main(n: int) { print(deep(n)); }";
    for checked in [false, true] {
        assert_eq!(result(spawns, 10_000, Limits::default(), checked), "10001");
    }
    let calls = "
        fn deep(n: int): int { if n == 0 { return 0; } return 1 + deep(n - 1); }
        fn main(n: int) { print(deep(n)); }";
    // `main` itself is no call, and the call that reaches 0 is one more.
    assert_eq!(result(calls, 99_999, Limits::default(), false), "99999");
    assert_eq!(
        result(calls, 100_000, Limits::default(), false),
        "call-depth"
    );
}

/// A loop with a number of statements, of every sort.
fn long_loop(statements: usize) -> String {
    let statement = |i: usize| {
        let (near, far) = (i % 89, i * 7 % 83);
        match i % 8 {
            0 | 1 => format!("A[k + {near}] = A[k + {far}] + n;"),
            2 => format!(
                "if k % {} == 0 {{ s += A[{near}]; }} else {{ s -= {i}; }}",
                i + 2
            ),
            3 => format!("f = f * 0.5 + F[{near}] / float({i} + k); F[{far}] = f;"),
            4 => format!("p.x += s / (k + {i}); p.next = new P(); C[{near}] += byte(s);"),
            5 => format!("async {{ B[{near}] += k; isolated {{ total += {i}; }} }}"),
            6 => format!("s = twice(s + {i}) % 1009; B[{far}] = s;"),
            _ => format!("finish {{ async {{ A[{far}] -= 1; }} }} assert(A[{far}] < 1 << 40);"),
        }
    };
    let body: Vec<String> = (0..statements).map(statement).collect();
    format!(
        "struct P {{ x: int, next: P }}
        var total = 0;
        fn twice(x: int): int {{ return 2 * x; }}
        fn main(n: int) {{
            let A = new int[100];
            let B = new int[100];
            let C = new byte[100];
            let F = new float[100];
            let p = new P();
            var s = 0;
            var f = 1.0;
            finish {{ for k in 0..n {{ {} }} }}
            print(s, f, p.x, A[n], F[n], total, B[1]);
        }}",
        body.join("\n")
    )
}

/// Very long functions get their registers in another way, and do the same.
#[test]
fn a_long_function() {
    let module = compile(&long_loop(1500)).unwrap_or_else(|errors| panic!("{errors}"));
    for n in [0, 3, 13] {
        match agrees(&module, &[Datum::Int(n)], Limits::default()) {
            Ok(compared) => assert!(compared),
            Err(why) => panic!("{n}: {why}"),
        }
    }
}

/// Thousands of statements took minutes when every function got its registers thoroughly.
#[test]
fn a_very_long_function_is_compiled_in_seconds() {
    let statement = |i| format!("A[k + {i}] = A[k + {}] + n;\n", 7 * i % 4999);
    let body: String = (0..3000).map(statement).collect();
    let source = format!(
        "fn main(n: int) {{
            let A = new int[5000];
            finish {{ async {{ for k in 0..n {{ {body} }} }} }}
            print(A[2999]);
        }}"
    );
    let mut expected = vec![0; 5000];
    for i in 0..3000 {
        expected[i] = expected[7 * i % 4999] + 1;
    }
    let printed = within(Duration::from_secs(60), "the long function", || {
        result(&source, 1, Limits::default(), true)
    });
    assert_eq!(printed, expected[2999].to_string());
}

/// No system has the address space that this budget would need. What is there is enough for a
/// program that needs little.
#[test]
fn a_budget_beyond_the_address_space() {
    let limits = Limits {
        memory: 1 << 60,
        ..Limits::default()
    };
    for checked in [false, true] {
        assert_eq!(result(CHAIN, 100_000, limits, checked), "1");
    }
}

/// The budget counts the frame of a function as written. Functions inlined into it make the real
/// one larger, here many times.
#[test]
fn frames_larger_than_the_budget_counts() {
    let source = "
        fn touch(n: int) { let a = new int[n, n, n, n, n, n]; }
        fn deep(n: int, one: int): int {
            if n == 0 { return 0; }
            touch(one); touch(one); touch(one); touch(one); touch(one); touch(one); touch(one);
            touch(one); touch(one); touch(one); touch(one); touch(one); touch(one); touch(one);
            return 1 + deep(n - 1, one);
        }
        fn main(n: int) { print(deep(n, 1)); }";
    let limits = Limits {
        memory: 8 << 20,
        ..Limits::default()
    };
    for checked in [false, true] {
        assert_eq!(result(source, 20_000, limits, checked), "20000");
        assert_eq!(result(source, 90_000, limits, checked), "memory");
    }
}

/// What can't be reached any more is given back, in tasks and out of them, cycles included.
#[test]
fn a_program_that_allocates_for_ever_runs_in_bounded_memory() {
    let source = "
        struct Node { next: Node, values: int[] }
        fn ring(n: int): int {
            let a = new Node();
            a.next = new Node();
            a.next.next = a;
            a.values = new int[100];
            a.values[n % 100] = n;
            return a.values[n % 100];
        }
        fn main(n: int) {
            var sum = 0;
            for i in 0..n { sum += ring(i); }
            finish { for i in 0..n { async { ring(i); } } }
            print(sum);
        }";
    // A hundredth of what 20,000 rings take, and twice the records of 10,000 tasks.
    let limits = Limits {
        memory: 400 << 10,
        ..Limits::default()
    };
    for checked in [false, true] {
        assert_eq!(result(source, 10_000, limits, checked), "49995000");
    }
}
