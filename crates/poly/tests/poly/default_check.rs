//! `finishline check` as users run it, with proofs, against the oracle: the same locations race.
//!
//! The prover is asked as the command asks it. Accesses that it calls harmless for the arguments at
//! hand go unchecked, and the program is compiled with all passes. The oracle hears of every access
//! of the program as written. Arguments are small, or at the ends of 64 bits. An input on which the
//! program takes too long is left out.
//!
//! Each generator has a test. `FINISHLINE_SEEDS=n` runs n programs of each, `FINISHLINE_SEED=s`
//! starts at seed s. A disagreement is printed at once, with the command that repeats it. Then the
//! program is shrunk.

use crate::checked::run_for;
use finishline_answer::Verdict;
use finishline_detect::oracle::{Mode, Oracle};
use finishline_engine::check::{choose, first_pass};
use finishline_engine::executor::{Executor, Forms};
use finishline_engine::question::Question;
use finishline_engine::run::{self, End};
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::extremes::argument;
use finishline_generate::rng::Rng;
use finishline_generate::shape::Name;
use finishline_generate::small::{self, Small, Vocabulary, numbered};
use finishline_generate::{Program, affine, random, render, shrink};
use finishline_ir::listener::EventsAlone;
use finishline_ir::machine::{Datum, Limits};
use finishline_model::{Location, Passes};
use finishline_poly::{Answer, Budget, Detail, Options, prove};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const PROGRAMS: u64 = 300;
const FIRST_SEED: u64 = 1;
/// A long campaign tells how far it is.
const TOLD_AFTER: u64 = 1000;
/// The most disagreements that are shrunk and printed.
const MOST_FAILURES: usize = 3;
/// What `finishline check` asks of the prover.
const OPTIONS: Options = Options {
    budget: Budget::Operations(1_000_000),
    detail: Detail::Verdicts,
};
/// What a run may take before it is left out.
const FUEL: u64 = 100_000;
const MEMORY: u64 = 64 << 20;
const ORACLE_STEPS: usize = 4000;

/// A program and the inputs on which it is checked.
struct Case {
    program: Program,
    inputs: Vec<Vec<i64>>,
}

/// What came of the inputs of a program.
#[derive(Default)]
struct Tally {
    /// Programs that are proved.
    proved: u64,
    compared: u64,
    racy: u64,
    /// Inputs for which a proof spared a check.
    spared: u64,
    /// Inputs on which the program takes too long.
    left_out: u64,
}

/// A kind of disagreement, and what exactly disagrees.
struct Disagreement {
    kind: &'static str,
    message: String,
}

fn disagree<T>(kind: &'static str, message: String) -> Result<T, Disagreement> {
    Err(Disagreement { kind, message })
}

fn judge(case: &Case) -> Result<Tally, Disagreement> {
    let text = render(&case.program);
    let compiled = match finishline_fin::compile("random.fin", text.as_bytes()) {
        Ok(compiled) => compiled,
        Err(errors) => return disagree("refused", errors.render(false)),
    };
    let main = &compiled.hir.functions[compiled.hir.main.index()];
    if case
        .inputs
        .iter()
        .any(|input| input.len() != main.parameters.len())
    {
        return disagree("refused", "another number of arguments".to_string());
    }
    let answer = prove(&compiled.hir, &OPTIONS);
    let mut tally = Tally {
        proved: u64::from(answer.proof.verdict == Verdict::Proved),
        ..Tally::default()
    };
    for input in &case.inputs {
        judge_input(&compiled, &answer, input, &mut tally)?;
    }
    Ok(tally)
}

