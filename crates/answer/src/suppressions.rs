//! Which races the user does not want to hear of, by a file with one entry a line.
//!
//! | entry | suppresses a pair of accesses if |
//! |---|---|
//! | `race:FUNCTION` | one of the two is in this function |
//! | `FILE:LINE` | one of the two is at this line (`*`: any) of the file: its path, or the end of it from a `/` on |
//! | a name | every location at which the two race has this name, or another of the file, or belongs to an object that has |
//!
//! `*` stands for any characters; white space in a name does not count. Blank lines and lines that
//! begin with `#` are skipped; elsewhere `#` is a part of the name, as in `B#2`. Names have no
//! colon: an entry with one that is neither of the first two forms is a mistake, and every mistake
//! of a file is told.
//!
//! A suppressed pair still races. Suppressions choose what is shown and counted, never what is
//! established: the verdict and the racing locations are made without them. Cost: (pairs + their
//! locations) × entries; every entry is tried on everything, so that one that matches nothing any
//! more is known.

use crate::finding::SuppressionEntry;
use std::fmt;

/// A file of suppressions.
#[derive(Clone, Debug)]
pub struct Suppressions {
    file: String,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    line: usize,
    text: String,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    Function(Pattern),
    Line {
        file: Pattern,
        /// None for every line.
        line: Option<u32>,
    },
    Name(Pattern),
}

/// An entry that can't be understood: where, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    pub file: String,
    pub line: usize,
    pub why: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.why)
    }
}

impl Suppressions {
    /// Understands the text of a file, or tells every mistake in it.
    pub fn parse(file: &str, text: &str) -> Result<Suppressions, Vec<Malformed>> {
        let (mut entries, mut mistakes) = (Vec::new(), Vec::new());
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, text) in (1..).zip(text.lines().map(str::trim)) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            match Rule::parse(text) {
                Ok(rule) => entries.push(Entry {
                    line,
                    text: text.to_owned(),
                    rule,
                }),
                Err(why) => mistakes.push(Malformed {
                    file: file.to_owned(),
                    line,
                    why,
                }),
            }
        }
        if mistakes.is_empty() {
            let file = file.to_owned();
            Ok(Suppressions { file, entries })
        } else {
            Err(mistakes)
        }
    }

    /// The file's path as the user gave it.
    pub fn file(&self) -> &str {
        &self.file
    }
}

impl Rule {
    fn parse(text: &str) -> Result<Rule, String> {
        if let Some(function) = text.strip_prefix("race:") {
            return match function.trim() {
                "" => Err("`race:` needs the name of a function: race:FUNCTION".to_owned()),
                function => Ok(Rule::Function(Pattern::new(function))),
            };
        }
        let Some((file, line)) = text.rsplit_once(':') else {
            return Ok(Rule::Name(Pattern::new(&without_space(text))));
        };
        let (file, line) = (file.trim(), line.trim());
        let ends_in_line = |file: &str| {
            let end = file.rsplit_once(':').map(|(_, end)| end);
            end.is_some_and(|end| end.parse::<u32>().is_ok())
        };
        let why = match (line, line.parse::<u32>()) {
            _ if file.is_empty() => "there is no file before the colon: FILE:LINE",
            _ if ends_in_line(file) => "a column can't be suppressed, only a line: FILE:LINE",
            (_, Ok(0)) => "lines count from 1",
            (_, Ok(_)) | ("*", _) => {
                let file = Pattern::new(file);
                let line = line.parse().ok();
                return Ok(Rule::Line { file, line });
            }
            _ => "an entry is race:FUNCTION, FILE:LINE or a name without a colon",
        };
        Err(format!("`{}`: {why}", text.escape_debug()))
    }
}

/// One of the two accesses of a pair.
pub struct Accessed<'a> {
    pub function: &'a str,
    pub file: &'a str,
    pub line: u32,
}

/// A location and the object it is a part of; a global variable is its own.
pub struct Named {
    pub location: String,
    pub owner: Option<String>,
}

impl Rule {
    fn matches_access(&self, access: &Accessed) -> bool {
        match self {
            Rule::Function(function) => function.matches(access.function),
            Rule::Line { file, line } => {
                line.is_none_or(|line| line == access.line) && file.matches_end_of(access.file)
            }
            Rule::Name(_) => false,
        }
    }

