//! `run`: programs that end early inside a task or a thread, fork, or unwind through tasks.
//!
//! One program has all faults. What it does before a fault and after it are arguments, so the tests
//! go through all combinations. What was found before a fault must be reported, what follows a
//! fault that is caught must be judged as always, and the exit status must be the documented one.

use crate::package::Package;
use libtest_mimic::Trial;
use serde_json::Value;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(format!("faults::{name}"), move || {
            test();
            Ok(())
        })
    };
    vec![
        trial(
            "what_was_found_before_is_reported",
            what_was_found_before_is_reported,
        ),
        trial("copies_report_for_themselves", copies_report_for_themselves),
        trial(
            "what_follows_a_caught_panic_is_judged",
            what_follows_a_caught_panic_is_judged,
        ),
        trial(
            "memory_that_runs_out_is_no_hiding_place",
            memory_that_runs_out_is_no_hiding_place,
        ),
        trial(
            "an_exit_inside_a_task_certifies_nothing",
            an_exit_inside_a_task_certifies_nothing,
        ),
        trial(
            "tests_fail_by_uses_after_free",
            tests_fail_by_uses_after_free,
        ),
    ]
}

const FAULTS: &str = r#"
    use rayon::prelude::*;
    use std::os::unix::process::CommandExt;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::process::{Command, abort, exit, id};
    use std::thread;

    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(status: i32) -> !;
        fn kill(process: i32, signal: i32) -> i32;
    }

    static mut TOTAL: u64 = 0;
    static mut OTHER: u64 = 0;
    fn add() { unsafe { TOTAL += 1 } }
    fn add_other() { unsafe { OTHER += 1 } }
    fn endless(n: u64) -> u64 { if n == 0 { 0 } else { std::hint::black_box(endless(n + 1)) + 1 } }

    fn caught(does: impl FnOnce()) { assert!(catch_unwind(AssertUnwindSafe(does)).is_err()) }

    struct Bomb;
    impl Drop for Bomb { fn drop(&mut self) { panic!("again") } }

    fn in_copy(does: impl FnOnce() + Send) {
        rayon::join(|| unsafe {
            let copy = fork();
            if copy == 0 { does() } else { waitpid(copy, &mut 0, 0); }
        }, || ());
    }

    fn pool() -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().panic_handler(|_| ()).num_threads(2).build().unwrap()
    }

    fn fault(name: &str) {
        match name {
            "task aborts" => _ = rayon::join(|| abort(), || ()),
            "task exits" => _ = rayon::join(|| exit(5), || ()),
            "right half exits" => _ = rayon::join(|| (), || exit(5)),
            "scope exits" => rayon::scope(|scope| scope.spawn(|_| exit(5))),
            "iterator exits" => (0..8).into_par_iter().for_each(|i| if i == 3 { exit(5) }),
            "thread exits" => thread::spawn(|| exit(5)).join().unwrap(),
            "thread in a task exits" => _ = rayon::join(|| thread::spawn(|| exit(5)).join().unwrap(), || ()),
            "scoped thread exits" => thread::scope(|scope| _ = scope.spawn(|| exit(5))),
            "task is killed" => _ = rayon::join(|| unsafe { kill(id() as i32, 9) }, || ()),
            "task is ended" => _ = rayon::join(|| unsafe { kill(id() as i32, 15) }, || ()),
            "task overflows" => _ = rayon::join(|| endless(1), || ()),
            "thread overflows" => _ = thread::spawn(|| endless(1)).join(),
            "task faults" => _ = rayon::join(|| unsafe { std::ptr::null_mut::<u8>().write_volatile(1) }, || ()),
            "task has no memory" => _ = rayon::join(|| { std::hint::black_box(vec![1u8; 1 << 46]); }, || ()),
            "task panics twice" => _ = rayon::join(|| { let _bomb = Bomb; panic!() }, || ()),
            "task panics" => _ = rayon::join(|| panic!(), || ()),
            "spawned task panics" => rayon::spawn(|| panic!()),
            "is another program" => _ = rayon::join(|| _ = Command::new("true").exec(), || ()),
            "runs another program" => _ = rayon::join(|| _ = Command::new("true").status(), || ()),
            "handled panic" => pool().spawn(|| panic!()),
            "copy goes on" => in_copy(|| ()),
            "copy exits" => in_copy(|| exit(0)),
            "copy vanishes" => in_copy(|| unsafe { _exit(0) }),
            "copy is another program" => in_copy(|| _ = Command::new("true").exec()),
            "copy races" => in_copy(|| { rayon::join(add_other, add_other); exit(0) }),
            "left half" => caught(|| _ = rayon::join(|| panic!(), || ())),
            "right half" => caught(|| _ = rayon::join(|| (), || panic!())),
            "both halves" => caught(|| _ = rayon::join(|| panic!(), || panic!())),
            "nested halves" => caught(|| _ = rayon::join(|| rayon::join(|| rayon::join(|| (), || panic!()), || ()), || ())),
            "body of a scope" => caught(|| rayon::scope(|scope| { scope.spawn(|_| ()); panic!() })),
            "task of a scope" => caught(|| rayon::scope(|scope| { scope.spawn(|_| panic!()); scope.spawn(|_| ()) })),
            "nested task of a scope" => caught(|| rayon::scope(|scope| scope.spawn(|scope| scope.spawn(|_| panic!())))),
            "scope in place" => caught(|| rayon::in_place_scope(|scope| { scope.spawn(|_| panic!()); panic!() })),
            "scope in order" => caught(|| rayon::scope_fifo(|scope| { scope.spawn_fifo(|_| panic!()); scope.spawn_fifo(|_| ()) })),
            "iterator" => caught(|| (0..40).into_par_iter().for_each(|i| if i == 30 { panic!() })),
            "all of an iterator" => caught(|| (0..40).into_par_iter().for_each(|_| panic!())),
            "collecting" => caught(|| _ = (0..40).into_par_iter().map(|i| if i == 30 { panic!() } else { i.to_string() }).collect::<Vec<String>>()),
            "install" => caught(|| pool().install(|| panic!())),
            "broadcast" => caught(|| _ = rayon::broadcast(|_| panic!())),
            "thread" => assert!(thread::spawn(|| panic!()).join().is_err()),
            "scoped thread" => caught(|| thread::scope(|scope| _ = scope.spawn(|| panic!()))),
            "caught in a task" => _ = rayon::join(|| caught(|| _ = rayon::join(|| panic!(), || ())), || ()),
            other => panic!("{other}"),
        }
    }

    fn main() {
        std::panic::set_hook(Box::new(|_| ()));
        let words: Vec<String> = std::env::args().skip(1).collect();
        match words[0].as_str() {
            "races" => _ = rayon::join(add, add),
            _ => _ = rayon::join(|| (), || ()),
        }
        fault(&words[1]);
        match words[2].as_str() {
            "races" => _ = rayon::join(add_other, add_other),
            _ => {
                rayon::join(add_other, || ());
                rayon::join(|| (), add_other);
                rayon::scope(|scope| scope.spawn(|_| add_other()));
                add_other();
            }
        }
    }"#;

