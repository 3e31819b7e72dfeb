//! Native runs as `finishline-symbols` would fill them in, one for each thing a report can say.

use crate::summaries::EVIL;
use finishline_answer::native::{
    Conflict, ConflictClass, Frame, HeldLock, Limit, NativeAccess, NativeAccessKind, NativeJoin,
    NativeRun, NativeStatistics, NativeSuite, NativeTask, NativeTaskKind, NativeWhy, Object,
    OrderedBy, Origin, Part, Relation, Stack, Stopped, SuppressedConflicts, Synchroniser,
    SynchroniserKind, TaskStep, UnseenAtomic,
};
use finishline_answer::summary::Place;
use finishline_answer::verdict::{Extent, Verdict};
use finishline_model::Detector;

/// Every run with the name of its snapshot and the exit status it must have.
pub(crate) fn all() -> Vec<(&'static str, NativeRun, u8)> {
    vec![
        ("native-racy", racy(), 66),
        ("native-scope", scope(), 66),
        ("native-determinacy", determinacy(), 66),
        ("native-certified", certified(), 0),
        ("native-synchronised", synchronised(), 0),
        ("native-threads", threads(), 0),
        ("native-unseen", unseen(), 0),
        ("native-unseen-race", unseen_race(), 66),
        ("native-idle", idle(), 4),
        ("native-stopped", stopped(), 4),
        ("native-failed", failed(), 3),
        ("native-suppressed", suppressed(), 0),
        ("native-nameless", nameless(), 66),
        ("native-hostile", hostile(), 66),
    ]
}

pub(crate) fn certified() -> NativeRun {
    NativeRun {
        program: "target/finishline/debug/hist".to_owned(),
        arguments: vec!["8".to_owned()],
        test: None,
        replay: "cargo finishline run -- 8".to_owned(),
        detector: Detector::EspBags,
        verdict: Verdict::Certified,
        extent: Extent::EverySchedule,
        because: None,
        unseen: vec![],
        conflicts: vec![],
        distinct: 0,
        suppressed: None,
        stopped: None,
        failure: None,
        status: 0,
        logical_threads: 16,
        statistics: NativeStatistics {
            tasks: 15,
            finishes: 7,
            accesses: 4096,
            atomic_accesses: 0,
            racing_bytes: 0,
            threads: 0,
        },
    }
}

/// Two items of a parallel iterator bump one counter of a static table.
pub(crate) fn racy() -> NativeRun {
    with(vec![table_race()])
}

fn with(conflicts: Vec<Conflict>) -> NativeRun {
    NativeRun {
        verdict: Verdict::Race,
        distinct: conflicts.len() as u64,
        statistics: NativeStatistics {
            racing_bytes: 8 * conflicts.len() as u64,
            ..certified().statistics
        },
        conflicts,
        ..certified()
    }
}

fn table_race() -> Conflict {
    let for_each = |halves: &[NativeTaskKind]| {
        task(vec![step(
            "for_each",
            at(17, 14, "(0..8).into_par_iter().for_each(bump);"),
            halves,
        )])
    };
    let (left, right) = (NativeTaskKind::JoinLeft, NativeTaskKind::JoinRight);
    let first = access(
        NativeAccessKind::Read,
        bump_stack(),
        for_each(&[left, left, left]),
    );
    let second = access(
        NativeAccessKind::Write,
        bump_stack(),
        for_each(&[right, left]),
    );
    Conflict {
        class: ConflictClass::Race,
        object: Object::Global {
            name: "hist::TABLE".to_owned(),
            size: 32,
            offset: 8,
            defined: Some(at(6, 1, "static mut TABLE: [u64; 4] = [0; 4];")),
        },
        address: 0x5555_0008,
        bytes: 8,
        locations: 32,
        ordered_by: None,
        why: NativeWhy {
            relation: Relation::Halves,
            task: for_each(&[left]),
            spawned: Some(at(17, 14, "(0..8).into_par_iter().for_each(bump);")),
            other_spawned: Some(at(17, 14, "(0..8).into_par_iter().for_each(bump);")),
            join: Some(NativeJoin {
                operation: "for_each".to_owned(),
                place: Some(at(17, 14, "(0..8).into_par_iter().for_each(bump);")),
            }),
        },
        first,
        second,
        may_follow: false,
        replay: "cargo finishline run --bin hist -- 8".to_owned(),
    }
}

