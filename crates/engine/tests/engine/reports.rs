//! Reports name tasks and locations that no longer exist when the run has ended.

use crate::common::compile;
use finishline_answer::answer::Failure;
use finishline_answer::task::{Created, JoinConstruct, Step, Task};
use finishline_answer::{Answer, Check, FoundAccess, Location, Verdict};
use finishline_engine::check::{self, check};
use finishline_engine::executor::{Executor, Forms};
use finishline_engine::question::{CheckError, Question};
use finishline_ir::Module;
use finishline_ir::machine::Limits;
use finishline_model::Detector;
use finishline_model::Passes;
use std::io;
use std::sync::atomic::AtomicU64;

fn question(module: &Module, executor: Executor) -> Question<'_> {
    Question {
        module,
        forms: Forms::new(module, executor, Passes::ALL),
        words: Vec::new(),
        arguments: Vec::new(),
        limits: Limits::default(),
        max_races: usize::MAX,
        suppressions: None,
        watch: None,
        schedule: None,
        progress: AtomicU64::new(0),
    }
}

const EXECUTORS: [Executor; 2] = [Executor::Interpreted, Executor::Compiled];

/// Checks a program with ESP-bags, and watches a location. However it is run, the answer is the
/// same.
fn checked(source: &str, watch: Option<&str>) -> Result<Answer, CheckError> {
    let module = compile(source).unwrap_or_else(|errors| panic!("{errors}\n{source}"));
    let [interpreted, compiled] = EXECUTORS.map(|executor| {
        let question = Question {
            watch: watch.map(str::to_owned),
            ..question(&module, executor)
        };
        check(&question, Detector::EspBags, &mut io::sink())
    });
    assert_eq!(interpreted.as_ref().ok(), compiled.as_ref().ok());
    interpreted
}

/// The line, the index and the captures of each creation: `12#0 i = 3`.
fn told(path: &Task) -> Vec<String> {
    let creation = |step: &Step| {
        let Created::One(creation) = &step.created else {
            panic!("{step:?}");
        };
        let mut told = format!("{}#{}", step.line(), creation.index);
        for (name, value) in &creation.captures {
            told.push_str(&format!(" {name} = {value}"));
        }
        told
    };
    path.steps.iter().map(creation).collect()
}

fn task_of(access: &FoundAccess) -> &Task {
    access.task.as_ref().expect("a task")
}

fn check_of(answer: &Answer) -> &Check {
    answer.check().expect("the answer to a check")
}

fn failed_in(failure: Option<Failure>) -> Vec<String> {
    told(
        &failure
            .and_then(|failure| failure.at)
            .expect("a failure")
            .task,
    )
}

/// Ancestors are told with what they captured, though only a descendant made an access; a join is
/// the first that waited.
#[test]
fn tasks_are_told_with_their_ancestors() {
    let source = "fn main() {
    let B = new int[1];
    finish {
        async { }
        let k = 7;
        async {
            let i = k + 1;
            async { async { B[0] = i; } }
        }
    }
    finish {
        async {
            let j = 5;
            finish { async { async { } } }
            async { B[0] = j; }
            B[0] = 1;
        }
    }
}
";
    let summary = checked(source, Some("B[0]")).expect("an answer");
    let [race] = &summary.findings[..] else {
        panic!("{:?}", summary.findings)
    };
    assert_eq!(told(task_of(&race.first)), ["12#2", "15#1 j = 5"]);
    assert_eq!(told(task_of(&race.second)), ["12#2"]);
    let why = race.why.as_ref().expect("a reason");
    assert_eq!(told(&why.task), told(task_of(&race.first)));
    let join = why.join.as_ref().expect("a join");
    assert_eq!(
        join.construct,
        JoinConstruct::EndOf {
            construct: "finish".to_owned(),
            line: 11
        }
    );
    assert_eq!(join.place.as_ref().map(|place| place.line), Some(18));
    let element = Location::Element {
        object: "B".to_owned(),
        indices: vec!["0".to_owned()],
    };
    assert_eq!(race.location, element);
    let watched = check_of(&summary).watched.as_ref();
    let watched = watched.expect("a watched location");
    assert_eq!((&watched.location, watched.count), (&element, 3));
    assert_eq!(
        told(task_of(&watched.accesses[0])),
        ["6#1 k = 7", "8#0 i = 8", "8#0 i = 8"]
    );
}