fn package() -> Package {
    Package::with_rayon("faults", FAULTS)
}

/// The reports of a run, one for each process, and the exit status.
fn run(package: &Package, words: [&str; 3]) -> (i32, Vec<Value>) {
    let called = package.finishline(&[&["run", "--format=json", "--"], &words[..]].concat());
    let report: Value = serde_json::from_str(&called.stdout)
        .unwrap_or_else(|error| panic!("{words:?}: {error}: {}", called.stderr));
    assert!(!called.stderr.contains("finishline:"), "{}", called.stderr);
    let reports = match report["reports"].as_array() {
        Some(reports) => reports.clone(),
        None => vec![report],
    };
    (called.status, reports)
}

/// The verdicts of the reports, in order of the alphabet.
fn verdicts(reports: &[Value]) -> Vec<&str> {
    let mut verdicts: Vec<&str> = reports
        .iter()
        .filter_map(|it| it["verdict"].as_str())
        .collect();
    verdicts.sort();
    verdicts
}

/// The static in which a report has races.
fn racing(report: &Value) -> Vec<&str> {
    let races = report["races"].as_array().into_iter().flatten();
    let mut names: Vec<&str> = races
        .filter_map(|race| race["object"]["name"].as_str())
        .collect();
    names.dedup();
    names
}

