//! The list of unsafe code, and where parallel tasks were seen: for a program, a workspace, a suite
//! of tests, and a recorded run.

use crate::package::{Called, Package, manifest};
use crate::recording::{USUAL, analyzed};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(format!("unsafe_code::{name}"), move || {
            test();
            Ok(())
        })
    };
    vec![
        trial("each_kind_is_listed", each_kind_is_listed),
        trial("the_users_crates_are_listed", the_users_crates_are_listed),
        trial("a_suite_has_one_list", a_suite_has_one_list),
        trial(
            "lints_are_as_the_user_set_them",
            lints_are_as_the_user_set_them,
        ),
    ]
}

/// Each line that has unsafe code says in its comment whether parallel tasks are seen in it. One
/// block repeats the access of another one, so it is not seen. One type shows only as that of a
/// variable.
const KINDS: &str = "
#![forbid(unsafe_op_in_unsafe_fn)]
#![deny(warnings)]
#![allow(dead_code)]
use std::cell::UnsafeCell;
pub struct Cells<T>(UnsafeCell<[T; 8]>);
unsafe impl<T: Send> Sync for Cells<T> {} // impl reached
impl<T> Cells<T> {
    #[inline(never)]
    /// The name is told without this line.
    pub unsafe fn put(&self, at: usize, value: T) { // function reached
        unsafe { self.0.get().cast::<T>().add(at).write(value) } // block reached
    }
}
pub struct Unused(pub *mut u8);
unsafe impl Send for Unused {} // impl
#[inline(never)]
fn first(to: &UnsafeCell<u32>) {
    unsafe { *to.get() = 7 } // block reached
}
#[inline(never)]
fn second(to: &UnsafeCell<u32>) {
    unsafe { *to.get() = 7 } // block
}
macro_rules! peek { ($of:expr) => { unsafe { *$of.get() } } } // block reached
#[cfg(windows)]
fn elsewhere() { unsafe { std::hint::unreachable_unchecked() } }
struct Mine(UnsafeCell<u32>);
unsafe impl Sync for Mine {} // impl variable
fn main() {
    let cells = Cells(UnsafeCell::new([0u32; 8]));
    let alone = UnsafeCell::new(0);
    second(&alone);
    unsafe { cells.put(0, 1) }; // block
    let mine = [1, 2, 3, 4].map(|it| Mine(UnsafeCell::new(it)));
    let half = |at: usize| {
        first(&mine[at].0);
        unsafe { *mine[at].0.get() += 1 } // block
        let of_mine = peek!(mine[2 + at].0);
        for slot in 4 * at..4 * at + 4 {
            /* é */ unsafe { cells.put(slot, of_mine) } // block reached
        }
    };
    rayon::join(|| half(0), || half(1));
}
";

/// The places in a source that its comments announce: the line, the kind, and whether parallel
/// tasks are seen there, if the types of variables are known.
fn announced(source: &str, has_types: bool) -> Vec<(u64, String, bool)> {
    let lines = (1..).zip(source.lines()).filter_map(|(number, line)| {
        let (_, comment) = line.rsplit_once("// ")?;
        let mut words = comment.split(' ');
        let kind = words.next()?;
        let is_kind = ["block", "function", "impl"].contains(&kind);
        let reached = match words.next() {
            Some("variable") => has_types,
            word => word == Some("reached"),
        };
        is_kind.then(|| (number, kind.to_owned(), reached))
    });
    lines.collect()
}

/// The places that a report lists for a file.
fn listed(report: &Value, file: &str) -> Vec<(u64, String, bool)> {
    let all = report["unsafe_code"].as_array().expect("a list");
    let of_file = all.iter().filter(|code| code["place"]["file"] == file);
    let told = of_file.map(|code| {
        (
            code["place"]["line"].as_u64().expect("a number"),
            code["kind"].as_str().expect("a word").to_owned(),
            code["reached"].as_bool().expect("a truth value"),
        )
    });
    told.collect()
}

fn json(called: &Called) -> Value {
    serde_json::from_str(&called.stdout).expect("a report")
}

/// In unoptimised and in optimised code, compiled now or earlier, by the run and by its trace.
fn each_kind_is_listed() {
    let package = Package::with_rayon("unsafe_kinds", KINDS);
    let expected = announced(KINDS, true);
    assert_eq!(expected.len(), 11);
    for (profile, has_types) in [("dev", true), ("release", false)] {
        let expected = announced(KINDS, has_types);
        let run = ["run", "--quiet", "--format=json", "--profile", profile];
        let called = package.finishline(&run).expect(0);
        assert_eq!(listed(&json(&called), "src/main.rs"), expected, "{profile}");
        let recorded = package.finishline(&[&run[..], &["--record=it.trace"]].concat());
        assert_eq!(
            recorded.expect(0).stdout,
            called.stdout,
            "nothing is compiled"
        );
        let (_, again) = analyzed(&package.path("it.trace"), &USUAL);
        assert_eq!(again, called.stdout);
    }
    let called = package.finishline(&["run"]).expect(0);
    let told = "\
unsafe: parallel tasks reached 4 of 7 blocks, 1 of 1 function and 2 of 3 impls; not seen in: impl Send
        for Unused at src/main.rs:16:1, src/main.rs:23:5, src/main.rs:34:5 and src/main.rs:38:9\n";
    assert!(called.stderr.contains(told), "{}", called.stderr);
    // The compiler goes through what has changed, and the list has the rest as well.
    fs::write(
        package.path("src/main.rs"),
        format!("{KINDS}fn more() {{}}"),
    )
    .expect("a file");
    let called = package
        .finishline(&["run", "--quiet", "--format=json"])
        .expect(0);
    assert_eq!(listed(&json(&called), "src/main.rs"), expected);
    // What is not compiled any more is not listed.
    fs::write(
        package.path("src/main.rs"),
        "fn main() { rayon::join(|| (), || ()); }",
    )
    .expect("a file");
    let called = package.finishline(&["run"]).expect(0);
    assert!(!called.stderr.contains("unsafe:"), "{}", called.stderr);
}

