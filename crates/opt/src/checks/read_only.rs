//! Read-only check elimination [ESP-bags §6.2]: no check for a read of what nobody writes
//! meanwhile.
//!
//! **What is removed.** A read made while another task may be live, if in none of its regions
//! ([`super::regions`]) any operation made while another task may be live writes to one of the
//! abstract locations ([`super::points_to`]) it can mean. A write in an isolated block is a write.
//!
//! **Why that is exact.** A write that races with the read is made while another task is live, for
//! otherwise it is ordered with everything, and can run at the same time, so it belongs to the same
//! region; and it writes to the same location, so some of its abstract locations are the read's.
//! There is no such write. So the read races with nothing, and to leave it out takes no pair of
//! racing accesses away, adds none and reorders none. Writes of other regions, and those made when
//! nothing else is live, are ordered with the read. This is why the paper's condition, no write in
//! the whole parallel part of the program, can be weakened to one region.
//!
//! A write to an object that only one task can reach ([`super::task_local`]) races with nothing
//! either. If that pass is made too, such writes don't count, so that a function may read objects
//! of both kinds.
//!
//! **Cost.** For each function and region it is called in, the set of what is written there; beyond
//! a [`Budget`] no check is removed.

use super::budget::Budget;
use super::points_to::{Part, PointsTo};
use super::regions::{Beside, Regions};
use super::sparse_set::SparseSet;
use finishline_ir::{FunctionId, Module, Op};
use finishline_model::AccessKind;

/// What is written while other tasks may be live, as sets of abstract locations.
pub(super) struct Written {
    by_region: Vec<SparseSet>,
    /// By function: in any of the regions it is called in.
    by_callers: Vec<SparseSet>,
}

impl Written {
    /// Only writes to objects that `count` are looked at. None if that is too much work.
    pub(super) fn of(
        module: &Module,
        regions: &Regions,
        points_to: &PointsTo,
        count: impl Fn(u32) -> bool,
    ) -> Option<Written> {
        let mut budget = Budget::of(module);
        let mut by_region = vec![SparseSet::default(); regions.count() as usize];
        let functions = || (0..module.functions.len()).map(FunctionId::from_index);
        for id in functions() {
            let mut written = SparseSet::default();
            regions.for_each_op(module, id, |op, _, beside| {
                let (base, part) = match op {
                    Op::Store { base, offset, .. } => (*base, Part::of(*offset)),
                    Op::Check {
                        kind: AccessKind::Write,
                        base,
                        first,
                        count,
                        ..
                    } => (*base, Part::checked(*first, *count)),
                    _ => return,
                };
                let written = match beside {
                    Beside::Nothing => return,
                    Beside::Region(region) => &mut by_region[region as usize],
                    Beside::Callers => &mut written,
                };
                let objects = points_to.objects(id, base).iter();
                for object in objects.filter(|object| count(*object)) {
                    for location in points_to.part(object, part) {
                        written.insert(location);
                    }
                }
            });
            for region in regions.callers(id).into_iter().flat_map(SparseSet::iter) {
                by_region[region as usize].add(&written);
                budget.spend(written.words());
                budget.rest()?;
            }
        }
        let mut by_callers = Vec::with_capacity(module.functions.len());
        for id in functions() {
            let mut all = SparseSet::default();
            for region in regions.callers(id).into_iter().flat_map(SparseSet::iter) {
                all.add(&by_region[region as usize]);
                budget.spend(by_region[region as usize].words());
                budget.rest()?;
            }
            by_callers.push(all);
        }
        Some(Written {
            by_region,
            by_callers,
        })
    }

    /// Whether nobody writes to what a function reads in this part of these objects.
    pub(super) fn misses(
        &self,
        function: FunctionId,
        beside: Beside,
        objects: &SparseSet,
        part: Part,
        points_to: &PointsTo,
    ) -> bool {
        let written = match beside {
            Beside::Nothing => return false,
            Beside::Region(region) => &self.by_region[region as usize],
            Beside::Callers => &self.by_callers[function.index()],
        };
        // Without objects the base is always null, and the read fails.
        !objects.is_empty()
            && (objects
                .iter()
                .flat_map(|object| points_to.part(object, part)))
            .all(|location| !written.contains(location))
    }
}
