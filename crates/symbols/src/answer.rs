//! What a run establishes: the verdict, for which schedules it holds, and what kept it from being stronger.
//!
//! | in the findings | verdict | because |
//! |---|---|---|
//! | a pair of class `race` | `race` | – |
//! | the run was stopped: a task waits in vain | `unknown` | another schedule may well go on, so it is no deadlock, and nothing after it was seen |
//! | threads could not be followed any more | `unknown` | nothing after it was seen |
//! | the process failed | `trap` | what would have followed was not seen |
//! | the findings are incomplete, or there are none | `unknown` | likewise |
//! | neither threads besides the first nor a call of the drop-in | `unknown` | nothing was parallel, or nothing was seen of it |
//! | atomic operations are not seen, or it is not known whether there are some | `observed` | they may order tasks, or decide what these do |
//! | threads besides the first | `observed` | their order is that of this run |
//! | conflicts that locks or atomics order | `certified-order` | another order of them may do other things |
//! | none of these | `certified` | |
//!
//! The first row that applies decides. The runtime counts the conflicts that locks and atomics order.

use crate::findings::Findings;
use crate::unseen::Unseen;
use finishline_answer::native::Limit;
use finishline_answer::verdict::{Extent, Verdict};
use finishline_model::kinds::{ConflictClass, WaitKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    pub(crate) extent: Extent,
    pub(crate) because: Option<Limit>,
}

pub(crate) fn answer(findings: &Findings, unseen: &Unseen, failed: bool) -> Answer {
    let racy = (findings.races.iter()).any(|pair| pair.class == ConflictClass::Race);
    let synchronised = depends_on_synchronisation(findings);
    let (clean, extent, because) = if !findings.has_parallelism() {
        let because = Some(Limit::NothingParallel);
        (Verdict::Unknown, Extent::Nothing, because)
    } else if let Some(limit) = unseen.limit() {
        (Verdict::Observed, Extent::SeenOperations, Some(limit))
    } else if findings.threads > 0 {
        let because = Some(Limit::Threads);
        (Verdict::Observed, Extent::ThisSchedule, because)
    } else if synchronised {
        let because = Some(Limit::Synchronised);
        let extent = Extent::ObservedSynchronisation;
        (Verdict::CertifiedOrder, extent, because)
    } else {
        (Verdict::Certified, Extent::EverySchedule, None)
    };
    // The two say that a part of the run is missing, which matters more than what is said of the rest.
    let cut_short = if let Some(stop) = &findings.stopped {
        Some(match stop.what {
            WaitKind::Creator => Limit::Unfollowed,
            WaitKind::Futex | WaitKind::Spin | WaitKind::Join => Limit::Stopped,
        })
    } else if !findings.complete {
        Some(Limit::Incomplete)
    } else {
        None
    };
    let (verdict, extent) = if racy {
        (Verdict::Race, extent)
    } else if findings.stopped.is_some() {
        (Verdict::Unknown, Extent::Nothing)
    } else if failed {
        // Of what happened before, only whole findings can tell.
        match cut_short {
            Some(_) => (Verdict::Trap, Extent::Nothing),
            None => (Verdict::Trap, extent),
        }
    } else if cut_short.is_some() {
        (Verdict::Unknown, Extent::Nothing)
    } else {
        (clean, extent)
    };
    Answer {
        verdict,
        extent,
        because: cut_short.or(because),
    }
}

