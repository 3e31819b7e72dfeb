//! Known races: a file by which only new races fail a run.
//!
//! The tool writes the file. A race is three lines in it: the class and the object, then both
//! accesses, each with its function and the text of its source line:
//!
//! ```text
//! race: static scatter::TOTAL
//!   read in scatter::add: TOTAL += 1
//!   write in scatter::add: TOTAL += 1
//! ```
//!
//! No line numbers, addresses or tests are in it. So a race stays known if code moves, if another
//! test finds it, and whichever access comes first. It is a new race if its function has another
//! name or its line another text. Two races that are alike in all of that are one.
//!
//! A known race is a race. The file chooses what is new, and so the exit status, never what is
//! established. Cost: one look into an ordered set for each race.

use crate::finding::{Finding, FoundAccess};
use crate::location::{Bytes, Location, Object};
use crate::task::Stack;
use std::collections::BTreeSet;
use std::fmt;

const HEADING: &str = "\
# Races that are known, for `cargo finishline --baseline`. `--write-baseline` has written them.
";

/// The races of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    pub file: String,
    pub races: BTreeSet<KnownRace>,
}

/// A race by what stays the same from version to version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownRace {
    object: String,
    accesses: [String; 2],
}

/// The line that is not as the tool writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoBaseline {
    pub file: String,
    pub line: usize,
}

impl fmt::Display for NoBaseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoBaseline { file, line } = self;
        write!(
            f,
            "{file}:{line}: a known race is a line `CLASS: OBJECT` and two indented lines, one for each access; \
             `--write-baseline` writes such a file"
        )
    }
}

impl Baseline {
    pub fn parse(file: &str, text: &str) -> Result<Baseline, NoBaseline> {
        let mut races = BTreeSet::new();
        let lines = (1..).zip(text.lines());
        let mut lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        while let Some((number, object)) = lines.next() {
            let wrong = |line| NoBaseline {
                file: file.to_owned(),
                line,
            };
            if object.starts_with(' ') || !object.contains(": ") {
                return Err(wrong(number));
            }
            let mut access = || match lines.next() {
                Some((_, line)) if line.starts_with(' ') => Ok(line.trim().to_owned()),
                Some((line, _)) => Err(wrong(line)),
                None => Err(wrong(number)),
            };
            races.insert(KnownRace {
                object: object.trim().to_owned(),
                accesses: [access()?, access()?],
            });
        }
        let file = file.to_owned();
        Ok(Baseline { file, races })
    }

    pub fn knows(&self, finding: &Finding) -> bool {
        self.races.contains(&KnownRace::of(finding))
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let races = self.races.iter().map(|race| {
            let [first, second] = &race.accesses;
            format!("\n{}\n  {first}\n  {second}\n", race.object)
        });
        HEADING.to_owned() + &races.collect::<String>()
    }
}

impl KnownRace {
    pub fn of(finding: &Finding) -> KnownRace {
        let object = match &finding.location {
            Location::Bytes(Bytes { object, .. }) => told(object),
            location => location.to_string(),
        };
        let mut accesses = [&finding.first, &finding.second].map(access);
        accesses.sort();
        KnownRace {
            object: on_one_line(&format!("{}: {object}", finding.rule.word())),
            accesses,
        }
    }
}

fn told(object: &Object) -> String {
    match object {
        Object::Global { name, .. } => format!("static {name}"),
        Object::Heap { allocated, .. } => {
            format!("heap block allocated in {}", function(allocated))
        }
        Object::Stack { function, .. } => format!("variable of {function}"),
        Object::ThreadLocal => "thread-local variable".to_owned(),
        Object::Unknown => "memory".to_owned(),
    }
}

fn access(access: &FoundAccess) -> String {
    let text = access.place().map_or("", |place| &place.text);
    let (kind, function) = (access.kind.word(), function(&access.stack));
    on_one_line(&format!("{kind} in {function}: {text}"))
}

fn function(stack: &Stack) -> &str {
    stack.frame().map_or("", |frame| &frame.function)
}

/// The text with control characters escaped, and without space at its ends.
fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c.is_control() {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "race: static a::B\n  read in a::f: *b\n  write in a::f: *b = 1;\n";

    #[test]
    fn what_is_written_is_read() {
        let baseline = Baseline::parse("known", TEXT).expect("well-formed");
        assert_eq!(baseline.races.len(), 1);
        let written = baseline.text();
        assert!(written.ends_with(&format!("\n\n{TEXT}")), "{written}");
        assert_eq!(Baseline::parse("known", &written), Ok(baseline));
        assert_eq!(Baseline::parse("", ""), Ok(Baseline::default()));
    }

    #[test]
    fn another_file_is_refused_with_its_line() {
        for (text, line) in [
            ("TOTAL\n", 1),
            ("# x\n\n  read in f: x\n", 3),
            ("race: a\n  read in f: x\n", 1),
            ("race: a\n  read in f: x\nrace: b\n", 3),
        ] {
            let refused = Baseline::parse("known", text).expect_err("a mistake");
            assert_eq!(refused.line, line, "{text}");
        }
    }

    #[test]
    fn what_would_break_the_lines_is_escaped() {
        assert_eq!(on_one_line(" a\nb\t\u{1b} é "), "a\\nb\\t\\u{1b} é");
    }
}
