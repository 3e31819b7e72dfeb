//! Programs with promises in every kind of interleaving: DRDP and ours against the oracle.
//!
//! `FINISHLINE_SEEDS=n` runs n programs, `FINISHLINE_SEED=s` starts at seed s. A program on which
//! something disagrees is shrunk and printed.

use crate::common::interleaved::{Generator, LOCATIONS, POLICIES, recorded};
use crate::common::{InlineChecks, RangeChecks, Word, from_environment, parse, show, shrink};
use finishline_detect::any_order::AnyOrder;
use finishline_detect::listed::Listed;
use finishline_detect::named::Named;
use finishline_detect::oracle::{Mode, Oracle};
use finishline_detect::order::{Drdp, Labelled, Traversal};
use finishline_detect::{Findings, LocationSet};
use finishline_model::event::{Record, replay};
use finishline_model::{Event, Location};
use std::collections::BTreeSet;

fn found(findings: &Findings) -> BTreeSet<Location> {
    findings.racing.in_order().iter().copied().collect()
}

/// Whether every detector agrees with the oracle on a run; else the first disagreement.
fn judge(records: &[Record], traversal: Traversal) -> Result<bool, String> {
    let mut oracle = Oracle::new(5_000);
    replay(records, &mut oracle);
    let racing = oracle.racing_locations(Mode::Structure);
    let same = |who: &str, found: BTreeSet<Location>| match found == racing {
        true => Ok(()),
        false => Err(format!("{who} finds {found:?}, the oracle {racing:?}")),
    };

    let mut ours = AnyOrder::<Labelled>::new().unwrap();
    replay(records, &mut ours);
    let ours = ours.finish().map_err(|failure| failure.to_string())?;
    same("ours", found(&ours))?;
    let conflict = oracle.isolated_blocks_conflict();
    if ours.isolated_conflict != conflict {
        return Err(format!("isolated blocks conflict: {conflict}"));
    }

    let mut inline = InlineChecks::<Labelled>::new(LOCATIONS);
    let mut ranges = RangeChecks::<Labelled>::new(LOCATIONS, false);
    replay(records, &mut (&mut inline, &mut ranges));
    let inlined = inline.detector.racing().in_order();
    same("ours, inline", inlined.iter().copied().collect())?;
    ranges.agrees(&inline)?;

    let isolated = |record: &Record| matches!(record, Record::Event(Event::IsolatedBegin { .. }));
    let has_isolated = records.iter().any(isolated);
    if !has_isolated {
        let mut drdp = Listed::over(Drdp::with(traversal)).unwrap();
        replay(records, &mut drdp);
        same("drdp", found(&drdp.finish().unwrap()))?;
    }

    let all: Vec<Location> = (0..LOCATIONS).map(Location).collect();
    let all = LocationSet::of(&all).unwrap();
    let mut named = Named::<Labelled>::new(&all, has_isolated).unwrap();
    replay(records, &mut named);
    let pairs = named.finish().unwrap();
    let locations = |apparent: bool| {
        let pairs = pairs.as_slice().iter();
        let pairs = pairs.filter(move |pair| apparent || !pair.race.ordered_by_isolation);
        pairs.flat_map(|pair| pair.locations.clone()).collect()
    };
    same("the second pass", locations(true))?;
    let real: BTreeSet<Location> = locations(false);
    let observed = oracle.racing_locations(Mode::Observed);
    if real != observed {
        return Err(format!(
            "in the observed order {real:?}, by the oracle {observed:?}"
        ));
    }
    Ok(!racing.is_empty())
}

fn judge_program(words: &[Word], seed: u64) -> Result<usize, String> {
    let mut racy = 0;
    for policy in POLICIES {
        let records = recorded(words, policy, seed);
        let traversal = Traversal::ALL[seed as usize % 4];
        let races = judge(&records, traversal).map_err(|why| format!("{policy:?}: {why}"))?;
        racy += usize::from(races);
    }
    Ok(racy)
}

#[test]
fn random_programs_in_random_order() {
    let seeds = from_environment("FINISHLINE_SEEDS", 3_000);
    let first = from_environment("FINISHLINE_SEED", 1);
    let mut racy = 0;
    for seed in first..first + seeds {
        let words = Generator::program(seed);
        match judge_program(&words, seed) {
            Ok(runs) => racy += runs,
            Err(why) => {
                let small = shrink(words, &mut |words| judge_program(words, seed).is_err());
                let why = judge_program(&small, seed).err().unwrap_or(why);
                panic!("seed {seed}: {why}\n{}", show(&small));
            }
        }
    }
    let runs = 4 * seeds as usize;
    assert!(racy > runs / 10 && racy < runs * 9 / 10, "{racy} of {runs}");
}