fn depends_on_synchronisation(findings: &Findings) -> bool {
    let statistics = &findings.statistics;
    let listed = (findings.races.iter()).any(|pair| pair.class != ConflictClass::Race);
    findings.synchronised || listed || statistics.lock_ordered > 0 || statistics.atomic_ordered > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use finishline_answer::native::UnseenAtomic;
    use finishline_model::Detector;
    use finishline_model::findings::{FindingsFile, ListedTask};
    use finishline_model::kinds::NativeTaskKind;
    use serde_json::{Value, json};

    /// The file of a run in which nothing was found.
    fn clean() -> Value {
        let main = ListedTask {
            id: 0,
            kind: NativeTaskKind::Main,
            parent: 0,
            finish: 0,
            stack: None,
        };
        let file = FindingsFile {
            complete: true,
            drop_in: true,
            stacks: vec![vec![1]],
            tasks: vec![main],
            ..FindingsFile::new(Detector::EspBags)
        };
        serde_json::from_str(&file.text()).expect("JSON")
    }

    /// Replaces fields, those of objects one by one.
    fn change(value: &mut Value, changes: &Value) {
        for (field, new) in changes.as_object().expect("an object") {
            match new.is_object() && value[field].is_object() {
                true => change(&mut value[field], new),
                false => value[field] = new.clone(),
            }
        }
    }

    fn findings(changes: Value) -> Findings {
        let mut findings = clean();
        change(&mut findings, &changes);
        parse(findings.to_string().as_bytes()).expect("usable")
    }

    fn with(changes: Value, failed: bool) -> Answer {
        answer(&findings(changes), &Unseen::default(), failed)
    }

    fn verdict(changes: Value) -> (Verdict, Extent, Option<Limit>) {
        let Answer {
            verdict,
            extent,
            because,
        } = with(changes, false);
        (verdict, extent, because)
    }

    fn pair(class: &str) -> Value {
        let access = json!({
            "kind": "write", "atomic": false, "address": 0, "size": 8, "stack": 0, "task": 0,
            "locks": [],
        });
        json!([{
            "class": class, "address": 0, "bytes": 8, "object": {"kind": "unknown"},
            "ordered_by": null, "first": access, "second": access, "locations": 8,
        }])
    }

    #[test]
    fn what_each_run_establishes() {
        use Extent::{EverySchedule, Nothing, ObservedSynchronisation, ThisSchedule};
        use Verdict::{Certified, CertifiedOrder, Observed, Race, Unknown};
        let stop = json!({"what": "spin", "task": 0, "stack": 0});
        let given_up = json!({"what": "creator", "task": 0, "stack": 0});
        let synchronised = (
            CertifiedOrder,
            ObservedSynchronisation,
            Some(Limit::Synchronised),
        );
        for (changes, expected) in [
            (json!({}), (Certified, EverySchedule, None)),
            (json!({"races": pair("race")}), (Race, EverySchedule, None)),
            (json!({"races": pair("lock-ordered")}), synchronised),
            (json!({"races": pair("atomic-ordered")}), synchronised),
            (json!({"synchronised": true}), synchronised),
            (
                json!({"statistics": {"atomic_accesses": 1, "lock_ordered": 0, "atomic_ordered": 1}}),
                synchronised,
            ),
            (
                json!({"statistics": {"atomic_accesses": 1, "lock_ordered": 1, "atomic_ordered": 0}}),
                synchronised,
            ),
            (
                json!({"statistics": {"atomic_accesses": 1, "lock_ordered": 0, "atomic_ordered": 0}}),
                (Certified, EverySchedule, None),
            ),
            (
                json!({"threads": 1}),
                (Observed, ThisSchedule, Some(Limit::Threads)),
            ),
            (
                json!({"threads": 1, "drop_in": false}),
                (Observed, ThisSchedule, Some(Limit::Threads)),
            ),
            (
                json!({"threads": 1, "races": pair("race")}),
                (Race, ThisSchedule, Some(Limit::Threads)),
            ),
            (
                json!({"drop_in": false}),
                (Unknown, Nothing, Some(Limit::NothingParallel)),
            ),
            (
                json!({"stopped": stop}),
                (Unknown, Nothing, Some(Limit::Stopped)),
            ),
            (
                json!({"stopped": stop, "complete": false}),
                (Unknown, Nothing, Some(Limit::Stopped)),
            ),
            (
                json!({"stopped": stop, "races": pair("race")}),
                (Race, EverySchedule, Some(Limit::Stopped)),
            ),
            (
                json!({"stopped": given_up}),
                (Unknown, Nothing, Some(Limit::Unfollowed)),
            ),
            (
                json!({"complete": false}),
                (Unknown, Nothing, Some(Limit::Incomplete)),
            ),
        ] {
            assert_eq!(verdict(changes.clone()), expected, "{changes}");
        }
    }

    #[test]
    fn nothing_is_certified_of_what_is_not_seen() {
        use Extent::{Nothing, SeenOperations};
        use Verdict::{Observed, Race, Unknown};
        let operation = UnseenAtomic {
            operation: Some("fetch_max".to_owned()),
            function: "a::f".to_owned(),
            place: None,
        };
        for (unseen, limit) in [
            (Unseen::Operations(vec![operation]), Limit::Unseen),
            (Unseen::Unknown, Limit::Stripped),
        ] {
            for (changes, expected) in [
                (json!({}), (Observed, SeenOperations, limit)),
                (
                    json!({"synchronised": true}),
                    (Observed, SeenOperations, limit),
                ),
                (json!({"threads": 1}), (Observed, SeenOperations, limit)),
                (
                    json!({"races": pair("race")}),
                    (Race, SeenOperations, limit),
                ),
                (
                    json!({"drop_in": false}),
                    (Unknown, Nothing, Limit::NothingParallel),
                ),
                (
                    json!({"complete": false}),
                    (Unknown, Nothing, Limit::Incomplete),
                ),
            ] {
                let answer = answer(&findings(changes.clone()), &unseen, false);
                let (verdict, extent, because) = expected;
                let expected = Answer {
                    verdict,
                    extent,
                    because: Some(because),
                };
                assert_eq!(answer, expected, "{changes} {limit:?}");
            }
        }
    }

    #[test]
    fn a_failure_is_told_unless_more_is_known() {
        let trap = |changes| {
            let answer = with(changes, true);
            assert_eq!(answer.verdict, Verdict::Trap);
            answer.extent
        };
        assert_eq!(trap(json!({})), Extent::EverySchedule);
        assert_eq!(trap(json!({"complete": false})), Extent::Nothing);
        assert_eq!(
            with(json!({"races": pair("race")}), true).verdict,
            Verdict::Race
        );
    }
}
