//! The output of one test, cut out of the output of its process.
//!
//! A test's process is libtest with one test and without capturing, because captured output is lost
//! in a crash. libtest prints a heading, a verdict and a summary around the test's own output.
//! These are removed here. If they are missing, the test did not end.

use crate::run::Panicked;

/// The output of one test.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Transcript {
    pub(crate) output: String,
    /// libtest's verdict, if the test ended.
    pub(crate) passed: Option<bool>,
}

impl Transcript {
    pub(crate) fn read(printed: &[u8], test: &str) -> Transcript {
        let text = String::from_utf8_lossy(printed);
        let Some((before, body)) = split_heading(&text, test) else {
            return Transcript {
                output: text.into_owned(),
                passed: None,
            };
        };
        let Some((body, after, passed)) = split_summary(body) else {
            return Transcript {
                output: format!("{before}{body}"),
                passed: None,
            };
        };
        let (body, note) = match passed {
            true => (body.strip_suffix("ok\n").unwrap_or(body), ""),
            false => split_failures(body),
        };
        Transcript {
            output: [before, body, note, after].concat(),
            passed: Some(passed),
        }
    }
}

impl Transcript {
    /// Where the test panicked, if it says so in the way of the standard library: `thread 'a::b'
    /// (123) panicked at src/lib.rs:4:5:`. The last panic is what the test failed by.
    pub(crate) fn panicked(&self) -> Option<Panicked> {
        let mut lines = self.output.lines().rev();
        lines.find_map(|line| {
            let (_, place) = line.strip_prefix("thread '")?.split_once(" panicked at ")?;
            let mut parts = place.strip_suffix(':')?.rsplitn(3, ':');
            let column = parts.next()?.parse().ok()?;
            let line = parts.next()?.parse().ok()?;
            let file = parts.next()?.to_owned();
            Some(Panicked { file, line, column })
        })
    }
}

/// Splits before and after `running 1 test`, `test NAME - should panic ... `.
fn split_heading<'a>(text: &'a str, test: &str) -> Option<(&'a str, &'a str)> {
    let heading = "\nrunning 1 test\n";
    let at = text.find(heading)?;
    let body = text[at + heading.len()..]
        .strip_prefix("test ")?
        .strip_prefix(test)?;
    let body = body.strip_prefix(" - should panic").unwrap_or(body);
    Some((&text[..at], body.strip_prefix(" ... ")?))
}

/// Splits before and after the line `test result: …`, with an empty line on either side.
fn split_summary(body: &str) -> Option<(&str, &str, bool)> {
    let (at, passed) = [
        ("\ntest result: ok. 1 passed;", true),
        ("\ntest result: FAILED. 0 passed; 1 failed;", false),
    ]
    .into_iter()
    .find_map(|(summary, passed)| Some((body.rfind(summary)?, passed)))?;
    let line = &body[at + 1..];
    let end = line.find('\n').map_or(line.len(), |end| end + 1);
    let after = &line[end..];
    Some((
        &body[..at],
        after.strip_prefix('\n').unwrap_or(after),
        passed,
    ))
}

/// Splits the test's output from libtest's explanation of a failure. There is an explanation only
/// if the test did not panic.
fn split_failures(body: &str) -> (&str, &str) {
    let Some((output, failures)) = body.rsplit_once("FAILED\n\nfailures:\n") else {
        return (body, "");
    };
    let note = failures
        .strip_prefix("\n---- ")
        .and_then(|section| section.split_once(" ----\n"))
        .and_then(|(_, note)| note.rsplit_once("\nfailures:\n"))
        .map_or("", |(note, _)| note);
    (output, note)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(printed: &str) -> (String, Option<bool>) {
        let transcript = Transcript::read(printed.as_bytes(), "a::b");
        (transcript.output, transcript.passed)
    }

    const OK: &str = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.01s\n\n";
    const BAD: &str = "failures:\n    a::b\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.01s\n\n";

    #[test]
    fn a_test_that_passed() {
        let printed = format!("\nrunning 1 test\ntest a::b ... hello\nok\n\n{OK}");
        assert_eq!(read(&printed), ("hello\n".to_owned(), Some(true)));
    }

    #[test]
    fn a_panic_says_its_place() {
        let panicked = |printed: &str| {
            let at = Transcript::read(printed.as_bytes(), "a::b").panicked()?;
            Some(format!("{}|{}|{}", at.file, at.line, at.column))
        };
        let early = "thread '<unnamed>' (7) panicked at src/a.rs:1:2:\nfirst\n";
        let late = "thread 'a::b' (8) panicked at src/b.rs:30:4:\nassertion `left == right`\n";
        let both = panicked(&format!("{early}{late}note: a hint\n"));
        assert_eq!(both.as_deref(), Some("src/b.rs|30|4"));
        assert_eq!(panicked("thread 'x' panicked at nowhere\n"), None);
        assert_eq!(panicked("said: panicked at src/b.rs:1:2:\n"), None);
    }

    #[test]
    fn output_without_a_newline_and_around_the_test() {
        let printed =
            format!("early\n\nrunning 1 test\ntest a::b - should panic ... hellook\n\n{OK}late\n");
        assert_eq!(
            read(&printed),
            ("early\nhellolate\n".to_owned(), Some(true))
        );
    }

    #[test]
    fn a_test_that_failed() {
        let printed = format!("\nrunning 1 test\ntest a::b ... boo\nFAILED\n\nfailures:\n\n{BAD}");
        assert_eq!(read(&printed), ("boo\n".to_owned(), Some(false)));
    }

    #[test]
    fn a_test_that_should_have_panicked() {
        let section = "failures:\n\n---- a::b stdout ----\nnote: test did not panic\n\n";
        let printed =
            format!("\nrunning 1 test\ntest a::b - should panic ... FAILED\n\n{section}{BAD}");
        assert_eq!(
            read(&printed),
            ("note: test did not panic\n".to_owned(), Some(false))
        );
    }

    #[test]
    fn a_test_that_ended_its_process() {
        let printed = "\nrunning 1 test\ntest a::b ... last words";
        assert_eq!(read(printed), ("last words".to_owned(), None));
        assert_eq!(
            read("nothing like it"),
            ("nothing like it".to_owned(), None)
        );
    }

    #[test]
    fn a_test_that_is_not_there() {
        let printed = "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 8 filtered out; finished in 0.00s\n\n";
        assert_eq!(read(printed).1, None);
    }
}
