//! Loops at the edges of what a guard may let through, one for each of its conditions: without the
//! condition the fast copy would be entered and an element outside the array touched.

use crate::common::{compile, same};
use finishline_ir::Op;
use finishline_ir::machine::{Limits, TrapKind};
use finishline_model::Passes;
use finishline_opt::for_speed;

/// `work` runs with an array of `length` ints, all 0, and `k`. It must end as before, and as
/// expected: after that many events, out of bounds with that index, or without failing.
#[track_caller]
fn ends(work: &str, length: u32, k: &str, out_of_bounds: Option<i64>) {
    let source = format!(
        "fn work(a: int[], k: int): int {{ var s = 0; {work} return s; }}
        fn main() {{ print(work(new int[{length}], {k})); }}"
    );
    let module = compile(&source);
    let runs = same(
        &module,
        &for_speed(&module, Passes::NONE),
        &[],
        Limits::default(),
        100_000,
    );
    let (before, _) = runs
        .unwrap_or_else(|error| panic!("{error}\n{source}"))
        .expect("it ends");
    let index = match before.end {
        Some(Ok(())) => None,
        Some(Err(trap)) => match trap.kind {
            TrapKind::OutOfBounds { index, .. } => Some(index),
            other => panic!("{other}\n{source}"),
        },
        None => None,
    };
    assert_eq!(index, out_of_bounds, "{source}");
}

const MIN: &str = "-9223372036854775808";

#[test]
fn the_product_of_count_and_step_wraps_to_nothing() {
    // 4 · 2⁶² is 0: the last index is the first one.
    ends(
        "for i in 0..=4611686018427387904 { s += a[4 * i]; }",
        2,
        "0",
        Some(4),
    );
    ends(
        "for i in 0..4611686018427387905 { s += a[k * i]; }",
        2,
        "4",
        Some(4),
    );
}

#[test]
fn a_step_as_large_as_can_be_comes_back_to_the_first_index() {
    ends("for i in 0..3 { s += a[i * k]; }", 2, MIN, Some(i64::MIN));
    let constant = format!("for i in 0..3 {{ s += a[i * {MIN}]; }}");
    ends(&constant, 2, "0", Some(i64::MIN));
    ends("for i in 0..3 { s += a[i * k]; }", 5, "2", None);
    ends("for i in 0..3 { s += a[i * k]; }", 4, "2", Some(4));
    ends("for i in 0..3 { s += a[i * k + 4]; }", 5, "-2", None);
    ends("for i in 0..3 { s += a[i * k + 3]; }", 5, "-2", Some(-1));
}

#[test]
fn the_last_index_wraps_to_a_negative_one() {
    ends(
        "for i in 4611686018427387903..4611686018427387906 { s += a[2 * i]; }",
        3,
        "0",
        Some(i64::MAX - 1),
    );
    // And downwards the first one is the largest.
    ends(
        "for i in 0..3 { s += a[k - 2 * i]; }",
        3,
        MIN,
        Some(i64::MIN),
    );
}

#[test]
fn a_counter_that_passes_the_largest_int_goes_on() {
    let largest = i64::MAX;
    let work = |compare: &str, step: &str| {
        format!(
            "var i = k; var n = 0;
             while i {compare} {largest} {{ s += a[i - k]; n += 1; if n == 9 {{ return s; }} i = i + {step}; }}"
        )
    };
    // Up to the largest int and beyond: four iterations, then the counter is the smallest int.
    ends(&work("<=", "1"), 4, "9223372036854775804", Some(4));
    ends(&work("<", "2"), 4, "9223372036854775804", Some(4));
    ends(&work("<", "1"), 4, "9223372036854775804", None);
    ends(&work("<", "1"), 3, "9223372036854775804", None);
    ends(&work("<", "1"), 2, "9223372036854775804", Some(2));
    let down = format!(
        "var i = k; var n = 0;
         while i >= {MIN} {{ s += a[k - i]; n += 1; if n == 9 {{ return s; }} i -= 1; }}"
    );
    ends(&down, 4, "-9223372036854775805", Some(4));
}

