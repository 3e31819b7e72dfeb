//! Programs before and after a change that keeps the answer: `prove`, `check` and the oracle must
//! say the same of both.
//!
//! The test need not know the right answer. The changes, and why they keep it, are in
//! `finishline_generate::metamorphic`. Only the prover may see less: `proved` or `race` may become
//! `unknown`, for a reason that the answer names.
//!
//! `FINISHLINE_SEEDS=n` judges n programs, `FINISHLINE_SEED=s` starts at seed s. If an answer
//! changes, the program is shrunk as long as the change stays possible, and printed before and
//! after.

use finishline_answer::Verdict;
use finishline_detect::oracle::{Mode, Oracle};
use finishline_engine::check::{choose, first_pass};
use finishline_engine::depth_first::{self, End};
use finishline_engine::executor::{Executor, Forms};
use finishline_engine::interleavings::{self, Granularity};
use finishline_engine::question::Question;
use finishline_generate::affine::{self, ARGUMENTS};
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::extremes::argument;
use finishline_generate::metamorphic::{Change, Changed};
use finishline_generate::rng::Rng;
use finishline_generate::shape::Name;
use finishline_generate::{Program, render, shrink};
use finishline_ir::listener::EventsAlone;
use finishline_ir::machine::{Datum, Limits};
use finishline_model::{Location, Pass, Passes};
use finishline_poly::{Answer, Budget, Detail, Options, prove};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAMS: u64 = 150;
const FIRST_SEED: u64 = 1;
const TOLD_AFTER: u64 = 1000;
const MOST_FAILURES: usize = 3;
const OPTIONS: Options = Options {
    budget: Budget::Operations(2_000_000),
    detail: Detail::Verdicts,
};
const FUEL: u64 = 100_000;
const ORACLE_STEPS: usize = 4000;

/// A kind of disagreement, and what exactly disagrees. One shrinks to one of the same kind.
struct Wrong {
    kind: &'static str,
    message: String,
}

fn wrong<T>(kind: &'static str, message: impl Into<String>) -> Result<T, Wrong> {
    let message = message.into();
    Err(Wrong { kind, message })
}

/// What is said of a program.
struct Answers {
    verdict: Verdict,
    /// For each input, unless it takes too long: whether the program ended without a failure, and
    /// the racing locations.
    runs: Vec<Option<(bool, BTreeSet<Location>)>>,
}

/// A pass by itself, or some together: what `--checks` can be.
fn modes(seed: u64) -> [(Executor, Passes); 3] {
    let single = Pass::ALL[(seed % Pass::ALL.len() as u64) as usize];
    [
        (Executor::Compiled, Passes::ALL),
        (Executor::Interpreted, Passes::UNPROVED),
        (Executor::Interpreted, Passes::NONE.with(single)),
    ]
}

/// Asks the prover, the oracle, and the detector in some modes; these two must agree.
fn ask(program: &Program, inputs: &[Vec<i64>], seed: u64) -> Result<Answers, Wrong> {
    let text = render(program);
    let compiled = match finishline_fin::compile("changed.fin", text.as_bytes()) {
        Ok(compiled) => compiled,
        Err(errors) => return wrong("refused", errors.render(false)),
    };
    let main = &compiled.hir.functions[compiled.hir.main.index()];
    if inputs
        .iter()
        .any(|input| input.len() != main.parameters.len())
    {
        return wrong("refused", "another number of arguments");
    }
    let answer = prove(&compiled.hir, &OPTIONS);
    let is_open = answer.proof.verdict == Verdict::Unknown;
    let kernels = answer.proof.kernels();
    if is_open && kernels.iter().all(|kernel| kernel.reasons.is_empty()) {
        return wrong("reason", "unknown without a reason");
    }
    let mut answers = Answers {
        verdict: answer.proof.verdict,
        runs: Vec::new(),
    };
    for input in inputs {
        answers.runs.push(run(&compiled, &answer, input, seed)?);
    }
    Ok(answers)
}

