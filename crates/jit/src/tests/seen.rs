//! A range is checked once a step, a short one not at all if all of it was, and every check is
//! counted.

use super::{compile, run_module};
use crate::checker::{Checker, Style};
use finishline_detect::inline::FastPath;
use finishline_ir::{Op, Operand};
use finishline_model::{Access, AccessId, AccessKind, Event, Location};
use std::ptr::NonNull;

/// Counts the checks of ranges that are made and those that are spared. Each event begins an era,
/// as in a detector.
#[derive(Default)]
struct Counting {
    fast: Option<NonNull<FastPath>>,
    /// The step to which cells belong after a check.
    step: Option<u32>,
    made: u64,
    spared: (u64, u64),
}

impl Checker for Counting {
    const STYLE: Style = Style::Inline;

    fn attach(&mut self, fast: NonNull<FastPath>) {
        self.fast = Some(fast);
    }

    fn event(&mut self, event: &Event) {
        if let Some(mut fast) = self.fast
            && !matches!(event, Event::Alloc { .. })
        {
            // SAFETY: valid while the program runs, and the program waits for the checker now.
            let limits = unsafe { &mut fast.as_mut().limits };
            limits.era += 1;
            if let Some(step) = self.step {
                (limits.me, limits.settled) = (step, written(step));
            }
        }
    }

    fn access(&mut self, _: &Access) {}

    fn undecided(&mut self, _: AccessKind, _: &mut u64, _: usize, _: impl Fn() -> Location) {
        unreachable!("all checks are of ranges");
    }

    fn range(&mut self, kind: AccessKind, cells: &mut [u64], _: isize, _: Location, _: AccessId) {
        self.made += 1;
        if let Some(step) = self.step {
            cells.fill(match kind {
                AccessKind::Read => u64::from(step) << 32,
                AccessKind::Write => written(step),
            });
        }
    }

    fn spared(&mut self, checks: u64, locations: u64) {
        self.spared = (checks, locations);
    }

    fn ended(&mut self, _: u64) {}
}

fn written(step: u32) -> u64 {
    u64::from(step) << 32 | u64::from(step)
}

/// In `main`, with two arrays of 8 numbers, every access is one to two locations from there on.
/// Returns the checks made and spared.
fn checks(body: &str, more: &str) -> (u64, u64) {
    checks_of_step(None, body, more, 2)
}

fn checks_of_step(step: Option<u32>, body: &str, more: &str, long: i64) -> (u64, u64) {
    let mut module = compile(&format!(
        "{more} fn main() {{ let a = new int[8]; let b = new int[40]; {body} }}"
    ));
    let blocks = module.functions.iter_mut().flat_map(|f| &mut f.blocks);
    for instruction in blocks.flat_map(|block| &mut block.instructions) {
        if let Op::Check { count, .. } = &mut instruction.op {
            *count = Operand::Constant(long);
        }
    }
    let mut checker = Counting {
        step,
        ..Counting::default()
    };
    run_module(&module, &mut checker);
    let (spared, locations) = checker.spared;
    assert_eq!(locations, long as u64 * spared, "{body}");
    (checker.made, spared)
}

