//! Recorded runs of native programs.
//!
//! A checked process tells its checker what it does: tasks, accesses, atomic operations, blocks of
//! the heap. The trace has these *calls*, so that a checker outside of the process can be told the
//! same, in the same order. It then finds the same. An access that the process itself decided
//! without its checker is not in the trace.
//!
//! ```text
//! header │ start │ calls, calls, … │ end │ names
//! ```
//!
//! - [`call`]: what can be told. [`about`]: what the process was, and how it ended.
//! - [`write`]: the writer, inside the process. [`read`]: the reader. `encode` and `decode`: their
//!   records.
//! - The names are a text for the room that makes reports. They are added when the process has
//!   ended, by whoever started it.
//!
//! A reader checks the form of what it passes on. Whether it makes sense as a run is for the one
//! who follows it.

pub mod about;
pub mod call;
mod decode;
mod encode;
pub mod read;
pub mod write;

pub use about::{End, Module, Start, Stop};
pub use call::{Call, Change, Operation, StackChange, Told};
pub use read::{Follow, ProcessTrace};
pub use write::Recorder;
