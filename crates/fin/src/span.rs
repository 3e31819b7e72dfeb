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

/// The start of each line, and the characters that take more than one byte. A look-up is two binary
/// searches, however long the line.
pub struct LineIndex {
    starts: Vec<u32>,
    /// For each such character its end, and the sum of all extra bytes up to there.
    wide: Vec<(u32, u32)>,
}

impl LineIndex {
    pub fn new(text: &str) -> Self {
        let mut index = LineIndex {
            starts: vec![0],
            wide: Vec::new(),
        };
        let mut exceeding = 0;
        for (at, character) in text.char_indices() {
            let (end, bytes) = (at + character.len_utf8(), character.len_utf8() as u32);
            if character == '\n' {
                index.starts.push(end as u32);
            } else if bytes > 1 {
                exceeding += bytes - 1;
                index.wide.push((end as u32, exceeding));
            }
        }
        index
    }

    /// Line and column of a byte, both from 1, the column in characters.
    pub fn position(&self, byte: u32) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= byte) - 1;
        let start = self.starts[line];
        let exceeding = |byte: u32| {
            let before = self.wide.partition_point(|(end, _)| *end <= byte);
            before.checked_sub(1).map_or(0, |last| self.wide[last].1)
        };
        let column = byte - start - (exceeding(byte) - exceeding(start));
        (line as u32 + 1, column + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "aé\n→b\n\nx";
        let index = LineIndex::new(text);
        for (byte, _) in text.char_indices() {
            let before = &text[..byte];
            let line = before.matches('\n').count() as u32 + 1;
            let column = before
                .rsplit('\n')
                .next()
                .map_or(0, |last| last.chars().count());
            assert_eq!(index.position(byte as u32), (line, column as u32 + 1));
        }
    }
}
