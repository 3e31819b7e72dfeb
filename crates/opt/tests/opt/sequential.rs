//! Main-task check elimination: which accesses lose their checks, line by line, and that no racing
//! location changes.
//!
//! In the sources below every shared access on a line with `// seq` must be unchecked, and every
//! other one checked. The expectation is the definition: nothing but `main` can be running at that
//! line, in any schedule.

use crate::common::compile;
use crate::common::races::Checked;
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::random::Ownership;
use finishline_generate::{Program, Settings, program, render, shrink};
use finishline_ir::machine::Limits;
use finishline_ir::verify::verify;
use finishline_ir::{Module, Op};
use finishline_model::Passes;
use finishline_opt::reduce;
use std::collections::BTreeSet;

#[track_caller]
fn holds(source: &str) {
    let module = compile(source);
    let after = reduce(&module, Passes::SEQUENTIAL);
    verify(&after).unwrap_or_else(|violations| panic!("{}\n{after}", violations[0]));
    let checked: BTreeSet<_> = after
        .functions
        .iter()
        .flat_map(|function| &function.blocks)
        .flat_map(|block| &block.instructions)
        .filter_map(|instruction| match instruction.op {
            Op::Check { access, .. } => Some(access),
            _ => None,
        })
        .collect();
    let lines: Vec<&str> = source.lines().collect();
    for (index, access) in module.source.accesses.iter().enumerate() {
        let id = finishline_model::AccessId::from_index(index);
        let line = module.source.sites[access.site.index()].line as usize;
        let expected = !lines[line - 1].contains("// seq");
        assert_eq!(
            checked.contains(&id),
            expected,
            "line {line}: {}",
            lines[line - 1]
        );
        assert_eq!(after.unchecked.contains_key(&id), !expected);
    }
}

#[test]
fn outside_the_outermost_finish() {
    holds(
        "var g: int = 0;
fn main() {
    g = 1; // seq
    finish {
        g = 2; // seq
        async g = 3;
        g = 4;
    }
    g = 5; // seq
    for i in 0..3 {
        g += i; // seq
        finish { async g = 6; }
        g += 7; // seq
    }
}",
    );
}

#[test]
fn an_async_outside_every_finish_leaves_nothing_sequential() {
    holds(
        "var g: int = 0;
fn main() {
    g = 1; // seq
    async g = 2;
    finish { async g = 3; }
    g = 4;
}",
    );
    // Around a loop, also what comes before it in the text.
    holds(
        "var g: int = 0;
fn main() {
    g = 1; // seq
    for i in 0..2 {
        g = 2;
        async g = 3;
    }
    g = 4;
}",
    );
    // And where only one branch leaves a task.
    holds(
        "var g: int = 0;
fn main() {
    let some = g == 1; // seq
    if some {
        async g = 2;
        g = 3;
    } else {
        g = 4; // seq
    }
    g = 5;
}",
    );
}

#[test]
fn a_finish_opened_beside_a_live_task_restores_nothing() {
    holds(
        "var g: int = 0;
fn main() {
    finish {
        async g = 1;
        finish {
            g = 2;
            async g = 3;
        }
        g = 4;
    }
    g = 5; // seq
}",
    );
}

#[test]
fn a_finish_in_a_loop_is_opened_beside_the_tasks_of_the_last_iteration() {
    holds(
        "var g: int = 0;
fn main() {
    for i in 0..2 {
        finish {
            for j in 0..2 { g = 1; }
        }
        g = 2;
        async g = 3;
    }
}",
    );
}

/// An access that occurs at several places after inlining loses its check where it is sequential.
#[test]
fn copies_of_an_access() {
    let module = compile(
        "var g: int = 0;
        fn bump() { g += 1; }
        fn beside() { for i in 0..2 { bump(); } }
        fn later() { for i in 0..2 { bump(); } }
        fn main() { finish { async beside(); } later(); }",
    );
    let inlined = finishline_opt::for_speed(&module, Passes::NONE);
    let checks = |module: &Module| {
        let blocks = module
            .functions
            .iter()
            .flat_map(|function| &function.blocks);
        let instructions = blocks.flat_map(|block| &block.instructions);
        instructions
            .filter(|i| matches!(i.op, Op::Check { .. }))
            .count()
    };
    // A read and a write, in `bump` and in the two loops.
    assert_eq!(checks(&inlined), 6, "{inlined}");
    assert_eq!(checks(&reduce(&inlined, Passes::SEQUENTIAL)), 4);
}

#[test]
fn functions_called_from_sequential_code_only() {
    holds(
        "var g: int = 0;
fn alone() { g += 1; } // seq
fn beside() { g += 1; }
fn both() { g += 1; }
fn deeper() { alone(); } // seq
fn beside_and_later() { g += 1; }
fn main() {
    alone();
    deeper();
    both();
    finish { async both(); beside(); beside_and_later(); }
    beside_and_later();
    alone();
}",
    );
}

