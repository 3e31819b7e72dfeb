//! The findings file of the process: written whole, again and again.

use super::circumstances::{division, drop_in, unfollowed};
use super::image::{about, modules};
use super::marks;
use crate::checker::Checker;
use crate::checker::findings::{self, Process};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Writes the findings to their file, if there is to be one.
pub(super) fn save(checker: &Checker, goes_on: bool) {
    let Some(output) = &checker.options.output else {
        return;
    };
    let process = Process {
        modules: modules().into_iter().map(|mapped| mapped.module).collect(),
        drop_in: drop_in(),
        division: division(),
        threads: unfollowed() + checker.other_threads(),
        reached_unseen: marks::reached(),
        goes_on,
        ..about()
    };
    if let Err(error) = replace(output, &findings::findings(checker, &process).text()) {
        eprintln!("finishline: cannot write {}: {error}", output.display());
    }
}

/// Replaces what this process has written before, so that there is always a whole file, or none.
fn replace(output: &Path, text: &str) -> std::io::Result<()> {
    /// The file of this process, by its number: a process that was forked has one of its own.
    static FILE: Mutex<Option<(u32, PathBuf)>> = Mutex::new(None);
    let process = std::process::id();
    let mut file = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = match &*file {
        Some((owner, path)) if *owner == process => path.clone(),
        _ => new_file(output, process)?,
    };
    let unfinished = path.with_file_name(format!("unfinished-{process}"));
    std::fs::write(&unfinished, text)?;
    std::fs::rename(&unfinished, &path)?;
    *file = Some((process, path));
    Ok(())
}

/// Takes the file that was named, or one beside it if that is taken: by a process that this one
/// started, or that started it.
fn new_file(output: &Path, process: u32) -> std::io::Result<PathBuf> {
    match File::create_new(output) {
        Ok(_) => Ok(output.to_owned()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let mut own = output.to_owned().into_os_string();
            own.push(format!(".{process}"));
            Ok(own.into())
        }
        Err(error) => Err(error),
    }
}
