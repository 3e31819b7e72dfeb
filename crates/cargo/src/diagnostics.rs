//! rustc, with what its lint `unsafe_code` says taken out of its messages.
//!
//! The lint names each `unsafe` block, function and implementation with its span in the source. It
//! sees what is compiled: the code of a macro's use, and none that is configured away. A parser of
//! the sources would see neither. `--force-warn` makes it speak whatever the crate allows or
//! forbids, so that a crate that forbids unsafe code in parts of itself is listed in full. As a
//! consequence, the crate's own level for this lint has no effect in a checked build.
//!
//! Cargo reads rustc's messages as lines of JSON, shows them, and keeps them for later builds. The
//! lint's messages are left out of these lines. All other lines are passed on as they are, except
//! that the last one counts the warnings.

use finishline_symbols::{ListedKind, ListedUnsafe};
use serde::Deserialize;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// The argument of rustc that turns the lint on.
pub(crate) const TOLD_UNSAFE: &str = "--force-warn=unsafe_code";

const LINT: &str = "unsafe_code";

/// Runs rustc. Returns what the lint has said about the crate.
pub(crate) fn run(
    command: &mut Command,
    crate_name: &str,
) -> io::Result<(ExitStatus, Vec<ListedUnsafe>)> {
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let mut listed = Vec::new();
    if let Some(messages) = child.stderr.take() {
        let mut to_cargo = io::stderr().lock();
        for_each_line(BufReader::new(messages), |line| {
            // If cargo does not listen any more, rustc may finish all the same.
            let _ = match Filtered::of(line, listed.len()) {
                Filtered::Untouched => to_cargo.write_all(line),
                Filtered::Changed(line) => to_cargo.write_all(line.as_bytes()),
                Filtered::Lint(message) => {
                    listed.push(message);
                    Ok(())
                }
            };
        })?;
    }
    let status = child.wait()?;
    let listed = listed.iter().filter_map(|it| it.listed(crate_name));
    Ok((status, listed.collect()))
}

/// Each line with its end. The lines need not be text.
fn for_each_line(mut from: impl BufRead, mut tell: impl FnMut(&[u8])) -> io::Result<()> {
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        tell(&line);
        line.clear();
    }
    Ok(())
}

/// What becomes of a line for cargo.
enum Filtered {
    Untouched,
    Changed(String),
    Lint(Message),
}

impl Filtered {
    /// `left_out` lines have been left out before.
    fn of(line: &[u8], left_out: usize) -> Filtered {
        let Ok(line) = str::from_utf8(line) else {
            return Filtered::Untouched;
        };
        if line.contains(LINT)
            && let Ok(message) = serde_json::from_str::<Message>(line)
            && message.code.as_ref().is_some_and(|code| code.code == LINT)
        {
            return Filtered::Lint(message);
        }
        match left_out {
            0 => Filtered::Untouched,
            _ => Filtered::counting(line, left_out),
        }
    }

    /// The last message says how many warnings there were.
    fn counting(line: &str, left_out: usize) -> Filtered {
        let is_count = |message: &Message| message.code.is_none() && message.spans.is_empty();
        let Some(message) = (serde_json::from_str(line).ok()).filter(is_count) else {
            return Filtered::Untouched;
        };
        let Some((before, told, counted)) = warnings(&message.message) else {
            return Filtered::Untouched;
        };
        let left = told.saturating_sub(left_out);
        let instead = match left {
            0 => String::new(),
            1 => "1 warning emitted".to_owned(),
            _ => format!("{left} warnings emitted"),
        };
        match (left, before) {
            (0, "") => Filtered::Changed(String::new()),
            // After the number of errors.
            (0, _) => Filtered::Changed(line.replace(&format!("; {counted}"), "")),
            (_, _) => Filtered::Changed(line.replace(counted, &instead)),
        }
    }
}

/// The number of warnings at the end of a message, with the text before and the text itself.
fn warnings(message: &str) -> Option<(&str, usize, &str)> {
    let rest = message.strip_suffix(" emitted")?;
    let rest = (rest.strip_suffix(" warnings")).or_else(|| rest.strip_suffix(" warning"))?;
    let begin = rest.rfind(' ').map_or(0, |space| space + 1);
    let number = rest[begin..].parse().ok()?;
    Some((&message[..begin], number, &message[begin..]))
}

/// A message of rustc, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Message {
    message: String,
    code: Option<Code>,
    spans: Vec<Span>,
}

#[derive(Debug, Deserialize)]
struct Code {
    code: String,
}

#[derive(Debug, Deserialize)]
struct Span {
    is_primary: bool,
    file_name: String,
    line_start: u32,
    column_start: u32,
    line_end: u32,
    column_end: u32,
    text: Vec<Line>,
}

#[derive(Debug, Deserialize)]
struct Line {
    text: String,
}

