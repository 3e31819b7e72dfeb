//! Answers about runs of Fin programs, one for each thing a report can say.

mod deadlocks;

use deadlocks::{deadlock, deadlock_of_many, race_then_deadlock, tasks};
use finishline_answer::answer::{
    About, Answer, Check, Failure, FailurePoint, Promise, Tasks, WaitsFor, Watch,
};
use finishline_answer::finding::{
    Finding, FoundAccess, Names, Rule, Seen, Suppressed, SuppressionEntry,
};
use finishline_answer::location::Location;
use finishline_answer::place::{Place, SourceLines};
use finishline_answer::task::{
    Created, Creation, Join, JoinConstruct, Relation, Stack, Step, Task, WhyParallel,
};
use finishline_answer::verdict::Verdict;
use finishline_model::kinds::NativeAccessKind as AccessKind;
use finishline_model::{Detector, Statistics};

/// Every answer with the name of its snapshot.
pub(crate) fn all() -> Vec<(&'static str, Answer)> {
    vec![
        ("racy", racy()),
        ("apparent", apparent()),
        ("certified", certified()),
        ("certified-order", certified_order()),
        ("failed", failed()),
        ("race-then-failed", race_then_failed()),
        ("deadlock", deadlock()),
        ("deadlock-of-many", deadlock_of_many()),
        ("race-then-deadlock", race_then_deadlock()),
        ("watched", watched()),
        ("watched-in-vain", watched_in_vain()),
        ("truncated", truncated()),
        ("partly-suppressed", partly_suppressed()),
        ("all-suppressed", all_suppressed()),
        ("suppressed-then-failed", suppressed_then_failed()),
        ("suppressed-in-vain", suppressed_in_vain()),
        ("deep", deep()),
        ("hostile", hostile()),
        ("unknown", unknown()),
    ]
}

/// The example of a race report in the design: the paper's second figure.
pub(crate) fn racy() -> Answer {
    let answer = Answer {
        verdict: Verdict::Race,
        findings: vec![fig2_race()],
        distinct: 1,
        ..clean("fig2.fin", &["1"])
    };
    with(answer, |check| check.racing_locations = names(&["B[0]"], 1))
}

/// The answer with a change to the fields that only checks have.
fn with(mut answer: Answer, change: impl FnOnce(&mut Check)) -> Answer {
    let About::Check(check) = &mut answer.about else {
        panic!("the answer to a check");
    };
    change(check);
    answer
}

pub(crate) fn apparent() -> Answer {
    let race = Finding {
        rule: Rule::Apparent,
        location: location("total"),
        seen: seen(names(&["total"], 1), 4),
        first: FoundAccess {
            isolated: true,
            ..access(
                AccessKind::Write,
                place("bank.fin", 6, 20, "total += 1"),
                task(&[created(0, "forall", 4, &[("i", "0")])]),
            )
        },
        second: access(
            AccessKind::Read,
            place("bank.fin", 7, 15, "total > 2"),
            task(&[created(1, "forall", 4, &[("i", "1")])]),
        ),
        why: Some(why(
            task(&[created(0, "forall", 4, &[("i", "0")])]),
            place("bank.fin", 4, 5, "forall i in 0..n"),
            end_of("forall", 4),
            place("bank.fin", 9, 5, "}"),
        )),
        allocated: None,
        replay: "finishline check bank.fin 2 --watch total".to_string(),
        ..fig2_race()
    };
    let answer = Answer {
        verdict: Verdict::Apparent,
        findings: vec![race],
        distinct: 1,
        ..clean("bank.fin", &["2"])
    };
    with(answer, |check| {
        check.stronger = Some(
            "14 other orders of isolated blocks exist: `finishline explore bank.fin 2`".to_string(),
        );
        check.racing_locations = names(&["total"], 1);
    })
}

pub(crate) fn certified() -> Answer {
    clean("sum.fin", &["100", "-2.5"])
}

pub(crate) fn certified_order() -> Answer {
    let answer = Answer {
        verdict: Verdict::CertifiedOrder,
        ..clean("bank.fin", &[])
    };
    with(answer, |check| {
        check.stronger = Some("make the isolated blocks commute".to_string());
        check.statistics.isolated_blocks = 7;
    })
}

