//! The phrases about proofs that more than one format prints. As in [`crate::words`], escaping is the format's duty.

use crate::words::{access_at, conflict, count};
use finishline_answer::proof::{
    Benign, Confirmation, Kernel, ParameterRange, Proof, Reason, Remark, StaticAccess, StaticRace,
    Witness,
};
use finishline_answer::shell_word;
use finishline_answer::verdict::{PROOF_GUARANTEE, Verdict};
use std::fmt::Display;

/// `write and write to B[N] are not ordered, for N ≥ 1`.
pub(super) fn message(race: &StaticRace) -> String {
    let conflict = conflict(race.first.kind, race.second.kind, &race.location);
    format!("{conflict} are not ordered{}", for_which(&race.condition))
}

/// `, for N ≥ 1`; empty for a condition that always holds.
pub(super) fn for_which(condition: &str) -> String {
    match when(condition).as_str() {
        "" => String::new(),
        when => format!(", {when}"),
    }
}

/// `for k ≤ N`; empty for a condition that always holds.
pub(super) fn when(condition: &str) -> String {
    match condition {
        "" => String::new(),
        condition => format!("for {condition}"),
    }
}

/// That not all reads could be followed.
pub(super) const CUT_SHORT: &str =
    "the time allowed was over before all reads were followed; `--timeout` gives more";

/// What a harmless race is.
pub(super) fn benign(benign: Benign) -> String {
    format!("{}; a race all the same", benign.meaning())
}

/// `race`, or what is left of one that a run does not have.
pub(super) fn race_kind(race: &StaticRace) -> &'static str {
    match race.stands() {
        true => "race",
        false => "unconfirmed race",
    }
}

/// `write B[i] = C[i] (isolated)`.
pub(super) fn access(access: &StaticAccess) -> String {
    access_at(access.kind, &access.place, access.isolated)
}

/// `at i = N, j = 2`; empty outside of all loops, and for counters that are only named.
pub(super) fn instance(counters: &[(String, impl Display)]) -> String {
    match equations(counters).as_str() {
        "" => String::new(),
        equations => format!("at {equations}"),
    }
}

/// `i = k, j' = j + 1`: a formula speaks of the other access, so a counter that both have needs two names. That something
/// is itself goes without saying.
fn equations(values: &[(String, impl Display)]) -> String {
    let told = values.iter().map(|(name, value)| (name, value.to_string()));
    (told.filter(|(name, value)| *name != value))
        .map(|(name, value)| match mentions(&value, name) {
            true => format!("{name}' = {value}"),
            false => format!("{name} = {value}"),
        })
        .collect::<Vec<_>>()
        .join(", ")
}

/// Whether a name occurs in a formula.
fn mentions(formula: &str, name: &str) -> bool {
    let mut words = formula.split(|it: char| !it.is_alphanumeric() && it != '_');
    words.any(|word| word.trim_start_matches(|it: char| it.is_ascii_digit()) == name)
}

/// What a case is called.
pub(super) fn kind_of_case(witness: &Witness) -> &'static str {
    match witness.smallest {
        true => "smallest case",
        false => "case",
    }
}

/// `N = 1: B[1], (1) at i = 1, (2) at j = 1`.
pub(super) fn case(proof: &Proof, witness: &Witness) -> String {
    let names = proof.parameters.iter().cloned();
    let arguments: Vec<(String, i64)> = names.zip(witness.arguments.iter().copied()).collect();
    let mut text = match &arguments[..] {
        [] => String::new(),
        some => format!("{}: ", equations(some)),
    };
    text += &witness.location;
    for (number, counters) in [(1, &witness.first), (2, &witness.second)] {
        if !counters.is_empty() {
            text += &format!(", ({number}) {}", instance(counters));
        }
    }
    text
}

/// What a run with the arguments of a case says to it.
pub(super) fn confirmation(confirmation: &Confirmation) -> String {
    match confirmation {
        Confirmation::NotRun => "no run was made to confirm it".to_owned(),
        Confirmation::TooCostly => "a run that would confirm it takes too much time or memory".to_owned(),
        Confirmation::Confirmed => "confirmed by a run".to_owned(),
        Confirmation::Failed(error) => {
            format!("not confirmed: a run fails before it gets there, {error}")
        }
        Confirmation::Contradicted => {
            "not confirmed: a run has no such race. The prover and the checker contradict each other, which is a bug of Finishline: \
             please report the program"
                .to_owned()
        }
    }
}

/// `forall@12:5`.
pub(super) fn kernel(kernel: &Kernel) -> String {
    let place = &kernel.place;
    format!("{}@{}:{}", kernel.construct, place.line, place.column)
}

