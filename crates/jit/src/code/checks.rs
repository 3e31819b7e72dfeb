//! A race check: nothing, a call that tells of the access, or the fast path inline.
//!
//! The fast path is the table in [`finishline_detect::inline`], instruction by instruction. Where it decides nothing, a cold block calls
//! the detector by a convention that preserves all registers.

use super::Code;
use crate::checker::Style;
use crate::heap::layout::{CELLS_OFFSET, field_cell_offset};
use crate::runtime::checks::pack;
use crate::runtime::context::Context;
use crate::runtime::helpers::Helper;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{self as clif, InstBuilder};
use finishline_detect::inline::{FastPath, SLOTS};
use finishline_ir::{Operand, Value};
use finishline_model::{AccessId, AccessKind, SiteId};
use std::mem::offset_of;

/// The half of a cell that is the reader.
const READER: i32 = 4;

/// Where a word of the fast path is in the context.
const fn in_context(field: usize, slot: usize) -> i32 {
    (offset_of!(Context, fast) + field + slot * size_of::<u64>()) as i32
}

impl Code<'_, '_> {
    pub(super) fn check(
        &mut self,
        kind: AccessKind,
        base: Value,
        [first, count, stride]: [Operand; 3],
        access: AccessId,
        _site: SiteId,
    ) {
        match self.program.style {
            Style::Nothing => {}
            Style::Call => {
                let object = self.get(base);
                let [first, count, stride] = [first, count, stride].map(|o| self.operand(o));
                let packed = self.int(pack(kind, access) as i64);
                let arguments = [self.context, object, first, count, stride, packed];
                self.call_helper(Helper::TellAccess, &arguments);
            }
            Style::Inline => {
                debug_assert_eq!(count, Operand::Constant(1), "a range of locations");
                self.count_access();
                self.fast_path(kind, base, first);
            }
        }
    }

    /// Counts in a register; see [`Code::add_accesses`].
    fn count_access(&mut self) {
        if let Some(accesses) = self.accesses {
            let before = self.builder.use_var(accesses);
            let after = self.builder.ins().iadd_imm_s(before, 1);
            self.builder.def_var(accesses, after);
        }
    }

    /// Adds the accesses counted here to the context's: before anything that may end the function or read the number.
    pub(super) fn add_accesses(&mut self) {
        if let Some(accesses) = self.accesses {
            let own = self.builder.use_var(accesses);
            let offset = offset_of!(Context, accesses) as i32;
            let flags = self.regions.context();
            let before = self.builder.ins().load(I64, flags, self.context, offset);
            let after = self.builder.ins().iadd(before, own);
            self.builder.ins().store(flags, after, self.context, offset);
            let zero = self.int(0);
            self.builder.def_var(accesses, zero);
        }
    }

    fn fast_path(&mut self, kind: AccessKind, base: Value, offset: Operand) {
        let slot = self.next_slots[kind as usize] % SLOTS;
        self.next_slots[kind as usize] += 1;
        let (address, displacement) = self.cell(base, offset);
        let cells = self.regions.cell();
        let done = self.builder.create_block();
        let (cell, from) = match kind {
            AccessKind::Read => {
                let reader = displacement + READER;
                let reader = self.builder.ins().load(I32, cells, address, reader);
                let me = self.of_context(I32, offset_of!(FastPath, me), 0);
                self.go_if_equal(reader, me, done);
                let cell = self.builder.ins().load(I64, cells, address, displacement);
                let keep = self.of_context(I64, offset_of!(FastPath, keep), slot);
                self.go_if_equal(cell, keep, done);
                let take = self.of_context(I64, offset_of!(FastPath, take), slot);
                (cell, take)
            }
            AccessKind::Write => {
                let cell = self.builder.ins().load(I64, cells, address, displacement);
                let settled = self.of_context(I64, offset_of!(FastPath, settled), 0);
                self.go_if_equal(cell, settled, done);
                let cover = self.of_context(I64, offset_of!(FastPath, cover), slot);
                (cell, cover)
            }
        };
        let known = self.builder.ins().icmp(IntCC::Equal, cell, from);
        let (taking, undecided) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(undecided);
        self.builder.ins().brif(known, taking, &[], undecided, &[]);

        self.builder.switch_to_block(taking);
        let to = match kind {
            AccessKind::Read => self.of_context(I64, offset_of!(FastPath, to), slot),
            AccessKind::Write => self.of_context(I64, offset_of!(FastPath, settled), 0),
        };
        self.builder.ins().store(cells, to, address, displacement);
        self.builder.ins().jump(done, &[]);

        self.builder.switch_to_block(undecided);
        let object = self.get(base);
        let offset = self.operand(offset);
        let cell = self
            .builder
            .ins()
            .iadd_imm_s(address, i64::from(displacement));
        let slot = self.int(slot as i64);
        let helper = match kind {
            AccessKind::Read => Helper::UndecidedRead,
            AccessKind::Write => Helper::UndecidedWrite,
        };
        self.call_helper(helper, &[self.context, object, offset, cell, slot]);
        self.builder.ins().jump(done, &[]);

        self.builder.switch_to_block(done);
    }

    fn of_context(&mut self, ty: clif::Type, field: usize, slot: usize) -> clif::Value {
        let flags = self.regions.context();
        self.builder
            .ins()
            .load(ty, flags, self.context, in_context(field, slot))
    }

    fn go_if_equal(&mut self, a: clif::Value, b: clif::Value, target: clif::Block) {
        let equal = self.builder.ins().icmp(IntCC::Equal, a, b);
        let next = self.builder.create_block();
        self.builder.ins().brif(equal, target, &[], next, &[]);
        self.builder.switch_to_block(next);
    }

    /// Where the cell of a location is.
    fn cell(&mut self, base: Value, offset: Operand) -> (clif::Value, i32) {
        let object = self.get(base);
        match offset {
            Operand::Constant(field) => (object, field_cell_offset(field as u32)),
            Operand::Value(offset) => {
                let offset = self.get(offset);
                let flags = self.regions.header();
                let cells = self.builder.ins().load(I64, flags, object, CELLS_OFFSET);
                let bytes = self.builder.ins().ishl_imm_u(offset, 3);
                (self.builder.ins().iadd(cells, bytes), 0)
            }
        }
    }
}
