//! What is told of producers and of races that change nothing.

use super::{OPTIONS, kept};
use finishline_answer::claim::Benign;
use finishline_poly::{Detail, Options, prove};

/// What two tasks read and write on was taken for the same value, because the location does not
/// depend on it.
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

/// Two conditions are the same value only if both are always true or always false.
#[test]
fn writes_of_conditions_are_of_the_same_value_only_if_these_are_constant() {
    let is_same = |one: &str, other: &str| {
        let text = format!(
            "var done: bool;
fn main(n: int) {{
    finish {{ async done = {one}; done = {other}; }}
    print(done);
}}
"
        );
        let answer = prove(&kept(&text).program, &OPTIONS).proof;
        let claim = answer.findings[0].claim.as_ref().expect("a claim");
        claim.benign == Some(Benign::SameValue)
    };
    assert!(is_same("true", "true"));
    assert!(is_same("false", "false"));
    assert!(!is_same("true", "false"));
    assert!(!is_same("n > 0", "true"));
    assert!(!is_same("n > 0", "n > 1"));
}

/// The lines of the writes that produce what is read from a location in the body of main, with the
/// conditions.
fn producers_of(body: &str, location: &str) -> Vec<(Option<u32>, String)> {
    let text = format!(
        "struct Cell {{ g: int }} var g: int; fn down(k: int) {{ if k > 0 {{ g = k; down(k - 1); }} }}
fn main(n: int) {{\n{body}\nprint(g);\n}}\n"
    );
    let options = Options {
        detail: Detail::Dataflow,
        ..OPTIONS
    };
    let answer = prove(&kept(&text).program, &options).proof;
    let reads = answer.proof().expect("a proof").sources.clone();
    let reads = reads.into_iter().filter(|read| read.location == location);
    let producers = reads.flat_map(|read| read.sources);
    let line = |place: finishline_answer::Place| place.line;
    let producers = producers.map(|it| (it.write.map(line), it.condition));
    producers.collect()
}

/// Producers that only some waiting rules out were told as if nothing waited, and unknown values by
/// made-up names.
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
