//! Byte ranges of the source, and the lines and columns they start at.

/// A byte range of the source text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub const fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// From the start of `self` to the end of `other`.
    pub fn to(self, other: Span) -> Span {
        Span::new(self.start.min(other.start), self.end.max(other.end))
    }

    pub fn text(self, source: &str) -> &str {
        source
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

/// Where each line starts.
pub struct LineIndex<'s> {
    text: &'s str,
    starts: Vec<u32>,
}

impl<'s> LineIndex<'s> {
    pub fn new(text: &'s str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0)
            .chain(newlines.map(|(at, _)| at as u32 + 1))
            .collect();
        LineIndex { text, starts }
    }

    /// Line and column of a byte, both from 1, the column in characters.
    pub fn position(&self, byte: u32) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= byte) - 1;
        let start = self.starts[line];
        let before = Span::new(start, byte).text(self.text);
        (line as u32 + 1, before.chars().count() as u32 + 1)
    }
}
