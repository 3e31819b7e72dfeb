//! Programs that have tripped implementers, each with its answer worked out by hand.

use crate::common::{Comparison, parse, tell};
use finishline_detect::Failure;
use finishline_detect::history::LastWriterOneReader;
use finishline_detect::order::SpBags;
use finishline_detect::serial::Serial;
use finishline_model::Location;

const LOCATIONS: u64 = 26;

/// What is expected: racing locations, and those of them that race whatever the order of isolated
/// blocks.
fn check(program: &str, racing: &str, not_apparent: &str) -> Comparison {
    let mut comparison = Comparison::new(LOCATIONS);
    if let Err(disagreement) = comparison.run(&parse(program)) {
        panic!("{disagreement}\nin: {program}");
    }
    let name = |location: &Location| char::from(b'a' + location.0 as u8);
    let mut found: Vec<char> = comparison
        .esp_bags_isolated
        .racing()
        .in_order()
        .iter()
        .map(name)
        .collect();
    found.sort_unstable();
    assert_eq!(
        found.iter().collect::<String>(),
        racing,
        "racing in: {program}"
    );
    let pairs = comparison.sited.pairs().as_slice();
    let mut real: Vec<char> = pairs
        .iter()
        .filter(|pair| !pair.race.ordered_by_isolation)
        .flat_map(|pair| pair.locations.iter().map(name))
        .collect();
    real.sort_unstable();
    real.dedup();
    assert_eq!(
        real.iter().collect::<String>(),
        not_apparent,
        "not apparent in: {program}"
    );
    comparison
}

/// (first access, second access) of the pairs found, accesses numbered in the order of the program.
fn pairs(comparison: &Comparison) -> Vec<(u32, u32)> {
    let pairs = comparison.sited.pairs().as_slice().iter();
    pairs
        .map(|pair| (pair.race.first.access.0, pair.race.second.access.0))
        .collect()
}

#[test]
fn a_finish_joins_only_what_it_contains() {
    check("async{ wa } finish{ async{ wb } } ra rb", "a", "a");
    check("finish{ async{ wa } } ra", "", "");
    check("finish{ async{ async{ wa } } } ra", "", "");
    check("finish{ async{ async{ wa } ra } }", "a", "a");
}

#[test]
fn a_task_may_outlive_its_creator() {
    check("async{ async{ wa } } ra", "a", "a");
    check("finish{ async{ finish{ async{ wa } } } ra }", "a", "a");
}

#[test]
fn an_overwritten_writer_is_lost_but_not_its_location() {
    let comparison = check("async{ wa } finish{ async{ wa } } wa", "a", "a");
    assert_eq!(
        pairs(&comparison),
        [(0, 1)],
        "the first write never meets the third"
    );
}

#[test]
fn a_spawn_between_two_reads_matters() {
    check("ra async{ wa } ra", "a", "a");
    check("ra finish{ async{ wa } } ra", "", "");
}

#[test]
fn a_join_between_two_reads_matters() {
    check("finish{ async{ wa } ra } ra", "a", "a");
}

#[test]
fn the_task_that_wrote_and_read_is_named_by_its_write() {
    let comparison = check("async{ wa ra } wa", "a", "a");
    assert_eq!(pairs(&comparison), [(0, 2)]);
    let comparison = check("async{ ra wa } wa", "a", "a");
    assert_eq!(pairs(&comparison), [(1, 2)]);
}

#[test]
fn a_read_that_races_is_named_if_the_write_is_only_apparent() {
    // The block of the task orders its write, but not its read, before the block of main.
    let comparison = check("async{ wa isolated{ } ra } isolated{ } wa", "a", "a");
    assert_eq!(pairs(&comparison), [(0, 2), (1, 2)]);
}

#[test]
fn isolated_accesses_race_only_with_others() {
    check("async{ isolated{ wa } } isolated{ wa }", "", "");
    check("async{ isolated{ wa } } ra", "a", "a");
    check("async{ isolated{ ra } } ra", "", "");
    check("async{ wa } isolated{ ra }", "a", "a");
}