/// A block written by a spawned task and read before the scope ends.
pub(crate) fn scope() -> NativeRun {
    let spawned = task(vec![step(
        "spawn",
        at(20, 9, "s.spawn(|_| fill(&block));"),
        &[NativeTaskKind::ScopeSpawn],
    )]);
    let race = Conflict {
        object: Object::Heap {
            size: 4096,
            offset: 64,
            allocated: stack(vec![
                frame("alloc::vec::from_elem", None, Origin::Std, true),
                frame(
                    "hist::main",
                    Some(at(18, 17, "let block = vec![0u8; 4096];")),
                    Origin::User,
                    false,
                ),
            ]),
            task: task(vec![]),
        },
        bytes: 1,
        locations: 1,
        first: NativeAccess {
            size: 1,
            ..access(
                NativeAccessKind::Write,
                user_stack("hist::fill", at(9, 5, "block[64] = 1;")),
                spawned.clone(),
            )
        },
        second: NativeAccess {
            size: 1,
            ..access(
                NativeAccessKind::Read,
                user_stack("hist::main", at(22, 9, "assert_eq!(block[64], 0);")),
                task(vec![]),
            )
        },
        why: NativeWhy {
            relation: Relation::FirstOutlives,
            task: spawned,
            spawned: Some(at(20, 9, "s.spawn(|_| fill(&block));")),
            other_spawned: None,
            join: Some(NativeJoin {
                operation: "scope".to_owned(),
                place: Some(at(19, 5, "rayon::scope(|s| {")),
            }),
        },
        may_follow: true,
        ..table_race()
    };
    let mut run = with(vec![table_race(), race]);
    run.distinct = 5;
    run
}

/// What `--determinacy` adds: no race, but an order that is up to the schedule.
pub(crate) fn determinacy() -> NativeRun {
    let mutex = Synchroniser {
        kind: SynchroniserKind::Lock,
        address: 0x7000,
        object: Object::Global {
            name: "hist::LOG".to_owned(),
            size: 32,
            offset: 0,
            defined: Some(at(
                4,
                1,
                "static LOG: Mutex<Vec<u64>> = Mutex::new(Vec::new());",
            )),
        },
    };
    let readers = Synchroniser {
        kind: SynchroniserKind::Rwlock,
        address: 0x7f00_0010,
        object: Object::Heap {
            size: 40,
            offset: 16,
            allocated: user_stack(
                "hist::main",
                at(8, 16, "let log = Arc::new(RwLock::new(0));"),
            ),
            task: task(vec![]),
        },
    };
    let flag = Synchroniser {
        kind: SynchroniserKind::Atomic,
        address: 0x7fff_0000,
        object: Object::Stack {
            function: "hist::main".to_owned(),
            place: None,
            task: task(vec![]),
        },
    };
    let ordered_by = |synchroniser: &Synchroniser, excludes| {
        Some(OrderedBy {
            synchroniser: synchroniser.clone(),
            excludes,
        })
    };
    let locked = |mut access: NativeAccess, line| {
        access.locks = vec![HeldLock {
            lock: mutex.clone(),
            place: Some(at(line, 13, "let mut log = LOG.lock().unwrap();")),
        }];
        access
    };
    let table = table_race();
    let by_lock = Conflict {
        class: ConflictClass::LockOrdered,
        first: locked(table.first.clone(), 30),
        second: locked(table.second.clone(), 31),
        ordered_by: ordered_by(&mutex, true),
        ..table_race()
    };
    let by_giving_it_up = Conflict {
        class: ConflictClass::LockOrdered,
        ordered_by: ordered_by(&readers, false),
        ..table_race()
    };
    let by_a_flag = Conflict {
        class: ConflictClass::AtomicOrdered,
        ordered_by: ordered_by(&flag, false),
        ..table_race()
    };
    let atomic = |access: &NativeAccess| NativeAccess {
        atomic: true,
        kind: NativeAccessKind::Write,
        ..access.clone()
    };
    let by_atomics = Conflict {
        class: ConflictClass::AtomicOrdered,
        first: atomic(&table.first),
        second: atomic(&table.second),
        ..table_race()
    };
    NativeRun {
        conflicts: vec![by_lock, by_giving_it_up, by_a_flag, by_atomics],
        distinct: 4,
        ..synchronised()
    }
}

pub(crate) fn synchronised() -> NativeRun {
    NativeRun {
        verdict: Verdict::CertifiedOrder,
        extent: Extent::ObservedSynchronisation,
        because: Some(Limit::Synchronised),
        ..certified()
    }
}

