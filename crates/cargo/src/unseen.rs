//! The list of a program's atomic instructions that are not instrumented, for the processes that
//! run the program: each tells which of them it reached (`crates/native/src/process/marks.rs`).
//!
//! A program is searched once in a session. The list is a file of the session: the device and the
//! number of the program's file, in decimal, then addresses, in hexadecimal.

use crate::Problem;
use crate::session::Session;
use std::collections::hash_map::DefaultHasher;
use std::fmt::Write;
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Names the file for the process.
pub(crate) const VARIABLE: &str = "FINISHLINE_UNSEEN";

/// The list of a program. None if the program has no such instruction, or none that is known.
pub(crate) fn list(session: &Session, program: &Path) -> Result<Option<PathBuf>, Problem> {
    /// Tests that begin at the same time wait until one of them has searched the program.
    static SEARCHES: Mutex<()> = Mutex::new(());
    let _searches = SEARCHES.lock().unwrap_or_else(PoisonError::into_inner);

    let mut hasher = DefaultHasher::new();
    program.hash(&mut hasher);
    let name = format!("unseen-{:016x}", hasher.finish());
    let path = session.file(&name);
    let is_empty = match fs::metadata(&path) {
        Ok(known) => known.len() == 0,
        Err(_) => {
            let text = text(program)?;
            // Several runners may be at work, and each has the same text.
            let unfinished = path.with_extension(std::process::id().to_string());
            let written =
                fs::write(&unfinished, &text).and_then(|()| fs::rename(&unfinished, &path));
            written.map_err(|error| Problem::write(&path, error))?;
            text.is_empty()
        }
    };
    Ok((!is_empty).then_some(path))
}

fn text(program: &Path) -> Result<String, Problem> {
    let addresses = program
        .to_str()
        .and_then(finishline_symbols::atomic_instructions);
    let addresses = addresses.unwrap_or_default();
    if addresses.is_empty() {
        return Ok(String::new());
    }
    let file = fs::metadata(program).map_err(|error| Problem::read(program, error))?;
    let mut text = format!("{} {}\n", file.dev(), file.ino());
    for address in addresses {
        // A string grows.
        let _ = writeln!(text, "{address:x}");
    }
    Ok(text)
}
