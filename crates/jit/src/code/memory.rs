//! Objects: null, bounds, lengths, loads and stores.
//!
//! A field or global is given by a constant offset, an element by a value that is known to be in
//! bounds.

use super::Code;
use crate::heap::layout::{field_offset, size_offset};
use crate::runtime::helpers::Helper;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self as clif, InstBuilder, MemFlagsData};
use finishline_ir::{Operand, Type, Value};
use finishline_model::SiteId;

impl Code<'_, '_> {
    pub(super) fn globals(&mut self) -> clif::Value {
        let offset = std::mem::offset_of!(crate::runtime::context::Context, globals) as i32;
        let flags = self.regions.plain().with_readonly().with_can_move();
        self.builder.ins().load(I64, flags, self.context, offset)
    }

    pub(super) fn non_null(&mut self, reference: Value, site: SiteId) {
        let reference = self.get(reference);
        self.go_on_if(reference, |code| {
            code.fail(Helper::NullUse, site, &[]);
        });
    }

    /// The size of a dimension of an array that is not null.
    pub(super) fn length(&mut self, array: Value, dimension: u32) -> clif::Value {
        let array = self.get(array);
        let flags = self.regions.header();
        self.builder
            .ins()
            .load(I64, flags, array, size_offset(dimension))
    }

    /// The size of a dimension of an array, 0 for null.
    pub(super) fn size_or_zero(&mut self, array: Value, dimension: u32) -> clif::Value {
        let array = self.get(array);
        let (zero, flags) = (self.int(0), self.regions.header());
        let is_null = self.builder.ins().icmp(IntCC::Equal, array, zero);
        // For null the first word of the context is read, and not used.
        let offset = size_offset(dimension);
        let instead = self
            .builder
            .ins()
            .iadd_imm_s(self.context, -i64::from(offset));
        let object = self.builder.ins().select(is_null, instead, array);
        let size = self.builder.ins().load(I64, flags, object, offset);
        self.builder.ins().select(is_null, zero, size)
    }

    /// The offset of an element, in row-major order.
    pub(super) fn index(&mut self, array: Value, indices: &[Value], site: SiteId) -> clif::Value {
        self.non_null(array, site);
        let mut offset = None;
        for (dimension, index) in indices.iter().enumerate() {
            let size = self.length(array, dimension as u32);
            let index = self.get(*index);
            let inside = self
                .builder
                .ins()
                .icmp(IntCC::UnsignedLessThan, index, size);
            self.go_on_if(inside, |code| {
                let [dimension, dimensions] =
                    [dimension, indices.len()].map(|n| code.number(n as u32));
                let values = [index, size, dimension, dimensions];
                code.fail(Helper::OutOfBounds, site, &values);
            });
            offset = Some(match offset {
                None => index,
                Some(offset) => {
                    let rows = self.builder.ins().imul(offset, size);
                    self.builder.ins().iadd(rows, index)
                }
            });
        }
        offset.expect("the verifier demands an index")
    }

    pub(super) fn load(&mut self, base: Value, offset: Operand, ty: Type) -> clif::Value {
        let (address, displacement, flags) = self.place(base, offset, ty);
        self.builder
            .ins()
            .load(super::register(ty), flags, address, displacement)
    }

    pub(super) fn store(&mut self, base: Value, offset: Operand, value: Value) {
        let ty = self.function.ty(value);
        let (address, displacement, flags) = self.place(base, offset, ty);
        let value = self.get(value);
        self.builder
            .ins()
            .store(flags, value, address, displacement);
    }

    /// Where a location is.
    fn place(
        &mut self,
        base: Value,
        offset: Operand,
        ty: Type,
    ) -> (clif::Value, i32, MemFlagsData) {
        let object = self.get(base);
        match offset {
            Operand::Constant(field) => {
                (object, field_offset(field as u32), self.regions.field(ty))
            }
            Operand::Value(offset) => {
                let offset = self.get(offset);
                let bytes = match ty.size() {
                    1 => offset,
                    _ => self.builder.ins().ishl_imm_u(offset, 3),
                };
                let address = self.builder.ins().iadd(object, bytes);
                (address, 0, self.regions.element(ty))
            }
        }
    }
}
