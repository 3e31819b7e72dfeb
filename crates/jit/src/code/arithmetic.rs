//! Operators, as [`finishline_ir::machine::arithmetic`] defines them.

use super::Code;
use crate::runtime::helpers::Helper;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F64, I8, I64};
use cranelift_codegen::ir::{self as clif, InstBuilder};
use finishline_ir::{BinaryOp, CompareOp, MathFunction, Type, UnaryOp, Value};
use finishline_model::SiteId;

impl Code<'_, '_> {
    pub(super) fn unary(&mut self, op: UnaryOp, operand: Value) -> clif::Value {
        let ty = self.function.ty(operand);
        let a = self.get(operand);
        let ins = self.builder.ins();
        match (op, ty) {
            (UnaryOp::Negate, Type::Float) => ins.fneg(a),
            (UnaryOp::Negate, _) => ins.ineg(a),
            (UnaryOp::Not, Type::Bool) => ins.bxor_imm_u(a, 1),
            (UnaryOp::Not, _) => ins.bnot(a),
        }
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        left: Value,
        right: Value,
        site: SiteId,
    ) -> clif::Value {
        let (a, b) = (self.get(left), self.get(right));
        if self.function.ty(left) == Type::Float {
            return self.float_binary(op, a, b);
        }
        match op {
            BinaryOp::Add => self.builder.ins().iadd(a, b),
            BinaryOp::Subtract => self.builder.ins().isub(a, b),
            BinaryOp::Multiply => self.builder.ins().imul(a, b),
            BinaryOp::Divide | BinaryOp::Remainder => self.divide(op, left, right, site),
            BinaryOp::And => self.builder.ins().band(a, b),
            BinaryOp::Or => self.builder.ins().bor(a, b),
            BinaryOp::Xor => self.builder.ins().bxor(a, b),
            // The machine's shifts look at the low 6 bits of the count too.
            BinaryOp::ShiftLeft => self.builder.ins().ishl(a, b),
            BinaryOp::ShiftRight => self.builder.ins().sshr(a, b),
            BinaryOp::ShiftRightLogical => self.builder.ins().ushr(a, b),
        }
    }

    fn float_binary(&mut self, op: BinaryOp, a: clif::Value, b: clif::Value) -> clif::Value {
        match op {
            BinaryOp::Add => self.builder.ins().fadd(a, b),
            BinaryOp::Subtract => self.builder.ins().fsub(a, b),
            BinaryOp::Multiply => self.builder.ins().fmul(a, b),
            BinaryOp::Divide => self.builder.ins().fdiv(a, b),
            _ => self.float_helper(Helper::Remainder, &[a, b]),
        }
    }

    fn divide(&mut self, op: BinaryOp, left: Value, right: Value, site: SiteId) -> clif::Value {
        let (a, b) = (self.get(left), self.get(right));
        let byte = self.function.ty(left) == Type::Byte;
        let known = self.constants[right.index()];
        if known.is_none_or(|divisor| divisor == 0) {
            self.go_on_if(b, |code| {
                code.fail(Helper::DivisionByZero, site, &[]);
            });
        }
        if !byte && known.is_none_or(|divisor| divisor == -1) {
            let ins = self.builder.ins();
            let not_least = ins.icmp_imm_s(IntCC::NotEqual, a, i64::MIN);
            let not_minus_one = self.builder.ins().icmp_imm_s(IntCC::NotEqual, b, -1);
            let fits = self.builder.ins().bor(not_least, not_minus_one);
            self.go_on_if(fits, |code| {
                code.fail(Helper::DivisionOverflow, site, &[]);
            });
        }
        let ins = self.builder.ins();
        match (op, byte) {
            (BinaryOp::Divide, true) => ins.udiv(a, b),
            (_, true) => ins.urem(a, b),
            (BinaryOp::Divide, false) => ins.sdiv(a, b),
            (_, false) => ins.srem(a, b),
        }
    }

    pub(super) fn compare(&mut self, op: CompareOp, left: Value, right: Value) -> clif::Value {
        let ty = self.function.ty(left);
        let (a, b) = (self.get(left), self.get(right));
        if ty == Type::Float {
            let condition = match op {
                CompareOp::Equal => FloatCC::Equal,
                CompareOp::NotEqual => FloatCC::NotEqual,
                CompareOp::Less => FloatCC::LessThan,
                CompareOp::LessEqual => FloatCC::LessThanOrEqual,
                CompareOp::Greater => FloatCC::GreaterThan,
                CompareOp::GreaterEqual => FloatCC::GreaterThanOrEqual,
            };
            return self.builder.ins().fcmp(condition, a, b);
        }
        let condition = match op {
            CompareOp::Equal => IntCC::Equal,
            CompareOp::NotEqual => IntCC::NotEqual,
            CompareOp::Less => IntCC::SignedLessThan,
            CompareOp::LessEqual => IntCC::SignedLessThanOrEqual,
            CompareOp::Greater => IntCC::SignedGreaterThan,
            CompareOp::GreaterEqual => IntCC::SignedGreaterThanOrEqual,
        };
        let condition = match ty {
            Type::Int => condition,
            _ => condition.unsigned(),
        };
        self.builder.ins().icmp(condition, a, b)
    }

