//! Which room of the runtime may use which: `crates/native/src` has a folder or file for each, and
//! they stand in one order.
//!
//! A room uses those before it. Dialects don't use each other, so that a program of one library
//! never meets what another library means. `lib.rs` only declares rooms. A use is a path that names
//! a room behind `crate` or `super`; paths inside macros count as well. Imports of several rooms in
//! braces are refused, because this rule could not read them.

use super::Finding;
use super::files::TextFile;
use super::rust_source::RustSource;

const SOURCES: &str = "crates/native/src/";

/// The rooms from the bottom up, as `lib.rs` and ARCHITECTURE.md have them.
const ROOMS: [&str; 7] = [
    "facts", "checker", "process", "turns", "abi", DIALECT, "start",
];
const DIALECT: &str = "dialects";
const DIALECTS: [&str; 3] = ["rust_std", "pthreads", "rayon"];

pub(super) fn violations(file: &TextFile, source: &RustSource) -> Vec<Finding> {
    let inside = file.path.strip_prefix(SOURCES).unwrap_or("lib.rs");
    let mut parts = inside.trim_end_matches(".rs").split('/');
    let room = parts.next().unwrap_or(inside);
    if room == "lib" {
        return Vec::new();
    }
    let dialect = parts
        .next()
        .filter(|part| room == DIALECT && *part != "mod");
    let place = ROOMS.iter().position(|other| *other == room);
    let Some(place) = place.filter(|_| dialect.is_none_or(|own| DIALECTS.contains(&own))) else {
        let message = format!(
            "`{inside}` has no place in the order of rooms in {}",
            file!()
        );
        return vec![Finding::error(&file.path, 0, message)];
    };
    let mut findings = Vec::new();
    for (line, used) in uses(source) {
        let message = if used == "{" {
            "import from one room at a time".to_owned()
        } else if ROOMS[place + 1..].contains(&used) {
            format!("`{room}` must not use `{used}`; see ARCHITECTURE.md")
        } else if dialect.is_some_and(|own| own != used) && DIALECTS.contains(&used) {
            format!("a dialect must not use another one, `{used}`")
        } else {
            continue;
        };
        findings.push(Finding::error(&file.path, line, message));
    }
    findings
}

/// What comes next in each path that leads up or to the dialects: `{`, or a name that may be that
/// of a room. Each with its line.
fn uses(source: &RustSource) -> Vec<(usize, &str)> {
    let tokens = source.tokens();
    let paths = tokens.windows(4).filter_map(|window| {
        let [from, first, second, to] = window else {
            return None;
        };
        let is_path = first.text == ":" && second.text == ":";
        let leads_up = match from.text {
            "crate" => true,
            "super" | DIALECT => to.text != "{",
            _ => false,
        };
        (is_path && leads_up).then_some((to.line, to.text))
    });
    paths.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<Finding> {
        let file = TextFile {
            path: format!("{SOURCES}{path}"),
            text: text.to_owned(),
        };
        violations(&file, &RustSource::new(text))
    }

    #[test]
    fn rooms_use_those_before_them() {
        for (path, text) in [
            ("lib.rs", "mod start; use crate::start;"),
            (
                "checker/mod.rs",
                "use crate::facts::heap; use super::facts;",
            ),
            (
                "checker/replay.rs",
                "// crate::process\nuse crate::checker::Here;",
            ),
            (
                "process/life.rs",
                "use super::{output, owner}; use crate::checker::{Checker, Host};",
            ),
            (
                "dialects/rayon.rs",
                "use crate::turns; sym crate::abi::access",
            ),
            (
                "dialects/rust_std/mod.rs",
                "use crate::dialects::rust_std; use super::rust_std;",
            ),
            ("dialects/mod.rs", "mod rayon; use self::rayon;"),
            ("start.rs", "use crate::dialects::rust_std;"),
        ] {
            assert_eq!(found(path, text), [], "{path}: {text}");
        }
    }

    #[test]
    fn no_room_uses_one_behind_it() {
        for (path, text) in [
            ("facts/calls.rs", "use crate::checker::Checker;"),
            ("checker/mod.rs", "use super::process;"),
            ("process/life.rs", "fn f() { crate::turns::begin(MAIN) }"),
            (
                "process/mod.rs",
                "macro_rules! m { () => { $crate::turns::wait() } }",
            ),
            ("turns/baton.rs", "use crate::dialects::pthreads;"),
            ("abi/mod.rs", "use crate::start;"),
            ("abi/mod.rs", "use crate::{facts, checker};"),
        ] {
            assert_eq!(found(path, text).len(), 1, "{path}: {text}");
        }
    }

    #[test]
    fn dialects_are_apart() {
        for (path, text) in [
            ("dialects/rayon.rs", "use super::pthreads::waits;"),
            ("dialects/rust_std/counted.rs", "use super::super::rayon;"),
            ("dialects/pthreads/mod.rs", "use crate::dialects::rayon;"),
        ] {
            assert_eq!(found(path, text).len(), 1, "{path}: {text}");
        }
    }

    #[test]
    fn a_new_file_needs_a_room() {
        assert_eq!(found("attic.rs", "").len(), 1);
        assert_eq!(found("dialects/openmp.rs", "").len(), 1);
        let elsewhere = TextFile {
            path: "crates/detect/src/lib.rs".to_owned(),
            text: "use crate::start;".to_owned(),
        };
        assert_eq!(
            violations(&elsewhere, &RustSource::new(&elsewhere.text)),
            []
        );
    }
}
