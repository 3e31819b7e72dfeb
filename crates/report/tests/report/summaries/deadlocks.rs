//! Answers about deadlocks.

use super::*;

/// Two tasks that wait for each other, one that waits for them, and one whose promise is lost.
pub(crate) fn deadlock() -> Answer {
    Answer {
        verdict: Verdict::Deadlock,
        failure: Some(Failure {
            near: None,
            unchecked: None,
            kind: "deadlock",
            message: "no task can go on: 3 wait for promises that have no value".to_string(),
            at: Some(waits(0, 5, promise("a", 2, Some(tasks(&[2]))))),
            waiting: vec![
                FailurePoint {
                    place: place("cross.fin", 9, 1, "}"),
                    task: task(&[]),
                    waits_for: Some(WaitsFor::Tasks(Some(tasks(&[0, 2, 3])))),
                },
                waits(1, 6, promise("b", 3, Some(tasks(&[0, 3])))),
                waits(2, 7, promise("lost", 4, Some(tasks(&[])))),
            ],
            cycle: Some(tasks(&[0, 2])),
            schedule: None,
        }),
        ..clean("cross.fin", &[])
    }
}

/// More tasks than are listed, and in one place nothing is known.
pub(crate) fn deadlock_of_many() -> Answer {
    let some = |shown: &[usize], count| {
        let shown = shown.to_vec();
        Some(Tasks { shown, count })
    };
    Answer {
        verdict: Verdict::Deadlock,
        failure: Some(Failure {
            near: None,
            unchecked: None,
            kind: "deadlock",
            message: "no task can go on: 99 wait for promises that have no value".to_string(),
            at: Some(waits(0, 5, promise("p", 2, some(&[1], 98)))),
            waiting: vec![
                waits(1, 5, promise("p#2", 2, some(&[], 3))),
                waits(2, 6, promise("q", 3, some(&[2], 1))),
                waits(3, 7, promise("r", 3, None)),
                FailurePoint {
                    waits_for: Some(WaitsFor::Tasks(None)),
                    ..waits(4, 9, promise("r", 3, None))
                },
            ],
            cycle: some(&[0, 1], 50),
            schedule: None,
        }),
        ..clean("many.fin", &["99"])
    }
}

pub(crate) fn race_then_deadlock() -> Answer {
    let mut race = fig2_race();
    race.why.as_mut().expect("a reason").join = None;
    Answer {
        findings: vec![race],
        failure: deadlock().failure,
        ..racy()
    }
}

/// A task that waits for a promise.
fn waits(index: u32, line: u32, promise: Promise) -> FailurePoint {
    FailurePoint {
        place: place("cross.fin", line, 13, &format!("{}.get()", promise.name)),
        task: task(&[created(index, "async", line, &[])]),
        waits_for: Some(WaitsFor::Promise(promise)),
    }
}

fn promise(name: &str, line: u32, setters: Option<Tasks>) -> Promise {
    Promise {
        name: Location::Promise(name.to_string()),
        made: Some(place("cross.fin", line, 13, "new promise<int>()")),
        setters,
    }
}

pub(super) fn tasks(shown: &[usize]) -> Tasks {
    Tasks {
        shown: shown.to_vec(),
        count: shown.len(),
    }
}
