//! The results of the operators.
//!
//! Ints wrap around. Bytes wrap at 256. Shifts use the low 6 bits of the count. Integer division
//! truncates and can fail. Floats follow IEEE 754 and never fail. `min` and `max` of floats are NaN
//! if either operand is NaN, and order −0 below +0.

use super::datum::{Datum, mistyped};
use super::trap::TrapKind;
use crate::module::{BinaryOp, CompareOp, MathFunction, Type, UnaryOp};

pub(crate) fn unary(op: UnaryOp, operand: Datum) -> Datum {
    match (op, operand) {
        (UnaryOp::Negate, Datum::Int(a)) => Datum::Int(a.wrapping_neg()),
        (UnaryOp::Negate, Datum::Float(a)) => Datum::Float(-a),
        (UnaryOp::Negate, Datum::Byte(a)) => Datum::Byte(a.wrapping_neg()),
        (UnaryOp::Not, Datum::Bool(a)) => Datum::Bool(!a),
        (UnaryOp::Not, Datum::Int(a)) => Datum::Int(!a),
        (UnaryOp::Not, Datum::Byte(a)) => Datum::Byte(!a),
        (_, operand) => mistyped("a number or a bool", operand),
    }
}

#[inline]
pub(crate) fn binary(op: BinaryOp, left: Datum, right: Datum) -> Result<Datum, TrapKind> {
    match (left, right) {
        (Datum::Int(a), Datum::Int(b)) => int(op, a, b).map(Datum::Int),
        (Datum::Float(a), Datum::Float(b)) => Ok(Datum::Float(float(op, a, b))),
        (Datum::Byte(a), Datum::Byte(b)) => byte(op, a, b).map(Datum::Byte),
        (Datum::Bool(a), Datum::Bool(b)) => Ok(Datum::Bool(bool(op, a, b))),
        (_, right) => mistyped("two operands of one type", right),
    }
}

#[inline]
fn int(op: BinaryOp, a: i64, b: i64) -> Result<i64, TrapKind> {
    Ok(match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Subtract => a.wrapping_sub(b),
        BinaryOp::Multiply => a.wrapping_mul(b),
        BinaryOp::Divide | BinaryOp::Remainder if b == 0 => return Err(TrapKind::DivisionByZero),
        BinaryOp::Divide => a.checked_div(b).ok_or(TrapKind::DivisionOverflow)?,
        BinaryOp::Remainder => a.checked_rem(b).ok_or(TrapKind::DivisionOverflow)?,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::ShiftLeft => a.wrapping_shl(low_bits(b)),
        BinaryOp::ShiftRight => a.wrapping_shr(low_bits(b)),
        BinaryOp::ShiftRightLogical => (a as u64).wrapping_shr(low_bits(b)) as i64,
    })
}

/// The count of a shift; the wrapping shifts look at no more than 6 bits of it.
fn low_bits(count: i64) -> u32 {
    (count & 63) as u32
}

fn float(op: BinaryOp, a: f64, b: f64) -> f64 {
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Subtract => a - b,
        BinaryOp::Multiply => a * b,
        BinaryOp::Divide => a / b,
        BinaryOp::Remainder => a % b,
        _ => mistyped("operands with bits", Datum::Float(a)),
    }
}

fn byte(op: BinaryOp, a: u8, b: u8) -> Result<u8, TrapKind> {
    Ok(match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Subtract => a.wrapping_sub(b),
        BinaryOp::Multiply => a.wrapping_mul(b),
        BinaryOp::Divide => a.checked_div(b).ok_or(TrapKind::DivisionByZero)?,
        BinaryOp::Remainder => a.checked_rem(b).ok_or(TrapKind::DivisionByZero)?,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight | BinaryOp::ShiftRightLogical => {
            mistyped("an int to shift", Datum::Byte(a))
        }
    })
}

fn bool(op: BinaryOp, a: bool, b: bool) -> bool {
    match op {
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        _ => mistyped("numbers", Datum::Bool(a)),
    }
}

#[inline]
pub(crate) fn compare(op: CompareOp, left: Datum, right: Datum) -> bool {
    match (left, right) {
        (Datum::Int(a), Datum::Int(b)) => holds(op, &a, &b),
        (Datum::Float(a), Datum::Float(b)) => holds(op, &a, &b),
        (Datum::Byte(a), Datum::Byte(b)) => holds(op, &a, &b),
        (Datum::Bool(a), Datum::Bool(b)) => holds(op, &a, &b),
        (Datum::Ref(a), Datum::Ref(b)) => holds(op, &a, &b),
        (_, right) => mistyped("two operands of one type", right),
    }
}

