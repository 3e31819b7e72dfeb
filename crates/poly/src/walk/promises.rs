//! Promises and futures. Paths don't show what a `get` waits for, and its value is unknown.
//!
//! That loses order and no access: what comes after a `get` happens at most, since a `get` may wait
//! for ever. [`crate::promises`] finds some of the order that is lost. A pair that is left may be
//! ordered all the same, so no race is claimed in a kernel with a `get`.
//!
//! A `set` is a write of the promise: two parallel ones are a race. A second one in order fails,
//! and nothing is said of what comes after a failure. A future is a promise, and a task that sets
//! it at its end; nobody else can.

use super::{Value, Walker};
use crate::facts::{PromiseUse, Reference, Stored, Touched};
use crate::order::Step;
use crate::sets::Result;
use finishline_answer::proof::ReasonKind;
use finishline_fin::hir::{Expression, Future, Type};
use finishline_model::{AccessId, AccessKind, SiteId};

impl Walker<'_> {
    pub(super) fn set(
        &mut self,
        promise: &Expression,
        value: &Expression,
        access: AccessId,
    ) -> Result<()> {
        let ty = promise.ty.clone();
        let promise = self.expression(promise)?;
        let promise = self.reference(promise);
        self.expression(value)?;
        self.facts.sets.push(PromiseUse {
            path: self.here(),
            domain: self.domain.clone(),
            promise,
            ty: ty.clone(),
        });
        let place = Touched::Promise { promise, ty };
        self.access(access, AccessKind::Write, place, Stored::Unknown)?;
        Ok(())
    }

    /// Waits for a promise. `ty` is the type of its value.
    pub(super) fn get(&mut self, promise: &Expression, ty: &Type, site: SiteId) -> Result<Value> {
        let of = promise.ty.clone();
        let promise = self.expression(promise)?;
        let promise = self.reference(promise);
        // One under a condition on data may wait or not.
        if self.is_known(&self.domain)? {
            self.facts.gets.push(PromiseUse {
                path: self.here(),
                domain: self.in_full(&self.domain)?,
                promise,
                ty: of,
            });
        }
        self.facts.may_stop = true;
        self.gap(ReasonKind::Promises, site);
        if ty.is_reference() {
            let unknown = Reference::Unknown(ReasonKind::Promises, site);
            return Ok(Value::Reference(self.facts.new_reference(unknown)));
        }
        self.keep(Value::Unknown(ReasonKind::Promises, site), ty)
    }

    /// Makes a promise, and a task that sets it. `ty` is the type of the future.
    pub(super) fn future(&mut self, future: &Future, ty: &Type) -> Result<Value> {
        let value = self.allocate(future.allocation, ty.clone(), Vec::new());
        let promise = self.reference(value.clone());
        let run = |walker: &mut Self| {
            walker.expression(&future.value)?;
            walker.facts.sets.push(PromiseUse {
                path: walker.here(),
                domain: walker.domain.clone(),
                promise,
                ty: ty.clone(),
            });
            Ok(())
        };
        self.inside(Step::Task, |walker| walker.detached(run))?;
        Ok(value)
    }
}
