//! Random programs on several threads: the run is recorded, and every detector that can judge its
//! order agrees with the oracle on it. What the run of one thread establishes, the others confirm.
//!
//! `FINISHLINE_SEEDS` and `FINISHLINE_SEED` run more, or others (`cargo xtask soak`).

use crate::common::{self, Judge, compile, is_depth_first};
use finishline_answer::Verdict;
use finishline_answer::answer::Answer;
use finishline_detect::parallel::Trust;
use finishline_engine::check;
use finishline_engine::executor::{Executor, Forms, on_threads};
use finishline_engine::question::Question;
use finishline_generate::campaign::{in_parallel, in_parallel_with, setting};
use finishline_generate::rng::Rng;
use finishline_generate::{Program, Settings, program, render, shrink};
use finishline_ir::Module;
use finishline_ir::listener::Listener;
use finishline_ir::machine::{Limits, Trap, TrapKind};
use finishline_jit::{CheckingCrew, ToldRun};
use finishline_model::event::Record;
use finishline_model::{Access, Construct, Detector, Event, Observer, Passes};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Programs, and schedules of each: many programs with few schedules, and few with many. A campaign
/// has one program with many schedules for as many with few.
const PROGRAMS: u64 = 3_000;
const SCHEDULES: u64 = 2;
const PROGRAMS_FOR_ONE: u64 = 20;
const MANY_SCHEDULES: u64 = 20;
/// On how many threads, one after the other.
const WORKERS: [usize; 4] = [2, 8, 1, 8];
const FUEL: u64 = 10_000_000;
const CHECKED_ONE_IN: u64 = 4;

/// Records a run, and lets other threads go first now and then.
struct Shaken {
    records: Vec<Record>,
    rng: Rng,
    /// One in so many times.
    rarely: u32,
}

impl Shaken {
    fn new(seed: u64) -> Shaken {
        let mut rng = Rng::new(seed);
        let rarely = rng.pick(&[2, 5, 20, 200]);
        Shaken {
            records: Vec::new(),
            rng,
            rarely,
        }
    }

    fn shake(&mut self) {
        if self.rng.below(self.rarely) == 0 {
            thread::yield_now();
        }
    }
}

impl Observer for Shaken {
    fn event(&mut self, event: &Event) {
        self.records.push(Record::Event(*event));
        self.shake();
    }

    fn access(&mut self, access: &Access) {
        self.records.push(Record::Access(*access));
        self.shake();
    }
}

impl Listener for Shaken {}

pub(crate) fn input<'a>(
    module: &'a Module,
    progress: &'a AtomicU64,
) -> finishline_jit::Program<'a> {
    finishline_jit::Program {
        module,
        arguments: &[],
        limits: Limits::default(),
        progress,
    }
}

pub(crate) fn trap(end: finishline_jit::End) -> Option<Trap> {
    match end {
        finishline_jit::End::Finished => None,
        finishline_jit::End::Trapped(trap) => Some(trap),
        finishline_jit::End::OutputError(error) => panic!("{error}"),
        finishline_jit::End::Stopped => panic!("nobody stops it"),
    }
}

/// The lines of a run in sorted order.
fn lines(output: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = output.split(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    lines
}

fn word(trap: &Option<Trap>) -> &'static str {
    trap.as_ref().map_or("finished", |trap| trap.kind.word())
}

/// Runs a program on several threads, and compares with what one thread established. How many of
/// the runs were not depth-first.
///
/// One program in [`CHECKED_ONE_IN`] is also run while nobody is told, and checked: this takes code
/// of its own for each run.
fn compare(judge: &mut Judge, program: &Program, seed: u64, schedules: u64) -> Result<u64, String> {
    let module = compile(&render(program))?;
    let mut printed = Vec::new();
    let (serial, serial_trap) = common::check_printing(judge, &module, FUEL, &mut printed)?;
    let used = |construct| module.uses(construct).is_some();
    let excludes = used(Construct::Isolated) || used(Construct::Lock);
    let clean = serial.racing.is_empty();
    let depends = serial.conflict || serial.lock_cycle;
    let one = End::new(&serial_trap, &printed);
    // A task that gets a lock first may keep another from a failure, or save both from a deadlock.
    let ends_alike = !used(Construct::Lock) || serial_trap.is_none();
    // What a program without races and conflicts does, it does in every schedule. A failure may
    // come before another one.
    let same = |several: End| match clean && !depends && ends_alike {
        true => one.is_that_of(&several),
        false => Ok(()),
    };
    let mut runs: Vec<ToldRun<Shaken>> = (0..schedules)
        .map(|schedule| {
            let shaken = Shaken::new(seed.wrapping_mul(31).wrapping_add(schedule));
            ToldRun::new(workers(seed + schedule), shaken)
        })
        .collect();
    let progress = AtomicU64::new(0);
    finishline_jit::tell_parallel(input(&module, &progress), &mut runs)
        .map_err(|error| error.to_string())?;
    let mut shuffled = 0;
    for told in runs {
        let records = told.listener.into_inner().expect("no panic").records;
        let what = |said: String| format!("{} threads, told: {said}", told.workers);
        let end = told.end.and_then(trap);
        let judged = judge.judge_in_any_order(&module, &records).map_err(what)?;
        shuffled += u64::from(!is_depth_first(&records));
        let complete = serial_trap.is_none() && end.is_none();
        if complete && !excludes && clean != judged.racing.is_empty() {
            return Err(what("race or clean depends on the schedule".to_owned()));
        }
        same(End::new(&end, &told.output)).map_err(what)?;
    }
    if seed.is_multiple_of(CHECKED_ONE_IN) {
        for schedule in 0..schedules {
            let workers = workers(seed + schedule);
            let mut output = Vec::new();
            let plain = finishline_jit::run(input(&module, &progress), workers, &mut output);
            let plain = trap(plain.map_err(|error| error.to_string())?);
            same(End::new(&plain, &output)).map_err(|said| format!("{workers} threads: {said}"))?;
            if serial_trap.is_none() {
                let turn = seed / CHECKED_ONE_IN + schedule;
                checked_on_threads(&module, workers, clean, excludes && depends, turn)?;
            }
        }
    }
    Ok(shuffled)
}

