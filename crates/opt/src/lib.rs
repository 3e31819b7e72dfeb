//! Passes from IR to IR.
//!
//! The passes in `checks` leave out race checks. [`for_speed`] prepares a program for a simple code
//! generator, and keeps every other event and every failure. It does only what such a generator
//! does not do itself: it folds constants only for the passes behind it. Per function, callees
//! first:
//!
//! | pass | what it removes |
//! |---|---|
//! | `inline` | calls of small functions |
//! | `numbering`, `clean` | repeated, unused and constant computations; blocks that only lead on |
//! | `forward` | loads of what was just stored or loaded |
//! | `hoist` | invariant operations, lengths and loads in loops |
//! | `version` | bounds and null checks in counted loops, behind a `guard`, after a `plan` |
//! | `strength` | multiplications in the offsets of elements |
//! | `rotate` | a jump an iteration |
//!
//! Checks leave loops twice: before `version`, as a check of both copies of an inner loop could not
//! leave the loop around them, and behind it, when more is known in front of loops.
//!
//! `evolution` knows how values change in a loop. `linear` computes such values in front of it.
//! `not_null` knows which references are objects. `effects` knows what an operation may do, and
//! `changes` what a loop or a call may change in memory.
//! `loop_form` and `edit` are tools.

#![forbid(unsafe_code)]

mod changes;
mod checks;
mod clean;
mod edit;
mod effects;
mod evolution;
mod forward;
mod guard;
mod hoist;
mod inline;
mod linear;
mod loop_form;
mod not_null;
mod numbering;
mod plan;
mod rotate;
mod strength;
mod version;

use changes::Calls;
pub use checks::{HOLD_IN_FAILED_RUNS, References, without_proved};
use checks::{Notes, Round, Steps};
use finishline_ir::{Function, Module};
use finishline_model::{AccessId, Passes};
use loop_form::Nest;

/// Leaves checks out of a program; the rest of it is only tidied up, where a pass needs that.
pub fn reduce(module: &Module, passes: Passes) -> Module {
    let mut module = module.clone();
    checks::whole_program(&mut module, passes);
    let steps = Steps::of(&module);
    let mut notes = Notes::new();
    for function in &mut module.functions {
        if checks::look_at_functions(passes) {
            tidy(function);
        }
        let mut round = Round::last(Round::first());
        checks::leave_loops(function, &steps, passes, &mut round, &mut notes);
        checks::settle(function, passes);
    }
    checks::note_all(&mut module, notes);
    module
}

/// Rewrites a program for speed, and leaves checks out.
///
/// Apart from the checks, the events with their ids, order and tasks, the output, and every failure
/// with its site, task and values are exactly those of the program as it was, in a depth-first run;
/// only the number of instructions differs. A load may stand away from its check; then
/// [`Module::unchecked`] says so, although the check is still made.
pub fn for_speed(module: &Module, passes: Passes) -> Module {
    let mut module = module.clone();
    checks::whole_program(&mut module, passes);
    inline::inline(&mut module);
    let mut pass = Speed {
        steps: Steps::of(&module),
        calls: Calls::of(&module),
        passes,
        moved: Vec::new(),
        notes: Notes::new(),
    };
    for function in &mut module.functions {
        pass.speed_up(function);
    }
    for access in pass.moved {
        module.unchecked.entry(access).or_default().read_ahead = true;
    }
    checks::note_all(&mut module, pass.notes);
    module
}

pub(crate) fn tidy(function: &mut Function) {
    numbering::number(function);
    clean::clean(function);
}

struct Speed {
    steps: Steps,
    calls: Calls,
    passes: Passes,
    /// Loads that stand away from their checks.
    moved: Vec<AccessId>,
    notes: Notes,
}

impl Speed {
    fn speed_up(&mut self, function: &mut Function) {
        forward::forward(function);
        let mut round = Round::first();
        if let Some(nest) = Nest::of(function) {
            hoist::hoist(function, &nest, &self.calls, &mut self.moved);
            tidy(function);
            // Before a loop has two copies, in front of which a check is made twice.
            if self.leave_loops(function, &mut round)
                && let Some(nest) = Nest::of(function)
            {
                hoist::hoist(function, &nest, &self.calls, &mut self.moved);
                tidy(function);
            }
            let mut budget = version::Budget::of(function);
            for height in 0..version::HIGHEST {
                if version::version(function, height, &self.calls, &mut budget, &mut self.moved) {
                    tidy(function);
                }
            }
        }
        if let Some(nest) = Nest::of(function) {
            hoist::hoist(function, &nest, &self.calls, &mut self.moved);
        }
        self.leave_loops(function, &mut Round::last(round));
        if let Some(nest) = Nest::of(function) {
            strength::reduce(function, &nest);
            rotate::rotate(function, &nest);
        }
        checks::settle(function, self.passes);
        tidy(function);
    }

    fn leave_loops(&mut self, function: &mut Function, round: &mut Round) -> bool {
        checks::leave_loops(function, &self.steps, self.passes, round, &mut self.notes)
    }
}
