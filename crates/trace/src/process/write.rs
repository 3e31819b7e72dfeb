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
            self.write_calls();
        }
        self.encoder.stack(kept, calls);
        self.encoder.call(call);
    }

    /// What the process answered its checker during the latest call.
    pub fn answer(&mut self, answer: bool) {
        self.encoder.answer(answer);
    }

    #[cold]
    fn write_calls(&mut self) {
        self.encoder.settle();
        self.chunks
            .write_all_of(Kind::Calls, &mut self.encoder.bytes);
    }

    /// Writes what there is, and what is known of the process so far. The latest call must be over.
    pub fn save(&mut self, so_far: &End) {
        if !self.encoder.is_empty() {
            self.write_calls();
            self.chunks.write(Kind::Stop, &so_far.encode());
        }
    }

    /// The process ends. Whether everything was written.
    pub fn end(mut self, end: &End) -> io::Result<()> {
        self.write_calls();
        self.chunks.write(Kind::Stop, &end.encode());
        self.chunks.finish().map(drop)
    }
}