fn workers(turn: u64) -> usize {
    WORKERS[(turn % WORKERS.len() as u64) as usize]
}

/// How a run has ended, and what it has printed.
struct End<'a> {
    trap: &'a Option<Trap>,
    output: &'a [u8],
}

impl<'a> End<'a> {
    fn new(trap: &'a Option<Trap>, output: &'a [u8]) -> Self {
        End { trap, output }
    }

    /// The difference in words, if there is one.
    fn is_that_of(&self, several: &End) -> Result<(), String> {
        let (one, other) = (word(self.trap), word(several.trap));
        let finished = |word| word == "finished";
        let waits = is_deadlock(self.trap) != is_deadlock(several.trap);
        if finished(one) != finished(other) || waits {
            return Err(format!("{other}, and on one thread {one}"));
        }
        if finished(one) && lines(self.output) != lines(several.output) {
            return Err("prints other lines than on one thread".to_owned());
        }
        Ok(())
    }
}

/// Detectors of parallel runs say of a complete run whether it races: `finishline`, and one of the
/// others. `depends` if what the program does may depend on the schedule even without races.
fn checked_on_threads(
    module: &Module,
    workers: usize,
    clean: bool,
    depends: bool,
    turn: u64,
) -> Result<(), String> {
    let used = |construct| module.uses(construct).is_some();
    let excludes = used(Construct::Isolated) || used(Construct::Lock);
    let judges = |detector: &Detector| {
        let mut constructs = module.constructs.iter();
        on_threads(*detector) && constructs.all(|used| detector.judges(used.construct))
    };
    let others = |detector: &Detector| *detector != Detector::Finishline && judges(detector);
    let others: Vec<Detector> = Detector::ALL.into_iter().filter(others).collect();
    let other = others[turn as usize % others.len()];
    // With every check, or with those that are left, which may be of ranges.
    let few = finishline_opt::for_speed(module, Passes::ALL);
    let module = [module, &few][(turn / 2 % 2) as usize];
    // Programs that are over so soon earn no trust.
    let trust = match turn % 4 {
        0 => Trust::Earned,
        _ => Trust::Blind,
    };
    for (detector, trust) in [(Detector::Finishline, trust), (other, Trust::Never)] {
        let progress = AtomicU64::new(0);
        let program = input(module, &progress);
        let crew = CheckingCrew {
            workers,
            one_race: false,
            trust,
        };
        let prepared = finishline_jit::prepare_parallel_check(program, detector, crew);
        let Some(prepared) = prepared else {
            return Err(format!("{detector} does not run on threads"));
        };
        let prepared = prepared.map_err(|error| error.to_string())?;
        let (end, findings) = prepared.run(&mut std::io::sink());
        let findings = findings.map_err(|failure| failure.to_string())?;
        // A race may steer the program into a failure.
        match (trap(end), findings.racing.is_empty()) {
            // It may miss what other orders of critical sections have.
            (None, true) if detector.orders_by_locks() && excludes => {}
            (None, says) if says != clean && !depends => {
                return Err(format!(
                    "{detector} on {workers} threads: clean {says}, oracle: {clean}"
                ));
            }
            (Some(trap), _) if clean && !depends => {
                return Err(format!("{detector} on {workers} threads fails: {trap:?}"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_deadlock(trap: &Option<Trap>) -> bool {
    let kind = trap.as_ref().map(|trap| &trap.kind);
    matches!(kind, Some(TrapKind::Deadlock { .. }))
}

fn settings(seed: u64) -> Settings {
    match seed % 4 {
        0 | 1 => Settings::of_seed(seed),
        2 => Settings::promises(seed),
        _ => Settings::locks(seed),
    }
}

/// Compares so many programs, each with so many schedules.
fn campaign(count: u64, schedules: u64) {
    let first = setting("FINISHLINE_SEED", 1);
    let shuffled = AtomicU64::new(0);
    in_parallel_with(first..first + count, Judge::new, |judge, seed| {
        let program = program(seed, &settings(seed));
        let error = match compare(judge, &program, seed, schedules) {
            Ok(runs) => {
                shuffled.fetch_add(runs, Ordering::Relaxed);
                return;
            }
            Err(error) => error,
        };
        // A failure may come and go with the schedule.
        let small = shrink(&program, &mut |program| {
            (0..20).any(
                |again| match compare(judge, program, seed + again, schedules) {
                    Ok(_) => false,
                    Err(said) => !said.starts_with("error"),
                },
            )
        });
        panic!("seed {seed}: {error}\n{}", render(&small));
    });
    // Runs in the order of one thread show little.
    let shuffled = shuffled.into_inner();
    if count >= 1000 {
        assert!(
            shuffled > count * schedules / 5,
            "{shuffled} runs are not depth-first"
        );
    }
}

#[test]
fn recorded_runs_are_judged_as_the_oracle_does() {
    campaign(setting("FINISHLINE_SEEDS", PROGRAMS), SCHEDULES);
}

#[test]
fn many_schedules_of_a_program_are_judged_as_the_oracle_does() {
    let programs = setting("FINISHLINE_SEEDS", PROGRAMS).div_ceil(PROGRAMS_FOR_ONE);
    campaign(programs, MANY_SCHEDULES);
}

/// How a program ends on so many threads.
fn ends(source: &str, workers: usize) -> &'static str {
    let module = compile(source).expect("a program");
    let progress = AtomicU64::new(0);
    let run = finishline_jit::run(input(&module, &progress), workers, &mut std::io::sink());
    word(&trap(run.expect("a compiler")))
}

/// What `finishline check --threads` answers.
fn answer(module: &Module, threads: usize) -> Answer {
    let forms = Forms::new(module, Executor::Compiled, Passes::ALL);
    let question = Question {
        module,
        forms: forms.with_threads(threads),
        words: Vec::new(),
        arguments: Vec::new(),
        limits: Limits::default(),
        max_races: 1,
        suppressions: None,
        watch: None,
        schedule: None,
        progress: AtomicU64::new(0),
    };
    let answer = check::check(&question, Detector::Finishline, &mut std::io::sink());
    answer.expect("nothing is refused")
}

/// A race that is there in other orders of blocks alone is shown in such an order, or its accesses
/// are ordered there. What one thread has an answer to, several threads have one to.
#[test]
fn tasks_with_blocks_have_an_answer_on_every_number_of_threads() {
    let first = setting("FINISHLINE_SEED", 1);
    let count = setting("FINISHLINE_SEEDS", PROGRAMS).div_ceil(PROGRAMS_FOR_ONE);
    let in_other_orders = AtomicU64::new(0);
    in_parallel(first..first + count, |seed| {
        let source = tasks_with_blocks(&mut Rng::new(seed));
        let module = compile(&source).expect("a program");
        let verdict = |threads| answer(&module, threads).verdict;
        let alone = verdict(1);
        for threads in [2, 8] {
            let several = verdict(threads);
            // The order of blocks decides what is done next.
            let of_orders = [Verdict::CertifiedOrder, Verdict::Apparent, Verdict::Race];
            let may_differ = of_orders.contains(&alone) && of_orders.contains(&several);
            let what = || format!("seed {seed}: {alone:?}, {threads} threads: {several:?}");
            assert!(several == alone || may_differ, "{}\n{source}", what());
            if (alone, several) == (Verdict::CertifiedOrder, Verdict::Race) {
                in_other_orders.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    if count >= 100 {
        assert!(
            in_other_orders.into_inner() > count / 20,
            "most orders are those of one thread"
        );
    }
}

/// A race on several threads, whose order of blocks makes the program fail when it is repeated, is
/// told as that failure, with the order.
#[test]
fn a_failure_in_the_repeated_order_is_told_with_that_order() {
    let source = "var x = 0; var d = 0;
        fn main() { let l = new lock(); finish {
            async {
                var late = 0; while late < 200_000 { late += 1; }
                var seen = 0; locked (l) { seen = x; }
                if seen == 1 { d = 1; assert(d == 0); }
            }
            async { locked (l) { x = 1; } }
            async d = 2;
        } }";
    let module = compile(source).expect("a program");
    assert_eq!(answer(&module, 1).verdict, Verdict::CertifiedOrder);
    let mut failures = 0;
    for _ in 0..20 {
        let several = answer(&module, 2);
        let Some(failure) = &several.failure else {
            // The first task was not late.
            assert_eq!(several.verdict, Verdict::CertifiedOrder);
            continue;
        };
        assert_eq!(failure.kind, "assert-failed");
        assert_eq!(failure.schedule.as_deref(), Some("1 0"));
        failures += 1;
    }
    assert!(
        failures > 0,
        "the blocks always came in the order of one thread"
    );
}

/// Tasks that write shared variables under their locks, look at them, and write others if they find
/// something. Some take their time. Locks are nested, and passed hand over hand, in one order.
fn tasks_with_blocks(rng: &mut Rng) -> String {
    let mut tasks = String::new();
    for _ in 0..3 {
        tasks += "async { var seen = 0; var late = 0;\n";
        for _ in 0..1 + rng.below(3) {
            let (v, next, late) = (rng.below(2), 2, rng.pick(&["0", "20_000", "100_000"]));
            let pause = format!("late = 0; while late < {late} {{ late += 1; }}");
            let found = format!("if seen == 1 {{ d{} = 1; }}", rng.below(2));
            tasks += &match rng.below(7) {
                0 | 1 => format!("{pause} locked (l{v}) {{ seen = x{v}; }} {found}\n"),
                2 => format!("locked (l{v}) {{ x{v} = 1; }} {pause}\n"),
                3 => format!("locked (l{v}) {{ locked (l{next}) {{ x2 = 1; }} {pause} }}\n"),
                4 => format!("{pause} locked (l{next}) {{ seen = x2; }} {found}\n"),
                5 => format!(
                    "acquire(l{v}); x{v} = 1; acquire(l{next}); release(l{v}); {pause} \
                     release(l{next});\n"
                ),
                _ => format!("{pause} isolated {{ seen = y; y = 1; }} {found}\n"),
            };
        }
        tasks += "}\n";
    }
    let variables = ["x0", "x1", "x2", "y", "d0", "d1"];
    let variables = variables.map(|name| format!("var {name} = 0;\n")).concat();
    let locks = [0, 1, 2].map(|l| format!("let l{l} = new lock();\n"));
    let locks = locks.concat();
    format!("{variables}fn main() {{\n{locks}finish {{\n{tasks}}}\n}}\n")
}

/// Many workers without work must not keep each other awake.
#[test]
fn a_deadlock_is_found_by_many_threads() {
    let source = "fn main() { let p = new promise<int>(); print(p.get()); }";
    for workers in [2, 16, 256] {
        assert_eq!(ends(source, workers), "deadlock", "{workers} threads");
    }
}

/// A task that never ends does not keep the others from failing.
#[test]
fn a_failure_ends_tasks_that_loop() {
    let source = "fn main() { finish {
        for i in 0..3 { async { var n = 0; while n >= 0 { n = (n + 1) % 7; } } }
        assert(false, \"over\");
    } }";
    for workers in [2, 8] {
        assert_eq!(ends(source, workers), "assert-failed", "{workers} threads");
    }
}

/// No worker may take all of a small budget.
#[test]
fn a_small_budget_is_shared() {
    let source = "fn main() { let a = new int[8]; finish {
        for i in 0..400 { async { finish { async a[i % 8] = i; } } }
    } }";
    let module = compile(source).expect("a program");
    let progress = AtomicU64::new(0);
    for workers in [1, 2, 8] {
        let program = finishline_jit::Program {
            limits: Limits {
                memory: 64 << 10,
                ..Limits::default()
            },
            ..input(&module, &progress)
        };
        let run = finishline_jit::run(program, workers, &mut std::io::sink());
        let trap = trap(run.expect("a compiler"));
        assert_eq!(word(&trap), "finished", "{workers} threads");
    }
}

/// A program that does not end is stopped when its time is over.
#[test]
fn a_run_for_some_time_ends() {
    let time = std::time::Duration::from_millis(50);
    let ends = |source: &str| {
        let module = compile(source).expect("a program");
        let progress = AtomicU64::new(0);
        let program = input(&module, &progress);
        finishline_jit::run_for(program, time, &mut std::io::sink()).expect("a compiler")
    };
    let endless = ends("fn main() { var n = 0; while n >= 0 { n = (n + 1) % 7; } }");
    assert!(
        matches!(endless, finishline_jit::End::Stopped),
        "{endless:?}"
    );
    let short = ends("fn main() { print(1); }");
    assert!(matches!(short, finishline_jit::End::Finished), "{short:?}");
    let failing = ends("fn main() { assert(false, \"no\"); }");
    assert!(
        matches!(failing, finishline_jit::End::Trapped(_)),
        "{failing:?}"
    );
}
