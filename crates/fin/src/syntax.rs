//! From text to the syntax tree.
//!
//! The parser is recursive descent, with one function for each rule of the grammar in
//! `docs/language.md`. After an error it skips to the next place where a statement or an item can
//! start. So one run shows all errors.

pub mod ast;
mod expressions;
mod literals;
mod parser;
mod statements;
pub mod token;

use crate::diagnostic::{Code, Diagnostic};
pub use literals::plain_number;
use token::LexError;

/// The deepest nesting of statements and expressions. Later recursive walks rely on this limit.
pub const DEEPEST: u32 = 200;

/// Parses a file. The tree has holes where there are errors.
pub fn parse(text: &str) -> (ast::File<'_>, Vec<Diagnostic>) {
    let (tokens, lex_errors) = token::tokens(text);
    let errors = lex_errors
        .into_iter()
        .map(|(error, span)| {
            let (code, message, help) = match error {
                LexError::UnknownCharacter => (
                    Code::UnknownCharacter,
                    format!("unknown character {:?}", parser::shorten(span.text(text))),
                    None,
                ),
                LexError::UnclosedComment => (
                    Code::Unclosed,
                    "this comment is never closed".to_owned(),
                    Some("comments nest: each `/*` needs its own `*/`"),
                ),
                LexError::UnclosedString => (
                    Code::Unclosed,
                    "this string is never closed".to_owned(),
                    Some("a string ends with `\"` on the same line"),
                ),
                LexError::UnclosedByte => (
                    Code::Unclosed,
                    "this byte literal is never closed".to_owned(),
                    Some("a byte literal is one character between `'`: 'a'"),
                ),
            };
            // A comment may run to the end of the file, so the error shows only its opening.
            let shown = match error {
                LexError::UnclosedComment => crate::span::Span::new(span.start, span.start + 2),
                _ => span,
            };
            let diagnostic = Diagnostic::new(code, shown, message, "");
            match help {
                Some(help) => diagnostic.help(help),
                None => diagnostic,
            }
        })
        .collect();
    let mut parser = parser::Parser::new(text, tokens, errors);
    let file = parser.file();
    (file, parser.errors)
}
