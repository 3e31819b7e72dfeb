//! Why a file can't be read as a trace.

use crate::chunk::VERSION;
use std::fmt;
use std::io;

/// Why a trace can't be read.
#[derive(Debug)]
pub enum Error {
    Io(io::Error),
    /// The file is something else.
    NoTrace,
    /// It is the trace of a native program, not of one in Fin.
    OfProcess,
    /// It became shorter while it was read.
    Changed,
    /// It was written by a newer Finishline.
    Newer(u32),
    /// The file ends in the middle of something. Everything before byte `whole` can be read, if
    /// that is more than nothing.
    CutOff {
        whole: u64,
    },
    /// The chunk at this byte is not what was written.
    Damaged {
        at: u64,
    },
    /// The chunk at this byte is whole, but makes no sense.
    Wrong {
        at: u64,
        what: Wrong,
    },
}

/// What makes no sense in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Something ends with the chunk that should not.
    EndsEarly,
    /// There is more than there should be.
    TooMuch,
    TooBig,
    NoText,
    /// An id or a number that stands for nothing.
    NoSuch(&'static str),
    /// An event that can't happen here.
    Impossible(&'static str),
    /// A chunk that does not belong here.
    Misplaced,
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Io(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => error.fmt(f),
            Error::OfProcess => f.write_str(
                "this is the trace of a native program, and only that of a Fin program can be used",
            ),
            Error::Changed => f.write_str("the trace was changed while it was read"),
            Error::NoTrace => f.write_str("this is no trace of Finishline"),
            Error::Newer(version) => write!(
                f,
                "the trace has format {version}, and this Finishline reads formats up to {VERSION}"
            ),
            Error::CutOff { whole: 0 } => f.write_str("the trace is cut off: it has no names yet"),
            Error::CutOff { whole } => write!(
                f,
                "the trace is cut off in the middle of a chunk; its first {whole} bytes are whole"
            ),
            Error::Damaged { at } => write!(
                f,
                "the trace is damaged: the chunk at byte {at} has a wrong checksum"
            ),
            Error::Wrong { at, what } => {
                write!(
                    f,
                    "the trace makes no sense: in the chunk at byte {at}, {what}"
                )
            }
        }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::EndsEarly => f.write_str("something is missing"),
            Wrong::TooMuch => f.write_str("there is more than there should be"),
            Wrong::TooBig => f.write_str("a number is too big"),
            Wrong::NoText => f.write_str("a text is not UTF-8"),
            Wrong::NoSuch(what) => write!(f, "there is no such {what}"),
            Wrong::Impossible(what) => write!(f, "{what}"),
            Wrong::Misplaced => f.write_str("the chunk does not belong here"),
        }
    }
}
