//! Locks that may have readers, and what whoever looks at them is told.

use super::*;

fn under_other_lock(checker: &mut Checker) {
    let here = Here {
        place: 21,
        stack_pointer: u64::MAX,
    };
    let take = Operation {
        address: LOCK + 128,
        before: Some(0),
        after: Some(1),
        how: How::Replaced,
        acquires: true,
        releases: false,
    };
    let give_up = Operation {
        before: Some(1),
        after: Some(0),
        acquires: false,
        releases: true,
        ..take
    };
    checker.atomic(&take, 4, here);
    checker.atomic(&give_up, 4, here);
}

/// A look at the lock's word that somebody may have left, and what is told.
#[test]
fn what_may_still_be_found_is_told() {
    let here = Here {
        place: 20,
        stack_pointer: u64::MAX,
    };
    let look = Operation {
        address: LOCK + 64,
        before: Some(0),
        after: None,
        how: How::Replaced,
        acquires: false,
        releases: false,
    };
    let reads = move |checker: &mut Checker| {
        checker.atomic(&look, 4, here);
        let takes = Operation {
            after: Some(1),
            acquires: true,
            ..look
        };
        checker.atomic(&takes, 4, here);
        let leaves = Operation {
            before: Some(1),
            after: Some(0),
            how: How::Counted,
            releases: true,
            ..look
        };
        checker.atomic(&leaves, 4, here);
    };
    let told = |first: &dyn Fn(&mut Checker), second: &dyn Fn(&mut Checker), look: &Operation| {
        let mut checker = with_block(8);
        let mut told = None;
        beside(&mut checker, first, |checker| {
            second(checker);
            checker.atomic(look, 4, here);
            told = checker.is_told(LOCK + 64);
        });
        told
    };
    let nothing = |_: &mut Checker| ();
    assert_eq!(told(&reads, &nothing, &look), Some(1));
    let acquiring = Operation {
        acquires: true,
        ..look
    };
    assert_eq!(told(&reads, &nothing, &acquiring), None);
    assert_eq!(
        told(&nothing, &reads, &look),
        None,
        "it was the task itself"
    );
    let sequential = |checker: &mut Checker| checker.sequential();
    assert_eq!(told(&reads, &sequential, &look), None);
    let looks_before = |checker: &mut Checker| checker.atomic(&look, 4, here);
    assert_eq!(told(&reads, &looks_before, &look), None);
    let knows = |checker: &mut Checker| under_other_lock(checker);
    let leaves_and_tells = |checker: &mut Checker| {
        reads(checker);
        under_other_lock(checker);
    };
    assert_eq!(told(&leaves_and_tells, &knows, &look), None);
}

/// Whoever is told of a reader and goes in as well shows that there are readers.
#[test]
fn whoever_tries_to_be_a_reader_too_is_believed() {
    let here = Here {
        place: 20,
        stack_pointer: u64::MAX,
    };
    let reads_and_writes = |tried: Option<[u64; 2]>| {
        move |checker: &mut Checker| {
            let look = Operation {
                address: LOCK + 64,
                before: Some(0),
                after: None,
                how: How::Replaced,
                acquires: false,
                releases: false,
            };
            checker.atomic(&look, 4, here);
            if let Some([expected, new]) = tried {
                assert_eq!(checker.is_told(LOCK + 64), Some(1));
                checker.tries(LOCK + 64, expected, new);
                checker.atomic(&look, 4, here);
            }
            let takes = Operation {
                after: Some(1),
                acquires: true,
                ..look
            };
            checker.atomic(&takes, 4, here);
            write(checker);
            let leaves = Operation {
                before: Some(1),
                after: Some(0),
                how: How::Counted,
                releases: true,
                ..look
            };
            checker.atomic(&leaves, 4, here);
        }
    };
    for (tried, races) in [
        (Some([1, 2]), 1),
        (None, 0),
        (Some([0, 1]), 0),
        (Some([1, 3]), 0),
    ] {
        let mut checker = with_block(8);
        let [first, second] = [None, tried].map(reads_and_writes);
        beside(&mut checker, first, second);
        assert_eq!(checker.found.races.iter().count(), races, "{tried:?}");
    }
}
