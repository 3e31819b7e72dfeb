//! What single operations, one after the other, are taken for.

use super::*;
use crate::facts::calls::ROOT;
use Told::{Acquire, Lock, Relay, Release, Unlock};

const AT: u64 = 0x1000;
const HERE: Position = Position {
    place: 7,
    calls: ROOT,
};
const NOW: Moment = Moment {
    at: HERE,
    step: 1,
    sequential: 0,
};

fn swap(before: u64, after: u64, acquires: bool, releases: bool) -> Operation {
    Operation {
        address: AT,
        before: Some(before),
        after: Some(after),
        how: How::Replaced,
        acquires,
        releases,
    }
}

fn count(before: u64, after: u64, acquires: bool, releases: bool) -> Operation {
    Operation {
        how: How::Counted,
        ..swap(before, after, acquires, releases)
    }
}

fn load(value: u64, acquires: bool) -> Operation {
    Operation {
        after: None,
        ..swap(value, value, acquires, false)
    }
}

fn store(value: u64, releases: bool) -> Operation {
    Operation {
        before: None,
        ..swap(0, value, false, releases)
    }
}

fn told(synchronisation: &mut Synchronisation, operation: Operation) -> Vec<Told> {
    let mut told = Vec::new();
    synchronisation.follow(&operation, NOW, |event| told.push(event));
    told
}

const ONE: ObjectId = ObjectId(1);

fn released(continues: bool) -> Told {
    Release {
        object: ONE,
        continues,
    }
}

#[test]
fn a_mutex() {
    let all = &mut Synchronisation::default();
    let lock = LockId(1);
    assert_eq!(
        told(all, swap(0, 1, true, false)),
        [Lock(lock, LockMode::Shared)]
    );
    assert!(!all.is_lock(AT));
    assert_eq!(
        told(all, swap(1, 0, false, true)),
        [Unlock(lock), released(false)]
    );
    assert!(all.is_lock(AT));
    let again = [Acquire(ONE), Lock(lock, LockMode::Exclusive)];
    assert_eq!(told(all, swap(0, 1, true, false)), again);
    assert_eq!(told(all, store(0, true)), [Unlock(lock), released(false)]);
    let shown = |nature| Synchroniser {
        address: AT,
        nature,
    };
    assert_eq!(all.lock(lock), shown(Nature::Lock));
    assert_eq!(all.variable_of(ONE), Some(shown(Nature::Lock)));
}

/// As std's: readers count by one, a writer sets many bits.
#[test]
fn a_reader_writer_lock() {
    let all = &mut Synchronisation::default();
    let lock = LockId(1);
    let readers = |continues| Release {
        object: ObjectId(2),
        continues,
    };
    let writer = swap(0, 99, true, false);
    let (reader_ends, writer_ends) = (count(1, 0, false, true), count(99, 0, false, true));
    let takes_to_read = |all: &mut Synchronisation| {
        told(all, load(0, false));
        told(all, swap(0, 1, true, false))
    };
    assert_eq!(told(all, writer), [Lock(lock, LockMode::Shared)]);
    assert_eq!(told(all, writer_ends), [Unlock(lock), released(false)]);
    assert_eq!(
        takes_to_read(all),
        [Acquire(ONE), Lock(lock, LockMode::Exclusive)]
    );
    assert_eq!(told(all, reader_ends), [Unlock(lock), readers(false)]);
    assert_eq!(
        takes_to_read(all),
        [Acquire(ONE), Lock(lock, LockMode::Shared)]
    );
    assert_eq!(told(all, reader_ends), [Unlock(lock), readers(true)]);
    assert_eq!(all.lock(lock).nature, Nature::ReaderWriterLock);
    for object in [ONE, ObjectId(2)] {
        let by = all.variable_of(object).unwrap();
        assert_eq!(by.nature, Nature::ReaderWriterLock);
    }
    let all_before = [
        Acquire(ONE),
        Acquire(ObjectId(2)),
        Lock(lock, LockMode::Exclusive),
    ];
    assert_eq!(told(all, writer), all_before);
    assert_eq!(told(all, writer_ends), [Unlock(lock), released(true)]);
    assert_eq!(
        takes_to_read(all),
        [Acquire(ONE), Lock(lock, LockMode::Shared)]
    );
}

