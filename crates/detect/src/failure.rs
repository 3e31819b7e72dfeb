//! Why a detector could not judge a run. Nothing is established then.

use crate::table::TableError;
use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The detector's own memory could not grow.
    Memory(TableError),
    /// The run used a construct that the detector has no rule for.
    Unsupported(&'static str),
    /// The oracle's graph has more steps, or accesses, than it was allowed.
    TooMany { what: &'static str, limit: usize },
}

impl From<TableError> for Failure {
    fn from(error: TableError) -> Self {
        Failure::Memory(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Memory(error) => error.fmt(f),
            Failure::Unsupported(what) => write!(f, "this detector has no rule for {what}"),
            Failure::TooMany { what, limit } => {
                write!(f, "the computation graph has more than {limit} {what}")
            }
        }
    }
}

impl std::error::Error for Failure {}
