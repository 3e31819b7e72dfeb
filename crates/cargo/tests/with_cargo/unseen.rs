//! Atomic operations that the instrumentation leaves out. Of all operations of the standard library
//! exactly these are named, and no run of a program that contains them is certified.

use crate::package::{Called, Package, manifest, shared};
use libtest_mimic::Trial;
use serde_json::Value;
use std::collections::BTreeSet;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(format!("unseen::{name}"), move || {
            test();
            Ok(())
        })
    };
    vec![
        trial(
            "of_all_operations_of_std_two_are_not_seen",
            of_all_operations_of_std_two_are_not_seen,
        ),
        trial(
            "whoever_calls_the_operation_is_named",
            whoever_calls_the_operation_is_named,
        ),
        trial(
            "an_operation_that_is_called_by_its_address_is_named",
            an_operation_that_is_called_by_its_address_is_named,
        ),
        trial(
            "what_the_linker_leaves_out_does_not_count",
            what_the_linker_leaves_out_does_not_count,
        ),
        trial(
            "a_stripped_executable_is_not_certified",
            a_stripped_executable_is_not_certified,
        ),
        trial("tests_name_them_once", tests_name_them_once),
    ]
}

const ORDERINGS: [&str; 5] = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
const OF_LOADS: [&str; 3] = ["Relaxed", "Acquire", "SeqCst"];
const OF_STORES: [&str; 3] = ["Relaxed", "Release", "SeqCst"];
const LOGICAL: [&str; 4] = ["fetch_and", "fetch_or", "fetch_xor", "fetch_nand"];
const ARITHMETICAL: [&str; 4] = ["fetch_add", "fetch_sub", "fetch_max", "fetch_min"];
const NOT_SEEN: [&str; 2] = ["fetch_max", "fetch_min"];

/// All operations on a variable, each as an expression. `usize` is covered by its integer type: the
/// compiler makes one function of the two.
fn operations(value: &str, other: &str, fetches: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(OF_LOADS.map(|order| format!("a.load({order})")));
    all.extend(OF_STORES.map(|order| format!("a.store({value}, {order})")));
    for order in ORDERINGS {
        let operations = ["swap"].iter().chain(fetches);
        all.extend(operations.map(|operation| format!("a.{operation}({value}, {order})")));
        for failed in OF_LOADS {
            all.extend([
                format!("a.compare_exchange({value}, {other}, {order}, {failed})"),
                format!("a.compare_exchange_weak({value}, {other}, {order}, {failed})"),
                format!("a.fetch_update({order}, {failed}, |_| Some({other}))"),
            ]);
        }
    }
    all
}

/// A program with a function for each operation, on a line of its own.
fn every_operation() -> String {
    let mut types = Vec::new();
    let numbers = [&LOGICAL[..], &ARITHMETICAL[..]].concat();
    for bits in [8, 16, 32, 64] {
        for letter in ["U", "I"] {
            let mut all = operations("black_box(3)", "black_box(5)", &numbers);
            // The processor has instructions of its own for these.
            all.extend([
                "a.fetch_add(1, Relaxed)".to_owned(),
                "a.fetch_sub(1, AcqRel) == 1".to_owned(),
                "a.fetch_or(8, SeqCst) & 8 != 0".to_owned(),
                "a.fetch_and(!8, SeqCst) & 8 != 0".to_owned(),
                "a.fetch_or(0, SeqCst)".to_owned(),
                "a.fetch_max(1, Relaxed)".to_owned(),
            ]);
            types.push((format!("Atomic{letter}{bits}"), "0", all));
        }
    }
    let mut of_flags = operations("black_box(true)", "black_box(false)", &LOGICAL);
    of_flags.push("a.fetch_not(SeqCst)".to_owned());
    types.push(("AtomicBool".to_owned(), "false", of_flags));
    let null = "black_box(null_mut())";
    let mut of_pointers = operations(null, null, &[]);
    of_pointers
        .extend(["fence(SeqCst)", "fence(AcqRel)", "compiler_fence(SeqCst)"].map(str::to_owned));
    types.push(("AtomicPtr<u8>".to_owned(), "null_mut()", of_pointers));

    let mut source =
        "use std::{hint::black_box, ptr::null_mut, sync::atomic::{*, Ordering::*}};\n".to_owned();
    let mut main = "fn main() {\n    rayon::join(|| (), || ());\n".to_owned();
    for (kind, start, operations) in types {
        for operation in operations {
            let function = format!("f{}", source.lines().count());
            source += &format!(
                "fn {function}(a: &{kind}) {{ _ = (black_box(a), black_box({operation})) }}\n"
            );
            main +=
                &format!("    black_box::<fn(&{kind})>({function})(&<{kind}>::new({start}));\n");
        }
    }
    source + &main + "}\n"
}

/// The lines of `src/main.rs` with unseen operations. There may be none anywhere else.
fn unseen_lines(report: &Value) -> BTreeSet<u64> {
    let unseen = report["unseen"].as_array().expect("a list");
    let lines = unseen.iter().map(|atomic| {
        assert_eq!(atomic["place"]["file"], "src/main.rs", "{atomic}");
        atomic["place"]["line"].as_u64().expect("a line")
    });
    lines.collect()
}

fn report(called: Called) -> Value {
    serde_json::from_str(&called.stdout).expect("one report")
}