#[inline]
fn holds<T: PartialOrd>(op: CompareOp, a: &T, b: &T) -> bool {
    match op {
        CompareOp::Equal => a == b,
        CompareOp::NotEqual => a != b,
        CompareOp::Less => a < b,
        CompareOp::LessEqual => a <= b,
        CompareOp::Greater => a > b,
        CompareOp::GreaterEqual => a >= b,
    }
}

/// An int keeps its low 8 bits as a byte; a float truncates and saturates, and NaN becomes 0.
pub(crate) fn convert(operand: Datum, to: Type) -> Datum {
    match (operand, to) {
        (Datum::Int(a), Type::Float) => Datum::Float(a as f64),
        (Datum::Int(a), Type::Byte) => Datum::Byte(a as u8),
        (Datum::Float(a), Type::Int) => Datum::Int(a as i64),
        (Datum::Float(a), Type::Byte) => Datum::Byte(a as u8),
        (Datum::Byte(a), Type::Int) => Datum::Int(i64::from(a)),
        (Datum::Byte(a), Type::Float) => Datum::Float(f64::from(a)),
        (Datum::Bool(a), Type::Int) => Datum::Int(i64::from(a)),
        (same, to) if same.ty() == to => same,
        (other, _) => mistyped("something that converts", other),
    }
}

pub(crate) fn math(function: MathFunction, operands: &[Datum]) -> Datum {
    match *operands {
        [Datum::Float(a)] => Datum::Float(math_of_one(function, a)),
        [Datum::Float(a), Datum::Float(b)] => Datum::Float(math_of_two(function, a, b)),
        [Datum::Int(a)] if function == MathFunction::Abs => Datum::Int(a.wrapping_abs()),
        [Datum::Int(a), Datum::Int(b)] if function == MathFunction::Min => Datum::Int(a.min(b)),
        [Datum::Int(a), Datum::Int(b)] if function == MathFunction::Max => Datum::Int(a.max(b)),
        _ => panic!(
            "the module is not verified: {} of {operands:?}",
            function.word()
        ),
    }
}

/// A function of one float.
pub fn math_of_one(function: MathFunction, a: f64) -> f64 {
    match function {
        MathFunction::Sqrt => a.sqrt(),
        MathFunction::Sin => a.sin(),
        MathFunction::Cos => a.cos(),
        MathFunction::Tan => a.tan(),
        MathFunction::Asin => a.asin(),
        MathFunction::Acos => a.acos(),
        MathFunction::Atan => a.atan(),
        MathFunction::Exp => a.exp(),
        MathFunction::Log => a.ln(),
        MathFunction::Floor => a.floor(),
        MathFunction::Ceil => a.ceil(),
        MathFunction::Abs => a.abs(),
        MathFunction::Pow | MathFunction::Atan2 | MathFunction::Min | MathFunction::Max => {
            mistyped("two operands", Datum::Float(a))
        }
    }
}

/// A function of two floats.
pub fn math_of_two(function: MathFunction, a: f64, b: f64) -> f64 {
    match function {
        MathFunction::Pow => a.powf(b),
        MathFunction::Atan2 => a.atan2(b),
        MathFunction::Min => minimum(a, b),
        MathFunction::Max => -minimum(-a, -b),
        _ => mistyped("one operand", Datum::Float(b)),
    }
}

fn minimum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a < b || (a == b && a.is_sign_negative()) {
        a
    } else {
        b
    }
}

