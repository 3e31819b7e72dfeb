//! Detectors by name: the two passes together, and what they say when they can't judge.

use crate::common::{parse, tell};
use finishline_detect::detectors::{ORACLE_STEPS, Uses};
use finishline_detect::oracle::{ACCESSES_A_STEP, Oracle};
use finishline_detect::{Failure, first_pass, second_pass};
use finishline_model::event::Record;
use finishline_model::{AccessId, Detector, Location, Observer, TaskId};

const ISOLATED: Uses = Uses {
    isolated: true,
    promises: false,
    locks: false,
};

fn recorded(program: &str) -> Vec<Record> {
    let mut records = Vec::new();
    tell(&parse(program), 26, &mut records);
    records
}

#[test]
fn every_detector_finds_and_names_the_race() {
    let run = recorded("scope{ spawn{ wa wb } ra sync rb wc wc }");
    for detector in Detector::ALL {
        let ((), findings) = first_pass(detector, Uses::default(), &run[..]).unwrap();
        assert_eq!(findings.racing.in_order(), [Location(0)], "{detector}");
        assert!(!findings.isolated_conflict);
        let statistics = findings.statistics;
        assert_eq!(
            (statistics.tasks, statistics.finishes, statistics.accesses),
            (2, 2, 6)
        );
        assert_eq!((statistics.isolated_blocks, statistics.locations), (0, 26));

        let ((), pairs) =
            second_pass(detector, Uses::default(), &findings.racing, &run[..]).unwrap();
        let [pair] = pairs.as_slice() else {
            panic!("{detector}: {pairs:?}")
        };
        assert_eq!(
            (pair.race.first.task, pair.race.first.access),
            (TaskId(1), AccessId(0))
        );
        assert_eq!(
            (pair.race.second.task, pair.race.second.access),
            (TaskId(0), AccessId(2))
        );
        assert!(!pair.race.ordered_by_isolation);
        assert_eq!(
            (pair.occurrences, &pair.locations[..]),
            (1, &[Location(0)][..])
        );
    }
}

#[test]
fn racing_locations_come_in_order_of_discovery() {
    let run = recorded("async{ wc wa wb } rb rc rb ra");
    let (_, findings) = first_pass(Detector::EspBags, Uses::default(), &run[..]).unwrap();
    assert_eq!(
        findings.racing.in_order(),
        [Location(1), Location(2), Location(0)]
    );
}

#[test]
fn isolated_blocks_need_the_history_that_knows_them() {
    let run = recorded("async{ isolated{ wa } } isolated{ wa }");
    let failure = first_pass(Detector::EspBags, Uses::default(), &run[..]).unwrap_err();
    assert_eq!(failure, Failure::Unsupported("isolated"));
    assert_eq!(
        failure.to_string(),
        "this detector has no rule for isolated"
    );
    for detector in [Detector::EspBags, Detector::Oracle] {
        let (_, findings) = first_pass(detector, ISOLATED, &run[..]).unwrap();
        assert!(
            findings.racing.is_empty() && findings.isolated_conflict,
            "{detector}"
        );
        assert_eq!(findings.statistics.isolated_blocks, 2);
    }
}

#[test]
fn the_oracle_gives_up_rather_than_take_all_memory() {
    let run = recorded(&"async{ } ".repeat(ORACLE_STEPS));
    let failure = first_pass(Detector::Oracle, Uses::default(), &run[..]).unwrap_err();
    let (what, limit) = ("steps", ORACLE_STEPS);
    assert_eq!(failure, Failure::TooMany { what, limit });
    assert_eq!(
        failure.to_string(),
        "the computation graph has more than 20000 steps"
    );

    let mut oracle = Oracle::new(5);
    tell(&parse(&"wa+1000*1 ".repeat(100)), 1000, &mut oracle);
    let (what, limit) = ("accesses", 5 * ACCESSES_A_STEP);
    assert_eq!(
        oracle.finish().unwrap_err(),
        Failure::TooMany { what, limit }
    );
}

#[test]
fn the_oracle_keeps_one_of_equal_accesses_of_a_step() {
    let mut run = recorded("wa ra async{ wa } ra");
    let mut oracle = Oracle::new(100);
    for record in &mut run {
        match record {
            Record::Event(event) => oracle.event(event),
            Record::Access(access) => (0..1000).for_each(|_| oracle.access(access)),
        }
    }
    assert_eq!(oracle.accesses(Location(0)).len(), 4);
}

#[test]
fn a_location_out_of_reach_is_a_failure_not_a_crash() {
    let mut run = recorded("ra");
    for record in &mut run {
        if let Record::Access(access) = record {
            access.first = Location(u64::MAX);
        }
    }
    let failure = first_pass(Detector::EspBags, Uses::default(), &run[..]).unwrap_err();
    assert!(matches!(failure, Failure::Memory(_)), "{failure}");
}
