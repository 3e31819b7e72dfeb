//! The rules by which a verdict is chosen, from facts that `engine`, `symbols` and `poly` supply.
//!
//! | asked | rules |
//! |---|---|
//! | one input of a Fin program | [`check`] |
//! | one process of an instrumented program | [`process`] |
//! | every input of a Fin program | [`kernel`] for each kernel, [`proof`] for all; [`claim`] once a run has tried a race |
//!
//! In each, the first rule that applies decides.

use crate::claim::{Confirmation, Witness};
use crate::finding::Rule;
use crate::process::Limit;
use crate::verdict::{Extent, Verdict};

/// What a run of a Fin program under a detector showed.
#[derive(Clone, Debug, Default)]
pub struct CheckFacts {
    /// Why the detector could not judge the run.
    pub not_judged: Option<String>,
    /// There are racing locations.
    pub racing: bool,
    /// A pair was found that no isolated or locked block orders.
    pub any_real: bool,
    /// Why not all pairs at racing locations were found.
    pub incomplete: Option<String>,
    /// The program has isolated or locked blocks.
    pub has_exclusive: bool,
    /// Isolated or locked blocks of parallel tasks access the same data.
    pub exclusive_conflict: bool,
    /// Locks are taken one inside the other in different orders.
    pub lock_cycle: bool,
    /// A recorded run of which the end is missing.
    pub cut_off: bool,
    pub failed: bool,
    /// The run ended in a deadlock.
    pub deadlock: bool,
    /// What an exploration of the orders of isolated and locked blocks would take, if it would
    /// help.
    pub exploration: Option<String>,
}

impl CheckFacts {
    /// To explore the orders, or else to do this.
    fn explore_or(&self, what: &str) -> String {
        match &self.exploration {
            Some(exploration) => format!("{exploration}; or else: {what}"),
            None => what.to_owned(),
        }
    }
}

/// The verdict about a run of a Fin program, and what would establish more.
pub fn check(facts: &CheckFacts) -> (Verdict, Option<String>) {
    if let Some(why) = &facts.not_judged {
        return (Verdict::Unknown, Some(why.clone()));
    }
    if facts.racing {
        if facts.any_real || !facts.has_exclusive {
            let cut_off = facts.cut_off.then(|| CUT_OFF.to_owned());
            return (Verdict::Race, facts.incomplete.clone().or(cut_off));
        }
        if let Some(incomplete) = &facts.incomplete {
            let why = format!(
                "accesses race by task structure, but whether the order of isolated and locked blocks separates them all is not known: {incomplete}"
            );
            return (Verdict::Unknown, Some(why));
        }
        let what = "join the first access's task before the second access, or make both isolated, \
                    or both under one lock: then no order of the blocks can show the race";
        return (Verdict::Apparent, Some(facts.explore_or(what)));
    }
    if facts.cut_off {
        return (Verdict::Unknown, Some(CUT_OFF.to_owned()));
    }
    if facts.deadlock {
        let what = "isolated or locked blocks of parallel tasks access the same data; another \
                    order of them may have no deadlock";
        let what = facts.exclusive_conflict.then(|| facts.explore_or(what));
        (Verdict::Deadlock, what)
    } else if facts.failed {
        (Verdict::Trap, None)
    } else if facts.exclusive_conflict {
        let what = "isolated or locked blocks of parallel tasks access the same data; where they \
                    need not, the verdict covers every order";
        (Verdict::CertifiedOrder, Some(facts.explore_or(what)))
    } else if facts.lock_cycle {
        let what = "locks are taken one inside the other, not always in the same order: tasks \
                    might wait for each other for ever";
        (Verdict::CertifiedOrder, Some(facts.explore_or(what)))
    } else {
        (Verdict::Certified, None)
    }
}

const CUT_OFF: &str = "the recording was cut off: no race or failure was seen that is not listed \
     here, and nothing is known about what followed";