/// A mutex may be given up by a subtraction, and a semaphore may have one permit.
#[test]
fn whoever_subtracts_is_no_reader_without_more_evidence() {
    let lock = LockId(1);
    for (looks, object) in [(false, ONE), (true, ObjectId(2))] {
        let all = &mut Synchronisation::default();
        for again in [false, true] {
            if looks {
                told(all, load(0, false));
            }
            let taken = told(all, swap(0, 1, true, false));
            let mode = match again && !looks {
                true => LockMode::Exclusive,
                false => LockMode::Shared,
            };
            assert_eq!(taken.last(), Some(&Lock(lock, mode)), "{looks} {again}");
            assert_eq!(taken.contains(&Acquire(object)), again);
            let continues = again;
            let release = Release { object, continues };
            assert_eq!(told(all, count(1, 0, false, true)), [Unlock(lock), release]);
        }
        assert_eq!(all.lock(lock).nature, Nature::Lock);
    }
}

/// Whoever looks at a lock that a reader may have left is told that the reader is still there.
#[test]
fn whoever_goes_in_beside_a_reader_is_one() {
    let all = &mut Synchronisation::default();
    let reads = |all: &mut Synchronisation| {
        told(all, load(2, false));
        let taken = told(all, swap(2, 6, true, false));
        told(all, count(6, 2, false, true));
        taken
    };
    let left = |all: &mut Synchronisation| {
        let (share, left) = all.left_by_reader(AT)?;
        Some((share.held, share.more, left.step))
    };
    assert_eq!(left(all), None);
    reads(all);
    assert_eq!(left(all), Some((6, 4, 1)));
    told(all, load(2, false));
    assert_eq!(left(all), None, "it was looked at since");
    assert!(reads(all).contains(&Acquire(ObjectId(2))));
    all.are_readers(AT);
    assert_eq!(all.lock(LockId(1)).nature, Nature::ReaderWriterLock);
    assert!(!reads(all).contains(&Acquire(ObjectId(2))));
    assert_eq!(left(all), None, "it is known");
    // Nobody is told for ever.
    let all = &mut Synchronisation::default();
    let times = (0..100).filter(|_| {
        reads(all);
        left(all).is_some()
    });
    assert_eq!(times.count(), readers::MOST_TOLD as usize);
    // Nor of a lock of another kind, or of what comes in its place.
    let all = &mut Synchronisation::default();
    told(all, swap(0, 1, true, false));
    told(all, count(1, 0, false, true));
    assert_eq!(left(all), None);
    let all = &mut Synchronisation::default();
    reads(all);
    all.forget(AT..AT + 1);
    assert_eq!(left(all), None);
}

/// The writers' bit is below the readers' count, and is given up by a subtraction, too.
#[test]
fn a_reader_looks_and_a_writer_does_not() {
    for reader_first in [false, true] {
        let all = &mut Synchronisation::default();
        let reads = |all: &mut Synchronisation| {
            told(all, load(0, false));
            let taken = told(all, swap(0, 16, true, false));
            [taken, told(all, count(16, 0, false, true))].concat()
        };
        let writes = |all: &mut Synchronisation| {
            let taken = told(all, swap(0, 8, true, false));
            [taken, told(all, count(8, 0, false, true))].concat()
        };
        if reader_first {
            reads(all);
        }
        writes(all);
        let passed_on = |told: &[Told]| match told.last() {
            Some(Release { object, .. }) => object.0,
            other => panic!("{other:?}"),
        };
        assert_eq!(passed_on(&reads(all)), 2);
        let again = reads(all);
        assert_eq!(passed_on(&again), 2);
        assert!(!again.contains(&Acquire(ObjectId(2))));
        assert!(writes(all).contains(&Acquire(ObjectId(2))));
        assert_eq!(all.lock(LockId(1)).nature, Nature::ReaderWriterLock);
    }
}

