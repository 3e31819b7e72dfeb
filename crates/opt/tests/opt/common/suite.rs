//! The programs of the suite.

use finishline_engine::arguments;
use finishline_ir::Module;
use finishline_ir::machine::Datum;
use std::path::{Path, PathBuf};

pub(crate) fn programs() -> Vec<PathBuf> {
    fn add(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).expect("the folder of programs") {
            let path = entry.expect("an entry of it").path();
            if path.is_dir() {
                add(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "fin") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs");
    add(Path::new(root), &mut found);
    found.sort();
    found
}

/// The program and the arguments its first lines name, if it compiles.
pub(crate) fn load(path: &Path) -> Option<(Module, Vec<Datum>)> {
    let text = std::fs::read_to_string(path).ok()?;
    let module = finishline_fin::compile("program.fin", text.as_bytes())
        .ok()?
        .module;
    let directives = text
        .lines()
        .filter_map(|line| line.strip_prefix("//@ args:"));
    let words: Vec<String> = directives
        .flat_map(str::split_whitespace)
        .map(str::to_owned)
        .collect();
    let arguments = arguments::parse(&module, &words).ok()?;
    Some((module, arguments))
}