/// How many iterations a range has, as an unsigned number in an int. The one count that does not
/// fit, 2⁶⁴ of the range over all ints, is cut to 2⁶⁴ − 1: nobody sees the last iteration.
pub fn range_count(start: i64, end: i64, step: i64, inclusive: bool) -> Result<i64, TrapKind> {
    let (start, end, step) = (i128::from(start), i128::from(end), i128::from(step));
    if step == 0 {
        return Err(TrapKind::ZeroStep);
    }
    let distance = if step > 0 { end - start } else { start - end } + i128::from(inclusive);
    let count = if distance <= 0 {
        0
    } else {
        (distance - 1) / step.abs() + 1
    };
    Ok(u64::try_from(count).unwrap_or(u64::MAX) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Handle;

    fn int(op: BinaryOp, a: i64, b: i64) -> Result<i64, TrapKind> {
        binary(op, Datum::Int(a), Datum::Int(b)).map(Datum::int)
    }

    #[test]
    fn ints_wrap_and_divisions_can_fail() {
        assert_eq!(int(BinaryOp::Add, i64::MAX, 1), Ok(i64::MIN));
        assert_eq!(int(BinaryOp::Subtract, i64::MIN, 1), Ok(i64::MAX));
        assert_eq!(int(BinaryOp::Multiply, 1 << 62, 4), Ok(0));
        assert_eq!(int(BinaryOp::Divide, -7, 2), Ok(-3));
        assert_eq!(int(BinaryOp::Remainder, -7, 2), Ok(-1));
        for op in [BinaryOp::Divide, BinaryOp::Remainder] {
            assert_eq!(int(op, 1, 0), Err(TrapKind::DivisionByZero));
            assert_eq!(int(op, i64::MIN, -1), Err(TrapKind::DivisionOverflow));
        }
        assert_eq!(
            unary(UnaryOp::Negate, Datum::Int(i64::MIN)),
            Datum::Int(i64::MIN)
        );
        assert_eq!(unary(UnaryOp::Not, Datum::Int(0)), Datum::Int(-1));
    }

    #[test]
    fn shifts_use_six_bits_of_the_count() {
        assert_eq!(int(BinaryOp::ShiftLeft, 1, 65), Ok(2));
        assert_eq!(int(BinaryOp::ShiftRight, -8, 1), Ok(-4));
        assert_eq!(int(BinaryOp::ShiftRight, -8, -63), Ok(-4));
        assert_eq!(int(BinaryOp::ShiftRightLogical, -1, 63), Ok(1));
        assert_eq!(int(BinaryOp::ShiftRightLogical, -1, 64), Ok(-1));
    }

    #[test]
    fn bytes_wrap_at_256() {
        let byte = |op, a, b| binary(op, Datum::Byte(a), Datum::Byte(b));
        assert_eq!(byte(BinaryOp::Add, 200, 100), Ok(Datum::Byte(44)));
        assert_eq!(byte(BinaryOp::Subtract, 0, 1), Ok(Datum::Byte(255)));
        assert_eq!(byte(BinaryOp::Multiply, 16, 17), Ok(Datum::Byte(16)));
        assert_eq!(byte(BinaryOp::Divide, 200, 7), Ok(Datum::Byte(28)));
        assert_eq!(byte(BinaryOp::Remainder, 200, 7), Ok(Datum::Byte(4)));
        assert_eq!(byte(BinaryOp::Divide, 1, 0), Err(TrapKind::DivisionByZero));
        assert_eq!(
            byte(BinaryOp::Remainder, 1, 0),
            Err(TrapKind::DivisionByZero)
        );
        assert_eq!(byte(BinaryOp::Xor, 0xf0, 0xff), Ok(Datum::Byte(0x0f)));
        assert_eq!(unary(UnaryOp::Negate, Datum::Byte(1)), Datum::Byte(255));
        assert_eq!(unary(UnaryOp::Not, Datum::Byte(1)), Datum::Byte(254));
    }

    #[test]
    fn floats_never_fail() {
        let float = |op, a, b| binary(op, Datum::Float(a), Datum::Float(b)).unwrap();
        assert_eq!(
            float(BinaryOp::Divide, 1.0, 0.0),
            Datum::Float(f64::INFINITY)
        );
        assert_eq!(float(BinaryOp::Remainder, 7.5, 2.0), Datum::Float(1.5));
        assert!(!compare(
            CompareOp::Equal,
            Datum::Float(f64::NAN),
            Datum::Float(f64::NAN)
        ));
        assert!(compare(
            CompareOp::NotEqual,
            Datum::Float(f64::NAN),
            Datum::Float(f64::NAN)
        ));
        assert!(!compare(
            CompareOp::GreaterEqual,
            Datum::Float(f64::NAN),
            Datum::Float(0.0)
        ));
    }

    #[test]
    fn bools_and_references_compare() {
        let bool = |op, a, b| binary(op, Datum::Bool(a), Datum::Bool(b)).unwrap();
        assert_eq!(bool(BinaryOp::And, true, false), Datum::Bool(false));
        assert_eq!(bool(BinaryOp::Or, true, false), Datum::Bool(true));
        assert_eq!(bool(BinaryOp::Xor, true, true), Datum::Bool(false));
        let (null, object) = (Datum::Ref(None), Datum::Ref(Some(Handle(3))));
        assert!(compare(CompareOp::Equal, null, null));
        assert!(compare(CompareOp::NotEqual, null, object));
        assert!(compare(CompareOp::Equal, object, object));
    }

    #[test]
    fn conversions_truncate_and_saturate() {
        assert_eq!(convert(Datum::Int(-1), Type::Byte), Datum::Byte(255));
        assert_eq!(convert(Datum::Int(3), Type::Float), Datum::Float(3.0));
        assert_eq!(convert(Datum::Float(-2.9), Type::Int), Datum::Int(-2));
        assert_eq!(convert(Datum::Float(1e30), Type::Int), Datum::Int(i64::MAX));
        assert_eq!(
            convert(Datum::Float(f64::NEG_INFINITY), Type::Int),
            Datum::Int(i64::MIN)
        );
        assert_eq!(convert(Datum::Float(f64::NAN), Type::Int), Datum::Int(0));
        assert_eq!(convert(Datum::Float(-5.0), Type::Byte), Datum::Byte(0));
        assert_eq!(convert(Datum::Float(300.0), Type::Byte), Datum::Byte(255));
        assert_eq!(convert(Datum::Bool(true), Type::Int), Datum::Int(1));
        assert_eq!(convert(Datum::Byte(7), Type::Float), Datum::Float(7.0));
        assert_eq!(convert(Datum::Byte(200), Type::Int), Datum::Int(200));
    }

    #[test]
    fn math_functions() {
        let one = |function, a| math(function, &[Datum::Float(a)]);
        let two = |function, a, b| match math(function, &[Datum::Float(a), Datum::Float(b)]) {
            Datum::Float(value) => value,
            other => panic!("{other:?}"),
        };
        assert_eq!(one(MathFunction::Sqrt, 9.0), Datum::Float(3.0));
        assert_eq!(one(MathFunction::Exp, 0.0), Datum::Float(1.0));
        assert_eq!(one(MathFunction::Log, 1.0), Datum::Float(0.0));
        assert_eq!(one(MathFunction::Sin, 0.0), Datum::Float(0.0));
        assert_eq!(one(MathFunction::Cos, 0.0), Datum::Float(1.0));
        assert_eq!(one(MathFunction::Tan, 0.0), Datum::Float(0.0));
        assert_eq!(
            one(MathFunction::Asin, 1.0),
            Datum::Float(std::f64::consts::FRAC_PI_2)
        );
        assert_eq!(one(MathFunction::Acos, 1.0), Datum::Float(0.0));
        assert_eq!(
            one(MathFunction::Atan, 1.0),
            Datum::Float(std::f64::consts::FRAC_PI_4)
        );
        assert_eq!(one(MathFunction::Floor, -0.5), Datum::Float(-1.0));
        assert_eq!(one(MathFunction::Ceil, 0.5), Datum::Float(1.0));
        assert_eq!(one(MathFunction::Abs, -2.0), Datum::Float(2.0));
        assert_eq!(two(MathFunction::Pow, 2.0, 10.0), 1024.0);
        assert_eq!(
            two(MathFunction::Atan2, 1.0, 1.0),
            std::f64::consts::FRAC_PI_4
        );
        assert_eq!(two(MathFunction::Min, 2.0, 1.0), 1.0);
        assert_eq!(two(MathFunction::Max, 2.0, 1.0), 2.0);
        assert!(two(MathFunction::Min, f64::NAN, 1.0).is_nan());
        assert!(two(MathFunction::Max, 1.0, f64::NAN).is_nan());
        for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
            assert!(two(MathFunction::Min, a, b).is_sign_negative());
            assert!(two(MathFunction::Max, a, b).is_sign_positive());
        }
        assert_eq!(
            math(MathFunction::Abs, &[Datum::Int(i64::MIN)]),
            Datum::Int(i64::MIN)
        );
        assert_eq!(
            math(MathFunction::Min, &[Datum::Int(-1), Datum::Int(1)]),
            Datum::Int(-1)
        );
        assert_eq!(
            math(MathFunction::Max, &[Datum::Int(-1), Datum::Int(1)]),
            Datum::Int(1)
        );
    }

    /// Counts by running the loop the language describes.
    fn iterate(start: i64, end: i64, step: i64, inclusive: bool) -> i64 {
        let (mut i, mut count) = (start, 0);
        while if step > 0 { i < end } else { i > end } || (inclusive && i == end) {
            count += 1;
            match i.checked_add(step) {
                Some(next) => i = next,
                None => break,
            }
        }
        count
    }

    #[test]
    fn ranges_count_what_the_loop_runs() {
        let near = |edge: i64| (-3..=3).map(move |d| edge.saturating_add(d));
        for step in [1, 2, 3, 7, i64::MAX, -1, -2, -5, i64::MIN] {
            for inclusive in [false, true] {
                for edge in [0, i64::MAX, i64::MIN] {
                    for start in near(edge) {
                        for end in near(edge) {
                            assert_eq!(
                                range_count(start, end, step, inclusive),
                                Ok(iterate(start, end, step, inclusive)),
                                "{start} {end} {step} {inclusive}"
                            );
                        }
                    }
                }
            }
        }
        assert_eq!(range_count(0, 5, 0, false), Err(TrapKind::ZeroStep));
        assert_eq!(range_count(i64::MIN, i64::MAX, 1, false), Ok(-1));
        assert_eq!(range_count(i64::MIN, i64::MAX, 1, true), Ok(-1));
        assert_eq!(range_count(i64::MIN, i64::MAX, i64::MAX, true), Ok(3));
        assert_eq!(range_count(i64::MAX, i64::MIN, i64::MIN, true), Ok(2));
    }
}
