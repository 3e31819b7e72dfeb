//! The report for build servers that show tests: JUnit XML, as most of them read it.
//!
//! A program is a suite, and a process a case. A case fails by a race or by itself, and the text of
//! the failure is the text report. If nothing was established, the case has an error, except that
//! nothing was parallel. Ignored and interrupted tests are skipped. The verdict of each case is a
//! property, and so are the notes of the first suite.
//!
//! Invariant: text reaches the document only through [`escape`] or as a literal of this file. XML
//! can't express most control characters, so they are shown as escapes.

use crate::words::{self, finding as pair};
use crate::{Selection, Style, text};
use finishline_answer::answer::{Answer, NotRun, Suite};
use finishline_answer::exit_status::{has_findings, trouble};
use std::io;

pub(crate) fn write_suite(suite: &Suite, out: &mut dyn io::Write) -> io::Result<()> {
    let mut programs: Vec<Program> = Vec::new();
    for answer in &suite.answers {
        program(&mut programs, &answer.program).add(answer)?;
    }
    for left in &suite.not_run {
        program(&mut programs, &left.program).skip(left);
    }
    let command = words::shell_words(suite.command.iter());
    if programs.is_empty() {
        programs.push(Program::new(&command));
    }
    let notes = words::notes(suite);
    programs[0].notes = notes.iter().map(|note| property("note", note)).collect();
    let all = programs.iter().map(|program| program.counts);
    let all = all.fold(Counts::default(), Counts::plus);
    write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\"{}>\n",
        escape(&command),
        all.attributes(),
    )?;
    for program in &programs {
        program.write(out)?;
    }
    out.write_all(b"</testsuites>\n")
}

/// The suite of a program, made if there is none yet.
fn program<'p>(programs: &'p mut Vec<Program>, name: &str) -> &'p mut Program {
    let at = programs.iter().position(|program| program.name == name);
    let at = at.unwrap_or_else(|| {
        programs.push(Program::new(name));
        programs.len() - 1
    });
    &mut programs[at]
}

#[derive(Clone, Copy, Default)]
struct Counts {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
}

impl Counts {
    fn plus(self, other: Counts) -> Counts {
        Counts {
            tests: self.tests + other.tests,
            failures: self.failures + other.failures,
            errors: self.errors + other.errors,
            skipped: self.skipped + other.skipped,
        }
    }

    fn attributes(self) -> String {
        let Counts {
            tests,
            failures,
            errors,
            skipped,
        } = self;
        format!(
            " tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\""
        )
    }
}

/// The part of the document that is about one program.
struct Program {
    name: String,
    counts: Counts,
    notes: String,
    /// XML already.
    cases: String,
}

impl Program {
    fn new(name: &str) -> Program {
        Program {
            name: name.to_owned(),
            counts: Counts::default(),
            notes: String::new(),
            cases: String::new(),
        }
    }

    fn add(&mut self, answer: &Answer) -> io::Result<()> {
        self.counts.tests += 1;
        let verdict = property("verdict", answer.verdict.word());
        let mut body = format!("<properties>\n{verdict}</properties>\n");
        if let Some((element, kind, message)) = result(answer) {
            match element {
                "failure" => self.counts.failures += 1,
                _ => self.counts.errors += 1,
            }
            let mut report = Vec::new();
            text::write(answer, Selection::default(), Style::default(), &mut report)?;
            body += &format!(
                "<{element} type=\"{}\" message=\"{}\">{}</{element}>\n",
                escape(kind),
                escape(&message),
                escape(&String::from_utf8_lossy(&report)),
            );
        }
        self.case(answer.process_name(), &body);
        Ok(())
    }

    fn skip(&mut self, left: &NotRun) {
        self.counts.tests += 1;
        self.counts.skipped += 1;
        let body = format!("<skipped message=\"{}\"/>\n", left.why.word());
        self.case(left.test.as_deref().unwrap_or("all tests"), &body);
    }

    fn case(&mut self, name: &str, body: &str) {
        self.cases += &format!(
            "<testcase classname=\"{}\" name=\"{}\">\n{body}</testcase>\n",
            escape(&self.name),
            escape(name),
        );
    }

    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let notes = match self.notes.is_empty() {
            true => String::new(),
            false => format!("<properties>\n{}</properties>\n", self.notes),
        };
        write!(
            out,
            "<testsuite name=\"{}\"{}>\n{notes}{}</testsuite>\n",
            escape(&self.name),
            self.counts.attributes(),
            self.cases,
        )
    }
}

/// The element for what is wrong with a process, its type and its message. None if nothing is.
fn result(answer: &Answer) -> Option<(&'static str, &str, String)> {
    trouble(answer)?;
    if has_findings(answer) {
        let first = answer.findings.first();
        let message = first.map_or_else(|| words::meaning(answer).to_owned(), pair::message);
        let kind = first.map_or("race", |finding| finding.rule.word());
        return Some(("failure", kind, message));
    }
    if let Some(failure) = &answer.failure {
        return Some(("failure", "failed", words::failure(failure)));
    }
    if let Some(finding) = answer.findings.first() {
        return Some(("failure", finding.rule.word(), pair::message(finding)));
    }
    let limit = answer.because().filter(|_| !answer.is_idle())?;
    Some(("error", limit.word(), limit.because().to_owned()))
}

fn property(name: &str, value: &str) -> String {
    let value = escape(value);
    format!("<property name=\"{name}\" value=\"{value}\"/>\n")
}

/// Text as XML, for elements and quoted attributes.
fn escape(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => xml += "&amp;",
            '<' => xml += "&lt;",
            '>' => xml += "&gt;",
            '"' => xml += "&quot;",
            '\'' => xml += "&#39;",
            '\n' | '\t' => xml.push(c),
            '\u{fffe}' | '\u{ffff}' => xml.extend(c.escape_unicode()),
            _ if c.is_control() => xml.extend(c.escape_unicode()),
            _ => xml.push(c),
        }
    }
    xml
}