#[test]
fn parallel_isolated_blocks_that_conflict_are_told_apart_from_those_that_commute() {
    assert!(
        check("async{ isolated{ wa } } isolated{ ra }", "", "")
            .esp_bags_isolated
            .isolated_conflict()
    );
    assert!(
        !check("async{ isolated{ ra } } isolated{ ra }", "", "")
            .esp_bags_isolated
            .isolated_conflict()
    );
    assert!(
        !check("async{ isolated{ wa } } isolated{ wb }", "", "")
            .esp_bags_isolated
            .isolated_conflict()
    );
    let joined = check("finish{ async{ isolated{ wa } } } isolated{ wa }", "", "");
    assert!(!joined.esp_bags_isolated.isolated_conflict());
}

#[test]
fn the_order_of_isolated_blocks_makes_a_race_apparent() {
    check("async{ wa isolated{ wb } } isolated{ wc } ra", "a", "");
    check("async{ isolated{ wb } wa } isolated{ wc } ra", "a", "a");
    check("async{ wa } isolated{ } ra", "a", "a");
}

#[test]
fn an_empty_isolated_block_orders_too() {
    check("async{ wa isolated{ } } isolated{ } ra", "a", "");
}

#[test]
fn one_reader_is_not_enough_for_the_observed_order() {
    // The first reader is ordered before the write by the blocks, the second is not.
    let comparison = check(
        "async{ ra isolated{ } } async{ ra } isolated{ } wa",
        "a",
        "a",
    );
    assert_eq!(pairs(&comparison), [(0, 2), (1, 2)]);
}

#[test]
fn blocks_order_through_joins() {
    check(
        "finish{ async{ finish{ async{ wa } } isolated{ } } isolated{ } ra }",
        "a",
        "",
    );
    // The block that precedes the read is in a task that has been joined.
    check(
        "async{ wa isolated{ } } finish{ async{ isolated{ } } } ra",
        "a",
        "",
    );
    // The write is by a task whose creator has ended, and is joined before the block.
    check(
        "async{ finish{ async{ async{ wa } } } isolated{ } } isolated{ } ra",
        "a",
        "",
    );
}

#[test]
fn sync_joins_the_procedure_not_the_task() {
    // spawn a(); h(); use(a)   with   h() { spawn b(); sync; }
    check(
        "scope{ spawn{ wa } scope{ spawn{ wb } sync } ra rb }",
        "a",
        "a",
    );
    check(
        "scope{ spawn{ wa } scope{ spawn{ wb } sync } sync ra rb }",
        "",
        "",
    );
}

#[test]
fn a_function_that_returns_has_synced() {
    check("scope{ scope{ spawn{ wa } } ra }", "", "");
    check("scope{ spawn{ scope{ spawn{ wa } } ra } sync ra }", "", "");
    check("scope{ spawn{ scope{ spawn{ wa } } } ra }", "a", "a");
}

#[test]
fn a_conditional_sync_splits_the_spawns() {
    check("scope{ spawn{ wa } sync spawn{ wb } ra rb }", "b", "b");
}

#[test]
fn sync_joins_asyncs_and_an_open_begin_finish_in_its_scope() {
    check("scope{ async{ wa } sync ra }", "", "");
    check(
        "scope{ spawn{ wa } begin{ async{ wb } sync ra rb async{ wc } rc } rc }",
        "c",
        "c",
    );
}

#[test]
fn sync_leaves_what_is_outside_its_scope() {
    check("async{ wa } scope{ spawn{ wb } sync ra rb }", "a", "a");
}

#[test]
fn ranges_are_their_locations() {
    check("async{ wa+3*2 } ra+5*1", "ace", "ace");
    check("async{ wa+0*1 } ra", "", "");
    check("async{ wb+4*1 } async{ wa+3*3 }", "d", "d");
}

#[test]
fn figure_2_of_esp_bags() {
    // One iteration, i = 0: B[0] is a, B[1] is b, A is read only.
    check(
        "finish{ async{ ra wa } finish{ async{ async{ rc wa } rd wb } } }",
        "a",
        "a",
    );
}

#[test]
fn sp_bags_names_what_it_has_no_rule_for() {
    for (program, construct) in [
        ("async{ }", "async"),
        ("finish{ }", "finish"),
        ("begin{ }", "begin_finish"),
        ("isolated{ }", "isolated"),
    ] {
        let mut detector = Serial::<SpBags, LastWriterOneReader>::new().unwrap();
        tell(&parse(program), LOCATIONS, &mut detector);
        assert_eq!(
            detector.finish().unwrap_err(),
            Failure::Unsupported(construct)
        );
    }
}
