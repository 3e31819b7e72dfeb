//! Programs on which the prover once was wrong, or would be without a rule that random programs seldom need, made small,
//! with what is right by the definition.
//!
//! The generator of `random_programs` need not come across them again.

use finishline_model::Verdict;
use finishline_poly::{Budget, Detail, Families, Options, families, prove};
use std::collections::BTreeSet;
use std::time::Duration;

const OPTIONS: Options = Options {
    budget: Budget::Time(Duration::from_secs(60)),
    detail: Detail::Races,
};

struct Kept {
    program: finishline_fin::hir::Program,
    families: Families,
}

fn kept(text: &str) -> Kept {
    let program = finishline_fin::analyse("kept.fin", text.as_bytes());
    let Ok(program) = program else {
        panic!("it is refused: {text}");
    };
    let families = families(&program).expect("no time limit");
    Kept { program, families }
}

impl Kept {
    fn verdict(&self) -> Verdict {
        prove(&self.program, &OPTIONS).proof.verdict
    }

    /// The lines and counters of the pairs that surely race.
    fn races(&self, arguments: &[i64]) -> BTreeSet<[(u32, Vec<i64>); 2]> {
        let races = self.families.races(arguments).expect("finitely many");
        let place = |instance: finishline_poly::Instance| {
            let info = self.program.source.access(instance.access);
            let line = self.program.source.site(info.place).line;
            (line, instance.counters)
        };
        let pairs = races.into_iter();
        pairs
            .map(|(one, other)| [place(one), place(other)])
            .collect()
    }
}

/// What two tasks read and write on was taken for the same value, because the location does not depend on it.
#[test]
fn writes_of_what_each_task_reads_are_not_of_the_same_value() {
    let written = |value: &str| {
        kept(&format!(
            "var x: int;
fn main(n: int) {{
    let a = new int[n + 1];
    for i in 0..=n {{ a[i] = 3 * i; }}
    forall i in 0..n {{ x = {value}; }}
    print(x);
}}
"
        ))
    };
    let benign = |value: &str| {
        let remarks = written(value).families.remarks(&[3]);
        remarks.expect("finitely many").benign.len()
    };
    assert_eq!(benign("a[i]"), 0);
    assert_eq!(benign("a[n]"), 3);
}

/// The lines of the writes that produce what is read from a location in the body of main, with the conditions.
fn producers_of(body: &str, location: &str) -> Vec<(Option<u32>, String)> {
    let text = format!(
        "struct Cell {{ g: int }} var g: int; fn down(k: int) {{ if k > 0 {{ g = k; down(k - 1); }} }}
fn main(n: int) {{\n{body}\nprint(g);\n}}\n"
    );
    let options = Options {
        detail: Detail::Dataflow,
        ..OPTIONS
    };
    let reads = prove(&kept(&text).program, &options).proof.sources;
    let reads = reads.into_iter().filter(|read| read.location == location);
    let producers = reads.flat_map(|read| read.sources);
    let line = |place: finishline_model::summary::Place| place.line;
    let producers = producers.map(|it| (it.write.map(line), it.condition));
    producers.collect()
}

/// Producers that only some waiting rules out were told as if nothing waited, and unknown values by made-up names.
#[test]
fn producers_are_told_only_if_they_are_known() {
    let told = |body: &str| producers_of(body, "g");
    let waits = "if n > 0 { begin_finish; } async { g = 1; } if n > 0 { end_finish; }";
    assert_eq!(told(waits), []);
    let unknown = "let a = new int[9]; a[0] = n * n; a[1] = n; if a[0] > 2 { g = 1; }";
    assert_eq!(told(unknown), []);
    let overwritten = format!("{unknown}\ng = 2;");
    assert_eq!(told(&overwritten), [(Some(4), String::new())]);
    let known = "if n > 2 { g = 1; }";
    let producers = [(Some(3), "n ≥ 3".to_string()), (None, "n ≤ 2".to_string())];
    assert_eq!(told(known), producers);
    // What a function does that calls itself is not known.
    assert_eq!(told("g = 1; down(n);"), []);
    // Which object it is that the last write overwrites is not known.
    let one_of_two = "let a = new Cell(); let b = new Cell(); var it = a; for i in 0..n { it = b; }\na.g = 1; it.g = 2; g = a.g;";
    assert_eq!(told(one_of_two), [(Some(4), String::new())]);
    assert_eq!(producers_of(one_of_two, "a.g"), []);
}

/// What a read gives was defined only where the read happens, and a choice that takes it there lost all other instances.
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

/// A write that may not happen overwrites nothing. Which of two accesses is to what may have been replaced does not matter.
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

/// An index out of bounds ends the program, so no race is beyond. An array of unknown length has whatever is accessed.
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

/// The length of an array is that of the iteration in which it was made, not of the one that looks at it.
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