#[test]
fn readers_are_inside_together() {
    let all = &mut Synchronisation::default();
    told(all, count(0, 1, true, false));
    let suspended = all.begin_task();
    told(all, count(1, 2, true, false));
    let passed_on = |continues| Release {
        object: ObjectId(2),
        continues,
    };
    let ended = told(all, count(2, 1, false, true));
    assert_eq!(ended, [Unlock(LockId(1)), passed_on(false)]);
    all.end_task(suspended, |_| panic!("it holds nothing"));
    let ended = told(all, count(1, 0, false, true));
    assert_eq!(ended[1..], [Unlock(LockId(1)), passed_on(true)]);
    assert_eq!(all.lock(LockId(1)).nature, Nature::ReaderWriterLock);
    // Whoever subtracts and acquires knows that the others have left.
    told(all, count(0, 1, true, false));
    let left = told(all, count(1, 0, true, true));
    assert_eq!(left[0], Acquire(ObjectId(2)));
}

/// As in a thread that takes the lock to read while another one reads.
#[test]
fn readers_who_replace_the_count_are_inside_together() {
    let all = &mut Synchronisation::default();
    let (one, other) = (TaskId(1), TaskId(2));
    let takes = |all: &mut Synchronisation, before| {
        told(all, load(before, false));
        told(all, swap(before, before + 1, true, false))
    };
    takes(all, 0);
    all.put_away(one);
    all.take_up(other);
    assert_eq!(takes(all, 1), [Lock(LockId(1), LockMode::Shared)]);
    told(all, count(2, 1, false, true));
    all.put_away(other);
    all.take_up(one);
    told(all, count(1, 0, false, true));
    assert_eq!(all.lock(LockId(1)).nature, Nature::ReaderWriterLock);
}

#[test]
fn what_changes_nothing_or_does_not_release_is_no_lock() {
    let all = &mut Synchronisation::default();
    assert_eq!(told(all, swap(5, 5, true, false)), []);
    told(all, swap(0, 1, true, false));
    assert_eq!(told(all, store(0, false)), [Unlock(LockId(1))]);
    assert!(!all.is_lock(AT));
}

#[test]
fn a_counter_is_no_lock() {
    let all = &mut Synchronisation::default();
    assert_eq!(
        told(all, swap(0, 1, true, true)),
        [released(false), Lock(LockId(1), LockMode::Shared)]
    );
    let next = told(all, swap(1, 2, true, true));
    assert_eq!(
        next,
        [
            Acquire(ONE),
            Unlock(LockId(1)),
            released(true),
            Lock(LockId(2), LockMode::Shared)
        ]
    );
    let mut ended = Vec::new();
    all.end_task(Suspended::default(), |event| ended.push(event));
    assert_eq!(ended, [Unlock(LockId(2))]);
    assert!(!all.is_lock(AT));
    assert_eq!(all.lock(LockId(2)).nature, Nature::Atomic);
    assert_eq!(
        all.variable_of(ONE).map(|by| by.nature),
        Some(Nature::Atomic)
    );
}

#[test]
fn a_lock_that_another_task_takes_was_none() {
    let all = &mut Synchronisation::default();
    told(all, swap(0, 7, true, false));
    let suspended = all.begin_task();
    assert_eq!(
        told(all, swap(7, 9, true, false)),
        [Lock(LockId(2), LockMode::Shared)]
    );
    assert_eq!(told(all, swap(9, 7, true, true))[0], Unlock(LockId(2)));
    all.end_task(suspended, |_| panic!("it holds nothing"));
    assert!(told(all, swap(7, 0, false, true)).contains(&Unlock(LockId(1))));
    assert_eq!(all.lock(LockId(1)).nature, Nature::Atomic);
    assert_eq!(all.lock(LockId(2)).nature, Nature::Lock);
}

