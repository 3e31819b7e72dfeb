//! Escape analysis [ESP-bags §6.3]: no check for an object that only the task that made it can
//! reach.
//!
//! **What is removed.** An abstract object ([`super::points_to`]) is *shared* if an argument of a
//! creation can refer to it, or a global variable, or a field or element of a shared object. The
//! check of an access is removed if its base can only refer to objects that are not shared.
//!
//! **Why that is exact.** If a task that did not make an object gets hold of it, the object is
//! shared. For take the first moment of a run that contradicts this: task t gets hold of c, which
//! it did not make. If it gets c from its creator, as an argument, c is shared. Otherwise it loads
//! c from an object d, or gets it from a promise d. If d is the object of globals, c is shared. If
//! t did not make d, it got hold of d before, so d is shared, and so is c. If t made d, another
//! task stored c there, for t itself did not hold c before; that task did not make d and had got
//! hold of it, so again d is shared, and so is c. To store is also to set a promise. A result that
//! `place = spawn f()` stores is stored by the new task like any other, in a place it has from its
//! creator.
//!
//! So all accesses to an object that is not shared are made by one task, in the order of its
//! program. They race with nothing, and to leave them out takes no pair of racing accesses away,
//! adds none and reorders none.
//!
//! **Cost.** The sets of what is shared, once each.

use super::points_to::{GLOBALS, PointsTo};
use super::regions::Regions;
use super::sparse_set::SparseSet;
use finishline_ir::{FunctionId, Module, Op, Value};

/// How many of some objects are not shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Locality {
    None,
    Some,
    All,
}

/// The abstract objects that several tasks may reach.
pub(super) struct Shared(SparseSet);

impl Shared {
    pub(super) fn of(module: &Module, regions: &Regions, points_to: &PointsTo) -> Shared {
        let mut shared = SparseSet::of(GLOBALS);
        let mut waiting = vec![shared.clone()];
        let functions = (0..module.functions.len()).map(FunctionId::from_index);
        for id in functions.filter(|id| regions.runs(*id)) {
            for op in super::liveness::operations(module.function(id)) {
                let Op::Spawn { arguments, .. } = op else {
                    continue;
                };
                for argument in references(module, id, arguments) {
                    waiting.push(shared.add(points_to.objects(id, argument)));
                }
            }
        }
        while let Some(new) = waiting.pop() {
            for location in new.iter().flat_map(|object| points_to.locations(object)) {
                if let Some(stored) = points_to.stored(location) {
                    waiting.push(shared.add(stored));
                }
            }
        }
        Shared(shared)
    }

    pub(super) fn contains(&self, object: u32) -> bool {
        self.0.contains(object)
    }

    /// How many objects of a set are not shared. Of an empty set nothing is said: what has it as
    /// its base always fails.
    pub(super) fn locality(&self, objects: &SparseSet) -> Locality {
        let is_local = |object| !self.contains(object);
        if !objects.iter().any(is_local) {
            Locality::None
        } else if objects.iter().all(is_local) {
            Locality::All
        } else {
            Locality::Some
        }
    }
}

fn references(
    module: &Module,
    function: FunctionId,
    arguments: &[Value],
) -> impl Iterator<Item = Value> {
    let function = module.function(function);
    let is_reference = |value: &&Value| function.ty(**value) == finishline_ir::Type::Ref;
    arguments.iter().filter(is_reference).copied()
}