fn judge_input(
    compiled: &finishline_fin::Program,
    answer: &Answer,
    input: &[i64],
    tally: &mut Tally,
) -> Result<(), Disagreement> {
    let module = &compiled.module;
    let arguments: Vec<Datum> = input.iter().copied().map(Datum::Int).collect();
    let limits = Limits {
        memory: MEMORY,
        ..Limits::default()
    };
    let program = run::Program {
        module,
        arguments: &arguments,
        limits,
    };
    let mut oracle = Oracle::new(ORACLE_STEPS);
    let listener = &mut EventsAlone(&mut oracle);
    let outcome = run_for(FUEL, program, listener);
    if matches!(outcome.result, End::OutOfFuel) || oracle.gave_up() {
        tally.left_out += 1;
        return Ok(());
    }
    let racing = oracle.racing_locations(Mode::Structure);
    let proof = &answer.proof;
    if proof.verdict == Verdict::Proved
        && proof.proof().is_some_and(|it| it.covers(input))
        && !racing.is_empty()
    {
        return disagree("proved", format!("{input:?}: {racing:?} race"));
    }
    let integers: Vec<Option<i64>> = input.iter().copied().map(Some).collect();
    let harmless = answer.harmless(&integers);
    let racing_accesses = oracle.racing_accesses();
    if let Some(access) = harmless.intersection(&racing_accesses).next() {
        let info = compiled.hir.source.access(*access);
        let words = compiled.hir.source.snippet(info.place);
        return disagree("harmless", format!("{input:?}: {words} races"));
    }
    tally.compared += 1;
    tally.racy += u64::from(!racing.is_empty());
    tally.spared += u64::from(!harmless.is_empty());
    let question = Question {
        module,
        forms: Forms::new(module, Executor::Compiled, Passes::ALL).with_harmless(harmless),
        words: Vec::new(),
        arguments,
        limits,
        max_races: usize::MAX,
        suppressions: None,
        watch: None,
        schedule: None,
        progress: AtomicU64::new(0),
    };
    let output = &mut std::io::sink();
    let (ended, findings) = match first_pass(&question, choose(module), output) {
        Ok((ended, Ok(findings))) => (ended, findings),
        Ok((_, Err(failure))) => return disagree("gave up", failure.to_string()),
        Err(error) => return disagree("failed", error.to_string()),
    };
    let failure = |outcome: &run::Outcome| {
        let trap = outcome.trap();
        trap.map(|trap| (trap.kind.word(), trap.site))
    };
    if failure(&ended) != failure(&outcome) {
        let both = (failure(&ended), failure(&outcome));
        return disagree(
            "ending",
            format!("{input:?}: compiled and interpreted: {both:?}"),
        );
    }
    let found: BTreeSet<Location> = findings.racing.in_order().iter().copied().collect();
    if found != racing {
        let message = format!("{input:?}: check finds {found:?}, the oracle {racing:?}");
        return disagree("racing", message);
    }
    let conflict = oracle.isolated_blocks_conflict();
    if findings.isolated_conflict != conflict {
        let message = format!("{input:?}: the oracle says {conflict}");
        return disagree("isolated", message);
    }
    Ok(())
}

