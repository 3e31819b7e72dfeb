//! Reads the trace of a process, chunk by chunk.

use super::about::{End, Start};
use super::call::Told;
use super::decode::Decoder;
use crate::bytes::{Bytes, put_text};
use crate::chunk::{Chunks, Kind, write_chunk};
use crate::error::{Error, Wrong};
use std::io::{Read, Seek, SeekFrom, Write};

/// Whoever follows what a process told.
pub trait Follow {
    /// An error says what makes no sense.
    fn told(&mut self, told: &Told<'_>) -> Result<(), Wrong>;
}

/// The trace of a process, opened and looked through.
#[derive(Debug)]
pub struct ProcessTrace<R> {
    input: R,
    pub start: Start,
    /// How it ended, or what was known of it when it last told of itself. None if it never did.
    pub end: Option<End>,
    /// What things are called, for the room that wrote it.
    pub names: Option<String>,
    /// Where the calls begin: the number of the chunk, and the byte.
    calls: (u64, u64),
    /// The same of what is behind the last chunk.
    behind: (u64, u64),
}

/// Whether this is the trace of a process, as far as its first bytes tell. A file that is no trace
/// at all is for others to complain about.
pub fn is_of_process(input: &mut (impl Read + Seek)) -> Result<bool, Error> {
    input.seek(SeekFrom::Start(0))?;
    let first = Chunks::new(&mut *input).and_then(|mut chunks| chunks.next());
    input.seek(SeekFrom::Start(0))?;
    match first {
        Err(Error::Io(error)) => Err(Error::Io(error)),
        first => Ok(matches!(first, Ok(Some(chunk)) if chunk.kind == Kind::Start)),
    }
}

impl<R: Read + Seek> ProcessTrace<R> {
    pub fn open(mut input: R) -> Result<Self, Error> {
        input.seek(SeekFrom::Start(0))?;
        let mut chunks = Chunks::new(&mut input)?;
        let first = chunks.next()?.ok_or(Error::CutOff { whole: 0 })?;
        let wrong = |at| move |what| Error::Wrong { at, what };
        if first.kind != Kind::Start {
            return Err(wrong(first.at)(Wrong::Misplaced));
        }
        let start = Start::decode(&first.contents).map_err(wrong(first.at))?;
        let calls = (chunks.number, chunks.at);
        let (mut end, mut names) = (None, None);
        // What a chunk may follow, and whether the process went on behind the latest stop.
        let (mut previous, mut goes_on) = (Kind::Calls, false);
        while let Some(chunk) = chunks.next()? {
            let wrong = wrong(chunk.at);
            match (previous, chunk.kind) {
                (Kind::Calls, Kind::Calls) => {}
                (Kind::Calls, Kind::Stop) => {
                    let so_far = End::decode(&chunk.contents).map_err(wrong)?;
                    goes_on = so_far.goes_on;
                    end = Some(so_far);
                }
                (Kind::Calls | Kind::Stop, Kind::Names) => {
                    names = Some(text(&chunk.contents).map_err(wrong)?);
                }
                (_, _) => return Err(wrong(Wrong::Misplaced)),
            }
            previous = match goes_on {
                true if chunk.kind == Kind::Stop => Kind::Calls,
                _ => chunk.kind,
            };
        }
        let behind = (chunks.number, chunks.at);
        Ok(ProcessTrace {
            input,
            start,
            end,
            names,
            calls,
            behind,
        })
    }

    /// How many bytes the trace has.
    pub fn length(&self) -> u64 {
        self.behind.1
    }

    /// Tells everything that the process told.
    pub fn tell(&mut self, follow: &mut impl Follow) -> Result<(), Error> {
        let (number, at) = self.calls;
        self.input.seek(SeekFrom::Start(at))?;
        let mut chunks = Chunks::at(&mut self.input, number, at);
        let mut decoder = Decoder::new();
        while let Some(chunk) = chunks.next_before(self.behind.1)? {
            if chunk.kind == Kind::Calls {
                let told = decoder.chunk(&chunk.contents, follow);
                told.map_err(|what| Error::Wrong { at: chunk.at, what })?;
            }
        }
        Ok(())
    }
}

impl<F: Read + Write + Seek> ProcessTrace<F> {
    /// Adds the names. There must be none yet.
    pub fn add_names(&mut self, names: &str) -> Result<(), Error> {
        let (number, at) = self.behind;
        self.input.seek(SeekFrom::Start(at))?;
        let mut contents = Vec::new();
        put_text(&mut contents, names);
        write_chunk(&mut self.input, number, Kind::Names, &contents)?;
        self.input.flush()?;
        self.names = Some(names.to_owned());
        Ok(())
    }
}

fn text(contents: &[u8]) -> Result<String, Wrong> {
    let mut bytes = Bytes::new(contents);
    let text = bytes.text()?;
    bytes.end()?;
    Ok(text)
}
