//! Writes the trace of a process, from inside.
//!
//! As with Fin, a chunk is written when there is enough for one, and an error is remembered. A call
//! and its answers are in one chunk.

use super::about::{End, Start};
use super::call::Call;
use super::encode::Encoder;
use crate::chunk::{ChunkWriter, Kind};
use std::io::{self, Write};

#[derive(Debug)]
pub struct Recorder<W> {
    chunks: ChunkWriter<W>,
    encoder: Encoder,
}

impl<W: Write> Recorder<W> {
    /// Begins the file.
    pub fn new(out: W, start: &Start) -> io::Result<Recorder<W>> {
        let mut chunks = ChunkWriter::new(out)?;
        chunks.write(Kind::Start, &start.encode());
        chunks.check()?;
        Ok(Recorder {
            chunks,
            encoder: Encoder::new(),
        })
    }

    /// A call, made while these functions were in progress. So many of them have been in progress
    /// since they were last numbered.
    pub fn call(&mut self, call: &Call, kept: usize, calls: &[[u64; 2]]) {
        if self.encoder.bytes.len() >= self.chunks.enough() {
            self.save();
        }
        self.encoder.stack(kept, calls);
        self.encoder.call(call);
    }

    /// What the process answered its checker during the latest call.
    pub fn answer(&mut self, answer: bool) {
        self.encoder.answer(answer);
    }

    /// Writes what there is, though it may be little.
    #[cold]
    pub fn save(&mut self) {
        self.encoder.settle();
        self.chunks
            .write_all_of(Kind::Calls, &mut self.encoder.bytes);
    }

    /// The process ends. Whether everything was written.
    pub fn end(mut self, end: &End) -> io::Result<()> {
        self.save();
        self.chunks.write(Kind::Stop, &end.encode());
        self.chunks.finish().map(drop)
    }
}
