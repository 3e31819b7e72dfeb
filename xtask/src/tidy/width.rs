//! Lines of Rust and Markdown have at most 100 columns, as rustfmt keeps code.
//!
//! Some lines can't be broken and are free: Rust lines with a literal that reaches past the limit,
//! Markdown between fences, a Markdown line that is a single word, and rows of tables. A column is
//! a character.

use super::Finding;
use super::files::TextFile;
use super::rust_source::RustSource;

const WIDEST: usize = 100;

/// A row of a table, in Markdown or in a comment of Rust.
fn is_row(line: &str) -> bool {
    let text = line.trim_start().trim_start_matches(['/', '!']);
    text.trim_start().starts_with('|')
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
    let finding = |(number, line)| {
        let message = format!("{} columns; {WIDEST} is the limit", width(line));
        Finding::error(&file.path, number, message)
    };
    let wide = wide.filter(|(_, line)| !is_row(line));
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
    fn rows_of_tables_are_free() {
        let row = format!("| {} | a |", "a".repeat(98));
        assert_eq!(lines(MARKDOWN, &row), NONE);
        assert_eq!(lines(RUST, &format!("//! {row}")), NONE);
        assert_eq!(lines(RUST, &format!("//! a {row}")), [1]);
    }
}