/// Judges programs of one generator; `test` is the name of the test that does. The number of
/// programs that are proved.
fn campaign(test: &str, make: impl Fn(u64) -> Option<Case> + Sync) -> u64 {
    let first = setting("FINISHLINE_SEED", FIRST_SEED);
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    let began = Instant::now();
    let done = AtomicU64::new(0);
    let sum = Mutex::new(Tally::default());
    let failures = Mutex::new(Vec::new());
    in_parallel(first..first + count, |seed| {
        let before = done.fetch_add(1, Ordering::Relaxed);
        if before > 0 && before.is_multiple_of(TOLD_AFTER) {
            eprintln!(
                "{test}: {before} of {count} programs, {:.0?}",
                began.elapsed()
            );
        }
        let Some(case) = make(seed) else { return };
        let Disagreement { kind, message } = match judge(&case) {
            Ok(tally) => {
                let mut sum = sum.lock().expect("no panic");
                sum.proved += tally.proved;
                sum.compared += tally.compared;
                sum.racy += tally.racy;
                sum.spared += tally.spared;
                sum.left_out += tally.left_out;
                return;
            }
            Err(disagreement) => disagreement,
        };
        let repeat = format!(
            "FINISHLINE_SEED={seed} FINISHLINE_SEEDS=1 cargo test -p finishline-poly \
             --test poly default_check::{test}"
        );
        eprintln!("{test}: seed {seed}: {kind}: {message}\nrepeat: {repeat}");
        if failures.lock().expect("no panic").len() >= MOST_FAILURES {
            return;
        }
        let inputs = &case.inputs;
        let again = |program: &Program| {
            judge(&Case {
                program: program.clone(),
                inputs: inputs.clone(),
            })
        };
        let small = shrink(&case.program, &mut |program| {
            again(program).is_err_and(|other| other.kind == kind)
        });
        let said = again(&small).err().map(|it| it.message).unwrap_or_default();
        let text = render(&small);
        let failure = format!("seed {seed}: {kind}: {message}\nshrunk: {said}\n{text}\n{repeat}\n");
        eprintln!("{failure}");
        failures.lock().expect("no panic").push(failure);
    });
    let failures = failures.into_inner().expect("no panic");
    let Tally {
        proved,
        compared,
        racy,
        spared,
        left_out,
    } = sum.into_inner().expect("no panic");
    eprintln!(
        "{test}: {count} programs on {compared} inputs in {:.0?}: {racy} race, \
         {spared} with proofs; {left_out} too long; {proved} programs are proved",
        began.elapsed()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    // Racy and clean inputs, with proofs and without, or the comparison shows little. Small
    // programs are scattered from the first seed on. Far from it they are much alike.
    if count >= PROGRAMS && first == FIRST_SEED {
        assert!(
            racy > compared / 50 && racy < compared * 49 / 50,
            "{racy} of {compared} race"
        );
        assert!(
            spared > compared / 20,
            "proofs spare checks on {spared} of {compared} inputs"
        );
        assert!(left_out < compared, "{left_out} inputs are too long");
    }
    proved
}

/// A program on a few inputs that the seed chooses.
fn on_some_inputs(seed: u64, program: Program) -> Case {
    const INPUTS: u64 = 3;
    let mut rng = Rng::new(seed);
    let main = program.functions.iter().find(|it| it.name == Name::MAIN);
    let parameters = main.map_or(0, |main| main.parameters.len());
    let inputs = match parameters {
        0 => vec![Vec::new()],
        _ => (0..INPUTS)
            .map(|_| (0..parameters).map(|_| argument(&mut rng)).collect())
            .collect(),
    };
    Case { program, inputs }
}

#[test]
fn affine_programs() {
    campaign("affine_programs", |seed| {
        let settings = affine::Settings {
            beyond: seed.is_multiple_of(4),
            ..affine::Settings::of_seed(seed)
        };
        Some(on_some_inputs(seed, affine::program(seed, &settings)))
    });
}

#[test]
fn random_programs() {
    campaign("random_programs", |seed| {
        let settings = random::Settings::wild(seed);
        Some(on_some_inputs(seed, random::program(seed, &settings)))
    });
}

/// The program of a seed. First come all programs of at most `statements` statements, in a
/// scattered order, so that a few of them are of all sizes; then the larger ones.
fn scattered(vocabulary: Vocabulary, statements: usize, seed: u64) -> Option<Program> {
    /// A prime that divides no number of programs.
    const STRIDE: u64 = 1_000_003;
    let all = (0..=statements).map(|it| Small::over(vocabulary, it).count());
    let all: u64 = all.sum();
    match seed < all {
        true => numbered(vocabulary, seed * STRIDE % all),
        false => numbered(vocabulary, seed),
    }
}

#[test]
fn small_programs() {
    campaign("small_programs", |seed| {
        let program = scattered(Vocabulary::Wild, 4, seed)?;
        let inputs = small::ARGUMENTS.map(|argument| vec![argument]).into();
        Some(Case { program, inputs })
    });
}

#[test]
fn small_plain_programs() {
    campaign("small_plain_programs", |seed| {
        let program = scattered(Vocabulary::Plain, 5, seed)?;
        let inputs = vec![Vec::new()];
        Some(Case { program, inputs })
    });
}

#[test]
fn programs_with_promises() {
    campaign("programs_with_promises", |seed| {
        let settings = random::Settings::promises(seed);
        Some(on_some_inputs(seed, random::program(seed, &settings)))
    });
}

#[test]
fn small_programs_with_promises() {
    campaign("small_programs_with_promises", |seed| {
        let program = scattered(Vocabulary::Promises, 6, seed)?;
        let inputs = vec![Vec::new()];
        Some(Case { program, inputs })
    });
}

#[test]
fn pipelines() {
    let proved = campaign("pipelines", |seed| {
        Some(Case {
            program: affine::pipeline(seed),
            inputs: [0, 1, 2, 3, 5].map(|input| vec![input]).into(),
        })
    });
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    assert!(
        count < PROGRAMS || proved > count / 6,
        "{proved} of {count} are proved"
    );
}
