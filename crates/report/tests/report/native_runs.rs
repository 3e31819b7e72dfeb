//! Answers about processes, one for each thing a report can say.

use crate::summaries::EVIL;
use finishline_answer::answer::{About, Answer, Failure, NotRun, Suite, WhyNotRun};
use finishline_answer::finding::{
    Finding, FoundAccess, HeldLock, MachineAccess, Names, OrderedBy, Rule, Seen, Suppressed,
    Synchroniser,
};
use finishline_answer::location::{Bytes, Location, Object};
use finishline_answer::place::{Place, SourceLines};
use finishline_answer::process::{
    Known, Limit, OrdersRun, Process, ProcessStatistics, Started, Stopped, UnseenAtomic,
};
use finishline_answer::task::{
    Created, Frame, Join, JoinConstruct, Origin, Part, Relation, Stack, Step, Task, WhyParallel,
};
use finishline_answer::unsafe_code::{UnsafeCode, UnsafeKind};
use finishline_answer::verdict::{Extent, Verdict};
use finishline_model::Detector;
use finishline_model::kinds::rayon::Division;
use finishline_model::kinds::{
    NativeAccessKind, NativeTaskKind, SynchroniserKind, WaitKind, rayon,
};

/// Every run with the name of its snapshot and the exit status it must have.
pub(crate) fn all() -> Vec<(&'static str, Answer, u8)> {
    vec![
        ("native-racy", racy(), 66),
        ("native-scope", scope(), 66),
        ("native-determinacy", determinacy(), 66),
        ("native-certified", certified(), 0),
        ("native-synchronised", synchronised(), 0),
        ("native-orders", orders(), 0),
        ("native-other-order", other_order(), 66),
        ("native-threads", threads(), 0),
        ("native-unseen", unseen(), 0),
        ("native-unseen-race", unseen_race(), 66),
        ("native-divided", divided(), 0),
        ("native-unsafe", unsafe_code(), 0),
        ("native-unsafe-reached", unsafe_reached(), 0),
        ("native-idle", idle(), 4),
        ("native-stopped", stopped(), 4),
        ("native-failed", failed(), 3),
        ("native-suppressed", suppressed(), 0),
        ("native-known", known(), 0),
        ("native-nameless", nameless(), 66),
        ("native-hostile", hostile(), 66),
    ]
}

pub(crate) fn certified() -> Answer {
    Answer {
        program: "target/finishline/debug/hist".to_owned(),
        arguments: vec!["8".to_owned()],
        verdict: Verdict::Certified,
        findings: vec![],
        distinct: 0,
        suppressed: None,
        failure: None,
        lines: SourceLines::default(),
        about: About::Process(Process {
            test: None,
            replay: "cargo finishline run -- 8".to_owned(),
            detector: Detector::EspBags,
            extent: Extent::EverySchedule,
            because: None,
            unseen: vec![],
            started: vec![],
            stopped: None,
            orders: None,
            known: None,
            unsafe_code: None,
            status: 0,
            logical_threads: 16,
            division: Division::Items,
            statistics: ProcessStatistics {
                tasks: 15,
                finishes: 7,
                accesses: 4096,
                atomic_accesses: 0,
                racing_bytes: 0,
                threads: 0,
            },
        }),
    }
}

/// Nothing races, and some items ran as one piece.
fn divided() -> Answer {
    judged(certified(), Verdict::Certified, |process| {
        process.division = Division::Partly;
    })
}

fn unsafe_at(line: u32, kind: UnsafeKind, reached: bool) -> UnsafeCode {
    UnsafeCode {
        place: at(line, 5, "unsafe { cell.write(cell.read() + 1) }"),
        end: [line, 43],
        kind,
        reached,
    }
}

/// Parallel tasks were seen in some of the unsafe code.
pub(crate) fn unsafe_code() -> Answer {
    judged(certified(), Verdict::Certified, |process| {
        let mut code = vec![
            unsafe_at(3, UnsafeKind::Function("bump".to_owned()), true),
            unsafe_at(5, UnsafeKind::Function("clear".to_owned()), false),
            unsafe_at(
                7,
                UnsafeKind::Implementation("Sync for Table<T>".to_owned()),
                false,
            ),
        ];
        code.extend((10..20).map(|line| unsafe_at(line, UnsafeKind::Block, line == 10)));
        process.unsafe_code = Some(code);
    })
}

