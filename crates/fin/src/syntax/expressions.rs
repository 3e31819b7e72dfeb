//! Expressions, by precedence climbing. Precedences are Rust's: comparisons bind looser than bit
//! operations.

use super::DEEPEST;
use super::ast::*;
use super::literals;
use super::parser::Parser;
use super::token::TokenKind as T;
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;
use finishline_ir::{BinaryOp, CompareOp, UnaryOp};

/// How tightly a binary operator binds; comparisons do not chain.
fn binary_operator(kind: T) -> Option<(u32, Infix)> {
    use BinaryOp::*;
    use CompareOp::*;
    Some(match kind {
        T::OrOr => (1, Infix::Or),
        T::AndAnd => (2, Infix::And),
        T::EqualEqual => (3, Infix::Compare(Equal)),
        T::NotEqual => (3, Infix::Compare(NotEqual)),
        T::Less => (3, Infix::Compare(Less)),
        T::LessEqual => (3, Infix::Compare(LessEqual)),
        T::Greater => (3, Infix::Compare(Greater)),
        T::GreaterEqual => (3, Infix::Compare(GreaterEqual)),
        T::Or => (4, Infix::Binary(Or)),
        T::Xor => (5, Infix::Binary(Xor)),
        T::And => (6, Infix::Binary(And)),
        T::ShiftLeft => (7, Infix::Binary(ShiftLeft)),
        T::ShiftRight => (7, Infix::Binary(ShiftRight)),
        T::ShiftRightLogical => (7, Infix::Binary(ShiftRightLogical)),
        T::Plus => (8, Infix::Binary(Add)),
        T::Minus => (8, Infix::Binary(Subtract)),
        T::Star => (9, Infix::Binary(Multiply)),
        T::Slash => (9, Infix::Binary(Divide)),
        T::Percent => (9, Infix::Binary(Remainder)),
        _ => return None,
    })
}

const COMPARISON: u32 = 3;

#[derive(Clone, Copy)]
enum Infix {
    Or,
    And,
    Compare(CompareOp),
    Binary(BinaryOp),
}

