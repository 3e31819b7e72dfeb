//! Values at run time, and how they are printed.

use super::heap::Handle;
use crate::module::{Const, Type};
use std::fmt;

/// A value of a register or of a location.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Datum {
    Int(i64),
    Float(f64),
    Bool(bool),
    Byte(u8),
    /// None is `null`.
    Ref(Option<Handle>),
}

impl Datum {
    pub const fn ty(self) -> Type {
        match self {
            Datum::Int(_) => Type::Int,
            Datum::Float(_) => Type::Float,
            Datum::Bool(_) => Type::Bool,
            Datum::Byte(_) => Type::Byte,
            Datum::Ref(_) => Type::Ref,
        }
    }

    /// The accessors below are for operands whose type the verifier has checked.
    #[inline]
    pub(crate) fn int(self) -> i64 {
        match self {
            Datum::Int(value) => value,
            other => mistyped("an int", other),
        }
    }

    #[inline]
    pub(crate) fn bool(self) -> bool {
        match self {
            Datum::Bool(value) => value,
            other => mistyped("a bool", other),
        }
    }

    #[inline]
    pub(crate) fn reference(self) -> Option<Handle> {
        match self {
            Datum::Ref(value) => value,
            other => mistyped("a reference", other),
        }
    }
}

/// Only a module that the verifier rejects, or an executor that writes nonsense, gets here.
#[cold]
pub(crate) fn mistyped(expected: &str, found: Datum) -> ! {
    panic!("the module is not verified: expected {expected}, found {found:?}")
}

impl From<Const> for Datum {
    #[inline]
    fn from(constant: Const) -> Datum {
        match constant {
            Const::Int(value) => Datum::Int(value),
            Const::Float(value) => Datum::Float(value),
            Const::Bool(value) => Datum::Bool(value),
            Const::Byte(value) => Datum::Byte(value),
            Const::Null => Datum::Ref(None),
        }
    }
}

/// What `print` shows. A float is the shortest decimal that reads back as the same number, always
/// with a point or an exponent. References show no identity: places of objects depend on the
/// schedule.
impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Datum::Int(value) => write!(f, "{value}"),
            Datum::Float(value) => write!(f, "{value:?}"),
            Datum::Bool(value) => write!(f, "{value}"),
            Datum::Byte(value) => write!(f, "{value}"),
            Datum::Ref(None) => f.write_str("null"),
            Datum::Ref(Some(_)) => f.write_str("object"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_the_language_says() {
        let shown = |datum: Datum| datum.to_string();
        assert_eq!(shown(Datum::Int(i64::MIN)), "-9223372036854775808");
        assert_eq!(shown(Datum::Byte(255)), "255");
        assert_eq!(shown(Datum::Bool(true)), "true");
        assert_eq!(shown(Datum::Float(1.0)), "1.0");
        assert_eq!(shown(Datum::Float(-0.0)), "-0.0");
        assert_eq!(shown(Datum::Float(0.1)), "0.1");
        assert_eq!(shown(Datum::Float(1e300)), "1e300");
        assert_eq!(shown(Datum::Float(f64::INFINITY)), "inf");
        assert_eq!(shown(Datum::Float(-f64::NAN)), "NaN");
        assert_eq!(shown(Datum::Ref(None)), "null");
        assert_eq!(shown(Datum::Ref(Some(Handle(7)))), "object");
    }
}