fn run(
    compiled: &finishline_fin::Program,
    answer: &Answer,
    input: &[i64],
    seed: u64,
) -> Result<Option<(bool, BTreeSet<Location>)>, Wrong> {
    let module = &compiled.module;
    let arguments: Vec<Datum> = input.iter().copied().map(Datum::Int).collect();
    let program = depth_first::Program {
        module,
        arguments: &arguments,
        limits: Limits::default(),
    };
    let mut oracle = Oracle::new(ORACLE_STEPS);
    let (output, progress) = (&mut std::io::sink(), AtomicU64::new(0));
    let listener = &mut EventsAlone(&mut oracle);
    let outcome = depth_first::run_for(FUEL, program, listener, output, &progress);
    if matches!(outcome.result, End::OutOfFuel) || oracle.gave_up() {
        return Ok(None);
    }
    let racing = oracle.racing_locations(Mode::Structure);
    let integers: Vec<Option<i64>> = input.iter().copied().map(Some).collect();
    let harmless = answer.harmless(&integers);
    if !harmless.is_disjoint(&oracle.racing_accesses()) {
        return wrong(
            "harmless",
            format!("{input:?}: an access that races is harmless"),
        );
    }
    for (executor, passes) in modes(seed) {
        let question = Question {
            module,
            forms: Forms::new(module, executor, passes).with_harmless(harmless.clone()),
            words: Vec::new(),
            arguments: arguments.clone(),
            limits: Limits::default(),
            max_races: usize::MAX,
            suppressions: None,
            watch: None,
            schedule: None,
            progress: AtomicU64::new(0),
        };
        let findings = match first_pass(&question, choose(module), output) {
            Ok((_, Ok(findings))) => findings,
            Ok((_, Err(failure))) => return wrong("detector", failure.to_string()),
            Err(error) => return wrong("detector", error.to_string()),
        };
        let found: BTreeSet<Location> = findings.racing.in_order().iter().copied().collect();
        if found != racing {
            let message = format!("{input:?}: {passes}: {found:?}, the oracle {racing:?}");
            return wrong("check", message);
        }
    }
    Ok(Some((matches!(outcome.result, End::Finished), racing)))
}

/// Whether the prover may say the second of a program for which it says the first before a change.
fn may_become(change: Change, before: Verdict, after: Verdict) -> bool {
    match (before, after) {
        (Verdict::Race, Verdict::Proved) => false,
        // The values of a new parameter include others than the constant.
        (Verdict::Proved, Verdict::Race) => change == Change::Parameter,
        _ => true,
    }
}

/// An input on which some schedule of a program has a race, if that is easy to find.
///
/// The prover may claim a race that no run gets to, because a task before it never ends. It may see
/// that after a change. But it must not call a program proved that has the race: every schedule of
/// it is tried, each instruction a choice, so that a task that never ends has finitely many states.
fn racing_input(program: &Program) -> Result<Option<Vec<i64>>, Wrong> {
    let text = render(program);
    let module = match finishline_fin::compile("changed.fin", text.as_bytes()) {
        Ok(compiled) => compiled.module,
        Err(errors) => return wrong("refused", errors.render(false)),
    };
    let budget = interleavings::Budget {
        states: 30_000,
        steps: 1_000_000,
    };
    let mut inputs = vec![Vec::new()];
    for _ in 0..parameters(program) {
        let longer = inputs.iter().flat_map(|input: &Vec<i64>| {
            [-1, 0, 1, 3].map(|value| [input.as_slice(), &[value]].concat())
        });
        inputs = longer.collect();
    }
    let races = |input: &Vec<i64>| {
        let arguments: Vec<Datum> = input.iter().copied().map(Datum::Int).collect();
        let (limits, every) = (Limits::default(), Granularity::Instruction);
        let all = interleavings::explore(&module, &arguments, limits, every, budget);
        !all.conflicts.is_empty()
    };
    Ok(inputs.into_iter().find(races))
}

/// What is said of a program before and after a change; what of that differs.
fn judge(
    before: &Program,
    change: Change,
    changed: &Changed,
    inputs: &[Vec<i64>],
    seed: u64,
) -> Result<(), Wrong> {
    let extended = inputs.iter().map(|input| {
        let mut input = input.clone();
        input.extend(changed.argument);
        input
    });
    let extended: Vec<Vec<i64>> = extended.collect();
    let one = ask(before, inputs, seed)?;
    let other = ask(&changed.program, &extended, seed)?;
    if !may_become(change, one.verdict, other.verdict) {
        let proved = match one.verdict {
            Verdict::Proved => before,
            _ => &changed.program,
        };
        if let Some(input) = racing_input(proved)? {
            let both = (one.verdict, other.verdict);
            let message = format!("before and after: {both:?}; {input:?} has a race");
            return wrong("verdict", message);
        }
    }
    for (input, runs) in inputs.iter().zip(one.runs.iter().zip(&other.runs)) {
        let (Some((ended, racing)), Some((still, now))) = runs else {
            continue;
        };
        if change.needs_steady_control() && !(*ended && *still) {
            continue;
        }
        if ended != still || racing != now {
            let message = format!(
                "{input:?}: before {racing:?} race, after {now:?}; ended: {ended}, {still}"
            );
            return wrong("locations", message);
        }
    }
    Ok(())
}

