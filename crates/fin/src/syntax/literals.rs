//! The values of literals.

use super::token::TokenKind;
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;
use logos::Logos;

/// A number literal in plain decimal digits, for code that reads numbers from elsewhere. A minus
/// may come before it: `-0x10` is `-16`. None if the word is no number literal.
pub fn plain_number(word: &str) -> Option<String> {
    let (sign, literal) = match word.strip_prefix('-') {
        Some(literal) => ("-", literal),
        None => ("", word),
    };
    let mut tokens = TokenKind::lexer(literal);
    let kind = tokens.next()?.ok()?;
    if tokens.span() != (0..literal.len()) {
        return None;
    }
    let digits = match kind {
        TokenKind::Int => {
            let value = int(literal, Span::new(0, 0)).ok()?;
            value.map_or(1 << 63, i64::cast_unsigned).to_string()
        }
        TokenKind::Float => literal.replace('_', ""),
        _ => return None,
    };
    Some(sign.to_owned() + &digits)
}

/// An int literal. 2⁶³ is allowed only after a minus and gives `Ok(None)`.
pub(super) fn int(text: &str, span: Span) -> Result<Option<i64>, Diagnostic> {
    let plain = text.replace('_', "");
    let (digits, radix) = match plain.get(..2) {
        Some("0x") => (&plain[2..], 16),
        Some("0b") => (&plain[2..], 2),
        _ => (plain.as_str(), 10),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        let message = format!("`{text}` is not a number");
        return Err(
            Diagnostic::new(Code::BadLiteral, span, message, "not a number")
                .help("write numbers as 42, 1_000, 0xff, 0b1010, 1.5 or 1e-9"),
        );
    }
    match u64::from_str_radix(digits, radix) {
        Ok(value) if value == 1 << 63 => Ok(None),
        Ok(value) if value < 1 << 63 => Ok(Some(value as i64)),
        _ => Err(too_large(span)),
    }
}

pub(super) fn too_large(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::BadLiteral,
        span,
        "this number is too large for an int",
        "at most 9223372036854775807",
    )
    .help("a float can be larger: 1e30")
}

pub(super) fn float(text: &str, span: Span) -> Result<f64, Diagnostic> {
    match text.replace('_', "").parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(Diagnostic::new(
            Code::BadLiteral,
            span,
            "this number is too large for a float",
            "at most about 1.8e308",
        )),
    }
}

/// The byte of `'…'`.
pub(super) fn byte(text: &str, span: Span) -> Result<u8, Diagnostic> {
    let inner = &text[1..text.len() - 1];
    match unescape(inner, span)?.as_slice() {
        [one] => Ok(*one),
        _ => Err(Diagnostic::new(
            Code::BadLiteral,
            span,
            "a byte literal is one ASCII character",
            "not one byte",
        )
        .help("text is written in double quotes, in `print` and `assert`")),
    }
}

/// The text of `"…"`.
pub(super) fn string(text: &str, span: Span) -> Result<String, Diagnostic> {
    let inner = &text[1..text.len() - 1];
    String::from_utf8(unescape(inner, span)?).map_err(|_| {
        Diagnostic::new(
            Code::BadLiteral,
            span,
            "an escape in a string is below \\x80",
            "this is not text",
        )
    })
}

fn unescape(inner: &str, span: Span) -> Result<Vec<u8>, Diagnostic> {
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let escaped = match rest.next() {
            Some(b'n') => Some(b'\n'),
            Some(b't') => Some(b'\t'),
            Some(b'r') => Some(b'\r'),
            Some(b'0') => Some(0),
            Some(quoted @ (b'\\' | b'\'' | b'"')) => Some(quoted),
            Some(b'x') => {
                let mut digit = || rest.next().and_then(|digit| (digit as char).to_digit(16));
                digit()
                    .zip(digit())
                    .map(|(high, low)| (high * 16 + low) as u8)
            }
            _ => None,
        };
        let Some(escaped) = escaped else {
            return Err(Diagnostic::new(
                Code::BadLiteral,
                span,
                "an unknown escape",
                "in this literal",
            )
            .help(r#"the escapes are \n \t \r \0 \\ \' \" and \xHH"#));
        };
        bytes.push(escaped);
    }
    Ok(bytes)
}