/// A program whose main calls this function, deeper than calls are unfolded.
fn very_deep(declarations: &str, deepest: &str, result: &str, main: &str) -> Kept {
    let mut text = format!("{declarations}\n");
    let (ty, give) = match result {
        "" => (String::new(), ""),
        ty => (format!(": {ty}"), "return "),
    };
    for depth in 0..120 {
        text += &format!("fn f{depth}(){ty} {{ {give}f{}(); }}\n", depth + 1);
    }
    text += &format!("fn f120(){ty} {{ {deepest} }}\nfn main() {{\n{main}\n}}\n");
    kept(&text)
}

/// Objects that are made deeper than calls are unfolded are objects all the same.
#[test]
fn an_object_from_very_deep() {
    let object = "struct S { x: int }";
    let main = "let p = f0(); finish { async p.x = 1; p.x = 2; }";
    let kept = very_deep(object, "return new S();", "S", main);
    assert_eq!(kept.verdict(), Verdict::Unknown);
}

/// So are tasks: those that are left behind run beside all that follows.
#[test]
fn a_task_from_very_deep() {
    let main = "f0(); finish { async g = 2; }";
    let left = very_deep("var g: int;", "async g = 1;", "", main);
    let waited_for = very_deep("var g: int;", "finish { async g = 1; }", "", main);
    let joined = very_deep("var g: int; fn one() { g = 1; }", "spawn one();", "", main);
    for (kept, is_judged) in [(left, false), (waited_for, true), (joined, true)] {
        let answer = prove(&kept.program, &OPTIONS);
        assert_eq!(answer.proof.verdict, Verdict::Unknown);
        let mut verdicts = answer.proof.kernels.iter().map(|kernel| kernel.verdict);
        assert_eq!(verdicts.any(|it| it == Verdict::Proved), is_judged);
        assert_eq!(!answer.harmless(&[]).is_empty(), is_judged);
    }
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
    let operators: [(&str, fn(bool, bool) -> bool); 7] = [
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

/// Nothing runs past an assertion that fails. One on data makes nothing doubtful: if it fails there is nothing to judge.
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

/// One of two objects, nobody knows which: neither its length is known, nor what is chosen from it and another.
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

/// What a function returns from a loop is not followed.
#[test]
fn a_result_from_a_loop() {
    let kept = kept(
        "fn find(n: int): int {
    for i in 0..5 { if i == n { return i; } }
    return 9;
}
fn main(n: int) {
    let a = new int[10];
    let found = find(n);
    async a[found] = 1;
    a[9] = 2;
}
",
    );
    assert_eq!(kept.verdict(), Verdict::Unknown);
    assert_eq!(kept.races(&[2]), BTreeSet::new());
}

/// A function that calls itself may do in a deeper call what it does not in the first.
#[test]
fn what_deeper_calls_do() {
    let value = kept(
        "var g: int;
fn down(n: int, value: int) { g = value; if n > 0 { down(n - 1, value + 1); } }
fn main(n: int) {
    let a = new int[9];
    down(n, 1);
    let last = g;
    finish { async a[last] = 1; a[1] = 2; }
}
",
    );
    let element = kept(
        "fn down(n: int, a: int[], b: int[]) { a[0] = n; if n > 0 { down(n - 1, b, a); } }
fn main(n: int) {
    let a = new int[1];
    let b = new int[1];
    finish { async down(n, a, b); b[0] = 2; }
}
",
    );
    assert_eq!(value.verdict(), Verdict::Unknown);
    assert_eq!(element.verdict(), Verdict::Unknown);
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

/// A variable that is assigned once in each iteration counts, however that is written; one that is assigned twice does not.
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
    let once = kept("k = 2 + k;");
    assert_eq!(once.verdict(), Verdict::Race);
    for n in 0..6 {
        assert_eq!(once.races(&[n]).len(), usize::from(n == 2), "{n}");
    }
    let twice = kept("k = k + 1; k = k + 1;");
    for n in 0..6 {
        assert_eq!(twice.races(&[n]).len(), 0, "{n}");
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

/// What is proved of integers that don't wrap around says little about arguments near the largest.
#[test]
fn nothing_is_harmless_if_arguments_are_huge() {
    let kept = kept(
        "fn main(n: int) {
    let a = new int[10];
    forall i in 0..2 { a[i + n - n] = 1; }
}
",
    );
    let answer = prove(&kept.program, &OPTIONS);
    assert_eq!(answer.proof.verdict, Verdict::Proved);
    for (n, harmless) in [(5, 1), (-5, 1), (1 << 40, 0), (i64::MIN, 0)] {
        assert_eq!(answer.harmless(&[Some(n)]).len(), harmless, "{n}");
    }
}

/// A function that calls itself may have stored any reference, not only those that its first call stores.
#[test]
fn a_reference_from_a_function_that_calls_itself() {
    let kept = kept(
        "struct S { row: int[] }
fn down(s: S, one: int[], other: int[], n: int) {
    s.row = one;
    if n > 0 { down(s, other, one, n - 1); }
}
fn main(n: int) {
    let s = new S();
    let a = new int[1];
    let b = new int[1];
    down(s, a, b, n);
    finish {
        async s.row[0] = 1;
        b[0] = 2;
    }
}
",
    );
    assert_eq!(kept.verdict(), Verdict::Unknown);
}

/// Control does not come past a loop that returned, and a return after the one that ended the loop counts for nothing.
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
