//! `unsafe` lives in a few rooms, and every use says why it is sound.
//!
//! Every other crate forbids `unsafe` in its root, and the compiler refuses it. This rule also
//! covers tests and benches, which are crates of their own. Declarations (`unsafe fn`,
//! `unsafe trait`, `unsafe extern`) ask something of their callers and are documented there.
//! Blocks, `unsafe impl` and `#[unsafe(…)]` promise something and need a note.

use super::Finding;
use super::files::TextFile;
use super::rust_source::RustSource;

/// Rooms that may use `unsafe`: `detect` for its shadow memory, `jit` for the memory and the code
/// of compiled programs, `native` and `rayon-core`, which are linked into native programs, and
/// `isl`, for bindings that are not in the repository.
const ALLOWED: [&str; 5] = ["detect", "isl", "jit", "native", "rayon-core"];

/// Words after an `unsafe` without a note: declarations, whose callers have a note, and attributes
/// that give a symbol its name.
const WITHOUT_NOTE: [&str; 4] = ["fn", "trait", "extern", "("];

pub(super) fn violations(file: &TextFile, source: &RustSource) -> Vec<Finding> {
    let mut findings = Vec::new();
    let allowed = ALLOWED.contains(&file.room());
    if !allowed
        && is_crate_root(&file.path)
        && source
            .occurrences("# ! [ forbid ( unsafe_code ) ]")
            .is_empty()
    {
        findings.push(Finding::error(
            &file.path,
            0,
            "add `#![forbid(unsafe_code)]`",
        ));
    }
    let tokens = source.tokens();
    for (index, token) in tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| token.text == "unsafe")
    {
        let next = tokens.get(index + 1).map_or("", |next| next.text);
        if !allowed {
            let message = format!("`unsafe` is kept to these rooms: {}", ALLOWED.join(", "));
            findings.push(Finding::error(&file.path, token.line, message));
        } else if !WITHOUT_NOTE.contains(&next) && !has_note(source, token.line) {
            let message = "`unsafe` without a `// SAFETY:` comment above it";
            findings.push(Finding::error(&file.path, token.line, message));
        }
    }
    findings
}

fn is_crate_root(path: &str) -> bool {
    path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs") || path.contains("/src/bin/")
}

/// A note on the line itself, or above it as far as the same statement and its comments reach.
fn has_note(source: &RustSource, line: usize) -> bool {
    for at in (0..=line).rev() {
        let (code, comment) = (source.code[at].trim(), source.comments[at].trim());
        let another_statement = at < line && code.ends_with([';', '{', '}', ',']);
        if another_statement || (code.is_empty() && comment.is_empty()) {
            return false;
        }
        if comment.contains("SAFETY:") {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        let file = TextFile {
            path: path.to_string(),
            text: text.to_string(),
        };
        let source = RustSource::new(text);
        violations(&file, &source)
            .into_iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn other_rooms_forbid_it_in_every_root() {
        for path in [
            "crates/fin/src/lib.rs",
            "xtask/src/main.rs",
            "crates/cli/src/bin/other.rs",
        ] {
            assert_eq!(found(path, "//! Doc.\n"), [1], "{path}");
            assert_eq!(found(path, "// #![forbid(unsafe_code)]\n"), [1], "{path}");
            assert_eq!(
                found(path, "#![forbid(unsafe_code)]\n"),
                [0usize; 0],
                "{path}"
            );
        }
        assert_eq!(found("crates/fin/src/parse.rs", ""), [0usize; 0]);
        for allowed in ALLOWED {
            let root = format!("crates/{allowed}/src/lib.rs");
            assert_eq!(found(&root, ""), [0usize; 0]);
        }
    }

    #[test]
    fn other_rooms_use_it_nowhere() {
        let noted = "// SAFETY: fine.\nunsafe { f() }\n";
        assert_eq!(found("crates/fin/tests/t.rs", noted), [2]);
        for allowed in ALLOWED {
            let test = format!("crates/{allowed}/tests/t.rs");
            assert_eq!(found(&test, noted), [0usize; 0]);
        }
    }

    #[test]
    fn every_use_has_a_note() {
        let path = "crates/detect/src/shadow.rs";
        for fine in [
            "// SAFETY: why.\nunsafe { f() }",
            "#[unsafe(no_mangle)]",
            "// SAFETY: why,\n// and more.\nlet x =\n    unsafe { f() };",
            "unsafe { f() } // SAFETY: why.",
            "// SAFETY: why.\nunsafe impl Send for X {}",
            "/// # Safety\n/// ask.\nunsafe fn f() {}",
            "let s = \"unsafe {}\"; // unsafe",
        ] {
            assert_eq!(found(path, fine), [0usize; 0], "{fine}");
        }
        for (broken, line) in [
            ("unsafe { f() }", 1),
            ("// SAFETY: of another.\nlet x = 1;\nunsafe { f() }", 3),
            (
                "// SAFETY: of the first.\nunsafe { f() };\nunsafe { g() };",
                3,
            ),
            ("// SAFETY: too far away.\n\nunsafe { f() }", 3),
            ("g(); // SAFETY: of g.\nunsafe { f() }", 2),
            ("unsafe impl Send for X {}", 1),
            ("// safe enough\nunsafe { f() }", 2),
        ] {
            assert_eq!(found(path, broken), [line], "{broken}");
        }
    }
}
