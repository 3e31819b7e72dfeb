//! Calls, and the creation and waiting of tasks.
//!
//! Before a call happens it is checked at its site, as the interpreter does it: against the depth
//! that calls of a task may nest, and against the budget. To create a task, code tells the runtime,
//! calls the body, and tells the runtime again. For a task that may wait it hands over the captured
//! values, and the runtime lets the body run on a stack of its own.

use super::{Code, HIDDEN};
use crate::runtime::context::Context;
use crate::runtime::helpers::Helper;
use crate::runtime::parallel::Record;
use crate::runtime::schedule::Manner;
use crate::runtime::tasks::{SpawnSite, finish_number};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self as clif, AbiParam, InstBuilder, Signature};
use cranelift_codegen::isa::CallConv;
use finishline_ir::{FunctionId, Value, cost};
use finishline_model::{FinishKind, SiteId};
use std::mem::offset_of;

impl Code<'_, '_> {
    pub(super) fn call(
        &mut self,
        function: FunctionId,
        arguments: &[Value],
        site: SiteId,
    ) -> Option<clif::Value> {
        let stack = self.room(self.stack, self.depth, function, site);
        let depth = self.builder.ins().iadd_imm_s(self.depth, 1);
        self.add_accesses();
        self.enter(function, [self.context, depth, stack], arguments)
    }

    /// Whether the last of these functions could be called from the first ones nested in each
    /// other.
    pub(super) fn call_room(&mut self, nested: &[FunctionId], site: SiteId) {
        let (mut stack, mut depth) = (self.stack, self.depth);
        let Some((last, entered)) = nested.split_last() else {
            return;
        };
        for function in entered {
            let bytes = cost::frame(self.program.module.function(*function));
            stack = self.builder.ins().iadd_imm_s(stack, bytes as i64);
            depth = self.builder.ins().iadd_imm_s(depth, 1);
        }
        self.room(stack, depth, *last, site);
    }

    /// Checks the limits for a call; the bytes in use during it.
    fn room(
        &mut self,
        stack: clif::Value,
        depth: clif::Value,
        function: FunctionId,
        site: SiteId,
    ) -> clif::Value {
        let limit = i64::from(self.program.limits.call_depth);
        let shallow = self
            .builder
            .ins()
            .icmp_imm_s(IntCC::SignedLessThanOrEqual, depth, limit);
        self.go_on_if(shallow, |code| {
            code.fail(Helper::CallDepth, site, &[]);
        });
        let bytes = cost::frame(self.program.module.function(function)) as i64;
        let flags = self.regions.context();
        let offset = offset_of!(Context, stack_limit) as i32;
        let limit = self.builder.ins().load(I64, flags, self.context, offset);
        let total = self.builder.ins().iadd_imm_s(stack, bytes);
        let fits = self
            .builder
            .ins()
            .icmp(IntCC::UnsignedLessThanOrEqual, total, limit);
        if self.program.waiting.is_some() {
            // The room of a stack may grow.
            self.go_on_after(fits, |code| {
                code.may_switch();
                let (site, bytes) = (code.number(site.0), code.int(bytes));
                let arguments = [code.context, site, bytes, stack];
                code.call_helper(Helper::CallMemory, &arguments);
            });
        } else {
            self.go_on_if(fits, |code| {
                let bytes = code.int(bytes);
                code.fail(Helper::CallMemory, site, &[bytes, stack]);
            });
        }
        total
    }

    fn enter(
        &mut self,
        function: FunctionId,
        hidden: [clif::Value; HIDDEN],
        arguments: &[Value],
    ) -> Option<clif::Value> {
        let arguments = arguments.iter().map(|argument| self.get(*argument));
        let arguments: Vec<clif::Value> = hidden.into_iter().chain(arguments).collect();
        let callee = self.callee(function);
        let call = self.builder.ins().call(callee, &arguments);
        self.builder.inst_results(call).first().copied()
    }

    pub(super) fn spawn(&mut self, spawn: SpawnSite, arguments: &[Value]) {
        let function = spawn.function;
        let bytes = cost::LIVE_TASK + cost::frame(self.program.module.function(function));
        let end = spawn.end;
        let number = self.program.spawns.len() as u32;
        self.program.spawns.push(SpawnSite {
            bytes: bytes + cost::TASK_RECORD,
            ..spawn
        });

        if let Some(waiting) = &self.program.waiting
            && waiting[function.index()]
        {
            let captured: Vec<_> = arguments.iter().map(|a| self.get(*a)).collect();
            let captures = self.on_stack(&captured);
            self.may_switch();
            let number = self.number(number);
            self.call_helper(Helper::BeginStrand, &[self.context, number, captures]);
            return;
        }
        if self.program.manner == Manner::Parallel {
            self.create_task(number, spawn, bytes, arguments);
            return;
        }
        self.add_accesses();
        let number = self.number(number);
        // In a cooperative run the listener hears of every task.
        let heard = spawn.heard || self.program.waiting.is_some();
        let captures = match self.program.style.tells_captures() && heard {
            true => {
                let captured: Vec<_> = arguments.iter().map(|a| self.get(*a)).collect();
                self.on_stack(&captured)
            }
            false => self.int(0),
        };
        let told = [self.context, number, self.stack, captures];
        self.call_helper(Helper::BeginTask, &told);
        let depth = self.int(1);
        let stack = self.builder.ins().iadd_imm_s(self.stack, bytes as i64);
        self.enter(function, [self.context, depth, stack], arguments);
        let end = self.number(end.0);
        self.call_helper(Helper::EndTask, &[self.context, end]);
    }

