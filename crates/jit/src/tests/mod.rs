//! The code of a check, the functions it calls in the middle of everything, and what is told, under
//! checkers made to look at them.

mod fast_path;
mod heard;
mod recording;
mod registers;
mod seen;
mod short_ranges;
mod strands;

use crate::checker::Checker;
use crate::prepared::Code;
use crate::{End, Program};
use finishline_ir::Module;
use finishline_ir::machine::Limits;
use std::sync::atomic::AtomicU64;

/// Compiles a program as it is and runs it to its end; what it prints.
fn run<C: Checker>(source: &str, checker: &mut C) -> String {
    run_module(&compile(source), checker)
}

fn compile(source: &str) -> Module {
    match finishline_fin::compile("test.fin", source.as_bytes()) {
        Ok(program) => program.module,
        Err(errors) => panic!("{}\n{source}", errors.render(false)),
    }
}

fn run_module<C: Checker>(module: &Module, checker: &mut C) -> String {
    let progress = AtomicU64::new(0);
    let program = Program {
        module,
        arguments: &[],
        limits: Limits::default(),
        progress: &progress,
    };
    let mut output = Vec::new();
    let code = Code::<C>::new(program).expect("a compiler");
    let end = code.run(checker, &mut output);
    assert!(matches!(end, End::Finished), "{end:?}");
    String::from_utf8(output).expect("text")
}
