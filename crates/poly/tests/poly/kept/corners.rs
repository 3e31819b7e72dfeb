//! Corner programs of the prover, by category, each with the inputs that race and the answers that
//! are allowed.
//!
//! The programs are in `corners/*.txt`. An entry opens with `=== ` and its rule. Then come:
//! - `answer:` the verdicts of `prove` that are right: `proved`, `race`, `not proved`, `not race`.
//!   An answer may be for a stated range of the parameters. `proved` must then cover usual inputs,
//!   and `not proved` allows a proof whose range has no input that races;
//! - `races:` inputs that race, separated by `;`; `()` is the input of a `main` without parameters;
//! - `free:` inputs that don't.
//!
//! The expected answers come from the definition of Fin, never from the prover. Two judges hold the
//! entry to the definition: the oracle on a depth-first run, and every schedule of the program
//! (`interleavings`), which also sees tasks that fail or never end. Then the prover is held to the
//! entry, and `check` with proofs is held to the oracle on every input.

use crate::checked::run_for;
use finishline_answer::Verdict;
use finishline_answer::claim::Confirmation;
use finishline_answer::proof::Proof;
use finishline_detect::oracle::{Mode, Oracle};
use finishline_engine::arguments;
use finishline_engine::compare::{Said, compare};
use finishline_engine::confirm::confirm;
use finishline_engine::executor::{Executor, Forms};
use finishline_engine::interleavings::{self, Granularity};
use finishline_engine::question::Question;
use finishline_engine::run::{self, End};
use finishline_fin::hir;
use finishline_ir::Module;
use finishline_ir::listener::EventsAlone;
use finishline_ir::machine::{Datum, Limits};
use finishline_model::{AccessId, Pass, Passes};
use finishline_poly::{Answer, Budget, Detail, Options, families, prove};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;

/// The verdicts that are right.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Allowed {
    Proved,
    Race,
    NotProved,
    NotRace,
}

impl Allowed {
    fn parse(words: &str) -> Option<Allowed> {
        Some(match words {
            "proved" => Allowed::Proved,
            "race" => Allowed::Race,
            "not proved" => Allowed::NotProved,
            "not race" => Allowed::NotRace,
            _ => return None,
        })
    }

    /// Whether such a program has an input that races.
    fn some_input_races(self) -> bool {
        matches!(self, Allowed::Race | Allowed::NotProved)
    }

    fn allows(self, verdict: Verdict) -> bool {
        match self {
            Allowed::Proved => verdict == Verdict::Proved,
            Allowed::Race => verdict == Verdict::Race,
            // Which inputs a proof covers is asked for each input.
            Allowed::NotProved => true,
            Allowed::NotRace => verdict != Verdict::Race,
        }
    }
}

/// An entry of a file.
struct Corner {
    rule: String,
    answer: Allowed,
    /// Each input as the words of a command line, and whether it races.
    inputs: Vec<(Vec<String>, bool)>,
    source: String,
}

fn parse(entry: &str) -> Option<Corner> {
    let (rule, rest) = entry.split_once('\n')?;
    let mut answer = None;
    let mut inputs = Vec::new();
    let mut source = String::new();
    for line in rest.lines() {
        let words =
            |list: &str| -> Vec<Vec<String>> { list.split(';').map(words_of_an_input).collect() };
        if let Some(words) = line.strip_prefix("answer: ") {
            answer = Some(Allowed::parse(words)?);
        } else if let Some(list) = line.strip_prefix("races: ") {
            inputs.extend(words(list).into_iter().map(|input| (input, true)));
        } else if let Some(list) = line.strip_prefix("free: ") {
            inputs.extend(words(list).into_iter().map(|input| (input, false)));
        } else {
            source += line;
            source.push('\n');
        }
    }
    Some(Corner {
        rule: rule.to_string(),
        answer: answer?,
        inputs,
        source,
    })
}

/// `MIN` and `MAX` stand for the smallest and the largest integer.
fn words_of_an_input(input: &str) -> Vec<String> {
    let words = input.split_whitespace().filter(|word| *word != "()");
    words
        .map(|word| match word {
            "MIN" => i64::MIN.to_string(),
            "MAX" => i64::MAX.to_string(),
            word => word.to_string(),
        })
        .collect()
}

/// What `check` allows the prover.
const FOR_CHECKS: Options = Options {
    budget: Budget::Operations(1_000_000),
    detail: Detail::Verdicts,
};

