//! Where control comes, and who waits.

use super::kept;
use finishline_answer::Verdict;
use std::collections::BTreeSet;

/// The first `break` ends a loop, whichever it is.
#[test]
fn several_breaks() {
    let kept = kept(
        "var g: int;
fn main(n: int) {
    for i in 0..9 {
        if i == n { break; }
        if i == 4 { break; }
        async g = i;
    }
}
",
    );
    for n in -1_i64..7 {
        let tasks = if (0..4).contains(&n) { n } else { 4 };
        assert_eq!(
            kept.races(&[n]).len() as i64,
            tasks * (tasks - 1) / 2,
            "{n}"
        );
    }
}

/// Whether an inner loop returns depends on a value that each of its iterations computes anew.
#[test]
fn a_return_from_two_loops_by_a_value_of_the_inner_one() {
    let kept = kept(
        "var g: int;
fn main(n: int) {
    for i in 0..2 {
        var u = n;
        for j in n % 2..2 {
            let v = u;
            if v < n { return; }
            u = u - 1;
        }
    }
    async g = 1;
    g = 2;
}
",
    );
    let race = BTreeSet::from([[(11, vec![]), (12, vec![])]]);
    for n in -3..4 {
        // The inner loop then runs once, and u is n there.
        let comes_there = n % 2 == 1;
        let expected = if comes_there {
            race.clone()
        } else {
            BTreeSet::new()
        };
        assert_eq!(kept.races(&[n]), expected, "{n}");
    }
}

/// Control comes back from a function that returns in a loop, but not if it failed before.
#[test]
fn a_return_from_a_loop_after_an_assertion() {
    let kept = kept(
        "var g: int;
fn f(n: int) {
    assert(n > 5);
    for i in 0..n {
        if i == 3 { return; }
    }
}
fn main(n: int) {
    f(n);
    async g = 1;
    g = 2;
}
",
    );
    let race = BTreeSet::from([[(10, vec![]), (11, vec![])]]);
    for n in 3..8 {
        let expected = if n > 5 { race.clone() } else { BTreeSet::new() };
        assert_eq!(kept.races(&[n]), expected, "{n}");
    }
}

/// Control does not come past a loop that returned, and a return after the one that ended the loop
/// counts for nothing.
#[test]
fn returns_from_loops() {
    let kept = kept(
        "var g: int;
fn f(n: int) {
    for i in 0..4 {
        if i == 1 { break; }
        if i == n { return; }
    }
    async g = 1;
    for i in 0..2 {
        if i == n { return; }
    }
    g = 2;
}
fn main(n: int) {
    finish f(n);
}
",
    );
    let race = BTreeSet::from([[(7, vec![]), (11, vec![])]]);
    for n in -1..4 {
        let returns = n == 0 || n == 1;
        let expected = if returns {
            BTreeSet::new()
        } else {
            race.clone()
        };
        assert_eq!(kept.races(&[n]), expected, "{n}");
    }
}

/// A return that an inner loop never comes to does not end the outer one.
#[test]
fn a_return_after_a_break() {
    let kept = kept(
        "var g: int;
fn f(n: int) {
    for j in 0..2 {
        for i in 0..4 {
            if i == 1 { break; }
            if i == n { return; }
        }
        async g = j;
    }
}
fn main(n: int) {
    finish f(n);
}
",
    );
    let race = BTreeSet::from([[(8, vec![0]), (8, vec![1])]]);
    assert_eq!(kept.races(&[0]), BTreeSet::new());
    for n in 1..4 {
        assert_eq!(kept.races(&[n]), race, "{n}");
    }
}

/// Nothing runs past an assertion that fails. One on data makes nothing doubtful: if it fails there
/// is nothing to judge.
#[test]
fn behind_an_assertion() {
    let kept = kept(
        "var g: int;
fn main(n: int) {
    let x = 3.5;
    assert(n > 3);
    assert(x > 1.0);
    async g = 1;
    g = 2;
}
",
    );
    let in_a_function = self::kept(
        "var g: int;
fn positive(n: int): int { assert(n > 3); return n; }
fn main(n: int) {
    let m = positive(n);
    async g = m;
    g = 2;
}
",
    );
    for kept in [kept, in_a_function] {
        assert_eq!(kept.verdict(), Verdict::Race);
        for n in 2..6 {
            assert_eq!(kept.races(&[n]).len(), usize::from(n > 3), "{n}");
        }
    }
}

