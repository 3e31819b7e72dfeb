//! Every Rust file is part of some crate: no dead twin of a file that nothing builds.
//!
//! The search begins at the roots that cargo finds by itself: libraries, binaries, tests, benches,
//! examples, build scripts. It follows `mod name;` to `name.rs` or `name/mod.rs`, as rustc does. It
//! does not follow `#[path]`, which hides the place of a module.

use super::Finding;
use super::files::TextFile;
use super::rust_source::RustSource;
use std::collections::BTreeMap;

pub(super) fn unreachable(sources: &[(&TextFile, RustSource)]) -> Vec<Finding> {
    let by_path: BTreeMap<&str, &RustSource> = sources
        .iter()
        .map(|(file, source)| (file.path.as_str(), source))
        .collect();
    let mut unreached = by_path.clone();
    let mut open: Vec<String> = by_path
        .keys()
        .filter(|path| is_root(path))
        .map(|path| path.to_string())
        .collect();
    while let Some(path) = open.pop() {
        if let Some(source) = unreached.remove(path.as_str()) {
            open.extend(children(&path, source));
        }
    }
    unreached
        .keys()
        .map(|path| Finding::error(path, 0, "no `mod` declares this file: nothing builds it"))
        .collect()
}

/// Where the modules a file declares may be; of the two places of each, one exists.
fn children(path: &str, source: &RustSource) -> Vec<String> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let inside = match name {
        "mod.rs" => directory.to_string(),
        _ if is_root(path) => directory.to_string(),
        _ => path.trim_end_matches(".rs").to_string(),
    };
    let tokens = source.tokens();
    tokens
        .windows(3)
        .filter(|window| window[0].text == "mod" && window[2].text == ";")
        .flat_map(|window| {
            let module = window[1].text;
            [
                format!("{inside}/{module}.rs"),
                format!("{inside}/{module}/mod.rs"),
            ]
        })
        .collect()
}

/// Its files take the place of files of rayon, whose modules are not declared here.
const OF_RAYON: &str = "crates/rayon-core/rayon/";

/// Whether cargo builds a crate from this file without being told.
fn is_root(path: &str) -> bool {
    if path.starts_with(OF_RAYON) {
        return true;
    }
    let inside = match path.strip_prefix("crates/") {
        Some(in_crates) => in_crates.split_once('/').map_or("", |(_, inside)| inside),
        None => path.strip_prefix("xtask/").unwrap_or(path),
    };
    if ["src/lib.rs", "src/main.rs", "build.rs"].contains(&inside) {
        return true;
    }
    ["src/bin/", "tests/", "benches/", "examples/"]
        .iter()
        .filter_map(|directory| inside.strip_prefix(directory))
        .any(|rest| match rest.split_once('/') {
            None => true,
            Some((_, below)) => below == "main.rs",
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile {
                path: path.to_string(),
                text: text.to_string(),
            })
            .collect();
        let sources: Vec<_> = files
            .iter()
            .map(|file| (file, RustSource::new(&file.text)))
            .collect();
        unreachable(&sources)
            .into_iter()
            .map(|finding| finding.path)
            .collect()
    }

    #[test]
    fn declared_modules_are_alive() {
        let none: [&str; 0] = [];
        let files = [
            (
                "crates/detect/src/lib.rs",
                "mod order;\npub mod history { }\nmod shadow;",
            ),
            ("crates/detect/src/order.rs", "pub(crate) mod bags;"),
            ("crates/detect/src/order/bags.rs", ""),
            ("crates/detect/src/shadow/mod.rs", "mod page;"),
            ("crates/detect/src/shadow/page.rs", ""),
            ("crates/detect/tests/suite.rs", "mod common;"),
            ("crates/detect/tests/common/mod.rs", ""),
            ("crates/detect/tests/large/main.rs", "mod part;"),
            ("crates/detect/tests/large/part.rs", ""),
            ("crates/detect/benches/accesses.rs", ""),
            ("crates/cli/src/main.rs", "mod check;"),
            ("crates/cli/src/check.rs", ""),
            ("crates/rayon-core/rayon/par_bridge.rs", ""),
            ("xtask/src/main.rs", ""),
        ];
        assert_eq!(dead(&files), none);
    }

    #[test]
    fn a_file_nobody_declares_is_dead() {
        let root = ("crates/detect/src/lib.rs", "// mod old;\nmod order;");
        let order = ("crates/detect/src/order.rs", "");
        assert_eq!(
            dead(&[root, order, ("crates/detect/src/old.rs", "")]),
            ["crates/detect/src/old.rs"]
        );
        // Declared in the wrong place: `order::bags` would be `order/bags.rs`.
        assert_eq!(
            dead(&[
                root,
                ("crates/detect/src/order.rs", "mod bags;"),
                ("crates/detect/src/bags.rs", "")
            ]),
            ["crates/detect/src/bags.rs"]
        );
        // Two dead files that declare each other stay dead.
        assert_eq!(
            dead(&[
                root,
                order,
                ("crates/detect/src/a.rs", "mod b;"),
                ("crates/detect/src/a/b.rs", ""),
            ]),
            ["crates/detect/src/a.rs", "crates/detect/src/a/b.rs"]
        );
        assert_eq!(
            dead(&[root, order, ("crates/detect/tests/common/mod.rs", "")]),
            ["crates/detect/tests/common/mod.rs"]
        );
    }
}
