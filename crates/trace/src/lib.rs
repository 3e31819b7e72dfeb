//! Recorded runs as files.
//!
//! A trace has everything that a report needs: the events and accesses of a run, the source text,
//! and the names of what ids stand for. `docs/trace-format.md` describes the file byte by byte.
//!
//! ```text
//! header │ program │ run, run, … │ end │ close-up, close-up, … │ close
//! ```
//!
//! - [`bytes`]: numbers and texts as bytes. `checksum` and [`chunk`]: the frame of the file.
//! - [`program`]: the tables of names. [`ending`]: how the run ended.
//! - `accesses` and `prediction`: what the next access and the next task probably are; the reason
//!   why traces are small.
//! - [`write`]: the writer. [`read`]: the reader. `encode` and `decode`: their records.
//! - `validity`: the rules of a well-formed stream. Nothing in a file is believed.
//!
//! [`process`] has the traces of native programs, with the same frame and other chunks.
//!
//! A writer flushes whole chunks. So the trace of a run that was killed ends at a chunk's border,
//! and everything before it can be read.

#![forbid(unsafe_code)]

mod accesses;
pub mod bytes;
pub mod checksum;
pub mod chunk;
mod decode;
mod encode;
pub mod ending;
pub mod error;
mod prediction;
pub mod process;
pub mod program;
pub mod read;
pub mod record;
mod validity;
pub mod write;

pub use ending::{Ending, Failure, FailurePoint, Tasks, WaitsFor};
pub use error::Error;
pub use program::{Capture, Program};
pub use read::{Hear, Part, Trace};
pub use record::{Creation, Object, Shape};
pub use write::Writer;