/// Enough for programs that end, and for those whose tasks never do.
const FUEL: u64 = 1_000_000;
const STEPS: usize = 20_000;
/// How many states of a program are explored, by whether its depth-first run ends.
const STATES_IF_IT_ENDS: u64 = 3_000;
const STATES_IF_NOT: u64 = 20_000;
/// A proof that is demanded covers at least these arguments.
const USUAL: u64 = 1 << 31;
/// Beyond these arguments instances are too many to be listed.
const SMALL: u64 = 16;

/// What is right for one input.
struct Truth {
    races: bool,
    /// None if it does not end.
    depth_first: Option<DepthFirst>,
}

/// What the oracle says of a depth-first run by the reference interpreter.
struct DepthFirst {
    racing: BTreeSet<AccessId>,
    locations: usize,
    end: End,
}

/// What the two judges say, or why they can't tell.
fn truth(module: &Module, arguments: &[Datum]) -> Result<Truth, String> {
    let mut oracle = Oracle::new(STEPS);
    let limits = Limits::default();
    let program = run::Program {
        module,
        arguments,
        limits,
    };
    let outcome = run_for(FUEL, program, &mut EventsAlone(&mut oracle));
    let ended = !oracle.gave_up() && !matches!(outcome.result, End::OutOfFuel);
    let limits = Limits {
        memory: 1 << 20,
        ..limits
    };
    // A task that stays for ever does so between two visible steps.
    let (granularity, states) = match ended {
        true => (Granularity::Visible, STATES_IF_IT_ENDS),
        false => (Granularity::Instruction, STATES_IF_NOT),
    };
    let budget = interleavings::Budget {
        states,
        steps: 30 * states,
    };
    let schedules = interleavings::explore(module, arguments, limits, granularity, budget);
    let locations = oracle.racing_locations(Mode::Structure).len();
    let races = !schedules.conflicts.is_empty() || ended && locations > 0;
    if !races && !ended && schedules.gave_up {
        return Err("neither judge can tell".to_string());
    }
    let depth_first = ended.then(|| DepthFirst {
        racing: oracle.racing_accesses(),
        locations,
        end: outcome.result,
    });
    Ok(Truth { races, depth_first })
}

/// A compiled program and the prover's answers.
struct Judged {
    answer: Allowed,
    hir: hir::Program,
    module: Module,
    /// As the user of `prove` is told.
    told: Answer,
    /// As `check` uses it.
    used: Answer,
}

/// Everything that is wrong with the entry, or with what is said of it.
fn judge(corner: &Corner) -> Vec<String> {
    let text = corner.source.as_bytes();
    let (hir, module) = match (
        finishline_fin::analyse("corner.fin", text),
        finishline_fin::compile("corner.fin", text),
    ) {
        (Ok(hir), Ok(program)) => (hir, program.module),
        (Err(errors), _) | (_, Err(errors)) => return vec![errors.render(false)],
    };
    let mut wrong = Vec::new();
    let races = corner.inputs.iter().any(|(_, races)| *races);
    if races != corner.answer.some_input_races() {
        wrong.push("the entry contradicts itself".to_string());
    }
    let mut told = prove(&hir, &super::OPTIONS);
    confirm(&mut told.proof, &module);
    let verdict = told.proof.verdict;
    if !corner.answer.allows(verdict) {
        wrong.push(format!("{:?} expected: {verdict:?}", corner.answer));
    }
    for race in &told.proof.findings {
        let witness = race.witness();
        if witness.is_some_and(|it| it.confirmation == Confirmation::Contradicted) {
            wrong.push(format!("the race is none: {race:?}"));
        }
    }
    let judged = Judged {
        answer: corner.answer,
        used: prove(&hir, &FOR_CHECKS),
        hir,
        module,
        told,
    };
    for (words, races) in &corner.inputs {
        if let Err(error) = judged.judge_input(words, *races) {
            wrong.push(format!("{}: {error}", words.join(" ")));
        }
    }
    wrong
}

