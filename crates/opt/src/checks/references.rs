//! What references can refer to, for those who change nothing.

use super::points_to::PointsTo;
use super::regions::Regions;
use finishline_ir::{FunctionId, Module, Value};
use finishline_model::AllocationId;

/// Where the objects are made that a reference can refer to, in any run and at any time.
pub struct References(PointsTo);

impl References {
    /// None if that is too much work.
    pub fn of(module: &Module) -> Option<References> {
        PointsTo::of(module, &Regions::of(module)).map(References)
    }

    /// The allocations of the objects that a reference can refer to.
    pub fn of_value(
        &self,
        function: FunctionId,
        value: Value,
    ) -> impl Iterator<Item = AllocationId> {
        let objects = self.0.objects(function, value).iter();
        objects.map(|object| self.0.allocation(object))
    }
}