/// Parallel tasks were seen in all of it.
fn unsafe_reached() -> Answer {
    judged(certified(), Verdict::Certified, |process| {
        process.unsafe_code = Some(vec![unsafe_at(10, UnsafeKind::Block, true)]);
    })
}

/// The fields that only a process has.
pub(crate) fn process(answer: &mut Answer) -> &mut Process {
    match &mut answer.about {
        About::Process(process) => process,
        other => panic!("{other:?}"),
    }
}

/// The answer with another verdict, and a change to the fields that only a process has.
fn judged(mut answer: Answer, verdict: Verdict, change: impl FnOnce(&mut Process)) -> Answer {
    answer.verdict = verdict;
    change(process(&mut answer));
    answer
}

/// Two items of a parallel iterator bump one counter of a static table.
pub(crate) fn racy() -> Answer {
    with(vec![table_race()])
}

fn with(findings: Vec<Finding>) -> Answer {
    let racing = 8 * findings.len() as u64;
    let answer = Answer {
        distinct: findings.len() as u64,
        findings,
        ..certified()
    };
    judged(answer, Verdict::Race, |process| {
        process.statistics.racing_bytes = racing;
    })
}

fn bytes(object: Object, bytes: u64) -> Location {
    Location::Bytes(Bytes {
        object,
        address: 0x5555_0008,
        bytes,
    })
}

fn seen(count: u64) -> Seen {
    Seen {
        locations: Names {
            shown: vec![],
            count,
        },
        times: count,
    }
}

fn table_race() -> Finding {
    let for_each = |halves: &[NativeTaskKind]| {
        task(vec![step(
            "for_each",
            at(17, 14, "(0..8).into_par_iter().for_each(bump);"),
            halves,
        )])
    };
    let (left, right) = (
        NativeTaskKind::Rayon(rayon::TaskKind::JoinLeft),
        NativeTaskKind::Rayon(rayon::TaskKind::JoinRight),
    );
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
    Finding {
        rule: Rule::Race,
        location: bytes(
            Object::Global {
                name: "hist::TABLE".to_owned(),
                size: 32,
                offset: 8,
                defined: Some(at(6, 1, "static mut TABLE: [u64; 4] = [0; 4];")),
            },
            8,
        ),
        seen: seen(32),
        allocated: None,
        claim: None,
        ordered_by: None,
        why: Some(WhyParallel {
            relation: Relation::Halves,
            promises: false,
            task: for_each(&[left]),
            spawned: Some(at(17, 14, "(0..8).into_par_iter().for_each(bump);")),
            other_spawned: Some(at(17, 14, "(0..8).into_par_iter().for_each(bump);")),
            join: Some(Join {
                construct: JoinConstruct::Operation("for_each".to_owned()),
                place: Some(at(17, 14, "(0..8).into_par_iter().for_each(bump);")),
            }),
        }),
        first,
        second,
        may_follow: false,
        schedule: None,
        replay: "cargo finishline run --bin hist -- 8".to_owned(),
    }
}

/// A block written by a spawned task and read before the scope ends.
pub(crate) fn scope() -> Answer {
    let spawned = task(vec![step(
        "spawn",
        at(20, 9, "s.spawn(|_| fill(&block));"),
        &[NativeTaskKind::Rayon(rayon::TaskKind::ScopeSpawn)],
    )]);
    let block = Object::Heap {
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
    };
    let race = Finding {
        location: bytes(block, 1),
        seen: seen(1),
        first: sized(
            1,
            access(
                NativeAccessKind::Write,
                user_stack("hist::fill", at(9, 5, "block[64] = 1;")),
                spawned.clone(),
            ),
        ),
        second: sized(
            1,
            access(
                NativeAccessKind::Read,
                user_stack("hist::main", at(22, 9, "assert_eq!(block[64], 0);")),
                task(vec![]),
            ),
        ),
        why: Some(WhyParallel {
            relation: Relation::FirstOutlives,
            promises: false,
            task: spawned,
            spawned: Some(at(20, 9, "s.spawn(|_| fill(&block));")),
            other_spawned: None,
            join: Some(Join {
                construct: JoinConstruct::Operation("scope".to_owned()),
                place: Some(at(19, 5, "rayon::scope(|s| {")),
            }),
        }),
        may_follow: true,
        schedule: None,
        ..table_race()
    };
    let mut run = with(vec![table_race(), race]);
    run.distinct = 5;
    run
}

