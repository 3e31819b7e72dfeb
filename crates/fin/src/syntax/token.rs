//! Tokens. The text of a token is not copied: a token is a kind and a span.

use crate::span::Span;
use logos::{FilterResult, Lexer, Logos};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// Why a piece of text is not a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LexError {
    #[default]
    UnknownCharacter,
    UnclosedComment,
    UnclosedString,
    UnclosedByte,
}

#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(error = LexError)]
#[logos(skip r"[ \t\r\n\f\u{feff}]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
pub enum TokenKind {
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*", priority = 1)]
    Name,
    #[regex(r"[0-9][0-9A-Za-z_]*", priority = 2)]
    Int,
    #[regex(r"[0-9][0-9_]*\.[0-9][0-9_]*([eE][+-]?[0-9][0-9_]*)?", priority = 4)]
    #[regex(r"[0-9][0-9_]*[eE][+-]?[0-9][0-9_]*", priority = 5)]
    Float,
    #[regex(r"'([^'\\\n]|\\[^\n])*'")]
    Byte,
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    String,

    #[token("as")]
    As,
    #[token("assert")]
    Assert,
    #[token("async")]
    Async,
    #[token("begin_finish")]
    BeginFinish,
    #[token("bool")]
    Bool,
    #[token("break")]
    Break,
    #[token("byte")]
    ByteType,
    #[token("continue")]
    Continue,
    #[token("else")]
    Else,
    #[token("end_finish")]
    EndFinish,
    #[token("false")]
    False,
    #[token("finish")]
    Finish,
    #[token("float")]
    FloatType,
    #[token("fn")]
    Fn,
    #[token("for")]
    For,
    #[token("forall")]
    Forall,
    #[token("future")]
    Future,
    #[token("if")]
    If,
    #[token("in")]
    In,
    #[token("int")]
    IntType,
    #[token("isolated")]
    Isolated,
    #[token("let")]
    Let,
    #[token("lock")]
    Lock,
    #[token("locked")]
    Locked,
    #[token("new")]
    New,
    #[token("null")]
    Null,
    #[token("print")]
    Print,
    #[token("promise")]
    Promise,
    #[token("return")]
    Return,
    #[token("spawn")]
    Spawn,
    #[token("step")]
    Step,
    #[token("struct")]
    Struct,
    #[token("sync")]
    Sync,
    #[token("true")]
    True,
    #[token("var")]
    Var,
    #[token("while")]
    While,

    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token(".")]
    Dot,
    #[token("..")]
    DotDot,
    #[token("..=")]
    DotDotEqual,
    #[token("?")]
    Question,
    #[token("=")]
    Assign,
    #[token("+=")]
    PlusAssign,
    #[token("-=")]
    MinusAssign,
    #[token("*=")]
    StarAssign,
    #[token("/=")]
    SlashAssign,
    #[token("%=")]
    PercentAssign,
    #[token("&=")]
    AndAssign,
    #[token("|=")]
    OrAssign,
    #[token("^=")]
    XorAssign,
    #[token("<<=")]
    ShiftLeftAssign,
    #[token(">>=")]
    ShiftRightAssign,
    #[token(">>>=")]
    ShiftRightLogicalAssign,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("&")]
    And,
    #[token("|")]
    Or,
    #[token("^")]
    Xor,
    #[token("~")]
    Tilde,
    #[token("!")]
    Bang,
    #[token("<<")]
    ShiftLeft,
    #[token(">>")]
    ShiftRight,
    #[token(">>>")]
    ShiftRightLogical,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    #[token("==")]
    EqualEqual,
    #[token("!=")]
    NotEqual,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEqual,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEqual,

    /// Never produced: comments are skipped.
    #[token("/*", skip_block_comment)]
    BlockComment,
    /// Text that is no token. The error has been reported.
    Invalid,
    EndOfFile,
}

/// Block comments nest.
fn skip_block_comment(lexer: &mut Lexer<TokenKind>) -> FilterResult<(), LexError> {
    let mut depth = 1;
    let rest = lexer.remainder().as_bytes();
    let mut at = 0;
    while at < rest.len() {
        match &rest[at..rest.len().min(at + 2)] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    lexer.bump(at);
                    return FilterResult::Skip;
                }
            }
            _ => at += 1,
        }
    }
    lexer.bump(rest.len());
    FilterResult::Error(LexError::UnclosedComment)
}

/// Splits the text into tokens and errors. The last token is `EndOfFile`.
pub fn tokens(text: &str) -> (Vec<Token>, Vec<(LexError, Span)>) {
    let mut tokens = Vec::with_capacity(text.len() / 4);
    let mut errors: Vec<(LexError, Span)> = Vec::new();
    for (result, range) in TokenKind::lexer(text).spanned() {
        let span = Span::new(range.start as u32, range.end as u32);
        match result {
            Ok(kind) => tokens.push(Token { kind, span }),
            Err(mut error) => {
                match span.text(text).as_bytes().first() {
                    Some(b'"') => error = LexError::UnclosedString,
                    Some(b'\'') => error = LexError::UnclosedByte,
                    _ => {}
                }
                tokens.push(Token {
                    kind: TokenKind::Invalid,
                    span,
                });
                // A run of unknown characters is one error.
                match errors.last_mut() {
                    Some((last, before)) if *last == error && before.end == span.start => {
                        before.end = span.end;
                    }
                    _ => errors.push((error, span)),
                }
            }
        }
    }
    // For a reader the text ends after the last token.
    let end = tokens.last().map_or(0, |token| token.span.end);
    tokens.push(Token {
        kind: TokenKind::EndOfFile,
        span: Span::new(end, end),
    });
    (tokens, errors)
}

impl TokenKind {
    /// The name of the token in error messages.
    pub fn describe(self) -> &'static str {
        use TokenKind::*;
        match self {
            Name => "a name",
            Int | Float => "a number",
            Byte => "a byte literal",
            String => "a string",
            EndOfFile => "the end of the file",
            OpenParen => "`(`",
            CloseParen => "`)`",
            OpenBracket => "`[`",
            CloseBracket => "`]`",
            OpenBrace => "`{`",
            CloseBrace => "`}`",
            Comma => "`,`",
            Semicolon => "`;`",
            Colon => "`:`",
            Dot => "`.`",
            DotDot => "`..`",
            DotDotEqual => "`..=`",
            Assign => "`=`",
            Less => "`<`",
            Greater => "`>`",
            In => "`in`",
            _ => "a keyword or operator",
        }
    }

    /// Whether the token is a keyword reserved for later versions of the language.
    pub fn is_reserved(self) -> bool {
        use TokenKind::*;
        matches!(self, As)
    }

    pub fn is_keyword(self) -> bool {
        use TokenKind::*;
        self.starts_statement()
            || self.is_reserved()
            || matches!(
                self,
                Bool | ByteType
                    | Else
                    | False
                    | FloatType
                    | Fn
                    | Future
                    | In
                    | IntType
                    | Lock
                    | New
                    | Null
                    | Promise
                    | Step
                    | Struct
                    | True
            )
    }

    /// Whether a statement can start with this keyword. The parser resumes there after an error.
    pub fn starts_statement(self) -> bool {
        use TokenKind::*;
        matches!(
            self,
            Let | Var
                | If
                | While
                | For
                | Forall
                | Break
                | Continue
                | Return
                | Print
                | Assert
                | Async
                | Finish
                | Isolated
                | Locked
                | BeginFinish
                | EndFinish
                | Spawn
                | Sync
        )
    }
}