/// Members of the workspace and other packages by path, and nothing from the registry.
fn the_users_crates_are_listed() {
    let with = |name: &str, dependencies: &str| {
        let dependencies = format!("[dependencies]\nrayon = \"1.12\"\n{dependencies}");
        manifest(name, &dependencies)
    };
    let put = "pub fn put(of: &mut u32) { unsafe { *std::ptr::from_mut(of) = 7 } }";
    let main = "
        fn main() {
            let (mut here, mut there) = (1, 2);
            rayon::join(|| near_by::put(&mut here), || ());
            far_away::put(&mut there);
        }";
    let package = Package::new(&[
        (
            "ws/Cargo.toml",
            "[workspace]\nmembers = [\"app\", \"near-by\"]\nresolver = \"3\"\n",
        ),
        (
            "ws/app/Cargo.toml",
            &with(
                "unsafe-app",
                "near-by = { path = \"../near-by\" }\nfar-away = { path = \"../../far-away\" }\n",
            ),
        ),
        ("ws/app/src/main.rs", main),
        ("ws/near-by/Cargo.toml", &manifest("near-by", "")),
        ("ws/near-by/src/lib.rs", "mod inner;\npub use inner::put;\n"),
        ("ws/near-by/src/inner.rs", put),
        ("far-away/Cargo.toml", &manifest("far-away", "")),
        ("far-away/src/lib.rs", put),
    ]);
    let arguments = [
        "run",
        "--quiet",
        "--format=json",
        "--manifest-path=ws/Cargo.toml",
    ];
    let report = json(&package.finishline(&arguments).expect(0));
    let all = report["unsafe_code"].as_array().expect("a list").len();
    assert_eq!(all, 2, "{}", report["unsafe_code"]);
    let block = |reached| vec![(1, "block".to_owned(), reached)];
    assert_eq!(listed(&report, "ws/near-by/src/inner.rs"), block(true));
    assert_eq!(listed(&report, "far-away/src/lib.rs"), block(false));
}

/// Two tests reach different blocks, in a library and in a test program that uses it.
fn a_suite_has_one_list() {
    let library = "
pub fn one(of: &mut u32) { unsafe { *std::ptr::from_mut(of) = 1 } } // block reached
pub fn two(of: &mut u32) { unsafe { *std::ptr::from_mut(of) = 2 } } // block reached
pub fn three(of: &mut u32) { unsafe { *std::ptr::from_mut(of) = 3 } } // block
#[cfg(test)]
mod tests {
    #[test] fn alone() { super::three(&mut 0) }
    #[test] fn both() { let (mut a, mut b) = (0, 0); rayon::join(|| super::one(&mut a), || super::one(&mut b)); }
}
";
    let test = "
        #[test] fn other() {
            let (mut a, mut b) = (0, 0);
            rayon::join(|| unsafe_suite::one(&mut a), || unsafe_suite::two(&mut b));
        }";
    let package = Package::new(&[
        (
            "Cargo.toml",
            &manifest("unsafe-suite", "[dependencies]\nrayon = \"1.12\"\n"),
        ),
        ("src/lib.rs", library),
        ("tests/other.rs", test),
    ]);
    let called = package
        .finishline(&["test", "--format=json", "--output=it.json"])
        .expect(0);
    assert!(
        called.stdout.contains("test result: ok. 2 passed"),
        "{}",
        called.stdout
    );
    let suite: Value = serde_json::from_str(&package.read("it.json")).expect("a report");
    assert_eq!(listed(&suite, "src/lib.rs"), announced(library, true));
    let seen = suite["unsafe_code"].as_array().expect("a list").iter();
    let seen: Vec<_> = seen
        .map(|code| (&code["processes"], &code["first"]))
        .collect();
    let expected = [
        (2.into(), "tests::both".into()),
        (1.into(), "other".into()),
        (0.into(), Value::Null),
    ];
    assert_eq!(
        seen,
        expected
            .each_ref()
            .map(|(processes, first)| (processes, first))
    );
    for report in suite["reports"].as_array().expect("reports") {
        assert_eq!(report["unsafe_code"], Value::Null);
    }
    let called = package.finishline(&["test"]).expect(0);
    let told = "unsafe: parallel tasks reached 2 of 3 blocks; not seen in: src/lib.rs:4:30\n";
    assert!(called.stderr.contains(told), "{}", called.stderr);
}

/// The lint that lists the code says nothing to the user, and takes nothing away.
fn lints_are_as_the_user_set_them() {
    let main = "
        #![warn(unsafe_code)]
        fn unused() {}
        fn main() { rayon::join(|| unsafe { std::hint::assert_unchecked(true) }, || ()); }";
    let package = Package::with_rayon("unsafe_lints", main);
    for _ in 0..2 {
        let called = package.finishline(&["build"]).expect(0);
        assert!(
            called.stderr.contains("function `unused` is never used"),
            "{}",
            called.stderr
        );
        assert!(
            called.stderr.contains("generated 1 warning"),
            "{}",
            called.stderr
        );
        assert!(!called.stderr.contains("unsafe_code"), "{}", called.stderr);
    }
    // A mistake is told with its status.
    fs::write(
        package.path("src/main.rs"),
        "fn main() { unsafe { nothing() } }",
    )
    .expect("a file");
    let called = package.finishline(&["build"]).expect(2);
    assert!(
        called.stderr.contains("cannot find function `nothing`"),
        "{}",
        called.stderr
    );
}