pub(crate) fn failed() -> Answer {
    Answer {
        verdict: Verdict::Trap,
        failure: Some(failure()),
        ..clean("walk.fin", &["5"])
    }
}

/// The program failed before a join waited for the race's task.
pub(crate) fn race_then_failed() -> Answer {
    let mut race = fig2_race();
    race.why.as_mut().expect("a reason").join = None;
    Answer {
        findings: vec![race],
        failure: Some(failure()),
        ..racy()
    }
}

pub(crate) fn watched() -> Answer {
    let race = fig2_race();
    let read = FoundAccess {
        kind: AccessKind::Read,
        ..race.first.clone()
    };
    let isolated = FoundAccess {
        isolated: true,
        ..race.second.clone()
    };
    with(racy(), |check| {
        check.watched = Some(Watch {
            location: location("B[0]"),
            accesses: vec![read, race.first, race.second, isolated],
            count: 1004,
        });
    })
}

pub(crate) fn watched_in_vain() -> Answer {
    with(certified(), |check| {
        check.watched = Some(Watch {
            location: location("B[9]"),
            accesses: vec![],
            count: 0,
        });
    })
}

/// Two pairs out of five, many locations, races that may follow from the first.
pub(crate) fn truncated() -> Answer {
    let first = Finding {
        seen: seen(names(&["B[0]", "B[1]", "B[2]"], 3), 5),
        ..fig2_race()
    };
    let shown: Vec<Location> = (0..20).map(|k| location(&format!("B[{k}]"))).collect();
    let racing = Names { shown, count: 1000 };
    let mut second = Finding {
        seen: seen(racing.clone(), 4321),
        may_follow: true,
        schedule: None,
        ..fig2_race()
    };
    second.first.kind = AccessKind::Read;
    second.why.as_mut().expect("a reason").join = Some(Join {
        construct: JoinConstruct::Sync,
        place: Some(place("fig2.fin", 16, 9, "sync")),
    });
    let answer = Answer {
        findings: vec![first, second],
        distinct: 5,
        ..racy()
    };
    with(answer, |check| check.racing_locations = racing)
}

/// Of five pairs one is shown, one is cut off and three are suppressed.
pub(crate) fn partly_suppressed() -> Answer {
    Answer {
        distinct: 5,
        suppressed: Some(Suppressed {
            file: "races.supp".to_string(),
            findings: vec![Finding {
                may_follow: true,
                schedule: None,
                ..fig2_race()
            }],
            count: 3,
            unmatched: vec![],
        }),
        ..racy()
    }
}

pub(crate) fn all_suppressed() -> Answer {
    Answer {
        findings: vec![],
        suppressed: Some(Suppressed {
            file: EVIL.to_string(),
            findings: vec![fig2_race()],
            count: 1,
            unmatched: vec![],
        }),
        ..racy()
    }
}

pub(crate) fn suppressed_then_failed() -> Answer {
    Answer {
        failure: Some(failure()),
        ..all_suppressed()
    }
}

/// The file has an entry, but no race matches it.
pub(crate) fn suppressed_in_vain() -> Answer {
    Answer {
        suppressed: Some(Suppressed {
            file: "races.supp".to_string(),
            findings: vec![],
            count: 0,
            unmatched: vec![SuppressionEntry {
                line: 3,
                text: "C".to_string(),
            }],
        }),
        ..racy()
    }
}

