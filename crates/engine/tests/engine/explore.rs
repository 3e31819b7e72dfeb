//! The exploration of orders, against every interleaving of small programs whose isolated blocks
//! decide what happens.
//!
//! With and without reduction it finds a race iff some interleaving has one. Without a race it
//! finds the same failures and the same states at the end. And reduction leaves exactly one order
//! of each class: those that it runs are as many as there are classes among all orders.

use crate::common::compile;
use finishline_answer::Verdict;
use finishline_engine::check::check;
use finishline_engine::executor::{Executor, Forms};
use finishline_engine::explore::answer;
use finishline_engine::explore::blocks::Block;
use finishline_engine::explore::in_all::Structures;
use finishline_engine::explore::order_script::OrderScript;
use finishline_engine::explore::task_names::TaskNames;
use finishline_engine::explore::tree::Reduction;
use finishline_engine::explore::{
    Course, Exploration, Fault, FinalState, Incomplete, Options, Piece, Pieces, Progress,
    explore_course, explore_telling,
};
use finishline_engine::interleavings::{self, Budget, Granularity, Interleavings, Outcome};
use finishline_engine::partition::Part;
use finishline_engine::question::Question;
use finishline_engine::run::Program;
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::orders::{self, OrderProgram};
use finishline_generate::render;
use finishline_generate::small::{Small, Vocabulary};
use finishline_ir::Module;
use finishline_ir::machine::Limits;
use finishline_model::{Detector, Passes};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAMS: u64 = 2_000;
const MOST_ORDERS: u64 = 20_000;

fn input(module: &Module) -> Program<'_> {
    Program {
        module,
        arguments: &[],
        limits: Limits {
            memory: 1 << 20,
            ..Limits::default()
        },
    }
}

/// A class of equivalent orders: each block by its task and its number there, with the blocks that
/// happen before it.
type Class = Vec<(String, Vec<String>)>;

fn class(blocks: &[Block], names: &TaskNames) -> Class {
    let name = |block: &Block| format!("{:?}.{}", names.path(block.task), block.ordinal);
    let mut class: Class = (blocks.iter().enumerate())
        .map(|(number, block)| {
            let mut before: Vec<String> = (0..number)
                .filter(|earlier| block.before.contains(*earlier))
                .map(|earlier| name(&blocks[earlier]))
                .collect();
            before.sort_unstable();
            (name(block), before)
        })
        .collect();
    class.sort_unstable();
    class
}

/// How a program is explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// All orders.
    All,
    /// One of each class.
    Reduced,
    /// The same, in pieces as small as can be.
    Crumbs,
    /// The same, in larger pieces.
    Pieces,
    /// Three parts that know nothing of each other, then put together.
    Parts,
}

/// The exploration, and how often each class was run.
fn explored(module: &Module, way: Way) -> (Exploration, BTreeMap<Class, u64>) {
    let classes = Mutex::new(BTreeMap::new());
    let (jobs, least) = match way {
        Way::All | Way::Reduced => (1, 0),
        Way::Crumbs => (2, 1),
        Way::Pieces => (3, 4),
        Way::Parts => (1, 2),
    };
    let options = Options {
        reduction: match way {
            Way::All => Reduction::None,
            _ => Reduction::Optimal,
        },
        states: true,
        max_blocks: 200,
        max_orders: MOST_ORDERS,
        jobs: NonZero::new(jobs).expect("a job"),
        pieces: Pieces {
            share: u32::MAX,
            least,
        },
        ..Options::default()
    };
    let tell = |blocks: &[Block], names: &TaskNames| {
        *(classes.lock().unwrap().entry(class(blocks, names))).or_default() += 1;
    };
    let progress = Progress::default();
    if way == Way::Parts {
        let known = Mutex::new(BTreeMap::new());
        let keep = |number: usize, piece: &Piece| {
            known.lock().unwrap().insert(number, piece.clone());
        };
        for number in 0..3 {
            let course = Course {
                part: Some(Part { number, of: 3 }),
                keep: Some(&keep),
                ..Course::default()
            };
            explore_course(input(module), options, &progress, course);
        }
        let course = Course {
            known: known.into_inner().unwrap(),
            ..Course::default()
        };
        let found = explore_course(input(module), options, &progress, course);
        return (found, BTreeMap::new());
    }
    let found = explore_telling(input(module), options, &progress, &tell);
    (found, classes.into_inner().unwrap())
}

fn all_interleavings(module: &Module) -> Interleavings {
    let Program { limits, .. } = input(module);
    let budget = Budget {
        states: 40_000,
        steps: 2_000_000,
    };
    interleavings::explore(module, &[], limits, Granularity::Visible, budget)
}

