//! What expressions and variables are worth.

use super::{OPTIONS, kept};
use finishline_answer::Verdict;
use finishline_poly::prove;
use std::collections::BTreeSet;

/// What a read gives was defined only where the read happens, and a choice that takes it there lost
/// all other instances.
#[test]
fn a_choice_that_reads_in_one_case() {
    let kept = kept(
        "var g: int;
fn main(n: int) {
    let a = new int[24];
    async {
        var w = 0;
        if n > 0 {
            w = g;
        }
        a[w + 12] = 0;
    }
    a[12] = 0;
}
",
    );
    assert_eq!(kept.verdict(), Verdict::Race);
    for n in -1..=1 {
        assert_eq!(
            kept.races(&[n]),
            BTreeSet::from([[(9, vec![]), (11, vec![])]])
        );
    }
}

/// The same for a result, and for a condition on what was read that came to nothing.
#[test]
fn a_result_and_a_condition_that_read_in_one_case() {
    let result = kept(
        "var g: int;
fn f(i: int): int {
    if 0 == i { return g; }
    return i;
}
fn main(n: int) {
    let a = new int[24];
    async a[f(n) + 12] = 0;
    a[n + 12] = 0;
}
",
    );
    assert_eq!(result.verdict(), Verdict::Race);
    assert_eq!(
        result.races(&[-1]),
        BTreeSet::from([[(8, vec![]), (9, vec![])]])
    );
    let condition = kept(
        "var g: int;
fn main(n: int) {
    let a = new int[1];
    if 0 != n {
        if abs(g % 3) >= n && n == 1 {}
    }
    for i in 1..-1 step -1 {
        async a[0] = 0;
    }
}
",
    );
    assert_eq!(condition.verdict(), Verdict::Race);
    assert_eq!(
        condition.races(&[0]),
        BTreeSet::from([[(8, vec![0]), (8, vec![1])]])
    );
}

/// A value computed from something unknown was taken for a constant, so that nobody doubted it.
#[test]
fn an_argument_that_is_read() {
    let kept = kept(
        "var g: int;
fn f(i: int, p: int[]) {
    async p[13] = 0;
    p[0] = p[i + 12];
}
fn main() {
    f(g % 3, new int[24]);
}
",
    );
    assert_eq!(kept.verdict(), Verdict::Proved);
}

/// Globals that start with a value other than 0 were taken to start with 0.
#[test]
fn a_global_with_a_literal() {
    let kept = kept(
        "var g: int = 5;
fn main() {
    let a = new int[9];
    async a[g] = 1;
    a[5] = 2;
}
",
    );
    assert_eq!(kept.verdict(), Verdict::Race);
    assert_eq!(
        kept.races(&[]),
        BTreeSet::from([[(4, vec![]), (5, vec![])]])
    );
}

/// Two symbols of a set became one: the counters of the second access had no bounds.
#[test]
fn a_value_that_tasks_of_a_loop_exchange() {
    let kept = kept(
        "var g: int;
fn main(n: int) {
    let a = new int[3];
    for k in n..1 {
        async {
            g = n;
            a[abs(g)] = 0;
        }
    }
}
",
    );
    let races = kept.races(&[-1]);
    // All of one iteration that touch `g` or `a[1]` with all of the other, but two reads of `g`.
    let expected = [(6, 6), (6, 7), (7, 6), (7, 7)]
        .map(|(first, second)| [(first, vec![-1]), (second, vec![0])]);
    let ordered = races.into_iter().map(|[one, other]| {
        if one.1 < other.1 {
            [one, other]
        } else {
            [other, one]
        }
    });
    assert_eq!(ordered.collect::<BTreeSet<_>>(), BTreeSet::from(expected));
}

/// A condition that was assigned under another one is the old one elsewhere, and only there.
#[test]
fn a_condition_that_is_chosen() {
    let kept = kept(
        "fn main(n: int) {
    let a = new int[1];
    var both = n > 5;
    if n > 7 { both = n > 9; }
    if both {
        async a[0] = 1;
        a[0] = 2;
    }
}
",
    );
    for n in 4..12 {
        let expected = usize::from(n == 6 || n == 7 || n > 9);
        assert_eq!(kept.races(&[n]).len(), expected, "{n}");
    }
}

