//! Programs with tasks that escape, locks, atomic accesses, releases and acquires, each with its
//! answer worked out by hand.

use crate::common::inline::ContextChecks;
use crate::common::{parse, tell};
use finishline_detect::history::Meeting;
use finishline_detect::inline::Inline;
use finishline_detect::locks::Held;
use finishline_detect::order::{OneAtATime, Order, Running};
use finishline_model::{
    AccessKind, Event, FinishId, FinishKind, Location, LockId, LockMode, ObjectId, SiteId, TaskId,
    TaskKind,
};

const LOCATIONS: u64 = 26;

/// What is expected of a program: locations that race, those that overlap, by which lock, and
/// whether a conflict is excused.
fn check(program: &str, racing: &str, overlaps: &[(char, LockId)], synchronised: bool) {
    let mut checks = ContextChecks::new(LOCATIONS);
    tell(&parse(program), LOCATIONS, &mut checks);
    let letter = |location: Location| char::from(b'a' + location.0 as u8);
    let mut found: Vec<char> = checks
        .detector
        .racing()
        .in_order()
        .iter()
        .map(|location| letter(*location))
        .collect();
    found.sort_unstable();
    assert_eq!(found.iter().collect::<String>(), racing, "{program}");
    let mut found: Vec<(char, LockId)> = checks
        .told
        .iter()
        .filter_map(|(_, _, conflict)| match conflict.meeting {
            Meeting::Overlap(lock) => Some((letter(conflict.location), lock)),
            Meeting::Race | Meeting::Excused => None,
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, overlaps, "{program}");
    assert_eq!(checks.detector.synchronised(), synchronised, "{program}");
}

/// The second reader outlasts the first, which runs beside it.
#[test]
fn one_reader_is_not_enough_if_tasks_escape() {
    check("finish{ async{ ra } escape1{ ra } } wa", "a", &[], false);
    check("finish{ escape1{ ra } async{ ra } } wa", "a", &[], false);
    check("finish{ async{ ra } async{ ra } } wa", "", &[], false);
    check(
        "finish{ async{ ra } escape1{ finish{ async{ ra } } } } wa",
        "a",
        &[],
        false,
    );
}

#[test]
fn a_task_that_escapes_is_waited_for_by_its_own_finish() {
    check("finish{ finish{ escape1{ wa } } ra } rb", "a", &[], false);
    check("finish{ finish{ escape1{ wa } } } ra", "", &[], false);
    check(
        "finish{ finish{ finish{ escape2{ wa wb } } ra } } rb",
        "a",
        &[],
        false,
    );
}

#[test]
fn what_was_released_is_known_to_whoever_acquires_it() {
    check("async{ wa release0 } async{ acquire0 ra }", "", &[], true);
    check("async{ release0 wa } async{ acquire0 ra }", "a", &[], false);
    check("async{ wa release0 } async{ ra acquire0 }", "a", &[], false);
    check("async{ wa release0 } async{ acquire1 ra }", "a", &[], false);
    check(
        "async{ wa release0 } async{ acquire0 release1 } async{ acquire1 ra }",
        "",
        &[],
        true,
    );
    // What is ordered anyway needs no excuse.
    check("finish{ async{ wa release0 } } acquire0 ra", "", &[], false);
}

/// A release by a child separates what its creator did before from what it does after.
#[test]
fn creators_are_known_up_to_the_creation() {
    check(
        "async{ wa async{ release0 } wb } async{ acquire0 ra rb }",
        "b",
        &[],
        true,
    );
}

#[test]
fn knowledge_is_inherited_and_joined() {
    check(
        "async{ wa release0 } async{ acquire0 async{ ra } }",
        "",
        &[],
        true,
    );
    check(
        "async{ wa release0 } async{ finish{ async{ acquire0 } } ra }",
        "",
        &[],
        true,
    );
    check(
        "async{ wa release0 } async{ async{ acquire0 } ra }",
        "a",
        &[],
        false,
    );
}

/// A store ends what was in effect; an update in one goes on with it.
#[test]
fn releases_that_are_continued_stay_in_effect() {
    check(
        "async{ wa release0 } async{ wb update0 } async{ acquire0 ra rb }",
        "",
        &[],
        true,
    );
    check(
        "async{ wa release0 } async{ wb release0 } async{ acquire0 ra rb }",
        "a",
        &[],
        true,
    );
}

/// Of two readers beside each other the writer knows the first only. As a fence does: what came
/// before it is passed on by what is written behind it, and what was read before it is acquired by
/// it.
#[test]
fn what_an_object_holds_can_be_relayed() {
    check(
        "async{ wa release1 relay1to0 } async{ acquire0 ra }",
        "",
        &[],
        true,
    );
    check(
        "async{ release1 wa relay1to0 } async{ acquire0 ra }",
        "a",
        &[],
        false,
    );
    check(
        "async{ wa release0 } async{ relay0to1 acquire1 ra }",
        "",
        &[],
        true,
    );
    // What is released later is not held by what was relayed before, not even if the same step does
    // it.
    check(
        "relay0to1 async{ wa release0 } async{ acquire1 ra }",
        "a",
        &[],
        false,
    );
    check(
        "async{ release0 relay0to1 wa release0 } async{ acquire1 ra }",
        "a",
        &[],
        false,
    );
    // The earlier content stays or goes.
    check(
        "async{ wa release0 } async{ wb release1 add1to0 } async{ acquire0 ra rb }",
        "",
        &[],
        true,
    );
    check(
        "async{ wa release0 } async{ wb release1 relay1to0 } async{ acquire0 ra rb }",
        "a",
        &[],
        true,
    );
}

#[test]
fn one_reader_is_not_enough_with_releases() {
    check(
        "async{ ra release0 } async{ ra } async{ acquire0 wa }",
        "a",
        &[],
        true,
    );
    check(
        "async{ ra update0 } async{ ra update0 } async{ acquire0 wa }",
        "",
        &[],
        true,
    );
}

#[test]
fn a_glimpse_is_known_until_it_ends() {
    let glimpse = |rest: &str| format!("async{{ wa wb release0 }} async{{ glimpse0 wa {rest} }}");
    check(&glimpse("forget"), "", &[], true);
    check(&glimpse("forget wb"), "b", &[], true);
    check(&glimpse("keep wb"), "", &[], true);
    check(&glimpse("acquire0 forget wb"), "", &[], true);
    // What was written during the glimpse does not stand for what was glimpsed.
    check(&glimpse("forget wa"), "a", &[], true);
    check(&glimpse("forget } async{"), "", &[], true);
}

#[test]
fn what_is_released_during_a_glimpse_passes_it_on() {
    check(
        "async{ wa release0 } async{ glimpse0 release1 forget } async{ acquire1 wa }",
        "",
        &[],
        true,
    );
    check(
        "async{ wa release0 } async{ glimpse0 forget release1 } async{ acquire1 wa }",
        "a",
        &[],
        false,
    );
}

/// Its creator has forgotten by then what it knew when it created the task.
#[test]
fn a_task_that_was_created_during_a_glimpse_passes_it_on() {
    check(
        "async{ wa release0 } finish{ glimpse0 async{ rb } forget } wa",
        "",
        &[],
        true,
    );
}

/// Whatever else it forgets.
#[test]
fn a_suspended_thread_knows_its_own_past() {
    let mut order = OneAtATime::new().unwrap();
    let (task, object) = (TaskId(1), ObjectId(0));
    order.event(&begin_task(0)).unwrap();
    order.event(&begin_finish(0)).unwrap();
    order.event(&begin_task(1)).unwrap();
    let own = order.stamp(Running);
    order.event(&Event::Glimpse { task, object }).unwrap();
    order.event(&Event::Suspend { task }).unwrap();
    assert!(order.parallel(Running, own), "to its creator");
    order.event(&Event::Resume { task }).unwrap();
    let keep = false;
    order.event(&Event::GlimpseEnd { task, keep }).unwrap();
    assert!(!order.parallel(Running, own) && !order.structurally_parallel(Running, own));
}

/// A thread that waits is parallel to all that happens meanwhile, and its own parts and its
/// creation are in order without any excuse.
#[test]
fn a_suspended_thread_goes_on_from_where_it_was() {
    check("wa thread{ wa pause wa } resume0", "", &[], false);
    check("thread{ pause wa } wa resume0", "a", &[], false);
    check("thread{ pause wa } resume0 wa", "a", &[], false);
    check("thread{ pause wa } thread{ wa } resume0", "a", &[], false);
    check(
        "thread{ pause thread{ wa } wb } resume0 wb",
        "b",
        &[],
        false,
    );
    check(
        "thread{ pause acquire0 wa } wa release0 resume0",
        "",
        &[],
        true,
    );
    check(
        "thread{ wa release0 pause wa } acquire0 wa resume0",
        "a",
        &[],
        true,
    );
}

/// What joins the earlier of two readers joins the later one too only as long as nobody was
/// suspended in between.
#[test]
fn a_reader_of_another_piece_stands_for_nobody() {
    check("thread{ pause ra } ra resume0 wa", "a", &[], false);
    check("ra thread{ ra pause ra } wa resume0", "a", &[], false);
}

/// Joined by now, but not when the thread was created, of which it knows nothing.
#[test]
fn what_was_joined_meanwhile_does_not_precede_a_thread() {
    check(
        "finish{ async{ wa } thread{ pause wa } } resume0",
        "a",
        &[],
        false,
    );
    check(
        "finish{ async{ lock0{ wa } } } thread{ pause wa } resume0",
        "",
        &[],
        false,
    );
    check(
        "thread{ pause wa } finish{ async{ lock0{ wa } } } lock0{ wa } resume0",
        "a",
        &[],
        false,
    );
}

#[test]
fn a_suspended_thread_keeps_its_locks() {
    check(
        "thread{ lock0{ pause wa } } lock0{ wa } resume0",
        "",
        &[('a', ONE)],
        false,
    );
    check(
        "thread{ lock0{ pause } wa } lock0{ wa } resume0",
        "a",
        &[],
        false,
    );
}

/// The small history of isolated blocks, with one reader, is given up in time.
#[test]
fn one_reader_is_not_enough_in_isolated_blocks_either() {
    check(
        "finish{ async{ isolated{ ra } } escape1{ isolated{ ra } } } wa",
        "a",
        &[],
        false,
    );
    check(
        "async{ isolated{ ra } release0 } async{ isolated{ ra } } async{ acquire0 wa }",
        "a",
        &[],
        true,
    );
    check(
        "async{ isolated{ wa } } lock0{ isolated{ wa } }",
        "",
        &[('a', LockId::ISOLATED)],
        false,
    );
    check("async{ isolated{ wa } } lock0{ wa }", "a", &[], false);
}

const ONE: LockId = LockId(0);

#[test]
fn locks_exclude() {
    check("async{ lock0{ wa } } lock0{ wa }", "", &[('a', ONE)], false);
    check("async{ lock0{ wa } } lock1{ wa }", "a", &[], false);
    check("async{ lock0{ wa } } wa", "a", &[], false);
    check("async{ lock0{ ra } } lock0{ ra }", "", &[], false);
    check(
        "async{ lock0{ lock1{ wa } } } lock1{ wa }",
        "",
        &[('a', LockId(1))],
        false,
    );
    // No lock protects all three.
    check(
        "async{ lock0{ lock1{ wa } } } async{ lock0{ wa } } lock1{ wa }",
        "a",
        &[('a', ONE), ('a', LockId(1))],
        false,
    );
}

#[test]
fn shared_locks_exclude_exclusive_ones_only() {
    check("async{ shared0{ wa } } shared0{ wa }", "a", &[], false);
    check(
        "async{ shared0{ ra } } lock0{ wa }",
        "",
        &[('a', ONE)],
        false,
    );
    check(
        "async{ lock0{ wa } } shared0{ ra }",
        "",
        &[('a', ONE)],
        false,
    );
}

#[test]
fn atomic_accesses_exclude_each_other_only() {
    let atomic = [('a', LockId::ATOMIC)];
    check("async{ atomic{ wa } } atomic{ wa }", "", &atomic, false);
    check("async{ atomic{ wa } } wa", "a", &[], false);
    check("async{ atomic{ wa } } lock0{ wa }", "a", &[], false);
    // The lock is what tells more.
    check(
        "async{ lock0{ atomic{ wa } } } lock0{ atomic{ wa } }",
        "",
        &[('a', ONE)],
        false,
    );
}

/// A counter with acquire and release in each step, and a plain read by the last: no race, by the
/// observed order.
#[test]
fn overlaps_go_by_structure_and_races_by_what_was_observed() {
    let step = "acquire0 atomic{ wa } update0";
    check(
        &format!("async{{ {step} }} async{{ {step} ra }}"),
        "",
        &[('a', LockId::ATOMIC)],
        true,
    );
}

/// Whoever holds a lock while a finish lasts protects its tasks from others, not from each other
/// nor from itself.
#[test]
fn a_lock_protects_the_tasks_of_a_finish_that_began_under_it() {
    check(
        "async{ lock0{ finish{ async{ wa } } } } lock0{ wa }",
        "",
        &[('a', ONE)],
        false,
    );
    check(
        "async{ lock0{ finish{ async{ wa } } } } lock0{ finish{ async{ wa } } }",
        "",
        &[('a', ONE)],
        false,
    );
    check(
        "lock0{ finish{ async{ wa } async{ wa } } }",
        "a",
        &[],
        false,
    );
    check("lock0{ finish{ async{ wa } wa } }", "a", &[], false);
    // Nobody waits for these before the lock is given up.
    check("async{ lock0{ async{ wa } } } lock0{ wa }", "a", &[], false);
    check(
        "async{ lock0{ finish{ escape1{ wa } } } } lock0{ wa }",
        "a",
        &[],
        false,
    );
}

const SITE: SiteId = SiteId(0);
const TASK: TaskId = TaskId::MAIN;

fn lock(lock: u32) -> Event {
    Event::Lock {
        task: TASK,
        lock: LockId(lock),
        mode: LockMode::Exclusive,
    }
}

fn unlock(lock: u32) -> Event {
    Event::Unlock {
        task: TASK,
        lock: LockId(lock),
    }
}

fn begin_task(task: u32) -> Event {
    Event::TaskBegin {
        task: TaskId(task),
        parent: (task > 0).then_some(TASK),
        kind: TaskKind::Async,
        finish: FinishId::ROOT,
        site: SITE,
    }
}

fn begin_finish(finish: u32) -> Event {
    Event::FinishBegin {
        task: TASK,
        finish: FinishId(finish),
        kind: FinishKind::Lexical,
        site: SITE,
    }
}

fn end_finish(finish: u32) -> Event {
    Event::FinishEnd {
        task: TASK,
        finish: FinishId(finish),
        site: SITE,
    }
}

fn protected_by(held: &Held) -> Vec<u32> {
    let holds = held.sets().holds(held.now()).iter();
    holds.map(|hold| hold.lock.0).collect()
}

#[test]
fn locks_are_given_up_in_any_order() {
    let mut held = Held::new();
    let expected: [(Event, &[u32]); 8] = [
        (lock(3), &[3]),
        (lock(1), &[1, 3]),
        (lock(3), &[1, 3]),
        (unlock(3), &[1, 3]),
        (unlock(3), &[1]),
        (unlock(7), &[1]),
        (unlock(1), &[]),
        (unlock(1), &[]),
    ];
    for (event, locks) in expected {
        held.event(&event).unwrap();
        assert_eq!(protected_by(&held), locks, "after {event:?}");
    }
}

#[test]
fn a_task_that_ends_takes_its_locks_along() {
    let mut held = Held::new();
    let end = |task| Event::TaskEnd { task: TaskId(task) };
    let expected: [(Event, &[u32]); 6] = [
        (lock(1), &[1]),
        (begin_task(2), &[]),
        (lock(2), &[2]),
        (end(2), &[1]),
        (end(1), &[]),
        (begin_task(3), &[]),
    ];
    for (event, locks) in expected {
        held.event(&event).unwrap();
        assert_eq!(protected_by(&held), locks, "after {event:?}");
    }
}

#[test]
fn a_lock_given_up_inside_a_finish_that_began_under_it_is_noticed() {
    for (events, early) in [
        (vec![lock(1), begin_finish(1), unlock(1)], true),
        (
            vec![lock(1), begin_finish(1), end_finish(1), unlock(1)],
            false,
        ),
        (vec![begin_finish(1), lock(1), unlock(1)], false),
        (
            vec![lock(1), begin_finish(1), begin_finish(2), unlock(1)],
            true,
        ),
        (
            vec![lock(1), begin_finish(1), begin_task(1), lock(1), unlock(1)],
            false,
        ),
    ] {
        let mut held = Held::new();
        for event in &events {
            held.event(event).unwrap();
        }
        assert_eq!(held.gave_up_early(), early, "{events:?}");
    }
}

/// A cell of zeros is a location nobody has accessed, whatever was there before.
#[test]
fn a_location_can_be_used_again() {
    let mut detector = Inline::<OneAtATime>::new().unwrap();
    let mut cell = [0];
    detector.event(&begin_task(0));
    detector.event(&begin_finish(0));
    detector.event(&begin_task(1));
    detector.atomic(AccessKind::Write, &mut cell, Location(5), 1);
    detector.event(&Event::TaskEnd { task: TaskId(1) });
    cell = [0];
    detector.event(&begin_task(2));
    detector.event(&lock(1));
    detector.range(AccessKind::Write, &mut cell, 1, Location(5));
    detector.event(&unlock(1));
    assert!(detector.racing().is_empty());
    detector.event(&Event::TaskEnd { task: TaskId(2) });
    detector.range(AccessKind::Read, &mut cell, 1, Location(5));
    assert_eq!(detector.racing().in_order(), [Location(5)]);
}

#[test]
fn a_location_can_be_used_again_in_isolated_blocks() {
    let mut detector = Inline::<OneAtATime>::new().unwrap();
    let (task, site) = (TASK, SITE);
    let mut cell = [0];
    detector.event(&begin_task(0));
    detector.event(&begin_finish(0));
    detector.event(&begin_task(1));
    detector.atomic(AccessKind::Write, &mut cell, Location(5), 1);
    detector.event(&Event::TaskEnd { task: TaskId(1) });
    cell = [0];
    detector.event(&begin_task(2));
    detector.event(&Event::IsolatedBegin { task, site });
    detector.range(AccessKind::Read, &mut cell, 1, Location(5));
    detector.event(&Event::IsolatedEnd { task, site });
    detector.event(&Event::TaskEnd { task: TaskId(2) });
    detector.range(AccessKind::Read, &mut cell, 1, Location(5));
    assert!(detector.racing().is_empty());
    detector.range(AccessKind::Write, &mut cell, 1, Location(5));
    assert_eq!(detector.racing().in_order(), [Location(5)]);
}

/// The atomic write knows of the plain one before it, and excludes the atomic one after it. So it
/// can't stand for the plain one.
#[test]
fn an_access_under_more_locks_stands_for_none_under_fewer() {
    for in_brief in [false, true] {
        let mut detector = Inline::<OneAtATime>::new().unwrap();
        if in_brief {
            detector.be_brief();
        }
        let mut cell = [0];
        let object = ObjectId(0);
        detector.event(&begin_task(0));
        detector.event(&begin_finish(0));
        detector.event(&begin_task(1));
        detector.range(AccessKind::Write, &mut cell, 1, Location(5));
        let task = TaskId(1);
        detector.event(&Event::Release {
            task,
            object,
            continues: false,
        });
        detector.event(&Event::TaskEnd { task });
        detector.event(&begin_task(2));
        let task = TaskId(2);
        detector.event(&Event::Acquire { task, object });
        detector.atomic(AccessKind::Write, &mut cell, Location(5), 1);
        detector.event(&Event::TaskEnd { task });
        assert!(detector.racing().is_empty());
        detector.event(&begin_task(3));
        detector.atomic(AccessKind::Write, &mut cell, Location(5), 1);
        assert_eq!(detector.racing().in_order(), [Location(5)]);
    }
}

/// What a thousand tasks read that tell each other when they are done: memory by tasks, not by
/// locations.
#[test]
fn locations_with_the_same_readers_share_them() {
    let mut detector = Inline::<OneAtATime>::new().unwrap();
    let mut cells = vec![0; 10_000];
    detector.event(&begin_task(0));
    detector.event(&begin_finish(0));
    for task in 1..=1000 {
        detector.event(&begin_task(task));
        detector.range(AccessKind::Read, &mut cells, 1, Location(0));
        detector.event(&Event::Release {
            task: TaskId(task),
            object: ObjectId(0),
            continues: true,
        });
        detector.event(&Event::TaskEnd { task: TaskId(task) });
    }
    detector.event(&Event::Acquire {
        task: TASK,
        object: ObjectId(0),
    });
    detector.range(AccessKind::Write, &mut cells, 1, Location(0));
    assert!(detector.synchronised() && detector.racing().is_empty());
    let findings = detector.finish(0).unwrap();
    assert!(findings.location_bytes < 100_000, "{findings:?}");
}

/// A loop that counts in an atomic variable.
#[test]
fn releases_of_one_step_cost_a_stamp_each() {
    let mut order = OneAtATime::new().unwrap();
    order.event(&begin_task(0)).unwrap();
    order.event(&begin_finish(0)).unwrap();
    order.event(&begin_task(1)).unwrap();
    let object = ObjectId(0);
    let before = order.used_bytes();
    for _ in 0..10_000 {
        let (task, continues) = (TASK, true);
        order.event(&Event::Acquire { task, object }).unwrap();
        let release = Event::Release {
            task,
            object,
            continues,
        };
        order.event(&release).unwrap();
    }
    // Two elements of lists for the step, and the number of sets when it ended.
    let used = order.used_bytes() - before;
    assert!(used <= 36 * 10_000 + 1000, "{used}");
}
