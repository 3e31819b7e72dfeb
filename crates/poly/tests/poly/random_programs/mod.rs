//! Random affine programs: the prover's answers for every input against runs, instance by instance.
//!
//! Each program is run by brute force for small arguments. The prover's sets must contain exactly
//! the accesses, racing pairs, sources of reads and the order of the accesses of each run. Its
//! remarks about dead writes, reads of nothing and benign races must hold, and its verdict must
//! follow. The reference interpreter and the oracle of the detectors check the brute force.
//!
//! If integers wrap around, or tasks fail or never end, the prover may know less. Then what it
//! claims must hold.
//!
//! `FINISHLINE_SEEDS=n` runs n programs, `FINISHLINE_SEED=s` starts at seed s. A program on which
//! something disagrees is shrunk and printed.

mod compare;
mod graph;
mod run;
mod subject;

use finishline_answer::Verdict;
use finishline_engine::interleavings::{self, Granularity};
use finishline_generate::affine::{self, Settings};
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::small::{self, Small, Vocabulary};
use finishline_generate::{Program, render, shrink};
use finishline_ir::machine::{Datum, Limits};
use finishline_poly::{Budget, Detail, Instance, Options, prove};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use subject::{Run, Subject, Wrong, extreme_arguments, some_arguments, wrong};

const PROGRAMS: u64 = 200;
/// A long campaign tells how far it is.
const TOLD_AFTER: u64 = 1000;
/// The most programs that are shrunk and printed.
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
        _ => wrong("verdict", format!("{:?}", answer.proof.kernels())),
    }
}

/// Any program: what is said holds, and what is not said is left open.
fn judge_claims(tree: &Program) -> Result<Judged, Wrong> {
    let subject = Subject::new(tree)?;
    let graphs = subject.runs()?;
    let judged = claims(&subject, &graphs)?;
    subject.judge_answer(&prove(&subject.hir, &OPTIONS), &graphs)?;
    Ok(judged)
}

/// A program whose tasks may fail or never end: the same, for the accesses of all schedules.
fn judge_stops(tree: &Program) -> Result<Judged, Wrong> {
    let subject = Subject::new(tree)?;
    let graphs = subject.any_runs(some_arguments(subject::parameters(tree)));
    for (arguments, graph) in graphs.iter().step_by(7) {
        subject.hold_to_the_language(arguments, graph)?;
    }
    let judged = claims(&subject, &graphs)?;
    subject.judge_answer(&prove(&subject.hir, &OPTIONS), &graphs)?;
    Ok(judged)
}

/// A program whose integers wrap around: what users are told holds, also for arguments at the ends
/// of 64 bits. Its instances are not compared one by one, as they may be too many.
fn judge_wrapping(tree: &Program) -> Result<Judged, Wrong> {
    let subject = Subject::new(tree)?;
    let parameters = subject::parameters(tree);
    let arguments = [some_arguments(parameters), extreme_arguments(parameters)];
    let graphs = subject.any_runs(arguments.concat());
    for (arguments, graph) in graphs.iter().step_by(7) {
        subject.hold_to_the_language(arguments, graph)?;
    }
    subject.judge_answer(&prove(&subject.hir, &OPTIONS), &graphs)?;
    Ok(Judged {
        races: graphs.iter().any(|(_, graph)| !graph.races().is_empty()),
        benign: false,
    })
}

