//! The facts that decide the verdict about a process, read from its findings.
//!
//! The runtime counts the conflicts that locks and atomics order.

use crate::findings::Findings;
use crate::unseen::Unseen;
use finishline_answer::process::Limit;
use finishline_answer::rules::ProcessFacts;
use finishline_model::findings::ListedPair;
use finishline_model::kinds::{ConflictClass, WaitKind};

pub(crate) fn facts(findings: &Findings, unseen: &Unseen, failed: bool) -> ProcessFacts {
    let stopped = findings.stopped.as_ref();
    ProcessFacts {
        // Not all of them need be listed.
        racy: findings.distinct_races > 0
            || (findings.races.iter()).any(|pair| pair.class == ConflictClass::Race),
        stopped: stopped.map(|stop| match stop.what {
            WaitKind::Creator => Limit::Unfollowed,
            WaitKind::Futex | WaitKind::Spin | WaitKind::Join => Limit::Stopped,
        }),
        failed: failed || (findings.races.iter()).any(is_use_after_free),
        complete: findings.complete,
        parallel: findings.has_parallelism(),
        unseen: unseen.limit(),
        threads: findings.threads > 0,
        ended_inside: findings.ended_inside,
        by_thread: depends_on_threads(findings),
        synchronised: depends_on_synchronisation(findings),
    }
}

fn is_use_after_free(pair: &ListedPair) -> bool {
    pair.class == ConflictClass::UseAfterFree
}

fn depends_on_threads(findings: &Findings) -> bool {
    let mut listed = findings.races.iter();
    findings.statistics.thread_ordered > 0
        || listed.any(|pair| pair.class == ConflictClass::ThreadOrdered)
}

fn depends_on_synchronisation(findings: &Findings) -> bool {
    let statistics = &findings.statistics;
    let mut pairs = findings.races.iter();
    let listed = pairs.any(|pair| pair.class != ConflictClass::Race && !is_use_after_free(pair));
    findings.synchronised || listed || statistics.lock_ordered > 0 || statistics.atomic_ordered > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use finishline_answer::process::UnseenAtomic;
    use finishline_answer::rules::{self, Established};
    use finishline_answer::verdict::{Extent, Verdict};
    use finishline_model::Detector;
    use finishline_model::findings::{FindingsFile, ListedTask};
    use finishline_model::kinds::NativeTaskKind;
    use serde_json::{Value, json};

    /// The file of a run without findings.
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

    /// Replaces fields. Objects are merged field by field.
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

    fn with(changes: Value, failed: bool) -> Established {
        rules::process(&facts(&findings(changes), &Unseen::default(), failed))
    }

    fn verdict(changes: Value) -> (Verdict, Extent, Option<Limit>) {
        let Established {
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
        use Extent::{
            BegunTasks, EverySchedule, Nothing, ObservedSynchronisation, ObservedThreads,
            ThisSchedule,
        };
        use Verdict::{Certified, CertifiedOrder, Observed, Race, Unknown};
        let stop = json!({"what": "spin", "task": 0, "stack": 0});
        let given_up = json!({"what": "creator", "task": 0, "stack": 0});
        let synchronised = (
            CertifiedOrder,
            ObservedSynchronisation,
            Some(Limit::Synchronised),
        );
        let by_thread = (CertifiedOrder, ObservedThreads, Some(Limit::ByThread));
        for (changes, expected) in [
            (json!({}), (Certified, EverySchedule, None)),
            (json!({"races": pair("race")}), (Race, EverySchedule, None)),
            (json!({"distinct_races": 1}), (Race, EverySchedule, None)),
            (json!({"races": pair("lock-ordered")}), synchronised),
            (json!({"races": pair("atomic-ordered")}), synchronised),
            (json!({"synchronised": true}), synchronised),
            (json!({"races": pair("thread-ordered")}), by_thread),
            (
                json!({"statistics": {"thread_ordered": 1, "lock_ordered": 1}}),
                by_thread,
            ),
            (
                json!({"statistics": {"atomic_accesses": 1, "lock_ordered": 0,
                "atomic_ordered": 1}}),
                synchronised,
            ),
            (
                json!({"statistics": {"atomic_accesses": 1, "lock_ordered": 1,
                "atomic_ordered": 0}}),
                synchronised,
            ),
            (
                json!({"statistics": {"atomic_accesses": 1, "lock_ordered": 0,
                "atomic_ordered": 0}}),
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
                json!({"ended_inside": true, "synchronised": true}),
                (Observed, BegunTasks, Some(Limit::EndedInside)),
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
                let answer = rules::process(&facts(&findings(changes.clone()), &unseen, false));
                let (verdict, extent, because) = expected;
                let expected = Established {
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
        let used = json!({"races": pair("use-after-free")});
        let established = with(used, false);
        assert_eq!(established.verdict, Verdict::Trap);
        assert_eq!(established.extent, Extent::EverySchedule);
        assert_eq!(
            with(json!({"races": pair("race")}), true).verdict,
            Verdict::Race
        );
    }
}
