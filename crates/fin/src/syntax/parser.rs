//! The parser's state, its recovery from errors, and the items of a file.

use super::DEEPEST;
use super::ast::*;
use super::token::{Token, TokenKind, TokenKind as T};
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;

pub(super) struct Parser<'s> {
    pub(super) text: &'s str,
    tokens: Vec<Token>,
    at: usize,
    pub(super) errors: Vec<Diagnostic>,
    /// The token of the last syntax error. A second error at the same token is an echo.
    last_error: Option<usize>,
    depth: u32,
}

impl<'s> Parser<'s> {
    pub(super) fn new(text: &'s str, tokens: Vec<Token>, errors: Vec<Diagnostic>) -> Self {
        Parser {
            text,
            tokens,
            at: 0,
            errors,
            last_error: None,
            depth: 0,
        }
    }

    pub(super) fn peek(&self) -> TokenKind {
        self.tokens[self.at].kind
    }

    pub(super) fn peek_second(&self) -> TokenKind {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)].kind
    }

    /// The span of the next token.
    pub(super) fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// The span of the token before it.
    pub(super) fn previous(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    /// Takes the next token. The last one, the end of the file, stays.
    pub(super) fn advance(&mut self) -> Token {
        let token = self.tokens[self.at];
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    pub(super) fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.peek() == kind;
        if found {
            self.advance();
        }
        found
    }

    /// Reports that something else was expected, unless an error at this token was reported
    /// already.
    pub(super) fn expected(&mut self, what: &str) {
        if self.is_echo() {
            return;
        }
        self.last_error = Some(self.at);
        let (kind, span) = (self.peek(), self.span());
        let diagnostic = if kind == T::EndOfFile {
            Diagnostic::new(
                Code::Unexpected,
                span,
                format!("expected {what}, found the end of the file"),
                "",
            )
        } else {
            let found = span.text(self.text);
            let message = format!("expected {what}, found `{}`", shorten(found));
            Diagnostic::new(Code::Unexpected, span, message, format!("expected {what}"))
        };
        self.errors.push(diagnostic);
    }

    /// Whether an error here would be an echo: at the same token as the last one, or beside text
    /// that is no token.
    fn is_echo(&mut self) -> bool {
        let invalid = |at: usize| self.tokens[at].kind == T::Invalid;
        if invalid(self.at) || invalid(self.at.saturating_sub(1)) {
            self.last_error = Some(self.at);
        }
        self.last_error == Some(self.at)
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.last_error = Some(self.at);
        self.errors.push(diagnostic);
    }

    /// Takes a token of this kind or reports that it is missing.
    pub(super) fn expect(&mut self, kind: TokenKind) -> bool {
        let found = self.eat(kind);
        if !found {
            self.expected(kind.describe());
        }
        found
    }

    /// Takes the `;` after a statement. A missing one is reported after the previous token.
    pub(super) fn expect_semicolon(&mut self) {
        if self.eat(T::Semicolon) || self.is_echo() {
            return;
        }
        let end = self.previous().end;
        let diagnostic = Diagnostic::new(
            Code::Unexpected,
            Span::new(end, end),
            "expected `;` after this",
            "add `;` here",
        );
        self.report(diagnostic);
        if !self.peek().starts_statement() && self.peek() != T::CloseBrace {
            self.skip_statement();
        }
    }

    /// Runs `parse` one level deeper. At the limit it reports an error and skips the construct.
    pub(super) fn nested<R>(&mut self, parse: impl FnOnce(&mut Self) -> R) -> Option<R> {
        if self.depth >= DEEPEST {
            self.too_deep(self.span());
            return None;
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        Some(result)
    }

    /// Reports the nesting and gives up on the rest of the file, because real errors there can't be
    /// told from echoes.
    pub(super) fn too_deep(&mut self, span: Span) {
        if self.peek() == T::EndOfFile && self.is_echo() {
            return;
        }
        let message = format!("this is nested more than {DEEPEST} deep");
        self.errors.push(
            Diagnostic::new(Code::TooDeep, span, message, "")
                .help("name a part with `let`, or move it into a function"),
        );
        self.at = self.tokens.len() - 1;
        self.last_error = Some(self.at);
    }

    pub(super) fn name(&mut self) -> Option<Name<'s>> {
        let (kind, span) = (self.peek(), self.span());
        if kind == T::Name {
            self.advance();
            return Some(Name {
                text: span.text(self.text),
                span,
            });
        }
        if kind.is_keyword() && !self.is_echo() {
            let word = span.text(self.text);
            let code = if kind.is_reserved() {
                Code::Reserved
            } else {
                Code::Unexpected
            };
            let message = format!("`{word}` is a keyword and can't be a name");
            self.report(
                Diagnostic::new(code, span, message, "expected a name")
                    .help(format!("call it `{word}_`")),
            );
            // The text that follows is most often right, so go on as if the word had been a name.
            if !kind.starts_statement() && !matches!(kind, T::Fn | T::Struct) {
                self.advance();
            }
        } else {
            self.expected("a name");
        }
        None
    }

    /// Skips past the next `;`, or to the `}`, keyword or item that ends the statement. A pair of
    /// brackets is skipped with everything inside.
    pub(super) fn skip_statement(&mut self) {
        let mut open = 0usize;
        loop {
            match self.peek() {
                T::EndOfFile => return,
                T::Fn | T::Struct => return,
                T::Semicolon if open == 0 => {
                    self.advance();
                    return;
                }
                T::CloseBrace if open == 0 => return,
                T::OpenBrace => open += 1,
                T::CloseBrace => {
                    open -= 1;
                    if open == 0 {
                        self.advance();
                        return;
                    }
                }
                kind if open == 0
                    && kind.starts_statement()
                    && self.last_error != Some(self.at) =>
                {
                    return;
                }
                _ => {}
            }
            self.advance();
        }
    }

    pub(super) fn file(&mut self) -> File<'s> {
        let mut file = File::default();
        loop {
            match self.peek() {
                T::EndOfFile => return file,
                T::Struct => file.structs.extend(self.struct_item()),
                T::Fn => file.functions.extend(self.function()),
                T::Let | T::Var => file.globals.extend(self.global()),
                _ => {
                    self.expected("`fn`, `struct`, `var` or `let`");
                    while !matches!(
                        self.peek(),
                        T::EndOfFile | T::Struct | T::Fn | T::Let | T::Var
                    ) {
                        self.advance();
                    }
                }
            }
        }
    }

    fn struct_item(&mut self) -> Option<Struct<'s>> {
        self.advance();
        let name = self.name();
        let open = self.span();
        if !self.expect(T::OpenBrace) {
            self.skip_statement();
            return None;
        }
        let fields = self.fields(T::CloseBrace);
        self.close(T::CloseBrace, open);
        Some(Struct {
            name: name?,
            fields,
        })
    }

    /// `name: type` pairs up to the closing bracket. The bracket is not taken.
    fn fields(&mut self, end: TokenKind) -> Vec<Field<'s>> {
        let mut fields = Vec::new();
        while self.peek() != end && self.peek() != T::EndOfFile {
            let name = self.name();
            let ty = if self.expect(T::Colon) {
                self.ty()
            } else {
                None
            };
            if let (Some(name), Some(ty)) = (name, ty) {
                fields.push(Field { name, ty });
            } else {
                let stop = |kind| {
                    matches!(
                        kind,
                        T::Comma | T::EndOfFile | T::Fn | T::Struct | T::OpenBrace
                    ) || kind == end
                };
                while !stop(self.peek()) {
                    self.advance();
                }
            }
            if !self.eat(T::Comma) {
                break;
            }
        }
        fields
    }

    /// Takes the bracket that closes the one at `open`.
    pub(super) fn close(&mut self, kind: TokenKind, open: Span) {
        if self.eat(kind) || self.is_echo() {
            return;
        }
        let closed = matches!(
            self.peek(),
            T::EndOfFile | T::CloseParen | T::CloseBracket | T::CloseBrace | T::Fn | T::Struct
        );
        if !closed && kind != T::CloseBrace {
            self.expected(&format!("`,` or {}", kind.describe()));
            return;
        }
        let message = format!("expected {} to close this bracket", kind.describe());
        let label = format!("expected {}", kind.describe());
        let diagnostic = Diagnostic::new(Code::Unclosed, self.span(), message, label);
        self.report(diagnostic.label(open, "opened here"));
    }

    fn function(&mut self) -> Option<Function<'s>> {
        self.advance();
        let name = self.name();
        let open = self.span();
        let mut parameters = Vec::new();
        if self.expect(T::OpenParen) {
            parameters = self.fields(T::CloseParen);
            self.close(T::CloseParen, open);
        }
        let result = if self.eat(T::Colon) { self.ty() } else { None };
        if self.peek() != T::OpenBrace {
            self.expected("`{` and the body of the function");
            while !matches!(self.peek(), T::OpenBrace | T::EndOfFile | T::Struct | T::Fn) {
                self.advance();
            }
        }
        let body = self.block();
        Some(Function {
            name: name?,
            parameters,
            result,
            body,
        })
    }

    fn global(&mut self) -> Option<Global<'s>> {
        let mutable = self.advance().kind == T::Var;
        let name = self.name();
        let ty = if self.eat(T::Colon) { self.ty() } else { None };
        let value = self.eat(T::Assign).then(|| self.expression());
        self.expect_semicolon();
        Some(Global {
            mutable,
            name: name?,
            ty,
            value,
        })
    }

    pub(super) fn ty(&mut self) -> Option<Type<'s>> {
        let start = self.span();
        let base = self.base_type()?;
        let suffixes = self.type_suffixes();
        Some(Type {
            base,
            suffixes,
            span: start.to(self.previous()),
        })
    }

    /// The array suffixes of a type. Each is one level of nesting.
    pub(super) fn type_suffixes(&mut self) -> Vec<u32> {
        let mut suffixes = Vec::new();
        while self.peek() == T::OpenBracket {
            if suffixes.len() as u32 == DEEPEST {
                self.too_deep(self.span());
                break;
            }
            suffixes.push(self.type_suffix());
        }
        suffixes
    }

    /// `[]` or `[,]`. Returns the number of dimensions.
    fn type_suffix(&mut self) -> u32 {
        let open = self.advance().span;
        let mut dimensions = 1;
        while self.eat(T::Comma) {
            dimensions += 1;
        }
        self.close(T::CloseBracket, open);
        dimensions
    }

    pub(super) fn base_type(&mut self) -> Option<BaseType<'s>> {
        let base = match self.peek() {
            T::IntType => BaseType::Int,
            T::FloatType => BaseType::Float,
            T::Bool => BaseType::Bool,
            T::ByteType => BaseType::Byte,
            T::Lock => BaseType::Lock,
            T::Name => return self.name().map(BaseType::Named),
            T::Promise => return self.carried().map(BaseType::Promise),
            T::Future => return self.carried().map(BaseType::Future),
            kind if kind.is_reserved() => {
                self.name();
                return Some(BaseType::Error);
            }
            _ => {
                self.expected("a type");
                return None;
            }
        };
        self.advance();
        Some(base)
    }

    /// The `<T>` after `promise` or `future`, which is the next token.
    fn carried(&mut self) -> Option<Box<Type<'s>>> {
        self.advance();
        if !self.expect(T::Less) {
            return None;
        }
        let carried = self.nested(Self::ty).flatten();
        self.close_angle();
        carried.map(Box::new)
    }

    /// Takes a `>`, which may be the beginning of a longer operator, as in `promise<promise<int>>`.
    fn close_angle(&mut self) {
        let rest = match self.peek() {
            T::ShiftRight => T::Greater,
            T::ShiftRightLogical => T::ShiftRight,
            T::GreaterEqual => T::Assign,
            T::ShiftRightAssign => T::GreaterEqual,
            T::ShiftRightLogicalAssign => T::ShiftRightAssign,
            _ => {
                self.expect(T::Greater);
                return;
            }
        };
        let token = &mut self.tokens[self.at];
        token.kind = rest;
        token.span.start += 1;
    }
}

/// A token's text, shortened to fit into a message.
pub(super) fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(30).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
