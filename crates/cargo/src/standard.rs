//! Functions of the standard library that the runtime stands in front of.
//!
//! The standard library comes compiled, without instrumentation; what it does with atomic variables in functions of its own is not seen. For
//! the few where that matters the runtime has a function that is called instead and calls the original, by the
//! linker's option `--wrap`. The linker knows them by their mangled names, which change with every rustc: they are looked up in the
//! library by what they mean.

use crate::Problem;
use crate::toolchain::Toolchain;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};
use std::fs;
use std::path::PathBuf;

/// A function of the standard library that a function of the runtime goes before.
pub(crate) struct Wrapped {
    /// The runtime's name for it.
    pub(crate) name: &'static str,
    /// None if this rustc's library does it in another way.
    pub(crate) mangled: Option<String>,
}

/// Finds the functions in the toolchain's library.
pub(crate) fn find(
    toolchain: &Toolchain,
    wanted: impl Iterator<Item = (&'static str, &'static str)>,
) -> Result<Vec<Wrapped>, Problem> {
    let library = library(toolchain)?;
    let content = fs::read(&library).map_err(|error| Problem::read(&library, error))?;
    let unreadable = |error| Problem::new(format!("{}: {error}", library.display()));
    let archive = ArchiveFile::parse(&*content).map_err(unreadable)?;
    let mut names = Vec::new();
    for member in archive.members() {
        let data = member
            .and_then(|member| member.data(&*content))
            .map_err(unreadable)?;
        // The metadata is no object.
        let Ok(object) = object::File::parse(data) else {
            continue;
        };
        let global = object
            .symbols()
            .filter(|symbol| symbol.is_global() && symbol.is_definition());
        names.extend(global.filter_map(|symbol| symbol.name().ok().map(str::to_owned)));
    }
    let find = |path: &str| {
        let means = |mangled: &&String| format!("{:#}", rustc_demangle::demangle(mangled)) == path;
        names.iter().find(means).cloned()
    };
    let found = wanted.map(|(name, path)| Wrapped {
        name,
        mangled: find(path),
    });
    Ok(found.collect())
}

fn library(toolchain: &Toolchain) -> Result<PathBuf, Problem> {
    let folder = toolchain.libraries()?;
    let entries = fs::read_dir(&folder).map_err(|error| Problem::read(&folder, error))?;
    let is_std = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libstd-") && name.ends_with(".rlib")
    };
    let mut files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    files.find(is_std).ok_or_else(|| {
        Problem::new(format!(
            "there is no standard library in {}",
            folder.display()
        ))
    })
}
