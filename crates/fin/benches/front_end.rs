//! The time to parse and check a program of 100,000 lines, and to lower it.
//!
//! The program consists of functions like those of `programs/`, so all kinds of statements occur.

use std::fmt::Write;
use std::time::{Duration, Instant};

const LINES: usize = 100_000;
const ROUNDS: usize = 7;

fn source() -> String {
    let mut text = String::from("struct Node { value: int, next: Node }\nvar total: int = 0;\n");
    let mut lines = 2;
    for k in 0.. {
        if lines >= LINES {
            break;
        }
        let function = format!(
            "fn work{k}(a: int[], m: float[,], n: int): int {{\n    \
             var sum = 0;\n    \
             let node = new Node();\n    \
             finish {{\n        \
             for i in 0..n {{\n            \
             async {{\n                \
             a[i] += i * {k} % 7;\n                \
             if a[i] > 3 && i != n - 1 {{\n                    \
             isolated {{ total += a[i]; }}\n                \
             }} else {{\n                    \
             m[i, i] = sqrt(float(i)) + 1.5;\n                \
             }}\n            \
             }}\n        \
             }}\n    \
             }}\n    \
             while sum < n {{\n        \
             sum += len(a) >> 1 | 1;\n        \
             node.value = sum;\n    \
             }}\n    \
             return sum > 0 ? sum : -n;\n\
             }}\n"
        );
        lines += function.lines().count();
        text.push_str(&function);
    }
    let _ = writeln!(
        text,
        "fn main() {{ print(work0(new int[4], new float[4, 4], 4)); }}"
    );
    text
}

fn median(mut times: Vec<Duration>) -> (Duration, Duration, Duration) {
    times.sort();
    (times[0], times[times.len() / 2], times[times.len() - 1])
}

fn main() {
    let text = source();
    let lines = text.lines().count();
    let (mut analysed, mut compiled) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let hir = finishline_fin::analyse("bench.fin", text.as_bytes());
        analysed.push(start.elapsed());
        assert!(hir.is_ok(), "the program of the bench is right");
        let start = Instant::now();
        assert!(finishline_fin::compile("bench.fin", text.as_bytes()).is_ok());
        compiled.push(start.elapsed());
    }
    println!(
        "{lines} lines, {} bytes; {ROUNDS} rounds: least, median, most",
        text.len()
    );
    for (what, times) in [("parse and check", analysed), ("and lower to IR", compiled)] {
        let (least, median, most) = median(times);
        println!("{what:<16} {least:>10.1?} {median:>10.1?} {most:>10.1?}");
    }
}
