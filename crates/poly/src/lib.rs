//! A static answer about a Fin program, for every input: its shared accesses as sets of integers.
//!
//! ```text
//! typed tree ─ walk ─► accesses: path, domain, place ─ objects, sources ─► locations
//!            locations ─ order, races ─► findings ─ kernels, answer ─► proof
//! ```
//!
//! - [`walk`]: a symbolic run of main with all calls unfolded; what is not affine becomes an
//!   unknown with its reason.
//! - [`order`]: what happens before what, from paths (Algorithm H); [`promises`]: what promises
//!   order besides.
//! - [`objects`]: which locations an access touches; aliasing is decided here.
//! - [`sources`]: which writes a read can see (array dataflow analysis, by instance).
//! - [`races`]: the pairs of instances that conflict in parallel; [`remarks`]: what the sources
//!   tell besides.
//! - [`range`]: the inputs that an answer is about.
//! - [`kernels`], [`answer`], [`words`]: the parts of a program, what is known of each, and how it
//!   is told.
//! - [`instances`], [`relation`], [`points`]: the same for given arguments, one by one, for those
//!   who compare it with a run.
//! - [`sets`], [`symbols`]: integer sets, by isl.
//!
//! **What is established.** The accesses that are found are a superset of those that happen, so a
//! kernel without a racing pair is proved for every input. A pair that involves nothing unknown is
//! a race. Anything else is unknown, with the reasons. Taken for granted is that the program does
//! not fail before (an index out of bounds, a failed assertion). Sets speak of endless integers;
//! [`walk`] makes sure that this holds for integers of 64 bits, for the inputs that [`range`]
//! states.

#![forbid(unsafe_code)]

mod answer;
#[cfg(test)]
mod claims;
mod facts;
mod instances;
mod kernels;
mod objects;
mod order;
mod points;
mod promises;
mod races;
mod range;
mod reach;
mod relation;
mod remarks;
mod sets;
mod sources;
mod symbols;
mod walk;
mod words;

pub use answer::{Answer, Harmless};
use finishline_fin::hir::Program;
pub use instances::{Families, Instance, Instances, Remarks, Seen, families};
pub use relation::{Relation, relation};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

/// What the user may choose.
#[derive(Clone, Debug)]
pub struct Options {
    pub budget: Budget,
    pub detail: Detail,
}

/// How much to say of what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// The verdicts, and which accesses are [harmless](Answer::harmless).
    Verdicts,
    /// Also the races, each with its condition and the smallest case.
    Races,
    /// Also who produces what each read reads, and what is questionable about writes and reads.
    Dataflow,
}

/// What the prover may take. What it does not finish is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// For each kernel.
    Time(Duration),
    /// Altogether, in steps of isl's innermost loops, so that the answer does not depend on the
    /// machine.
    Operations(u64),
}

/// Calls are unfolded recursively, a hundred deep, with 200 nested statements each. The first size
/// is enough for that. The others are for processes with little address space, and leave some of it
/// to other threads. There a program that is nested so deep may run out of stack.
const STACKS: [usize; 3] = [1 << 30, 1 << 27, 1 << 25];

/// Proves what can be proved about a program.
pub fn prove(program: &Program, options: &Options) -> Answer {
    on_a_large_stack(|| answer::answer(program, options))
}

fn on_a_large_stack<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    let run = Mutex::new(Some(run));
    let take = || run.lock().ok().and_then(|mut run| run.take());
    thread::scope(|scope| {
        let mut provers = STACKS.iter().filter_map(|size| {
            let prover = thread::Builder::new()
                .name("prover".to_string())
                .stack_size(*size);
            let run = || take().map(|run| run());
            prover.spawn_scoped(scope, run).ok()
        });
        let result = match provers.next().map(|prover| prover.join()) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => take().map(|run| run()),
        };
        result.expect("it is taken once")
    })
}