fn parameters(program: &Program) -> usize {
    let main = program.functions.iter().find(|it| it.name == Name::MAIN);
    main.map_or(0, |main| main.parameters.len())
}

fn inputs(program: &Program, rng: &mut Rng) -> Vec<Vec<i64>> {
    match parameters(program) {
        0 => vec![Vec::new()],
        count => {
            let near = (0..count).map(|_| rng.between(*ARGUMENTS.start(), *ARGUMENTS.end()));
            let near = near.collect();
            let any = (0..count).map(|_| argument(rng)).collect();
            vec![near, any]
        }
    }
}

/// A program of the seed. Every third has no tasks that stop, and control that races can't change.
fn program(seed: u64) -> (Program, bool) {
    let settings = affine::Settings {
        beyond: seed.is_multiple_of(6),
        ..affine::Settings::of_seed(seed)
    };
    (
        affine::program(seed, &settings),
        !settings.beyond && !settings.stops,
    )
}

/// Makes a change and judges it. None if it is not possible.
fn try_change(program: &Program, change: Change, seed: u64) -> Option<Result<(), Wrong>> {
    let changed = change.apply(program, &mut Rng::new(seed))?;
    let inputs = inputs(program, &mut Rng::new(seed));
    Some(judge(program, change, &changed, &inputs, seed))
}

fn failure(tree: &Program, change: Change, seed: u64, wrong: &Wrong) -> String {
    let Wrong { kind, message } = wrong;
    eprintln!("seed {seed}: {change:?}: {kind}: {message}");
    let small = shrink(
        tree,
        &mut |program| match try_change(program, change, seed) {
            Some(Err(other)) => other.kind == *kind,
            _ => false,
        },
    );
    let said = try_change(&small, change, seed).and_then(Result::err);
    let changed = change.apply(&small, &mut Rng::new(seed));
    format!(
        "seed {seed}: {change:?}: {kind}: {message}\nshrunk: {}\nbefore:\n{}\nafter:\n{}\n\
         repeat: FINISHLINE_SEED={seed} FINISHLINE_SEEDS=1 cargo test -p finishline-poly \
         --test poly metamorphic::\n",
        said.map_or_else(String::new, |it| it.message),
        render(&small),
        changed.map_or_else(String::new, |it| render(&it.program)),
    )
}

#[test]
fn a_change_that_keeps_the_answer_keeps_it() {
    const CHANGES: usize = 3;
    let first = setting("FINISHLINE_SEED", FIRST_SEED);
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    let made = Change::ALL.map(|_| AtomicU64::new(0));
    let done = AtomicU64::new(0);
    let failures = Mutex::new(Vec::new());
    in_parallel(first..first + count, |seed| {
        let before = done.fetch_add(1, Ordering::Relaxed);
        if before > 0 && before.is_multiple_of(TOLD_AFTER) {
            eprintln!("{before} of {count} programs");
        }
        let (program, is_steady) = program(seed);
        let mut tried = 0;
        for turn in 0..Change::ALL.len() {
            let which = (seed as usize + turn * 4) % Change::ALL.len();
            let change = Change::ALL[which];
            if tried == CHANGES || (change.needs_steady_control() && !is_steady) {
                continue;
            }
            match try_change(&program, change, seed) {
                None => continue,
                Some(Ok(())) => {}
                Some(Err(_)) if failures.lock().expect("no panic").len() >= MOST_FAILURES => {}
                Some(Err(wrong)) => {
                    let told = failure(&program, change, seed, &wrong);
                    eprintln!("{told}");
                    failures.lock().expect("no panic").push(told);
                }
            }
            tried += 1;
            made[which].fetch_add(1, Ordering::Relaxed);
        }
    });
    let failures = failures.into_inner().expect("no panic");
    let made = made.map(AtomicU64::into_inner);
    for (change, made) in Change::ALL.iter().zip(made) {
        eprintln!("{change:?}: {made}");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    if count >= PROGRAMS {
        assert!(
            made.iter().all(|made| *made > 0),
            "a change was never made: {made:?}"
        );
    }
}