/// The addition of `--determinacy`: no race, but an order that depends on the schedule.
pub(crate) fn determinacy() -> Answer {
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
        Some(OrderedBy::Synchroniser {
            synchroniser: synchroniser.clone(),
            excludes,
        })
    };
    let locked = |mut access: FoundAccess, line| {
        machine(&mut access).locks = vec![HeldLock {
            lock: mutex.clone(),
            place: Some(at(line, 13, "let mut log = LOG.lock().unwrap();")),
        }];
        access
    };
    let table = table_race();
    let by_lock = Finding {
        rule: Rule::LockOrdered,
        first: locked(table.first.clone(), 30),
        second: locked(table.second.clone(), 31),
        ordered_by: ordered_by(&mutex, true),
        ..table_race()
    };
    let by_giving_it_up = Finding {
        rule: Rule::LockOrdered,
        ordered_by: ordered_by(&readers, false),
        ..table_race()
    };
    let by_a_flag = Finding {
        rule: Rule::AtomicOrdered,
        ordered_by: ordered_by(&flag, false),
        ..table_race()
    };
    let atomic = |access: &FoundAccess| {
        let mut access = access.clone();
        access.kind = NativeAccessKind::Write;
        machine(&mut access).atomic = true;
        access
    };
    let by_atomics = Finding {
        rule: Rule::AtomicOrdered,
        first: atomic(&table.first),
        second: atomic(&table.second),
        ..table_race()
    };
    Answer {
        findings: vec![by_lock, by_giving_it_up, by_a_flag, by_atomics],
        distinct: 4,
        ..synchronised()
    }
}

pub(crate) fn synchronised() -> Answer {
    judged(certified(), Verdict::CertifiedOrder, |process| {
        process.extent = Extent::ObservedSynchronisation;
        process.because = Some(Limit::Synchronised);
    })
}

/// Clean in three orders, and one could not be run.
fn orders() -> Answer {
    judged(synchronised(), Verdict::CertifiedOrder, |process| {
        process.orders = Some(OrdersRun {
            told: 0,
            ended: 3,
            stopped: 1,
        });
    })
}

/// A race that the second of the other orders shows.
fn other_order() -> Answer {
    judged(racy(), Verdict::Race, |process| {
        process.replay = "cargo finishline run --order=2 -- 8".to_owned();
        process.orders = Some(OrdersRun {
            told: 2,
            ended: 3,
            stopped: 0,
        });
    })
}

pub(crate) fn threads() -> Answer {
    judged(certified(), Verdict::Observed, |process| {
        process.extent = Extent::ThisSchedule;
        process.because = Some(Limit::Threads);
        process.statistics.threads = 6;
        let started = |threads, library: Option<&str>, line| Started {
            threads,
            library: library.map(str::to_owned),
            place: Some(at(line, 5, "")),
        };
        process.started = vec![
            started(4, Some("tokio"), 7),
            started(1, None, 9),
            started(1, Some("<b>"), 9),
        ];
    })
}

/// Unseen operations in user code, in inline assembly, and at a place that debug information does
/// not have.
pub(crate) fn unseen() -> Answer {
    unseen_in(certified(), Verdict::Observed)
}

pub(crate) fn unseen_race() -> Answer {
    unseen_in(racy(), Verdict::Race)
}

fn unseen_in(answer: Answer, verdict: Verdict) -> Answer {
    let atomic = |operation: Option<&str>, function: &str, place| UnseenAtomic {
        operation: operation.map(str::to_owned),
        function: function.to_owned(),
        place,
    };
    let fetch = at(70, 9, "HIGHEST.fetch_max(value, Relaxed);");
    let assembly = at(74, 9, "asm!(\"lock inc qword ptr [{}]\", in(reg) at);");
    judged(answer, verdict, |process| {
        process.extent = Extent::SeenOperations;
        process.because = Some(Limit::Unseen);
        process.unseen = vec![
            atomic(Some("fetch_max"), "hist::raise", Some(fetch)),
            atomic(None, "hist::count", Some(assembly)),
            atomic(Some("fetch_min"), "helper::lower", None),
        ];
    })
}