/// How often a loop runs whose step is a parameter is not known, nor whether it returns.
#[test]
fn a_step_that_is_a_parameter() {
    for body in [
        "async g = i;",
        "if i == 3 { return; } } async g = 1; g = 2; {",
    ] {
        let kept = kept(&format!(
            "var g: int;
fn main(n: int, k: int) {{
    for i in 0..n step k {{ {body} }}
}}
"
        ));
        assert_eq!(kept.verdict(), Verdict::Unknown, "{body}");
        assert_eq!(kept.races(&[0, 1]), BTreeSet::new(), "{body}");
    }
}

/// A `sync` in an iteration that a `break` prevents waits for nothing.
#[test]
fn a_sync_behind_a_break() {
    let kept = kept(
        "fn one(a: int[]) { a[0] = 1; }
fn main(n: int) {
    let a = new int[1];
    spawn one(a);
    for i in 0..5 {
        if i == n { break; }
        sync;
    }
    a[0] = 2;
}
",
    );
    for n in -1..6 {
        assert_eq!(kept.races(&[n]).len(), usize::from(n == 0), "{n}");
    }
}

/// A `sync` that may not be reached may not wait: nothing is certain then, one way or the other.
#[test]
fn a_sync_that_may_not_be_reached() {
    let kept = kept(
        "fn one(a: int[]) { a[0] = 1; }
fn main() {
    let a = new int[1];
    let x = 0.5;
    for i in 0..5 {
        if i == 2 { sync; }
        if i == 1 {
            spawn one(a);
            if x > 1.0 { break; }
        }
    }
    a[0] = 2;
}
",
    );
    assert_eq!(kept.verdict(), Verdict::Unknown);
    assert_eq!(kept.races(&[]), BTreeSet::new());
}

/// A finish opened and ended in one block may have others inside.
#[test]
fn dynamic_finishes_in_one_block() {
    let kept = kept(
        "var g: int;
var h: int;
fn main() {
    begin_finish;
    async g = 1;
    begin_finish;
    async h = 1;
    end_finish;
    h = 2;
    end_finish;
    g = 2;
}
",
    );
    assert_eq!(kept.verdict(), Verdict::Proved);
}

/// A `begin_finish` is paired with what comes at run time, however the text looks. Each of these
/// races.
#[test]
fn finishes_that_are_not_what_they_look_like() {
    let bodies = [
        "f(A, n); A[0] = 2; if n == 1 { end_finish; }",
        "begin_finish; { end_finish; } async { A[0] = 1; } { begin_finish; } end_finish; A[0] = 2;",
        "begin_finish; async { A[0] = 1; } { begin_finish; } end_finish; A[0] = 2; { end_finish; }",
        "begin_finish; close(); async { A[0] = 1; } open(); end_finish; A[0] = 2;",
        "for i in 0..2 { begin_finish; async { A[0] = i; } if i == 0 { continue; } end_finish; } end_finish;",
        "for i in 0..2 { begin_finish; async { A[0] = i; } if i == 0 { break; } end_finish; } A[0] = 2; end_finish;",
    ];
    for body in bodies {
        let kept = kept(&format!(
            "fn f(A: int[], n: int) {{
    begin_finish;
    async {{ A[0] = 1; }}
    if n == 1 {{ return; }}
    end_finish;
}}
fn open() {{ begin_finish; }}
fn close() {{ end_finish; }}
fn main(n: int) {{
    let A = new int[1];
    {body}
}}
"
        ));
        assert_ne!(kept.verdict(), Verdict::Proved, "{body}");
    }
}