#[test]
fn calls_that_leave_tasks_running() {
    holds(
        "var g: int = 0;
fn leaves() { async g = 1; }
fn joins() { finish { leaves(); } }
fn main() {
    joins();
    g = 1; // seq
    finish { leaves(); g = 2; }
    g = 3; // seq
    leaves();
    g = 4;
    finish { joins(); }
    g = 5;
}",
    );
    // Also through a function that only passes it on, whichever is looked at first.
    holds(
        "var g: int = 0;
fn leaves() { async g = 1; }
fn passes_on() { leaves(); }
fn main() {
    passes_on();
    g = 2;
}",
    );
    holds(
        "var g: int = 0;
fn main() {
    passes_on();
    g = 2;
}
fn passes_on() { leaves(); }
fn leaves() { async g = 1; }",
    );
}

#[test]
fn recursion() {
    holds(
        "var g: int = 0;
fn quiet(n: int) { g += n; if n > 0 { quiet(n - 1); } g += 1; } // seq
fn down(n: int) {
    g += 1; // seq
    if n > 0 { down(n - 1); }
    async g = 2;
}
fn around(n: int) {
    g += 1;
    async g = 2;
    if n > 0 { around(n - 1); }
}
fn main() {
    quiet(3);
    finish { down(3); }
    g = 3; // seq
    finish { around(3); }
    g = 4; // seq
}",
    );
    holds(
        "var g: int = 0;
fn even(n: int) {
    g += 1; // seq
    if n > 0 { odd(n - 1); }
    g += 2;
}
fn odd(n: int) { if n > 0 { even(n - 1); } async g = 3; }
fn main() { even(4); }",
    );
}

#[test]
fn dynamic_finishes() {
    holds(
        "var g: int = 0;
fn main() {
    begin_finish;
    g = 1; // seq
    async g = 2;
    g = 3;
    end_finish;
    g = 4; // seq
    begin_finish;
    async g = 5;
    begin_finish;
    async g = 6;
    end_finish;
    g = 7;
    end_finish;
    g = 8; // seq
}",
    );
    // Whose end that is can't be seen: nothing is restored.
    holds(
        "var g: int = 0;
fn open() { begin_finish; }
fn main() {
    begin_finish;
    async g = 1;
    open();
    async g = 2;
    end_finish;
    g = 3;
    end_finish;
    g = 4;
}",
    );
    holds(
        "var g: int = 0;
fn main() {
    let deep = g == 0; // seq
    begin_finish;
    async g = 1;
    if deep { begin_finish; }
    async g = 2;
    end_finish;
    g = 3;
    if deep { end_finish; }
    g = 4;
}",
    );
    // A lexical finish joins what is inside, whatever is opened and closed there.
    holds(
        "var g: int = 0;
fn open() { begin_finish; }
fn main() {
    finish {
        open();
        async g = 1;
        end_finish;
        g = 2;
    }
    g = 3; // seq
}",
    );
}

#[test]
fn sync_scopes() {
    holds(
        "var g: int = 0;
fn f() { g += 1; }
fn main() {
    g = 1; // seq
    spawn f();
    g = 2;
    sync;
    g = 3; // seq
    spawn f();
    if g > 0 { sync; }
    g = 4;
}",
    );
    holds(
        "var g: int = 0;
fn f() { g += 1; }
fn spawns() { spawn f(); }
fn main() {
    spawns();
    g = 1; // seq
    async g = 2;
    spawns();
    g = 3;
}",
    );
}

#[test]
fn what_nobody_calls_keeps_its_checks() {
    holds(
        "var g: int = 0;
fn unused() { g = 1; }
fn main() { g = 2; } // seq",
    );
}

/// How many checks a run is spared.
fn same_races(program: &Program) -> Result<usize, String> {
    let module = compile(&render(program));
    Checked::new(&module, &[], Limits::default()).without(Passes::SEQUENTIAL)
}

#[test]
fn racing_locations_stay_the_same_on_random_programs() {
    let (first, count) = (
        setting("FINISHLINE_SEED", 1),
        setting("FINISHLINE_SEEDS", 6_000),
    );
    let spared = std::sync::atomic::AtomicU64::new(0);
    in_parallel(first..first + count, |seed| {
        let settings = match seed % 4 {
            0 => Settings::spawn_sync(),
            1 => Settings {
                ownership: Ownership::Ignored,
                focus: 60,
                ..Settings::default()
            },
            _ => Settings::default(),
        };
        let program = program(seed, &settings);
        match same_races(&program) {
            Ok(checks) => {
                let some = u64::from(checks > 0);
                spared.fetch_add(some, std::sync::atomic::Ordering::Relaxed);
            }
            Err(error) => {
                let small = shrink(&program, &mut |program| same_races(program).is_err());
                panic!("seed {seed}: {error}\n{}", render(&small));
            }
        }
    });
    if count >= 1000 {
        let spared = spared.into_inner();
        assert!(
            spared > count / 3,
            "{spared} of {count} programs have a sequential access"
        );
    }
}
