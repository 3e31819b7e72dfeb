//! A program's claims about itself: `//@` directives and `//~` marks. `programs/rust/README.md`
//! explains them.

use std::collections::BTreeSet;
use std::ops::Range;

/// The claims of one program, or of one test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    pub(crate) verdict: String,
    pub(crate) class: Option<String>,
    /// The classes of pairs that `--determinacy` lists.
    pub(crate) determinacy: BTreeSet<String>,
    pub(crate) object: Option<String>,
    /// The Fin program of the same structure.
    pub(crate) fin: Option<String>,
    /// The verdict of several orders of tasks, if it is another one.
    pub(crate) orders: Option<String>,
}

/// A test, and where its function is.
pub(crate) struct ClaimingTest {
    pub(crate) name: String,
    pub(crate) claims: Claims,
    file: String,
    lines: Range<u64>,
}

impl ClaimingTest {
    fn holds(&self, site: &Site) -> bool {
        site.file == self.file && self.lines.contains(&site.line)
    }
}

/// An access of a race, by its line and kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Site {
    pub(crate) file: String,
    pub(crate) line: u64,
    pub(crate) kind: String,
}

/// The claims about lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    pub(crate) required: BTreeSet<Site>,
    pub(crate) optional: BTreeSet<Site>,
    /// The accesses of pairs of a free and a use behind it.
    pub(crate) after_free: BTreeSet<Site>,
    /// The lines at which a run may be found to wait.
    pub(crate) waits: BTreeSet<(String, u64)>,
    /// The lines of atomic operations that are not seen.
    pub(crate) unseen: BTreeSet<(String, u64)>,
}

impl Claims {
    /// The claims of a program: all in its file.
    pub(crate) fn of_program(source: &str) -> Result<Claims, String> {
        let mut claims = Claims::default();
        for directive in source.lines().filter_map(directive) {
            claims.add(directive)?;
        }
        claims.checked()
    }

    /// The claims of the tests in a file.
    pub(crate) fn of_tests(file: &str, source: &str) -> Result<Vec<ClaimingTest>, String> {
        let mut tests: Vec<ClaimingTest> = Vec::new();
        let mut claims = Claims::default();
        let mut is_test = false;
        for (number, line) in (1..).zip(source.lines()) {
            if let Some(directive) = directive(line) {
                claims.add(directive)?;
            } else if line.trim() == "#[test]" {
                is_test = true;
            } else if let Some(function) = line.trim().strip_prefix("fn ")
                && std::mem::take(&mut is_test)
            {
                let name = function.split('(').next().unwrap_or_default();
                let claims = std::mem::take(&mut claims).checked();
                if let Some(before) = tests.last_mut() {
                    before.lines.end = number;
                }
                tests.push(ClaimingTest {
                    name: name.to_owned(),
                    claims: claims.map_err(|error| format!("{name}: {error}"))?,
                    file: file.to_owned(),
                    lines: number..u64::MAX,
                });
            }
        }
        Ok(tests)
    }

    fn add(&mut self, directive: &str) -> Result<(), String> {
        let (key, value) = directive
            .split_once(": ")
            .ok_or("a directive is `//@ key: value`")?;
        let value = value.trim().to_owned();
        match key {
            "verdict" => self.verdict = value,
            "class" => self.class = Some(value),
            "determinacy" => self
                .determinacy
                .extend(value.split_whitespace().map(str::to_owned)),
            "object" => self.object = Some(value),
            "fin" => self.fin = Some(value),
            "orders" => self.orders = Some(value),
            _ => return Err(format!("unknown directive `{key}`")),
        }
        Ok(())
    }

    fn checked(self) -> Result<Claims, String> {
        let needs = match self.verdict.as_str() {
            "race" => (self.object.is_some(), "`//@ object:`"),
            "certified-order" => (!self.determinacy.is_empty(), "`//@ determinacy:`"),
            "unknown" => (self.class.is_some(), "`//@ class:`"),
            "certified" | "observed" | "trap" => (true, ""),
            verdict => return Err(format!("no verdict that is known: `{verdict}`")),
        };
        match needs {
            (true, _) => Ok(self),
            (false, what) => Err(format!("{} without {what}", self.verdict)),
        }
    }
}

fn directive(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("//@ ")
}

impl Marks {
    /// Adds the marks of a file.
    pub(crate) fn add(&mut self, file: &str, source: &str) -> Result<(), String> {
        for (line, text) in (1..).zip(source.lines()) {
            let Some((_, mark)) = text.split_once("//~ ") else {
                continue;
            };
            let mut words = mark.split_whitespace();
            match words.next() {
                Some("unseen") => _ = self.unseen.insert((file.to_owned(), line)),
                Some("waits") => _ = self.waits.insert((file.to_owned(), line)),
                Some("race") => words.try_for_each(|word| self.race(file, line, word))?,
                Some("after-free") => {
                    let sites = words.map(|kind| site(file, line, kind));
                    self.after_free.extend(sites);
                }
                _ => return Err(format!("{file}:{line}: unknown mark `{mark}`")),
            }
        }
        Ok(())
    }

    /// Of a test: those in its own function, or else those that are in no test.
    pub(crate) fn of_test(&self, test: &ClaimingTest, all: &[ClaimingTest]) -> Marks {
        let own = |site: &&Site| test.holds(site);
        let common = |site: &&Site| !all.iter().any(|test| test.holds(site));
        let mut marks = self.clone();
        let has_own = self.required.iter().any(|site| own(&site));
        for sites in [&mut marks.required, &mut marks.optional] {
            sites.retain(|site| if has_own { own(&site) } else { common(&site) });
        }
        marks.after_free.retain(|site| own(&site));
        marks
    }

    fn race(&mut self, file: &str, line: u64, word: &str) -> Result<(), String> {
        let (kind, marks) = match word.strip_suffix('?') {
            Some(kind) => (kind, &mut self.optional),
            None => (word, &mut self.required),
        };
        if !["read", "write", "free"].contains(&kind) {
            return Err(format!("{file}:{line}: unknown access `{word}`"));
        }
        marks.insert(site(file, line, kind));
        Ok(())
    }
}

fn site(file: &str, line: u64, kind: &str) -> Site {
    Site {
        file: file.to_owned(),
        line,
        kind: kind.to_owned(),
    }
}