    fn matches_name(&self, named: &Named) -> bool {
        let Rule::Name(name) = self else {
            return false;
        };
        let parts = [Some(&named.location), named.owner.as_ref()];
        let mut parts = parts.into_iter().flatten();
        parts.any(|part| name.matches(&without_space(part)))
    }
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Text in which `*` stands for any characters, kept as the pieces between the stars.
#[derive(Clone, Debug)]
struct Pattern {
    first: String,
    /// None without a star: then the first piece is all.
    rest: Option<(Vec<String>, String)>,
}

impl Pattern {
    fn new(text: &str) -> Pattern {
        let mut pieces = text.split('*').map(str::to_owned);
        let first = pieces.next().unwrap_or_default();
        let mut middle: Vec<String> = pieces.collect();
        let rest = middle.pop().map(|last| (middle, last));
        Pattern { first, rest }
    }

    /// The pieces must follow each other; each is best taken as early as possible, the last one at
    /// the end.
    fn matches(&self, text: &str) -> bool {
        let Some((middle, last)) = &self.rest else {
            return text == self.first;
        };
        let Some(mut text) = text.strip_prefix(self.first.as_str()) else {
            return false;
        };
        for piece in middle {
            match text.split_once(piece.as_str()) {
                Some((_, after)) => text = after,
                None => return false,
            }
        }
        text.ends_with(last.as_str())
    }

    /// Whether it matches a path, or what follows one of its slashes.
    fn matches_end_of(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
        std::iter::once(path)
            .chain(ends)
            .any(|end| self.matches(end))
    }
}

/// The entries of a file, and which of them have matched anything.
pub struct Matcher<'s> {
    entries: &'s [Entry],
    matched: Vec<bool>,
}

impl<'s> Matcher<'s> {
    pub fn new(suppressions: &'s Suppressions) -> Self {
        let entries = &suppressions.entries;
        Matcher {
            entries,
            matched: vec![false; entries.len()],
        }
    }

    /// Whether the pair of these accesses, which race at these locations, is suppressed.
    pub fn suppresses(
        &mut self,
        accesses: &[Accessed],
        locations: impl Iterator<Item = Named>,
    ) -> bool {
        let by_access = self.note(|rule| accesses.iter().any(|access| rule.matches_access(access)));
        // Locations can be very many: they are named only if an entry asks for a name.
        let is_name = |entry: &Entry| matches!(entry.rule, Rule::Name(_));
        if !self.entries.iter().any(is_name) {
            return by_access;
        }
        let mut by_name = true;
        for location in locations {
            by_name &= self.note(|rule| rule.matches_name(&location));
        }
        by_access || by_name
    }

    /// Whether any rule matches; all that do are remembered.
    fn note(&mut self, matches: impl Fn(&Rule) -> bool) -> bool {
        let mut any = false;
        for (entry, matched) in self.entries.iter().zip(&mut self.matched) {
            if matches(&entry.rule) {
                (any, *matched) = (true, true);
            }
        }
        any
    }

