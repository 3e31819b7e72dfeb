//! A race check: nothing, a call that tells of the access, the fast path inline, or a comparison
//! that finds repetitions. A check of a
//! range of locations is always a call, which also counts the locations.
//!
//! The fast path is the table in [`finishline_detect::inline`], instruction by instruction. Where
//! the table decides nothing, a cold block calls the detector by a convention that preserves all
//! registers.

use super::Code;
use crate::checker::Style;
use crate::heap::layout::{CELLS_OFFSET, PHASE_OF_ARRAY, PHASE_OF_STRUCT};
use crate::runtime::checks::{known_place, pack};
use crate::runtime::context::Context;
use crate::runtime::helpers::Helper;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{self as clif, InstBuilder};
use finishline_detect::inline::{Limits, SLOTS};
use finishline_detect::parallel::cell::{READERS_OFFSET, WRITER_SHIFT};
use finishline_ir::{Operand, Value};
use finishline_model::{AccessId, AccessKind};
use std::mem::offset_of;

/// The count of a check of the one location behind it, which is there: null and bounds have been
/// checked.
const ONE: Operand = Operand::Constant(1);

/// Where the cell of a location is: an address, an index of cells from there, and a number of
/// bytes. Fields have no index: the address is that of their object.
type Place = (clif::Value, Option<clif::Value>, i32);

fn shared_helper(kind: AccessKind) -> Helper {
    match kind {
        AccessKind::Read => Helper::SharedRead,
        AccessKind::Write => Helper::SharedWrite,
    }
}

impl Code<'_, '_> {
    pub(super) fn check(
        &mut self,
        kind: AccessKind,
        base: Value,
        range: [Operand; 3],
        access: AccessId,
    ) {
        let [first, count, _] = range;
        match self.program.style {
            Style::Nothing => {}
            Style::Call if count == ONE => {
                let (object, first) = (self.get(base), self.operand(first));
                let packed = self.int(pack(kind, access) as i64);
                let arguments = [self.context, object, first, packed];
                self.call_helper(Helper::TellAccess, &arguments);
            }
            Style::Inline if count == ONE => {
                self.count_access();
                self.fast_path(kind, base, first);
            }
            Style::Record if count == ONE => {
                self.count_access();
                let place = self.cell(base, first);
                let done = self.builder.create_block();
                let is_known = self.is_known(kind, place).1;
                self.call_unless(is_known, done, |code| {
                    let helper = match kind {
                        AccessKind::Read => Helper::RecordRead,
                        AccessKind::Write => Helper::RecordWrite,
                    };
                    code.undecided(helper, place, i64::from(access.0), None);
                });
            }
            Style::SharedWord if count == ONE => {
                self.count_access();
                self.first_in_phase(kind, base, first, access);
            }
            Style::SharedWords if count == ONE => {
                self.count_access();
                self.shared_fast_path(kind, base, first);
            }
            Style::SharedWord | Style::SharedWords => {
                self.range(Helper::SharedRange, base, range, pack(kind, access))
            }
            Style::Call => self.range(Helper::TellRange, base, range, pack(kind, access)),
            Style::Inline | Style::Record => {
                self.range(Helper::CheckRange, base, range, pack(kind, access));
            }
        }
    }

    fn range(&mut self, helper: Helper, base: Value, range: [Operand; 3], packed: u64) {
        let object = self.get(base);
        let [first, count, stride] = range.map(|operand| self.operand(operand));
        let packed = self.int(packed as i64);
        let arguments = [self.context, object, first, count, stride, packed];
        self.call_helper(helper, &arguments);
    }

    /// Counts in a register; see [`Code::add_accesses`].
    fn count_access(&mut self) {
        if let Some(accesses) = self.accesses {
            let before = self.builder.use_var(accesses);
            let after = self.builder.ins().iadd_imm_s(before, 1);
            self.builder.def_var(accesses, after);
        }
    }

    /// Adds the accesses counted here to the context's: before anything that may end the function
    /// or read the number.
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

    /// The cell, and whether the step has made such an access before.
    fn is_known(&mut self, kind: AccessKind, place: Place) -> (clif::Value, clif::Value) {
        let (cells, index, displacement) = place;
        let address = match index {
            Some(index) => {
                let bytes = self.builder.ins().ishl_imm_u(index, 3);
                self.builder.ins().iadd(cells, bytes)
            }
            None => cells,
        };
        let flags = self.regions.cell();
        let cell = self.builder.ins().load(I64, flags, address, displacement);
        let is_known = match kind {
            AccessKind::Read => {
                let reader = self.builder.ins().ushr_imm_u(cell, 32);
                let reader = self.builder.ins().ireduce(I32, reader);
                let me = self.of_context(I32, offset_of!(Limits, me));
                self.builder.ins().icmp(IntCC::Equal, reader, me)
            }
            AccessKind::Write => {
                let settled = self.of_context(I64, offset_of!(Limits, settled));
                self.builder.ins().icmp(IntCC::Equal, cell, settled)
            }
        };
        (cell, is_known)
    }