pub(crate) fn idle() -> Answer {
    judged(certified(), Verdict::Unknown, |process| {
        process.extent = Extent::Nothing;
        process.because = Some(Limit::NothingParallel);
    })
}

pub(crate) fn stopped() -> Answer {
    judged(certified(), Verdict::Unknown, |process| {
        process.extent = Extent::Nothing;
        process.because = Some(Limit::Stopped);
        process.stopped = Some(Stopped {
            what: WaitKind::Spin,
            stack: user_stack("hist::wait", at(40, 9, "while !READY.load(Acquire) {}")),
            task: task(vec![step(
                "join",
                at(44, 5, "rayon::join(wait, set);"),
                &[NativeTaskKind::Rayon(rayon::TaskKind::JoinLeft)],
            )]),
        });
    })
}

pub(crate) fn failure(message: &str) -> Failure {
    Failure {
        kind: "process",
        message: message.to_owned(),
        at: None,
        near: Some(at(61, 5, "assert_eq!(sums(), 3);")),
        unchecked: Some("cargo test -- --exact tests::sums_up".to_owned()),
        waiting: Vec::new(),
        cycle: None,
        schedule: None,
    }
}

pub(crate) fn failed() -> Answer {
    let answer = Answer {
        failure: Some(failure("the process ended with exit status 101")),
        ..certified()
    };
    judged(answer, Verdict::Trap, |process| {
        process.test = Some("tests::sums_up".to_owned());
        process.replay = "cargo finishline test -- --exact tests::sums_up".to_owned();
    })
}

pub(crate) fn known() -> Answer {
    let mut run = racy();
    let findings = std::mem::take(&mut run.findings);
    process(&mut run).known = Some(Known {
        file: "races.known".to_owned(),
        findings,
    });
    run
}

pub(crate) fn suppressed() -> Answer {
    let run = racy();
    Answer {
        findings: vec![],
        suppressed: Some(Suppressed {
            file: "races.supp".to_owned(),
            findings: run.findings.clone(),
            count: 1,
            unmatched: vec![],
        }),
        ..run
    }
}

/// A program without debug information.
pub(crate) fn nameless() -> Answer {
    let bare = || {
        stack(vec![frame(
            "0x1234 in /lib/libhist.so",
            None,
            Origin::System,
            false,
        )])
    };
    let spawned = task(vec![Step {
        operation: "spawn".to_owned(),
        place: None,
        created: Created::Nested(vec![
            Part {
                task: 3,
                kind: NativeTaskKind::Rayon(rayon::TaskKind::Spawn),
            },
            Part {
                task: 4,
                kind: NativeTaskKind::Rayon(rayon::TaskKind::Spawn),
            },
        ]),
    }]);
    with(vec![Finding {
        location: bytes(Object::Unknown, 8),
        first: access(NativeAccessKind::Write, bare(), spawned.clone()),
        second: access(NativeAccessKind::Write, Stack::default(), task(vec![])),
        why: Some(WhyParallel {
            relation: Relation::FirstOutlives,
            promises: false,
            task: spawned,
            spawned: None,
            other_spawned: None,
            join: None,
        }),
        replay: String::new(),
        ..table_race()
    }])
}

