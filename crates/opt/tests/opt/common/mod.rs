//! What the tests share: a compiled program, its recorded run, and the comparison of two runs.

pub(crate) mod both_forms;
pub(crate) mod harmless;
pub(crate) mod nest;
pub(crate) mod races;
pub(crate) mod round_trip;
pub(crate) mod statements;
pub(crate) mod suite;

use finishline_engine::cooperative::Cooperative;
use finishline_engine::depth_first::DepthFirst;
use finishline_engine::run::{End, Program, run_for};
use finishline_ir::machine::{Datum, Limits, Trap};
use finishline_ir::verify::verify;
use finishline_ir::{Construct, Instruction, Module, Op, Operand};
use finishline_model::SiteId;
use finishline_model::event::Record;
use std::sync::atomic::AtomicU64;

/// Compiles a program that must be accepted.
pub(crate) fn compile(source: &str) -> Module {
    match finishline_fin::compile("test.fin", source.as_bytes()) {
        Ok(program) => program.module,
        Err(errors) => panic!("{}\n{source}", errors.render(false)),
    }
}

/// Everything a run shows.
pub(crate) struct Run {
    pub(crate) records: Vec<Record>,
    pub(crate) output: String,
    /// None if it went on for too long.
    pub(crate) end: Option<Result<(), Trap>>,
    pub(crate) steps: u64,
}

/// Runs a verified module.
pub(crate) fn run(module: &Module, arguments: &[Datum], limits: Limits, fuel: u64) -> Run {
    let mut records: Vec<Record> = Vec::new();
    let mut output = Vec::new();
    let program = Program {
        module,
        arguments,
        limits,
    };
    let (listener, progress) = (&mut records, AtomicU64::new(0));
    let outcome = if takes_turns(module) {
        let mut schedule = Cooperative::default();
        run_for(
            fuel,
            program,
            &mut schedule,
            listener,
            &mut output,
            &progress,
        )
    } else {
        let mut schedule = DepthFirst::default();
        run_for(
            fuel,
            program,
            &mut schedule,
            listener,
            &mut output,
            &progress,
        )
    };
    let end = match outcome.result {
        End::Finished => Some(Ok(())),
        End::Trapped(trap) => Some(Err(trap)),
        End::OutOfFuel => None,
        End::OutputError(error) => panic!("{error}"),
    };
    Run {
        records,
        output: String::from_utf8_lossy(&output).into_owned(),
        end,
        steps: outcome.steps.unwrap_or_default(),
    }
}

pub(crate) fn takes_turns(module: &Module) -> bool {
    [Construct::Promise, Construct::Future, Construct::Lock]
        .iter()
        .any(|construct| module.uses(*construct).is_some())
}

/// Both versions must show the same. Returns both runs, or none if the first is given up when the
/// fuel is used up.
pub(crate) fn same(
    before: &Module,
    after: &Module,
    arguments: &[Datum],
    limits: Limits,
    fuel: u64,
) -> Result<Option<(Run, Run)>, String> {
    if let Err(violations) = verify(after) {
        return Err(format!("{}\n{after}", violations[0]));
    }
    let expected = run(before, arguments, limits, fuel);
    if expected.end.is_none() {
        return Ok(None);
    }
    let found = run(&without_access_sites(after), arguments, limits, 8 * fuel);
    let differs = expected
        .records
        .iter()
        .zip(&found.records)
        .position(|(a, b)| a != b);
    if let Some(at) = differs {
        return Err(format!(
            "event {at} is {:?}, not {:?}",
            found.records[at], expected.records[at]
        ));
    }
    if expected.records.len() != found.records.len() {
        return Err(format!(
            "{} events, not {}; ends with {:?}, not {:?}",
            found.records.len(),
            expected.records.len(),
            found.end,
            expected.end
        ));
    }
    if expected.end != found.end {
        return Err(format!("ends with {:?}, not {:?}", found.end, expected.end));
    }
    if expected.output != found.output {
        return Err(format!(
            "prints {:?}, not {:?}",
            found.output, expected.output
        ));
    }
    Ok(Some((expected, found)))
}

/// The checks, loads and stores of a module without a place in the source. They must never be the
/// ones to notice null, which compiled code relies on: if one does, the failure has the wrong site.
fn without_access_sites(module: &Module) -> Module {
    let mut module = module.clone();
    let blocks = module.functions.iter_mut().flat_map(|f| &mut f.blocks);
    for instruction in blocks.flat_map(|block| &mut block.instructions) {
        if let Op::Check { .. } | Op::Load { .. } | Op::Store { .. } = instruction.op {
            instruction.site = SiteId(0);
        }
    }
    module
}

/// The module, asking for null before every check of one location. Compiled code makes such a check
/// only of objects, and does not ask.
pub(crate) fn asking_for_null(module: &Module) -> Module {
    let mut module = module.clone();
    let blocks = module.functions.iter_mut().flat_map(|f| &mut f.blocks);
    for block in blocks {
        let instructions = std::mem::take(&mut block.instructions);
        for instruction in instructions {
            if let Op::Check {
                base,
                count: Operand::Constant(1),
                ..
            } = instruction.op
            {
                block.instructions.push(Instruction {
                    op: Op::NonNull(base),
                    result: None,
                    site: SiteId(0),
                });
            }
            block.instructions.push(instruction);
        }
    }
    module
}

/// What a program of this seed may use up: now and then so little that calls or allocations fail.
pub(crate) fn limits(seed: u64) -> Limits {
    match seed % 8 {
        0 | 1 => Limits {
            call_depth: (seed / 8 % 4) as u32,
            ..Limits::default()
        },
        2 => Limits {
            memory: 600 + seed / 8 * 61 % 3_000,
            ..Limits::default()
        },
        _ => Limits::default(),
    }
}
