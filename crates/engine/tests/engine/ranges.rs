//! Checks of ranges in compiled code.
//!
//! A check is made to cover other locations than the access behind it, in bounds and out of them,
//! or to come before null and bounds are known. The program then does the same and tells of other
//! accesses. The interpreter and compiled code must tell of the same accesses. A detector inside
//! compiled code must find what every detector and the oracle find in what was told, and on several
//! threads it must find a race if there is one.
//!
//! `FINISHLINE_SEEDS=n` runs one in 400 of n random programs instead of 250; `FINISHLINE_SEED=s`
//! starts at seed s.

use crate::common::{Judge, compile};
use finishline_detect::Findings;
use finishline_detect::history::{History, Isolated, WriteCoversReads};
use finishline_detect::order::{EspBags, Order, SpBags};
use finishline_detect::parallel::Trust;
use finishline_detect::serial::Serial;
use finishline_engine::depth_first::{self, End};
use finishline_generate::campaign::setting;
use finishline_generate::random::{Settings, program};
use finishline_generate::render::render;
use finishline_ir::machine::{Limits, Trap};
use finishline_ir::{Construct, Instruction, Module, Op, Operand};
use finishline_jit::CheckingCrew;
use finishline_model::event::{Record, replay};
use finishline_model::{AccessKind, Detector, Location, Passes};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;

const FUEL: u64 = 1_000_000;

/// First location, count and stride of a check, from those of the access; where they are given,
/// they are constants.
type Range = [Option<i64>; 3];

/// As a count is read.
const GREATEST: i64 = u64::MAX as i64;

const RANGES: [Range; 18] = [
    // From the access on, within the object or beyond it.
    [None, Some(2), Some(1)],
    [None, Some(5), Some(2)],
    [None, Some(5), Some(-3)],
    [None, Some(20), Some(1)],
    [None, Some(GREATEST), Some(1)],
    [None, Some(GREATEST), Some(-1)],
    [None, Some(GREATEST), Some(7)],
    // Once, or never.
    [None, Some(3), Some(0)],
    [None, Some(0), Some(1)],
    [None, Some(GREATEST), Some(i64::MIN)],
    // From elsewhere.
    [Some(0), Some(GREATEST), Some(1)],
    [Some(-3), Some(10), Some(1)],
    [Some(-3), Some(10), Some(2)],
    [Some(40), Some(50), Some(-1)],
    [Some(-3), Some(3), Some(1)],
    [Some(100_000), Some(2), Some(1)],
    [Some(i64::MAX), Some(GREATEST), Some(i64::MAX)],
    [Some(i64::MIN), Some(GREATEST), Some(1)],
];

/// What becomes of the `n`th check: a range, or nothing.
fn range(n: u64) -> Option<Range> {
    // One in four stays as it is.
    let chosen = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (!chosen.is_multiple_of(4)).then(|| RANGES[(chosen / 4) as usize % RANGES.len()])
}

/// Widens checks of a program as `range` says. With `early`, checks of the whole array are also
/// made before an index is compared with the bounds, and the array with null.
fn widened(module: &Module, early: bool, range: impl Fn(u64) -> Option<Range>) -> Module {
    let mut module = module.clone();
    let mut checks = 0;
    for function in &mut module.functions {
        for block in &mut function.blocks {
            for instruction in &mut block.instructions {
                if let Op::Check {
                    first,
                    count,
                    stride,
                    ..
                } = &mut instruction.op
                {
                    checks += 1;
                    for (operand, given) in [first, count, stride]
                        .into_iter()
                        .zip(range(checks).into_iter().flatten())
                    {
                        if let Some(given) = given {
                            *operand = Operand::Constant(given);
                        }
                    }
                }
            }
            if early {
                add_early_checks(&mut block.instructions);
            }
        }
    }
    module
}

