//! The file that `--record` names.
//!
//! The process writes its trace to a file beside it, which takes the place of the named one when it
//! is complete. So what was there before stays until there is something better, two recordings
//! don't get in each other's way, and a mistyped path destroys nothing: only a trace is replaced.

use crate::Problem;
use crate::options::Options;
use finishline_trace::chunk::MAGIC;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

pub(crate) struct TraceFile {
    wanted: PathBuf,
    unfinished: PathBuf,
}

impl TraceFile {
    /// Looks whether a trace can be written where the options want it.
    pub(crate) fn prepare(options: &Options) -> Result<Option<TraceFile>, Problem> {
        let Some(path) = &options.record else {
            return Ok(None);
        };
        let others = [&options.output, &options.suppressions];
        if others.into_iter().any(|other| other.as_ref() == Some(path)) {
            return Err(Problem::new(format!(
                "{} is the trace and another file at once",
                path.display()
            )));
        }
        // A symbolic link stays one.
        let wanted = path.canonicalize().unwrap_or_else(|_| path.clone());
        if wanted.exists() && !is_trace(&wanted)? {
            return Err(Problem::new(format!(
                "{} is there already, and is no trace: it is not replaced",
                path.display()
            )));
        }
        let name = wanted.to_str();
        let name = name.ok_or_else(|| Problem::write(path, "its path is no UTF-8"))?;
        let unfinished = PathBuf::from(format!("{name}.{}.unfinished", std::process::id()));
        File::create_new(&unfinished)
            .and_then(|_| fs::remove_file(&unfinished))
            .map_err(|error| Problem::write(path, error))?;
        Ok(Some(TraceFile { wanted, unfinished }))
    }

    /// Where the process is to write.
    pub(crate) fn unfinished(&self) -> &Path {
        &self.unfinished
    }

    /// Puts the trace in its place.
    pub(crate) fn finish(&self) -> Result<(), Problem> {
        fs::rename(&self.unfinished, &self.wanted).map_err(|error| {
            let unfinished = self.unfinished.display();
            Problem::write(&self.wanted, format!("{error}; the trace is {unfinished}"))
        })
    }
}

/// Whether a file may be replaced by a trace. An empty one may.
fn is_trace(path: &Path) -> Result<bool, Problem> {
    let read = |error| Problem::read(path, error);
    if !fs::metadata(path).map_err(read)?.is_file() {
        return Ok(false);
    }
    let mut first = Vec::new();
    let file = File::open(path).map_err(read)?;
    let count = MAGIC.len() as u64;
    file.take(count).read_to_end(&mut first).map_err(read)?;
    Ok(first.is_empty() || first == MAGIC)
}
