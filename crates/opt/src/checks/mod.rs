//! Passes that remove, move or merge race checks. None changes which locations race.
//!
//! | pass | which checks go |
//! |---|---|
//! | `contexts` | none, but functions get copies that the next ones can tell apart |
//! | `sequential` | those made when no other task is live [ESP-bags §6.1] |
//! | `read_only` | those of reads of what nobody writes meanwhile [§6.2] |
//! | `task_local` | those of objects that one task alone can reach [§6.3] |
//!
//! These look at the whole program and never move a check: `whole_program` makes them.
//!
//! **Steps.** The run under the detector is depth-first, so what is proved about an order of accesses in one task is proved for
//! all schedules.
//!
//! **Failures.** The passes behind the line let one check stand for accesses before or behind it. If the program fails in between, it has
//! been made for accesses that never happened, or not been made for some that did. So of a run that fails, only what a
//! detector finds without them counts ([`HOLD_IN_FAILED_RUNS`]). In return no pass has to ask what may fail.

mod budget;
mod contexts;
mod liveness;
mod points_to;
mod read_only;
mod regions;
mod sequential;
mod sparse_set;
mod task_local;
mod whole_program;

use finishline_ir::Unchecked;
use finishline_model::{AccessId, Pass, Passes};
use std::collections::BTreeMap;
pub(crate) use whole_program::whole_program;

/// Passes whose results also hold in a run that fails.
pub const HOLD_IN_FAILED_RUNS: Passes = Passes::SEQUENTIAL
    .with(Pass::Contexts)
    .with(Pass::ReadOnly)
    .with(Pass::TaskLocal);

/// Notes that a pass has removed or moved a check.
fn note(unchecked: &mut BTreeMap<AccessId, Unchecked>, access: AccessId, pass: Pass) {
    let by = &mut unchecked.entry(access).or_default().by;
    *by = by.with(pass);
}