    /// Goes to `done`, unless a condition does not hold: then makes a call before.
    fn call_unless(
        &mut self,
        condition: clif::Value,
        done: clif::Block,
        call: impl FnOnce(&mut Self),
    ) {
        let otherwise = self.builder.create_block();
        self.builder.set_cold_block(otherwise);
        self.builder
            .ins()
            .brif(condition, done, &[], otherwise, &[]);
        self.builder.switch_to_block(otherwise);
        call(self);
        self.builder.ins().jump(done, &[]);
        self.builder.switch_to_block(done);
    }

    /// Calls the checker, unless the phase does not record such an access, or the step has made one
    /// before, or the site knows that others stand for the step, for good.
    fn first_in_phase(&mut self, kind: AccessKind, base: Value, offset: Operand, access: AccessId) {
        let place = self.cell(base, offset);
        let (cells, index, _) = place;
        let of_object = match index {
            Some(_) => PHASE_OF_ARRAY,
            None => PHASE_OF_STRUCT,
        };
        let done = self.builder.create_block();
        let flags = self.regions.cell();
        let phase = self.builder.ins().load(I32, flags, cells, of_object);
        let words = offset_of!(Context, phase.done) + kind as usize * size_of::<u32>();
        let words = self.context_word(I32, words);
        self.go_if(IntCC::Equal, phase, words, done);
        // The step has made the object. For writes, `done` has the owner.
        if kind == AccessKind::Read {
            let owner = self.context_word(I32, offset_of!(Context, phase.owner));
            self.go_if(IntCC::Equal, phase, owner, done);
        }

        let (cell, mut is_known) = self.is_known(kind, place);
        if kind == AccessKind::Read {
            let other = self.builder.create_block();
            self.builder.ins().brif(is_known, done, &[], other, &[]);
            self.builder.switch_to_block(other);
            let left = offset_of!(Context, known.left) + size_of::<u64>() * known_place(access);
            let left = self.context_word(I64, left);
            is_known = self.builder.ins().icmp(IntCC::Equal, cell, left);
        }
        self.call_unless(is_known, done, |code| {
            let object = code.builder.ins().iadd_imm_s(cells, i64::from(of_object));
            let helper = shared_helper(kind);
            code.undecided(helper, place, i64::from(access.0), Some(object));
        });
    }

    /// Calls the slow half of a check for this cell.
    fn undecided(
        &mut self,
        helper: Helper,
        (cells, index, displacement): Place,
        slot: i64,
        object: Option<clif::Value>,
    ) {
        // The address is computed by the callee: if it were here, it would be in the way there.
        let cells = self
            .builder
            .ins()
            .iadd_imm_s(cells, i64::from(displacement));
        let index = match index {
            Some(index) => index,
            None => self.int(0),
        };
        let slot = self.int(slot);
        match object {
            Some(object) => {
                self.call_helper(helper, &[self.context, cells, index, slot, object]);
            }
            None => {
                self.call_helper(helper, &[self.context, cells, index, slot]);
            }
        }
    }

    fn fast_path(&mut self, kind: AccessKind, base: Value, offset: Operand) {
        let (cells, index, displacement) = self.cell(base, offset);
        let address = match index {
            Some(index) => {
                let bytes = self.builder.ins().ishl_imm_u(index, 3);
                self.builder.ins().iadd(cells, bytes)
            }
            None => cells,
        };
        let flags = self.regions.cell();
        let cell = self.builder.ins().load(I64, flags, address, displacement);
        let [done, undecided, take] = std::array::from_fn(|_| self.builder.create_block());
        self.builder.set_cold_block(undecided);
        let writer = self.builder.ins().ireduce(I32, cell);
        let reader = self.builder.ins().ushr_imm_u(cell, 32);
        let reader = self.builder.ins().ireduce(I32, reader);
        let me = self.of_context(I32, offset_of!(Limits, me));
        // As few blocks as will do: a program has many checks, and all are compiled.
        match kind {
            AccessKind::Read => {
                self.go_if(IntCC::Equal, reader, me, done);
                if self.program.waiting.is_some() {
                    let first = self.of_context(I32, offset_of!(Limits, first_set));
                    let sets = self.of_context(I32, offset_of!(Limits, sets));
                    let number = self.builder.ins().isub(reader, first);
                    self.go_if(IntCC::UnsignedLessThan, number, sets, done);
                }
                let serial_below = self.of_context(I32, offset_of!(Limits, serial_below));
                self.go_if(
                    IntCC::UnsignedGreaterThanOrEqual,
                    writer,
                    serial_below,
                    undecided,
                );
                self.go_if(IntCC::UnsignedLessThan, reader, serial_below, take);
                let above = self.builder.ins().isub(reader, serial_below);
                let parallel_above = self.of_context(I32, offset_of!(Limits, parallel_above));
                let beside =
                    self.builder
                        .ins()
                        .icmp(IntCC::UnsignedLessThan, above, parallel_above);
                self.builder.ins().brif(beside, done, &[], undecided, &[]);
            }
            AccessKind::Write => {
                let settled = self.of_context(I64, offset_of!(Limits, settled));
                self.go_if(IntCC::Equal, cell, settled, done);
                let serial_below = self.of_context(I32, offset_of!(Limits, serial_below));
                self.go_if(
                    IntCC::UnsignedGreaterThanOrEqual,
                    writer,
                    serial_below,
                    undecided,
                );
                self.go_if(IntCC::Equal, reader, me, take);
                let serial = self
                    .builder
                    .ins()
                    .icmp(IntCC::UnsignedLessThan, reader, serial_below);
                self.builder.ins().brif(serial, take, &[], undecided, &[]);
            }
        }

        self.builder.switch_to_block(take);
        let settled = self.of_context(I64, offset_of!(Limits, settled));
        let after = match kind {
            AccessKind::Read => {
                let reader = self.builder.ins().ushr_imm_u(settled, 32);
                let reader = self.builder.ins().ishl_imm_u(reader, 32);
                let writer = self.builder.ins().uextend(I64, writer);
                self.builder.ins().bor(reader, writer)
            }
            AccessKind::Write => settled,
        };
        self.builder
            .ins()
            .store(flags, after, address, displacement);
        self.builder.ins().jump(done, &[]);

        self.builder.switch_to_block(undecided);
        let slot = self.next_slot % SLOTS;
        self.next_slot += 1;
        let helper = match kind {
            AccessKind::Read => Helper::UndecidedRead,
            AccessKind::Write => Helper::UndecidedWrite,
        };
        self.undecided(helper, (cells, index, displacement), slot as i64, None);
        self.builder.ins().jump(done, &[]);

        self.builder.switch_to_block(done);
    }