impl Judged {
    fn judge_input(&self, words: &[String], races: bool) -> Result<(), String> {
        let data = arguments::parse(&self.module, words).map_err(|error| error.to_string())?;
        let truth = truth(&self.module, &data)?;
        if truth.races != races {
            return Err(format!("the judges say that it races: {}", truth.races));
        }
        let integers: Vec<Option<i64>> = data.iter().map(integer).collect();
        let proof = self.told.proof.proof().ok_or("no proof")?;
        let covered = covers(proof, &integers);
        if races && self.told.proof.verdict == Verdict::Proved && covered {
            return Err(format!("it races, but it is proved for {:?}", proof.range));
        }
        let usual = integers
            .iter()
            .flatten()
            .all(|it| it.unsigned_abs() <= USUAL);
        if self.answer == Allowed::Proved && usual && !covered {
            return Err(format!("it is proved for {:?} only", proof.range));
        }
        if let Some(run) = truth.depth_first {
            for (answer, whose) in [(&self.told, "prove"), (&self.used, "check")] {
                if let Some(access) = answer.harmless(&integers).intersection(&run.racing).next() {
                    return Err(format!("harmless for {whose}, but races: {access:?}"));
                }
            }
            if matches!(run.end, End::Finished) {
                self.hold_sure_races(&integers, &run.racing)?;
            }
            for passes in [Passes::ALL, Passes::NONE.with(Pass::Proved)] {
                self.hold_check((words, &data), &integers, passes, run.locations)?;
            }
        }
        Ok(())
    }

    /// Races that are sure, by instances, are races of the run.
    fn hold_sure_races(
        &self,
        arguments: &[Option<i64>],
        racing: &BTreeSet<AccessId>,
    ) -> Result<(), String> {
        let small = |argument: &Option<i64>| argument.filter(|it| it.unsigned_abs() <= SMALL);
        let Some(small) = arguments.iter().map(small).collect::<Option<Vec<i64>>>() else {
            return Ok(());
        };
        let Some(sure) = families(&self.hir).ok().and_then(|all| all.races(&small)) else {
            return Ok(());
        };
        for (first, second) in sure {
            if !racing.contains(&first.access) || !racing.contains(&second.access) {
                return Err(format!("no race: {first:?} and {second:?}"));
            }
        }
        Ok(())
    }

    /// `check` finds the racing locations of the oracle, so many, whatever checks are left out.
    fn hold_check(
        &self,
        (words, data): (&[String], &[Datum]),
        integers: &[Option<i64>],
        passes: Passes,
        locations: usize,
    ) -> Result<(), String> {
        let forms = Forms::new(&self.module, Executor::Compiled, passes);
        let question = Question {
            module: &self.module,
            forms: forms.with_harmless(self.used.harmless(integers)),
            words: words.to_vec(),
            arguments: data.to_vec(),
            limits: Limits::default(),
            max_races: usize::MAX,
            suppressions: None,
            watch: None,
            schedule: None,
            progress: AtomicU64::new(0),
        };
        let comparison = compare(&question).map_err(|error| error.to_string())?;
        if let Some(disagreement) = comparison.disagreements.first() {
            return Err(format!("{passes:?}: {disagreement}"));
        }
        // Compiled code does what the interpreter does. Whether a detector that takes the order of
        // critical sections for granted may find less is judged by the comparison.
        for (detector, said) in comparison.answers {
            let right = match said {
                Said::Racing(found) => found == locations || detector.orders_by_locks(),
                Said::NotApplicable(_) => true,
                _ => false,
            };
            if !right {
                return Err(format!("{passes:?}: {detector}: {said:?}, not {locations}"));
            }
        }
        Ok(())
    }
}

/// Whether an answer is about an input. A parameter that is no integer has no range.
fn covers(proof: &Proof, arguments: &[Option<i64>]) -> bool {
    let holds = |name: &String, value: i64| {
        (proof.range.iter().filter(|it| it.parameter == *name)).all(|it| {
            it.least.is_none_or(|least| least <= value)
                && it.greatest.is_none_or(|greatest| value <= greatest)
        })
    };
    let parameters = proof.parameters.iter().zip(arguments);
    parameters
        .filter_map(|(name, value)| Some((name, (*value)?)))
        .all(|(name, value)| holds(name, value))
}

fn integer(datum: &Datum) -> Option<i64> {
    match datum {
        Datum::Int(value) => Some(*value),
        _ => None,
    }
}

/// Judges all entries of a file and tells all that is wrong.
fn judge_all(file: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/poly/kept/corners/");
    let text = std::fs::read_to_string(format!("{folder}{file}")).expect("the file is there");
    let mut wrong = String::new();
    let entries = text.split("=== ").skip(1);
    for entry in entries {
        let Some(corner) = parse(entry) else {
            panic!("corners/{file}: not an entry: {entry}");
        };
        for error in judge(&corner) {
            wrong += &format!("{file}: {}: {error}\n", corner.rule);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// A test for each file.
macro_rules! categories {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            judge_all(concat!(stringify!($name), ".txt"));
        })*
    };
}

categories! {
    data divisions ends finishes loops promises references returns sizes wrapping wrapping_counters
}
