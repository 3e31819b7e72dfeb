//! Calls that are not unfolded, or not followed.

use super::{Kept, OPTIONS, kept};
use finishline_answer::Verdict;
use finishline_answer::claim::Benign;
use finishline_poly::{Budget, Detail, Options, prove};
use std::collections::BTreeSet;

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
        let mut verdicts = answer.proof.kernels().iter().map(|kernel| kernel.verdict);
        assert_eq!(verdicts.any(|it| it == Verdict::Proved), is_judged);
        assert_eq!(!answer.harmless(&[]).is_empty(), is_judged);
    }
}

/// A task that only calls deeper than calls are unfolded makes accesses all the same.
#[test]
fn a_task_that_calls_very_deep() {
    let mains = [
        "async f0(); g = 2;",
        "async f0(); async f0();",
        "finish { async f0(); g = 2; }",
        "finish { async f0(); async f0(); }",
        "forall i in 0..2 { f0(); }",
        "async { async f0(); } g = 2;",
    ];
    for main in mains {
        let kept = very_deep("var g: int;", "g = 1;", "", main);
        let answer = prove(&kept.program, &OPTIONS);
        assert_eq!(answer.proof.verdict, Verdict::Unknown, "{main}");
        assert!(answer.harmless(&[]).is_empty(), "{main}");
    }
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

/// A function that calls itself may have stored any reference, not only those that its first call
/// stores.
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

/// Calls that do nothing take time, too, if each makes two.
#[test]
fn a_fan_of_calls_is_cut_short() {
    let mut text = "fn f0() { }\n".to_string();
    for depth in 1..40 {
        text += &format!(
            "fn f{depth}() {{ f{before}(); f{before}(); }}\n",
            before = depth - 1
        );
    }
    text += "var g = 0;\n";
    let verdict = |main: &str| kept(&format!("{text}fn main() {{ {main} }}\n")).verdict();
    assert_eq!(
        verdict("f39(); finish { async { g = 1; } g = 2; }"),
        Verdict::Race
    );
    // What the calls do that were not looked into is anybody's guess.
    assert_eq!(
        verdict("finish { async { g = 1; } f39(); }"),
        Verdict::Unknown
    );
}

/// The same two accesses race at two locations, at one without harm.
#[test]
fn a_harmful_race_beside_a_harmless_one() {
    let kept = kept(
        "fn set(A: int[], v: int) { A[0] = v; }
fn main(n: int) {
    let A = new int[1];
    let B = new int[1];
    finish {
        async { set(A, 1); if n > 3 { set(B, 1); } }
        set(A, 1);
        if n > 3 { set(B, 2); }
    }
    print(A[0], B[0]);
}
",
    );
    let proof = prove(&kept.program, &OPTIONS).proof;
    let told = proof.findings.iter().filter_map(|race| {
        let claim = race.claim.as_ref()?;
        let condition = claim.condition.as_str();
        Some((race.location.to_string(), condition, claim.benign))
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            ("A[0]".to_owned(), "", Some(Benign::SameValue)),
            ("B[0]".to_owned(), "n ≥ 4", None)
        ]
    );
}

/// Iterations of the outer loop race, and those of the inner one: two ways, told together.
#[test]
fn a_race_is_told_for_the_inputs_of_all_ways() {
    let kept = kept(
        "var g: int;
fn main(n: int, m: int) {
    for i in 0..n { for j in 0..m { async g = i; } }
}
",
    );
    let proof = prove(&kept.program, &OPTIONS).proof;
    let [race] = &proof.findings[..] else {
        panic!("{:?}", proof.findings);
    };
    let claim = race.claim.as_ref().expect("a claim");
    // At least one iteration of each, and at least two tasks.
    assert_eq!(claim.condition, "m > 0 and n > 0 and n ≥ 3 - m");
}

/// Only the first call was looked at. The race is in a later one.
#[test]
fn a_kernel_in_a_function_that_calls_itself_is_not_proved() {
    let direct = "var g: int;
fn r(n: int) {
    if n > 0 {
        r(n - 1);
        finish { async { if n == 1 { g = 1; } } if n == 1 { g = 2; } }
    }
}
fn main() { r(5); }
";
    let mutual = "var g: int;
fn r(n: int) { if n > 0 { s(n - 1); } }
fn s(n: int) { r(n); forall i in 0..2 { if n == 1 { g = i; } } }
fn main() { r(5); }
";
    for source in [direct, mutual] {
        let proof = prove(&kept(source).program, &OPTIONS).proof;
        let kernels = &proof.proof().expect("a proof").kernels;
        let verdicts: Vec<Verdict> = kernels.iter().map(|kernel| kernel.verdict).collect();
        assert!(!verdicts.contains(&Verdict::Proved), "{source}{verdicts:?}");
    }
    // What the recursion does not reach is still proved.
    let beside = "var g: int;
fn r(n: int) { if n > 0 { r(n - 1); forall i in 0..2 { g = i; } } }
fn main() { r(5); let A = new int[4]; forall i in 0..4 { A[i] = i; } }
";
    let proof = prove(&kept(beside).program, &OPTIONS).proof;
    let kernels = &proof.proof().expect("a proof").kernels;
    let proved = kernels.iter().filter(|it| it.verdict == Verdict::Proved);
    assert_eq!(proved.count(), 1);
}

/// Each call comes past a loop whose end is not known. What that says of its end must not be kept
/// for all calls that follow: with each one the questions would take longer.
#[test]
fn many_calls_with_loops_of_unknown_length_are_followed() {
    let calls: String = (0..32)
        .map(|at| format!("    spell(A, {at}, n);\n"))
        .collect();
    let source = format!(
        "fn spell(out: int[], at: int, word: int) {{
    var length = 0;
    while length < 8 && word >> 8 * length != 0 {{ length += 1; }}
    for k in 0..length {{ out[at + k] = k; }}
}}
fn main(n: int) {{
    let A = new int[64];
{calls}    let B = new int[10];
    forall i in 0..10 {{ B[i] = i; }}
}}
"
    );
    // What `finishline check` allows.
    let options = Options {
        budget: Budget::Operations(1_000_000),
        detail: Detail::Verdicts,
    };
    let proof = prove(&kept(&source).program, &options).proof;
    assert_eq!(proof.verdict, Verdict::Proved);
}
