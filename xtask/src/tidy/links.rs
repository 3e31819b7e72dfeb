//! Links between the project's own pages lead somewhere.
//!
//! The rule is about inline links `[text](target)` and definitions `[name]: target`, outside of
//! code. Addresses with a scheme and anchors within a page are free. The anchor of a target is cut
//! off.

use super::Finding;
use super::files::TextFile;

/// `exists` is asked about paths from the workspace's root.
pub(super) fn broken(file: &TextFile, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let directory = file
        .path
        .rsplit_once('/')
        .map_or("", |(directory, _)| directory);
    targets(&file.text)
        .into_iter()
        .filter(|(_, target)| !target.contains(':') && !target.starts_with('#'))
        .filter_map(|(line, target)| {
            let path = target.split('#').next().unwrap_or(target);
            let found = resolve(directory, path).is_some_and(|path| exists(&path));
            (!found).then(|| {
                Finding::error(
                    &file.path,
                    line,
                    format!("the link to `{target}` leads nowhere"),
                )
            })
        })
        .collect()
}

/// Every link target with its line.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for (number, line) in text.lines().enumerate() {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            in_fence = !in_fence;
            continue;
        }
        if in_fence {
            continue;
        }
        let first_word = |text: &str| text.split_whitespace().next().map(str::len);
        if let Some((_, target)) = start
            .strip_prefix('[')
            .and_then(|name| name.split_once("]: "))
        {
            if let Some(length) = first_word(target) {
                found.push((number, &target.trim_start()[..length]));
            }
            continue;
        }
        // Every second piece between backquotes is code.
        for piece in line.split('`').step_by(2) {
            for (open, _) in piece.match_indices("](") {
                let target = &piece[open + 2..];
                if let Some(close) = target.find([')', ' ']) {
                    found.push((number, &target[..close]));
                }
            }
        }
    }
    found
}

/// The path from the root; none if it leaves the project.
fn resolve(directory: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in directory.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let file = TextFile {
            path: "docs/guide/page.md".to_string(),
            text: text.to_string(),
        };
        let exists = |path: &str| ["docs/language.md", "docs/guide/next.md"].contains(&path);
        broken(&file, exists)
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    #[test]
    fn links_that_lead_somewhere() {
        for fine in [
            "[a](next.md) and [b](../language.md#types)",
            "[a](./next.md \"title\")",
            "[`code`](next.md)",
            "[a]: next.md",
            "[a](https://example.org/x.md), [b](#here), [c](mailto:a@b.c)",
            "`[a](gone.md)`",
            "```\n[a](gone.md)\n```",
        ] {
            assert!(found(fine).is_empty(), "{fine}: {:?}", found(fine));
        }
    }

    #[test]
    fn links_that_lead_nowhere() {
        for broken in [
            "[a](gone.md)",
            "[a](next.md) and [b](gone.md)",
            "[`code`](gone.md)",
            "[a](language.md)",
            "[a](../../../docs/language.md)",
            "[a]: gone.md",
            "```\ncode\n```\n[a](gone.md#x)",
        ] {
            assert_eq!(found(broken).len(), 1, "{broken}");
        }
    }
}
