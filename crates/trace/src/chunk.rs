//! The frame of a trace: a header, and then chunks with checksums.
//!
//! The header is 16 bytes: [`MAGIC`], the version and the checksum of both. A chunk is its kind,
//! the length of its contents, its checksum, and the contents. The checksum also covers the number
//! of the chunk, which is not written. So a chunk that is missing, doubled or moved is noticed.
//!
//! A chunk is written by one call. So a run that is killed leaves whole chunks, except for a rare
//! write that the system itself cut short.

use crate::checksum::checksum;
use crate::error::{Error, Wrong};
use std::io::{self, ErrorKind, Read, Write};

/// The first bytes of a trace. A file that was changed as text does not keep them.
pub const MAGIC: [u8; 8] = *b"\x89FLTR\r\n\x1a";
/// The format that is written. Earlier ones are a part of it.
pub const VERSION: u32 = 5;
pub const HEADER_BYTES: u64 = 16;
/// Bytes of a chunk besides its contents.
pub const FRAME_BYTES: u64 = 9;
/// The most bytes of a chunk's contents. Only the source text and the racing locations may need
/// more than [`FULL`].
pub const LARGEST: u32 = 1 << 28;
/// A chunk of events is written at the latest when it has this many bytes.
pub const FULL: usize = 1 << 16;
/// The fewest bytes of a chunk of events that is not the last one.
const FEWEST: u64 = 256;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The tables of names. The first chunk.
    Program = 1,
    /// A part of the run's events.
    Run = 2,
    /// How the run ended. Without it the run was cut off.
    End = 3,
    /// A part of the events of the same run, with all accesses to some locations.
    CloseUp = 4,
    /// The end of the close-up, with these locations. The last chunk.
    Close = 5,
    /// What a native process is. The first chunk of its trace.
    Start = 6,
    /// A part of what it told its checker.
    Calls = 7,
    /// How it ended. Without it the process was cut off.
    Stop = 8,
    /// What things are called. The last chunk of a process's trace.
    Names = 9,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        use Kind::{Calls, Close, CloseUp, End, Names, Program, Run, Start, Stop};
        let all = [Program, Run, End, CloseUp, Close, Start, Calls, Stop, Names];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

fn write_header(out: &mut impl Write) -> io::Result<()> {
    let version = VERSION.to_le_bytes();
    let sum = checksum(&[&MAGIC, &version]).to_le_bytes();
    out.write_all(&[&MAGIC[..], &version, &sum].concat())
}

/// Writes the chunk with this number.
pub(crate) fn write_chunk(
    out: &mut impl Write,
    number: u64,
    kind: Kind,
    contents: &[u8],
) -> io::Result<()> {
    let length = u32::try_from(contents.len()).ok();
    let length = length.filter(|length| *length <= LARGEST).ok_or_else(|| {
        io::Error::new(ErrorKind::FileTooLarge, "a part of the trace is too long")
    })?;
    let mut whole = Vec::with_capacity(contents.len() + FRAME_BYTES as usize);
    whole.push(kind as u8);
    whole.extend(length.to_le_bytes());
    let sum = checksum(&[&number.to_le_bytes(), &whole, contents]);
    whole.extend(sum.to_le_bytes());
    whole.extend_from_slice(contents);
    out.write_all(&whole)
}

/// Writes a trace chunk by chunk. An error is remembered, and nothing is written behind it.
#[derive(Debug)]
pub(crate) struct ChunkWriter<W> {
    out: W,
    /// The number of the next chunk.
    number: u64,
    /// The bytes of the file so far.
    pub(crate) written: u64,
    pub(crate) failed: Option<io::Error>,
}

impl<W: Write> ChunkWriter<W> {
    /// Begins the file.
    pub(crate) fn new(mut out: W) -> io::Result<Self> {
        write_header(&mut out)?;
        Ok(ChunkWriter {
            out,
            number: 0,
            written: HEADER_BYTES,
            failed: None,
        })
    }

    /// At this length a chunk of events should be written: at least as long as the whole file.
    #[inline]
    pub(crate) fn enough(&self) -> usize {
        self.written.clamp(FEWEST, FULL as u64) as usize
    }