fn add_early_checks(instructions: &mut Vec<Instruction>) {
    let mut at = 0;
    while at < instructions.len() {
        if let Op::Index { array, .. } = instructions[at].op {
            let check = instructions[at..].iter().find_map(|later| match &later.op {
                Op::Check {
                    kind, base, access, ..
                } if *base == array => Some((*kind, *access)),
                _ => None,
            });
            if let Some((kind, access)) = check {
                let whole = Op::Check {
                    kind,
                    base: array,
                    first: Operand::Constant(0),
                    count: Operand::Constant(i64::MAX),
                    stride: Operand::Constant(1),
                    access,
                };
                let site = instructions[at].site;
                let early = Instruction {
                    op: whole,
                    result: None,
                    site,
                };
                instructions.insert(at, early);
                at += 1;
            }
        }
        at += 1;
    }
}

/// What a program told and how it failed. None if it goes on for too long.
fn interpret(module: &Module) -> Option<(Vec<Record>, Option<Trap>)> {
    let mut records = Vec::new();
    let program = depth_first::Program {
        module,
        arguments: &[],
        limits: Limits::default(),
    };
    let progress = AtomicU64::new(0);
    let output = &mut std::io::sink();
    let outcome = depth_first::run_for(FUEL, program, &mut records, output, &progress);
    let trap = outcome.trap().cloned();
    (!matches!(outcome.result, End::OutOfFuel)).then_some((records, trap))
}

fn failure(end: finishline_jit::End) -> Option<Trap> {
    match end {
        finishline_jit::End::Finished => None,
        finishline_jit::End::Trapped(trap) => Some(trap),
        finishline_jit::End::OutputError(error) => panic!("{error}"),
        finishline_jit::End::Stopped => panic!("nobody stops it"),
    }
}

/// What a detector that is told of everything says.
fn told<O: Order, H: History>(records: &[Record]) -> Findings {
    let mut detector = Serial::<O, H>::new().expect("memory for a detector");
    replay(records, &mut detector);
    detector.finish().expect("a judgement")
}

/// Compares compiled runs with the interpreter's. Nothing to compare if the program goes on for too
/// long.
fn compare(judge: &mut Judge, module: &Module) -> Option<Findings> {
    let (records, trap) = interpret(module)?;
    let fast = finishline_opt::for_speed(module, Passes::NONE);
    let esp_bags = told::<EspBags, Isolated>(&records);
    for module in [module, &fast] {
        let progress = AtomicU64::new(0);
        let program = finishline_jit::Program {
            module,
            arguments: &[],
            limits: Limits::default(),
            progress: &progress,
        };
        let mut compiled: Vec<Record> = Vec::new();
        let end = finishline_jit::tell(program, &mut compiled, &mut std::io::sink());
        assert_eq!(failure(end.expect("code")), trap);
        let differ = compiled.iter().zip(&records).find(|(a, b)| a != b);
        assert_eq!(
            differ, None,
            "compiled code and the interpreter tell different things"
        );
        assert_eq!(compiled.len(), records.len());

        let inline = |detector| {
            let checked = finishline_jit::check(program, detector, &mut std::io::sink());
            let (end, findings) = checked.expect("an inline form").expect("code");
            assert_eq!(failure(end), trap);
            findings.expect("a judgement")
        };
        same_findings(&inline(Detector::EspBags), &esp_bags);
        let cilk = |construct| matches!(construct, Construct::Spawn | Construct::Sync);
        if module.constructs.iter().all(|used| cilk(used.construct)) {
            let sp_bags = told::<SpBags, WriteCoversReads>(&records);
            same_findings(&inline(Detector::SpBags), &sp_bags);
        }
    }
    let judged = judge.judge(module, &records).expect("detectors that agree");
    assert_eq!(locations(&esp_bags), judged.racing);
    let workers = [1, 2, 8][records.len() % 3];
    let (failed, found) = on_threads(&fast, workers, Trust::Blind);
    // What did not happen in both runs can't be compared.
    if trap.is_none() && failed.is_none() && !judged.conflict {
        assert_eq!(found.racing.is_empty(), judged.racing.is_empty());
    }
    Some(esp_bags)
}

