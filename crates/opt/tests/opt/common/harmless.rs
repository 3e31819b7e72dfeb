//! Which accesses of a recorded run are harmless, by the oracle: what a prover would have to find
//! out.

use finishline_detect::detectors::ORACLE_STEPS;
use finishline_detect::oracle::Oracle;
use finishline_generate::rng::Rng;
use finishline_ir::Module;
use finishline_model::AccessId;
use finishline_model::event::{Record, replay};
use std::collections::BTreeSet;

/// All of them, or some: a prover need not find out everything, and then the other passes have more
/// to do. None if the oracle gives up.
pub(crate) fn harmless(module: &Module, records: &[Record]) -> BTreeSet<AccessId> {
    let mut oracle = Oracle::new(ORACLE_STEPS);
    replay(records, &mut oracle);
    if oracle.gave_up() {
        return BTreeSet::new();
    }
    // A proof does not count on locks.
    let racing = oracle.conflicting_accesses();
    let mut random = Rng::new(records.len() as u64);
    let all = random.index(3) == 0;
    (0..module.source.accesses.len())
        .map(AccessId::from_index)
        .filter(|access| !racing.contains(access))
        .filter(|_| all || random.index(2) == 0)
        .collect()
}