/// `b[i]: this value is read from shared memory (indirect); undecided: the write of a[b[i]] at 12:9`.
pub(super) fn reason(reason: &Reason) -> String {
    let (kind, concerns) = (reason.kind, &reason.concerns);
    let mut text = format!(
        "{}: {} ({})",
        reason.place.text,
        kind.meaning(),
        kind.word()
    );
    if !concerns.is_empty() {
        text += &format!("; undecided: {concerns}");
    }
    text
}

/// `no read can see what is written here (dead-write): B[i], for 0 ≤ i < N`.
pub(super) fn remark(remark: &Remark) -> String {
    let (kind, location) = (remark.kind, &remark.location);
    let condition = for_which(&remark.condition);
    format!(
        "{} ({}): {location}{condition}",
        kind.meaning(),
        kind.word()
    )
}

/// `proved`, or `proved for n from -4 to 4`.
pub(super) fn verdict(proof: &Proof) -> String {
    match stated_range(proof) {
        Some(range) => format!("{} {range}", proof.verdict),
        None => proof.verdict.to_string(),
    }
}

/// The range that belongs to the verdict. The verdict `unknown` has none.
pub(super) fn stated_range(proof: &Proof) -> Option<String> {
    let decided = proof.verdict != Verdict::Unknown;
    decided.then(|| range(&proof.range)).flatten()
}

/// `for n from -4 to 4 and m at most 9`; none for an answer about every input.
fn range(range: &[ParameterRange]) -> Option<String> {
    let bounds = range.iter().filter_map(|bound| {
        let name = &bound.parameter;
        match (bound.least, bound.greatest) {
            (Some(least), Some(greatest)) => Some(format!("{name} from {least} to {greatest}")),
            (Some(least), None) => Some(format!("{name} at least {least}")),
            (None, Some(greatest)) => Some(format!("{name} at most {greatest}")),
            (None, None) => None,
        }
    });
    let bounds: Vec<String> = bounds.collect();
    (!bounds.is_empty()).then(|| format!("for {}", bounds.join(" and ")))
}

/// What the verdict says.
pub(super) fn meaning(proof: &Proof) -> &'static str {
    match range(&proof.range) {
        Some(_) => proof.verdict.ranged_proof_meaning(),
        None => proof.verdict.proof_meaning(),
    }
}

/// What the answer covers. For an undecided program, what the decided kernels cover.
pub(super) fn guarantee(proof: &Proof) -> String {
    let any_proved = (proof.kernels.iter()).any(|kernel| kernel.verdict == Verdict::Proved);
    let guarantee = match range(&proof.range) {
        Some(range) => format!("{range}, {PROOF_GUARANTEE}"),
        None => PROOF_GUARANTEE.to_owned(),
    };
    match (proof.verdict, any_proved) {
        (Verdict::Unknown, false) => "none".to_owned(),
        (Verdict::Unknown, true) => format!("for the proved kernels, {guarantee}"),
        _ => guarantee,
    }
}

/// What would establish more.
pub(super) fn stronger(proof: &Proof) -> Option<String> {
    let unknown = |kernel: &Kernel| kernel.verdict == Verdict::Unknown;
    if !proof.kernels.iter().any(unknown) {
        return None;
    }
    let mut command = format!("finishline check {}", shell_word(&proof.program));
    for parameter in &proof.parameters {
        command += &format!(" {parameter}");
    }
    let judge = format!("judge one input at a time: `{command}`");
    let reasons = (proof.kernels.iter()).any(|kernel| !kernel.reasons.is_empty());
    Some(match reasons {
        true => format!("change what the reasons name, as their help says; or {judge}"),
        false => judge,
    })
}

/// `3 kernels (2 proved, 1 unknown), 14 accesses, 30 pairs`.
pub(super) fn statistics(proof: &Proof) -> String {
    let kernels = &proof.kernels;
    let total = |size: fn(&Kernel) -> usize| kernels.iter().map(size).sum::<usize>() as u64;
    let of = |verdict: Verdict| kernels.iter().filter(|k| k.verdict == verdict).count();
    let each = [Verdict::Proved, Verdict::Race, Verdict::Unknown]
        .map(|verdict| (of(verdict), verdict))
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| format!("{count} {verdict}"))
        .collect::<Vec<_>>();
    let each = match &each[..] {
        [] => String::new(),
        some => format!(" ({})", some.join(", ")),
    };
    format!(
        "{}{each}, {}",
        count(kernels.len() as u64, "kernel", "kernels"),
        compared(total(|kernel| kernel.accesses), total(|k| k.pairs))
    )
}

/// `14 accesses, 30 pairs`.
pub(super) fn compared(accesses: u64, pairs: u64) -> String {
    format!(
        "{}, {}",
        count(accesses, "access", "accesses"),
        count(pairs, "pair", "pairs")
    )
}