    pub(crate) fn write(&mut self, kind: Kind, contents: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        self.failed = write_chunk(&mut self.out, self.number, kind, contents).err();
        self.number += 1;
        self.written += FRAME_BYTES + contents.len() as u64;
    }

    /// Writes these bytes, if there are any, and empties them.
    pub(crate) fn write_all_of(&mut self, kind: Kind, bytes: &mut Vec<u8>) {
        if !bytes.is_empty() {
            self.write(kind, bytes);
            bytes.clear();
        }
    }

    /// Whether everything was written so far.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Whether everything was written.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.check()?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// A chunk as read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Chunk {
    pub(crate) kind: Kind,
    pub(crate) contents: Vec<u8>,
    /// The byte of the file at which it begins.
    pub(crate) at: u64,
}

/// Reads a trace chunk by chunk.
#[derive(Debug)]
pub(crate) struct Chunks<R> {
    input: R,
    /// The number of the next chunk, and the byte at which it begins.
    pub(crate) number: u64,
    pub(crate) at: u64,
}

impl<R: Read> Chunks<R> {
    /// Reads the header.
    pub(crate) fn new(mut input: R) -> Result<Self, Error> {
        let mut header = [0; HEADER_BYTES as usize];
        let read = read_some(&mut input, &mut header)?;
        let magic = MAGIC.len().min(read);
        if magic == 0 || header[..magic] != MAGIC[..magic] {
            return Err(Error::NoTrace);
        }
        if read < header.len() {
            return Err(Error::CutOff { whole: 0 });
        }
        let [version, sum] = [8, 12].map(|at| word(&header[at..]));
        if sum != checksum(&[&header[..12]]) {
            return Err(Error::Damaged { at: 0 });
        }
        if !(1..=VERSION).contains(&version) {
            return Err(Error::Newer(version));
        }
        Ok(Chunks::at(input, 0, HEADER_BYTES))
    }

    /// Goes on with the chunk of this number.
    pub(crate) fn at(input: R, number: u64, at: u64) -> Self {
        Chunks { input, number, at }
    }

    /// The next chunk. None at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<Chunk>, Error> {
        let cut_off = Error::CutOff {
            whole: if self.number == 0 { 0 } else { self.at },
        };
        let mut frame = [0; FRAME_BYTES as usize];
        match read_some(&mut self.input, &mut frame)? {
            0 => return Ok(None),
            read if read < frame.len() => return Err(cut_off),
            _ => {}
        }
        let at = self.at;
        let [length, sum] = [1, 5].map(|at| word(&frame[at..]));
        if length > LARGEST {
            return Err(Error::Damaged { at });
        }
        // Memory is taken as the contents arrive: a wrong length takes none.
        let mut contents = Vec::new();
        let mut some = (&mut self.input).take(u64::from(length));
        some.read_to_end(&mut contents)?;
        if contents.len() < length as usize {
            return Err(cut_off);
        }
        let number = self.number.to_le_bytes();
        if sum != checksum(&[&number, &frame[..5], &contents]) {
            return Err(Error::Damaged { at });
        }
        let what = Wrong::NoSuch("kind of chunk");
        let kind = Kind::of(frame[0]).ok_or(Error::Wrong { at, what })?;
        self.number += 1;
        self.at += FRAME_BYTES + u64::from(length);
        Ok(Some(Chunk { kind, contents, at }))
    }

    /// The next chunk that begins before a byte. All up to there have been read once.
    pub(crate) fn next_before(&mut self, end: u64) -> Result<Option<Chunk>, Error> {
        match self.at < end {
            true => self.next()?.ok_or(Error::Changed).map(Some),
            false => Ok(None),
        }
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes[..4]
        .iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// Fills the bytes as far as the input goes.
fn read_some(input: &mut impl Read, bytes: &mut [u8]) -> Result<usize, Error> {
    let mut read = 0;
    while read < bytes.len() {
        match input.read(&mut bytes[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::Io(error)),
        }
    }
    Ok(read)
}