/// All operators on conditions.
#[test]
fn conditions_on_conditions() {
    type Operator = (&'static str, fn(bool, bool) -> bool);
    let operators: [Operator; 7] = [
        ("&&", |a, b| a && b),
        ("||", |a, b| a || b),
        ("&", |a, b| a & b),
        ("|", |a, b| a | b),
        ("^", |a, b| a ^ b),
        ("==", |a, b| a == b),
        ("!=", |a, b| a != b),
    ];
    for (operator, holds) in operators {
        let kept = kept(&format!(
            "var g: int;
fn main(n: int) {{
    async g = 1;
    if (n > 2) {operator} !(n > 5) {{ g = 2; }}
}}
"
        ));
        for n in 1..8 {
            let expected = usize::from(holds(n > 2, n <= 5));
            assert_eq!(kept.races(&[n]).len(), expected, "{operator} {n}");
        }
    }
}

/// Operands that are not evaluated access nothing.
#[test]
fn operands_of_or() {
    let kept = kept(
        "fn main(n: int) {
    let a = new int[1];
    async a[0] = 1;
    if n > 3 || a[0] == 1 { print(n); }
}
",
    );
    for n in 2..6 {
        assert_eq!(kept.races(&[n]).len(), usize::from(n <= 3), "{n}");
    }
}

/// A variable that is assigned in each iteration counts, however that is written; one that is
/// assigned in some does not.
#[test]
fn variables_that_count() {
    let kept = |steps: &str| {
        kept(&format!(
            "fn main(n: int) {{
    let a = new int[99];
    var k = 0;
    for i in 0..n {{ {steps} }}
    let last = k;
    async a[last] = 1;
    a[4] = 2;
}}
"
        ))
    };
    for steps in ["k = 2 + k;", "k = k + 1; k = k + 1;"] {
        let each = kept(steps);
        assert_eq!(each.verdict(), Verdict::Race);
        for n in 0..6 {
            assert_eq!(each.races(&[n]).len(), usize::from(n == 2), "{n}");
        }
    }
    let some = kept("k = k + 1; if i != 9 { k = k + 1; }");
    for n in 0..6 {
        assert_eq!(some.races(&[n]).len(), 0, "{n}");
    }
}

/// How often a loop ran that may break is not known, and neither is what it left in a variable.
#[test]
fn a_variable_after_a_break() {
    let kept = kept(
        "fn main(n: int) {
    let a = new int[12];
    var k = 0;
    for i in 0..4 {
        if i == n { break; }
        k += 1;
    }
    let w = k;
    async a[w] = 1;
    a[4] = 2;
}
",
    );
    assert_ne!(kept.verdict(), Verdict::Proved);
    assert_eq!(kept.races(&[1]), BTreeSet::new());
}

/// A variable does not change in an iteration that goes on with the next before.
#[test]
fn a_variable_and_continue() {
    let kept = kept(
        "fn main(n: int) {
    let a = new int[12];
    var k = 0;
    for i in 0..3 {
        let w = k;
        async a[w] = 1;
        if i == n { continue; }
        k += 1;
    }
}
",
    );
    assert_ne!(kept.verdict(), Verdict::Proved);
}

/// An access is harmless for the arguments of which something is claimed. Sums wrap around without
/// harm, comparisons of what may have wrapped around don't.
#[test]
fn what_is_harmless_depends_on_the_arguments() {
    let sum = kept(
        "fn main(n: int) {
    let a = new int[10];
    forall i in 0..2 { a[i + n - n] = 1; }
}
",
    );
    let answer = prove(&sum.program, &OPTIONS);
    assert_eq!(answer.proof.verdict, Verdict::Proved);
    assert!(answer.proof.proof().expect("a proof").range.is_empty());
    for n in [5, -5, 1 << 40, i64::MIN, i64::MAX] {
        assert_eq!(answer.harmless(&[Some(n)]).len(), 1, "{n}");
    }
    let comparison = kept(
        "fn main(n: int) {
    let a = new int[10];
    forall i in 0..2 { a[i] = 1; if n + 1 < n { a[0] = 2; } }
}
",
    );
    let answer = prove(&comparison.program, &OPTIONS);
    assert_eq!(answer.proof.verdict, Verdict::Proved);
    let range = &answer.proof.proof().expect("a proof").range[0];
    assert_eq!((range.least, range.greatest), (None, Some(1 << 62)));
    for (n, harmless) in [(5, 2), (i64::MIN, 2), (i64::MAX - 1, 2), (i64::MAX, 0)] {
        assert_eq!(answer.harmless(&[Some(n)]).len(), harmless, "{n}");
    }
}

