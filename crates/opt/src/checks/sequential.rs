//! Main-task check elimination [ESP-bags §6.1]: no check where no other task can be running.
//!
//! **What is removed.** An access is *sequential* if it is made by the main task when every task created so far has ended and has been
//! waited for by the main task. Its check is removed if that holds wherever its id occurs in code that can run.
//!
//! **Why that is exact.** Let s be a sequential access. Everything any task did before s in the run happens before it: by the program's
//! order in the main task, or through the finish that the main task waited for. Everything after s happens after it: it is the
//! main task itself or created by it, directly or not, later. So s races with nothing, and removing it from the stream of events takes
//! no pair of racing accesses away, adds none and reorders none. By the definition of a race the set of racing locations
//! stays the same, and so does every detector's that is exact.
//! A detector that remembers a few accesses a location does not err for having forgotten s either: what it remembers instead is older,
//! hence before s and before everything that comes after s, so it is ordered before any later access as s is.
//!
//! **How it is found.** By [`super::liveness`]. A function starts with the fact of all places it is called from; the body of a task always starts
//! with another task live.

use super::liveness::{Liveness, for_each_op};
use finishline_ir::{FunctionId, Module, Op};
use finishline_model::{AccessId, Pass};
use std::collections::BTreeMap;

/// Removes the checks of sequential accesses.
pub(super) fn sequential(module: &mut Module, liveness: &Liveness) {
    let sequential = sequential_accesses(module, liveness);
    super::remove(module, Pass::Sequential, |access| {
        sequential.get(&access) == Some(&true)
    });
}

/// The accesses in code that can run, each with whether it is sequential everywhere.
fn sequential_accesses(module: &Module, liveness: &Liveness) -> BTreeMap<AccessId, bool> {
    // By function: whether another task may be live where it starts, if it can run at all.
    let mut starts: Vec<Option<bool>> = vec![None; module.functions.len()];
    starts[module.main.index()] = Some(false);
    let mut waiting = vec![module.main];
    while let Some(id) = waiting.pop() {
        let parallel = starts[id.index()] == Some(true);
        for_each_op(module.function(id), parallel, liveness, |op, live| {
            let (callee, live): (FunctionId, bool) = match op {
                Op::Call { function, .. } => (*function, live),
                Op::Spawn { function, .. } => (*function, true),
                _ => return,
            };
            let start = &mut starts[callee.index()];
            let joined = start.unwrap_or(false) | live;
            if *start != Some(joined) {
                *start = Some(joined);
                waiting.push(callee);
            }
        });
    }
    let mut found = BTreeMap::new();
    for (function, start) in module.functions.iter().zip(starts) {
        let Some(parallel) = start else { continue };
        for_each_op(function, parallel, liveness, |op, live| {
            if let Op::Check { access, .. } | Op::Load { access, .. } | Op::Store { access, .. } =
                op
            {
                *found.entry(*access).or_insert(true) &= !live;
            }
        });
    }
    found
}
