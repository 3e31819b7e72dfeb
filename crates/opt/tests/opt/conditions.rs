//! What the passes that move, merge and cover checks have to ask for before they do, one small
//! program for each condition: without it, a race of the program is lost or one is won that is not
//! there. How many locations race is worked out by hand from the meaning of the program; every
//! subset of the passes must find as many, and the same.
//!
//! Each source is the body of a task `t` beside which the rest of the program runs; `g` and `h` are
//! globals, `a` is an array of eight ints.

use crate::common::{both_forms, compile};
use finishline_model::{Pass, Passes};

const FUEL: u64 = 100_000;

/// The three passes in every combination, and all passes there are.
fn subsets() -> Vec<Passes> {
    let three = [Pass::Ranges, Pass::LoopInvariant, Pass::Dominated];
    let mut subsets: Vec<Passes> = (0..8)
        .map(|bits| {
            (0..3)
                .filter(|at| bits >> at & 1 == 1)
                .map(|at| three[at])
                .collect()
        })
        .collect();
    subsets.push(Passes::ALL);
    subsets
}

/// Whether so many locations race when `body` runs in a task and `beside` next to it.
#[track_caller]
fn racing(expected: usize, body: &str, beside: &str) {
    let source = format!(
        "struct Cell {{ x: int }}
var g: int = 0;
var h: int = 0;
fn left() {{ g = 7; }}
fn t(a: int[], m: int[,], n: int) {{
    var s = 0;
    {body}
    print(s);
}}
fn main() {{
    let a = new int[8];
    let m = new int[2, 3];
    finish {{
        async t(a, m, 3);
        {beside}
    }}
}}"
    );
    let module = compile(&source);
    let found = both_forms::racing(&module, FUEL);
    assert_eq!(found, Some(expected), "of all checks\n{source}");
    for passes in subsets() {
        if let Err(error) = both_forms::same(&module, passes, FUEL) {
            panic!("{error}\n{source}");
        }
    }
}

#[test]
fn a_task_created_between_two_reads_is_beside_the_second_alone() {
    racing(1, "s = g; async g = 1; s += g;", "");
}

#[test]
fn a_task_created_in_a_call_between() {
    racing(1, "s = g; spawn left(); s += g; sync;", "");
}

#[test]
fn a_task_joined_between_two_reads_is_beside_the_first_alone() {
    racing(1, "finish { async g = 1; s = g; } g = 2;", "");
    racing(1, "spawn left(); s = g; sync; g = 2;", "");
}

#[test]
fn an_isolated_check_says_nothing_about_a_plain_one() {
    racing(1, "isolated g = 1; s = g;", "isolated g = 2;");
    racing(1, "s = g; isolated g = 1;", "isolated g = 2;");
}

#[test]
fn a_read_does_not_cover_a_write() {
    racing(1, "s = g; g = 1;", "h = g;");
}

#[test]
fn a_check_on_one_way_does_not_cover_what_is_behind_both() {
    racing(1, "if n > 5 { g = 1; } s = g;", "g = 2;");
    racing(1, "s = g; if n > 5 { g = 1; }", "g = 2;");
}

#[test]
fn the_next_iteration_has_another_element() {
    racing(
        3,
        "var i = 0; while true { a[i] = 1; i += 1; if i == n { break; } s += a[i]; }",
        "for j in 0..3 { h = a[j]; }",
    );
    racing(
        8,
        "for i in 0..8 { s += a[i]; a[7 - i] = 1; }",
        "for j in 0..8 { a[j] = 2; }",
    );
}

/// Of three elements that it could reach, the loop reads two: in the last iteration it stays where
/// it is, or goes on.
#[test]
fn what_goes_on_now_and_then_is_checked_as_far_as_it_got() {
    let beside = "for j in 0..8 { a[j] = 2; }";
    for (go_on, reads) in [
        ("w == 1", 2),
        ("w == 2", 1),
        ("w >= 1", 2),
        ("w < 9", 3),
        ("w > 9", 1),
    ] {
        let body = format!("var p = 0; for w in 0..n {{ s += a[p]; if {go_on} {{ p += 1; }} }}");
        racing(reads, &body, beside);
        let down = body.replace("p += 1", "p -= 1").replace("p = 0", "p = 5");
        racing(reads, &down, beside);
    }
    racing(
        0,
        "var p = 0; for w in n..n { s += a[p]; if w > 1 { p += 1; } }",
        beside,
    );
}

