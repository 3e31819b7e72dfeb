//! Reports of deadlocks: what each task waits for, who may set that, and a cycle. Compiled and
//! interpreted runs say the same.

use crate::common::compile;
use crate::promise_cases::PROGRAMS;
use finishline_answer::answer::{Failure, FailurePoint, Tasks, WaitsFor};
use finishline_answer::task::Created;
use finishline_answer::{Answer, Verdict};
use finishline_engine::check::{self, check};
use finishline_engine::executor::{Executor, Forms};
use finishline_engine::question::Question;
use finishline_ir::Module;
use finishline_ir::machine::Limits;
use finishline_model::{Detector, Passes};
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

fn checked(source: &str) -> Answer {
    let module = compile(source).unwrap_or_else(|errors| panic!("{errors}\n{source}"));
    let [interpreted, compiled] = [Executor::Interpreted, Executor::Compiled].map(|executor| {
        let question = question(&module, executor);
        let answer = check(&question, Detector::Finishline, &mut io::sink()).expect("an answer");
        let failure = check::run(&question, 1, &mut io::sink()).expect("a run");
        assert_eq!(failure, answer.failure, "{source}");
        answer
    });
    assert_eq!(interpreted.failure, compiled.failure, "{source}");
    assert_eq!(interpreted.verdict, compiled.verdict, "{source}");
    interpreted
}

/// `main.1: p of line 3, by 0 2`, or `main: 1 2`.
fn told(point: &FailurePoint) -> String {
    let mut task = "main".to_owned();
    for step in &point.task.steps {
        let Created::One(creation) = &step.created else {
            panic!("{step:?}");
        };
        task += &format!(".{}", creation.index);
    }
    let waits_for = match &point.waits_for {
        Some(WaitsFor::Promise(promise)) => {
            let line = promise.made.as_ref().map_or(0, |made| made.line);
            let name = &promise.name;
            format!("{name} of line {line}, by {}", numbers(&promise.setters))
        }
        Some(WaitsFor::Tasks(tasks)) => numbers(tasks),
        Some(WaitsFor::Lock(lock)) => format!("{} of {}", lock.name, numbers(&lock.holder)),
        None => "nothing".to_owned(),
    };
    format!("{task}: {waits_for}")
}

fn numbers(tasks: &Option<Tasks>) -> String {
    let Some(tasks) = tasks else {
        return "unknown".to_owned();
    };
    let shown: Vec<String> = tasks.shown.iter().map(ToString::to_string).collect();
    match tasks.count - shown.len() {
        0 if shown.is_empty() => "nobody".to_owned(),
        0 => shown.join(" "),
        more => format!("{} and {more} more", shown.join(" ")),
    }
}

fn story(failure: &Failure) -> Vec<String> {
    let points = failure.at.iter().chain(&failure.waiting);
    let mut story: Vec<String> = points.map(told).collect();
    if failure.cycle.is_some() {
        story.push(format!("cycle {}", numbers(&failure.cycle)));
    }
    story
}

fn of_case(name: &str) -> Answer {
    let found = PROGRAMS.iter().find(|(what, _)| *what == name);
    let (_, source) = found.unwrap_or_else(|| panic!("no program is {name:?}"));
    checked(source)
}

#[track_caller]
fn expect(name: &str, expected: &[&str]) {
    let answer = of_case(name);
    assert_eq!(answer.verdict, Verdict::Deadlock, "{name}");
    assert_eq!(
        story(&answer.failure.expect("a failure")),
        expected,
        "{name}"
    );
}

#[test]
fn crossed_gets_are_a_cycle_of_two() {
    expect(
        "a deadlock of crossed gets",
        &[
            "main: b of line 3, by 1",
            "main.0: a of line 2, by 0",
            "cycle 0 1",
        ],
    );
}

#[test]
fn three_in_a_ring_are_a_cycle_of_three() {
    expect(
        "a deadlock of three in a ring",
        &[
            "main: c of line 5, by 2",
            "main.0: a of line 3, by 0",
            "main.1: b of line 4, by 1",
            "cycle 0 2 1",
        ],
    );
}

#[test]
fn nobody_is_left_to_set_a_promise_whose_setter_has_ended() {
    expect(
        "a deadlock by a set that does not happen",
        &["main: q of line 4, by 1", "main.1: p of line 3, by nobody"],
    );
}

#[test]
fn elements_of_an_array_are_told_apart() {
    expect(
        "a deadlock by promises in an array",
        &[
            "main.0: p[i]#2 of line 4, by 2",
            "main: 0 2",
            "main.1: p[i]#3 of line 4, by 1",
            "cycle 0 2 1",
        ],
    );
}

#[test]
fn owners_of_finishes_are_part_of_a_cycle() {
    expect(
        "a deadlock at a finish whose task waits for its owner",
        &[
            "main.1.0: p of line 2, by 1",
            "main: 2",
            "main.1: 0",
            "cycle 0 1 2",
        ],
    );
}

#[test]
fn futures_wait_for_each_other() {
    expect(
        "a deadlock of futures that wait for each other",
        &[
            "main: f of line 5, by 1",
            "main.0: g of line 6, by 2",
            "main.1: f of line 5, by 1",
            "cycle 1 2",
        ],
    );
}

/// Which element the task sets depends on a value that never comes.
#[test]
fn a_task_may_set_what_it_would_not() {
    expect(
        "a deadlock in which a task may set any promise of an array",
        &[
            "main: p[i]#2 of line 3, by 1",
            "main.0: p[i] of line 3, by 1",
            "cycle 1",
        ],
    );
}

#[test]
fn a_race_before_stays_the_verdict() {
    let answer = of_case("a deadlock after a race");
    assert_eq!(answer.verdict, Verdict::Race);
    let failure = answer.failure.expect("a failure");
    assert!(failure.is_deadlock());
    assert_eq!(story(&failure), ["main: p of line 3, by nobody"]);
}

#[test]
fn tasks_of_a_long_cycle_come_before_others() {
    let answer = checked(
        "fn main() {
            let n = 40;
            let lost = new promise<int>();
            for i in 0..30 { async { lost.get(); } }
            let p = new promise<int>[n];
            for i in 0..n { p[i] = new promise<int>(); }
            for i in 0..n { async { p[(i + 1) % n].get(); p[i].set(1); } }
        }",
    );
    let failure = answer.failure.expect("a failure");
    assert_eq!(failure.waiting.len(), 20);
    let story = story(&failure);
    assert_eq!(story[0], "main.0: lost of line 3, by nobody");
    assert_eq!(story[1], "main.30: p[i]#2 of line 6, by 2");
    assert_eq!(story[20], "main.49: p[i]#21 of line 6, by  and 1 more");
    let cycle = failure.cycle.expect("a cycle");
    assert_eq!((cycle.shown, cycle.count), ((1..=20).collect(), 40));
}

#[test]
fn among_very_many_tasks_nobody_is_looked_for() {
    let answer = checked(
        "fn main() {
            let p = new promise<int>();
            for i in 0..1001 { async { p.get(); } }
        }",
    );
    let story = story(&answer.failure.expect("a failure"));
    assert_eq!(story[0], "main.0: p of line 2, by unknown");
    assert_eq!(story[1], "main: unknown");
}

/// Every program of the cases, also those that do not deadlock.
#[test]
fn every_program_fails_the_same_way_in_both() {
    for (_, source) in PROGRAMS {
        checked(source);
    }
}