    pub(super) fn convert(&mut self, operand: Value, to: Type) -> clif::Value {
        let a = self.get(operand);
        match (self.function.ty(operand), to) {
            (Type::Int, Type::Float) => self.builder.ins().fcvt_from_sint(F64, a),
            (Type::Int, Type::Byte) => self.builder.ins().ireduce(I8, a),
            (Type::Float, Type::Int) => self.builder.ins().fcvt_to_sint_sat(I64, a),
            (Type::Float, Type::Byte) => {
                let whole = self.builder.ins().fcvt_to_sint_sat(I64, a);
                let (least, most) = (self.int(0), self.int(255));
                let from_below = self.builder.ins().smax(whole, least);
                let within = self.builder.ins().smin(from_below, most);
                self.builder.ins().ireduce(I8, within)
            }
            (Type::Byte | Type::Bool, Type::Int) => self.builder.ins().uextend(I64, a),
            (Type::Byte, Type::Float) => {
                let wide = self.builder.ins().uextend(I64, a);
                self.builder.ins().fcvt_from_sint(F64, wide)
            }
            _ => a,
        }
    }

    pub(super) fn math(&mut self, function: MathFunction, operands: &[Value]) -> clif::Value {
        let float = self.function.ty(operands[0]) == Type::Float;
        let values: Vec<clif::Value> = operands.iter().map(|value| self.get(*value)).collect();
        let a = values[0];
        let helper = match function {
            MathFunction::Sqrt => return self.builder.ins().sqrt(a),
            MathFunction::Floor => return self.builder.ins().floor(a),
            MathFunction::Ceil => return self.builder.ins().ceil(a),
            MathFunction::Abs if float => return self.builder.ins().fabs(a),
            MathFunction::Abs => return self.builder.ins().iabs(a),
            MathFunction::Min if !float => return self.builder.ins().smin(a, values[1]),
            MathFunction::Max if !float => return self.builder.ins().smax(a, values[1]),
            MathFunction::Sin => Helper::Sin,
            MathFunction::Cos => Helper::Cos,
            MathFunction::Tan => Helper::Tan,
            MathFunction::Asin => Helper::Asin,
            MathFunction::Acos => Helper::Acos,
            MathFunction::Atan => Helper::Atan,
            MathFunction::Exp => Helper::Exp,
            MathFunction::Log => Helper::Log,
            MathFunction::Pow => Helper::Pow,
            MathFunction::Atan2 => Helper::Atan2,
            MathFunction::Min => return self.builder.ins().fmin(a, values[1]),
            MathFunction::Max => return self.builder.ins().fmax(a, values[1]),
        };
        self.float_helper(helper, &values)
    }

    fn float_helper(&mut self, helper: Helper, operands: &[clif::Value]) -> clif::Value {
        let result = self.call_helper(helper, operands);
        result.expect("a function of floats has a result")
    }

    /// How many iterations a range has. Steps of 1 and −1, nearly all, are computed here.
    pub(super) fn range_count(
        &mut self,
        [start, end, step]: [Value; 3],
        inclusive: bool,
        site: SiteId,
    ) -> clif::Value {
        let (from, to) = (self.get(start), self.get(end));
        let (from, to) = match self.constants[step.index()] {
            Some(1) => (from, to),
            Some(-1) => (to, from),
            known => {
                let step = self.get(step);
                if known.is_none_or(|step| step == 0) {
                    self.go_on_if(step, |code| {
                        code.fail(Helper::ZeroStep, site, &[]);
                    });
                }
                let inclusive = self.number(u32::from(inclusive));
                let count = self.call_helper(Helper::RangeCount, &[from, to, step, inclusive]);
                return count.expect("a count is a result");
            }
        };
        let distance = self.builder.ins().isub(to, from);
        let (any, count) = if inclusive {
            let any = self
                .builder
                .ins()
                .icmp(IntCC::SignedGreaterThanOrEqual, to, from);
            let count = self.builder.ins().iadd_imm_s(distance, 1);
            // The range over all ints: cut by one.
            let wrapped = self.builder.ins().icmp_imm_s(IntCC::Equal, count, 0);
            (any, self.builder.ins().select(wrapped, distance, count))
        } else {
            let any = self.builder.ins().icmp(IntCC::SignedGreaterThan, to, from);
            (any, distance)
        };
        let zero = self.int(0);
        self.builder.ins().select(any, count, zero)
    }
}
