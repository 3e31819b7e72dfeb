//! `test`: one process a test, libtest's arguments and output, other harnesses, doc tests.

use crate::package::{Called, Package, manifest, shared};
use libtest_mimic::Trial;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(format!("test::{name}"), move || {
            test();
            Ok(())
        })
    };
    vec![
        trial(
            "each_test_has_its_own_process_and_verdict",
            each_test_has_its_own_process_and_verdict,
        ),
        trial("libtests_arguments_select", libtests_arguments_select),
        trial("the_rest_of_a_package", the_rest_of_a_package),
        trial(
            "procedural_macros_are_no_part_of_the_program",
            procedural_macros_are_no_part_of_the_program,
        ),
        trial(
            "a_check_of_nothing_establishes_nothing",
            a_check_of_nothing_establishes_nothing,
        ),
        trial("tests_that_race_fail", tests_that_race_fail),
        trial("output_is_as_libtests", output_is_as_libtests),
        trial("tests_that_wait_are_stopped", tests_that_wait_are_stopped),
        trial(
            "files_are_named_from_where_the_user_is",
            files_are_named_from_where_the_user_is,
        ),
        trial("tasks_have_room_on_one_stack", tasks_have_room_on_one_stack),
    ]
}

/// Without checks each task begins with an empty stack.
fn tasks_have_room_on_one_stack() {
    let package = Package::new(&[
        (
            "Cargo.toml",
            &manifest("chain", "[dependencies]\nrayon = \"1.12\"\n"),
        ),
        (
            "src/lib.rs",
            "#[cfg(test)]
            fn link<'s>(scope: &rayon::Scope<'s>, left: usize) {
                let used = std::hint::black_box([left as u8; 1 << 12]);
                if left > 0 { scope.spawn(move |scope| link(scope, left - 1)); }
                std::hint::black_box(used);
            }
            #[test] fn a_chain_of_tasks() { rayon::scope(|scope| link(scope, 1000)); }",
        ),
    ]);
    package.finishline(&["test"]).expect(0);
}

fn library(name: &str, source: &str) -> Package {
    Package::new(&[("Cargo.toml", &manifest(name, "")), ("src/lib.rs", source)])
}

/// The lines `test … ... …`.
fn verdicts(stdout: &str) -> Vec<&str> {
    let lines = stdout.lines().filter_map(|line| line.strip_prefix("test "));
    lines.filter(|line| !line.starts_with("result:")).collect()
}

fn summary(stdout: &str) -> &str {
    let summary = stdout
        .lines()
        .find_map(|line| line.strip_prefix("test result: "));
    summary
        .and_then(|line| line.rsplit_once(';'))
        .expect("a summary")
        .0
}