/// What `finishline` finds in such a program on so many threads.
fn on_threads(module: &Module, workers: usize, trust: Trust) -> (Option<Trap>, Findings) {
    let progress = AtomicU64::new(0);
    let program = finishline_jit::Program {
        module,
        arguments: &[],
        limits: Limits::default(),
        progress: &progress,
    };
    let crew = CheckingCrew {
        workers,
        one_race: false,
        trust,
    };
    let prepared = finishline_jit::prepare_parallel_check(program, Detector::Finishline, crew);
    let (end, findings) = (prepared.expect("a detector").expect("code")).run(&mut std::io::sink());
    (failure(end), findings.expect("a judgement"))
}

/// A run of one thread has found this, and no race or isolated block decides what the program does.
/// So it is found on several threads.
fn same_on_threads(module: &Module, alone: &Findings) {
    for workers in [1, 2, 8] {
        for trust in [Trust::Blind, Trust::Earned, Trust::Never] {
            let (_, found) = on_threads(module, workers, trust);
            assert_eq!(found.racing.len(), alone.racing.len());
            let [one, several] = [alone, &found].map(|it| it.statistics);
            assert_eq!(several.ranges, one.ranges);
            assert_eq!(several.in_ranges, one.in_ranges);
        }
    }
}

fn same_findings(found: &Findings, expected: &Findings) {
    assert_eq!(found.racing.in_order(), expected.racing.in_order());
    assert_eq!(found.isolated_conflict, expected.isolated_conflict);
    assert_eq!(found.statistics, expected.statistics);
}

fn locations(findings: &Findings) -> BTreeSet<Location> {
    findings.racing.in_order().iter().copied().collect()
}