/// The same where the loop is left on the way, behind the access or in front of it.
#[test]
fn what_goes_on_now_and_then_may_be_left_on_the_way() {
    let beside = "for j in 0..8 { a[j] = 2; }";
    for (at, reads) in [(0, 1), (1, 1), (2, 2)] {
        let behind = format!(
            "var p = 0; for w in 0..n {{ s += a[p]; if w == {at} {{ break; }} if w == 1 {{ p += 1; }} }}"
        );
        racing(reads, &behind, beside);
    }
    for (at, reads) in [(0, 0), (1, 1), (2, 2)] {
        let in_front = format!(
            "var p = 0; for w in 0..n {{ if w == {at} {{ break; }} s += a[p]; if w == 0 {{ p += 1; }} }}"
        );
        racing(reads, &in_front, beside);
    }
}

#[test]
fn what_goes_on_where_it_is_accessed() {
    let beside = "for j in 0..8 { a[j] = 2; }";
    racing(
        2,
        "var p = 0; for w in 0..n { if w != 1 { s += a[p]; p += 1; } }",
        beside,
    );
    // It is accessed without going on.
    racing(
        3,
        "var p = 0; for w in 0..n { if w != 1 { s += a[p]; if w == 0 { p += 1; } } p += 0; s += a[5]; }",
        beside,
    );
    racing(
        2,
        "var p = 0; for w in 0..n { if w > 0 { s += a[p]; if w == 1 { p += 1; } } }",
        beside,
    );
    // It goes on without being accessed.
    racing(
        1,
        "var p = 0; for w in 0..n { if w == 1 { s += a[p]; } if w != 2 { p += 1; } }",
        beside,
    );
    racing(
        1,
        "var p = 0; for w in 0..n { if w == 1 { s += a[p]; p += 1; } else { p += 1; } }",
        beside,
    );
    // It goes on in another way.
    racing(
        2,
        "var p = 0; for w in 0..n { s += a[p]; if w == 0 { p += 1; } else { p = 0; } }",
        beside,
    );
    racing(
        2,
        "var p = 0; for w in 0..n { s += a[p]; if w == 0 { p += 2; } }",
        beside,
    );
    racing(
        2,
        "var p = 1; for w in 0..n { s += a[p]; if w == 0 { p += 1; } else { p -= 1; } }",
        beside,
    );
}

/// The check stands behind the place where it is decided whether to go on, too.
#[test]
fn what_stays_where_it_is_may_still_be_accessed() {
    racing(
        3,
        "var p = 0; for w in 0..n { let z = p; if w < 2 { s += a[z]; p += 1; } if w == 2 { s += a[z]; } }",
        "for j in 0..8 { a[j] = 2; }",
    );
}

/// Both branches make the check, or one of them.
#[test]
fn a_check_in_both_branches() {
    let beside = "for j in 0..8 { h = a[j]; } g = 2;";
    racing(
        4,
        "for w in 0..n { if w == 1 { a[w] = 1; g = 1; } else { a[w] = 2; g = 3; } }",
        beside,
    );
    racing(
        3,
        "for w in 0..n { if w == 1 { a[w] = 1; g = 1; } else { a[w] = 2; } if w == 1 { break; } }",
        beside,
    );
    racing(
        2,
        "for w in 0..n { if w == 1 { a[w] = 1; } else if w == 0 { a[w] = 2; } }",
        beside,
    );
    racing(
        2,
        "for w in 0..n { if w == 1 { s += a[w]; } else { a[w] = 2; } }",
        beside,
    );
}

/// The check at the end of an iteration and the one at the beginning of the next have one name.
#[test]
fn the_same_name_in_the_next_iteration_is_another_element() {
    racing(
        3,
        "var i = 0; while true { a[i] = 1; if i == n { break; } let k = i; async a[k] = 5; s += a[i]; i += 1; }",
        "",
    );
}

#[test]
fn a_check_that_was_not_made_covers_nothing() {
    racing(1, "for i in n..n { g = 1; } s = g;", "g = 2;");
    racing(1, "s = g; for i in n..n { g = 1; }", "g = 2;");
}

#[test]
fn a_task_created_in_the_loop_is_beside_the_next_iterations() {
    racing(1, "for i in 0..n { s += g; async g = 1; }", "");
    racing(
        3,
        "for i in 0..n { s += a[i]; let k = n - 1 - i; async a[k] = 1; } s += a[0] + a[1] + a[2];",
        "",
    );
}

#[test]
fn what_the_loop_waits_for_is_beside_its_first_iterations_alone() {
    racing(1, "spawn left(); for i in 0..n { s += g; sync; }", "");
    racing(
        1,
        "spawn left(); var i = 0; while i * i < n { s += g; sync; i += 1; }",
        "",
    );
}

