//! Which code the findings say was run by parallel tasks.

use super::{Checker, FinishKind, Here, TaskKind, checker};
use crate::checker::findings::{self, Process};
use finishline_model::AccessKind;
use finishline_model::kinds::rayon;

/// A read of a variable of its own by each place.
fn read(checker: &mut Checker, place: u64) {
    read_of(checker, place, 0x7000_0000_0000 + 8 * place);
}

fn read_of(checker: &mut Checker, place: u64, address: u64) {
    let here = Here {
        place,
        stack_pointer: u64::MAX,
    };
    checker.access(AccessKind::Read, address, 8, here);
}

/// Addresses inside the calling instructions: one less than the places behind them.
fn listed(checker: &Checker) -> Vec<u64> {
    let file = findings::findings(checker, &Process::default());
    file.parallel_code
        .addresses()
        .iter()
        .map(|it| it + 1)
        .collect()
}

#[test]
fn code_that_ran_alone_is_not_listed() {
    let mut checker = checker();
    checker.calls.enter(10, 1000);
    read(&mut checker, 11);
    let finish = checker.begin_finish(FinishKind::Rayon(rayon::FinishKind::Scope), 12);
    checker.begin_task(
        TaskKind::Rayon(rayon::TaskKind::ScopeSpawn),
        finish,
        13,
        900,
    );
    checker.calls.enter(20, 800);
    // A call that has ended before anything is accessed.
    checker.calls.enter(30, 700);
    checker.calls.leave();
    checker.calls.enter(40, 700);
    read(&mut checker, 41);
    // The calls of the task, and not those of its creator.
    assert_eq!(listed(&checker), [20, 40, 41]);
    checker.calls.leave();
    read(&mut checker, 21);
    checker.calls.leave();
    checker.end_task();
    assert_eq!(listed(&checker), [20, 21, 40, 41]);
    // The creator is beside the task now.
    read(&mut checker, 14);
    assert_eq!(listed(&checker), [10, 14, 20, 21, 40, 41]);
    checker.end_finish(finish);
    read(&mut checker, 15);
    assert_eq!(listed(&checker), [10, 14, 20, 21, 40, 41]);
}

/// Only the first of several accesses is remembered: the limit that reports state.
#[test]
fn an_access_that_repeats_another_one_is_not_listed() {
    let mut checker = checker();
    let finish = checker.begin_finish(FinishKind::Rayon(rayon::FinishKind::Scope), 12);
    checker.begin_task(
        TaskKind::Rayon(rayon::TaskKind::ScopeSpawn),
        finish,
        13,
        900,
    );
    read_of(&mut checker, 41, 0x7000_0000_0000);
    read_of(&mut checker, 42, 0x7000_0000_0000);
    assert_eq!(listed(&checker), [41]);
}
