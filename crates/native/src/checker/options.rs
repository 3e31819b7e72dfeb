//! What the environment asks for: `FINISHLINE_OPTIONS`, words `key=value` separated by spaces. The
//! word `output=…` is the last one and extends to the end, spaces included.

use crate::facts::shadow::MOST_CELLS;
use finishline_model::kinds::QUARANTINE;
use finishline_model::kinds::rayon::TO_ITEMS;
use std::path::PathBuf;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Where the findings go.
    pub output: Option<PathBuf>,
    /// At most 2³¹ - 1.
    pub logical_threads: u32,
    /// Parallel iterators are divided down to single items.
    pub to_items: bool,
    /// The right half of a join runs first in order 0.
    pub right_first: bool,
    /// The number of the order in which tasks run ([`Orders`](super::orders::Orders)).
    pub order: u32,
    /// How many pairs of places are kept with details.
    pub max_races: usize,
    pub determinacy: bool,
    /// How many bytes of freed blocks are kept before their memory is used again.
    pub quarantine: u64,
    /// The first thread that is created is a test's, and the program is that test.
    pub test_thread: bool,
    /// How many cells the shadow memory may have.
    pub most_cells: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            output: None,
            logical_threads: 16,
            to_items: true,
            right_first: false,
            order: 0,
            max_races: 100,
            determinacy: false,
            quarantine: QUARANTINE,
            test_thread: false,
            most_cells: MOST_CELLS,
        }
    }
}

const OUTPUT: &str = "output=";

impl Options {
    /// What was asked for, and the words that were not understood.
    pub fn parse(text: &str) -> (Options, Vec<String>) {
        let mut options = Options::default();
        let mut unknown = Vec::new();
        let mut words = text;
        let begins_a_word = |at: &usize| {
            text[..*at]
                .chars()
                .next_back()
                .is_none_or(|before| before == ' ')
        };
        let mut places = text.match_indices(OUTPUT).map(|(at, _)| at);
        if let Some(at) = places.find(begins_a_word) {
            words = &text[..at];
            options.output = Some(PathBuf::from(&text[at + OUTPUT.len()..]));
        }
        for word in words.split_ascii_whitespace() {
            if options.set(word).is_none() {
                unknown.push(word.to_owned());
            }
        }
        (options, unknown)
    }

    fn set(&mut self, word: &str) -> Option<()> {
        let (key, value) = word.split_once('=')?;
        match (key, value) {
            ("logical-threads", number) => {
                let number: Option<u32> = number.parse().ok();
                let possible = |threads: &u32| (1..TO_ITEMS).contains(threads);
                self.logical_threads = number.filter(possible)?;
            }
            ("divide", "items") => self.to_items = true,
            ("divide", "threads") => self.to_items = false,
            ("first", "left") => self.right_first = false,
            ("first", "right") => self.right_first = true,
            ("order", number) => self.order = number.parse().ok()?,
            ("max-races", number) => self.max_races = number.parse().ok()?,
            ("determinacy", "0") => self.determinacy = false,
            ("determinacy", "1") => self.determinacy = true,
            ("quarantine", bytes) => self.quarantine = bytes.parse().ok()?,
            ("test-thread", "0") => self.test_thread = false,
            ("test-thread", "1") => self.test_thread = true,
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_understood_or_named() {
        let (options, unknown) = Options::parse(
            "logical-threads=4 divide=threads first=right order=5 max-races=7 determinacy=1 quarantine=9 test-thread=1 colour=red logical-threads=0 logical-threads=2147483648 xoutput=3 output=/a/b c",
        );
        let expected = Options {
            output: Some(PathBuf::from("/a/b c")),
            logical_threads: 4,
            to_items: false,
            right_first: true,
            order: 5,
            max_races: 7,
            determinacy: true,
            quarantine: 9,
            test_thread: true,
            ..Options::default()
        };
        assert_eq!(options, expected);
        let wrong = [
            "colour=red",
            "logical-threads=0",
            "logical-threads=2147483648",
            "xoutput=3",
        ];
        assert_eq!(unknown, wrong);
        assert_eq!(Options::parse(""), (Options::default(), vec![]));
    }
}