#[test]
fn a_loop_that_never_runs_accesses_nothing() {
    racing(
        0,
        "for i in n..n { g = 1; a[i] = 2; s += a[i - 1] + a[i + 1]; }",
        "g = 3; for j in 0..8 { a[j] = 4; }",
    );
    racing(0, "var i = n; while i < n { g = 1; i += 1; }", "g = 3;");
    // Two ranges that go along, of a loop whose bounds are known only when it is there.
    racing(
        0,
        "for i in n..len(a) - 6 { s += a[i] + a[i + 1]; }",
        "for j in 0..8 { a[j] = 4; }",
    );
    racing(
        0,
        "for i in n..n { for j in 0..3 { m[i - n, j] = g; } }",
        "g = 3; m[0, 0] = 1;",
    );
}

#[test]
fn a_loop_that_leaves_before_the_access() {
    racing(
        0,
        "for i in 0..n { if i == 0 { break; } g = 1; a[i] = 1; }",
        "g = 3; a[0] = 4;",
    );
    racing(
        1,
        "for i in 0..n { if i == 1 { break; } a[i] = 1; }",
        "for j in 0..8 { a[j] = 4; }",
    );
    racing(
        2,
        "for i in 0..n { a[i] = 1; if i == 1 { break; } }",
        "for j in 0..8 { a[j] = 4; }",
    );
    racing(
        1,
        "for i in 0..n { g = 1; if i == 1 { return; } }",
        "g = 3;",
    );
}

/// How often the check has been made where control leaves depends on the way there: in the inner
/// loop it is behind the way out, but for the iterations before. There are more ways out of that
/// loop than it has checks behind it for.
#[test]
fn a_way_out_before_the_access_and_behind_it() {
    let ways_out =
        "if s == 5 { break; } if s == 6 { break; } if s == 7 { break; } if s == 8 { break; }";
    for (access, beside) in [("g = 1;", "g = 3;"), ("a[i] = 1;", "a[0] = 3;")] {
        racing(
            1,
            &format!(
                "for i in 0..n {{
                    var j = 0;
                    while true {{
                        if j * j == 1 {{ return; }}
                        {access}
                        s += i;
                        {ways_out}
                        j += 1;
                    }}
                }}"
            ),
            beside,
        );
    }
}

#[test]
fn an_access_that_some_iterations_make() {
    racing(
        1,
        "for i in 0..n { if i == 2 { a[i] = 1; } }",
        "for j in 0..8 { a[j] = 4; }",
    );
    racing(0, "for i in 0..n { if i == 5 { g = 1; } }", "g = 4;");
    racing(
        2,
        "for i in 0..n { if i == 1 { continue; } a[i] = 1; }",
        "for j in 0..8 { a[j] = 4; }",
    );
}

#[test]
fn steps_and_directions() {
    racing(
        2,
        "for i in 0..n step 2 { a[i] = 1; }",
        "for j in 0..8 { a[j] = 4; }",
    );
    racing(
        3,
        "for i in n..0 step -1 { a[i] = 1; }",
        "for j in 0..8 { a[j] = 4; }",
    );
    racing(
        3,
        "for i in 0..n { a[7 - 2 * i] = 1; }",
        "for j in 0..8 { a[j] = 4; }",
    );
    racing(
        1,
        "for i in 0..n { a[i * 0 + 2] = 1; }",
        "for j in 0..8 { a[j] = 4; }",
    );
}

#[test]
fn ranges_that_go_along_leave_out_what_lies_between() {
    // One iteration: a[1] and a[3], not a[2].
    racing(
        2,
        "for i in 2..n { s += a[i - 1] + a[i + 1]; }",
        "for j in 0..8 { a[j] = 4; }",
    );
    // Every other i: a[0], a[2], a[4], one range.
    racing(
        3,
        "for i in 1..4 step 2 { s += a[i - 1] + a[i + 1]; }",
        "for j in 0..8 { a[j] = 4; }",
    );
    racing(
        3,
        "for i in 3..0 step -2 { s += a[i - 1] + a[i + 1]; }",
        "for j in 0..8 { a[j] = 4; }",
    );
}

#[test]
fn ranges_that_are_further_apart_than_they_are_long() {
    for (expected, body) in [
        // 0 and 2; 0, 1 and 2, 3; 0, 1, 2 and 2, 3, 4.
        (2, "for i in 0..n - 2 { s += a[i] + a[i + 2]; }"),
        (4, "for i in 0..n - 1 { s += a[i] + a[i + 2]; }"),
        (5, "for i in 0..n { s += a[i] + a[i + 2]; }"),
        (0, "for i in 3..n { s += a[i] + a[i + 2]; }"),
        // 0, 1 and 5, 6 and 6, 7.
        (5, "for i in 0..n - 1 { s += a[i] + a[i + 5] + a[i + 6]; }"),
        // 7, 6 and 5, 4; 7 and 4.
        (4, "for i in 0..n - 1 { s += a[7 - i] + a[5 - i]; }"),
        (2, "for i in 0..n - 2 { s += a[7 - i] + a[4 - i]; }"),
        // 0, 2 and 4, 6; 0, 2 and 3, 5; 0 and 4.
        (4, "for i in 0..n step 2 { s += a[i] + a[i + 4]; }"),
        (4, "for i in 0..n step 2 { s += a[i] + a[i + 3]; }"),
        (2, "for i in 0..n step 4 { s += a[i] + a[i + 4]; }"),
        // Known before the run.
        (2, "for i in 0..1 { s += a[i] + a[i + 2]; }"),
        (5, "for i in 0..3 { s += a[i] + a[i + 2]; }"),
    ] {
        racing(expected, body, "for j in 0..8 { a[j] = 4; }");
    }
    racing(
        2,
        "for i in 0..n - 1 { s += a[i]; a[i + 2] = 1; }",
        "for j in 0..8 { h = a[j]; }",
    );
}

