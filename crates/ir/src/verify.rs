//! The rules that every pass may rely on and must keep.
//!
//! A module is checked in rounds. Each round relies on the one before, and the first round with
//! violations is the last.
//!
//! 1. `ids`: every id is in range.
//! 2. `types`: operands, results, block arguments, calls and creations have the right types and
//!    numbers. Every value is defined once, and its definition dominates its uses.
//! 3. `structure`: finishes and isolated blocks nest within each function, nothing parallel happens
//!    inside an isolated block, every construct used is announced.
//! 4. `checks`: every load and store has its race check, or a reason why not.
//!
//! Only the front end knows whether an object has the location that a load or store names. The
//! verifier does not check that.

mod checks;
mod ids;
mod structure;
mod types;

use crate::module::{BlockId, FunctionId, Module};
use std::fmt;

/// A broken rule, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    pub place: CodePosition,
    pub message: String,
}

/// As far as it is known: a function, a block in it, an instruction there (past the last one, the
/// terminator).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CodePosition {
    pub function: Option<FunctionId>,
    pub block: Option<BlockId>,
    pub instruction: Option<usize>,
}

impl CodePosition {
    fn function(index: usize) -> CodePosition {
        CodePosition {
            function: Some(FunctionId::from_index(index)),
            ..CodePosition::default()
        }
    }

    fn block(self, index: usize) -> CodePosition {
        CodePosition {
            block: Some(BlockId::from_index(index)),
            instruction: None,
            ..self
        }
    }

    fn instruction(self, index: usize) -> CodePosition {
        CodePosition {
            instruction: Some(index),
            ..self
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = self.place.function {
            write!(f, "{function} ")?;
        }
        if let Some(block) = self.place.block {
            write!(f, "{block} ")?;
        }
        if let Some(instruction) = self.place.instruction {
            write!(f, "instruction {instruction} ")?;
        }
        f.write_str(&self.message)
    }
}

/// The violations found so far.
#[derive(Default)]
struct Violations(Vec<Violation>);

impl Violations {
    fn add(&mut self, place: CodePosition, message: impl Into<String>) {
        self.0.push(Violation {
            place,
            message: message.into(),
        });
    }

    fn require(&mut self, holds: bool, place: CodePosition, message: impl FnOnce() -> String) {
        if !holds {
            self.add(place, message());
        }
    }
}

/// Checks every rule of the IR.
pub fn verify(module: &Module) -> Result<(), Vec<Violation>> {
    for round in [ids::check, types::check, structure::check, checks::check] {
        let mut violations = Violations::default();
        round(module, &mut violations);
        if !violations.0.is_empty() {
            return Err(violations.0);
        }
    }
    Ok(())
}
