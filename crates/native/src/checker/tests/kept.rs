//! Freed blocks that are kept, in all combinations: of which size the block is, when it is freed,
//! who uses it how, and whether it is kept still.

use super::*;

fn free(checker: &mut Checker) {
    checker.freed(BLOCK, 30);
    checker.kept(BLOCK, 30);
}

fn free_again(checker: &mut Checker) {
    checker.freed_again(BLOCK, 40);
}

fn read(checker: &mut Checker) {
    let here = Here {
        place: 11,
        stack_pointer: u64::MAX,
    };
    checker.access(AccessKind::Read, BLOCK, 8, here);
}

fn write_range(checker: &mut Checker) {
    let here = Here {
        place: 12,
        stack_pointer: u64::MAX,
    };
    checker.access_range(AccessKind::Write, BLOCK, 24, here);
}

fn write_locked(checker: &mut Checker) {
    under_lock(checker, write);
}

type Does = fn(&mut Checker);

const USES: [Does; 5] = [write, read, write_range, write_locked, free_again];
const SIZES: [u64; 2] = [24, GIVEN_BACK];

/// How many pairs race, and how many are uses after the free.
fn found(checker: &Checker) -> (usize, usize) {
    let found = &checker.found;
    (found.races.iter().count(), found.after_free.iter().count())
}

#[test]
fn a_use_that_is_parallel_races_and_a_later_one_is_after_the_free() {
    for (bytes, uses) in SIZES.into_iter().flat_map(|size| USES.map(|it| (size, it))) {
        let mut checker = with_block(bytes);
        beside(&mut checker, free, uses);
        assert_eq!(found(&checker), (1, 0), "{bytes}");

        // By the same task, which has written it before.
        let mut checker = with_block(bytes);
        let own = |checker: &mut Checker| {
            write(checker);
            free(checker);
            uses(checker);
            uses(checker);
        };
        beside(&mut checker, |_| (), own);
        assert_eq!(found(&checker), (0, 1), "{bytes}");

        // By a task of a later scope.
        let mut checker = with_block(bytes);
        beside(&mut checker, write, |_| ());
        beside(&mut checker, free, |_| ());
        beside(&mut checker, uses, |_| ());
        assert_eq!(found(&checker), (0, 1), "{bytes}");

        // After it was freed while nothing was parallel.
        let mut checker = with_block(bytes);
        free(&mut checker);
        beside(&mut checker, uses, |_| ());
        assert_eq!(found(&checker), (0, 1), "{bytes}");
    }
}

/// As a loop does: what the access makes of the first word it would make of the others.
#[test]
fn each_word_that_is_used_after_the_free_is_told() {
    for kind in [AccessKind::Read, AccessKind::Write] {
        let mut checker = with_block(24);
        let words = |checker: &mut Checker| {
            free(checker);
            for word in 0..3 {
                let here = Here {
                    place: 11,
                    stack_pointer: u64::MAX,
                };
                checker.access(kind, BLOCK + 8 * word, 8, here);
            }
        };
        beside(&mut checker, |_| (), words);
        assert_eq!(found(&checker), (0, 1));
        assert_eq!(checker.found.after_free.addresses().count(), 24);
    }
}

#[test]
fn a_pair_names_the_free_the_use_and_the_block() {
    let mut checker = with_block(24);
    beside(&mut checker, free, |_| ());
    beside(&mut checker, |_| (), read);
    let pair = checker.found.after_free.iter().next().unwrap();
    let manners = [pair.first.manner, pair.second.manner];
    assert_eq!(manners, [Manner::Free, Manner::Plain]);
    assert_eq!([pair.first.at.place, pair.second.at.place], [30, 11]);
    assert_eq!([pair.first.bytes, pair.second.bytes], [24, 8]);
    assert_eq!(pair.overlap, BLOCK..BLOCK + 8);
    assert!(matches!(
        pair.names.object,
        Object::Heap {
            start: BLOCK,
            bytes: 24,
            ..
        }
    ));
}

#[test]
fn nothing_is_said_of_memory_that_is_not_kept() {
    for (bytes, uses) in SIZES.into_iter().flat_map(|size| USES.map(|it| (size, it))) {
        for comes_back in [
            (|checker| checker.given_back(BLOCK)) as Does,
            |checker| checker.allocated(BLOCK, 64, 6),
            |checker| checker.allocated(BLOCK - 64, 128, 6),
        ] {
            for is_alone in [true, false] {
                let mut checker = with_block(bytes);
                if is_alone {
                    free(&mut checker);
                } else {
                    beside(&mut checker, free, |_| ());
                }
                comes_back(&mut checker);
                beside(&mut checker, uses, |_| ());
                assert_eq!(found(&checker), (0, 0), "{bytes} {is_alone}");
            }
        }
        // Big blocks are forgotten, since their next owner may not be announced.
        let mut checker = with_block(bytes);
        let gives_back = |checker: &mut Checker| {
            free(checker);
            checker.given_back(BLOCK);
        };
        beside(&mut checker, gives_back, write);
        let races = usize::from(bytes < GIVEN_BACK);
        assert_eq!(found(&checker), (races, 0), "{bytes}");
    }
}

/// Accesses are not checked then, but a second free is seen.
#[test]
fn a_second_free_is_found_while_nothing_is_parallel() {
    for (uses, expected) in USES.into_iter().zip([0, 0, 0, 0, 1]) {
        let mut checker = with_block(24);
        free(&mut checker);
        uses(&mut checker);
        assert_eq!(found(&checker), (0, expected));
    }
}