impl<'s> Parser<'s> {
    pub(super) fn expression(&mut self) -> Expression<'s> {
        match self.nested(Self::conditional) {
            Some(expression) => expression,
            None => self.hole(),
        }
    }

    /// Stands for an expression that could not be read.
    fn hole(&self) -> Expression<'s> {
        Expression {
            kind: ExpressionKind::Error,
            span: self.span(),
            height: 0,
        }
    }

    /// A node above `below`, unless the tree gets too high.
    fn node(&mut self, kind: ExpressionKind<'s>, span: Span, below: u32) -> Expression<'s> {
        let height = below + 1;
        if height > DEEPEST {
            self.too_deep(span);
            return Expression {
                kind: ExpressionKind::Error,
                span,
                height: 0,
            };
        }
        Expression { kind, span, height }
    }

    fn conditional(&mut self) -> Expression<'s> {
        let condition = self.binary(1);
        if !self.eat(T::Question) {
            return condition;
        }
        let then = self.expression();
        self.expect(T::Colon);
        let otherwise = self.expression();
        let span = condition.span.to(otherwise.span);
        let below = condition.height.max(then.height).max(otherwise.height);
        self.node(
            ExpressionKind::Conditional(Box::new(condition), Box::new(then), Box::new(otherwise)),
            span,
            below,
        )
    }

    /// Operators that bind at least as tightly as `level`.
    fn binary(&mut self, level: u32) -> Expression<'s> {
        let mut left = self.unary();
        let mut compared: Option<Span> = None;
        while let Some((binds, infix)) = binary_operator(self.peek()) {
            if binds < level {
                break;
            }
            let operator = self.advance().span;
            let mut chained = false;
            if binds == COMPARISON {
                if let Some(first) = compared {
                    chained = true;
                    self.report(
                        Diagnostic::new(
                            Code::Unexpected,
                            operator,
                            "comparisons can't be chained",
                            "second comparison",
                        )
                        .label(first, "first comparison")
                        .help("write `a < b && b < c`"),
                    );
                }
                compared = Some(operator);
            } else if binds < COMPARISON {
                compared = None;
            }
            let right = match self.nested(|parser| parser.binary(binds + 1)) {
                Some(right) => right,
                None => self.hole(),
            };
            let (span, below) = (left.span.to(right.span), left.height.max(right.height));
            let (left_box, right_box) = (Box::new(left), Box::new(right));
            let kind = match infix {
                _ if chained => ExpressionKind::Error,
                Infix::Or => ExpressionKind::Or(left_box, right_box),
                Infix::And => ExpressionKind::And(left_box, right_box),
                Infix::Compare(op) => ExpressionKind::Compare(op, left_box, right_box),
                Infix::Binary(op) => ExpressionKind::Binary(op, left_box, right_box),
            };
            left = self.node(kind, span, below);
        }
        left
    }

    fn unary(&mut self) -> Expression<'s> {
        let start = self.span();
        match self.peek() {
            T::Minus => {
                self.advance();
                // The smallest int has no positive counterpart, so its literal is read together
                // with the minus.
                if self.peek() == T::Int {
                    let span = self.span();
                    if let Ok(None) = literals::int(span.text(self.text), span) {
                        self.advance();
                        return self.node(ExpressionKind::Int(i64::MIN), start.to(span), 0);
                    }
                }
                self.prefix(start, |operand| {
                    ExpressionKind::Unary(UnaryOp::Negate, operand)
                })
            }
            T::Bang => {
                self.advance();
                self.prefix(start, |operand| {
                    ExpressionKind::Unary(UnaryOp::Not, operand)
                })
            }
            T::Tilde => {
                self.advance();
                self.prefix(start, ExpressionKind::Complement)
            }
            _ => self.postfix(),
        }
    }

    fn prefix(
        &mut self,
        start: Span,
        kind: impl FnOnce(Box<Expression<'s>>) -> ExpressionKind<'s>,
    ) -> Expression<'s> {
        match self.nested(Self::unary) {
            Some(operand) => {
                let (span, below) = (start.to(operand.span), operand.height);
                self.node(kind(Box::new(operand)), span, below)
            }
            None => self.hole(),
        }
    }

    fn postfix(&mut self) -> Expression<'s> {
        let mut expression = self.primary();
        loop {
            match self.peek() {
                T::OpenBracket => {
                    let open = self.advance().span;
                    let indices = self.expressions(T::CloseBracket, open);
                    if indices.is_empty() {
                        self.errors.push(Diagnostic::new(
                            Code::Unexpected,
                            open.to(self.previous()),
                            "expected an index",
                            "no index here",
                        ));
                    }
                    let span = expression.span.to(self.previous());
                    let below = highest(&indices).max(expression.height);
                    expression = self.node(
                        ExpressionKind::Index {
                            array: Box::new(expression),
                            indices,
                        },
                        span,
                        below,
                    );
                }
                T::Dot => {
                    self.advance();
                    let Some(name) = self.name() else {
                        return expression;
                    };
                    let (start, below) = (expression.span, expression.height);
                    let object = Box::new(expression);
                    let open = self.span();
                    let (kind, below) = if self.eat(T::OpenParen) {
                        let arguments = self.expressions(T::CloseParen, open);
                        let below = highest(&arguments).max(below);
                        let kind = ExpressionKind::Method {
                            object,
                            name,
                            arguments,
                        };
                        (kind, below)
                    } else {
                        (ExpressionKind::Field { object, name }, below)
                    };
                    expression = self.node(kind, start.to(self.previous()), below);
                }
                _ => return expression,
            }
        }
    }

    /// Expressions up to and including the closing bracket.
    pub(super) fn expressions(&mut self, end: T, open: Span) -> Vec<Expression<'s>> {
        let mut expressions = Vec::new();
        while self.peek() != end && self.peek() != T::EndOfFile {
            expressions.push(self.expression());
            if !self.eat(T::Comma) {
                break;
            }
        }
        self.close(end, open);
        expressions
    }

    fn primary(&mut self) -> Expression<'s> {
        let span = self.span();
        let text = span.text(self.text);
        let kind = match self.peek() {
            T::Int => match literals::int(text, span) {
                Ok(Some(value)) => ExpressionKind::Int(value),
                Ok(None) => self.bad_literal(literals::too_large(span)),
                Err(error) => self.bad_literal(error),
            },
            T::Float => match literals::float(text, span) {
                Ok(value) => ExpressionKind::Float(value),
                Err(error) => self.bad_literal(error),
            },
            T::Byte => match literals::byte(text, span) {
                Ok(value) => ExpressionKind::Byte(value),
                Err(error) => self.bad_literal(error),
            },
            T::String => ExpressionKind::Text,
            T::True => ExpressionKind::Bool(true),
            T::False => ExpressionKind::Bool(false),
            T::Null => ExpressionKind::Null,
            T::Name => {
                let name = Name { text, span };
                if self.peek_second() != T::OpenParen {
                    ExpressionKind::Name(text)
                } else {
                    self.advance();
                    let open = self.advance().span;
                    let arguments = self.expressions(T::CloseParen, open);
                    let below = highest(&arguments);
                    let kind = ExpressionKind::Call {
                        callee: name,
                        arguments,
                    };
                    return self.node(kind, span.to(self.previous()), below);
                }
            }
            T::IntType | T::FloatType | T::ByteType | T::Bool => return self.conversion(),
            T::OpenParen => {
                let open = self.advance().span;
                let mut inner = self.expression();
                self.close(T::CloseParen, open);
                inner.span = open.to(self.previous());
                return inner;
            }
            T::New => return self.new_expression(),
            T::Future => return self.future(),
            T::Invalid => ExpressionKind::Error,
            _ => {
                self.expected("an expression");
                return self.hole();
            }
        };
        self.advance();
        self.node(kind, span, 0)
    }

    fn bad_literal(&mut self, error: Diagnostic) -> ExpressionKind<'s> {
        self.errors.push(error);
        ExpressionKind::Error
    }

    fn conversion(&mut self) -> Expression<'s> {
        let start = self.span();
        let Some(ty) = self.base_type() else {
            return self.hole();
        };
        let open = self.span();
        if !self.expect(T::OpenParen) {
            return self.hole();
        }
        let value = self.expression();
        self.close(T::CloseParen, open);
        let (span, below) = (start.to(self.previous()), value.height);
        self.node(
            ExpressionKind::Convert {
                ty,
                value: Box::new(value),
            },
            span,
            below,
        )
    }

    /// `future { value }`.
    fn future(&mut self) -> Expression<'s> {
        let head = self.advance().span;
        let open = self.span();
        if !self.expect(T::OpenBrace) {
            return self.hole();
        }
        let begins_statement = matches!(self.peek(), T::Let | T::Var | T::Return | T::CloseBrace);
        let value = match begins_statement {
            true => self.hole(),
            false => self.expression(),
        };
        if begins_statement || !matches!(self.peek(), T::CloseBrace | T::EndOfFile) {
            let message = "a future holds one expression";
            let label = "more than an expression, or none";
            self.report(
                Diagnostic::new(Code::Unexpected, self.span(), message, label)
                    .label(head, "this future")
                    .help("call a function that does all of it: `future { f(x) }`"),
            );
            self.skip_to_brace();
        }
        self.close(T::CloseBrace, open);
        let (body, below) = (open.to(self.previous()), value.height);
        let kind = ExpressionKind::Future {
            head,
            value: Box::new(value),
            body,
        };
        self.node(kind, head.to(body), below)
    }

    /// Skips to the brace that closes the innermost open one.
    fn skip_to_brace(&mut self) {
        let mut open = 0;
        loop {
            match self.peek() {
                T::EndOfFile => return,
                T::CloseBrace if open == 0 => return,
                T::CloseBrace => open -= 1,
                T::OpenBrace => open += 1,
                _ => {}
            }
            self.advance();
        }
    }

    /// `new Name()`, `new lock()`, `new promise<T>()` or `new element[sizes]…`.
    fn new_expression(&mut self) -> Expression<'s> {
        let start = self.advance().span;
        let element_start = self.span();
        let Some(base) = self.base_type() else {
            return self.hole();
        };
        let open = self.span();
        let made = match (&base, self.peek()) {
            (BaseType::Named(name), T::OpenParen) => Some(ExpressionKind::NewStruct(*name)),
            (BaseType::Lock, T::OpenParen) => Some(ExpressionKind::NewLock),
            (BaseType::Promise(carried), T::OpenParen) => {
                Some(ExpressionKind::NewPromise(carried.clone()))
            }
            _ => None,
        };
        if let Some(kind) = made {
            self.advance();
            self.close(T::CloseParen, open);
            return self.node(kind, start.to(self.previous()), 0);
        }
        if let (BaseType::Future(_), T::OpenParen) = (&base, self.peek()) {
            self.report(
                Diagnostic::new(
                    Code::Unexpected,
                    start.to(open),
                    "a future is made together with its task",
                    "not made by `new`",
                )
                .help("write `future { value }`"),
            );
            let open = self.advance().span;
            self.expressions(T::CloseParen, open);
            return self.hole();
        }
        if !self.eat(T::OpenBracket) {
            self.expected("`(` or `[`");
            return self.hole();
        }
        let sizes = self.expressions(T::CloseBracket, open);
        if sizes.is_empty() {
            self.errors.push(
                Diagnostic::new(
                    Code::Unexpected,
                    open.to(self.previous()),
                    "expected a size",
                    "how many elements?",
                )
                .help("`new int[n][]` makes n references to int[]"),
            );
        }
        let suffixes = self.type_suffixes();
        let element = Type {
            base,
            suffixes,
            span: element_start,
        };
        let (span, below) = (start.to(self.previous()), highest(&sizes));
        self.node(ExpressionKind::NewArray { element, sizes }, span, below)
    }
}

fn highest(expressions: &[Expression]) -> u32 {
    expressions
        .iter()
        .map(|expression| expression.height)
        .max()
        .unwrap_or(0)
}
