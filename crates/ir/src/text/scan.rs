//! One line of the text form, scanned from left to right.
//!
//! Every method skips the blanks in front of what it looks for. A complaint is about the first
//! character that could not be taken.

use super::words::Word;
use std::fmt;

/// Why a text is not the text of a module. Lines and columns count from 1, columns in characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    pub line: u32,
    pub column: u32,
    pub message: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ReadError {}

pub(super) type Read<T> = Result<T, ReadError>;

#[derive(Clone)]
pub(super) struct Scanner<'t> {
    line: u32,
    text: &'t str,
    /// The bytes that were taken.
    at: usize,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(line: u32, text: &'t str) -> Scanner<'t> {
        Scanner { line, text, at: 0 }
    }

    /// A line without content: it is blank or a comment alone.
    pub(super) fn is_empty(&self) -> bool {
        let content = self.text.trim_start();
        content.is_empty() || content.starts_with("//")
    }

    /// The same line at the next character that is no blank.
    pub(super) fn here(&mut self) -> Scanner<'t> {
        self.rest();
        self.clone()
    }

    pub(super) fn error<T>(&self, message: impl Into<String>) -> Read<T> {
        let (line, column) = self.position();
        Err(ReadError {
            line,
            column,
            message: message.into(),
        })
    }

    pub(super) fn expected<T>(&mut self, what: &str) -> Read<T> {
        let found = match self.rest().chars().next() {
            None => "the end of the line".to_string(),
            Some(_) => match self.clone().word() {
                "" => format!("`{}`", self.rest().chars().next().unwrap_or(' ')),
                word => format!("`{word}`"),
            },
        };
        self.error(format!("expected {what}, found {found}"))
    }

    pub(super) fn position(&self) -> (u32, u32) {
        let column = self.text[..self.at].chars().count() + 1;
        (self.line, u32::try_from(column).unwrap_or(u32::MAX))
    }

    /// What is left of the line, from the next character that is no blank.
    fn rest(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    /// Takes `symbol` if it comes next.
    pub(super) fn takes(&mut self, symbol: &str) -> bool {
        let comes = self.rest().starts_with(symbol);
        if comes {
            self.at += symbol.len();
        }
        comes
    }

    pub(super) fn symbol(&mut self, symbol: &str) -> Read<()> {
        match self.takes(symbol) {
            true => Ok(()),
            false => self.expected(&format!("`{symbol}`")),
        }
    }

    /// Takes `word` if it is the whole next word.
    pub(super) fn takes_word(&mut self, word: &str) -> bool {
        let comes = self.clone().word() == word;
        if comes {
            self.word();
        }
        comes
    }

    /// Letters, digits and underscores. May be empty: some parameters have no name.
    pub(super) fn word(&mut self) -> &'t str {
        self.while_(|c| c.is_alphanumeric() || c == '_')
    }

    fn while_(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !belongs(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    pub(super) fn name(&mut self) -> Read<String> {
        match self.word() {
            "" => self.expected("a name"),
            name => Ok(name.to_string()),
        }
    }

    /// One of the words of an enumeration.
    pub(super) fn one_of<T: Word>(&mut self, what: &str) -> Read<T> {
        let before = self.clone();
        match T::from_word(self.word()) {
            Some(case) => Ok(case),
            None => {
                *self = before;
                self.expected(what)
            }
        }
    }

    /// Anything that Rust can parse from letters, digits, signs and points.
    pub(super) fn number<N: std::str::FromStr>(&mut self, what: &str) -> Read<N> {
        let before = self.clone();
        let digits = self.while_(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        match digits.parse() {
            Ok(number) => Ok(number),
            Err(_) => {
                *self = before;
                self.expected(what)
            }
        }
    }

    /// The number of an id such as `v12`, whose prefix is `v`.
    pub(super) fn id(&mut self, prefix: &str) -> Read<u32> {
        match self.takes_id(prefix) {
            Some(number) => Ok(number),
            None => self.expected(&format!("`{prefix}` and a number")),
        }
    }

    pub(super) fn takes_id(&mut self, prefix: &str) -> Option<u32> {
        let before = self.clone();
        let digits = self.word().strip_prefix(prefix);
        let number = digits.and_then(|digits| digits.parse().ok());
        if number.is_none() {
            *self = before;
        }
        number
    }

    /// A string as Rust writes it for debugging.
    pub(super) fn string(&mut self) -> Read<String> {
        self.symbol("\"")?;
        let mut text = String::new();
        loop {
            // Blanks count here.
            let Some(next) = self.text[self.at..].chars().next() else {
                return self.error("the string has no end");
            };
            self.at += next.len_utf8();
            match next {
                '"' => return Ok(text),
                '\\' => text.push(self.escape()?),
                other => text.push(other),
            }
        }
    }

    /// The character that stands behind a backslash.
    fn escape(&mut self) -> Read<char> {
        let rest = &self.text[self.at..];
        let simple = [
            ("n", '\n'),
            ("r", '\r'),
            ("t", '\t'),
            ("0", '\0'),
            ("\\", '\\'),
            ("\"", '"'),
            ("'", '\''),
        ];
        for (word, character) in simple {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(character);
            }
        }
        let hexadecimal = rest
            .strip_prefix("u{")
            .and_then(|digits| digits.split_once('}'));
        if let Some((digits, _)) = hexadecimal
            && let Ok(number) = u32::from_str_radix(digits, 16)
            && let Some(character) = char::from_u32(number)
        {
            self.at += digits.len() + "u{}".len();
            return Ok(character);
        }
        self.error("no character is written like this")
    }

    /// Items separated by commas, up to `end`, which is taken too.
    pub(super) fn list<T>(
        &mut self,
        end: &str,
        mut item: impl FnMut(&mut Self) -> Read<T>,
    ) -> Read<Vec<T>> {
        let mut items = Vec::new();
        if self.takes(end) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.takes(end) {
                return Ok(items);
            }
            if !self.takes(",") {
                return self.expected(&format!("`,` or `{end}`"));
            }
        }
    }

    /// Items separated by commas, at least one, as far as there are commas.
    pub(super) fn items<T>(&mut self, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.takes(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// The end of the line.
    pub(super) fn end(&mut self) -> Read<()> {
        match self.rest().is_empty() {
            true => Ok(()),
            false => self.expected("the end of the line"),
        }
    }

    /// The end of the line, and the place in the source if there is one: line and column.
    pub(super) fn place(&mut self) -> Read<Option<(u32, u32)>> {
        if !self.takes("//") {
            self.end()?;
            return Ok(None);
        }
        let line = self.digits("a line of the source")?;
        self.symbol(":")?;
        let column = self.digits("a column of the source")?;
        self.end()?;
        Ok(Some((line, column)))
    }

    fn digits(&mut self, what: &str) -> Read<u32> {
        let before = self.clone();
        match self.while_(|c| c.is_ascii_digit()).parse() {
            Ok(number) => Ok(number),
            Err(_) => {
                *self = before;
                self.expected(what)
            }
        }
    }

    /// Everything up to the end of the line.
    pub(super) fn remainder(&mut self) -> &'t str {
        let rest = self.rest();
        self.at = self.text.len();
        rest
    }
}
