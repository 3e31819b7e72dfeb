//! Random programs with all constructs of the language: everything that the prover claims holds.
//!
//! Most of these programs are not affine. They have no parameters, so one run has every race there
//! is. A proved program has no race, a harmless access is part of none, and a race that is claimed
//! occurs in the run, unless the program fails before.
//!
//! Small programs with isolated blocks are held to every schedule instead of one run.
//!
//! `FINISHLINE_SEEDS=n` runs n programs, `FINISHLINE_SEED=s` starts at seed s. A program on which
//! something disagrees is shrunk and printed.

use crate::checked::run_for;
use finishline_answer::Verdict;
use finishline_answer::claim::Confirmation;
use finishline_answer::proof::ReasonKind;
use finishline_detect::oracle::Oracle;
use finishline_engine::confirm::confirm;
use finishline_engine::interleavings::{self, Granularity};
use finishline_engine::run::{self, End};
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::small::{Small, Vocabulary};
use finishline_generate::{Program, Settings, program, render, shrink};
use finishline_ir::Module;
use finishline_ir::machine::Limits;
use finishline_model::AccessId;
use finishline_model::event::{Record, replay};
use finishline_poly::{Budget, Detail, Options, prove};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAMS: u64 = 1000;
/// Of a thousand programs, more of each kind.
const FEW: u64 = 20;
const FIRST_SEED: u64 = 1;
/// Far more than the generator lets a program execute.
const FUEL: u64 = 10_000_000;
/// Errors of one kind begin alike.
const WORD: usize = 5;
const STEPS: usize = 100_000;
const OPTIONS: Options = Options {
    budget: Budget::Operations(1_000_000),
    detail: Detail::Dataflow,
};

/// The accesses that race in a run, or would without locks, on which proofs do not count. None if
/// that is too much to find out.
fn racing(module: &Module) -> Option<BTreeSet<AccessId>> {
    let program = run::Program {
        module,
        arguments: &[],
        limits: Limits::default(),
    };
    let mut records: Vec<Record> = Vec::new();
    let outcome = run_for(FUEL, program, &mut records);
    let mut oracle = Oracle::new(STEPS);
    replay(&records, &mut oracle);
    let told = !oracle.gave_up() && !matches!(outcome.result, End::OutOfFuel);
    told.then(|| oracle.conflicting_accesses())
}

/// What was said of a program; or what of that is wrong.
fn judge(tree: &Program) -> Result<Option<Verdict>, String> {
    let text = render(tree);
    let hir = finishline_fin::analyse("random.fin", text.as_bytes());
    let hir = hir.map_err(|errors| errors.render(false))?;
    let compiled = finishline_fin::compile("random.fin", text.as_bytes());
    let module = compiled.map_err(|errors| errors.render(false))?.module;
    let Some(racing) = racing(&module) else {
        return Ok(None);
    };
    let mut answer = prove(&hir, &OPTIONS);
    if answer.proof.verdict == Verdict::Proved && !racing.is_empty() {
        return Err(format!("proved, but {racing:?} race"));
    }
    if let Some(access) = answer.harmless(&[]).intersection(&racing).next() {
        return Err(format!("not harmless: {access:?}"));
    }
    for kernel in answer.proof.kernels() {
        let failed = |kind, concerns: &String| kind == ReasonKind::Timeout && !concerns.is_empty();
        let mut reasons = kernel.reasons.iter();
        if let Some(reason) = reasons.find(|it| failed(it.kind, &it.concerns)) {
            return Err(format!("the prover failed: {}", reason.concerns));
        }
    }
    confirm(&mut answer.proof, &module);
    for race in &answer.proof.findings {
        let witness = race.witness();
        if witness.is_some_and(|it| it.confirmation == Confirmation::Contradicted) {
            return Err(format!("no race: {race:?}"));
        }
    }
    Ok(Some(answer.proof.verdict))
}

#[test]
fn what_is_said_of_any_program_is_so() {
    let [proved, racy, unknown] = campaign(Settings::of_seed);
    assert!(proved.min(racy).min(unknown) > FEW);
}

#[test]
fn what_is_said_of_programs_with_promises_is_so() {
    let [proved, racy, unknown] = campaign(Settings::promises);
    assert!(proved.min(racy).min(unknown) > FEW);
}

/// A race beside a lock is not claimed.
#[test]
fn what_is_said_of_programs_with_locks_is_so() {
    let [proved, _, unknown] = campaign(Settings::locks);
    assert!(proved.min(unknown) > FEW, "{proved} {unknown}");
}

