//! Lines of the user's source files, read when a report shows them.
//!
//! Debug information names files by the paths of the machine that compiled them. A file is not
//! shown if it is missing, is no plain file, or is very large. A line is not shown if the file does
//! not have it (any more). Each file is read once.

use finishline_answer::place::{Place, SourceLines};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};

/// No source file written by a person is larger.
const LARGEST: u64 = 16 << 20;

/// Lines kept before and after a place, for reports that show them.
pub(crate) const REACH: u32 = 4;

/// The most characters shown of a source line.
const LONGEST: usize = 80;

pub(crate) struct Sources {
    /// Paths below this folder are shown relative to it.
    base: PathBuf,
    files: FxHashMap<String, Option<Vec<String>>>,
}

impl Sources {
    pub(crate) fn new(base: &Path) -> Sources {
        Sources {
            base: base.to_owned(),
            files: FxHashMap::default(),
        }
    }

    /// The place for a line and a column in bytes, both from 1. Column 0 means unknown.
    pub(crate) fn place(&mut self, file: &str, line: u32, column: u32) -> Place {
        let text = self.line(file, line);
        let column = match &text {
            Some(text) => in_characters(text, column),
            None => column,
        };
        Place {
            file: self.told(file),
            line,
            column: column.max(1),
            width: 0,
            text: shortened(text.unwrap_or_default().trim()),
        }
    }

    /// Adds the lines around a place.
    pub(crate) fn around(&self, place: &Place, lines: &mut SourceLines) {
        let told = |file: &&String| self.told(file) == place.file;
        let file = self.files.keys().find(told);
        let Some(known) = file.and_then(|file| self.files.get(file)?.as_ref()) else {
            return;
        };
        let first = place.line.saturating_sub(REACH).max(1);
        let wanted = known.iter().skip(first as usize - 1);
        let wanted = wanted.take((place.line - first + 1 + REACH) as usize);
        lines.add(&place.file, first, wanted.cloned());
    }

    fn line(&mut self, file: &str, line: u32) -> Option<String> {
        if !self.files.contains_key(file) {
            let lines = read(&self.base.join(file));
            self.files.insert(file.to_owned(), lines);
        }
        let lines = self.files.get(file)?.as_ref()?;
        lines
            .get(usize::try_from(line).ok()?.checked_sub(1)?)
            .cloned()
    }

    /// The path as the user would write it.
    fn told(&self, file: &str) -> String {
        let file = file.strip_prefix("./").unwrap_or(file);
        let below = Path::new(file).strip_prefix(&self.base).ok();
        let below = below.filter(|below| !below.as_os_str().is_empty());
        below.map_or_else(
            || file.to_owned(),
            |below| below.to_string_lossy().into_owned(),
        )
    }
}

fn read(path: &Path) -> Option<Vec<String>> {
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.lines().map(str::to_owned).collect())
}

/// Converts a column from bytes, as the compiler counts, to characters, as reports count.
fn in_characters(line: &str, column: u32) -> u32 {
    let Some(before) = column.checked_sub(1) else {
        return 0;
    };
    let bytes = before as usize;
    let characters = line.char_indices().take_while(|(at, _)| *at < bytes);
    characters.count() as u32 + 1
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_characters() {
        let line = "aé = b";
        for (bytes, characters) in [(0, 0), (1, 1), (2, 2), (4, 3), (7, 6), (90, 7)] {
            assert_eq!(in_characters(line, bytes), characters);
        }
    }

    #[test]
    fn paths_below_the_base_are_told_relative_to_it() {
        let sources = Sources::new(Path::new("/ws/a"));
        for (file, told) in [
            ("/ws/a/src/main.rs", "src/main.rs"),
            ("/ws/ab/src/main.rs", "/ws/ab/src/main.rs"),
            ("./src/main.rs", "src/main.rs"),
            ("/ws/a", "/ws/a"),
        ] {
            assert_eq!(sources.told(file), told);
        }
    }

    #[test]
    fn what_is_no_plain_file_is_not_read() {
        let mut sources = Sources::new(Path::new("/"));
        for file in ["/dev/zero", "/", "/no/such/file", "\0", ""] {
            assert_eq!(sources.place(file, 3, 0).text, "");
        }
    }

    #[test]
    fn long_lines_are_cut() {
        assert_eq!(shortened("short"), "short");
        assert_eq!(shortened(&"é".repeat(81)), "é".repeat(80) + "…");
    }
}