/// What the comparison of a program came to.
#[derive(Default)]
struct Compared {
    races: bool,
    orders: u64,
    classes: u64,
    trials: u64,
    cut_off: u64,
}

fn question(module: &Module, schedule: Option<OrderScript>) -> Question<'_> {
    Question {
        module,
        forms: Forms::new(module, Executor::Interpreted, Passes::NONE),
        words: Vec::new(),
        arguments: Vec::new(),
        limits: input(module).limits,
        max_races: usize::MAX,
        suppressions: None,
        watch: None,
        schedule,
        progress: AtomicU64::new(0),
    }
}

/// Checks the orders in which something happened, and compares what that shows.
fn replay(module: &Module, found: &Exploration) -> Result<(), String> {
    let expected = |fault: &Fault| match fault {
        Fault::Race => Verdict::Race,
        Fault::Failed(_) => Verdict::Trap,
        Fault::Deadlock => Verdict::Deadlock,
    };
    for faulty in found.faults.iter().take(3) {
        let script = faulty.script.to_string();
        let read: OrderScript = script.parse().map_err(|error| format!("{error}"))?;
        if read != faulty.script {
            return Err(format!("the order `{script}` is read as `{read}`"));
        }
        let question = question(module, Some(read));
        let answer = check(&question, Detector::Finishline, &mut std::io::sink());
        let answer = answer.map_err(|error| format!("`{script}`: {error}"))?;
        let expected = expected(&faulty.fault);
        if answer.verdict != expected {
            return Err(format!(
                "`{script}`: {}, expected {expected}",
                answer.verdict
            ));
        }
        if let (Fault::Failed(kind), Some(failure)) = (faulty.fault, &answer.failure)
            && (failure.kind != kind || failure.schedule != Some(script.clone()))
        {
            return Err(format!("`{script}`: {}, not {kind}", failure.kind));
        }
    }
    Ok(())
}

/// None if there was too much to compare with.
fn compare(source: &str) -> Result<Option<Compared>, String> {
    let module = compile(source)?;
    let all = all_interleavings(&module);
    if all.gave_up {
        return Ok(None);
    }
    let (every, classes) = explored(&module, Way::All);
    let (reduced, run) = explored(&module, Way::Reduced);
    let in_pieces = [Way::Crumbs, Way::Pieces, Way::Parts].map(|way| (explored(&module, way), way));
    let runs = in_pieces
        .iter()
        .map(|((found, run), way)| (found, run, *way));
    let runs: Vec<_> = [(&every, &classes, Way::All), (&reduced, &run, Way::Reduced)]
        .into_iter()
        .chain(runs)
        .collect();
    let races = |found: &Exploration| {
        let mut faults = found.faults.iter();
        faults.any(|it| matches!(it.fault, Fault::Race))
    };
    let expected = !all.conflicts.is_empty();
    if every.incomplete.is_some() && !races(&every) {
        return Ok(None);
    }
    for (found, run, way) in &runs {
        if races(found) != expected {
            let found = !expected;
            return Err(format!("{way:?}: a race: {found}, expected: {expected}"));
        }
        if !matches!(found.incomplete, None | Some(Incomplete::FirstRace)) {
            return Err(format!("{way:?}: {:?}", found.incomplete));
        }
        if *way == Way::All {
            continue;
        }
        replay(&module, found)?;
        if let Some((class, times)) = run.iter().find(|(_, times)| **times > 1) {
            return Err(format!("{way:?}: {times} runs are equivalent: {class:?}"));
        }
    }
    if reduced.cut_off > 0 {
        return Err(format!("{} runs were cut off", reduced.cut_off));
    }
    let compared = Compared {
        races: expected,
        orders: every.orders,
        classes: reduced.orders,
        trials: reduced.trials,
        cut_off: runs.iter().map(|(found, ..)| found.cut_off).sum(),
    };
    if expected {
        return Ok(Some(compared));
    }
    for (found, _, way) in &runs {
        match &found.structures {
            Structures::Same { orders, .. } if *orders != every.orders.to_string() => {
                let all = every.orders;
                return Err(format!("{way:?}: {orders} in all, not {all}"));
            }
            Structures::Unseen if found.orders > 0 => {
                return Err(format!("{way:?}: no structure was noted"));
            }
            _ => {}
        }
    }
    let finished: BTreeSet<FinalState> = (all.outcomes.iter())
        .filter(|outcome| matches!(outcome, Outcome::Finished { .. }))
        .map(Outcome::digest)
        .collect();
    let fails = |found: &Exploration| {
        let mut kinds = [false; 2];
        for it in &found.faults {
            match it.fault {
                Fault::Failed(_) => kinds[0] = true,
                Fault::Deadlock => kinds[1] = true,
                Fault::Race => {}
            }
        }
        kinds
    };
    let expected = [
        (all.outcomes.iter()).any(|it| matches!(it, Outcome::Trapped { .. })),
        (all.outcomes.iter()).any(|it| matches!(it, Outcome::Deadlock { .. })),
    ];
    for (found, run, way) in &runs {
        if !found.states.keys().eq(&finished) {
            let (found, expected) = (found.states.len(), finished.len());
            return Err(format!("{way:?}: {found} states, expected {expected}"));
        }
        if fails(found) != expected {
            let found = fails(found);
            return Err(format!(
                "{way:?}: fails, deadlocks: {found:?}, not {expected:?}"
            ));
        }
        if !expected[0] && *way != Way::Parts && run.keys().ne(classes.keys()) {
            let (run, all) = (run.len(), classes.len());
            return Err(format!("{way:?}: {run} classes were run of {all}"));
        }
    }
    if differs(&module, &reduced)? != (finished.len() > 1) {
        let states = finished.len();
        return Err(format!("{states} states, and the answer does not say so"));
    }
    Ok(Some(compared))
}