    /// Creates a task that can't wait, and calls it if it was not handed over.
    fn create_task(&mut self, number: u32, spawn: SpawnSite, bytes: u64, arguments: &[Value]) {
        let captured: Vec<_> = arguments.iter().map(|a| self.get(*a)).collect();
        let captures = self.on_stack(&captured);
        self.may_switch();
        let number = self.number(number);
        let called = self.call_helper(Helper::CreateTask, &[self.context, number, captures]);
        let called = called.expect("the function says whether it has handed the task over");
        let [call, done] = std::array::from_fn(|_| self.builder.create_block());
        self.builder.ins().brif(called, call, &[], done, &[]);
        self.builder.switch_to_block(call);
        let depth = self.int(1);
        let stack = self.builder.ins().iadd_imm_s(self.stack, bytes as i64);
        self.enter(spawn.function, [self.context, depth, stack], arguments);
        let end = self.number(spawn.end.0);
        self.call_helper(Helper::EndTask, &[self.context, end]);
        self.builder.ins().jump(done, &[]);
        self.builder.switch_to_block(done);
    }

    /// Calls a function of the runtime until it says that the task need not wait for others any
    /// more. In a parallel run it may say that there is a task to run before.
    fn pass_join(&mut self, helper: Helper, arguments: &[clif::Value]) {
        if self.program.manner != Manner::Parallel {
            self.pass(helper, arguments);
            return;
        }
        self.may_switch();
        let [again, more, run, done] = std::array::from_fn(|_| self.builder.create_block());
        self.builder.ins().jump(again, &[]);
        self.builder.switch_to_block(again);
        let passed = self.call_helper(helper, arguments);
        let passed = passed.expect("the function says whether it has waited");
        let is_done = self.builder.ins().icmp_imm_u(IntCC::Equal, passed, 1);
        self.builder.ins().brif(is_done, done, &[], more, &[]);
        self.builder.switch_to_block(more);
        self.builder.ins().brif(passed, run, &[], again, &[]);

        self.builder.switch_to_block(run);
        let flags = self.regions.plain();
        let [entry, captures] = [offset_of!(Record, entry), offset_of!(Record, captures)]
            .map(|offset| self.builder.ins().load(I64, flags, passed, offset as i32));
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend([I64; 3].map(AbiParam::new));
        let signature = self.builder.import_signature(signature);
        let arguments = [self.context, captures, self.stack];
        self.builder
            .ins()
            .call_indirect(signature, entry, &arguments);
        self.call_helper(Helper::EndTaken, &[self.context]);
        // What the task has noted is its own.
        self.may_switch();
        self.builder.ins().jump(again, &[]);
        self.builder.switch_to_block(done);
    }

    pub(super) fn begin_finish(&mut self, kind: FinishKind, site: SiteId) {
        self.add_accesses();
        let (kind, site) = (self.number(finish_number(kind)), self.number(site.0));
        self.call_helper(Helper::BeginFinish, &[self.context, kind, site, self.stack]);
    }

    pub(super) fn end_finish(&mut self, kind: FinishKind, site: SiteId) {
        self.add_accesses();
        let (kind, site) = (self.number(finish_number(kind)), self.number(site.0));
        let arguments = [self.context, kind, site];
        match self.program.waiting {
            Some(_) => self.pass_join(Helper::PassFinish, &arguments),
            None => {
                self.call_helper(Helper::EndFinish, &arguments);
            }
        }
    }

    pub(super) fn sync(&mut self, site: SiteId) {
        if self.program.waiting.is_some() {
            let site = self.number(site.0);
            self.pass_join(Helper::PassSync, &[self.context, site]);
        } else {
            self.task_operation(Helper::Sync, site);
        }
    }

    pub(super) fn end_isolated(&mut self, site: SiteId) -> Option<clif::Value> {
        if self.program.waiting.is_some() {
            self.may_switch();
            self.task_operation(Helper::LeaveIsolated, site)
        } else {
            self.task_operation(Helper::EndIsolated, site)
        }
    }

    /// An operation of the running task that the runtime does alone.
    pub(super) fn task_operation(&mut self, helper: Helper, site: SiteId) -> Option<clif::Value> {
        self.add_accesses();
        let site = self.number(site.0);
        self.call_helper(helper, &[self.context, site])
    }
}
