//! Promises: a `get` looks at the mark inline, and calls the runtime only to wait or to tell of it.

use super::{Code, register};
use crate::checker::Style;
use crate::heap::layout::{PROMISE_MARK, PROMISE_VALUE};
use crate::runtime::context::Context;
use crate::runtime::helpers::Helper;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self as clif, InstBuilder};
use finishline_ir::{Type, Value};
use finishline_model::{AllocationId, SiteId};
use std::mem::offset_of;

impl Code<'_, '_> {
    pub(super) fn new_promise(
        &mut self,
        carried: Type,
        allocation: AllocationId,
        site: SiteId,
    ) -> Option<clif::Value> {
        self.add_accesses();
        let [carried, allocation] =
            [carried.index() as u32, allocation.0].map(|number| self.number(number));
        let site = self.number(site.0);
        let arguments = [self.context, carried, allocation, site];
        self.call_helper(Helper::NewPromise, &arguments)
    }

    pub(super) fn set_promise(&mut self, promise: Value, value: Value, site: SiteId) {
        self.may_switch();
        let (promise, word) = (self.get(promise), self.word(value));
        let site = self.number(site.0);
        self.call_helper(Helper::SetPromise, &[self.context, promise, word, site]);
    }

    pub(super) fn get_promise(&mut self, promise: Value, ty: Type, site: SiteId) -> clif::Value {
        self.before_get(site);
        self.non_null(promise, site);
        let promise = self.get(promise);
        let flags = self.regions.field(Type::Int);
        let mark = self.builder.ins().load(I64, flags, promise, PROMISE_MARK);
        let is_set = self
            .builder
            .ins()
            .icmp_imm_s(IntCC::SignedGreaterThan, mark, 0);
        self.go_on_after(is_set, |code| {
            code.may_switch();
            let site = code.number(site.0);
            code.call_helper(Helper::AwaitPromise, &[code.context, promise, site]);
        });
        if self.program.style != Style::Nothing {
            let site = self.number(site.0);
            self.call_helper(Helper::TellGet, &[self.context, promise, site]);
        }
        let flags = self.regions.field(ty);
        self.builder
            .ins()
            .load(register(ty), flags, promise, PROMISE_VALUE)
    }

    /// Before anything that may let another task go on, or change the room of the stack: the
    /// runtime has to know what this task has done and what it takes.
    pub(super) fn may_switch(&mut self) {
        self.add_accesses();
        let offset = offset_of!(Context, stack) as i32;
        let flags = self.regions.context();
        let stack = self.stack;
        self.builder.ins().store(flags, stack, self.context, offset);
    }

    /// Calls a function of the runtime until it says that the task need not wait any more.
    pub(super) fn pass(&mut self, helper: Helper, arguments: &[clif::Value]) {
        self.may_switch();
        let [again, done] = std::array::from_fn(|_| self.builder.create_block());
        self.builder.ins().jump(again, &[]);
        self.builder.switch_to_block(again);
        let passed = self.call_helper(helper, arguments);
        let passed = passed.expect("the function says whether it has waited");
        self.builder.ins().brif(passed, done, &[], again, &[]);
        self.builder.switch_to_block(done);
    }
}