#[test]
fn a_range_is_checked_once_a_step() {
    let waits = "fn wait() { let p = new promise<int>(); p.get(); }";
    for more in ["", waits] {
        let checks = |body| checks(body, more);
        assert_eq!(checks("for i in 0..5 { a[1] = i; }"), (1, 4));
        // Other places, other objects and other kinds are other ranges.
        assert_eq!(checks("for i in 0..5 { a[i] = i; }"), (5, 0));
        assert_eq!(checks("for i in 0..5 { a[1] = i; b[1] = i; }"), (2, 8));
        assert_eq!(
            checks("var s = 0; for i in 0..5 { a[1] = i; s += a[1]; }"),
            (2, 8)
        );
        // Another access to the same place is not.
        assert_eq!(checks("a[1] = 1; a[1] = 2; a[1] = 3;"), (1, 2));
        assert_eq!(checks("let s = a[1] + a[1]; a[1] = 3;"), (2, 1));
        // Tasks and finishes end steps.
        assert_eq!(checks("for i in 0..5 { finish { a[1] = i; } }"), (5, 0));
        assert_eq!(checks("for i in 0..5 { async { a[1] = i; } }"), (5, 0));
        // An allocation may reuse the memory of an object that is gone.
        assert_eq!(
            checks("for i in 0..5 { a[1] = i; let c = new int[1]; }"),
            (5, 0)
        );
        // A range inside a stretch of others is done, and what is beside it or between two is not.
        assert_eq!(checks("a[1] = 1; a[3] = 2; a[2] = 3;"), (2, 1));
        assert_eq!(checks("a[3] = 1; a[1] = 2; a[2] = 3;"), (2, 1));
        assert_eq!(checks("a[1] = 1; a[2] = 2; a[3] = 3; a[4] = 4;"), (4, 0));
        assert_eq!(checks("a[2] = 1; a[1] = 2; a[0] = 3;"), (3, 0));
        assert_eq!(checks("a[0] = 1; a[4] = 2; a[2] = 3; a[3] = 4;"), (3, 1));
        assert_eq!(checks("a[1] = 1; a[3] = 2; let s = a[2];"), (3, 0));
        assert_eq!(checks("a[1] = 1; a[3] = 2; b[2] = 3;"), (3, 0));
        assert_eq!(checks("a[1] = 1; finish { a[3] = 2; a[2] = 3; }"), (3, 0));
        // What leaves the object fails in the program itself.
        assert_eq!(checks("for i in 0..5 { a[7] = i; }"), (5, 0));
    }
}

#[test]
fn null_has_the_size_zero() {
    let mut module = compile(
        "fn main() {
            let m = new int[2, 3];
            let none: int[,] = null;
            print(len(m), len(m, 1), len(none), len(none, 1));
        }",
    );
    let blocks = module.functions.iter_mut().flat_map(|f| &mut f.blocks);
    for instruction in blocks.flat_map(|block| &mut block.instructions) {
        if let Op::Length { array, dimension } = instruction.op {
            instruction.op = Op::SizeOrZero { array, dimension };
        }
    }
    assert_eq!(run_module(&module, &mut Counting::default()), "2 3 0 0\n");
}

#[test]
fn a_range_of_nothing_is_not_checked() {
    let waits = "fn wait() { let p = new promise<int>(); p.get(); }";
    for more in ["", waits] {
        for body in ["a[1] = 1;", "let s = a[7]; a[7] = 1;"] {
            assert_eq!(checks_of_step(None, body, more, 0), (0, 0));
        }
    }
}

#[test]
fn a_short_range_that_was_accessed_is_not_checked() {
    let waits = "fn wait() { let p = new promise<int>(); p.get(); }";
    for more in ["", waits] {
        let checks = |long, body| checks_of_step(Some(7), body, more, long);
        // From another place, of another kind: a write covers a read.
        assert_eq!(checks(2, "a[1] = 1; a[3] = 1; a[2] = 1;"), (2, 1));
        assert_eq!(checks(2, "a[1] = 1; a[3] = 1; a[4] = 1;"), (3, 0));
        assert_eq!(checks(2, "a[1] = 1; a[3] = 1; let s = a[2];"), (2, 1));
        assert_eq!(checks(2, "let s = a[1]; a[1] = 1;"), (2, 0));
        assert_eq!(checks(4, "a[0] = 1; a[4] = 1; a[4] = 2;"), (2, 1));
        // What leaves the object, and what is long or single, is left to the detector.
        assert_eq!(checks(4, "a[4] = 1; a[5] = 2; a[7] = 2;"), (3, 0));
        assert_eq!(checks(16, "b[0] = 1; b[16] = 1; let s = b[3];"), (2, 1));
        assert_eq!(checks(17, "b[0] = 1; b[17] = 1; let s = b[3];"), (3, 0));
    }
}
