//! Writes a trace while the program runs.
//!
//! Records are collected in memory and written as a chunk when there are enough: at least 256
//! bytes, at least as many as the whole file has, and never more than 64 KiB and a record. So a run
//! that is killed has lost little: half of a short trace, or the last 64 KiB of a long one. And
//! chunks are long enough that their frames cost next to nothing.
//!
//! A writer never stops the program. An error is remembered and returned at the end.

use crate::bytes::put_number;
use crate::chunk::{ChunkWriter, Kind};
use crate::encode::{Encoder, NoRecord};
use crate::ending::Ending;
use crate::program::Program;
use crate::record::{Creation, Object};
use finishline_model::{Access, Event, Location};
use std::io::{self, Write};

#[derive(Debug)]
pub struct Writer<W> {
    chunks: ChunkWriter<W>,
    kind: Kind,
    encoder: Encoder,
}

impl<W: Write> Writer<W> {
    /// Begins the file. The run follows.
    pub fn new(out: W, program: &Program) -> io::Result<Self> {
        let mut chunks = ChunkWriter::new(out)?;
        chunks.write(Kind::Program, &program.encode());
        chunks.check()?;
        Ok(Writer {
            chunks,
            kind: Kind::Run,
            encoder: Encoder::new(program),
        })
    }

    #[cold]
    fn write_events(&mut self) {
        self.encoder.settle();
        self.chunks.write_all_of(self.kind, &mut self.encoder.bytes);
    }

    #[inline]
    fn write_if_enough(&mut self) {
        if self.encoder.bytes.len() >= self.chunks.enough() {
            self.write_events();
        }
    }

    #[inline]
    pub fn access(&mut self, access: &Access) {
        self.encoder.access(access);
        self.write_if_enough();
    }

    pub fn event(&mut self, event: &Event) {
        if let Err(NoRecord) = self.encoder.event(event)
            && self.chunks.failed.is_none()
        {
            let what = "this format has no record for locks, atomics and suspended tasks";
            self.chunks.failed = Some(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        self.write_if_enough();
    }

    /// After the `TaskBegin` of the task.
    pub fn created(&mut self, creation: &Creation<'_>) {
        self.encoder.created(creation);
        self.write_if_enough();
    }

    /// Instead of the `Alloc` of the object.
    pub fn object(&mut self, object: &Object<'_>) {
        self.encoder.object(object);
        self.write_if_enough();
    }

    /// The run has ended.
    pub fn end(&mut self, ending: &Ending) {
        self.write_events();
        self.chunks.write(Kind::End, &ending.encode());
    }

    /// The same run follows once more, with accesses to some locations alone. After
    /// [`Writer::end`].
    pub fn close_up(&mut self, program: &Program) {
        self.kind = Kind::CloseUp;
        self.encoder = Encoder::new(program);
    }

    /// The close-up had every access to these locations, which must be in ascending order.
    pub fn close(&mut self, locations: impl IntoIterator<Item = Location>) {
        self.write_events();
        let mut contents = Vec::new();
        let mut end = 0;
        let mut run: Option<(u64, u64)> = None;
        let mut put = |(first, count): (u64, u64)| {
            put_number(&mut contents, first - end);
            put_number(&mut contents, count);
            end = first + count;
        };
        for Location(location) in locations {
            match &mut run {
                Some((first, count)) if *first + *count == location => *count += 1,
                _ => {
                    run.take().into_iter().for_each(&mut put);
                    run = Some((location, 1));
                }
            }
        }
        run.into_iter().for_each(&mut put);
        self.chunks.write(Kind::Close, &contents);
    }

    /// The bytes written so far.
    pub fn written(&self) -> u64 {
        self.chunks.written
    }

    /// Whether everything was written.
    pub fn finish(self) -> io::Result<W> {
        self.chunks.finish()
    }
}