/// Every kind of object, and an end by null or out of bounds.
fn all_objects(end: &str) -> Module {
    let source = "
        struct Point { x: int, y: float, inside: bool, tag: byte, next: Point }
        var total: int = 0;
        var scale: float = 1.5;
        var seen: bool = false;
        var origin: Point = null;

        fn main() {
            let ints = new int[37];
            let floats = new float[40];
            let bools = new bool[21];
            let bytes = new byte[19];
            let points = new Point[9];
            let grid = new int[5, 7];
            let cube = new float[3, 4, 5];
            let none = new int[0];
            origin = new Point();
            for i in 0..9 { points[i] = new Point(); }
            finish {
                for i in 0..9 {
                    async {
                        ints[i] = i;
                        floats[2 * i] = floats[i] + scale;
                        bools[i] = bools[20 - i];
                        bytes[i] = byte(i);
                        points[i].x = i;
                        points[i].next = points[8 - i];
                        if bools[i] { points[i].next.inside = true; }
                        grid[i % 5, i % 7] += i;
                        cube[i % 3, i % 4, i % 5] = float(i);
                        seen = true;
                        isolated { total += points[i].x; origin.y = scale; }
                    }
                }
            }
            for i in 0..37 { total += ints[i]; }
            let missing: int[] = null;
            let nobody: Point = null;
            END
        }"
    .replace("END", end);
    compile(&source).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn every_range_on_every_kind_of_object() {
    let mut judge = Judge::new();
    let mut different = BTreeSet::new();
    for end in [
        "total += none[0];",
        "total += missing[3];",
        "nobody.x = 2;",
        "ints[37] = 0;",
    ] {
        let module = all_objects(end);
        for range in RANGES {
            for early in [false, true] {
                let module = widened(&module, early, |_| Some(range));
                let findings = compare(&mut judge, &module).expect("a short program");
                same_on_threads(&module, &findings);
                different.insert(locations(&findings));
            }
        }
        for seed in 0..20u64 {
            let module = widened(&module, seed.is_multiple_of(2), |n| range(seed * 1000 + n));
            let findings = compare(&mut judge, &module).expect("a short program");
            let did = findings.statistics;
            assert!(did.ranges > 10 && did.in_ranges > 2 * did.ranges);
            same_on_threads(&module, &findings);
            different.insert(locations(&findings));
        }
    }
    assert!(different.len() > 20, "the ranges make a difference");
}

/// The check of a range is counted by what it covers, and only if that is more than one location.
#[test]
fn ranges_are_counted() {
    let source = "
        struct Pair { a: int, b: int, c: int }
        fn main() {
            let pair = new Pair();
            let ints = new int[10];
            finish { async { pair.b = 1; ints[4] = 2; } }
        }";
    let module = compile(source).unwrap();
    let count = |range: Range| {
        let module = widened(&module, false, |_| Some(range));
        let did = compare(&mut Judge::new(), &module)
            .expect("a short program")
            .statistics;
        (did.accesses, did.ranges, did.in_ranges)
    };
    assert_eq!(count([None, None, None]), (2, 0, 0));
    assert_eq!(count([None, Some(2), Some(1)]), (4, 2, 4));
    assert_eq!(count([None, Some(100), Some(1)]), (2 + 6, 2, 2 + 6));
    assert_eq!(count([None, Some(100), Some(-2)]), (1 + 3, 1, 3));
    assert_eq!(count([None, Some(0), Some(1)]), (0, 0, 0));
    assert_eq!(count([Some(0), Some(100), Some(1)]), (3 + 10, 2, 3 + 10));
    assert_eq!(count([Some(2), Some(100), Some(1)]), (1 + 8, 1, 8));
}

/// How many there are is known only at run time.
#[test]
fn a_count_and_a_stride_that_are_values() {
    let source = "
        fn main() {
            let ints = new int[100];
            finish {
                for i in 0..12 { async { let from = 7 * i; ints[from] = i; } }
            }
        }";
    let module = compile(source).unwrap();
    let mut judge = Judge::new();
    let mut racing = Vec::new();
    for which in 0..3 {
        let mut module = module.clone();
        let blocks = module.functions.iter_mut().flat_map(|f| &mut f.blocks);
        for instruction in blocks.flat_map(|block| &mut block.instructions) {
            if let Op::Check {
                first,
                count,
                stride,
                kind: AccessKind::Write,
                ..
            } = &mut instruction.op
            {
                match which {
                    0 => *count = *first,
                    1 => (*count, *stride) = (Operand::Constant(3), *first),
                    _ => (*first, *count) = (Operand::Constant(2), *first),
                }
            }
        }
        let findings = compare(&mut judge, &module).expect("a short program");
        racing.push(findings.racing.len());
    }
    // By hand: task i covers 7i..14i; 7i, 14i, 21i; 2..2+7i.
    let covered = |by: &dyn Fn(usize) -> Vec<usize>| {
        let mut times = [0; 100];
        for i in 0..12 {
            for location in by(i).into_iter().collect::<BTreeSet<_>>() {
                if let Some(times) = times.get_mut(location) {
                    *times += 1;
                }
            }
        }
        times.iter().filter(|&&times| times > 1).count()
    };
    let expected = [
        covered(&|i| (7 * i..14 * i).collect()),
        covered(&|i| vec![7 * i, 14 * i, 21 * i]),
        covered(&|i| (2..2 + 7 * i).collect()),
    ];
    assert_eq!(racing, expected);
}

#[test]
fn random_programs_with_ranges() {
    let first = setting("FINISHLINE_SEED", 0);
    let settings = [
        Settings::default(),
        Settings::spawn_sync(),
        Settings::async_finish(),
    ];
    let mut judge = Judge::new();
    let (mut compared, mut ranges) = (0, 0);
    let seeds = setting("FINISHLINE_SEEDS", 40_000) / 400;
    for seed in first..first + seeds {
        let settings = &settings[seed as usize % settings.len()];
        let source = render(&program(seed, settings));
        let module = compile(&source).expect("the generator makes programs without errors");
        let module = widened(&module, seed.is_multiple_of(2), |n| {
            range(seed.wrapping_mul(1000) + n)
        });
        let run = || compare(&mut judge, &module);
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
            Ok(Some(findings)) => {
                (compared, ranges) = (compared + 1, ranges + findings.statistics.ranges)
            }
            Ok(None) => {}
            Err(_) => panic!("FINISHLINE_SEED={seed} FINISHLINE_SEEDS=400\n{source}"),
        }
    }
    assert!(
        compared * 10 > seeds * 9 && ranges > seeds,
        "{compared} compared, {ranges} ranges"
    );
}
