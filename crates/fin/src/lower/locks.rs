//! Locks, and how blocks that exclude others are left.

use super::{Exclusive, FunctionLowering};
use crate::hir::{self, Statement};
use finishline_ir::{BinaryOp, CompareOp, Const, Op, Operand, Type, Value};
use finishline_model::{AccessId, AllocationId, SiteId};

impl FunctionLowering<'_> {
    pub(super) fn new_lock(&mut self, allocation: AllocationId, site: SiteId) -> Value {
        self.value(Op::NewLock { allocation }, Type::Ref, site)
    }

    /// An array, and a loop that makes the lock of each element.
    pub(super) fn new_locks(
        &mut self,
        sizes: Vec<Value>,
        allocation: AllocationId,
        of_lock: AllocationId,
        access: AccessId,
        site: SiteId,
    ) -> Value {
        let dimensions = sizes.len() as u32;
        let array = Op::NewArray {
            element: Type::Ref,
            sizes,
            allocation,
        };
        let array = self.value(array, Type::Ref, site);
        // The array is there, so the product of its sizes does not overflow.
        let size = |dimension| Op::Length { array, dimension };
        let mut count = self.value(size(0), Type::Int, site);
        for dimension in 1..dimensions {
            let size = self.value(size(dimension), Type::Int, site);
            count = self.value(Op::Binary(BinaryOp::Multiply, count, size), Type::Int, site);
        }
        let [header, inside, exit] = [(); 3].map(|()| self.builder.new_block());
        let zero = self.value(Op::Const(Const::Int(0)), Type::Int, site);
        self.builder.jump(header, vec![zero]);
        self.builder.start(header);
        let at = self.builder.parameter(header, Type::Int);
        let more = Op::Compare(CompareOp::Less, at, count);
        let more = self.value(more, Type::Bool, site);
        self.builder.branch(more, inside, exit);
        self.builder.start(inside);
        let lock = self.new_lock(of_lock, site);
        self.store(array, Operand::Value(at), lock, access, site);
        let one = self.value(Op::Const(Const::Int(1)), Type::Int, site);
        let next = self.value(Op::Binary(BinaryOp::Add, at, one), Type::Int, site);
        self.builder.jump(header, vec![next]);
        self.builder.start(exit);
        array
    }

    /// Acquires a lock and returns it.
    pub(super) fn acquire(&mut self, lock: &hir::Expression, site: SiteId) -> Value {
        let lock = self.expression(lock);
        self.emit(Op::Acquire(lock), site);
        lock
    }

    /// A block that excludes others, and its end.
    pub(super) fn exclusive_block(
        &mut self,
        exclusive: Exclusive,
        block: &[Statement],
        end: SiteId,
    ) {
        self.exclusive.push(exclusive);
        self.block(block);
        self.exclusive.pop();
        self.leave(exclusive, end);
    }

    /// Control leaves the exclusive blocks around it, except the outermost `keep`.
    pub(super) fn leave_exclusive(&mut self, keep: usize, site: SiteId) {
        for at in (keep..self.exclusive.len()).rev() {
            self.leave(self.exclusive[at], site);
        }
    }

    fn leave(&mut self, exclusive: Exclusive, site: SiteId) {
        let op = match exclusive {
            Exclusive::Isolated => Op::IsolatedEnd,
            Exclusive::Locked(lock) => Op::Release(lock),
        };
        self.emit(op, site);
    }
}