impl Message {
    /// The code that the message is about. None for what has no code of its own: declarations,
    /// attributes, and implementations of other traits than `Send` and `Sync`.
    fn listed(&self, crate_name: &str) -> Option<ListedUnsafe> {
        let span = self.spans.iter().find(|span| span.is_primary)?;
        let kind = match self.message.as_str() {
            "usage of an `unsafe` block" => ListedKind::Block,
            "declaration of an `unsafe` function" | "implementation of an `unsafe` method" => {
                ListedKind::Function(name_of_function(&span.source())?)
            }
            "implementation of an `unsafe` trait" => implementation(&span.source(), crate_name)?,
            _ => return None,
        };
        Some(ListedUnsafe {
            // rustc runs in the same folder.
            file: std::path::absolute(Path::new(&span.file_name)).ok()?,
            start: [span.line_start, span.column_start],
            end: [span.line_end, span.column_end],
            kind,
        })
    }
}

impl Span {
    /// The lines of the source, from the beginning of the span on.
    fn source(&self) -> String {
        let mut source = String::new();
        for (number, line) in self.text.iter().enumerate() {
            let before = match number {
                0 => (self.column_start as usize).saturating_sub(1),
                _ => 0,
            };
            source.extend(line.text.chars().skip(before));
            source.push('\n');
        }
        source
    }
}

/// The word after the first `fn`.
fn name_of_function(source: &str) -> Option<String> {
    let mut words = source.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '#');
    words.find(|word| *word == "fn")?;
    let name = words.find(|word| !word.is_empty())?;
    Some(name.trim_start_matches("r#").to_owned())
}

/// `unsafe impl<T: Send> Sync for Output<T> where … { … }`.
fn implementation(source: &str, crate_name: &str) -> Option<ListedKind> {
    let head = source.split_once("impl")?.1.trim_start();
    let head = match head.strip_prefix('<') {
        Some(generics) => &generics[end_of(generics, |depth, _| depth < 0)? + 1..],
        None => head,
    };
    let is_for = |depth, rest: &str| depth == 0 && word_is(rest, "for");
    let (of_trait, rest) = head.split_at(end_of(head, is_for)?);
    let of_trait = of_trait.rsplit("::").next().unwrap_or_default().trim();
    if !matches!(of_trait, "Send" | "Sync") {
        return None;
    }
    let of_type = &rest[" for".len()..];
    let is_over =
        |depth, rest: &str| depth == 0 && (rest.starts_with('{') || word_is(rest, "where"));
    let of_type = &of_type[..end_of(of_type, is_over).unwrap_or(of_type.len())];
    let of_type = of_type.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = of_type.split('<').next().unwrap_or_default();
    let name = name.rsplit("::").next().unwrap_or_default();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let is_named = !name.is_empty() && name.chars().all(is_name);
    Some(ListedKind::Implementation {
        written: format!("{of_trait} for {of_type}"),
        of: is_named.then(|| [crate_name.to_owned(), name.to_owned()]),
    })
}

