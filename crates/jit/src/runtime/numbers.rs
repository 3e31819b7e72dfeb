//! Arithmetic that takes more than a few instructions, computed as the reference interpreter does.

use finishline_ir::MathFunction;
use finishline_ir::machine::arithmetic;

macro_rules! functions_of_one {
    ($($name:ident: $function:ident;)*) => {
        $(pub(super) extern "C" fn $name(a: f64) -> f64 {
            arithmetic::math_of_one(MathFunction::$function, a)
        })*
    };
}

functions_of_one! {
    sin: Sin;
    cos: Cos;
    tan: Tan;
    asin: Asin;
    acos: Acos;
    atan: Atan;
    exp: Exp;
    log: Log;
}

macro_rules! functions_of_two {
    ($($name:ident: $function:ident;)*) => {
        $(pub(super) extern "C" fn $name(a: f64, b: f64) -> f64 {
            arithmetic::math_of_two(MathFunction::$function, a, b)
        })*
    };
}

functions_of_two! {
    pow: Pow;
    atan2: Atan2;
}

pub(super) extern "C" fn remainder(a: f64, b: f64) -> f64 {
    a % b
}

/// The step is not 0.
pub(super) extern "C" fn range_count(start: i64, end: i64, step: i64, inclusive: u32) -> i64 {
    arithmetic::range_count(start, end, step, inclusive != 0).unwrap_or(0)
}
