//! The cost of a join: the checker alone, told as the drop-in for rayon-core and the
//! instrumentation would tell it.
//!
//! `cargo bench -p finishline-native --bench tasks`. A join is a finish with two tasks. The rows
//! without accesses are the cost of the structure. With accesses, each task writes some words of
//! its own frames. Times are processor times: the least of several rounds. Memory is what the
//! process has more of at the end of a round, for each finished task. A number keeps only the rows
//! with as many accesses, e.g. `-- 0`.

use finishline_model::AccessKind;
use finishline_model::kinds::rayon;
use finishline_native::checker::options::Options;
use finishline_native::checker::{Checker, Here};
use finishline_native::facts::structure::{FinishKind, TaskKind};
use std::ops::Range;

const STACK: Range<u64> = 0x7000_0000_0000..0x7000_1000_0000;
const FRAME: u64 = 256;
const ROUNDS: usize = 5;
/// Of the recursion.
const LEVELS: u32 = 17;
const JOINS: u64 = (1 << LEVELS) - 1;

struct Program {
    checker: Checker,
    accesses: u64,
}

impl Program {
    fn new(accesses: u64) -> Program {
        Program {
            checker: Checker::new(Options::default(), STACK, 0..0).expect("address space"),
            accesses,
        }
    }

    /// A join in the frame at `top`, of halves that do this.
    fn join(&mut self, top: u64, half: &impl Fn(&mut Program, u64)) {
        self.checker.calls.enter(100, top);
        let finish = FinishKind::Rayon(rayon::FinishKind::Join);
        let finish = self.checker.begin_finish(finish, 101);
        for kind in [rayon::TaskKind::JoinLeft, rayon::TaskKind::JoinRight] {
            let entry = top - FRAME;
            let kind = TaskKind::Rayon(kind);
            self.checker.begin_task(kind, finish, 102, entry);
            self.checker.calls.enter(103, entry - 16);
            for word in 0..self.accesses {
                let here = Here {
                    place: 200 + word,
                    stack_pointer: entry - FRAME,
                };
                let address = entry - FRAME + 8 * word;
                self.checker.access(AccessKind::Write, address, 8, here);
            }
            half(self, entry - FRAME);
            self.checker.calls.leave();
            self.checker.end_task();
        }
        self.checker.end_finish(finish);
        self.checker.calls.leave();
    }

    fn recursion(&mut self, levels: u32, top: u64) {
        if levels > 0 {
            self.join(top, &|program, top| program.recursion(levels - 1, top));
        }
    }

    fn sequence(&mut self, joins: u64) {
        for _ in 0..joins {
            self.join(STACK.end - FRAME, &|_, _| ());
        }
    }
}

/// Nanoseconds of processor time.
fn now() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds = text.split(' ').next().and_then(|text| text.parse().ok());
    nanoseconds.expect("a number")
}

/// Bytes of memory in use.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|text| text.parse::<u64>().ok());
    4096 * pages.expect("a number")
}

fn measure(name: &str, accesses: u64, run: impl Fn(&mut Program)) {
    let (mut time, mut bytes) = (u64::MAX, u64::MAX);
    for _ in 0..ROUNDS {
        let before = memory();
        let mut program = Program::new(accesses);
        let began = now();
        run(&mut program);
        time = time.min(now() - began);
        bytes = bytes.min(memory().saturating_sub(before));
        assert!(program.checker.failure().is_none());
        assert_eq!(program.checker.structure.tasks() as u64, 2 * JOINS + 1);
    }
    println!(
        "{name:<10} {accesses:>2} accesses a task: {:>6} ns a join, {:>5} bytes a task",
        time / JOINS,
        bytes / (2 * JOINS)
    );
}

fn main() {
    let wanted = std::env::args().find_map(|argument| argument.parse::<u64>().ok());
    let rows = [0, 4, 16].into_iter();
    for accesses in rows.filter(|row| wanted.is_none_or(|wanted| wanted == *row)) {
        measure("recursion", accesses, |program| {
            program.recursion(LEVELS, STACK.end - FRAME);
        });
        measure("sequence", accesses, |program| program.sequence(JOINS));
    }
}
