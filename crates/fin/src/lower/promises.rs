//! Promises and futures. A future is a promise, and a task that sets it.

use super::FunctionLowering;
use crate::hir;
use finishline_ir::{Construct, Function, Op, Operand, Role, Terminator, Type, Value};
use finishline_model::{AccessId, AccessKind, AllocationId, SiteId, TaskKind};

impl FunctionLowering<'_> {
    /// A promise without a value. `ty` is its own type.
    pub(super) fn new_promise(
        &mut self,
        ty: &hir::Type,
        allocation: AllocationId,
        site: SiteId,
    ) -> Value {
        let (hir::Type::Promise(carried) | hir::Type::Future(carried)) = ty else {
            unreachable!("the checker gives promises and futures their types");
        };
        let op = Op::NewPromise {
            carried: carried.ir(),
            allocation,
        };
        self.value(op, Type::Ref, site)
    }

    /// `promise.set(value)`. Two parallel sets race, so the set is checked as a write.
    pub(super) fn set(
        &mut self,
        promise: &hir::Expression,
        value: &hir::Expression,
        access: AccessId,
        site: SiteId,
    ) {
        let (promise, value) = (self.expression(promise), self.expression(value));
        self.emit(Op::NonNull(promise), site);
        self.check(
            AccessKind::Write,
            promise,
            Operand::Constant(0),
            access,
            site,
        );
        self.emit(
            Op::PromiseSet {
                promise,
                value,
                access: Some(access),
            },
            site,
        );
    }

    /// Makes the promise, then creates the task. The task gets the promise as a parameter without a
    /// name, before its captures.
    pub(super) fn future(&mut self, future: &hir::Future, ty: &hir::Type, site: SiteId) -> Value {
        let promise = self.new_promise(ty, future.allocation, site);
        let mut arguments = vec![promise];
        arguments.extend(self.current(&future.captures));
        let captured = future.captures.iter();
        let captured = captured.map(|local| self.function.locals[local.index()].name.clone());
        let names = std::iter::once(String::new()).chain(captured).collect();

        let mut lowering = self.task_lowering(false);
        let own = lowering.builder.parameter(Function::ENTRY, Type::Ref);
        for capture in &future.captures {
            lowering.parameter(*capture);
        }
        let value = lowering.expression(&future.value);
        lowering.emit(
            Op::PromiseSet {
                promise: own,
                value,
                access: None,
            },
            site,
        );
        lowering.builder.end(Terminator::Return(None));
        let name = lowering.function.name.clone();
        let sites = (site, future.end);
        let body = lowering
            .builder
            .finish(name, Role::AsyncBody, names, None, sites);
        let function = self.add_function(body);
        self.emit(
            Op::Spawn {
                kind: TaskKind::Async,
                construct: Construct::Future,
                function,
                arguments,
            },
            site,
        );
        promise
    }
}
