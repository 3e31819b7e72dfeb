//! Lines of Rust and Markdown have at most 100 columns, as rustfmt keeps code.
//!
//! Some lines can't be broken and are free: Rust lines with a literal that reaches past the limit,
//! Markdown between fences, and a Markdown line that is a single word. A column is a character.
//!
//! The rule holds for the rooms in [`KEPT`]. Other rooms still have longer lines.

use super::Finding;
use super::files::TextFile;
use super::rust_source::RustSource;

const WIDEST: usize = 100;

/// Files and directories without wider lines.
const KEPT: [&str; 20] = [
    "CONTRIBUTING.md",
    "crates/baseline/",
    "crates/cargo/tests/",
    "crates/detect/",
    "crates/engine/tests/",
    "crates/fin/",
    "crates/generate/",
    "crates/ir/",
    "crates/model/src/findings/",
    "crates/model/src/kinds.rs",
    "crates/native/",
    "crates/opt/",
    "crates/poly/",
    "crates/rayon-core/",
    "docs/bench.md",
    "docs/checks.md",
    "docs/cli.md",
    "docs/language.md",
    "programs/README.md",
    "xtask/",
];

fn is_kept(file: &TextFile) -> bool {
    KEPT.iter().any(|kept| file.path.starts_with(kept))
}

pub(super) fn of_rust(file: &TextFile, source: &RustSource) -> Vec<Finding> {
    let lines = file.text.lines().zip(&source.code).zip(&source.comments);
    let wide = |(_, ((line, code), comment)): &(usize, ((&str, &String), &String))| {
        // Literals are blank in both parts.
        let parts = code.chars().zip(comment.chars());
        let mut tail = line.chars().zip(parts).skip(WIDEST - 1);
        width(line) > WIDEST && !tail.any(|(c, parts)| c != ' ' && parts == (' ', ' '))
    };
    let numbered = lines.enumerate().filter(wide);
    findings(
        file,
        numbered.map(|(number, ((line, _), _))| (number, line)),
    )
}

pub(super) fn of_markdown(file: &TextFile) -> Vec<Finding> {
    let mut fenced = false;
    let wide = |(_, line): &(usize, &str)| {
        fenced ^= line.trim_start().starts_with("```");
        width(line) > WIDEST && !fenced && line.trim().contains(' ')
    };
    let numbered = file.text.lines().enumerate();
    findings(file, numbered.filter(wide))
}

fn findings<'t>(file: &'t TextFile, wide: impl Iterator<Item = (usize, &'t str)>) -> Vec<Finding> {
    if !is_kept(file) {
        return Vec::new();
    }
    let finding = |(number, line)| {
        let message = format!("{} columns; {WIDEST} is the limit", width(line));
        Finding::error(&file.path, number, message)
    };
    wide.map(finding).collect()
}

fn width(line: &str) -> usize {
    line.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let file = TextFile {
            path: path.to_string(),
            text: text.to_string(),
        };
        let findings = match file.extension() {
            "rs" => of_rust(&file, &RustSource::new(text)),
            _ => of_markdown(&file),
        };
        findings.iter().map(|finding| finding.line).collect()
    }

    const RUST: &str = "crates/ir/src/x.rs";
    const MARKDOWN: &str = "CONTRIBUTING.md";
    const NONE: [usize; 0] = [];

    #[test]
    fn a_wide_line_is_seen() {
        let comment = format!("// {}", "é".repeat(97));
        assert_eq!(lines(RUST, &comment), NONE);
        assert_eq!(lines(RUST, &format!("\n{comment}é")), [2]);
        let code = format!("let a = \"\"; let b = {};", "c".repeat(100));
        assert_eq!(lines(RUST, &code), [1]);
        let words = format!("{} end", "a".repeat(96));
        assert_eq!(lines(MARKDOWN, &words), NONE);
        assert_eq!(lines(MARKDOWN, &format!("a\n{words}!")), [2]);
    }

    #[test]
    fn a_line_that_can_not_be_broken_is_free() {
        let literal = format!("let a = \"{}\";", "a ".repeat(60));
        assert_eq!(lines(RUST, &literal), NONE);
        let several = format!("let a = \"\n{}\n\";", "a ".repeat(60));
        assert_eq!(lines(RUST, &several), NONE);
        assert_eq!(lines(MARKDOWN, &"a".repeat(200)), NONE);
        let wide = "a ".repeat(60);
        assert_eq!(lines(MARKDOWN, &format!("```\n{wide}\n```\n{wide}")), [4]);
    }

    #[test]
    fn other_rooms_are_free() {
        let comment = format!("// {}", "a".repeat(98));
        assert_eq!(lines("crates/irs/src/x.rs", &comment), NONE);
        assert_eq!(lines("crates/opt/tests/x.rs", &comment), [1]);
    }
}