/// What the findings of a process say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ProcessFacts {
    /// A pair is ordered by nothing.
    pub racy: bool,
    /// The run was ended, by the runtime or from outside, or could not be followed any more.
    pub stopped: Option<Limit>,
    pub failed: bool,
    /// The findings are there, and complete.
    pub complete: bool,
    /// Something was parallel: threads besides the first, or calls of the drop-in.
    pub parallel: bool,
    /// Atomic operations are not seen, or it is not known whether there are some.
    pub unseen: Option<Limit>,
    /// Threads besides the first took part.
    pub threads: bool,
    /// The process ended inside a task, or before another one had begun.
    pub ended_inside: bool,
    /// Tasks conflict that were on one thread, and had asked which one that is.
    pub by_thread: bool,
    /// Locks or atomics order conflicting accesses, or may do so.
    pub synchronised: bool,
}

/// What a process establishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Established {
    pub verdict: Verdict,
    /// For which schedules it holds.
    pub extent: Extent,
    /// What kept the verdict from being stronger.
    pub because: Option<Limit>,
}

/// The verdict about a process.
///
/// | fact | verdict | because |
/// |---|---|---|
/// | a pair is ordered by nothing | `race` | – |
/// | the run was ended because its time was over, or by the user | `unknown` | nothing after it was seen |
/// | the run was stopped: a task waits in vain | `unknown` | another schedule may well go on, so it is no deadlock, and nothing after it was seen |
/// | threads could not be followed any more | `unknown` | nothing after it was seen |
/// | the process failed, or used memory after it was freed | `trap` | what would have followed was not seen |
/// | the findings are incomplete, or there are none | `unknown` | likewise |
/// | neither threads besides the first nor a call of the drop-in | `unknown` | nothing was parallel, or nothing was seen of it |
/// | atomic operations are not seen, or it is not known whether there are some | `observed` | they may order tasks, or decide what these do |
/// | threads besides the first | `observed` | their order is that of this run |
/// | the process ended inside a task | `observed` | tasks that had not begun may run beside it |
/// | conflicts on one thread between tasks that asked for it | `certified-order` | on two threads they may be a race |
/// | conflicts that locks or atomics order | `certified-order` | another order of them may do other things |
/// | none of these | `certified` | |
pub fn process(facts: &ProcessFacts) -> Established {
    let (clean, extent, because) = if !facts.parallel {
        (
            Verdict::Unknown,
            Extent::Nothing,
            Some(Limit::NothingParallel),
        )
    } else if let Some(limit) = facts.unseen {
        (Verdict::Observed, Extent::SeenOperations, Some(limit))
    } else if facts.threads {
        (
            Verdict::Observed,
            Extent::ThisSchedule,
            Some(Limit::Threads),
        )
    } else if facts.ended_inside {
        let extent = Extent::BegunTasks;
        (Verdict::Observed, extent, Some(Limit::EndedInside))
    } else if facts.by_thread {
        let extent = Extent::ObservedThreads;
        (Verdict::CertifiedOrder, extent, Some(Limit::ByThread))
    } else if facts.synchronised {
        let extent = Extent::ObservedSynchronisation;
        (Verdict::CertifiedOrder, extent, Some(Limit::Synchronised))
    } else {
        (Verdict::Certified, Extent::EverySchedule, None)
    };
    // A part of the run is missing, which matters more than what is said of the rest.
    let incomplete = (!facts.complete).then_some(Limit::Incomplete);
    let cut_short = facts.stopped.or(incomplete);
    let (verdict, extent) = if facts.racy {
        (Verdict::Race, extent)
    } else if facts.stopped.is_some() {
        (Verdict::Unknown, Extent::Nothing)
    } else if facts.failed {
        // Only whole findings tell what happened before the failure.
        match cut_short {
            Some(_) => (Verdict::Trap, Extent::Nothing),
            None => (Verdict::Trap, extent),
        }
    } else if cut_short.is_some() {
        (Verdict::Unknown, Extent::Nothing)
    } else {
        (clean, extent)
    };
    Established {
        verdict,
        extent,
        because: cut_short.or(because),
    }
}