/// Judges random programs. In a thousand of them, how many are proved, race, and are neither. There
/// must be some of each kind, or the comparison shows little.
fn campaign(settings: fn(u64) -> Settings) -> [u64; 3] {
    let first = setting("FINISHLINE_SEED", FIRST_SEED);
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    let [proved, racy, unknown] = [const { AtomicU64::new(0) }; 3];
    in_parallel(first..first + count, |seed| {
        let program = program(seed, &settings(seed));
        let counter = match judge(&program) {
            Ok(Some(Verdict::Proved)) => &proved,
            Ok(Some(Verdict::Race)) => &racy,
            Ok(_) => &unknown,
            Err(error) => {
                let same = |other: &String| other[..WORD] == error[..WORD];
                let small = shrink(&program, &mut |program| {
                    judge(program).is_err_and(|other| same(&other))
                });
                let said = judge(&small).err().unwrap_or_default();
                panic!("seed {seed}: {error}\nshrunk: {said}\n{}", render(&small));
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let [proved, racy, unknown] = [proved, racy, unknown].map(AtomicU64::into_inner);
    println!("{proved} proved, {racy} race, {unknown} unknown");
    match count >= 1000 {
        true => [proved, racy, unknown].map(|number| number * 1000 / count),
        false => [u64::MAX; 3],
    }
}

/// A proof holds in every schedule, also in those that take another way than the run of a check.
#[test]
fn proofs_of_small_programs_with_promises_hold_in_every_schedule() {
    const STRIDE: u64 = 5;
    let [racy, proved, unknown] = [const { AtomicU64::new(0) }; 3];
    for (statements, stride) in [(2, 1), (3, 1), (4, 1), (5, STRIDE)] {
        let all = Small::over(Vocabulary::Promises, statements);
        in_parallel(0..all.count() / stride, |number| {
            let text = render(&all.program(number * stride));
            let compiled = finishline_fin::compile("small.fin", text.as_bytes());
            let Ok(compiled) = compiled else {
                panic!("{text}");
            };
            let mut answer = prove(&compiled.hir, &OPTIONS).proof;
            confirm(&mut answer, &compiled.module);
            let counter = match answer.verdict {
                Verdict::Race => &racy,
                Verdict::Proved => &proved,
                _ => {
                    unknown.fetch_add(1, Ordering::Relaxed);
                    return;
                }
            };
            let every = interleavings::explore(
                &compiled.module,
                &[],
                Limits::default(),
                Granularity::Visible,
                interleavings::Budget::default(),
            );
            assert!(!every.gave_up, "{text}");
            let races = !every.conflicts.is_empty();
            assert_eq!(races, answer.verdict == Verdict::Race, "{text}");
            counter.fetch_add(1, Ordering::Relaxed);
        });
    }
    let [racy, proved, unknown] = [racy, proved, unknown].map(AtomicU64::into_inner);
    println!("{racy} race, {proved} proved, {unknown} unknown");
    assert!(racy > 100 && proved > 1000, "too few");
}

/// Isolated blocks may keep accesses apart in every order. By structure alone they would race.
#[test]
fn a_race_that_is_claimed_is_one_of_some_schedule() {
    let [racy, claimed, proved] = [const { AtomicU64::new(0) }; 3];
    for statements in [3, 5] {
        let all = Small::over(Vocabulary::Asking, statements);
        in_parallel(0..all.count(), |number| {
            let text = render(&all.program(number));
            if text.matches("x = ").count() < 2 || !text.contains("assert") {
                return;
            }
            let compiled = finishline_fin::compile("small.fin", text.as_bytes());
            let Ok(compiled) = compiled else {
                panic!("{text}");
            };
            let every = interleavings::explore(
                &compiled.module,
                &[],
                Limits::default(),
                Granularity::Visible,
                interleavings::Budget::default(),
            );
            assert!(!every.gave_up, "{text}");
            let races = !every.conflicts.is_empty();
            racy.fetch_add(u64::from(races), Ordering::Relaxed);
            let mut answer = prove(&compiled.hir, &OPTIONS).proof;
            confirm(&mut answer, &compiled.module);
            let counter = match answer.verdict {
                Verdict::Race => &claimed,
                Verdict::Proved => &proved,
                _ => return,
            };
            assert_eq!(races, answer.verdict == Verdict::Race, "{text}");
            counter.fetch_add(1, Ordering::Relaxed);
        });
    }
    let [racy, claimed, proved] = [racy, claimed, proved].map(AtomicU64::into_inner);
    println!("{racy} race, {claimed} of them claimed, {proved} proved");
    assert!(claimed > 50 && proved > 5000, "too few");
}
