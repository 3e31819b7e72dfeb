//! Lists of the `unsafe` code in the crates of a program, in files beside the compiled crates.
//!
//! The wrapper writes a file for each crate that it compiles: the crate's unsafe code, and where
//! the lists of the crates are that it uses. So the list of a program is complete though cargo
//! compiles only what has changed. Cargo gives a crate another name when its features or flags
//! change, and the list has the name of the crate. Crates of the user are those with a path: a
//! member of the workspace or a dependency by path. Lists of all others are empty.
//!
//! A list is missing only if something else than the wrapper has compiled the crate. Then nothing
//! is said about the program's unsafe code.

use crate::Problem;
use finishline_symbols::ListedUnsafe;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Ends the names of lists.
const EXTENSION: &str = "unsafe";

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct List {
    pub(crate) code: Vec<ListedUnsafe>,
    /// The lists of the crates that this one uses.
    pub(crate) uses: Vec<PathBuf>,
}

impl List {
    /// Writes the list beside what rustc makes of the crate: `folder/lib{name}.rlib`, for one.
    pub(crate) fn write(&self, folder: &Path, name: &str) -> Result<(), Problem> {
        let path = folder.join(format!("{name}.{EXTENSION}"));
        let text = serde_json::to_string(self).map_err(|error| Problem::write(&path, error))?;
        // Nobody reads a part of it, even if this process is killed.
        let unfinished = path.with_added_extension("unfinished");
        let written = fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, &path));
        written.map_err(|error| Problem::write(&path, error))
    }

    fn read(path: &Path) -> Option<List> {
        serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
    }
}

/// Where the list of a used crate is, by the value of `--extern`. None for a crate that comes with
/// rustc, and for a library that the compiler itself loads.
pub(crate) fn list_of_used(value: &str) -> Option<PathBuf> {
    let (_, library) = value.split_once('=')?;
    let library = std::path::absolute(library).ok()?;
    if library.extension().is_none_or(|it| it == "so") {
        return None;
    }
    let name = library.file_stem()?.to_str()?;
    let name = name.strip_prefix("lib").unwrap_or(name);
    Some(library.with_file_name(format!("{name}.{EXTENSION}")))
}

/// The unsafe code of the user's crates in a program. None if it is not known.
pub(crate) fn of_program(program: &Path) -> Option<Vec<ListedUnsafe>> {
    let mut pending = vec![list_of(program)?];
    let mut read = BTreeSet::new();
    let mut code = Vec::new();
    while let Some(path) = pending.pop() {
        if read.insert(path.clone()) {
            let list = List::read(&path)?;
            code.extend(list.code);
            pending.extend(list.uses);
        }
    }
    Some(code)
}

/// The list of the crate that a program was made of. Cargo gives programs that are not tests a
/// second name, without its hash, one folder further out.
fn list_of(program: &Path) -> Option<PathBuf> {
    let own = program.with_added_extension(EXTENSION);
    if own.exists() {
        return Some(own);
    }
    let name = program.file_name()?.to_str()?.replace('-', "_");
    let folder = program.parent()?;
    let files = [folder.join("deps"), folder.to_owned()].into_iter();
    let files = files
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten();
    let lists = files.filter_map(|file| {
        let path = file.ok()?.path();
        let stem = path.file_stem()?.to_str()?;
        let (crate_name, _) = stem.rsplit_once('-')?;
        let fits = crate_name == name && path.extension().is_some_and(|it| it == EXTENSION);
        fits.then_some(path)
    });
    let mut lists = lists.filter(|list| is_same(program, &list.with_extension("")));
    lists.next()
}

/// Whether two names lead to the same program. Cargo makes a copy if it can't make a link.
fn is_same(one: &Path, other: &Path) -> bool {
    let about = [one, other].map(fs::metadata);
    let [Ok(about_one), Ok(about_other)] = about else {
        return false;
    };
    let file = |about: &fs::Metadata| (about.dev(), about.ino());
    file(&about_one) == file(&about_other)
        || about_one.len() == about_other.len() && have_same_bytes(one, other).unwrap_or(false)
}

fn have_same_bytes(one: &Path, other: &Path) -> std::io::Result<bool> {
    let [one, other] = [File::open(one)?, File::open(other)?].map(|it| BufReader::new(it).bytes());
    for (one, other) in one.zip(other) {
        if one? != other? {
            return Ok(false);
        }
    }
    Ok(true)
}