/// One that is closed where it was opened, in whatever loop or task that is, is a finish.
#[test]
fn finishes_that_are_what_they_look_like() {
    let bodies = [
        "begin_finish; async { A[0] = 1; } end_finish; A[0] = 2;",
        "for i in 0..n { begin_finish; for j in 0..2 { if j == n { break; } async { A[j] = i; } } end_finish; }",
        "finish async { begin_finish; async { begin_finish; async { A[0] = 1; } end_finish; A[0] = 2; } end_finish; A[0] = 3; }",
        "for i in 0..n { if i == 2 { continue; } begin_finish; async { A[0] = i; } end_finish; }",
    ];
    for body in bodies {
        let kept = kept(&format!(
            "fn main(n: int) {{ let A = new int[2]; {body} A[1] = 1; }}"
        ));
        assert_eq!(kept.verdict(), Verdict::Proved, "{body}");
    }
}

/// Control does not come past a loop that never ends.
#[test]
fn loops_that_do_not_end() {
    let kept = |body: &str| {
        kept(&format!(
            "var g: int;
fn main(n: int) {{
    {body}
    async g = 1;
    g = 2;
}}
"
        ))
    };
    for body in [
        "while true { }",
        "var i = 0; while i != -1 { i = i + 2; }",
        "while n == n { if n != n { break; } }",
    ] {
        assert_eq!(kept(body).verdict(), Verdict::Proved, "{body}");
    }
    let race = BTreeSet::from([[(4, vec![]), (5, vec![])]]);
    // For which n each of these ends.
    let ends = [
        ("while n > 2 { }", vec![-3, -2, -1, 0, 1, 2]),
        ("while true { if n == 3 { break; } }", vec![3]),
        ("var i = n; while i != 4 { i = i + 2; }", vec![-2, 0, 2, 4]),
    ];
    for (body, ends) in ends {
        let kept = kept(body);
        for n in -3..8 {
            let expected = match ends.contains(&n) {
                true => race.clone(),
                false => BTreeSet::new(),
            };
            assert_eq!(kept.races(&[n]), expected, "{body} {n}");
        }
    }
}

/// What counts a loop need not be changed once, at its end, by a literal. Task i of these writes
/// `a[i]`, for i from 0 below n.
#[test]
fn loops_that_count_in_other_ways() {
    let counts = [
        "let one = 1; while i < n { async a[k] = 1; i = i + one; k = k + one; }",
        "while i < 2 * n { i = i + 1; async a[k] = 1; k = k + 1; i = i + 1; }",
        "while i < n { let at = k; i = i + 1; k = k + 1; if at == 7 { continue; } async a[at] = 1; }",
        "while i < n { async a[k] = 1; for j in 0..3 { if j == i { continue; } } i = i + 1; k = k + 1; }",
        "while i < n { async a[k] = 1; { k = k + 2; } k = k - 1; i = i + 1; }",
    ];
    let program = |body: &str, first: &str| {
        kept(&format!(
            "fn main(n: int) {{
    let a = new int[n + 1];
    var i = 0;
    var k = {first};
    finish {{
        async a[3] = 2;
        {}
    }}
}}
",
            body.replace("async a[k]", "let now = k; async a[now]")
        ))
    };
    for body in counts {
        let from_four = program(body, "4");
        assert_eq!(from_four.verdict(), Verdict::Proved, "{body}");
        let from_zero = program(body, "0");
        for n in 0..6 {
            let expected = usize::from(n > 3);
            assert_eq!(from_zero.races(&[n]).len(), expected, "{body} {n}");
        }
    }
    // A `continue` before it, a condition around it, or a step that changes: nobody knows how
    // often.
    for body in [
        "while i < n { let now = k; async a[now] = 1; i = i + 1; if i == 2 { continue; } k = k + 1; }",
        "while i < n { let now = k; async a[now] = 1; i = i + 1; if i == 2 { k = k + 1; } k = k + 1; }",
        "var s = 1; while i < n { let now = k; async a[now] = 1; i = i + 1; k = k + s; s = 0; }",
    ] {
        assert_eq!(program(body, "4").verdict(), Verdict::Unknown, "{body}");
    }
}