/// What the prover found in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct KernelFacts {
    /// Something runs beside its accesses that was not looked into.
    pub undecided: bool,
    /// Accesses race, or may.
    pub may_race: bool,
    /// Accesses race, and nothing about them was approximated.
    pub races: bool,
}

/// The verdict about a kernel before its races are tried.
pub fn kernel(facts: KernelFacts) -> Verdict {
    if facts.undecided {
        Verdict::Unknown
    } else if facts.races {
        Verdict::Race
    } else if facts.may_race {
        Verdict::Unknown
    } else {
        Verdict::Proved
    }
}

/// What the verdicts about its kernels say about a program.
pub fn proof(kernels: impl Iterator<Item = Verdict> + Clone) -> Verdict {
    let any = |wanted| kernels.clone().any(|verdict| verdict == wanted);
    if any(Verdict::Race) {
        Verdict::Race
    } else if any(Verdict::Unknown) {
        Verdict::Unknown
    } else {
        Verdict::Proved
    }
}

/// The largest argument for which a race is claimed that no run shows. With larger ones a run may
/// take more steps than any run can make.
const LARGEST_UNTRIED: u64 = 1 << 31;

/// What is left of a claimed race once runs have tried its case. Without a run, the race may lie
/// behind something that control does not come past, if there may be such a thing.
pub fn claim(witness: Option<&Witness>, may_stop: bool) -> Rule {
    let is_large = |argument: &i64| argument.unsigned_abs() > LARGEST_UNTRIED;
    let large = witness.is_some_and(|witness| witness.arguments.iter().any(is_large));
    match witness.map(|witness| &witness.confirmation) {
        Some(Confirmation::Confirmed | Confirmation::ConfirmedInTurns) => Rule::Race,
        Some(
            Confirmation::NotRun
            | Confirmation::Failed(_)
            | Confirmation::Apparent
            | Confirmation::Contradicted,
        ) => Rule::Unconfirmed,
        Some(Confirmation::TooCostly) | None if may_stop || large => Rule::Unconfirmed,
        Some(Confirmation::TooCostly) | None => Rule::Race,
    }
}