fn each_test_has_its_own_process_and_verdict() {
    let package = library("each_test_has_its_own_process_and_verdict",
        "#[test] fn aborts() { println!(\"last words\"); std::process::abort() }
         #[test] fn exits() { std::process::exit(0) }
         #[test] fn fails() { println!(\"out\"); eprintln!(\"err\"); panic!(\"because\") }
         static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
         fn count() { println!(\"silent\"); assert_eq!(COUNT.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0) }
         #[test] fn first() { count() }
         #[test] #[ignore] fn later() { count() }
         #[test] #[should_panic] fn panics() { panic!() }
         #[test] fn second() { count() }",
    );
    let called = package.finishline(&["test"]).expect(3);
    assert_eq!(
        verdicts(&called.stdout),
        [
            "aborts ... FAILED",
            "exits ... FAILED",
            "fails ... FAILED",
            "first ... ok",
            "later ... ignored",
            "panics ... ok",
            "second ... ok"
        ]
    );
    assert_eq!(
        summary(&called.stdout),
        "FAILED. 3 passed; 3 failed; 0 with races; 1 ignored; 0 filtered out"
    );
    for shown in [
        "last words\nthe process was killed by signal 6",
        "the test ended its process, with exit status 0",
        "out\nerr\n",
        "because",
    ] {
        assert!(
            called.stdout.contains(shown),
            "{shown} in\n{}",
            called.stdout
        );
    }
    // For a failed test libtest's message is enough.
    for hidden in ["silent", "the test failed"] {
        assert!(!called.stdout.contains(hidden), "{}", called.stdout);
    }
    assert!(!called.stderr.contains("certified"), "{}", called.stderr);
}

fn libtests_arguments_select() {
    let package = library(
        "libtests_arguments_select",
        "mod a { #[test] fn one() { println!(\"one runs\") } #[test] #[ignore] fn two() {} }
         mod b { #[test] fn one() {} #[test] fn onetwo() {} }",
    );
    let run = |arguments: &[&str]| {
        let arguments = [&["test"], arguments].concat();
        let stdout = package.finishline(&arguments).stdout;
        (verdicts(&stdout).join(", "), summary(&stdout).to_owned())
    };
    let expect = |arguments: &[&str], verdicts: &str, counts: [usize; 3]| {
        let [passed, ignored, filtered] = counts;
        let summary = format!(
            "ok. {passed} passed; 0 failed; 0 with races; {ignored} ignored; {filtered} filtered out"
        );
        assert_eq!(
            run(arguments),
            (verdicts.to_owned(), summary),
            "{arguments:?}"
        );
    };
    expect(&["a::"], "a::one ... ok, a::two ... ignored", [1, 1, 2]);
    expect(&["--", "--ignored"], "a::two ... ok", [1, 0, 3]);
    expect(
        &["--", "--include-ignored", "a", "--skip", "a::one"],
        "a::two ... ok",
        [1, 0, 3],
    );
    expect(&["--", "--exact", "b::one"], "b::one ... ok", [1, 0, 3]);
    expect(&["nowhere"], "", [0, 0, 4]);
    let shown = package
        .finishline(&["test", "a::one", "--", "--nocapture"])
        .expect(4);
    assert!(shown.stdout.contains("one runs"), "{}", shown.stdout);
    let listed = package
        .finishline(&["test", "--lib", "--", "--list"])
        .expect(0);
    assert!(
        listed.stdout.contains("b::onetwo: test"),
        "{}",
        listed.stdout
    );
}

fn the_rest_of_a_package() {
    let package = Package::new(&[
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"helper\"]\n[package]\nname = \"whole-package\"\nedition = \"2024\"\n[dev-dependencies]\nhelper = { path = \"helper\" }\n[[test]]\nname = \"own\"\nharness = false\n",
        ),
        (
            "src/lib.rs",
            "/// ```\n/// panic!()\n/// ```\npub fn documented() {}\n",
        ),
        ("src/main.rs", "fn main() {}"),
        (
            "tests/own.rs",
            "fn main() { println!(\"run with {:?}\", std::env::args().skip(1).collect::<Vec<_>>()) }",
        ),
        (
            "tests/usual.rs",
            "#[test] fn helped() { assert_eq!(helper::answer(), 42) }",
        ),
        (
            "helper/Cargo.toml",
            "[package]\nname = \"helper\"\nedition = \"2024\"\n",
        ),
        (
            "helper/src/lib.rs",
            "/// ```\n/// panic!()\n/// ```\npub fn answer() -> u32 { 42 }",
        ),
    ]);
    let called = package.finishline(&["test", "--workspace"]).expect(4);
    assert_eq!(verdicts(&called.stdout), ["helped ... ok"]);
    assert!(
        called.stdout.contains("run with []\n"),
        "run whole, with its arguments: {}",
        called.stdout
    );
    assert_eq!(
        called.stderr.matches("doc tests are skipped").count(),
        1,
        "{}",
        called.stderr
    );
}

/// Cargo builds their unit tests for the compiler. Whether these pass counts, and nothing else.
fn procedural_macros_are_no_part_of_the_program() {
    let macros = "
        #[proc_macro] pub fn one(_: proc_macro::TokenStream) -> proc_macro::TokenStream { \"1\".parse().unwrap() }
        #[test] fn of_the_macro() { assert!(std::env::var_os(\"BROKEN\").is_none()) }";
    let package = Package::new(&[
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"macros\"]\n[package]\nname = \"with-macros\"\nedition = \"2024\"\n[dependencies]\nmacros = { path = \"macros\" }\nrayon = \"1.12\"\n",
        ),
        (
            "src/lib.rs",
            "#[test] fn of_the_program() { assert_eq!(rayon::join(|| macros::one!(), || 2), (1, 2)) }",
        ),
        (
            "macros/Cargo.toml",
            "[package]\nname = \"macros\"\nedition = \"2024\"\n[lib]\nproc-macro = true\n",
        ),
        ("macros/src/lib.rs", macros),
    ]);
    let all = ["test", "--workspace", "--tests", "--no-fail-fast"];
    let called = package.finishline(&all).expect(0);
    assert_eq!(
        verdicts(&called.stdout),
        ["of_the_macro ... ok", "of_the_program ... ok"]
    );
    for shown in [
        "summary: 1 process: 1 certified\n",
        "note: the unit tests of macros are not checked",
    ] {
        assert!(called.stderr.contains(shown), "{}", called.stderr);
    }
    package
        .finishline(&["test", "-p", "macros", "--lib"])
        .expect(4);
    let mut broken = package.command(&all);
    broken
        .env("CARGO_TARGET_DIR", shared("target"))
        .env("BROKEN", "1");
    let broken = Called::from(broken).expect(3);
    assert!(broken.stderr.contains("trap: macros"), "{}", broken.stderr);
}

/// Cargo calls that a success.
fn a_check_of_nothing_establishes_nothing() {
    let source = "/// ```\n/// ```\npub fn documented() {}\n#[test] fn one() {}\n#[test] #[ignore] fn two() {}";
    let package = library("a_check_of_nothing", source);
    for (arguments, said) in [
        (&["nowhere"][..], "no test was run: all 2 were filtered out"),
        (
            &["two"],
            "no test was run: those that were selected are ignored",
        ),
        (&["--doc"], "doc tests are skipped"),
        (&["--bins"], "there are no tests"),
    ] {
        let called = package
            .finishline(&[&["test"], arguments].concat())
            .expect(4);
        let nothing = "summary: 0 processes: nothing was checked\n";
        for shown in [nothing, said] {
            assert!(called.stderr.contains(shown), "{}", called.stderr);
        }
    }
    let nowhere = ["test", "--format=json", "nowhere"];
    let json = package.finishline(&nowhere).expect(4).stdout;
    assert!(json.contains("\"exit_status\": 4"), "{json}");
    for arguments in [&["--no-run"][..], &["--lib", "--", "--list"]] {
        package
            .finishline(&[&["test"], arguments].concat())
            .expect(0);
    }
}

fn output_is_as_libtests() {
    let package = library(
        "output_is_as_libtests",
        "use std::{fs::{File, remove_file}, io::read_to_string, thread::sleep, time::Duration};
         fn alone() { File::create_new(\"busy\").unwrap(); sleep(Duration::from_millis(300)); remove_file(\"busy\").unwrap() }
         #[test] fn a_slow() { sleep(Duration::from_millis(500)) }
         #[test] fn b_quick() { println!(\"said\") }
         #[test] fn c_reads() { assert_eq!(read_to_string(std::io::stdin()).unwrap(), \"\") }
         #[test] #[ignore] fn d_alone() { alone() }
         #[test] #[ignore] fn e_alone() { alone() }",
    );
    let run = |arguments: &[&str]| {
        let arguments = [&["test", "--lib", "--"], arguments].concat();
        package.finishline(&arguments).expect(4).stdout
    };
    // In the order of the list, whichever test ends first.
    let usual = run(&[]);
    let expected = ["a_slow ... ok", "b_quick ... ok", "c_reads ... ok"];
    assert_eq!(verdicts(&usual)[..3], expected);
    assert!(!usual.contains("said"), "{usual}");
    assert!(!usual.contains('\x1b'), "{usual}");
    assert!(run(&["--color=always", "b_"]).contains("\x1b[32mok"));
    assert!(run(&["-q"]).contains("\n...ii\n"));
    let shown = run(&["--show-output"]);
    assert!(
        shown.contains("\n---- b_quick output ----\nsaid\n"),
        "{shown}"
    );
    run(&["--ignored", "--test-threads=1"]);
    let mut told = package.command(&["test", "--lib", "--", "--ignored"]);
    told.env("RUST_TEST_THREADS", "1")
        .env("CARGO_TARGET_DIR", shared("target"));
    Called::from(told).expect(4);
    let mut fed = package.command(&["test", "--lib", "--", "c_reads"]);
    let input = std::fs::File::open(package.path("Cargo.toml")).expect("a file");
    fed.stdin(input).env("CARGO_TARGET_DIR", shared("target"));
    Called::from(fed).expect(4);
    let help = package
        .finishline(&["test", "--lib", "--", "--help"])
        .expect(0);
    assert!(help.stdout.contains("--test-threads"), "{}", help.stdout);
    let wrong = package
        .finishline(&["test", "--lib", "--", "--nonsense"])
        .expect(2);
    assert!(wrong.stderr.contains("--nonsense"), "{}", wrong.stderr);
}

fn tests_that_race_fail() {
    let manifest = "[package]\nname = \"races-in-tests\"\nedition = \"2024\"\n[dependencies]\nrayon = \"1.12\"\n";
    let source = "
        static mut TOTAL: u64 = 0;
        fn add() { unsafe { TOTAL += 1 } }
        #[test] fn clean() { rayon::join(|| (), || ()); }
        #[test] fn races() { println!(\"its output\"); rayon::join(add, add); }
        #[test] fn races_and_fails() { rayon::join(add, add); panic!() }
        fn checked() -> bool { std::env::var_os(\"FINISHLINE_OPTIONS\").is_some() }
        #[test] fn wants_no_checks() { assert_eq!(rayon::join(checked, || false), (false, false)) }
        #[test] fn wants_nothing() { panic!() }";
    let package = Package::new(&[("Cargo.toml", manifest), ("src/lib.rs", source)]);
    let called = package.finishline(&["test"]).expect(66);
    assert_eq!(
        verdicts(&called.stdout),
        [
            "clean ... ok",
            "races ... RACE",
            "races_and_fails ... FAILED, RACE",
            "wants_no_checks ... FAILED",
            "wants_nothing ... FAILED"
        ]
    );
    assert_eq!(
        summary(&called.stdout),
        "FAILED. 1 passed; 2 failed; 2 with races; 0 ignored; 0 filtered out"
    );
    let hint = "\ncargo test -- --include-ignored --exact wants_no_checks\n";
    for shown in ["its output", hint] {
        assert!(called.stdout.contains(shown), "{}", called.stdout);
    }
    let page = package
        .finishline(&["test", "--format=html"])
        .expect(66)
        .stdout;
    for shown in [
        "<a href=\"#process-1\">races</a>",
        "id=\"process-1\">races<",
    ] {
        assert!(page.contains(shown), "{shown} in {page}");
    }
    let junit = package
        .finishline(&["test", "--format=junit"])
        .expect(66)
        .stdout;
    for shown in [
        "tests=\"5\" failures=\"4\" errors=\"0\" skipped=\"0\">\n",
        "<testcase classname=\"races_in_tests\" name=\"races\">\n",
    ] {
        assert!(junit.contains(shown), "{shown} in {junit}");
    }
    // Nothing in it was any different.
    let hints = called.stdout.matches("wants_nothing hint").count();
    assert_eq!(hints, 0, "{}", called.stdout);
}

/// Such a test neither passes nor fails, because we ended the process.
fn tests_that_wait_are_stopped() {
    let manifest = manifest("waits-in-tests", "[dependencies]\nrayon = \"1.12\"\n");
    let source = "
        static mut TOTAL: u64 = 0;
        fn add() { unsafe { TOTAL += 1 } }
        fn wait() {
            let (sender, receiver) = std::sync::mpsc::channel::<()>();
            rayon::join(move || receiver.recv(), move || sender.send(()));
        }
        #[test] fn clean() { rayon::join(|| (), || ()); }
        #[test] fn fails() { panic!() }
        #[test] fn races_and_aborts() { rayon::join(add, add); std::process::abort() }
        #[test] fn waits() { wait() }";
    let package = Package::new(&[("Cargo.toml", &manifest), ("src/lib.rs", source)]);
    let stopped = package
        .finishline(&["test", "--", "--skip", "s_and"])
        .expect(3);
    let verdicts_of = |stdout: &str| verdicts(stdout).join(", ");
    assert_eq!(
        verdicts_of(&stopped.stdout),
        "clean ... ok, fails ... FAILED, waits ... STOPPED"
    );
    let stopped = package
        .finishline(&["test", "--", "clean", "waits"])
        .expect(4);
    assert_eq!(
        summary(&stopped.stdout),
        "FAILED. 1 passed; 1 failed; 0 with races; 0 ignored; 2 filtered out"
    );
    for shown in [
        "stopped: a task waits in vain for a lock, a message or a signal at src/lib.rs:6:42",
        "  task: main › join at src/lib.rs:6:13, left half",
        "run: cargo finishline test -- --include-ignored --exact waits: ",
    ] {
        assert!(
            stopped.stdout.contains(shown),
            "{shown} in\n{}",
            stopped.stdout
        );
    }
    for hidden in ["trap", "exit status", "thread ›"] {
        assert!(
            !stopped.stdout.contains(hidden),
            "{hidden} in\n{}",
            stopped.stdout
        );
    }
    let killed = package.finishline(&["test", "races_and_aborts"]).expect(66);
    assert_eq!(
        verdicts_of(&killed.stdout),
        "races_and_aborts ... FAILED, RACE"
    );
    assert!(
        killed.stdout.contains("killed by signal 6"),
        "{}",
        killed.stdout
    );
}

/// Cargo runs tests in the folder of their package.
fn files_are_named_from_where_the_user_is() {
    let member = manifest("named-files", "[dependencies]\nrayon = \"1.12\"\n");
    let source = "
        static mut TOTAL: u64 = 0;
        fn add() { unsafe { TOTAL += 1 } }
        #[test] fn races() { rayon::join(add, add); }";
    let package = Package::new(&[
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"member\"]\nresolver = \"3\"\n",
        ),
        ("member/Cargo.toml", &member),
        ("member/src/lib.rs", source),
        ("known", "TOTAL\n"),
    ]);
    let called = package
        .finishline(&["test", "--suppressions", "known", "-o", "report"])
        .expect(0);
    assert_eq!(verdicts(&called.stdout), ["races ... ok"]);
    assert!(
        package.read("report").contains("1 race"),
        "{}",
        package.read("report")
    );
}