#[test]
fn the_task_that_failed_is_told_with_its_ancestors() {
    let source = "fn main() {
    async { }
    for i in 0..3 {
        async {
            let z = i - 1;
            async { print(1 / z); }
        }
    }
}
";
    let module = compile(source).unwrap_or_else(|errors| panic!("{errors}"));
    let expected = ["4#2 i = 1", "6#0 z = 0"];
    for executor in EXECUTORS {
        let question = question(&module, executor);
        let failure = check::run(&question, 1, &mut io::sink()).expect("a run");
        assert_eq!(failed_in(failure), expected);
        let summary = check(&question, Detector::EspBags, &mut io::sink()).expect("an answer");
        assert_eq!(failed_in(summary.failure), expected);
    }
}

#[test]
fn a_name_that_no_location_has_hides_nothing() {
    let source = "fn main() { let B = new int[2]; finish { async { B[1] = 3; } B[1] = 4; } }";
    let watched = |name| checked(source, Some(name)).expect("an answer");
    let summary = watched("B[2]");
    assert_eq!(summary.verdict, Verdict::Race);
    assert_eq!(summary.findings.len(), 1);
    assert_eq!(check_of(&summary).watched, None);
    let watched = check_of(&watched("B[1]")).watched.clone();
    assert_eq!(watched.expect("watched").count, 2);
}

/// One path alone can have very many tasks; the first race is shown all the same, and all are
/// counted.
#[test]
fn long_paths_leave_no_room_for_more_races() {
    let program = |depth: u32| {
        format!(
            "var a: int = 0;
            var b: int = 0;
            fn deep(n: int) {{
                if n > 0 {{ async {{ deep(n - 1); }} }} else {{ a = 1; b = 1; }}
            }}
            fn main() {{ async {{ deep({depth}); }} a = 2; b = 2; }}"
        )
    };
    for (depth, shown) in [(1000, 2), (100_000, 1)] {
        let summary = checked(&program(depth), None).expect("an answer");
        assert_eq!((summary.findings.len(), summary.distinct), (shown, 2));
        let path = &task_of(&summary.findings[0].first).steps;
        assert_eq!(path.len(), depth as usize + 1);
    }
}

/// The racing locations, the verdict, and whether the program failed.
fn judged(source: &str) -> (Vec<String>, Verdict, bool) {
    let summary = checked(source, None).expect("an answer");
    let failed = summary.failure.is_some();
    let racing = check_of(&summary).racing_locations.shown.iter();
    let racing = racing.map(ToString::to_string).collect();
    (racing, summary.verdict, failed)
}

/// The loop would access all of `a`, if it did not fail before.
#[test]
fn a_failure_prevents_accesses_that_were_checked_ahead() {
    let source = "fn main() {
    let a = new int[8];
    finish {
        a[7] = 0;
        async { for i in 0..8 { assert(i < 3); a[i] = 1; } }
    }
}";
    assert_eq!(judged(source), (vec![], Verdict::Trap, true));
    let beside = source.replace("a[7] = 0;\n", "async { a[1] = 2; a[7] = 2; }\n");
    let found = (vec!["a[1]".to_owned()], Verdict::Race, true);
    assert_eq!(judged(&beside), found);
}

/// The check of the write would be enough for both, if it came to that.
#[test]
fn a_failure_prevents_the_check_that_covers_an_access() {
    let source = "var g: int = 0;
fn main() {
    finish {
        async g = 1;
        async { let seen = g; assert(seen > 1, seen); g = 2; }
    }
}";
    let found = (vec!["g".to_owned()], Verdict::Race, true);
    assert_eq!(judged(source), found);
}
