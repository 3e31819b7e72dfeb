//! Rules about the text of one file: its opening, its length, and words that must not be in it.

use super::Finding;
use super::files::TextFile;
use super::rust_source::RustSource;

const LONG: usize = 600;
const TOO_LONG: usize = 1000;

/// Top-level directories of somebody's machine: a path into one means nothing to anybody else.
const DIRECTORIES_OF_A_MACHINE: [&str; 4] = ["home", "root", "work", "Users"];

/// A newcomer learns from the first lines what a file is for.
pub(super) fn opening(file: &TextFile) -> Option<Finding> {
    let opens = file.text.lines().next().is_some_and(|line| {
        line.strip_prefix("//!")
            .is_some_and(|paragraph| !paragraph.trim().is_empty())
    });
    (!opens).then(|| {
        Finding::error(
            &file.path,
            0,
            "open with a `//!` paragraph that says what the file is for",
        )
    })
}

pub(super) fn length(file: &TextFile) -> Option<Finding> {
    match file.text.lines().count() {
        lines if lines > TOO_LONG => Some(Finding::error(
            &file.path,
            TOO_LONG,
            format!("{lines} lines; split it, {TOO_LONG} is the limit"),
        )),
        lines if lines >= LONG => {
            let message = format!("{lines} lines; is it still about one thing?");
            Some(Finding::warning(&file.path, LONG - 1, message))
        }
        _ => None,
    }
}

pub(super) fn white_space(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.text.split('\n').enumerate() {
        if line.ends_with(char::is_whitespace) {
            findings.push(Finding::error(&file.path, number, "trailing white space"));
        }
        if line.contains('\t') {
            findings.push(Finding::error(
                &file.path,
                number,
                "a tab; indent with spaces",
            ));
        }
    }
    findings
}

/// Code that waits to be written, tests that do not run, prints left over.
pub(super) fn unfinished(file: &TextFile, source: &RustSource) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (tokens, message) in [
        ("todo !", "`todo!`: write it or leave it out"),
        (
            "unimplemented !",
            "`unimplemented!`: write it or leave it out",
        ),
        ("dbg !", "`dbg!` left over"),
        (
            "# [ ignore",
            "`#[ignore]`: assert what it does today, with `FIXME(why)`",
        ),
    ] {
        for line in source.occurrences(tokens) {
            findings.push(Finding::error(&file.path, line, message));
        }
    }
    for (line, comment) in source.comments.iter().enumerate() {
        if comment
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| word == TO_DO)
        {
            let message = format!("a `{TO_DO}` comment: do it, or say what is so today");
            findings.push(Finding::error(&file.path, line, message));
        }
    }
    findings
}

const TO_DO: &str = "TODO";

/// Paths that exist on one machine only.
pub(super) fn own_machine(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        for directory in DIRECTORIES_OF_A_MACHINE {
            if names_directory(line, directory) {
                let message = format!("the path /{directory} exists on somebody's machine only");
                findings.push(Finding::error(&file.path, number, message));
            }
        }
    }
    findings
}

/// Whether an absolute path begins with `/directory`. The user `me` is free, for examples.
fn names_directory(line: &str, directory: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || "._-~/*})>]<".contains(c);
    line.match_indices('/').any(|(slash, _)| {
        let before = line[..slash].chars().next_back();
        let after = line[slash + 1..].strip_prefix(directory);
        !before.is_some_and(part_of_name)
            && after.is_some_and(|after| {
                !after.starts_with(|c: char| c.is_alphanumeric() || "._-".contains(c))
                    && !after.starts_with("/me/")
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> TextFile {
        TextFile {
            path: "crates/fin/src/x.rs".to_string(),
            text: text.to_string(),
        }
    }

    fn lines(findings: impl IntoIterator<Item = Finding>) -> Vec<usize> {
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_file_opens_with_its_purpose() {
        assert_eq!(opening(&file("//! What it is for.\n")), None);
        for broken in [
            "",
            "//!\n",
            "\n//! Late.\n",
            "// Not a doc.\n",
            "/// Of an item.\n",
            "use x;\n",
        ] {
            assert!(opening(&file(broken)).is_some(), "{broken:?}");
        }
    }

    #[test]
    fn length_has_a_warning_and_a_limit() {
        let of = |lines: usize| length(&file(&"x\n".repeat(lines)));
        assert_eq!(of(599), None);
        assert!(of(600).unwrap().warning);
        assert!(of(1000).unwrap().warning);
        assert!(!of(1001).unwrap().warning);
    }

    #[test]
    fn white_space_is_seen_on_its_line() {
        assert_eq!(lines(white_space(&file("a\nb \n\tc\n"))), [2, 3]);
        assert_eq!(lines(white_space(&file("a\r\nb\n"))), [1]);
        assert_eq!(lines(white_space(&file("a\n  b\n"))), [0usize; 0]);
    }

    #[test]
    fn unfinished_code_is_seen() {
        for broken in [
            "fn f() { todo!() }",
            "fn f() { std::unimplemented!(\"x\") }",
            "fn f() { dbg!(1); }",
            "#[test]#[ignore] fn f() {}",
            "#[ignore = \"slow\"] fn f() {}",
            concat!("// TO", "DO: write it"),
        ] {
            let source = RustSource::new(broken);
            assert_eq!(lines(unfinished(&file(broken), &source)), [1], "{broken}");
        }
    }

    #[test]
    fn talking_about_it_is_allowed() {
        for fine in [
            "// no todo!() here",
            "let s = \"dbg!\";",
            "let todo = ignore!();",
        ] {
            let source = RustSource::new(fine);
            assert_eq!(
                lines(unfinished(&file(fine), &source)),
                [0usize; 0],
                "{fine}"
            );
        }
    }

    #[test]
    fn paths_of_a_machine_are_seen() {
        for directory in DIRECTORIES_OF_A_MACHINE {
            for (before, after) in [("", "/jo/x"), ("see `", "`"), ("(", "/x)"), ("a ", " b")] {
                let broken = format!("{before}/{directory}{after}");
                assert_eq!(lines(own_machine(&file(&broken))), [1], "{broken}");
            }
        }
    }

    #[test]
    fn other_paths_are_not() {
        for fine in [
            "https://a.org/home/x",
            "docs/work/x",
            "/homely",
            "/home/me/x",
            "</root>",
            "./root/x",
            "/ work",
            "and/work",
        ] {
            assert_eq!(lines(own_machine(&file(fine))), [0usize; 0], "{fine}");
        }
    }
}
