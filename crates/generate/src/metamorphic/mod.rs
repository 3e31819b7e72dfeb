//! Changes of a program that keep its answer: the same locations race before and after.
//!
//! No change alters the order in which a depth-first run allocates objects, so a location has the
//! same number before and after.
//!
//! A test judges a program, changes it and judges it again. So a wrong answer shows even if the
//! right one is unknown. Each change looks for the places where its side conditions hold and takes
//! one of them. Its comment says why it keeps the answer. Names of generated programs are unique,
//! or hide others as the language allows. A change that would confuse two names is not made.
//!
//! | file | changes |
//! |---|---|
//! | `tasks` | `async` for `spawn` and back, two asyncs in the other order, one more `finish` |
//! | `calls` | a block as a function, a function as a block |
//! | `loops` | a loop as two, its first iteration before it |
//! | `values` | `x * 2`, `x + x`, `x << 1`; other names; a parameter for a constant |
//! | `place` | nothing: where statements stand, and which names are known there |

mod calls;
mod loops;
mod place;
mod tasks;
mod values;

use crate::rng::Rng;
use crate::shape::Program;

/// A change that keeps the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    SpawnBecomesAsync,
    AsyncBecomesSpawn,
    ExchangeAsyncs,
    WrapInFinish,
    Outline,
    Inline,
    SplitLoop,
    PeelLoop,
    Double,
    Rename,
    Parameter,
}

/// A changed program, and how it corresponds to the one before.
#[derive(Clone, Debug)]
pub struct Changed {
    pub program: Program,
    /// The argument for the parameter that the change adds to `main`, as its last one.
    pub argument: Option<i64>,
}

impl Changed {
    fn only(program: Program) -> Changed {
        Changed {
            program,
            argument: None,
        }
    }
}

impl Change {
    pub const ALL: [Change; 11] = [
        Change::SpawnBecomesAsync,
        Change::AsyncBecomesSpawn,
        Change::ExchangeAsyncs,
        Change::WrapInFinish,
        Change::Outline,
        Change::Inline,
        Change::SplitLoop,
        Change::PeelLoop,
        Change::Double,
        Change::Rename,
        Change::Parameter,
    ];

    /// Whether the change keeps the answer only if no race decides a branch or an index, and
    /// nothing fails.
    pub const fn needs_steady_control(self) -> bool {
        matches!(self, Change::ExchangeAsyncs)
    }

    /// Makes the change at a random place. None if no place allows it.
    pub fn apply(self, program: &Program, rng: &mut Rng) -> Option<Changed> {
        match self {
            Change::SpawnBecomesAsync => tasks::spawn_becomes_async(program, rng),
            Change::AsyncBecomesSpawn => tasks::async_becomes_spawn(program, rng),
            Change::ExchangeAsyncs => tasks::exchange(program, rng),
            Change::WrapInFinish => tasks::wrap(program, rng),
            Change::Outline => calls::outline(program, rng),
            Change::Inline => calls::inline(program, rng),
            Change::SplitLoop => loops::split(program, rng),
            Change::PeelLoop => loops::peel(program, rng),
            Change::Double => values::double(program, rng),
            Change::Rename => Some(values::rename(program)),
            Change::Parameter => return values::parameter(program, rng),
        }
        .map(Changed::only)
    }
}
