//! Which room may use which: the arrows of ARCHITECTURE.md, read from the manifests.
//!
//! The rule is about dependencies and build dependencies. Development dependencies are free: tests
//! may compare a room with another one.

use super::Finding;
use super::files::TextFile;

/// A room and the rooms it may use. A new room needs a row, and a place in ARCHITECTURE.md.
const MAY_USE: [(&str, &[&str]); 21] = [
    ("model", &[]),
    ("detect", &["model"]),
    ("graph", &["model", "detect"]),
    ("ir", &["model"]),
    ("fin", &["model", "ir"]),
    ("answer", &["model"]),
    ("isl", &[]),
    ("poly", &["model", "ir", "fin", "answer", "isl"]),
    ("jit", &["model", "ir", "detect"]),
    ("opt", &["model", "ir"]),
    ("trace", &["model"]),
    (
        "engine",
        &[
            "model", "ir", "detect", "graph", "opt", "jit", "answer", "trace",
        ],
    ),
    ("native", &["model", "detect", "trace"]),
    ("rayon-core", &[]),
    ("report", &["model", "answer"]),
    ("symbols", &["model", "answer"]),
    (
        "cargo",
        &["model", "answer", "report", "symbols", "native", "trace"],
    ),
    ("generate", &[]),
    ("baseline", &[]),
    (
        "cli",
        &[
            "model", "answer", "ir", "fin", "poly", "detect", "graph", "opt", "engine", "report",
            "symbols", "cargo", "baseline", "trace",
        ],
    ),
    ("xtask", &[]),
];

/// Every package of the workspace is named `finishline-<room>`, but xtask, and the commands, which
/// are the package `finishline`.
const PREFIX: &str = "finishline-";

pub(super) fn violations(file: &TextFile) -> Vec<Finding> {
    let is_manifest = file.path == "xtask/Cargo.toml"
        || file
            .path
            .strip_prefix("crates/")
            .and_then(|path| path.strip_suffix("/Cargo.toml"))
            .is_some_and(|room| !room.contains('/'));
    if !is_manifest {
        return Vec::new();
    }
    let room = file.room();
    let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == room) else {
        let message = format!("`{room}` has no row in the table of rooms in {}", file!());
        return vec![Finding::error(&file.path, 0, message)];
    };
    dependencies(&file.text)
        .into_iter()
        .filter(|(_, used)| !allowed.contains(used))
        .map(|(line, used)| {
            let message = format!("`{room}` must not depend on `{used}`; see ARCHITECTURE.md");
            Finding::error(&file.path, line, message)
        })
        .collect()
}

/// The rooms that a manifest depends on, each with its line. TOML is read by lines: the header of a
/// section decides whether its lines count. A line that counts and mentions a package is a
/// dependency in any form, for example `finishline-ir.workspace = true`,
/// `ir = { package = "finishline-ir" }` or `[dependencies.finishline-ir]`.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut counts = false;
    for (number, line) in manifest.lines().enumerate() {
        let line = line.split('#').next().unwrap_or(line);
        if line.trim_start().starts_with('[') {
            let parts: Vec<&str> = line
                .split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
                .collect();
            counts = parts.contains(&"dependencies") || parts.contains(&"build-dependencies");
        }
        if counts {
            for (start, _) in line.match_indices(PREFIX) {
                let room = &line[start + PREFIX.len()..];
                let end = room.find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'));
                found.push((number, &room[..end.unwrap_or(room.len())]));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(room: &str, text: &str) -> TextFile {
        TextFile {
            path: format!("crates/{room}/Cargo.toml"),
            text: text.to_string(),
        }
    }

    fn refused(room: &str, text: &str) -> bool {
        !violations(&manifest(room, text)).is_empty()
    }

    #[test]
    fn the_arrows_point_one_way() {
        let uses = |room: &str| format!("[dependencies]\nfinishline-{room}.workspace = true\n");
        assert!(!refused("detect", &uses("model")));
        for (room, used) in [
            ("detect", "ir"),
            ("detect", "fin"),
            ("ir", "detect"),
            ("fin", "detect"),
            ("fin", "engine"),
            ("opt", "fin"),
            ("fin", "poly"),
            ("poly", "detect"),
            ("poly", "engine"),
            ("opt", "detect"),
            ("report", "engine"),
            ("report", "detect"),
            ("model", "ir"),
            ("model", "answer"),
            ("detect", "answer"),
            ("detect", "graph"),
            ("graph", "engine"),
            ("graph", "fin"),
            ("native", "answer"),
            ("engine", "cli"),
        ] {
            assert!(refused(room, &uses(used)), "{room} must not use {used}");
        }
    }

    #[test]
    fn every_way_to_write_a_dependency_counts() {
        for text in [
            "[dependencies]\nfinishline-ir = { path = \"../ir\" }\n",
            "[dependencies]\nserde = \"1\"\n  finishline-ir.workspace = true # why\n",
            "[dependencies]\nir = { package = \"finishline-ir\" }\n",
            "[dependencies.finishline-ir]\nworkspace = true\n",
            "[build-dependencies]\nfinishline-ir.workspace = true\n",
            "[target.'cfg(unix)'.dependencies]\nfinishline-ir.workspace = true\n",
        ] {
            assert!(refused("detect", text), "{text}");
        }
    }

    #[test]
    fn what_is_no_dependency_does_not_count() {
        for text in [
            "[package]\nname = \"finishline-detect\"\n",
            "[dev-dependencies]\nfinishline-ir.workspace = true\n",
            "[dependencies]\n# finishline-ir.workspace = true\n",
            "[dependencies]\n[features]\nx = [\"finishline-ir\"]\n",
        ] {
            assert!(!refused("detect", text), "{text}");
        }
        let elsewhere = TextFile {
            path: "Cargo.toml".into(),
            text: "[dependencies]\nfinishline-ir = {}".into(),
        };
        assert_eq!(violations(&elsewhere), []);
    }

    #[test]
    fn a_new_room_needs_a_row() {
        assert!(refused("attic", "[package]\n"));
    }

    #[test]
    fn the_table_has_no_cycle() {
        for (index, (room, uses)) in MAY_USE.iter().enumerate() {
            for used in *uses {
                let at = MAY_USE.iter().position(|(name, _)| name == used);
                assert!(
                    at < Some(index),
                    "{room} uses {used}, which must have an earlier row"
                );
            }
        }
    }
}