/// What is claimed about the instances of each run.
fn claims(subject: &Subject, graphs: &[Run]) -> Result<Judged, Wrong> {
    let families = &subject.families;
    let mut judged = Judged::default();
    for (arguments, graph) in graphs {
        let found = subject.instances(graph);
        judged.add(&subject.judge_remarks(arguments, graph, &found, false)?);
        subject.compare_claims(arguments, graph, &found)?;
        let found = found.races;
        let Some(certain) = families.races(arguments) else {
            return wrong("infinite", format!("{arguments:?}"));
        };
        // A race is claimed as far as the program does not fail before.
        if graph.run.stuck_after.is_none()
            && let Some((one, other)) = certain.difference(&found).next()
        {
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
    Ok(judged)
}

/// Judges random programs, of which some shall race.
fn campaign(
    settings: impl Fn(u64) -> Settings + Sync,
    count: u64,
    judge: fn(&Program) -> Result<Judged, Wrong>,
) -> Benign {
    let first = setting("FINISHLINE_SEED", FIRST_SEED);
    let [racy, benign, skipped, done] = [const { AtomicU64::new(0) }; 4];
    let failures = Mutex::new(Vec::new());
    in_parallel(first..first + count, |seed| {
        let before = done.fetch_add(1, Ordering::Relaxed);
        if before > 0 && before.is_multiple_of(TOLD_AFTER) {
            eprintln!("{before} of {count} programs");
        }
        let program = affine::program(seed, &settings(seed));
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
                    "seed {seed}: {kind}: {message}\nshrunk: {}\n{}\n\
                     repeat: FINISHLINE_SEED={seed} FINISHLINE_SEEDS=1 cargo test -p finishline-poly \
                     --test poly random_programs::\n",
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
    }
    Benign { benign, count }
}

/// How many programs write the same value in a race.
struct Benign {
    benign: u64,
    count: u64,
}

impl Benign {
    /// There are some, or remarks about them are not compared.
    fn occurs(self) {
        let Benign { benign, count } = self;
        assert!(
            count < 200 || benign >= count / 100,
            "{benign} of {count} write the same value in a race"
        );
    }
}

#[test]
fn the_prover_agrees_with_runs() {
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    campaign(|_| Settings::default(), count, judge).occurs();
}

/// All programs of up to four statements, over two globals.
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

/// A small program whose tasks may stop and whose conditions wrap around: what users are told
/// holds.
fn judge_small(tree: &Program) -> Result<Judged, Wrong> {
    let subject = Subject::new(tree)?;
    let arguments = small::ARGUMENTS.map(|argument| vec![argument]);
    let graphs = subject.any_runs(arguments.into());
    if graphs.len() != small::ARGUMENTS.len() {
        return wrong("does not run", "a small program is short");
    }
    subject.judge_answer(&prove(&subject.hir, &OPTIONS), &graphs)?;
    Ok(Judged::default())
}

/// All programs of up to three statements in which tasks fail or never end, and some of four.
#[test]
fn tasks_that_stop_hide_no_race_in_small_programs() {
    const STRIDE: u64 = 8;
    for (statements, stride) in [(1, 1), (2, 1), (3, 1), (4, STRIDE)] {
        let all = Small::over(Vocabulary::Wild, statements);
        in_parallel(0..all.count() / stride, |number| {
            let number = number * stride;
            let program = all.program(number);
            if let Err(Wrong { kind, message }) = judge_small(&program) {
                let text = render(&program);
                panic!("{number} of {statements} statements: {kind}: {message}\n{text}");
            }
        });
    }
}

/// The brute force, with its stuck tasks, has a race where some schedule has one.
#[test]
fn stuck_tasks_are_those_of_some_schedule() {
    let budget = interleavings::Budget {
        states: 100_000,
        steps: 10_000_000,
    };
    for statements in 1..=3 {
        let all = Small::over(Vocabulary::Wild, statements);
        // Every instruction is a choice: a task that never ends has finitely many states.
        in_parallel(0..all.count().div_ceil(7), |number| {
            let program = all.program(number * 7 % all.count());
            let subject = Subject::new(&program).unwrap_or_else(|wrong| panic!("{wrong:?}"));
            for argument in small::ARGUMENTS {
                let graph = subject
                    .run(&[argument])
                    .unwrap_or_else(|wrong| panic!("{wrong:?}"));
                let compiled = finishline_fin::compile("small.fin", subject.text.as_bytes());
                let Ok(compiled) = compiled else {
                    panic!("{}", subject.text);
                };
                let every = interleavings::explore(
                    &compiled.module,
                    &[Datum::Int(argument)],
                    Limits::default(),
                    Granularity::Instruction,
                    budget,
                );
                assert!(!every.gave_up, "{}", subject.text);
                let races = !graph.races().is_empty();
                assert_eq!(
                    races,
                    !every.conflicts.is_empty(),
                    "{argument}: {}",
                    subject.text
                );
            }
        });
    }
}

#[test]
fn what_is_not_affine_is_left_open() {
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    let settings = Settings {
        beyond: true,
        ..Settings::default()
    };
    campaign(|_| settings, count, judge_claims).occurs();
}

#[test]
fn tasks_that_fail_or_never_end_hide_no_race() {
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    let settings = Settings {
        stops: true,
        ..Settings::default()
    };
    campaign(|_| settings, count, judge_stops).occurs();
}

#[test]
fn integers_that_wrap_around_hide_no_race() {
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    let settings = |seed: u64| Settings {
        wrapping: true,
        stops: seed.is_multiple_of(4),
        ..Settings::default()
    };
    campaign(settings, count, judge_wrapping);
}