#[test]
fn what_a_task_holds_is_its_own() {
    let all = &mut Synchronisation::default();
    let other = |operation: Operation| Operation {
        address: AT + 8,
        ..operation
    };
    let (take, give_up) = (swap(0, 1, true, false), swap(1, 0, false, true));
    let taken = |lock| Taken {
        lock: LockId(lock),
        at: HERE,
    };
    let held = |all: &Synchronisation| all.holdings().taken(all.holding());
    assert_eq!(held(all), []);
    told(all, take);
    told(all, other(take));
    assert_eq!(held(all), [taken(1), taken(2)]);
    let suspended = all.begin_task();
    assert_eq!(held(all), []);
    all.end_task(suspended, |_| panic!("it holds nothing"));
    told(all, give_up);
    assert_eq!(held(all), [taken(2)], "not the one taken last");
    told(all, other(give_up));
    assert_eq!(held(all), []);
}

#[test]
fn a_flag_publishes() {
    let all = &mut Synchronisation::default();
    assert_eq!(told(all, load(0, true)), []);
    assert_eq!(told(all, store(1, true)), [released(false)]);
    assert_eq!(told(all, load(1, true)), [Acquire(ONE)]);
    assert_eq!(
        told(all, store(2, false)),
        [],
        "overwritten without a release"
    );
    assert_eq!(told(all, load(2, true)), []);
}

fn fence(synchronisation: &mut Synchronisation, acquires: bool, releases: bool) -> Vec<Told> {
    let mut told = Vec::new();
    synchronisation.fence(acquires, releases, |event| told.push(event));
    told
}

fn relayed(from: u32, to: u32, continues: bool) -> Told {
    Relay {
        from: ObjectId(from),
        to: ObjectId(to),
        continues,
    }
}

/// As the counts of `Arc`.
#[test]
fn a_fence_acquires_what_was_read() {
    let all = &mut Synchronisation::default();
    assert_eq!(told(all, count(3, 2, false, true)), [released(false)]);
    let suspended = all.begin_task();
    assert_eq!(fence(all, true, false), [], "this task has read nothing");
    // Objects 1 and 2 are the variable's.
    let second = [relayed(1, 3, false), released(true)];
    assert_eq!(told(all, count(2, 1, false, true)), second);
    let last = [relayed(1, 3, true), released(true)];
    assert_eq!(told(all, count(1, 0, false, true)), last);
    assert_eq!(fence(all, true, false), [Acquire(ObjectId(3))]);
    assert_eq!(fence(all, true, false), [], "it is acquired already");
    all.end_task(suspended, |_| panic!("no lock"));
}

#[test]
fn what_was_seen_already_is_not_relayed_again() {
    let all = &mut Synchronisation::default();
    told(all, store(1, true));
    assert_eq!(told(all, load(1, false)), [relayed(1, 3, false)]);
    assert_eq!(told(all, load(1, false)), []);
    told(all, store(1, true));
    assert_eq!(told(all, load(1, false)), [relayed(1, 3, true)]);
    told(all, store(1, false));
    assert_eq!(told(all, load(1, false)), [], "nothing was released");
    let other = Operation {
        address: AT + 8,
        ..load(0, false)
    };
    assert_eq!(told(all, other), []);
}

/// What the task of another fence has seen is none of this one's.
#[test]
fn each_task_has_its_own_fences() {
    let all = &mut Synchronisation::default();
    told(all, store(1, true));
    told(all, load(1, false));
    let suspended = all.begin_task();
    assert_eq!(fence(all, true, true).len(), 1, "a release");
    all.end_task(suspended, |_| panic!("no lock"));
    assert_eq!(told(all, store(1, false)), [], "no fence of its own");
    assert_eq!(fence(all, true, false), [Acquire(ObjectId(3))]);
    // The object is free again, here and when a task ends, and what it held is not kept.
    for _ in 0..2 {
        let suspended = all.begin_task();
        told(all, store(1, true));
        assert_eq!(told(all, load(1, false)), [relayed(1, 3, false)]);
        all.end_task(suspended, |_| panic!("no lock"));
    }
}