/// Hostile names and sources, and a very long path.
pub(crate) fn hostile() -> Answer {
    let evil = || Place {
        file: EVIL.to_owned(),
        line: 1,
        column: 1,
        width: 0,
        text: EVIL.to_owned(),
    };
    let halves = [NativeTaskKind::Rayon(rayon::TaskKind::JoinRight); 20];
    let deep = task((0..12).map(|_| step(EVIL, evil(), &halves)).collect());
    let mut run = with(vec![Finding {
        location: bytes(
            Object::Stack {
                function: EVIL.to_owned(),
                place: Some(evil()),
                task: deep.clone(),
            },
            8,
        ),
        first: access(
            NativeAccessKind::Write,
            user_stack(EVIL, evil()),
            deep.clone(),
        ),
        second: access(
            NativeAccessKind::Write,
            user_stack(EVIL, evil()),
            Task {
                id: 9,
                ..deep.clone()
            },
        ),
        why: Some(WhyParallel {
            relation: Relation::Siblings,
            promises: false,
            task: deep,
            spawned: Some(evil()),
            other_spawned: Some(evil()),
            join: Some(Join {
                construct: JoinConstruct::Operation(EVIL.to_owned()),
                place: Some(evil()),
            }),
        }),
        replay: EVIL.to_owned(),
        ..table_race()
    }]);
    let atomic = |operation: Option<&str>, place| UnseenAtomic {
        operation: operation.map(str::to_owned),
        function: EVIL.to_owned(),
        place,
    };
    let code = |kind| UnsafeCode {
        kind,
        place: evil(),
        end: [9, 9],
        reached: false,
    };
    process(&mut run).unsafe_code = Some(vec![
        code(UnsafeKind::Block),
        code(UnsafeKind::Function(EVIL.to_owned())),
        code(UnsafeKind::Implementation(EVIL.to_owned())),
    ]);
    process(&mut run).unseen = vec![atomic(Some(EVIL), Some(evil())), atomic(None, None)];
    run.lines = SourceLines::of_file(EVIL, EVIL);
    run
}

/// The tests of a crate, one of each kind.
pub(crate) fn suite() -> Suite {
    let named = |name: &str, mut run: Answer| {
        process(&mut run).test = Some(format!("tests::{name}"));
        process(&mut run).replay = format!("cargo finishline test -- --exact tests::{name}");
        run
    };
    let with_code = |reached: [bool; 3], mut run: Answer| {
        let lines = [10, 12, 14].into_iter().zip(reached);
        let code = lines.map(|(line, reached)| unsafe_at(line, UnsafeKind::Block, reached));
        process(&mut run).unsafe_code = Some(code.collect());
        run
    };
    let mut suite = Suite {
        command: vec![
            "cargo".to_owned(),
            "finishline".to_owned(),
            "test".to_owned(),
        ],
        answers: vec![
            named("clean", with_code([false, true, false], certified())),
            named("idle", with_code([false; 3], idle())),
            named("bumps", with_code([true, true, false], racy())),
            named("waits", stopped()),
            named("sums_up", failed()),
            named("accepted", suppressed()),
        ],
        notes: vec!["3 doc tests were not run".to_owned()],
        not_run: vec![NotRun {
            program: "hist".to_owned(),
            test: Some("tests::slow".to_owned()),
            why: WhyNotRun::Ignored,
        }],
        ..Suite::default()
    };
    suite.survey();
    suite
}

fn at(line: u32, column: u32, text: &str) -> Place {
    Place {
        file: "src/main.rs".to_owned(),
        line,
        column,
        width: 0,
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

fn access(kind: NativeAccessKind, stack: Stack, task: Task) -> FoundAccess {
    FoundAccess {
        id: None,
        kind,
        isolated: false,
        stack,
        task: Some(task),
        instance: vec![],
        machine: Some(MachineAccess {
            atomic: false,
            address: 0x5555_0008,
            size: 8,
            locks: vec![],
        }),
    }
}

fn machine(access: &mut FoundAccess) -> &mut MachineAccess {
    access.machine.as_mut().expect("an access of a process")
}

fn sized(size: u64, mut access: FoundAccess) -> FoundAccess {
    machine(&mut access).size = size;
    access
}

fn step(operation: &str, place: Place, kinds: &[NativeTaskKind]) -> Step {
    Step {
        operation: operation.to_owned(),
        place: Some(place),
        created: Created::Nested(
            (1..)
                .zip(kinds)
                .map(|(task, kind)| Part { task, kind: *kind })
                .collect(),
        ),
    }
}

fn task(steps: Vec<Step>) -> Task {
    let last = steps.last().map(|step| &step.created);
    Task {
        id: match last {
            Some(Created::Nested(parts)) => parts.last().map_or(0, |part| part.task),
            _ => 0,
        },
        steps,
    }
}
