//! Task paths in rayon's words, and why two tasks are parallel.

use crate::compiled::{findings, line, pair, symbolised};
use finishline_answer::native::{NativeTask, Relation};
use finishline_answer::verdict::Verdict;
use finishline_symbols::{Question, symbolise};

/// Each step as its operation, its line and the kinds of its parts.
fn steps(task: &NativeTask) -> Vec<(String, u32, String)> {
    let step = |step: &finishline_answer::native::TaskStep| {
        let kinds: Vec<&str> = step.parts.iter().map(|part| part.kind.word()).collect();
        let line = step.place.as_ref().map_or(0, |place| place.line);
        (step.operation.clone(), line, kinds.join(" "))
    };
    task.steps.iter().map(step).collect()
}

fn step(operation: &str, line: u32, parts: &str) -> (String, u32, String) {
    (operation.to_owned(), line, parts.to_owned())
}

#[test]
fn a_parallel_iterator_is_one_step() {
    for (way, run) in symbolised() {
        let conflict = pair(&run, 0);
        let expected = |halves| vec![step("for_each", line("for_each"), halves)];
        assert_eq!(
            steps(&conflict.first.task),
            expected("join-left join-left join-left"),
            "{way:?}"
        );
        assert_eq!(
            steps(&conflict.second.task),
            expected("join-right join-left join-left"),
            "{way:?}"
        );
        assert_eq!(conflict.why.relation, Relation::Halves);
        let join = conflict.why.join.as_ref().expect("a join");
        assert_eq!(
            (join.operation.as_str(), join.place.as_ref().map(|p| p.line)),
            ("for_each", Some(line("for_each"))),
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
            steps(&conflict.first.task),
            [step("join", call, "join-left join-left")],
            "{way:?}"
        );
        assert_eq!(
            steps(&conflict.second.task),
            [step("join", call, "join-left join-right")],
            "{way:?}"
        );
        assert_eq!(conflict.why.relation, Relation::Halves);
        assert_eq!(conflict.why.task.id, conflict.first.task.id);
    }
}

#[test]
fn a_spawned_task_outlives_what_follows() {
    for (way, run) in symbolised() {
        let conflict = pair(&run, 2);
        let spawn = step("spawn", line("spawn"), "scope-spawn");
        let join = step("join", line("spawn") + 1, "join-left");
        assert_eq!(
            steps(&conflict.first.task),
            [spawn.clone(), join],
            "{way:?}"
        );
        assert_eq!(steps(&conflict.second.task), [], "{way:?}");
        let why = &conflict.why;
        assert_eq!(
            (why.relation, steps(&why.task)),
            (Relation::FirstOutlives, vec![spawn]),
            "{way:?}"
        );
        let join = why.join.as_ref().expect("a join");
        assert_eq!(
            (join.operation.as_str(), join.place.as_ref().map(|p| p.line)),
            ("scope", Some(line("scope"))),
            "{way:?}"
        );
    }
}

#[test]
fn a_task_that_escapes_its_parent_is_the_one_to_name() {
    for (way, run) in symbolised() {
        let why = &pair(&run, 3).why;
        assert_eq!(why.relation, Relation::FirstOutlives);
        assert_eq!(
            why.spawned.as_ref().map(|place| place.line),
            Some(line("escapes")),
            "{way:?}"
        );
        let join = why.join.as_ref().expect("a join");
        assert_eq!(
            (join.operation.as_str(), join.place.as_ref().map(|p| p.line)),
            ("scope", Some(line("outer"))),
            "{way:?}"
        );

        let why = &pair(&run, 4).why;
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
    let may_follow: Vec<bool> = run.conflicts.iter().map(|c| c.may_follow).collect();
    assert_eq!(may_follow, [false, true, true, true, true]);
    assert_eq!((run.verdict, run.distinct), (Verdict::Race, 5));
}
