//! A page of text for a terminal: lines, colours, and user text that is safe to show.
//!
//! Invariants: all user text goes through [`Page::clean`] before the layout. So no control
//! character reaches the terminal, and columns are those of the text as shown. Colours are added
//! after the layout.

use crate::{Style, words};
use anstyle::{AnsiColor, Style as Paint};

/// Sentences are folded to lines at most this long.
pub(crate) const LINE: usize = 102;

pub(crate) const RED: Paint = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Paint = AnsiColor::Yellow.on_default().bold();
pub(crate) const GREEN: Paint = AnsiColor::Green.on_default().bold();
pub(crate) const LABEL: Paint = AnsiColor::Cyan.on_default();
pub(crate) const FRAME: Paint = AnsiColor::Blue.on_default().bold();
pub(crate) const BOLD: Paint = Paint::new().bold();
pub(crate) const DIM: Paint = Paint::new().dimmed();

pub(crate) struct Page {
    pub(crate) style: Style,
    pub(crate) text: String,
}

impl Page {
    pub(crate) fn new(style: Style) -> Page {
        Page {
            style,
            text: String::new(),
        }
    }

    /// `label: text`. Further lines are aligned with the first.
    pub(crate) fn labelled(&mut self, indent: &str, label: &str, paint: Paint, text: &str) {
        self.hanging(indent, label, ": ", paint, text);
    }

    /// `word: text`, or `word for n from 0 to 9: text`.
    pub(crate) fn verdict(&mut self, word: &str, range: Option<&str>, paint: Paint, text: &str) {
        match range {
            Some(range) => self.hanging("", word, " ", paint, &format!("{range}: {text}")),
            None => self.labelled("", word, paint, text),
        }
    }

    fn hanging(&mut self, indent: &str, label: &str, between: &str, paint: Paint, text: &str) {
        let text = self.clean(text);
        let hanging = indent.len() + label.len() + between.len();
        let painted = self.painted(paint, label);
        for (number, line) in fold(&text, hanging).into_iter().enumerate() {
            if number == 0 {
                self.line(&format!("{indent}{painted}{between}{line}"));
            } else {
                self.line(&format!("{:hanging$}{line}", ""));
            }
        }
    }

    pub(crate) fn folded(&mut self, indent: &str, text: &str) {
        let text = self.clean(text);
        for (number, line) in fold(&text, indent.len() + 2).into_iter().enumerate() {
            let hang = if number == 0 { "" } else { "  " };
            self.line(&format!("{indent}{hang}{line}"));
        }
    }

    /// A finished line, without trailing spaces.
    pub(crate) fn line(&mut self, line: &str) {
        self.text += line.trim_end();
        self.text.push('\n');
    }

    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    pub(crate) fn painted(&self, paint: Paint, text: &str) -> String {
        if self.style.color && !text.trim().is_empty() {
            format!("{paint}{text}{paint:#}")
        } else {
            text.to_string()
        }
    }

    /// The text as the terminal shows it: printable, and ASCII if the terminal asked for that.
    pub(crate) fn clean(&self, text: &str) -> String {
        let printable = words::printable(text);
        if self.style.unicode {
            return printable;
        }
        let mut ascii = String::with_capacity(printable.len());
        for c in printable.chars() {
            match c {
                '›' => ascii.push('>'),
                '…' => ascii.push_str("..."),
                '≤' => ascii.push_str("<="),
                '≥' => ascii.push_str(">="),
                '≠' => ascii.push_str("!="),
                'µ' => ascii.push('u'),
                _ if c.is_ascii() => ascii.push(c),
                _ => ascii.extend(c.escape_unicode()),
            }
        }
        ascii
    }
}

/// Folds the text at spaces into lines that fit beside an indentation. Returns at least one line.
pub(crate) fn fold(text: &str, indent: usize) -> Vec<String> {
    let width = LINE.saturating_sub(indent);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let length = line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && length > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines.push(line);
    lines
}
