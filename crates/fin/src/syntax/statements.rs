//! Statements.

use super::ast::*;
use super::literals;
use super::parser::Parser;
use super::token::TokenKind as T;
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;
use finishline_ir::BinaryOp;

impl<'s> Parser<'s> {
    /// `{ … }`. If there is no brace, the error is reported and the block is empty.
    pub(super) fn block(&mut self) -> Block<'s> {
        let open = self.span();
        if !self.expect(T::OpenBrace) {
            return Block {
                statements: Vec::new(),
                span: open,
            };
        }
        let mut statements = Vec::new();
        while !matches!(
            self.peek(),
            T::CloseBrace | T::EndOfFile | T::Fn | T::Struct
        ) {
            let before = self.span();
            match self.nested(Self::statement) {
                Some(Some(statement)) => statements.push(statement),
                _ => self.skip_statement(),
            }
            // Recovery must make progress.
            if self.span() == before && self.peek() != T::CloseBrace {
                self.advance();
            }
        }
        self.close(T::CloseBrace, open);
        Block {
            statements,
            span: open.to(self.previous()),
        }
    }

    /// The body of `async`, `finish`, `isolated` or `locked`: a block or one statement.
    fn body(&mut self) -> Block<'s> {
        if self.peek() == T::OpenBrace {
            return self.block();
        }
        let start = self.span();
        let statement = self.nested(Self::statement).flatten();
        Block {
            statements: statement.into_iter().collect(),
            span: start.to(self.previous()),
        }
    }

    /// `None` after an error that leaves nothing to keep. The caller then skips.
    fn statement(&mut self) -> Option<Statement<'s>> {
        let start = self.span();
        let kind = match self.peek() {
            T::OpenBrace => StatementKind::Block(self.block()),
            T::Let | T::Var => self.declaration()?,
            T::If => self.if_statement(),
            T::While => {
                self.advance();
                StatementKind::While {
                    condition: self.expression(),
                    body: self.block(),
                }
            }
            T::For => {
                let (_, name, range, body) = self.counted_loop()?;
                StatementKind::For { name, range, body }
            }
            T::Forall => {
                let (head, name, range, body) = self.counted_loop()?;
                StatementKind::Forall {
                    head,
                    name,
                    range,
                    body,
                }
            }
            T::Break => self.word(StatementKind::Break),
            T::Continue => self.word(StatementKind::Continue),
            T::BeginFinish => self.word(StatementKind::BeginFinish),
            T::EndFinish => self.word(StatementKind::EndFinish),
            T::Sync => self.word(StatementKind::Sync),
            T::Return => {
                self.advance();
                let value = (self.peek() != T::Semicolon).then(|| self.expression());
                self.expect_semicolon();
                StatementKind::Return(value)
            }
            T::Print => {
                self.advance();
                let open = self.span();
                self.expect(T::OpenParen);
                let arguments = self.print_arguments(open);
                self.expect_semicolon();
                StatementKind::Print(arguments)
            }
            T::Assert => {
                self.advance();
                let open = self.span();
                self.expect(T::OpenParen);
                let condition = self.expression();
                let message = if self.eat(T::Comma) {
                    self.print_arguments(open)
                } else {
                    self.close(T::CloseParen, open);
                    Vec::new()
                };
                self.expect_semicolon();
                StatementKind::Assert { condition, message }
            }
            T::Async => {
                let head = self.advance().span;
                StatementKind::Async {
                    head,
                    body: self.body(),
                }
            }
            T::Finish => {
                let head = self.advance().span;
                StatementKind::Finish {
                    head,
                    body: self.body(),
                }
            }
            T::Isolated => {
                let head = self.advance().span;
                StatementKind::Isolated {
                    head,
                    body: self.body(),
                }
            }
            T::Locked => {
                let head = self.advance().span;
                let open = self.span();
                self.expect(T::OpenParen);
                let lock = self.expression();
                self.close(T::CloseParen, open);
                StatementKind::Locked {
                    head,
                    lock,
                    body: self.body(),
                }
            }
            T::Spawn => self.spawn(None)?,
            _ => self.assignment_or_call()?,
        };
        Some(Statement {
            kind,
            span: start.to(self.previous()),
        })
    }

    fn word(&mut self, kind: StatementKind<'s>) -> StatementKind<'s> {
        self.advance();
        self.expect_semicolon();
        kind
    }

    fn declaration(&mut self) -> Option<StatementKind<'s>> {
        let mutable = self.advance().kind == T::Var;
        let name = self.name();
        let ty = if self.eat(T::Colon) { self.ty() } else { None };
        let value = self.eat(T::Assign).then(|| {
            if self.peek() == T::Spawn {
                let span = self.span();
                self.report(
                    Diagnostic::new(
                        Code::SpawnPlace,
                        span,
                        "the result of a spawn can't initialise a local",
                        "the spawned task may still be running",
                    )
                    .help("spawn into an element, a field or a global: `r.value = spawn f(x);`, and read it after `sync`"),
                );
                self.advance();
            }
            self.expression()
        });
        self.expect_semicolon();
        Some(StatementKind::Declare {
            mutable,
            name: name?,
            ty,
            value,
        })
    }

    fn if_statement(&mut self) -> StatementKind<'s> {
        let mut arms = Vec::new();
        loop {
            self.advance();
            let condition = self.expression();
            arms.push((condition, self.block()));
            if !self.eat(T::Else) {
                return StatementKind::If {
                    arms,
                    otherwise: None,
                };
            }
            if self.peek() != T::If {
                let otherwise = Some(self.block());
                return StatementKind::If { arms, otherwise };
            }
        }
    }

    /// `for` and `forall`.
    fn counted_loop(&mut self) -> Option<(Span, Name<'s>, Range<'s>, Block<'s>)> {
        let head = self.advance().span;
        let name = self.name();
        if !self.expect(T::In) && self.peek() == T::Name {
            // Another word stands in its place. The text that follows is most often right.
            self.advance();
        }
        let start = self.expression();
        let inclusive = self.peek() == T::DotDotEqual;
        if !self.eat(T::DotDotEqual) {
            self.expect(T::DotDot);
        }
        let end = self.expression();
        let step = self.eat(T::Step).then(|| self.expression());
        let span = start.span.to(self.previous());
        let body = self.block();
        Some((
            head,
            name?,
            Range {
                start,
                end,
                inclusive,
                step,
                span,
            },
            body,
        ))
    }

    /// Arguments up to and including the closing parenthesis.
    fn print_arguments(&mut self, open: Span) -> Vec<Argument<'s>> {
        let mut arguments = Vec::new();
        while !matches!(self.peek(), T::CloseParen | T::EndOfFile) {
            if self.peek() == T::String {
                let span = self.advance().span;
                match literals::string(span.text(self.text), span) {
                    Ok(text) => arguments.push(Argument::Text(text)),
                    Err(error) => self.errors.push(error),
                }
            } else {
                arguments.push(Argument::Value(self.expression()));
            }
            if !self.eat(T::Comma) {
                break;
            }
        }
        self.close(T::CloseParen, open);
        arguments
    }

    fn spawn(&mut self, place: Option<Expression<'s>>) -> Option<StatementKind<'s>> {
        let head = self.advance().span;
        let builtin = matches!(self.peek(), T::IntType | T::FloatType | T::ByteType);
        if builtin {
            let span = self.span();
            self.report(Diagnostic::new(
                Code::SpawnCallee,
                span,
                "a conversion can't be spawned",
                "not a function",
            ));
        }
        let callee = if builtin { None } else { self.name() };
        let callee = callee?;
        let open = self.span();
        self.expect(T::OpenParen);
        let arguments = self.expressions(T::CloseParen, open);
        self.expect_semicolon();
        Some(StatementKind::Spawn {
            head,
            place,
            callee,
            arguments,
        })
    }

    fn assignment_or_call(&mut self) -> Option<StatementKind<'s>> {
        let place = self.expression();
        if matches!(place.kind, ExpressionKind::Error) {
            return None;
        }
        let op = match self.peek() {
            T::Assign => None,
            T::PlusAssign => Some(BinaryOp::Add),
            T::MinusAssign => Some(BinaryOp::Subtract),
            T::StarAssign => Some(BinaryOp::Multiply),
            T::SlashAssign => Some(BinaryOp::Divide),
            T::PercentAssign => Some(BinaryOp::Remainder),
            T::AndAssign => Some(BinaryOp::And),
            T::OrAssign => Some(BinaryOp::Or),
            T::XorAssign => Some(BinaryOp::Xor),
            T::ShiftLeftAssign => Some(BinaryOp::ShiftLeft),
            T::ShiftRightAssign => Some(BinaryOp::ShiftRight),
            T::ShiftRightLogicalAssign => Some(BinaryOp::ShiftRightLogical),
            T::EqualEqual => {
                self.expected("`=` or `;`");
                return None;
            }
            _ => {
                self.expect_semicolon();
                return Some(StatementKind::Expression(place));
            }
        };
        self.advance();
        if op.is_none() && self.peek() == T::Spawn {
            return self.spawn(Some(place));
        }
        let value = self.expression();
        self.expect_semicolon();
        Some(StatementKind::Assign { place, op, value })
    }
}
