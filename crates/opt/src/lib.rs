//! Passes from IR to IR.
//!
//! - [`sequential`]: removes the checks that can't matter because no other task can be running.
//! - [`for_speed`]: the same events, results and failures, in code that a simple code generator makes fast.

#![forbid(unsafe_code)]

mod clean;
mod edit;
mod effects;
mod evolution;
mod guard;
mod loop_form;
mod not_null;
mod numbering;
mod sequential;
mod version;

use finishline_ir::Module;
pub use sequential::{REASON as SEQUENTIAL, sequential};

/// The reason noted for a load that does not stand behind its check any more, which stays where it was.
pub const READ_AHEAD: &str = "read before the loop in which its check stands";

pub fn for_speed(module: &Module) -> Module {
    let mut module = module.clone();
    let mut moved = Vec::new();
    for function in &mut module.functions {
        numbering::number(function);
        clean::clean(function);
        let mut budget = version::Budget::of(function);
        for height in 0..version::HIGHEST {
            if version::version(function, height, &mut budget, &mut moved) {
                numbering::number(function);
                clean::clean(function);
            }
        }
    }
    module
        .unchecked
        .extend(moved.into_iter().map(|access| (access, READ_AHEAD)));
    module
}
