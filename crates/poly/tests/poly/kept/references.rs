//! Which object a reference refers to, and what it has.

use super::kept;
use finishline_answer::Verdict;
use std::collections::BTreeSet;

/// A write that may not happen overwrites nothing. Which of two accesses is to what may have been
/// replaced does not matter.
#[test]
fn a_reference_that_may_have_been_replaced() {
    for (first, second) in [("s.row[0]", "a[0]"), ("a[0]", "s.row[0]")] {
        let kept = kept(&format!(
            "struct S {{ row: int[] }}
fn main() {{
    let s = new S();
    let f = new float[1];
    let a = new int[1];
    s.row = a;
    if f[0] > 0.0 {{
        s.row = new int[1];
    }}
    async {first} = 1;
    {second} = 2;
}}
"
        ));
        assert_eq!(kept.verdict(), Verdict::Unknown, "{first}");
    }
}

/// A variable that an iteration replaces has its old value in the first one.
#[test]
fn a_reference_in_the_first_iteration() {
    let kept = kept(
        "fn main(n: int) {
    let one = new int[1];
    let two = new int[1];
    async one[0] = 1;
    var it = one;
    for i in 0..n {
        let now = it;
        if i == 0 { now[0] = 2; }
        it = two;
    }
}
",
    );
    assert_ne!(kept.verdict(), Verdict::Proved);
}

/// What a variable holds after a loop is of some iteration, nobody knows which.
#[test]
fn an_object_of_the_last_iteration() {
    let made_there = kept(
        "struct S { x: int }
fn main(n: int) {
    let all = new S[max(n, 0)];
    var it: S = null;
    for i in 0..n {
        it = new S();
        all[i] = it;
    }
    let last = it;
    async last.x = 1;
    all[0].x = 2;
}
",
    );
    let chosen_there = kept(
        "struct S { x: int }
fn main(n: int) {
    let flags = new int[max(n, 0)];
    for i in 0..n { flags[i] = i % 2; }
    let one = new S();
    let other = new S();
    var it: S = null;
    for i in 0..n {
        if flags[i] > 0 { it = one; } else { it = other; }
    }
    let last = it;
    async last.x = 1;
    one.x = 2;
}
",
    );
    for kept in [made_there, chosen_there] {
        assert_eq!(kept.verdict(), Verdict::Unknown);
        assert_eq!(kept.races(&[3]), BTreeSet::new());
    }
}

/// One of two objects, nobody knows which: neither its length is known, nor what is chosen from it
/// and another.
#[test]
fn one_of_two_objects() {
    let length = kept(
        "fn main(n: int) {
    let one = new int[2];
    let two = new int[3];
    let far = new int[9];
    var last = one;
    for i in 0..n { last = two; }
    let length = len(last);
    async far[length] = 1;
    far[2] = 2;
}
",
    );
    assert_eq!(length.verdict(), Verdict::Unknown);
    assert_eq!(length.races(&[1]), BTreeSet::new());
    let chosen = kept(
        "struct S { x: int }
fn main(n: int) {
    let one = new S();
    let two = new S();
    var last = one;
    for i in 0..n { last = two; }
    let it = n > 0 ? last : one;
    async it.x = 1;
    one.x = 2;
}
",
    );
    assert_eq!(chosen.verdict(), Verdict::Unknown);
    assert_eq!(chosen.races(&[1]), BTreeSet::new());
}

/// An index out of bounds ends the program, so no race is beyond. An array of unknown length has
/// whatever is accessed.
#[test]
fn races_are_within_bounds() {
    let known = kept(
        "fn main(n: int) {
    let a = new int[n];
    finish { async a[5] = 1; a[5] = 2; }
}
",
    );
    assert_eq!(known.races(&[5]), BTreeSet::new());
    assert_eq!(known.races(&[6]).len(), 1);
    let unknown = kept(
        "fn main() {
    let x = 3.5;
    let a = new int[int(x)];
    finish { async a[0] = 1; a[0] = 2; }
}
",
    );
    assert_eq!(unknown.verdict(), Verdict::Race);
}

/// The length of an array is that of the iteration in which it was made, not of the one that looks
/// at it.
#[test]
fn the_length_of_an_array_from_an_earlier_iteration() {
    let kept = kept(
        "fn main(n: int) {
    let lengths = new int[n];
    for i in 0..n {
        if i == 0 { lengths[i] = 5; } else { lengths[i] = 1; }
    }
    let rows = new int[n][];
    for i in 0..n {
        rows[i] = new int[lengths[i]];
        async rows[0][3] = i;
    }
}
",
    );
    assert_eq!(kept.verdict(), Verdict::Race);
    assert_eq!(
        kept.races(&[2]),
        BTreeSet::from([[(9, vec![0]), (9, vec![1])]])
    );
}

/// What a reference held where an iteration was left is what the next one, or what comes after the
/// loop, finds. Each of these races.
#[test]
fn references_where_iterations_are_left() {
    let loops = [
        "for i in 0..n { if i == 0 { p = B; continue; } p = A; }",
        "for i in 0..3 { p = B; if i == 1 { break; } p = A; }",
        "for i in 0..4 { if i == 3 { p = B; break; } }",
        "var k = 0; while k < 4 { k = k + 1; if k == 3 { p = B; break; } }",
        "var k = 0; while k < 4 { k = k + 1; if k == 4 { p = B; continue; } p = A; }",
        "for i in 0..4 { if i == 3 { break; } let t = p; p = q; q = t; }",
        "for i in 0..4 { if i == 1 { continue; } let t = p; p = q; q = t; }",
        "for i in 0..2 { if i == 1 { p[0] = 2; } if i == 0 { p = B; continue; } p = A; }",
        "for i in 0..4 { if i == 2 { p[0] = 2; } if i == 1 { continue; } let t = p; p = q; q = t; }",
    ];
    for body in loops {
        let kept = kept(&format!(
            "fn main(n: int) {{
    let A = new int[1];
    let B = new int[1];
    var p = A;
    var q = B;
    finish {{
        async {{ B[0] = 1; }}
        {body}
        p[0] = 3;
    }}
}}
"
        ));
        assert_ne!(kept.verdict(), Verdict::Proved, "{body}");
    }
}