pub(crate) fn threads() -> NativeRun {
    NativeRun {
        verdict: Verdict::Observed,
        extent: Extent::ThisSchedule,
        because: Some(Limit::Threads),
        statistics: NativeStatistics {
            threads: 2,
            ..certified().statistics
        },
        ..certified()
    }
}

/// Operations of the user, of inline assembly, and of one that debug information does not tell the place of.
pub(crate) fn unseen() -> NativeRun {
    let atomic = |operation: Option<&str>, function: &str, place| UnseenAtomic {
        operation: operation.map(str::to_owned),
        function: function.to_owned(),
        place,
    };
    let fetch = at(70, 9, "HIGHEST.fetch_max(value, Relaxed);");
    let assembly = at(74, 9, "asm!(\"lock inc qword ptr [{}]\", in(reg) at);");
    NativeRun {
        verdict: Verdict::Observed,
        extent: Extent::SeenOperations,
        because: Some(Limit::Unseen),
        unseen: vec![
            atomic(Some("fetch_max"), "hist::raise", Some(fetch)),
            atomic(None, "hist::count", Some(assembly)),
            atomic(Some("fetch_min"), "helper::lower", None),
        ],
        ..certified()
    }
}

pub(crate) fn unseen_race() -> NativeRun {
    NativeRun {
        extent: Extent::SeenOperations,
        because: Some(Limit::Unseen),
        unseen: unseen().unseen,
        ..racy()
    }
}

pub(crate) fn idle() -> NativeRun {
    NativeRun {
        verdict: Verdict::Unknown,
        extent: Extent::Nothing,
        because: Some(Limit::NothingParallel),
        ..certified()
    }
}

pub(crate) fn stopped() -> NativeRun {
    NativeRun {
        verdict: Verdict::Unknown,
        extent: Extent::Nothing,
        because: Some(Limit::Stopped),
        stopped: Some(Stopped {
            what: "spin".to_owned(),
            stack: user_stack("hist::wait", at(40, 9, "while !READY.load(Acquire) {}")),
            task: task(vec![step(
                "join",
                at(44, 5, "rayon::join(wait, set);"),
                &[NativeTaskKind::JoinLeft],
            )]),
        }),
        ..certified()
    }
}

pub(crate) fn failed() -> NativeRun {
    NativeRun {
        test: Some("tests::sums_up".to_owned()),
        replay: "cargo finishline test -- --exact tests::sums_up".to_owned(),
        verdict: Verdict::Trap,
        failure: Some("the process ended with exit status 101".to_owned()),
        ..certified()
    }
}

pub(crate) fn suppressed() -> NativeRun {
    let run = racy();
    NativeRun {
        conflicts: vec![],
        suppressed: Some(SuppressedConflicts {
            file: "races.supp".to_owned(),
            conflicts: run.conflicts.clone(),
            unmatched: vec![],
        }),
        ..run
    }
}

/// A program without debug information.
pub(crate) fn nameless() -> NativeRun {
    let bare = || {
        stack(vec![frame(
            "0x1234 in /lib/libhist.so",
            None,
            Origin::System,
            false,
        )])
    };
    let spawned = task(vec![TaskStep {
        operation: "spawn".to_owned(),
        place: None,
        parts: vec![
            Part {
                task: 3,
                kind: NativeTaskKind::Spawn,
            },
            Part {
                task: 4,
                kind: NativeTaskKind::Spawn,
            },
        ],
    }]);
    with(vec![Conflict {
        object: Object::Unknown,
        first: access(NativeAccessKind::Write, bare(), spawned.clone()),
        second: access(NativeAccessKind::Write, Stack::default(), task(vec![])),
        why: NativeWhy {
            relation: Relation::FirstOutlives,
            task: spawned,
            spawned: None,
            other_spawned: None,
            join: None,
        },
        replay: String::new(),
        ..table_race()
    }])
}