fn what_was_found_before_is_reported() {
    let package = package();
    for (fault, status, verdict) in [
        ("task aborts", 3, "trap"),
        ("task exits", 5, "observed"),
        ("right half exits", 5, "observed"),
        ("scope exits", 5, "observed"),
        ("iterator exits", 5, "observed"),
        ("thread exits", 5, "observed"),
        ("thread in a task exits", 5, "observed"),
        ("scoped thread exits", 5, "observed"),
        ("task is killed", 3, "trap"),
        ("task is ended", 3, "trap"),
        ("task overflows", 3, "trap"),
        ("thread overflows", 3, "trap"),
        ("task faults", 3, "trap"),
        ("task has no memory", 3, "trap"),
        ("task panics twice", 3, "trap"),
        ("task panics", 3, "trap"),
        ("spawned task panics", 3, "trap"),
        ("is another program", 4, "unknown"),
        ("runs another program", 0, "certified"),
        ("handled panic", 0, "certified"),
    ] {
        let (own, reports) = run(&package, ["clean", fault, "clean"]);
        assert_eq!(
            (own, verdicts(&reports)),
            (status, vec![verdict]),
            "{fault}"
        );
        let (own, reports) = run(&package, ["races", fault, "clean"]);
        assert_eq!((own, verdicts(&reports)), (66, vec!["race"]), "{fault}");
        assert_eq!(racing(&reports[0]), ["faults::TOTAL"], "{fault}");
    }
}

/// A copy that ends as a process should has a report, with what was found before the fork.
fn copies_report_for_themselves() {
    let package = package();
    for (fault, of_copy) in [
        ("copy goes on", Some("certified")),
        ("copy exits", Some("observed")),
        ("copy vanishes", None),
        ("copy is another program", None),
    ] {
        let (status, reports) = run(&package, ["clean", fault, "clean"]);
        let mut expected: Vec<&str> = of_copy.into_iter().chain(["certified"]).collect();
        expected.sort();
        assert_eq!((status, verdicts(&reports)), (0, expected), "{fault}");
        let (status, reports) = run(&package, ["races", fault, "clean"]);
        let expected: Vec<&str> = of_copy.into_iter().chain([""]).map(|_| "race").collect();
        assert_eq!((status, verdicts(&reports)), (66, expected), "{fault}");
        for report in &reports {
            assert_eq!(racing(report), ["faults::TOTAL"], "{fault}");
        }
    }
    let (status, reports) = run(&package, ["clean", "copy races", "clean"]);
    assert_eq!(
        (status, verdicts(&reports)),
        (66, vec!["certified", "race"])
    );
}

fn what_follows_a_caught_panic_is_judged() {
    let package = package();
    for (fault, verdict) in [
        ("left half", "certified"),
        ("right half", "certified"),
        ("both halves", "certified"),
        ("nested halves", "certified"),
        ("body of a scope", "certified"),
        ("task of a scope", "certified"),
        ("nested task of a scope", "certified"),
        ("scope in place", "certified"),
        ("scope in order", "certified"),
        ("iterator", "certified"),
        ("all of an iterator", "certified"),
        ("collecting", "certified"),
        ("install", "certified"),
        ("broadcast", "certified"),
        ("thread", "observed"),
        ("scoped thread", "observed"),
        ("caught in a task", "certified"),
    ] {
        let (status, reports) = run(&package, ["clean", fault, "clean"]);
        assert_eq!((status, verdicts(&reports)), (0, vec![verdict]), "{fault}");
        let (status, reports) = run(&package, ["clean", fault, "races"]);
        assert_eq!((status, verdicts(&reports)), (66, vec!["race"]), "{fault}");
        assert_eq!(racing(&reports[0]), ["faults::OTHER"], "{fault}");
    }
}

/// Under a limit on addresses. The runtime reserves a part of them for its tables.
fn memory_that_runs_out_is_no_hiding_place() {
    const PROGRAM: &str = r#"
        unsafe extern "C" { fn setrlimit(what: i32, limit: *const [u64; 2]) -> i32; }
        static mut TOTAL: u64 = 0;
        fn add() { unsafe { TOTAL += 1 } }
        /// Lets this process have so many more bytes of addresses than it has.
        fn limit(more: u64) {
            let status = std::fs::read_to_string("/proc/self/statm").unwrap();
            let pages: u64 = status.split(' ').next().unwrap().parse().unwrap();
            let most = pages * 4096 + more;
            assert_eq!(unsafe { setrlimit(9, &[most, most]) }, 0);
        }
        fn main() {
            let words: Vec<String> = std::env::args().collect();
            match words[1].as_str() {
                "races" => _ = rayon::join(add, add),
                _ => _ = rayon::join(|| (), || ()),
            }
            match words[2].as_str() {
                // More than the quarantine leaves room for, unless it is emptied in time.
                "reuses" => {
                    limit(48 << 20);
                    rayon::join(|| for _ in 0..8 { std::hint::black_box(vec![1u8; 24 << 20]); }, || ());
                }
                _ => {
                    limit(256 << 20);
                    rayon::join(|| {
                        let mut all = Vec::new();
                        loop { all.push(std::hint::black_box(vec![1u8; 1 << 20])) }
                    }, || ());
                }
            }
        }"#;
    let package = Package::with_rayon("memory_that_runs_out", PROGRAM);
    for (does, ends, status, verdict) in [
        ("clean", "reuses", 0, "certified"),
        ("races", "reuses", 66, "race"),
        ("clean", "takes all", 3, "trap"),
        ("races", "takes all", 66, "race"),
    ] {
        let called = package.finishline(&["run", "--format=json", "--", does, ends]);
        let called = called.expect(status);
        let report: Value = serde_json::from_str(&called.stdout).expect("one report");
        assert_eq!(report["verdict"], verdict, "{does}, {ends}");
    }
}