/// The verdict about a kernel once the rules of its claims are known.
pub fn kernel_after_runs(before: Verdict, mut claims: impl Iterator<Item = Rule>) -> Verdict {
    match before {
        Verdict::Race if !claims.any(|rule| rule == Rule::Race) => Verdict::Unknown,
        _ => before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::Location;

    fn of(change: impl FnOnce(&mut CheckFacts)) -> Verdict {
        let mut facts = CheckFacts::default();
        change(&mut facts);
        check(&facts).0
    }

    #[test]
    fn a_clean_run_is_certified_for_the_orders_that_were_seen() {
        assert_eq!(of(|_| {}), Verdict::Certified);
        let ordered = of(|facts| facts.exclusive_conflict = true);
        assert_eq!(ordered, Verdict::CertifiedOrder);
        let failed = of(|facts| (facts.failed, facts.exclusive_conflict) = (true, true));
        assert_eq!(failed, Verdict::Trap);
    }

    #[test]
    fn only_isolated_blocks_make_a_race_apparent() {
        let racing = |any_real, has_exclusive, incomplete: Option<&str>| {
            of(|facts| {
                facts.racing = true;
                facts.failed = true;
                (facts.any_real, facts.has_exclusive) = (any_real, has_exclusive);
                facts.incomplete = incomplete.map(str::to_owned);
            })
        };
        assert_eq!(racing(false, true, None), Verdict::Apparent);
        assert_eq!(racing(true, true, None), Verdict::Race);
        assert_eq!(racing(false, false, None), Verdict::Race);
        assert_eq!(racing(true, true, Some("cut")), Verdict::Race);
        assert_eq!(racing(false, true, Some("cut")), Verdict::Unknown);
    }

    #[test]
    fn a_run_that_was_not_judged_says_why() {
        let facts = CheckFacts {
            not_judged: Some("too large".to_owned()),
            racing: true,
            ..CheckFacts::default()
        };
        assert_eq!(
            check(&facts),
            (Verdict::Unknown, Some("too large".to_owned()))
        );
    }

    #[test]
    fn a_kernel_is_proved_only_if_nothing_in_it_may_race() {
        let judged = |undecided, may_race, races| {
            kernel(KernelFacts {
                undecided,
                may_race,
                races,
            })
        };
        assert_eq!(judged(false, false, false), Verdict::Proved);
        assert_eq!(judged(false, true, false), Verdict::Unknown);
        assert_eq!(judged(false, true, true), Verdict::Race);
        assert_eq!(judged(true, true, true), Verdict::Unknown);
    }

    #[test]
    fn a_race_needs_one_claim_that_stands() {
        let left = |claims: &[Rule]| kernel_after_runs(Verdict::Race, claims.iter().copied());
        assert_eq!(left(&[Rule::Unconfirmed, Rule::Race]), Verdict::Race);
        assert_eq!(left(&[Rule::Unconfirmed]), Verdict::Unknown);
        let proved = kernel_after_runs(Verdict::Proved, std::iter::empty());
        assert_eq!(proved, Verdict::Proved);
        let of = |verdicts: &[Verdict]| proof(verdicts.iter().copied());
        assert_eq!(of(&[]), Verdict::Proved);
        assert_eq!(of(&[Verdict::Proved, Verdict::Unknown]), Verdict::Unknown);
        assert_eq!(of(&[Verdict::Unknown, Verdict::Race]), Verdict::Race);
    }

    #[test]
    fn a_race_says_why_there_may_be_more() {
        let facts = CheckFacts {
            racing: true,
            incomplete: Some("cut".to_owned()),
            ..CheckFacts::default()
        };
        assert_eq!(check(&facts), (Verdict::Race, Some("cut".to_owned())));
    }

    #[test]
    fn locks_between_threads_are_seen_in_this_schedule_alone() {
        let established = process(&ProcessFacts {
            complete: true,
            parallel: true,
            threads: true,
            synchronised: true,
            ..ProcessFacts::default()
        });
        let expected = Established {
            verdict: Verdict::Observed,
            extent: Extent::ThisSchedule,
            because: Some(Limit::Threads),
        };
        assert_eq!(established, expected);
    }

    /// The process ends with a failure because it was stopped.
    #[test]
    fn a_process_that_was_stopped_has_not_failed() {
        let established = process(&ProcessFacts {
            complete: true,
            parallel: true,
            failed: true,
            stopped: Some(Limit::Stopped),
            ..ProcessFacts::default()
        });
        let expected = Established {
            verdict: Verdict::Unknown,
            extent: Extent::Nothing,
            because: Some(Limit::Stopped),
        };
        assert_eq!(established, expected);
    }

    #[test]
    fn a_race_that_no_run_can_try_stands() {
        assert_eq!(claim(None, false), Rule::Race);
        assert_eq!(claim(None, true), Rule::Unconfirmed);
    }

    #[test]
    fn a_race_that_needs_large_arguments_needs_a_run() {
        let left = |argument, confirmation| {
            let witness = Witness {
                smallest: true,
                arguments: vec![0, argument],
                location: Location::Global("x".to_owned()),
                first: Vec::new(),
                second: Vec::new(),
                replay: String::new(),
                confirmation,
            };
            claim(Some(&witness), false)
        };
        let limit = 1 << 31;
        for large in [limit + 1, -limit - 1, i64::MAX, i64::MIN] {
            assert_eq!(left(large, Confirmation::TooCostly), Rule::Unconfirmed);
            assert_eq!(left(large, Confirmation::ConfirmedInTurns), Rule::Race);
        }
        for small in [limit, -limit, 0] {
            assert_eq!(left(small, Confirmation::TooCostly), Rule::Race);
            for shows_nothing in [
                Confirmation::NotRun,
                Confirmation::Failed("index".to_owned()),
                Confirmation::Apparent,
                Confirmation::Contradicted,
            ] {
                assert_eq!(left(small, shows_nothing), Rule::Unconfirmed);
            }
        }
    }
}