/// A deep recursion over long statements in two files: nothing fits on a line.
pub(crate) fn deep() -> Answer {
    let spawns = |depth: u32| {
        let steps: Vec<Step> = (0..depth)
            .map(|k| {
                let high = (1 << (20 - k)).to_string();
                created(k % 2, "spawn", 12, &[("low", "0"), ("high", &high)])
            })
            .collect();
        task(&steps)
    };
    let long = "table[low + (high - low) / 2, low % 17] = combine(table[lo…";
    let (tables, library) = (
        "programs/divide-and-conquer/tables.fin",
        "programs/divide-and-conquer/lib.fin",
    );
    let race = Finding {
        location: location("table[8, 3]"),
        seen: seen(names(&["table[8, 3]"], 1), 1),
        allocated: Some(place(tables, 3, 17, "new int[n, 17]")),
        replay:
            "finishline check programs/divide-and-conquer/tables.fin 1048576 --watch 'table[8, 3]'"
                .to_string(),
        first: access(AccessKind::Write, place(tables, 140, 9, long), spawns(18)),
        second: access(
            AccessKind::Write,
            place(tables, 9, 9, "table[8, 3]"),
            spawns(9),
        ),
        why: Some(why(
            spawns(10),
            place(library, 12, 5, "spawn solve(low, middle)"),
            JoinConstruct::Sync,
            place(library, 14, 5, "sync"),
        )),
        ..fig2_race()
    };
    let answer = Answer {
        findings: vec![race],
        program: tables.to_string(),
        arguments: vec!["1048576".to_string()],
        ..racy()
    };
    with(answer, |check| {
        check.racing_locations = names(&["table[8, 3]"], 1)
    })
}

/// Names that try to drive the terminal, break out of HTML, or start a URI scheme.
pub(crate) const EVIL: &str =
    "a\u{1b}[31m<script>alert('x')</script>\"&\r\n\u{202e}\u{9b}[é{0}](1)";

pub(crate) fn hostile() -> Answer {
    let evil = || EVIL.to_string();
    let evil_place = || place(&format!("c:{EVIL}/ü.fin"), 1, 1, EVIL);
    let evil_task = || task(&[created(0, "async", 1, &[(EVIL, EVIL)])]);
    let evil_access = FoundAccess {
        stack: Stack::of(EVIL, evil_place()),
        ..access(AccessKind::Write, evil_place(), evil_task())
    };
    let race = Finding {
        location: location(EVIL),
        seen: seen(names(&[EVIL, "x"], 2), 2),
        first: evil_access.clone(),
        second: evil_access.clone(),
        why: Some(why(
            evil_task(),
            evil_place(),
            end_of(EVIL, 1),
            evil_place(),
        )),
        allocated: Some(evil_place()),
        may_follow: true,
        schedule: None,
        replay: evil(),
        ..fig2_race()
    };
    let answer = Answer {
        program: evil(),
        arguments: vec![evil(), String::new(), "it's".to_string()],
        findings: vec![race],
        failure: Some(Failure {
            near: None,
            unchecked: None,
            kind: "deadlock",
            message: evil(),
            at: Some(FailurePoint {
                place: evil_place(),
                task: evil_task(),
                waits_for: Some(WaitsFor::Promise(Promise {
                    name: location(EVIL),
                    made: Some(evil_place()),
                    setters: Some(tasks(&[1])),
                })),
            }),
            waiting: vec![FailurePoint {
                place: evil_place(),
                task: evil_task(),
                waits_for: Some(WaitsFor::Tasks(Some(tasks(&[0])))),
            }],
            cycle: Some(tasks(&[0, 1])),
            schedule: None,
        }),
        lines: SourceLines::of_file(&evil_place().file, EVIL),
        ..racy()
    };
    with(answer, |check| {
        check.stronger = Some(evil());
        check.racing_locations = names(&[EVIL], 1);
        check.watched = Some(Watch {
            location: location(EVIL),
            accesses: vec![evil_access],
            count: 1,
        });
    })
}

pub(crate) fn unknown() -> Answer {
    let answer = Answer {
        verdict: Verdict::Unknown,
        ..clean("x.fin", &[])
    };
    with(answer, |check| {
        check.stronger = Some("esp-bags judges async: `finishline check x.fin`".to_string());
        check.detector = Detector::SpBags;
    })
}

fn clean(program: &str, arguments: &[&str]) -> Answer {
    Answer {
        program: program.to_string(),
        arguments: arguments.iter().map(|a| a.to_string()).collect(),
        verdict: Verdict::Certified,
        findings: vec![],
        distinct: 0,
        suppressed: None,
        failure: None,
        lines: SourceLines::default(),
        about: About::Check(Check {
            exploration: None,
            detector: Detector::EspBags,
            stronger: None,
            racing_locations: Names::default(),
            watched: None,
            statistics: Statistics {
                tasks: 4,
                finishes: 3,
                isolated_blocks: 0,
                accesses: 12,
                locations: 1,
                ..Statistics::default()
            },
        }),
    }
}

