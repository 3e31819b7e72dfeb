//! Phrases that only proofs have.

use super::count;
use finishline_answer::claim::{Benign, Confirmation, Witness};
use finishline_answer::proof::{Kernel, Proof, Reason, Remark};
use finishline_answer::shell_word;
use finishline_answer::verdict::{PROOF_GUARANTEE, Verdict};
use std::fmt::Display;

/// `, for N ≥ 1`. Empty for a condition that always holds.
pub(crate) fn for_which(condition: &str) -> String {
    match when(condition).as_str() {
        "" => String::new(),
        when => format!(", {when}"),
    }
}

/// `for k ≤ N`. Empty for a condition that always holds.
pub(crate) fn when(condition: &str) -> String {
    match condition {
        "" => String::new(),
        condition => format!("for {condition}"),
    }
}

/// Not all reads could be followed.
pub(crate) const CUT_SHORT: &str =
    "the time allowed was over before all reads were followed; `--timeout` gives more";

/// The kind of a harmless race.
pub(crate) fn benign(benign: Benign) -> String {
    format!("{}; a race all the same", benign.meaning())
}

/// `at i = N, j = 2`. Empty outside of all loops, and for counters without values.
pub(crate) fn instance(counters: &[(String, impl Display)]) -> String {
    match equations(counters).as_str() {
        "" => String::new(),
        equations => format!("at {equations}"),
    }
}

/// `i = k, j' = j + 1`. A formula is about the other access, so a counter that both have needs two
/// names. Equations of a counter with itself are left out.
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

/// The name for a kind of case.
pub(crate) fn kind_of_case(witness: &Witness) -> &'static str {
    match witness.smallest {
        true => "smallest case",
        false => "case",
    }
}

/// `N = 1: B[1], (1) at i = 1, (2) at j = 1`.
pub(crate) fn case(proof: &Proof, witness: &Witness) -> String {
    let names = proof.parameters.iter().cloned();
    let arguments: Vec<(String, i64)> = names.zip(witness.arguments.iter().copied()).collect();
    let mut text = match &arguments[..] {
        [] => String::new(),
        some => format!("{}: ", equations(some)),
    };
    text += &witness.location.to_string();
    for (number, counters) in [(1, &witness.first), (2, &witness.second)] {
        if !counters.is_empty() {
            text += &format!(", ({number}) {}", instance(counters));
        }
    }
    text
}

/// The result of a run with the arguments of a case.
pub(crate) fn confirmation(confirmation: &Confirmation) -> String {
    match confirmation {
        Confirmation::NotRun => "no run was made to confirm it".to_owned(),
        Confirmation::TooCostly => {
            "a run that would confirm it takes too much time or memory".to_owned()
        }
        Confirmation::Confirmed => "confirmed by a run".to_owned(),
        Confirmation::ConfirmedInTurns => {
            "confirmed by a run in which the tasks take turns; a depth-first run does not show it"
                .to_owned()
        }
        Confirmation::Failed(error) => {
            format!("not confirmed: a run fails before it gets there, {error}")
        }
        Confirmation::Apparent => {
            "not confirmed: isolated blocks keep the accesses apart in every run that was made"
                .to_owned()
        }
        Confirmation::Contradicted => {
            "not confirmed: a run has no such race. The prover and the checker contradict each other, which is a bug of Finishline: \
             please report the program"
                .to_owned()
        }
    }
}

/// `forall@12:5`.
pub(crate) fn kernel(kernel: &Kernel) -> String {
    let place = &kernel.place;
    format!("{}@{}:{}", kernel.construct, place.line, place.column)
}

/// `b[i]: this value is read from shared memory (indirect); undecided: the write of a[b[i]] at
/// 12:9`.
pub(crate) fn reason(reason: &Reason) -> String {
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
pub(crate) fn remark(remark: &Remark) -> String {
    let (kind, location) = (remark.kind, &remark.location);
    let condition = for_which(&remark.condition);
    format!(
        "{} ({}): {location}{condition}",
        kind.meaning(),
        kind.word()
    )
}

/// `for n from -4 to 4 and m at most 9`. None for an answer about every input.
pub(crate) fn range(proof: &Proof) -> Option<String> {
    let bounds = proof.range.iter().filter_map(|bound| {
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

/// What the answer covers. For an undecided program, what the decided kernels cover.
pub(crate) fn guarantee(verdict: Verdict, proof: &Proof) -> String {
    let any_proved = (proof.kernels.iter()).any(|kernel| kernel.verdict == Verdict::Proved);
    let guarantee = match range(proof) {
        Some(range) => format!("{range}: {PROOF_GUARANTEE}"),
        None => PROOF_GUARANTEE.to_owned(),
    };
    match (verdict, any_proved) {
        (Verdict::Unknown, false) => "none".to_owned(),
        (Verdict::Unknown, true) => format!("for the proved kernels, {guarantee}"),
        _ => guarantee,
    }
}

/// What would establish more.
pub(crate) fn stronger(program: &str, proof: &Proof) -> Option<String> {
    let unknown = |kernel: &Kernel| kernel.verdict == Verdict::Unknown;
    if !proof.kernels.iter().any(unknown) {
        return None;
    }
    let mut command = format!("finishline check {}", shell_word(program));
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
pub(crate) fn statistics(proof: &Proof) -> String {
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
pub(crate) fn compared(accesses: u64, pairs: u64) -> String {
    format!(
        "{}, {}",
        count(accesses, "access", "accesses"),
        count(pairs, "pair", "pairs")
    )
}
