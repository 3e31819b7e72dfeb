//! Tasks on one thread, or on several, and what they ask and keep.

use super::*;

const VARIABLES: Range<u64> = 0x7200_0000_0000..0x7200_0000_0100;

/// What `does` does on this thread.
fn on(thread: u32, does: impl FnOnce(&mut Checker)) -> impl FnOnce(&mut Checker) {
    move |checker| {
        checker.begin_stay(thread);
        does(checker);
        checker.end_stay();
    }
}

/// Writes a block behind asking for the thread, or without.
fn write_having_asked(asks: bool) -> impl FnOnce(&mut Checker) {
    move |checker| {
        if asks {
            checker.asks();
        }
        write(checker);
    }
}

/// Two tasks on one thread that both asked may each have what the thread keeps.
#[test]
fn a_thread_orders_what_its_tasks_do_if_they_asked_for_it() {
    for (threads, asks, races) in [
        ([1, 1], [true, true], 0),
        ([1, 1], [true, false], 1),
        ([1, 1], [false, true], 1),
        ([1, 1], [false, false], 1),
        ([1, 2], [true, true], 1),
    ] {
        let mut checker = with_block(8);
        checker.new_thread(VARIABLES);
        checker.new_thread(VARIABLES.end..VARIABLES.end + 8);
        let [first, second] = [0, 1].map(|it| on(threads[it], write_having_asked(asks[it])));
        // While something is parallel, so that a stay begins without having asked.
        beside(
            &mut checker,
            |_| (),
            |checker| beside(checker, first, second),
        );
        assert_eq!(
            checker.found.races.iter().count(),
            races,
            "{threads:?} {asks:?}"
        );
        assert_eq!(checker.found.by_thread.iter().count(), 1 - races);
        assert_eq!(checker.synchronised(), races == 0);
    }
}

/// One task makes a block and hands it out under a lock. Another one takes it there and keeps the
/// handle for its thread. A third one uses it.
#[test]
fn what_a_thread_keeps_is_relied_on() {
    let here = Here {
        place: 12,
        stack_pointer: u64::MAX,
    };
    let slot = |kind, thread: u64| {
        move |checker: &mut Checker| checker.access(kind, VARIABLES.start + 0x100 * thread, 8, here)
    };
    let (keeps, uses) = (AccessKind::Write, AccessKind::Read);
    for (takes, keeper, user, used, races) in [
        (true, 2, 2, uses, 0),
        // Whoever does not take the block does not know it.
        (false, 2, 2, uses, 1),
        // Another thread has another slot.
        (true, 2, 1, uses, 1),
        (true, 1, 2, uses, 1),
        // What was kept is replaced unread.
        (true, 2, 2, keeps, 1),
    ] {
        let mut checker = with_block(8);
        for thread in 1..=2 {
            let start = VARIABLES.start + 0x100 * thread;
            checker.new_thread(start..start + 0x100);
        }
        let makes = on(3, |checker| under_lock(checker, write));
        checker.new_thread(VARIABLES.start + 0x300..VARIABLES.start + 0x400);
        let keeps = on(keeper, |checker| {
            if takes {
                under_lock(checker, |_| ());
            }
            slot(keeps, u64::from(keeper))(checker);
        });
        let uses = on(user, |checker| {
            slot(used, u64::from(user))(checker);
            write(checker);
        });
        beside(&mut checker, makes, |checker| beside(checker, keeps, uses));
        let case = (takes, keeper, user, used);
        assert_eq!(checker.found.races.iter().count(), races, "{case:?}");
        assert_eq!(checker.found.through_threads, 1 - races as u64, "{case:?}");
    }
}

/// What a task does after its step has ended is not relied on with the step.
#[test]
fn of_a_task_that_kept_something_one_step_is_relied_on() {
    let here = Here {
        place: 12,
        stack_pointer: u64::MAX,
    };
    let slot = |kind| move |checker: &mut Checker| checker.access(kind, VARIABLES.start, 8, here);
    for (before, races) in [(true, 0), (false, 1)] {
        let mut checker = with_block(8);
        checker.new_thread(VARIABLES);
        let child = |checker: &mut Checker| beside(checker, |_| (), on(0, write));
        let keeps = on(1, |checker| {
            if before {
                child(checker);
            }
            slot(AccessKind::Write)(checker);
            if !before {
                child(checker);
            }
        });
        let uses = on(1, |checker| {
            slot(AccessKind::Read)(checker);
            write(checker);
        });
        beside(&mut checker, |_| (), |checker| beside(checker, keeps, uses));
        assert_eq!(checker.found.races.iter().count(), races, "{before}");
        assert_eq!(checker.found.through_threads, 1 - races as u64, "{before}");
        let class = match races {
            0 => r#""class":"thread-ordered""#,
            _ => r#""class":"race""#,
        };
        let text = findings_of(&mut checker);
        assert!(text.contains(class), "{text}");
    }
}

/// The same task is on one thread, then on another, and accesses the block on one of them.
#[test]
fn an_access_is_on_the_thread_where_it_was_made() {
    for (threads, races) in [([1, 1], 0), ([1, 2], 0), ([2, 1], 1)] {
        let mut checker = with_block(8);
        checker.new_thread(VARIABLES);
        checker.new_thread(VARIABLES.end..VARIABLES.end + 8);
        let both = |checker: &mut Checker| {
            on(threads[0], write_having_asked(true))(checker);
            on(threads[1], |checker| checker.asks())(checker);
        };
        beside(&mut checker, both, on(1, write_having_asked(true)));
        let found = checker.found.races.iter().count();
        assert_eq!(found, races, "{threads:?}");
    }
}

/// A variable of a thread is its own, unless another one has the address.
#[test]
fn thread_local_variables_are_shared_by_their_address_alone() {
    let here = Here {
        place: 10,
        stack_pointer: u64::MAX,
    };
    let set = |checker: &mut Checker| {
        checker.access(AccessKind::Write, VARIABLES.start + 8, 8, here);
    };
    for (threads, races) in [([1, 1], 0), ([1, 2], 1), ([2, 1], 1), ([2, 2], 1)] {
        let mut checker = checker();
        checker.new_thread(VARIABLES);
        checker.new_thread(VARIABLES.end..VARIABLES.end + 8);
        beside(&mut checker, on(threads[0], set), on(threads[1], set));
        let found: Vec<_> = checker.found.races.iter().collect();
        assert_eq!(found.len(), races, "{threads:?}");
        assert!(checker.found.by_thread.is_empty());
        let is_known = |pair: &&ConflictingPair| matches!(pair.names.object, Object::ThreadLocal);
        assert!(found.iter().all(is_known));
    }
}

/// To use a variable of the thread is to ask for it.
#[test]
fn a_variable_of_the_thread_tells_which_one_it_is() {
    for (address, races) in [(VARIABLES.start, 0), (VARIABLES.end, 1)] {
        let mut checker = with_block(8);
        checker.new_thread(VARIABLES);
        let here = Here {
            place: 11,
            stack_pointer: u64::MAX,
        };
        let reads_and_writes = |checker: &mut Checker| {
            checker.access(AccessKind::Read, address, 8, here);
            write(checker);
        };
        beside(
            &mut checker,
            |_| (),
            |checker| beside(checker, on(1, reads_and_writes), on(1, reads_and_writes)),
        );
        assert_eq!(checker.found.races.iter().count(), races);
    }
}