/// Programs that need a rule of DRDP that its figures lack, or that need all readers.
#[test]
fn programs_that_teach() {
    for (text, racing) in [
        // Line 7 of PRECEDE: the task of the write is blocked by its set, not ended.
        (
            "async{ acquire0 acquire1 } async{ wa release0 } ra release1",
            true,
        ),
        // What a task learns after its set is not passed on by the set.
        (
            "async{ finish{ async{ release0 } async{ acquire1 } } } async{ wa release1 } acquire0 ra",
            true,
        ),
        // Of three parallel readers one is not waited for.
        (
            "async{ ra release0 } async{ ra release1 } async{ ra } acquire0 acquire1 wa",
            true,
        ),
        (
            "async{ ra release0 } async{ ra release1 } acquire0 acquire1 wa",
            false,
        ),
        // The step on the left runs after that on the right.
        ("async{ acquire0 wa } wa release0", false),
        ("async{ acquire0 wa } release0 wa", true),
        // Joins are passed on by the end of a finish, and by creation.
        ("async{ wa release0 } finish{ async{ acquire0 } } ra", false),
        (
            "async{ wa release0 } scope{ async{ acquire0 } sync ra }",
            false,
        ),
        ("async{ wa release0 } acquire0 async{ ra }", false),
        (
            "async{ wa release0 } async{ release1 } acquire0 async{ acquire1 async{ ra } }",
            false,
        ),
        (
            "async{ wa release0 } async{ acquire0 release1 } acquire1 ra",
            false,
        ),
        // What a setter inherited is passed on too, whether it has learnt anything itself or not.
        (
            "async{ wa release0 } async{ acquire0 async{ release1 } } acquire1 ra",
            false,
        ),
        (
            "async{ wa release0 } async{ release2 } async{ acquire0 async{ acquire2 release1 } } acquire1 ra",
            false,
        ),
        // A task that has joined all its tasks answers for them, but not for the end of one of them
        // behind its set, nor for one that it has not joined.
        (
            "async{ async{ wa release0 } acquire0 release1 } acquire1 ra",
            false,
        ),
        (
            "async{ async{ async{ wa release0 } acquire0 release1 } acquire1 release2 } acquire2 ra",
            false,
        ),
        (
            "async{ async{ release0 wa } acquire0 release1 } acquire1 ra",
            true,
        ),
        ("async{ async{ wa } release1 } acquire1 ra", true),
        (
            "async{ async{ wa } finish{ async{ release0 } } acquire0 release1 } acquire1 ra",
            true,
        ),
        (
            "async{ scope{ async{ release0 } sync acquire0 async{ wa } release1 } } acquire1 ra",
            true,
        ),
        (
            "async{ scope{ async{ release0 } acquire0 acquire0 async{ wa } release1 } } acquire1 ra",
            true,
        ),
        (
            "async{ async{ release0 } acquire0 async{ wa } release1 } acquire1 ra",
            true,
        ),
        // The end of a task behind its set is waited for by a finish.
        (
            "async{ finish{ async{ release1 wa } } release2 } acquire2 ra",
            false,
        ),
        ("finish{ async{ release1 wa } } ra", false),
        (
            "finish{ async{ release1 wa } } async{ release3 } acquire3 ra",
            false,
        ),
        (
            "async{ finish{ async{ release1 wa } } async{ release3 } acquire3 release2 } acquire2 ra",
            false,
        ),
        ("async{ release1 wa } acquire1 ra", true),
        // What one of them has learnt elsewhere is not below it.
        (
            "async{ wa release0 } async{ async{ acquire0 release2 } acquire2 release1 } acquire1 ra",
            false,
        ),
        (
            "async{ wa release0 } async{ finish{ async{ acquire0 } } release1 } acquire1 ra",
            false,
        ),
        (
            "async{ wa release0 } finish{ async{ async{ acquire0 release2 } acquire2 } } ra",
            false,
        ),
        // Long ways are shortened: over what one task has learnt, and over those that created it.
        (
            "async{ wa release0 } async{ release1 release2 release3 release4 release5 release6 }
             acquire0 acquire1 acquire2 acquire3 acquire4 acquire5 acquire6 ra",
            false,
        ),
        (
            "async{ wa release0 } async{ release1 } async{ release2 } async{ release3 }
             acquire0 async{ acquire1 async{ acquire2 async{ acquire3 ra } } }",
            false,
        ),
        (
            "async{ wa release0 } async{ release1 } async{ release2 } async{ release3 }
             async{ release4 } async{ release5 } async{ release6 }
             acquire0 async{ acquire1 async{ acquire2 async{ acquire3 async{ acquire4
             async{ acquire5 async{ acquire6 ra } } } } } }",
            false,
        ),
    ] {
        let words = parse(text);
        for policy in POLICIES {
            let records = recorded(&words, policy, 1);
            for traversal in Traversal::ALL {
                let races =
                    judge(&records, traversal).unwrap_or_else(|why| panic!("{text}: {why}"));
                assert_eq!(races, racing, "{text}, {policy:?}");
            }
        }
    }
}