    /// The entries that have matched nothing.
    pub fn unmatched(&self) -> Vec<SuppressionEntry> {
        let entries = self.entries.iter().zip(&self.matched);
        let unmatched = entries.filter(|(_, matched)| !**matched);
        unmatched
            .map(|(entry, _)| SuppressionEntry {
                line: entry.line,
                text: entry.text.clone(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Suppressions {
        Suppressions::parse("s.txt", text).expect("well-formed entries")
    }

    /// A pair in `lib/sort.fin`: a write in `merge` at line 7, a read in `sort` at line 12, at
    /// these locations.
    fn suppresses(matcher: &mut Matcher, locations: &[&str]) -> bool {
        let access = |function, line| Accessed {
            function,
            file: "lib/sort.fin",
            line,
        };
        let accesses = [access("merge", 7), access("sort", 12)];
        let named = locations.iter().map(|location| Named {
            location: (*location).to_owned(),
            owner: location
                .rfind(['[', '.'])
                .map(|end| location[..end].to_owned()),
        });
        matcher.suppresses(&accesses, named)
    }

    fn suppressed(entries: &str, locations: &[&str]) -> bool {
        suppresses(&mut Matcher::new(&parse(entries)), locations)
    }

    #[test]
    fn comments_and_blank_lines_are_skipped_but_counted() {
        let text = "\u{feff}# why\r\n\r\n  race:merge  \r\n\t# more\nB#2\n";
        let entries = parse(text).entries;
        let found: Vec<_> = entries.iter().map(|e| (e.line, e.text.as_str())).collect();
        assert_eq!(found, [(3, "race:merge"), (5, "B#2")]);
    }

    #[test]
    fn every_malformed_line_is_told() {
        let text = "race:\nrace:  \nB\na.fin:0\n:3\na.fin:x\na.fin:\na.fin:1*\nrices:f\na.fin:4294967296\na.fin:7:9";
        let mistakes = Suppressions::parse("s.txt", text).expect_err("mistakes");
        let lines: Vec<_> = mistakes.iter().map(|mistake| mistake.line).collect();
        assert_eq!(lines, [1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
        let told: Vec<_> = mistakes.iter().map(Malformed::to_string).collect();
        assert!(told[0].starts_with("s.txt:1: `race:` needs"), "{told:?}");
        assert_eq!(told[2], "s.txt:4: `a.fin:0`: lines count from 1");
        assert!(told[9].contains("a column can't be suppressed"), "{told:?}");
    }

    #[test]
    fn a_function_suppresses_if_either_access_is_in_it() {
        for (entry, expected) in [
            ("race:merge", true),
            ("race:sort", true),
            ("race: sort", true),
            ("race:s*t", true),
            ("race:*", true),
            ("race:main", false),
            ("race:sor", false),
            ("race:ort", false),
            ("merge", false),
        ] {
            assert_eq!(suppressed(entry, &["B[0]"]), expected, "{entry}");
        }
    }

    #[test]
    fn a_line_suppresses_if_either_access_is_at_it() {
        for (entry, expected) in [
            ("lib/sort.fin:7", true),
            ("lib/sort.fin:12", true),
            ("sort.fin:12", true),
            ("s*.fin:7", true),
            ("lib/*:7", true),
            ("sort.fin:*", true),
            ("sort.fin:8", false),
            ("sort.fin:1", false),
            ("ort.fin:7", false),
            ("/sort.fin:7", false),
            ("lib/sort:7", false),
            ("src/lib/sort.fin:7", false),
        ] {
            assert_eq!(suppressed(entry, &["B[0]"]), expected, "{entry}");
        }
    }

    #[test]
    fn a_name_is_that_of_a_location_or_of_its_object() {
        for (entry, location, expected) in [
            ("B[3]", "B[3]", true),
            ("B", "B[3]", true),
            ("B#2", "B#2[3]", true),
            ("B#*", "B#2[3]", true),
            ("p.x", "p.x", true),
            ("p", "p.x", true),
            ("p.data", "p.data[0]", true),
            ("total", "total", true),
            ("M[1,2]", "M[1, 2]", true),
            ("M[1, *]", "M[1, 2]", true),
            ("B[3]", "B[30]", false),
            ("B", "B#2[3]", false),
            ("B", "BB[3]", false),
            ("p", "p.data[0]", false),
            ("p.x", "p.y", false),
            ("x", "p.x", false),
        ] {
            assert_eq!(
                suppressed(entry, &[location]),
                expected,
                "{entry}, {location}"
            );
        }
    }

    #[test]
    fn names_suppress_only_together_all_locations() {
        let locations = ["B[1]", "B[2]", "C[1]"];
        assert!(!suppressed("B", &locations));
        assert!(!suppressed("C", &locations));
        assert!(suppressed("B[1]\nB[2]\nC", &locations));
        assert!(suppressed("race:sort\nC", &locations), "one form is enough");
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text, expected) in [
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*b", "abc", false),
            ("a*b", "xab", false),
            ("*ab*ab*", "xabyabz", true),
            ("*ab*ab*", "xaby", false),
            ("a**b", "ab", true),
            ("*aab", "aaab", true),
            ("é*", "écu", true),
            ("", "a", false),
        ] {
            assert_eq!(
                Pattern::new(pattern).matches(text),
                expected,
                "{pattern}, {text}"
            );
        }
    }

    #[test]
    fn entries_that_match_nothing_are_known() {
        let entries = parse("race:sort\nrace:main\nB[1]\nB[2]\nD\nsort.fin:9");
        let mut matcher = Matcher::new(&entries);
        // B[1] matches a location, though the function alone would have been enough.
        assert!(suppresses(&mut matcher, &["B[1]", "C[0]"]));
        let unmatched: Vec<_> = matcher.unmatched().iter().map(|entry| entry.line).collect();
        assert_eq!(unmatched, [2, 4, 5, 6]);
    }
}