/// Whether the answer shows two states that differ.
fn differs(module: &Module, found: &Exploration) -> Result<bool, String> {
    let mut question = question(module, None);
    let options = Options {
        states: true,
        ..Options::default()
    };
    let answer = answer::answer(&mut question, options, found.clone());
    let answer = answer.map_err(|error| error.to_string())?;
    let explored = answer.check().and_then(|check| check.exploration.as_ref());
    let told = explored.and_then(|explored| explored.determinacy.as_ref());
    let told = told.ok_or("nothing is said about determinacy")?;
    let Some(differ) = &told.differ else {
        return Ok(false);
    };
    let [a, b] = &differ.orders;
    match a.value != b.value || a.value == "an object" {
        true if differ.decided_by.is_some() => Ok(true),
        _ => Err(format!("the orders are said to differ so: {differ:?}")),
    }
}

/// A small program that still has the fault.
fn shrunk(mut program: OrderProgram) -> OrderProgram {
    while let Some(smaller) = (program.smaller().into_iter()).find(|it| {
        let source = it.to_string();
        compile(&source).is_ok() && compare(&source).is_err()
    }) {
        program = smaller;
    }
    program
}

#[test]
fn exploration_agrees_with_every_interleaving() {
    campaign(|seed| orders::program(seed, 5));
}

#[test]
fn exploration_of_locks_agrees_with_every_interleaving() {
    campaign(|seed| orders::program_with_locks(seed, 4));
}

/// Every program of few statements.
#[test]
fn all_small_programs_with_locks() {
    let most = setting("FINISHLINE_STATEMENTS", 4) as usize;
    for statements in 0..=most {
        let small = Small::over(Vocabulary::Locks, statements);
        in_parallel(0..small.count(), |number| {
            let source = render(&small.program(number));
            if let Err(error) = compare(&source) {
                panic!("program {number} of {statements} statements: {error}\n{source}");
            }
        });
    }
}

fn campaign(make: impl Fn(u64) -> OrderProgram + Sync) {
    let first = setting("FINISHLINE_SEED", 1);
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    let sums: [AtomicU64; 6] = Default::default();
    in_parallel(first..first + count, |seed| {
        let program = make(seed);
        match compare(&program.to_string()) {
            Ok(None) => {}
            Ok(Some(it)) => {
                let figures = [
                    1,
                    it.races.into(),
                    it.orders,
                    it.classes,
                    it.trials,
                    it.cut_off,
                ];
                for (sum, figure) in sums.iter().zip(figures) {
                    sum.fetch_add(figure, Ordering::Relaxed);
                }
            }
            Err(error) => {
                let small = shrunk(program);
                let small_error = compare(&small.to_string()).err();
                panic!("seed {seed}: {error}; shrunk: {small_error:?}\n{small}");
            }
        }
    });
    let [compared, races, orders, classes, trials, cut_off] = sums.map(AtomicU64::into_inner);
    println!(
        "{compared} compared, {races} with races, {orders} orders, {classes} run, {trials} trials; \
         in pieces {cut_off} cut off"
    );
    assert!(
        compared > count * 8 / 10,
        "only {compared} of {count} could be compared"
    );
}
