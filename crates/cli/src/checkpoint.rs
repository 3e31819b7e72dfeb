//! The checkpoint of an exploration: the pieces that are explored, in a file, so that the same
//! command can go on after it was interrupted or killed.
//!
//! The file has the form of a [part](crate::part). It is written anew every few seconds under
//! another name, and then takes its place: so it is whole at any time. A piece that was not
//! finished is explored again. When the exploration is complete, the file is removed.

use crate::outcome::{Problem, say, shown};
use crate::part::{self, Opening, PartFile};
use crate::pieces::{PieceRecord, Record};
use finishline_engine::explore::Piece;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time between two files.
const PERIOD: Duration = Duration::from_secs(2);

pub(crate) struct Checkpoint {
    path: PathBuf,
    opening: Opening,
    state: Mutex<State>,
}

struct State {
    /// The pieces that are done, as lines.
    lines: BTreeMap<usize, String>,
    /// When a piece was last written.
    written: Option<Instant>,
}

impl Checkpoint {
    /// Reads the file, if there is one, and writes it: it should not turn out after hours that it
    /// can't be written.
    pub(crate) fn open(path: &Path, opening: Opening) -> Result<Checkpoint, Problem> {
        let checkpoint = Checkpoint {
            path: path.to_owned(),
            opening,
            state: Mutex::new(State {
                lines: BTreeMap::new(),
                written: None,
            }),
        };
        if path.try_exists().unwrap_or(true) {
            for (number, piece) in checkpoint.read()? {
                checkpoint
                    .state()
                    .lines
                    .insert(number, line(number, &piece));
            }
        }
        checkpoint.write(&checkpoint.state())?;
        Ok(checkpoint)
    }

    fn read(&self) -> Result<Vec<(usize, Piece)>, Problem> {
        let file = PartFile::read(&self.path)?;
        if file.opening != self.opening {
            return Err(Problem::Usage(format!(
                "{} is the checkpoint of another exploration: the program, its arguments or the options differ",
                shown(&self.path)
            )));
        }
        let damaged = || {
            let path = shown(&self.path);
            Problem::Usage(format!("{path}: the checkpoint is damaged"))
        };
        let mut pieces = Vec::new();
        for record in file.records(&self.path)? {
            if let Record::Piece(record) = record {
                pieces.push(record.read().ok_or_else(damaged)?);
            }
        }
        Ok(pieces)
    }

    /// The pieces that are done.
    pub(crate) fn known(&self) -> Result<BTreeMap<usize, Piece>, Problem> {
        Ok(self.read()?.into_iter().collect())
    }

    /// Notes a piece. One that was not finished is left out.
    pub(crate) fn keep(&self, number: usize, piece: &Piece) {
        if !piece.is_done() {
            return;
        }
        let mut state = self.state();
        state.lines.insert(number, line(number, piece));
        if (state.written).is_some_and(|written| written.elapsed() < PERIOD) {
            return;
        }
        if let Err(problem) = self.write(&state) {
            problem.print();
        }
        state.written = Some(Instant::now());
    }

    /// Writes the file for the last time, or removes it if nobody is to go on.
    pub(crate) fn close(&self, resumes: bool) -> Result<(), Problem> {
        match resumes {
            true => self.write(&self.state()),
            false => fs::remove_file(&self.path).map_err(|error| self.problem(error)),
        }
    }

    /// Says how to go on.
    pub(crate) fn note(&self) {
        let path = shown(&self.path);
        say(&format!("note: the same command goes on from {path}"));
    }

    fn write(&self, state: &State) -> Result<(), Problem> {
        let text = part::written(&self.opening, state.lines.values().cloned());
        let mut beside = self.path.clone().into_os_string();
        beside.push(".new");
        let replace = || -> io::Result<()> {
            let mut file = File::create(&beside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &self.path)
        };
        replace().map_err(|error| self.problem(error))
    }

    fn problem(&self, error: io::Error) -> Problem {
        Problem::Write(self.path.clone(), error)
    }

    /// Whoever panicked while it had the state did not leave it half changed.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn line(number: usize, piece: &Piece) -> String {
    part::line(&Record::Piece(Box::new(PieceRecord::new(number, piece))))
}
