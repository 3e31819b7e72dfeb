//! Task paths in rayon's words, and why two tasks are parallel.

use crate::compiled::{findings, line, pair, symbolised, task_of, why_of};
use finishline_answer::task::{Created, Join, JoinConstruct, Relation, Step, Task};
use finishline_answer::verdict::Verdict;
use finishline_symbols::{Question, symbolise};

/// Each step as its operation, its line and the kinds of its parts.
fn steps(task: &Task) -> Vec<(String, u32, String)> {
    let step = |step: &Step| {
        let Created::Nested(parts) = &step.created else {
            panic!("{step:?}");
        };
        let kinds: Vec<&str> = parts.iter().map(|part| part.kind.word()).collect();
        (step.operation.clone(), step.line(), kinds.join(" "))
    };
    task.steps.iter().map(step).collect()
}

fn step(operation: &str, line: u32, parts: &str) -> (String, u32, String) {
    (operation.to_owned(), line, parts.to_owned())
}

/// The operation whose end waits, and its line.
fn waits(join: Option<&Join>) -> (JoinConstruct, Option<u32>) {
    let join = join.expect("a join");
    let line = join.place.as_ref().map(|place| place.line);
    (join.construct.clone(), line)
}

fn end_of(operation: &str) -> JoinConstruct {
    JoinConstruct::Operation(operation.to_owned())
}

#[test]
fn a_parallel_iterator_is_one_step() {
    for (way, run) in symbolised() {
        let conflict = pair(&run, 0);
        let expected = |halves| vec![step("for_each", line("for_each"), halves)];
        assert_eq!(
            steps(task_of(&conflict.first)),
            expected("join-left join-left join-left"),
            "{way:?}"
        );
        assert_eq!(
            steps(task_of(&conflict.second)),
            expected("join-right join-left join-left"),
            "{way:?}"
        );
        assert_eq!(why_of(conflict).relation, Relation::Halves);
        let join = waits(why_of(conflict).join.as_ref());
        assert_eq!(
            join,
            (end_of("for_each"), Some(line("for_each"))),
            "{way:?}"
        );
    }
}

#[test]
fn a_recursion_is_one_step_with_a_part_for_each_call() {
    for (way, run) in symbolised() {
        let conflict = pair(&run, 1);
        let call = line("sort") + 3;
        assert_eq!(
            steps(task_of(&conflict.first)),
            [step("join", call, "join-left join-left")],
            "{way:?}"
        );
        assert_eq!(
            steps(task_of(&conflict.second)),
            [step("join", call, "join-left join-right")],
            "{way:?}"
        );
        assert_eq!(why_of(conflict).relation, Relation::Halves);
        assert_eq!(why_of(conflict).task.id, task_of(&conflict.first).id);
    }
}

#[test]
fn a_spawned_task_outlives_what_follows() {
    for (way, run) in symbolised() {
        let conflict = pair(&run, 2);
        let spawn = step("spawn", line("spawn"), "scope-spawn");
        let join = step("join", line("spawn") + 1, "join-left");
        assert_eq!(
            steps(task_of(&conflict.first)),
            [spawn.clone(), join],
            "{way:?}"
        );
        assert_eq!(steps(task_of(&conflict.second)), [], "{way:?}");
        let why = why_of(conflict);
        assert_eq!(
            (why.relation, steps(&why.task)),
            (Relation::FirstOutlives, vec![spawn]),
            "{way:?}"
        );
        let join = waits(why.join.as_ref());
        assert_eq!(join, (end_of("scope"), Some(line("scope"))), "{way:?}");
    }
}

#[test]
fn a_task_that_escapes_its_parent_is_the_one_to_name() {
    for (way, run) in symbolised() {
        let why = why_of(pair(&run, 3));
        assert_eq!(why.relation, Relation::FirstOutlives);
        assert_eq!(
            why.spawned.as_ref().map(|place| place.line),
            Some(line("escapes")),
            "{way:?}"
        );
        let join = waits(why.join.as_ref());
        assert_eq!(join, (end_of("scope"), Some(line("outer"))), "{way:?}");

        let why = why_of(pair(&run, 4));
        assert_eq!(
            why.spawned.as_ref().map(|place| place.line),
            Some(line("forgotten")),
            "{way:?}"
        );
        assert_eq!((why.relation, &why.join), (Relation::FirstOutlives, &None));
    }
}

#[test]
fn only_the_first_race_is_certain() {
    let run = symbolise(findings(0), &Question::default());
    let may_follow: Vec<bool> = run.findings.iter().map(|c| c.may_follow).collect();
    assert_eq!(may_follow, [false, true, true, true, true]);
    assert_eq!((run.verdict, run.distinct), (Verdict::Race, 5));
}
