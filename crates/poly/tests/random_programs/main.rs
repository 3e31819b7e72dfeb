//! Random affine programs: what the prover says of them for every input against what runs of them
//! do, instance by instance.
//!
//! Each program is run by brute force for small arguments, and every access, every racing pair,
//! every source of a read and the order of all accesses must be what the prover's sets say; so must
//! be what it remarks about dead writes, reads of nothing and benign races. The verdict must follow
//! from that. The brute force itself is held to the language by the reference interpreter and the
//! oracle of the detectors.
//!
//! `FINISHLINE_SEEDS=n` runs n programs, `FINISHLINE_SEED=s` starts at seed s. A program on which
//! something disagrees is shrunk and printed.

mod compare;
mod graph;
mod run;
mod subject;

use finishline_answer::Verdict;
use finishline_generate::affine::{self, Settings};
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::small::Small;
use finishline_generate::{Program, render, shrink};
use finishline_poly::{Budget, Detail, Instance, Options, prove};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use subject::{Subject, Wrong, wrong};

const PROGRAMS: u64 = 200;
/// A long campaign tells how far it is.
const TOLD_AFTER: u64 = 1000;
/// So many are shrunk and printed.
const MOST_FAILURES: usize = 3;
const FIRST_SEED: u64 = 1;
const OPTIONS: Options = Options {
    budget: Budget::Operations(10_000_000),
    detail: Detail::Races,
};

/// What a program was like.
#[derive(Default)]
struct Judged {
    races: bool,
    /// Some of these write the same value.
    benign: bool,
}

impl Judged {
    fn add(&mut self, other: &Judged) {
        self.races |= other.races;
        self.benign |= other.benign;
    }
}

/// An affine program: all that is said is exact.
fn judge(tree: &Program) -> Result<Judged, Wrong> {
    let subject = Subject::new(tree)?;
    let graphs = subject.runs()?;
    for (arguments, graph) in graphs.iter().step_by(7) {
        subject.hold_to_the_language(arguments, graph)?;
    }
    let families = &subject.families;
    if families.vague || !families.doubtful.is_empty() {
        return wrong("vague", "something unknown is involved");
    }
    let mut judged = Judged::default();
    for (arguments, graph) in &graphs {
        let found = subject.instances(graph);
        judged.add(&subject.judge_remarks(arguments, graph, &found, true)?);
        match families.at(arguments) {
            Some(proved) => subject.compare(arguments, &proved, &found)?,
            None => return wrong("infinite", format!("{arguments:?}")),
        }
    }
    subject.compare_order(&graphs)?;
    let answer = prove(&subject.hir, &OPTIONS);
    subject.judge_answer(&answer, &graphs)?;
    match answer.proof.verdict {
        Verdict::Race | Verdict::Proved => Ok(judged),
        _ => wrong("verdict", format!("{:?}", answer.proof.kernels)),
    }
}

/// Any program: what is said holds, and what is not said is left open.
fn judge_claims(tree: &Program) -> Result<Judged, Wrong> {
    let subject = Subject::new(tree)?;
    let graphs = subject.runs()?;
    let families = &subject.families;
    let mut judged = Judged::default();
    for (arguments, graph) in &graphs {
        let found = subject.instances(graph);
        judged.add(&subject.judge_remarks(arguments, graph, &found, false)?);
        subject.compare_claims(arguments, &found)?;
        let found = found.races;
        let Some(certain) = families.races(arguments) else {
            return wrong("infinite", format!("{arguments:?}"));
        };
        if let Some((one, other)) = certain.difference(&found).next() {
            let (one, other) = (subject.words(one), subject.words(other));
            return wrong("false alarm", format!("{arguments:?}: {one} with {other}"));
        }
        let open = |(one, other): &&(Instance, Instance)| {
            !families
                .doubtful
                .contains(&(one.access.min(other.access), one.access.max(other.access)))
        };
        if let Some((one, other)) = found.difference(&certain).find(open) {
            let (one, other) = (subject.words(one), subject.words(other));
            return wrong("missed", format!("{arguments:?}: {one} with {other}"));
        }
    }
    subject.judge_answer(&prove(&subject.hir, &OPTIONS), &graphs)?;
    Ok(judged)
}

/// Judges random programs, of which some shall race.
fn campaign(settings: &Settings, count: u64, judge: fn(&Program) -> Result<Judged, Wrong>) {
    let first = setting("FINISHLINE_SEED", FIRST_SEED);
    let [racy, benign, skipped, done] = [const { AtomicU64::new(0) }; 4];
    let failures = Mutex::new(Vec::new());
    in_parallel(first..first + count, |seed| {
        let before = done.fetch_add(1, Ordering::Relaxed);
        if before > 0 && before.is_multiple_of(TOLD_AFTER) {
            eprintln!("{before} of {count} programs");
        }
        let program = affine::program(seed, settings);
        match judge(&program) {
            Ok(judged) => {
                racy.fetch_add(u64::from(judged.races), Ordering::Relaxed);
                benign.fetch_add(u64::from(judged.benign), Ordering::Relaxed);
            }
            Err(wrong) if wrong.is_too_large() => {
                skipped.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) if failures.lock().expect("no panic").len() >= MOST_FAILURES => {}
            Err(Wrong { kind, message }) => {
                // It may take long to make it small.
                eprintln!("seed {seed}: {kind}: {message}");
                let small = shrink(&program, &mut |program| {
                    judge(program).is_err_and(|wrong| wrong.kind == kind)
                });
                let said = judge(&small).err().map(|wrong| wrong.message);
                failures.lock().expect("no panic").push(format!(
                    "seed {seed}: {kind}: {message}\nshrunk: {}\n{}\nrepeat: FINISHLINE_SEED={seed} FINISHLINE_SEEDS=1 \
                     cargo test -p finishline-poly --test random_programs\n",
                    said.unwrap_or_default(),
                    render(&small)
                ));
            }
        }
    });
    let failures = failures.into_inner().expect("no panic");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let [racy, benign, skipped] = [racy, benign, skipped].map(AtomicU64::into_inner);
    eprintln!("{count} programs: {racy} race, {skipped} are too large and were not compared");
    assert!(skipped <= count / 20, "{skipped} of {count} are too large");
    // The programs must not all be of one kind, or the comparison shows little.
    if count >= 200 {
        assert!(
            racy > count / 4 && racy < count * 3 / 4,
            "{racy} of {count} race"
        );
        assert!(
            benign >= count / 100,
            "{benign} of {count} write the same value in a race"
        );
    }
}

#[test]
fn the_prover_agrees_with_runs() {
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    campaign(&Settings { beyond: false }, count, judge);
}

/// All programs of up to so many statements, over two globals.
#[test]
fn the_prover_agrees_with_runs_of_all_small_programs() {
    const MOST_STATEMENTS: usize = 4;
    for statements in 0..=MOST_STATEMENTS {
        let all = Small::new(statements);
        in_parallel(0..all.count(), |number| {
            let program = all.program(number);
            if let Err(Wrong { kind, message }) = judge(&program) {
                panic!(
                    "{number} of {statements} statements: {kind}: {message}\n{}",
                    render(&program)
                );
            }
        });
    }
}

#[test]
fn what_is_not_affine_is_left_open() {
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    campaign(&Settings { beyond: true }, count, judge_claims);
}