fn of_all_operations_of_std_two_are_not_seen() {
    let source = every_operation();
    let package = Package::with_rayon("of_all_operations_of_std_two_are_not_seen", &source);
    let expected: BTreeSet<u64> = (1..)
        .zip(source.lines())
        .filter(|(_, line)| NOT_SEEN.iter().any(|operation| line.contains(operation)))
        .map(|(number, _)| number)
        .collect();
    assert_eq!(expected.len(), 8 * (2 * ORDERINGS.len() + 1));
    for profile in ["dev", "release"] {
        let arguments = ["run", "--quiet", "--format=json", "--profile", profile];
        let report = report(package.finishline(&arguments).expect(0));
        assert_eq!(report["verdict"], "observed");
        assert_eq!(report["because"]["kind"], "unseen");
        assert_eq!(unseen_lines(&report), expected, "{profile}");
        for atomic in report["unseen"].as_array().expect("a list") {
            let operation = atomic["operation"].as_str().expect("a method of std");
            let line = atomic["place"]["text"].as_str().expect("a line");
            assert!(line.contains(&format!("a.{operation}(")), "{atomic}");
        }
    }
}

/// In unoptimised code the instruction is in a function of the standard library that several
/// functions call.
fn whoever_calls_the_operation_is_named() {
    let source = "use std::{hint::black_box, sync::atomic::{AtomicU8, Ordering::Relaxed}};
        fn raised(a: &AtomicU8) -> u8 { a.fetch_max(3, Relaxed) }
        fn raised_again(a: &AtomicU8) -> u8 { raised(a) + a.fetch_max(4, Relaxed) }
        fn added(a: &AtomicU8) -> u8 { a.fetch_add(1, Relaxed) }
        fn main() {
            let a = AtomicU8::new(0);
            rayon::join(|| black_box(raised_again(&a)), || black_box(added(&a)));
        }";
    let package = Package::with_rayon("whoever_calls_the_operation_is_named", source);
    for profile in ["dev", "release"] {
        let arguments = ["run", "--quiet", "--format=json", "--profile", profile];
        let report = report(package.finishline(&arguments).expect(0));
        assert_eq!(unseen_lines(&report), BTreeSet::from([2, 3]), "{profile}");
    }
}

/// The report can't tell where the operation is called, only that it exists.
fn an_operation_that_is_called_by_its_address_is_named() {
    let source = "use std::{hint::black_box, sync::atomic::{AtomicU8, Ordering}};
        fn main() {
            let raise: fn(&AtomicU8, u8, Ordering) -> u8 = black_box(AtomicU8::fetch_max);
            let a = AtomicU8::new(0);
            rayon::join(|| raise(&a, 3, Ordering::Relaxed), || ());
        }";
    let package = Package::with_rayon("an_operation_that_is_called_by_its_address", source);
    for profile in ["dev", "release"] {
        let arguments = ["run", "--quiet", "--format=json", "--profile", profile];
        let report = report(package.finishline(&arguments).expect(0));
        assert_eq!(report["verdict"], "observed", "{profile}");
        let operations = report["unseen"].as_array().expect("a list");
        assert!(!operations.is_empty(), "{profile}");
        let is_it = |atomic: &Value| atomic["operation"] == "fetch_max";
        assert!(operations.iter().all(is_it), "{profile}: {operations:?}");
    }
}

fn what_the_linker_leaves_out_does_not_count() {
    let files = [
        (
            "Cargo.toml",
            manifest(
                "what_the_linker_leaves_out",
                "[lib]\nname = \"parts\"\n[dependencies]\nrayon = \"1.12\"\n",
            ),
        ),
        (
            "src/lib.rs",
            "use std::sync::atomic::{AtomicU8, Ordering};
            pub fn raise(a: &AtomicU8) { a.fetch_max(3, Ordering::Relaxed); }
            pub fn one() -> u8 { 1 }"
                .to_owned(),
        ),
        (
            "src/main.rs",
            "fn main() { rayon::join(parts::one, parts::one); }".to_owned(),
        ),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let package = Package::new(&files);
    for profile in ["dev", "release"] {
        let arguments = ["run", "--quiet", "--format=json", "--profile", profile];
        let report = report(package.finishline(&arguments).expect(0));
        assert_eq!(report["verdict"], "certified", "{profile}");
    }
}

fn a_stripped_executable_is_not_certified() {
    let main = "fn main() { rayon::join(|| (), || ()); }";
    let package = Package::with_rayon("a_stripped_executable_is_not_certified", main);
    let mut command = package.command(&["run", "--quiet", "--format=json"]);
    command
        .env("CARGO_TARGET_DIR", shared("target"))
        .env("RUSTFLAGS", "-Clink-arg=-s");
    let report = report(Called::from(command).expect(0));
    assert_eq!(report["verdict"], "observed");
    assert_eq!(report["because"]["kind"], "stripped");
}

fn tests_name_them_once() {
    let library = "#[cfg(test)]
        mod tests {
            use std::sync::atomic::{AtomicU8, Ordering};
            fn raise(a: &AtomicU8) { a.fetch_max(3, Ordering::Relaxed); }
            fn both() { let a = AtomicU8::new(0); rayon::join(|| raise(&a), || raise(&a)); }
            #[test]
            fn first() { both() }
            #[test]
            fn second() { both() }
            #[test]
            fn idle() {}
        }";
    let manifest = manifest("tests_name_them_once", "[dependencies]\nrayon = \"1.12\"\n");
    let package = Package::new(&[("Cargo.toml", &manifest), ("src/lib.rs", library)]);
    let called = package.finishline(&["test"]).expect(0);
    let summary = "summary: 3 processes: 2 observed, 1 with nothing parallel\nunseen: fetch_max at src/lib.rs:4:40\n";
    assert!(called.stderr.contains(summary), "{}", called.stderr);
}