fn fig2_race() -> Finding {
    let i = [("i", "0")];
    Finding {
        rule: Rule::Race,
        location: location("B[0]"),
        seen: seen(names(&["B[0]"], 1), 1),
        first: access(
            AccessKind::Write,
            place("fig2.fin", 10, 17, "B[i] += i"),
            task(&[created(0, "async", 9, &i)]),
        ),
        second: access(
            AccessKind::Write,
            place("fig2.fin", 14, 38, "B[i] = A[i]"),
            task(&[created(1, "async", 14, &i), created(0, "async", 14, &i)]),
        ),
        why: Some(why(
            task(&[created(0, "async", 9, &i)]),
            place("fig2.fin", 9, 13, "async { B[i] += i; … }"),
            end_of("finish", 7),
            place("fig2.fin", 16, 5, "}"),
        )),
        allocated: Some(place("fig2.fin", 5, 13, "new int[size + 2]")),
        ordered_by: None,
        claim: None,
        may_follow: false,
        schedule: None,
        replay: "finishline check fig2.fin 1 --watch 'B[0]'".to_string(),
    }
}

fn why(task: Task, spawned: Place, construct: JoinConstruct, at: Place) -> WhyParallel {
    WhyParallel {
        relation: Relation::FirstOutlives,
        promises: false,
        task,
        spawned: Some(spawned),
        other_spawned: None,
        join: Some(Join {
            construct,
            place: Some(at),
        }),
    }
}

fn end_of(construct: &str, line: u32) -> JoinConstruct {
    JoinConstruct::EndOf {
        construct: construct.to_string(),
        line,
    }
}

fn failure() -> Failure {
    Failure {
        near: None,
        unchecked: None,
        kind: "out-of-bounds",
        message: "index 5 is out of bounds for an array of 5 elements".to_string(),
        at: Some(FailurePoint {
            place: place("walk.fin", 8, 9, "A[i + 1]"),
            task: task(&[created(4, "async", 7, &[("i", "4")])]),
            waits_for: None,
        }),
        waiting: Vec::new(),
        cycle: None,
        schedule: None,
    }
}

fn access(kind: AccessKind, place: Place, task: Task) -> FoundAccess {
    FoundAccess {
        id: None,
        kind,
        isolated: false,
        stack: Stack::of("main", place),
        task: Some(task),
        instance: vec![],
        machine: None,
    }
}

pub(crate) fn place(file: &str, line: u32, column: u32, text: &str) -> Place {
    Place {
        file: file.to_string(),
        line,
        column,
        width: text.chars().count() as u32,
        text: text.to_string(),
    }
}

fn task(steps: &[Step]) -> Task {
    Task {
        id: 0,
        steps: steps.to_vec(),
    }
}

fn created(index: u32, construct: &str, line: u32, captures: &[(&str, &str)]) -> Step {
    let captures = captures
        .iter()
        .map(|(n, v)| (n.to_string(), v.to_string()))
        .collect();
    Step {
        operation: construct.to_string(),
        place: Some(place("", line, 1, "")),
        created: Created::One(Creation {
            index,
            captures,
            told_by_index: false,
        }),
    }
}

/// `B[3]` is an element, `p.x` a field, and everything else a global variable.
pub(crate) fn location(text: &str) -> Location {
    let element = text
        .strip_suffix(']')
        .and_then(|text| text.rsplit_once('['));
    if let Some((object, indices)) = element {
        return Location::Element {
            object: object.to_string(),
            indices: indices.split(", ").map(str::to_string).collect(),
        };
    }
    match text.rsplit_once('.') {
        Some((object, field)) => Location::Field {
            object: object.to_string(),
            field: field.to_string(),
        },
        None => Location::Global(text.to_string()),
    }
}

fn seen(locations: Names, times: u64) -> Seen {
    Seen { locations, times }
}

fn names(shown: &[&str], count: u64) -> Names {
    Names {
        shown: shown.iter().map(|n| location(n)).collect(),
        count,
    }
}
