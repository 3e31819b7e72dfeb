//! Locks: every operation is a call of the runtime.

use super::Code;
use crate::runtime::helpers::Helper;
use cranelift_codegen::ir as clif;
use finishline_ir::{Construct, Value};
use finishline_model::{AllocationId, SiteId};

impl Code<'_, '_> {
    pub(super) fn new_lock(
        &mut self,
        allocation: AllocationId,
        site: SiteId,
    ) -> Option<clif::Value> {
        self.add_accesses();
        let [allocation, site] = [allocation.0, site.0].map(|number| self.number(number));
        self.call_helper(Helper::NewLock, &[self.context, allocation, site])
    }

    pub(super) fn acquire(&mut self, lock: Value, site: SiteId) {
        let (lock, site) = (self.get(lock), self.number(site.0));
        self.pass(Helper::Acquire, &[self.context, lock, site]);
    }

    pub(super) fn release(&mut self, lock: Value, site: SiteId) {
        self.may_switch();
        let (lock, site) = (self.get(lock), self.number(site.0));
        self.call_helper(Helper::Release, &[self.context, lock, site]);
    }

    /// A `get` fails while a lock is held, whether or not it has to wait.
    pub(super) fn before_get(&mut self, site: SiteId) {
        if self.program.module.uses(Construct::Lock).is_some() {
            self.task_operation(Helper::BeforeGet, site);
        }
    }
}