/// How far a proof goes: nothing in these programs wraps around, so no input is excluded.
#[test]
fn no_input_is_excluded_without_need() {
    for (rule, parameters, body) in [
        (
            "a size is small",
            "n: int",
            "let s = new int[n]; if n + 1 < n { a[0] = 2; }",
        ),
        (
            "a size is not negative",
            "n: int",
            "let s = new int[n]; if n - 1 > n { a[0] = 2; }",
        ),
        (
            "sizes of an array with elements are small",
            "n: int, m: int",
            "let s = new int[n, m]; if n > 0 && m + 1 < m { a[0] = 2; }",
        ),
        (
            "a stored size is small",
            "n: int",
            "let s = new int[n]; g = n + 1; if g < n { a[0] = 2; }",
        ),
        (
            "control is not there",
            "n: int",
            "if n < 5 { if n + 1 < n { a[0] = 2; } }",
        ),
        (
            "a write is not there",
            "n: int",
            "if n < 5 { g = n + 1; if g < n { a[0] = 2; } }",
        ),
        (
            "halves add up to an integer",
            "n: int, m: int",
            "if n / 2 + m / 2 > 9223372036854775806 { a[0] = 2; }",
        ),
        (
            "a large sum is no index",
            "n: int, m: int",
            "if n > 0 && m > 0 { b[n + m] = 2; }",
        ),
        (
            "a length is not negative",
            "n: int, m: int",
            "let s = new S[2];
    for i in 0..2 { s[i * i] = new S(); s[i * i].x = new int[n, m]; }
    let k = len(s[1].x, 1);
    if k < 5 && k - 1 > k { a[0] = 2; }",
        ),
        (
            "a loop ends before its counter wraps",
            "n: int",
            "var i = n; while i < 10 { i += 1; } if i < 10 { a[0] = 2; }",
        ),
        (
            "a program creates at most 2^30 tasks",
            "n: int",
            "forall i in 0..n { if i * 65536 * 65536 < 0 { a[0] = 2; } }",
        ),
        (
            "a product is some integer",
            "n: int, m: int",
            "let x = n * m; if x > 5 && x < 3 { a[0] = 2; }",
        ),
    ] {
        let kept = kept(&format!(
            "var g: int;\nstruct S {{ x: int[,] }}\nfn main({parameters}) {{\n    let a = new int[4];\n    \
             let b = new int[4];\n    async a[0] = 1;\n    {body}\n}}\n"
        ));
        let answer = prove(&kept.program, &OPTIONS);
        assert_eq!(answer.proof.verdict, Verdict::Proved, "{rule}");
        let proof = answer.proof.proof().expect("a proof");
        assert!(proof.range.is_empty(), "{rule}: {:?}", proof.range);
    }
}

/// Loops run for long: the product wraps around after 2²¹ iterations.
#[test]
fn a_counter_gets_as_far_as_a_long_run() {
    let kept = kept(
        "fn main(n: int) {
    let a = new int[4];
    for i in 0..n {
        if i * 2097152 * 2097152 < 0 { async a[0] = i; }
    }
}
",
    );
    let answer = prove(&kept.program, &OPTIONS);
    assert_eq!(answer.harmless(&[Some(1 << 22)]).len(), 0);
}

/// What is in doubt only because integers may wrap around is told apart from other doubts.
#[test]
fn accesses_that_only_wrapping_leaves_in_doubt() {
    let in_doubt = |text: &str, argument: i64| {
        let kept = kept(text);
        let answer = prove(&kept.program, &OPTIONS);
        let known = answer.for_arguments(&[Some(argument)]);
        (known.accesses.len(), known.wrapping.len())
    };
    let excluded = "fn main(n: int) {
    let a = new int[10];
    forall i in 0..2 { a[i] = 1; if n + 1 < n { a[0] = 2; } }
}
";
    assert_eq!(in_doubt(excluded, 5), (2, 0));
    assert_eq!(in_doubt(excluded, i64::MAX), (0, 2));
    let hash = "fn main(n: int) {
    let a = new int[16];
    forall i in 0..n { a[abs(i * 1000003 * 1000003 * 1000003) % 16] = i; }
}
";
    assert_eq!(in_doubt(hash, 16), (0, 1));
    // The write by all tasks races for sure, whatever the other one does.
    let both = "fn main(n: int) {
    let a = new int[16];
    forall i in 0..n { a[abs(i * 1000003 * 1000003 * 1000003) % 16] = i; a[0] = i; }
}
";
    assert_eq!(in_doubt(both, 16), (0, 1));
}
