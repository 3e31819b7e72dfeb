//! Reads a trace, chunk by chunk. Only one chunk is in memory at a time.
//!
//! [`Trace::open`] reads all frames once: header, names, ending, and which chunks there are. So a
//! file that is damaged anywhere is refused before anything is concluded from it. Each pass over
//! the run reads the file again.

use crate::bytes::Bytes;
use crate::chunk::{Chunks, Kind};
use crate::decode::Decoder;
use crate::ending::Ending;
use crate::error::{Error, Wrong};
use crate::program::Program;
use crate::record::{Creation, Object};
use finishline_model::{Access, Event, Location};
use std::io::{Read, Seek, SeekFrom};

/// Whoever hears a recorded run.
pub trait Hear {
    fn event(&mut self, event: &Event);
    fn access(&mut self, access: &Access);
    fn created(&mut self, _creation: &Creation<'_>) {}
    /// Of an object. Its `Alloc` is not told besides.
    fn object(&mut self, _object: &Object<'_>) {}
}

/// Which telling of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// All checked accesses, as far as they are no repetitions.
    Run,
    /// Every access to some locations. Present if the recorder found races, or a failure.
    CloseUp,
}

/// Where the chunks of a part are: the number of the first one, its byte, and the byte behind the
/// last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Span {
    number: u64,
    at: u64,
    end: u64,
}

/// A trace, opened and looked through.
#[derive(Debug)]
pub struct Trace<R> {
    input: R,
    pub program: Program,
    /// None if the run was cut off.
    pub ending: Option<Ending>,
    run: Span,
    close_up: Option<(Span, Followed)>,
    /// The number of bytes.
    pub length: u64,
}

/// The locations of a close-up, as ascending ranges: first and behind the last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Followed(Vec<(u64, u64)>);

impl Followed {
    pub fn contains(&self, location: Location) -> bool {
        let before = self.0.partition_point(|(first, _)| *first <= location.0);
        before > 0 && location.0 < self.0[before - 1].1
    }

    fn decode(contents: &[u8]) -> Result<Followed, Wrong> {
        let mut bytes = Bytes::new(contents);
        let mut ranges = Vec::new();
        let mut end: u64 = 0;
        while !bytes.is_empty() {
            let (gap, count) = (bytes.number()?, bytes.number()?);
            let first = end.checked_add(gap).ok_or(Wrong::TooBig)?;
            end = first.checked_add(count).ok_or(Wrong::TooBig)?;
            ranges.push((first, end));
        }
        Ok(Followed(ranges))
    }
}

impl<R: Read + Seek> Trace<R> {
    pub fn open(mut input: R) -> Result<Self, Error> {
        input.seek(SeekFrom::Start(0))?;
        let mut chunks = Chunks::new(&mut input)?;
        let first = chunks.next()?.ok_or(Error::CutOff { whole: 0 })?;
        let wrong = |at| move |what| Error::Wrong { at, what };
        match first.kind {
            Kind::Program => {}
            Kind::Start => return Err(Error::OfProcess),
            _ => return Err(wrong(first.at)(Wrong::Misplaced)),
        }
        let program = Program::decode(&first.contents).map_err(wrong(first.at))?;
        let mut run = Span {
            number: chunks.number,
            at: chunks.at,
            end: chunks.at,
        };
        let mut ending = None;
        let mut closing = run;
        let mut close_up = None;
        let mut previous = Kind::Run;
        loop {
            let number = chunks.number;
            let Some(chunk) = chunks.next()? else {
                break;
            };
            let wrong = wrong(chunk.at);
            match (previous, chunk.kind) {
                (Kind::Run, Kind::Run) => run.end = chunks.at,
                (Kind::CloseUp, Kind::CloseUp) => closing.end = chunks.at,
                (Kind::Run, Kind::End) => {
                    ending = Some(Ending::decode(&chunk.contents, &program).map_err(wrong)?);
                }
                (Kind::End, Kind::CloseUp) => {
                    closing = Span {
                        number,
                        at: chunk.at,
                        end: chunks.at,
                    };
                }
                (Kind::CloseUp, Kind::Close) => {
                    let followed = Followed::decode(&chunk.contents).map_err(wrong)?;
                    close_up = Some((closing, followed));
                }
                (_, _) => return Err(wrong(Wrong::Misplaced)),
            }
            previous = chunk.kind;
        }
        let length = chunks.at;
        Ok(Trace {
            input,
            program,
            ending,
            run,
            close_up,
            length,
        })
    }

    /// The locations whose accesses are all in the close-up. None if there is no close-up, or if it
    /// was cut off.
    pub fn followed(&self) -> Option<&Followed> {
        self.close_up.as_ref().map(|(_, followed)| followed)
    }

    /// Tells the run. Of a part that is not there nothing is told.
    pub fn tell(&mut self, part: Part, hear: &mut impl Hear) -> Result<(), Error> {
        let span = match (part, &self.close_up) {
            (Part::Run, _) => self.run,
            (Part::CloseUp, Some((span, _))) => *span,
            (Part::CloseUp, None) => return Ok(()),
        };
        self.input.seek(SeekFrom::Start(span.at))?;
        let mut chunks = Chunks::at(&mut self.input, span.number, span.at);
        let mut decoder = Decoder::new(&self.program);
        while let Some(chunk) = chunks.next_before(span.end)? {
            let told = decoder.chunk(&chunk.contents, hear);
            told.map_err(|what| Error::Wrong { at: chunk.at, what })?;
        }
        Ok(())
    }
}