#[test]
fn a_write_behind_a_fence_passes_on_what_was_before_the_fence() {
    let all = &mut Synchronisation::default();
    let by_fence = |object| Release {
        object: ObjectId(object),
        continues: false,
    };
    assert_eq!(fence(all, false, true), [by_fence(1)]);
    assert_eq!(fence(all, false, true), [by_fence(1)], "nothing has it yet");
    assert_eq!(told(all, store(1, false)), [relayed(1, 2, false)]);
    assert_eq!(
        all.variable_of(ONE).map(|variable| variable.address),
        Some(AT)
    );
    assert_eq!(told(all, load(1, true)), [Acquire(ObjectId(2))]);
    assert_eq!(fence(all, false, true), [by_fence(4)]);
    // One that releases itself passes on more.
    let released = Release {
        object: ObjectId(2),
        continues: false,
    };
    assert_eq!(told(all, store(2, true)), [released]);
    // And one that reads and replaces adds to what is there, which is seen by that.
    let added = [relayed(2, 5, false), relayed(4, 2, true)];
    assert_eq!(told(all, swap(2, 3, false, false)), added);
}

#[test]
fn what_is_freed_is_forgotten() {
    let all = &mut Synchronisation::default();
    told(all, store(1, true));
    all.forget(AT + 1..AT + 8);
    assert_eq!(told(all, load(1, true)), [Acquire(ONE)]);
    all.forget(AT..AT + 1);
    assert_eq!(told(all, load(1, true)), []);
}

/// A state that goes round, as it does between two who wait for each other.
#[test]
fn what_turns_out_to_be_no_lock_over_and_over_is_none() {
    let all = &mut Synchronisation::default();
    for round in 1..=MOST_DOUBTS {
        let told = told(all, swap(0, 7, true, false));
        assert!(told.contains(&Lock(LockId(round), LockMode::Shared)));
        all.follow(&store(5, true), NOW, |_| {});
    }
    let told = told(all, swap(0, 7, true, false));
    assert_eq!(told, [Acquire(ONE)]);
}

/// As std's mutex is left by who waits for it.
#[test]
fn who_waits_for_a_lock_of_another_thread_does_not_take_it() {
    let all = &mut Synchronisation::default();
    let (one, other) = (TaskId(1), TaskId(2));
    let lock = LockId(1);
    let is_lock = [Lock(lock, LockMode::Shared)];
    assert_eq!(told(all, swap(0, 1, true, false)), is_lock);
    all.put_away(one);
    all.take_up(other);
    assert_eq!(told(all, swap(1, 2, true, false)), []);
    all.put_away(other);
    all.take_up(one);
    let given_up = [Unlock(lock), released(false)];
    assert_eq!(told(all, swap(2, 0, false, true)), given_up);
    all.put_away(one);
    all.take_up(other);
    let taken = [Acquire(ONE), Lock(lock, LockMode::Exclusive)];
    assert_eq!(told(all, swap(0, 2, true, false)), taken);
}

/// One task has read, the other one has given the block up.
#[test]
fn a_flag_that_is_set_beside_others_is_no_lock() {
    let all = &mut Synchronisation::default();
    let flag = |releases| Operation {
        how: How::Flagged,
        ..swap(1, 3, true, releases)
    };
    assert_eq!(told(all, flag(true)), [released(false)]);
    let all = &mut Synchronisation::default();
    assert_eq!(told(all, flag(false)), [Lock(LockId(1), LockMode::Shared)]);
}

/// Each of these was taken by nobody else, and by nothing shown to be a lock.
#[test]
fn what_was_taken_long_ago_is_thought_no_lock() {
    let all = &mut Synchronisation::default();
    let taken = |number: u64| Operation {
        address: AT + 8 * number,
        ..swap(0, 1, true, false)
    };
    for number in 0..MOST_UNCERTAIN as u64 {
        assert_eq!(told(all, taken(number)).len(), 1);
    }
    let more = told(all, taken(MOST_UNCERTAIN as u64));
    assert_eq!(more[0], Unlock(LockId(1)));
    assert_eq!(more.len(), 2);
}