    /// A cell of [`finishline_detect::parallel::cell`]: the step is among the readers, or it is the
    /// writer, or the detector decides.
    fn shared_fast_path(&mut self, kind: AccessKind, base: Value, offset: Operand) {
        let (cells, index, displacement) = self.cell(base, offset);
        // Of two words each.
        let words = index.map(|index| self.builder.ins().ishl_imm_u(index, 1));
        let address = match words {
            Some(words) => {
                let bytes = self.builder.ins().ishl_imm_u(words, 3);
                self.builder.ins().iadd(cells, bytes)
            }
            None => cells,
        };
        let flags = self.regions.cell();
        let [done, undecided] = std::array::from_fn(|_| self.builder.create_block());
        self.builder.set_cold_block(undecided);
        let me = self.of_context(I32, offset_of!(Limits, me));
        match kind {
            AccessKind::Read => {
                let place = displacement + READERS_OFFSET as i32;
                let readers = self.builder.ins().load(I64, flags, address, place);
                let one = self.builder.ins().ireduce(I32, readers);
                self.go_if(IntCC::Equal, one, me, done);
                let other = self.builder.ins().ushr_imm_u(readers, 32);
                let other = self.builder.ins().ireduce(I32, other);
                let is_known = self.builder.ins().icmp(IntCC::Equal, other, me);
                self.builder.ins().brif(is_known, done, &[], undecided, &[]);
            }
            AccessKind::Write => {
                let first = self.builder.ins().load(I64, flags, address, displacement);
                let shift = i64::from(WRITER_SHIFT);
                let writer = self.builder.ins().ushr_imm_u(first, shift);
                let writer = self.builder.ins().ireduce(I32, writer);
                let is_known = self.builder.ins().icmp(IntCC::Equal, writer, me);
                self.builder.ins().brif(is_known, done, &[], undecided, &[]);
            }
        }
        self.builder.switch_to_block(undecided);
        let nothing = self.int(0);
        let place = (cells, words, displacement);
        self.undecided(shared_helper(kind), place, 0, Some(nothing));
        self.builder.ins().jump(done, &[]);
        self.builder.switch_to_block(done);
    }

    /// A word of the fast path's limits.
    fn of_context(&mut self, ty: clif::Type, field: usize) -> clif::Value {
        self.context_word(ty, offset_of!(Context, fast.limits) + field)
    }

    fn context_word(&mut self, ty: clif::Type, offset: usize) -> clif::Value {
        let flags = self.regions.context();
        self.builder
            .ins()
            .load(ty, flags, self.context, offset as i32)
    }

    /// Goes to `target` if the condition holds, and else on.
    fn go_if(&mut self, condition: IntCC, a: clif::Value, b: clif::Value, target: clif::Block) {
        let holds = self.builder.ins().icmp(condition, a, b);
        let next = self.builder.create_block();
        self.builder.ins().brif(holds, target, &[], next, &[]);
        self.builder.switch_to_block(next);
    }

    fn cell(&mut self, base: Value, offset: Operand) -> Place {
        let object = self.get(base);
        match offset {
            Operand::Constant(field) => (
                object,
                None,
                self.program.style.cells().of_field(field as u32),
            ),
            Operand::Value(offset) => {
                let flags = self.regions.header();
                let cells = self.builder.ins().load(I64, flags, object, CELLS_OFFSET);
                (cells, Some(self.get(offset)), 0)
            }
        }
    }
}
