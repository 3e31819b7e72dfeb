//! Operators and conversions: which types they take.

use super::assignable;
use super::body::BodyChecker;
use crate::diagnostic::{Code, Diagnostic};
use crate::hir::{Expression, ExpressionKind, Type};
use crate::span::Span;
use crate::syntax::ast;
use finishline_ir::{BinaryOp, CompareOp, Const, UnaryOp};

impl<'s> BodyChecker<'_, 's> {
    pub(super) fn unary(
        &mut self,
        op: UnaryOp,
        operand: &ast::Expression<'s>,
        span: Span,
    ) -> Option<(ExpressionKind, Type)> {
        let checked = self.expression(operand)?;
        let fits = match op {
            UnaryOp::Negate => checked.ty.is_number(),
            UnaryOp::Not => checked.ty == Type::Bool,
        };
        if !fits {
            let (symbol, takes) = match op {
                UnaryOp::Negate => ("-", "a number"),
                UnaryOp::Not => ("!", "a bool; the bits of a number are inverted by `~`"),
            };
            self.bad_operand(symbol, takes, span, &[(&checked.ty, operand.span)]);
            return None;
        }
        let ty = checked.ty.clone();
        // A negated literal is a literal.
        let kind = match (op, &checked.kind) {
            (UnaryOp::Negate, ExpressionKind::Const(Const::Int(value))) => {
                ExpressionKind::Const(Const::Int(value.wrapping_neg()))
            }
            (UnaryOp::Negate, ExpressionKind::Const(Const::Float(value))) => {
                ExpressionKind::Const(Const::Float(-value))
            }
            _ => ExpressionKind::Unary(op, Box::new(checked)),
        };
        Some((kind, ty))
    }

    pub(super) fn complement(
        &mut self,
        operand: &ast::Expression<'s>,
        span: Span,
    ) -> Option<(ExpressionKind, Type)> {
        let checked = self.expression(operand)?;
        if !matches!(checked.ty, Type::Int | Type::Byte) {
            self.bad_operand(
                "~",
                "an int or a byte",
                span,
                &[(&checked.ty, operand.span)],
            );
            return None;
        }
        let ty = checked.ty.clone();
        Some((ExpressionKind::Unary(UnaryOp::Not, Box::new(checked)), ty))
    }

    pub(super) fn logical(
        &mut self,
        symbol: &str,
        kind: impl FnOnce(Box<Expression>, Box<Expression>) -> ExpressionKind,
        left: &ast::Expression<'s>,
        right: &ast::Expression<'s>,
        span: Span,
    ) -> Option<(ExpressionKind, Type)> {
        let (checked_left, checked_right) = (self.expression(left), self.expression(right));
        let (checked_left, checked_right) = (checked_left?, checked_right?);
        let (a, b) = (&checked_left.ty, &checked_right.ty);
        if (a, b) != (&Type::Bool, &Type::Bool) {
            self.bad_operand(
                symbol,
                "two bools",
                span,
                &[(a, left.span), (b, right.span)],
            );
            return None;
        }
        Some((
            kind(Box::new(checked_left), Box::new(checked_right)),
            Type::Bool,
        ))
    }

    pub(super) fn bad_operand(
        &mut self,
        symbol: &str,
        takes: &str,
        span: Span,
        operands: &[(&Type, Span)],
    ) {
        let message = format!("`{symbol}` takes {takes}");
        let mut diagnostic = Diagnostic::new(Code::BadOperand, span, message, "");
        for (ty, span) in operands {
            let name = self.checker.type_name(ty);
            diagnostic = diagnostic.label(*span, format!("this is {name}"));
        }
        let numbers = operands.iter().all(|(ty, _)| ty.is_number());
        if let [(left, left_span), (right, right_span)] = operands
            && numbers
            && left != right
            && takes.contains("float")
        {
            let (to, other) = match (left, right) {
                (Type::Float, _) => ("float", right_span),
                (_, Type::Float) => ("float", left_span),
                (Type::Int, _) => ("int", right_span),
                _ => ("int", left_span),
            };
            let text = other.text(self.checker.text);
            diagnostic = diagnostic.help(format!("convert one of them: `{to}({text})`"));
        }
        self.error(diagnostic);
    }

    /// The type of `left op right`, or an error.
    pub(super) fn binary_type(
        &mut self,
        op: BinaryOp,
        left: (&Type, Span),
        right: (&Type, Span),
        span: Span,
    ) -> Option<Type> {
        use BinaryOp::*;
        let same = left.0 == right.0;
        let (fits, takes) = match op {
            Add | Subtract | Multiply | Divide | Remainder => (
                same && left.0.is_number(),
                "two ints, two floats or two bytes",
            ),
            And | Or | Xor => (
                same && matches!(left.0, Type::Int | Type::Byte | Type::Bool),
                "two ints, two bytes or two bools",
            ),
            ShiftLeft | ShiftRight | ShiftRightLogical => {
                (same && *left.0 == Type::Int, "two ints")
            }
        };
        if fits {
            return Some(left.0.clone());
        }
        self.bad_operand(binary_symbol(op), takes, span, &[left, right]);
        None
    }

    pub(super) fn comparison(
        &mut self,
        op: CompareOp,
        left: &ast::Expression<'s>,
        right: &ast::Expression<'s>,
        span: Span,
    ) -> Option<(ExpressionKind, Type)> {
        let (checked_left, checked_right) = (self.expression(left), self.expression(right));
        let (checked_left, checked_right) = (checked_left?, checked_right?);
        let (a, b) = (&checked_left.ty, &checked_right.ty);
        let equality = matches!(op, CompareOp::Equal | CompareOp::NotEqual);
        let fits = if equality {
            assignable(a, b) || assignable(b, a)
        } else {
            a == b && a.is_number()
        };
        if !fits {
            let takes = if equality {
                "two values of one type"
            } else {
                "two ints, two floats or two bytes"
            };
            self.bad_operand(
                compare_symbol(op),
                takes,
                span,
                &[(a, left.span), (b, right.span)],
            );
            return None;
        }
        Some((
            ExpressionKind::Compare(op, Box::new(checked_left), Box::new(checked_right)),
            Type::Bool,
        ))
    }

    pub(super) fn conditional(
        &mut self,
        condition: &ast::Expression<'s>,
        then: &ast::Expression<'s>,
        otherwise: &ast::Expression<'s>,
    ) -> Option<(ExpressionKind, Type)> {
        let condition = self.expected(condition, &Type::Bool);
        let (checked_then, checked_otherwise) = (self.expression(then), self.expression(otherwise));
        let (condition, a, b) = (condition?, checked_then?, checked_otherwise?);
        let ty = if assignable(&b.ty, &a.ty) {
            a.ty.clone()
        } else if assignable(&a.ty, &b.ty) {
            b.ty.clone()
        } else {
            self.checker.mismatch(
                otherwise.span,
                &a.ty,
                &b.ty,
                ", as both sides of `:` have one type",
            );
            return None;
        };
        Some((
            ExpressionKind::Conditional(Box::new(condition), Box::new(a), Box::new(b)),
            ty,
        ))
    }

    pub(super) fn conversion(
        &mut self,
        to: &ast::BaseType<'s>,
        value: &ast::Expression<'s>,
        span: Span,
    ) -> Option<(ExpressionKind, Type)> {
        let checked = self.expression(value)?;
        let ty = match to {
            ast::BaseType::Int => Type::Int,
            ast::BaseType::Float => Type::Float,
            ast::BaseType::Byte => Type::Byte,
            _ => {
                self.error(
                    Diagnostic::new(Code::BadOperand, span, "there is no conversion to bool", "")
                        .help("compare instead: `x != 0`"),
                );
                return None;
            }
        };
        let from_bool = checked.ty == Type::Bool && ty == Type::Int;
        if !checked.ty.is_number() && !from_bool {
            let (from, to) = (
                self.checker.type_name(&checked.ty),
                self.checker.type_name(&ty),
            );
            let message = format!("{from} can't be converted to {to}");
            self.error(Diagnostic::new(
                Code::BadOperand,
                value.span,
                message,
                format!("this is {from}"),
            ));
            return None;
        }
        if checked.ty == ty {
            return Some((checked.kind, ty));
        }
        Some((ExpressionKind::Convert(Box::new(checked)), ty))
    }
}

fn binary_symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Remainder => "%",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::ShiftRightLogical => ">>>",
    }
}

fn compare_symbol(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "==",
        CompareOp::NotEqual => "!=",
        CompareOp::Less => "<",
        CompareOp::LessEqual => "<=",
        CompareOp::Greater => ">",
        CompareOp::GreaterEqual => ">=",
    }
}