#[test]
fn the_rows_of_an_array_that_is_not_there() {
    for rows in [
        "for i in 0..n - 3 { for j in 0..3 { s += q[i, j]; g = 1; } }",
        "for i in 0..n - 1 { for j in 3..n { q[i, j] = 1; } }",
    ] {
        let body = format!("let q: int[,] = n > 5 ? m : null; {rows}");
        racing(0, &body, "g = 2; m[0, 0] = 5;");
    }
}

#[test]
fn a_field_of_an_object_that_is_not_there() {
    for fields in [
        "for i in 0..n { q.x = i; }",
        "for i in 3..n { q.x = i; }",
        "while q.x < n { q.x += 1; }",
    ] {
        let body = format!("let q: Cell = n > 5 ? new Cell() : null; {fields}");
        racing(0, &body, "g = 2;");
    }
}

#[test]
fn rows_and_what_lies_between_them() {
    for (expected, rows) in [
        (6, "for i in 0..2 { for j in 0..3 { m[i, j] = 1; } }"),
        (4, "for i in 0..2 { for j in 0..2 { m[i, j] = 1; } }"),
        (2, "for i in 0..2 { for j in 2..3 { m[i, j] = 1; } }"),
        (3, "for i in 0..2 { for j in 0..i + 1 { m[i, j] = 1; } }"),
        (6, "for j in 0..3 { for i in 0..2 { m[i, j] = 1; } }"),
        (4, "for i in 0..2 { for j in 0..3 step 2 { m[i, j] = 1; } }"),
    ] {
        let others = "for i in 0..2 { for j in 0..3 { m[i, j] = 5; } }";
        racing(expected, rows, others);
        racing(expected, &format!("s = len(m, 1); {rows}"), others);
    }
}

#[test]
fn rows_of_one_array() {
    for (expected, rows) in [
        // 0, 1, 2 and 3, 4, 5: one range.
        (6, "for i in 0..2 { for j in 0..3 { a[3 * i + j] = 1; } }"),
        // 0, 2 and 4, 6: one range of every other element.
        (
            4,
            "for i in 0..2 { for j in 0..2 { a[4 * i + 2 * j] = 1; } }",
        ),
        // 0, 1 and 3, 4, without 2; also if it is not known before the run that the rows are so
        // short.
        (4, "for i in 0..2 { for j in 0..2 { a[3 * i + j] = 1; } }"),
        (
            4,
            "for i in 0..2 { for j in 0..len(a) - 6 { a[3 * i + j] = 1; } }",
        ),
        (
            6,
            "for i in 0..2 { for j in 0..len(a) - 5 { a[3 * i + j] = 1; } }",
        ),
        // 0, 1 and 1, 2.
        (3, "for i in 0..2 { for j in 0..2 { a[i + j] = 1; } }"),
        // 5, 6, 7 and 2, 3, 4.
        (
            6,
            "for i in 0..2 { for j in 0..3 { a[5 - 3 * i + j] = 1; } }",
        ),
        // No row, and rows of nothing.
        (
            0,
            "for i in n..len(a) - 6 { for j in 0..2 { a[j + 2 * i] = 1; } }",
        ),
        (
            0,
            "for i in 0..2 { for j in n..len(a) - 6 { a[3 * i + j] = 1; } }",
        ),
    ] {
        racing(expected, rows, "for j in 0..8 { a[j] = 5; }");
    }
}

#[test]
fn a_loop_in_an_isolated_block_and_around_one() {
    racing(
        3,
        "isolated { for i in 0..n { a[i] = 1; } }",
        "for j in 0..8 { a[j] = 4; }",
    );
    racing(
        0,
        "isolated { for i in 0..n { a[i] = 1; } }",
        "isolated { for j in 0..8 { a[j] = 4; } }",
    );
    racing(
        0,
        "for i in 0..n { isolated { a[i] = 1; g += 1; } }",
        "isolated { for j in 0..8 { a[j] = g; } }",
    );
}