/// The right half would race with the left one, but does not begin. Another order shows it.
fn an_exit_inside_a_task_certifies_nothing() {
    const PROGRAM: &str = r#"
        static mut TOTAL: u64 = 0;
        fn add() { unsafe { TOTAL += 1 } }
        fn main() { rayon::join(|| { add(); std::process::exit(0) }, add); }"#;
    let package = Package::with_rayon("exit_inside_a_task", PROGRAM);
    let called = package.finishline(&["run", "--format=json"]).expect(0);
    let report: Value = serde_json::from_str(&called.stdout).expect("one report");
    assert_eq!(report["verdict"], "observed");
    assert_eq!(report["because"]["kind"], "ended-inside");
    for other in [&["--first=right"][..], &["--orders=2"]] {
        let called = package.finishline(&[&["run"], other].concat()).expect(66);
        assert!(called.stderr.contains("\nrace: "), "{}", called.stderr);
    }
}

fn tests_fail_by_uses_after_free() {
    const TESTS: &str = "
        fn stale() {
            let number = std::hint::black_box(Box::new(7u64));
            let at = &raw const *number as usize;
            drop(number);
            rayon::join(|| unsafe { (at as *const u64).read_volatile() }, || ());
        }
        #[test] fn a_clean() { rayon::join(|| (), || ()); }
        #[test] fn b_uses() { stale() }
        #[test] fn c_uses_and_fails() { stale(); panic!() }
        #[test] fn d_kills_itself() {
            rayon::join(|| std::process::Command::new(\"kill\").arg(std::process::id().to_string()).status(), || ());
        }
        #[test] fn e_exits() { rayon::join(|| std::process::exit(0), || ()); }";
    let manifest =
        crate::package::manifest("uses_after_free", "[dependencies]\nrayon = \"1.12\"\n");
    let package = Package::new(&[("Cargo.toml", &manifest), ("src/lib.rs", TESTS)]);
    let called = package.finishline(&["test", "--no-fail-fast"]).expect(3);
    for shown in [
        "test a_clean ... ok\n",
        "test b_uses ... FAILED, USE AFTER FREE\n",
        "test c_uses_and_fails ... FAILED, USE AFTER FREE\n",
        "test d_kills_itself ... FAILED\n",
        "test e_exits ... FAILED\n",
        "1 passed; 4 failed; 0 with races;",
        "use-after-free: read of bytes 0..8 of a heap block of 8 bytes, which was freed before\n",
    ] {
        assert!(called.stdout.contains(shown), "{}", called.stdout);
    }
    let json = package.finishline(&["test", "--format=json", "--no-fail-fast"]);
    let suite: Value = serde_json::from_str(&json.expect(3).stdout).expect("JSON");
    let reports = suite["reports"].as_array().expect("reports");
    let statuses: Vec<_> = reports
        .iter()
        .map(|it| it["exit_status"].as_u64())
        .collect();
    assert_eq!(statuses, [0, 3, 3, 3, 3].map(Some));
    assert_eq!(reports[1]["races"][0]["class"], "use-after-free");
    let junit = package.finishline(&["test", "--format=junit", "--no-fail-fast"]);
    let junit = junit.expect(3).stdout;
    assert!(junit.contains("type=\"use-after-free\""), "{junit}");
    assert!(junit.contains("failures=\"4\""), "{junit}");
    // Without a quarantine nothing is found.
    let without = ["test", "--quarantine=0", "--", "b_uses"];
    let called = package.finishline(&without).expect(0);
    assert!(
        called.stdout.contains("test b_uses ... ok\n"),
        "{}",
        called.stdout
    );
}
