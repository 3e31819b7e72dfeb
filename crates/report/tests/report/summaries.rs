//! Summaries as the engine would fill them in, one for each thing a report can say.

use finishline_answer::summary::{
    AccessSummary, Creation, Failure, Join, Names, Place, RaceSummary, Summary, Suppressed,
    SuppressionEntry, TaskPath, Watch, WhyParallel,
};
use finishline_answer::verdict::Verdict;
use finishline_model::Detector;
use finishline_model::Statistics;
use finishline_model::event::AccessKind;

/// Every summary with the name of its snapshot.
pub(crate) fn all() -> Vec<(&'static str, Summary)> {
    vec![
        ("racy", racy()),
        ("apparent", apparent()),
        ("certified", certified()),
        ("certified-order", certified_order()),
        ("failed", failed()),
        ("race-then-failed", race_then_failed()),
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
pub(crate) fn racy() -> Summary {
    Summary {
        verdict: Verdict::Race,
        races: vec![fig2_race()],
        distinct_races: 1,
        racing_locations: names(&["B[0]"], 1),
        ..clean("fig2.fin", &["1"])
    }
}

pub(crate) fn apparent() -> Summary {
    let race = RaceSummary {
        apparent: true,
        location: "total".to_string(),
        locations: names(&["total"], 1),
        occurrences: 4,
        first: AccessSummary {
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
        why: WhyParallel {
            task: task(&[created(0, "forall", 4, &[("i", "0")])]),
            spawned: place("bank.fin", 4, 5, "forall i in 0..n"),
            join: Some(Join {
                what: "the end of forall@4".to_string(),
                place: place("bank.fin", 9, 5, "}"),
            }),
        },
        allocated: None,
        may_follow: false,
        replay: "finishline check bank.fin 2 --watch total".to_string(),
    };
    Summary {
        verdict: Verdict::Apparent,
        strengthen: Some(
            "14 other orders of isolated blocks exist: `finishline explore bank.fin 2`".to_string(),
        ),
        races: vec![race],
        distinct_races: 1,
        racing_locations: names(&["total"], 1),
        ..clean("bank.fin", &["2"])
    }
}

pub(crate) fn certified() -> Summary {
    clean("sum.fin", &["100", "-2.5"])
}

pub(crate) fn certified_order() -> Summary {
    Summary {
        verdict: Verdict::CertifiedOrder,
        strengthen: Some("make the isolated blocks commute".to_string()),
        statistics: Statistics {
            isolated_blocks: 7,
            ..certified().statistics
        },
        ..clean("bank.fin", &[])
    }
}

pub(crate) fn failed() -> Summary {
    Summary {
        verdict: Verdict::Trap,
        failure: Some(failure()),
        ..clean("walk.fin", &["5"])
    }
}

/// The race's task was not joined any more: the program failed first.
pub(crate) fn race_then_failed() -> Summary {
    let mut race = fig2_race();
    race.why.join = None;
    Summary {
        races: vec![race],
        failure: Some(failure()),
        ..racy()
    }
}

pub(crate) fn watched() -> Summary {
    let race = fig2_race();
    let read = AccessSummary {
        kind: AccessKind::Read,
        ..race.first.clone()
    };
    let isolated = AccessSummary {
        isolated: true,
        ..race.second.clone()
    };
    Summary {
        watched: Some(Watch {
            location: "B[0]".to_string(),
            accesses: vec![read, race.first, race.second, isolated],
            count: 1004,
        }),
        ..racy()
    }
}

pub(crate) fn watched_in_vain() -> Summary {
    let watch = Watch {
        location: "B[9]".to_string(),
        accesses: vec![],
        count: 0,
    };
    Summary {
        watched: Some(watch),
        ..certified()
    }
}

/// Two pairs out of five, many locations, races that may follow from the first.
pub(crate) fn truncated() -> Summary {
    let first = RaceSummary {
        locations: names(&["B[0]", "B[1]", "B[2]"], 3),
        occurrences: 5,
        ..fig2_race()
    };
    let shown: Vec<String> = (0..20).map(|k| format!("B[{k}]")).collect();
    let mut second = RaceSummary {
        locations: Names {
            shown: shown.clone(),
            count: 1000,
        },
        occurrences: 4321,
        may_follow: true,
        ..fig2_race()
    };
    second.first.kind = AccessKind::Read;
    second.why.join = Some(Join {
        what: "sync".to_string(),
        place: place("fig2.fin", 16, 9, "sync"),
    });
    Summary {
        races: vec![first, second],
        distinct_races: 5,
        racing_locations: Names { shown, count: 1000 },
        ..racy()
    }
}

/// Of five pairs one is shown, one is cut off and three are suppressed.
pub(crate) fn partly_suppressed() -> Summary {
    Summary {
        distinct_races: 5,
        suppressed: Some(Suppressed {
            file: "races.supp".to_string(),
            races: vec![RaceSummary {
                may_follow: true,
                ..fig2_race()
            }],
            count: 3,
            unmatched: vec![],
        }),
        ..racy()
    }
}

pub(crate) fn all_suppressed() -> Summary {
    Summary {
        races: vec![],
        suppressed: Some(Suppressed {
            file: EVIL.to_string(),
            races: vec![fig2_race()],
            count: 1,
            unmatched: vec![],
        }),
        ..racy()
    }
}

pub(crate) fn suppressed_then_failed() -> Summary {
    Summary {
        failure: Some(failure()),
        ..all_suppressed()
    }
}

/// The file has an entry, but no race matches it.
pub(crate) fn suppressed_in_vain() -> Summary {
    Summary {
        suppressed: Some(Suppressed {
            file: "races.supp".to_string(),
            races: vec![],
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
pub(crate) fn deep() -> Summary {
    let spawns = |depth: u32| {
        let creations = (0..depth)
            .map(|k| {
                created(
                    k % 2,
                    "spawn",
                    12,
                    &[("low", "0"), ("high", &(1 << (20 - k)).to_string())],
                )
            })
            .collect();
        TaskPath { creations }
    };
    let long = "table[low + (high - low) / 2, low % 17] = combine(table[lo…";
    let mut race = fig2_race();
    race.location = "table[8, 3]".to_string();
    race.locations = names(&["table[8, 3]"], 1);
    race.allocated = Some(place(
        "programs/divide-and-conquer/tables.fin",
        3,
        17,
        "new int[n, 17]",
    ));
    race.replay =
        "finishline check programs/divide-and-conquer/tables.fin 1048576 --watch 'table[8, 3]'"
            .to_string();
    race.first.place = place("programs/divide-and-conquer/tables.fin", 140, 9, long);
    race.first.task = spawns(18);
    race.second.place = place(
        "programs/divide-and-conquer/tables.fin",
        9,
        9,
        "table[8, 3]",
    );
    race.second.task = spawns(9);
    race.why = WhyParallel {
        task: spawns(10),
        spawned: place(
            "programs/divide-and-conquer/lib.fin",
            12,
            5,
            "spawn solve(low, middle)",
        ),
        join: Some(Join {
            what: "sync".to_string(),
            place: place("programs/divide-and-conquer/lib.fin", 14, 5, "sync"),
        }),
    };
    Summary {
        races: vec![race],
        racing_locations: names(&["table[8, 3]"], 1),
        program: "programs/divide-and-conquer/tables.fin".to_string(),
        arguments: vec!["1048576".to_string()],
        ..racy()
    }
}

/// Names that try to drive the terminal, break out of HTML, or start a URI scheme.
pub(crate) const EVIL: &str =
    "a\u{1b}[31m<script>alert('x')</script>\"&\r\n\u{202e}\u{9b}[é{0}](1)";

pub(crate) fn hostile() -> Summary {
    let evil = || EVIL.to_string();
    let evil_place = || place(&format!("c:{EVIL}/ü.fin"), 1, 1, EVIL);
    let evil_task = || task(&[created(0, "async", 1, &[(EVIL, EVIL)])]);
    let evil_access = AccessSummary {
        function: evil(),
        ..access(AccessKind::Write, evil_place(), evil_task())
    };
    let race = RaceSummary {
        apparent: false,
        location: evil(),
        locations: names(&[EVIL, "x"], 2),
        occurrences: 2,
        first: evil_access.clone(),
        second: evil_access.clone(),
        why: WhyParallel {
            task: evil_task(),
            spawned: evil_place(),
            join: Some(Join {
                what: evil(),
                place: evil_place(),
            }),
        },
        allocated: Some(evil_place()),
        may_follow: true,
        replay: evil(),
    };
    Summary {
        program: evil(),
        arguments: vec![evil(), String::new(), "it's".to_string()],
        strengthen: Some(evil()),
        races: vec![race],
        racing_locations: names(&[EVIL], 1),
        failure: Some(Failure {
            kind: "assertion",
            message: evil(),
            place: evil_place(),
            task: evil_task(),
        }),
        watched: Some(Watch {
            location: evil(),
            accesses: vec![evil_access],
            count: 1,
        }),
        ..racy()
    }
}

pub(crate) fn unknown() -> Summary {
    Summary {
        verdict: Verdict::Unknown,
        strengthen: Some("esp-bags judges async: `finishline check x.fin`".to_string()),
        detector: Detector::SpBags,
        ..clean("x.fin", &[])
    }
}

fn clean(program: &str, arguments: &[&str]) -> Summary {
    Summary {
        program: program.to_string(),
        arguments: arguments.iter().map(|a| a.to_string()).collect(),
        detector: Detector::EspBags,
        verdict: Verdict::Certified,
        strengthen: None,
        races: vec![],
        distinct_races: 0,
        suppressed: None,
        racing_locations: Names::default(),
        failure: None,
        watched: None,
        statistics: Statistics {
            tasks: 4,
            finishes: 3,
            isolated_blocks: 0,
            accesses: 12,
            locations: 1,
            ..Statistics::default()
        },
    }
}

fn fig2_race() -> RaceSummary {
    let i = [("i", "0")];
    RaceSummary {
        apparent: false,
        location: "B[0]".to_string(),
        locations: names(&["B[0]"], 1),
        occurrences: 1,
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
        why: WhyParallel {
            task: task(&[created(0, "async", 9, &i)]),
            spawned: place("fig2.fin", 9, 13, "async { B[i] += i; … }"),
            join: Some(Join {
                what: "the end of finish@7".to_string(),
                place: place("fig2.fin", 16, 5, "}"),
            }),
        },
        allocated: Some(place("fig2.fin", 5, 13, "new int[size + 2]")),
        may_follow: false,
        replay: "finishline check fig2.fin 1 --watch 'B[0]'".to_string(),
    }
}

fn failure() -> Failure {
    Failure {
        kind: "out-of-bounds",
        message: "index 5 is out of bounds for an array of 5 elements".to_string(),
        place: place("walk.fin", 8, 9, "A[i + 1]"),
        task: task(&[created(4, "async", 7, &[("i", "4")])]),
    }
}

fn access(kind: AccessKind, place: Place, task: TaskPath) -> AccessSummary {
    AccessSummary {
        kind,
        isolated: false,
        place,
        function: "main".to_string(),
        task,
    }
}

pub(crate) fn place(file: &str, line: u32, column: u32, text: &str) -> Place {
    Place {
        file: file.to_string(),
        line,
        column,
        text: text.to_string(),
    }
}

fn task(creations: &[Creation]) -> TaskPath {
    TaskPath {
        creations: creations.to_vec(),
    }
}

fn created(index: u32, construct: &'static str, line: u32, captures: &[(&str, &str)]) -> Creation {
    let captures = captures
        .iter()
        .map(|(n, v)| (n.to_string(), v.to_string()))
        .collect();
    Creation {
        index,
        construct,
        line,
        captures,
        told_by_index: false,
    }
}

fn names(shown: &[&str], count: u64) -> Names {
    Names {
        shown: shown.iter().map(|n| n.to_string()).collect(),
        count,
    }
}
