//! `cargo xtask tidy`: the habits of the source that no compiler checks.
//!
//! Every rule is a function from text to [`Finding`]s, tested on small strings that break it. This
//! file reads all files once and gives each rule its files. A finding is an error or a warning.

mod files;
mod layers;
mod links;
mod modules;
mod rooms;
mod rust_source;
mod text;
mod unsafety;
mod width;

use crate::{Failure, Outcome, root};
use files::TextFile;
use rust_source::RustSource;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Relative to the workspace's root, with `/` between the parts.
    path: String,
    /// From 1.
    line: usize,
    message: String,
    warning: bool,
}

impl Finding {
    /// `line` counts from 0, as indices do.
    fn error(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding {
            path: path.to_string(),
            line: line + 1,
            message: message.into(),
            warning: false,
        }
    }

    fn warning(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding {
            warning: true,
            ..Finding::error(path, line, message)
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.warning { "warning: " } else { "" };
        write!(f, "{}:{}: {kind}{}", self.path, self.line, self.message)
    }
}

pub(crate) fn run(_: &[String]) -> Outcome {
    let files = files::read(root())
        .map_err(|error| Failure::Failed(format!("tidy could not read the project: {error}")))?;
    let mut findings = findings(&files);
    findings.sort();
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.iter().filter(|finding| !finding.warning).count() {
        0 => {
            println!("tidy: {} files", files.len());
            Ok(())
        }
        errors => Err(Failure::Failed(format!(
            "tidy found {errors} in {} files",
            files.len()
        ))),
    }
}

fn findings(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut sources = Vec::new();
    for file in files {
        findings.extend(text::own_machine(file));
        match file.extension() {
            "rs" | "md" | "fin" => findings.extend(text::white_space(file)),
            _ => {}
        }
        match file.extension() {
            "rs" if file.is_ours() => sources.push((file, RustSource::new(&file.text))),
            "md" => {
                findings.extend(links::broken(file, |target| root().join(target).exists()));
                findings.extend(width::of_markdown(file));
            }
            "toml" => findings.extend(layers::violations(file)),
            _ => {}
        }
    }
    for (file, source) in &sources {
        findings.extend(text::length(file));
        findings.extend(rooms::violations(file, source));
        findings.extend(text::opening(file));
        findings.extend(text::unfinished(file, source));
        findings.extend(unsafety::violations(file, source));
        findings.extend(width::of_rust(file, source));
    }
    findings.extend(modules::unreachable(&sources));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_applied() {
        let file = |path: &str, text: &str| TextFile {
            path: path.into(),
            text: text.into(),
        };
        let clean = "//! Doc.\n#![forbid(unsafe_code)]\n";
        let broken = [
            (
                "crates/fin/src/lib.rs",
                format!("{clean}fn f() {{}} \n"),
                "white space",
            ),
            (
                "crates/fin/src/lib.rs",
                format!("{clean}{}", "\n".repeat(1000)),
                "lines",
            ),
            ("crates/fin/src/lib.rs", clean.replace("//!", "//"), "//!"),
            (
                "crates/fin/src/lib.rs",
                format!("{clean}fn f() {{ todo!() }}\n"),
                "todo!",
            ),
            ("crates/fin/src/lib.rs", "//! Doc.\n".to_string(), "forbid"),
            ("crates/fin/src/dead.rs", "//! Doc.\n".to_string(), "mod"),
            (
                "crates/detect/Cargo.toml",
                "[dependencies]\nfinishline-fin = {}\n".into(),
                "detect",
            ),
            (
                "crates/native/src/facts/x.rs",
                "//! Doc.\nuse crate::start;\n".to_string(),
                "must not use",
            ),
            (
                "docs/x.md",
                "[a](no-such-file.md)\n".to_string(),
                "no-such-file.md",
            ),
            ("docs/x.md", format!("see /{}/jo\n", "home"), "home"),
            ("CONTRIBUTING.md", "a ".repeat(51), "columns"),
            (
                "xtask/src/x.rs",
                format!("//! {}", "a".repeat(97)),
                "columns",
            ),
        ];
        assert_eq!(findings(&[file("crates/fin/src/lib.rs", clean)]), []);
        for (path, text, message) in broken {
            let found = findings(&[file(path, &text)]);
            assert!(
                found
                    .iter()
                    .any(|finding| finding.path == path && finding.message.contains(message)),
                "{path}: expected a finding about `{message}`, got {found:?}"
            );
        }
    }
}