/// Names and sources that try to be something else, and a path that is very long.
pub(crate) fn hostile() -> NativeRun {
    let evil = || Place {
        file: EVIL.to_owned(),
        line: 1,
        column: 1,
        text: EVIL.to_owned(),
    };
    let halves = [NativeTaskKind::JoinRight; 20];
    let deep = task((0..12).map(|_| step(EVIL, evil(), &halves)).collect());
    let run = with(vec![Conflict {
        object: Object::Stack {
            function: EVIL.to_owned(),
            place: Some(evil()),
            task: deep.clone(),
        },
        first: access(
            NativeAccessKind::Write,
            user_stack(EVIL, evil()),
            deep.clone(),
        ),
        second: access(
            NativeAccessKind::Write,
            user_stack(EVIL, evil()),
            NativeTask {
                id: 9,
                ..deep.clone()
            },
        ),
        why: NativeWhy {
            relation: Relation::Siblings,
            task: deep,
            spawned: Some(evil()),
            other_spawned: Some(evil()),
            join: Some(NativeJoin {
                operation: EVIL.to_owned(),
                place: Some(evil()),
            }),
        },
        replay: EVIL.to_owned(),
        ..table_race()
    }]);
    let atomic = |operation: Option<&str>, place| UnseenAtomic {
        operation: operation.map(str::to_owned),
        function: EVIL.to_owned(),
        place,
    };
    NativeRun {
        unseen: vec![atomic(Some(EVIL), Some(evil())), atomic(None, None)],
        ..run
    }
}

/// The tests of a crate: of each kind one.
pub(crate) fn suite() -> NativeSuite {
    let named = |name: &str, run| NativeRun {
        test: Some(format!("tests::{name}")),
        replay: format!("cargo finishline test -- --exact tests::{name}"),
        ..run
    };
    NativeSuite {
        command: vec![
            "cargo".to_owned(),
            "finishline".to_owned(),
            "test".to_owned(),
        ],
        runs: vec![
            named("clean", certified()),
            named("idle", idle()),
            named("bumps", racy()),
            named("waits", stopped()),
            named("sums_up", failed()),
            named("accepted", suppressed()),
        ],
        notes: vec!["3 doc tests were not run".to_owned()],
    }
}

fn at(line: u32, column: u32, text: &str) -> Place {
    Place {
        file: "src/main.rs".to_owned(),
        line,
        column,
        text: text.to_owned(),
    }
}

fn frame(function: &str, place: Option<Place>, origin: Origin, inlined: bool) -> Frame {
    Frame {
        function: function.to_owned(),
        place,
        origin,
        inlined,
    }
}

fn stack(frames: Vec<Frame>) -> Stack {
    let shown = frames.iter().position(|frame| frame.place.is_some());
    Stack {
        shown: shown.or(Some(0)),
        frames,
    }
}

fn user_stack(function: &str, place: Place) -> Stack {
    stack(vec![frame(function, Some(place), Origin::User, false)])
}

/// An access in a function of std, inlined into the user's, inside rayon, inside the user's.
fn bump_stack() -> Stack {
    let library = |function: &str, origin| frame(function, None, origin, false);
    stack(vec![
        frame("core::ptr::write", None, Origin::Std, true),
        frame(
            "hist::bump",
            Some(at(10, 5, "cell.write(cell.read() + 1);")),
            Origin::User,
            true,
        ),
        library(
            "core::iter::traits::iterator::Iterator::for_each",
            Origin::Std,
        ),
        library(
            "rayon::iter::plumbing::bridge_producer_consumer::helper",
            Origin::Rayon,
        ),
        library("rayon_core::join::join_context", Origin::Rayon),
        frame(
            "hist::fill",
            Some(at(17, 14, "(0..8).into_par_iter().for_each(bump);")),
            Origin::User,
            false,
        ),
        frame(
            "helper::run",
            None,
            Origin::Dependency("helper".to_owned()),
            false,
        ),
        frame(
            "hist::main",
            Some(at(60, 5, "fill();")),
            Origin::User,
            false,
        ),
        library("std::rt::lang_start", Origin::Std),
        library("_start", Origin::System),
    ])
}

fn access(kind: NativeAccessKind, stack: Stack, task: NativeTask) -> NativeAccess {
    NativeAccess {
        kind,
        atomic: false,
        address: 0x5555_0008,
        size: 8,
        stack,
        task,
        locks: vec![],
    }
}

fn step(operation: &str, place: Place, kinds: &[NativeTaskKind]) -> TaskStep {
    TaskStep {
        operation: operation.to_owned(),
        place: Some(place),
        parts: (1..)
            .zip(kinds)
            .map(|(task, kind)| Part { task, kind: *kind })
            .collect(),
    }
}

fn task(steps: Vec<TaskStep>) -> NativeTask {
    let last = steps.last().and_then(|step| step.parts.last());
    NativeTask {
        id: last.map_or(0, |part| part.task),
        steps,
    }
}