#[test]
fn a_count_that_is_not_counted_down_to_zero() {
    ends(
        "var i = 3; while i != 0 { s += a[i]; i -= 1; }",
        4,
        "0",
        None,
    );
    ends(
        "var i = 3; while i != 0 { s += a[i]; i -= 1; }",
        3,
        "0",
        Some(3),
    );
    // Past zero without meeting it, and to another bound.
    ends(
        "var i = 3; while i != 0 { s += a[i]; i -= 2; }",
        4,
        "0",
        Some(-1),
    );
    ends(
        "var i = 3; while i != 5 { s += a[i]; i -= 1; }",
        4,
        "0",
        Some(-1),
    );
    let beside = "var i = 3; var j = 0; while i != 0 { s += a[j]; j += 1; i -= 2; }";
    ends(beside, 3, "0", Some(3));
    // Away from the bound.
    ends(
        "var i = 0; while i < 3 { s += a[i + 2]; i -= 1; }",
        4,
        "0",
        Some(-1),
    );
}

#[test]
fn a_counter_with_two_steps() {
    let work = "var i = 0; while i < 6 { s += a[i]; if s == k { i += 1; } else { i += 3; } }";
    ends(work, 6, "0", None);
    ends(work, 5, "0", Some(5));
    ends(work, 4, "1", None);
    ends(work, 3, "1", Some(3));
    let other = "var i = 0; while i < 6 { s += a[i]; if s == k { i += 3; } else { i += 1; } }";
    ends(other, 6, "1", None);
    ends(other, 5, "1", Some(5));
    ends(other, 4, "0", None);
}

#[test]
fn the_test_itself_indexes_once_more() {
    ends(
        "var i = 0; while i < 4 && a[i] == 0 { i += 1; } s = i;",
        4,
        "0",
        None,
    );
    ends("var i = 0; while a[i] == 0 { i += 1; }", 4, "0", Some(4));
    // The bound does not depend on the element, but the test reads it.
    ends(
        "var i = 0; while i < max(k, a[i] * 0) { i += 1; s += 1; }",
        4,
        "4",
        Some(4),
    );
    ends(
        "for i in 0..4 { if a[i + k] == 0 { s += 1; } }",
        4,
        "1",
        Some(4),
    );
}

#[test]
fn a_load_does_not_leave_the_loop_around_its_guard() {
    // The inner loop does not run; what it would read does not exist.
    ends(
        "let b = new int[2, 2]; for i in 0..2 { for j in 0..len(a) - 1 { s += b[k, k]; } }",
        1,
        "100",
        None,
    );
}

#[test]
fn the_room_of_a_call_is_asked_for_again_when_tasks_have_been_created() {
    // A task leaves 20 bytes behind; the frame of `wide` is larger than a task.
    let module = compile(
        "fn wide(x: int): int { return x * 3 + x * 5 + x * 7 + x * 9 + x * 11; }
        fn main() {
            print(wide(1));
            for i in 0..9 { async {} }
            print(wide(2));
        }",
    );
    let fast = for_speed(&module, Passes::NONE);
    let instructions = fast
        .functions
        .iter()
        .flat_map(|f| &f.blocks)
        .flat_map(|b| &b.instructions);
    assert!(
        instructions
            .map(|i| &i.op)
            .any(|op| matches!(op, Op::CallRoom(_)))
    );
    let mut outputs = std::collections::BTreeSet::new();
    for memory in (400..1_800).step_by(4) {
        let limits = Limits {
            memory,
            ..Limits::default()
        };
        let runs = same(&module, &fast, &[], limits, 100_000);
        let (before, _) = runs
            .unwrap_or_else(|e| panic!("{limits:?}: {e}"))
            .expect("it ends");
        outputs.insert((before.output, before.end == Some(Ok(()))));
    }
    // Too little for the first call, for the second one, and enough.
    assert_eq!(outputs.len(), 3, "{outputs:?}");
}
