//! Places in the source, and the lines around them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A span of the source, and its text on one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub file: String,
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// Characters of the span on its first line; 0 if only its start is known.
    pub width: u32,
    pub text: String,
}

/// Lines of source files, for reports that show the source around a place.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SourceLines {
    files: BTreeMap<String, BTreeMap<u32, String>>,
}

impl SourceLines {
    /// All lines of a file.
    pub fn of_file(file: &str, text: &str) -> SourceLines {
        let mut lines = SourceLines::default();
        lines.add(file, 1, text.lines().map(str::to_owned));
        lines
    }

    /// Takes in the lines of a file from this one on.
    pub fn add(&mut self, file: &str, first: u32, lines: impl IntoIterator<Item = String>) {
        let known = self.files.entry(file.to_owned()).or_default();
        known.extend((first..).zip(lines));
    }

    /// All known lines: the file, the number and the text of each.
    pub fn all(&self) -> impl Iterator<Item = (&str, u32, &str)> {
        let files = self.files.iter();
        files.flat_map(|(file, lines)| {
            let lines = lines.iter();
            lines.map(move |(line, text)| (file.as_str(), *line, text.as_str()))
        })
    }

    /// The known lines up to `reach` before and after a line, with their numbers.
    pub fn around(&self, file: &str, line: u32, reach: u32) -> Vec<(u32, &str)> {
        let Some(lines) = self.files.get(file) else {
            return Vec::new();
        };
        let near = line.saturating_sub(reach)..=line.saturating_add(reach);
        let near = lines.range(near);
        near.map(|(number, text)| (*number, text.as_str()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_around_a_place_end_with_the_file() {
        let lines = SourceLines::of_file("a", "1\n2\n3\n4");
        assert_eq!(lines.around("a", 1, 1), [(1, "1"), (2, "2")]);
        assert_eq!(lines.around("a", 4, 2), [(2, "2"), (3, "3"), (4, "4")]);
        assert_eq!(lines.around("a", u32::MAX, 1), []);
        assert_eq!(lines.around("b", 1, 1), []);
    }
}