/// Whether the text goes on with a space and this word.
fn word_is(text: &str, word: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(char::is_whitespace)
        && (chars.as_str().strip_prefix(word))
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// The first position at which the depth of angle brackets and what follows are as wanted.
fn end_of(text: &str, is_end: impl Fn(i32, &str) -> bool) -> Option<usize> {
    let mut depth = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            // The arrow of a function type closes no bracket.
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if is_end(depth, &text[at..]) {
            return Some(at);
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(message: &str, code: &str, text: &[&str], column: u32) -> String {
        let last = text.last().map_or(0, |line| line.chars().count() as u32);
        let lines = text
            .iter()
            .map(|line| json!({"text": line, "highlight_start": 1}));
        let span = json!({
            "is_primary": true, "file_name": "src/a.rs", "byte_start": 5,
            "line_start": 3, "column_start": column,
            "line_end": 2 + text.len(), "column_end": last + 1,
            "text": lines.collect::<Vec<_>>(),
        });
        let message = json!({
            "$message_type": "diagnostic", "message": message, "level": "warning",
            "code": {"code": code, "explanation": null}, "spans": [span], "children": [],
        });
        format!("{message}\n")
    }

    fn listed(line: &str) -> Option<ListedUnsafe> {
        match Filtered::of(line.as_bytes(), 0) {
            Filtered::Lint(message) => message.listed("app"),
            _ => panic!("the lint's message is taken out: {line}"),
        }
    }

    #[test]
    fn the_lint_names_blocks_and_functions() {
        let block = message("usage of an `unsafe` block", LINT, &["é: unsafe {", "}"], 4);
        let expected = ListedUnsafe {
            file: std::path::absolute("src/a.rs").expect("a path"),
            start: [3, 4],
            end: [4, 2],
            kind: ListedKind::Block,
        };
        assert_eq!(listed(&block), Some(expected));
        for (told, source, name) in [
            (
                "declaration of an `unsafe` function",
                "pub unsafe fn put<T>(t: T) {",
                "put",
            ),
            (
                "implementation of an `unsafe` method",
                "unsafe extern \"C\" fn r#fn() {}",
                "fn",
            ),
        ] {
            let line = message(told, LINT, &[source], 1);
            let kind = listed(&line).map(|it| it.kind);
            assert_eq!(
                kind,
                Some(ListedKind::Function(name.to_owned())),
                "{source}"
            );
        }
        for told in [
            "declaration of an `unsafe` method",
            "declaration of an `unsafe` trait",
            "usage of an `unsafe extern` block",
            "declaration of a `no_mangle` function",
        ] {
            assert_eq!(
                listed(&message(told, LINT, &["unsafe fn x();"], 1)),
                None,
                "{told}"
            );
        }
    }

    #[test]
    fn implementations_name_their_type() {
        for (source, written, of) in [
            (
                "unsafe impl Sync for Output {}",
                "Sync for Output",
                Some("Output"),
            ),
            (
                "unsafe impl<T: Fn(u8) -> u8> std::marker::Send for m::Output<T> where T: Copy {}",
                "Send for m::Output<T>",
                Some("Output"),
            ),
            (
                "unsafe impl<'a, const N: usize> Sync for A<'a, [u8; N]>\n{\n}",
                "Sync for A<'a, [u8; N]>",
                Some("A"),
            ),
            (
                "unsafe impl Send\n    for\n    Output {}",
                "Send for Output",
                Some("Output"),
            ),
            ("unsafe impl Sync for $of {}", "Sync for $of", None),
            ("unsafe impl Sync for (A, B) {}", "Sync for (A, B)", None),
            (
                "unsafe impl Sync for Output",
                "Sync for Output",
                Some("Output"),
            ),
        ] {
            let lines: Vec<&str> = source.lines().collect();
            let line = message("implementation of an `unsafe` trait", LINT, &lines, 1);
            let expected = ListedKind::Implementation {
                written: written.to_owned(),
                of: of.map(|name| ["app".to_owned(), name.to_owned()]),
            };
            assert_eq!(listed(&line).map(|it| it.kind), Some(expected), "{source}");
        }
        for source in [
            "unsafe impl GlobalAlloc for A {}",
            "unsafe impl<T",
            "unsafe",
            "",
        ] {
            let line = message("implementation of an `unsafe` trait", LINT, &[source], 1);
            assert_eq!(listed(&line), None, "{source}");
        }
    }

    fn passed_on(line: &str, left_out: usize) -> Option<String> {
        match Filtered::of(line.as_bytes(), left_out) {
            Filtered::Untouched => Some(line.to_owned()),
            Filtered::Changed(line) => Some(line),
            Filtered::Lint(_) => None,
        }
    }

    #[test]
    fn all_other_messages_are_passed_on() {
        let other = message("use of `unsafe_code`", "dead_code", &["fn f() {}"], 1);
        for line in [
            other.as_str(),
            "{\"$message_type\":\"artifact\",\"artifact\":\"unsafe_code\"}\n",
            "{\"code\":\n",
            "error: unsafe_code\n",
            "no end",
        ] {
            assert_eq!(passed_on(line, 3).as_deref(), Some(line));
        }
        assert!(matches!(
            Filtered::of(b"\xff unsafe_code\n", 1),
            Filtered::Untouched
        ));
        let lint = message("usage of an `unsafe` block", LINT, &["unsafe {}"], 1);
        assert_eq!(passed_on(&lint, 0), None);
    }

    #[test]
    fn the_number_of_warnings_is_that_of_the_others() {
        let summary = |text: &str| {
            let message = json!({
                "$message_type": "diagnostic", "message": text, "code": null, "level": "warning",
                "spans": [], "children": [], "rendered": format!("\u{1b}[1m{text}\u{1b}[0m\n\n"),
            });
            format!("{message}\n")
        };
        for (told, left_out, expected) in [
            ("3 warnings emitted", 0, Some("3 warnings emitted")),
            ("3 warnings emitted", 1, Some("2 warnings emitted")),
            ("3 warnings emitted", 2, Some("1 warning emitted")),
            ("3 warnings emitted", 3, None),
            ("1 warning emitted", 1, None),
            (
                "aborting due to 2 previous errors; 3 warnings emitted",
                2,
                Some("aborting due to 2 previous errors; 1 warning emitted"),
            ),
            (
                "aborting due to 1 previous error; 1 warning emitted",
                1,
                Some("aborting due to 1 previous error"),
            ),
            (
                "aborting due to 1 previous error",
                1,
                Some("aborting due to 1 previous error"),
            ),
        ] {
            let expected = expected.map_or(String::new(), summary);
            assert_eq!(
                passed_on(&summary(told), left_out),
                Some(expected),
                "{told}"
            );
        }
    }
}
