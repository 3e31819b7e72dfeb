//! Why a pool could not be built. The messages are rayon's own, because programs show and compare
//! them.

use std::error::Error;
use std::fmt;
use std::io;

pub(crate) type BuildResult<T> = Result<T, ThreadPoolBuildError>;

/// The error of [`ThreadPoolBuilder`](crate::ThreadPoolBuilder): a second global pool, a thread in
/// two pools, or a spawn handler that failed.
#[derive(Debug)]
pub struct ThreadPoolBuildError {
    kind: Reason,
}

#[derive(Debug)]
pub(crate) enum Reason {
    GlobalPoolAlreadyInitialized,
    CurrentThreadAlreadyInPool,
    IOError(io::Error),
}

impl Reason {
    fn message(&self) -> Option<&'static str> {
        match self {
            Reason::GlobalPoolAlreadyInitialized => {
                Some("The global thread pool has already been initialized.")
            }
            Reason::CurrentThreadAlreadyInPool => {
                Some("The current thread is already part of another thread pool.")
            }
            Reason::IOError(_) => None,
        }
    }
}

impl From<Reason> for ThreadPoolBuildError {
    fn from(kind: Reason) -> Self {
        ThreadPoolBuildError { kind }
    }
}

impl Error for ThreadPoolBuildError {
    #[allow(deprecated)]
    fn description(&self) -> &str {
        match &self.kind {
            Reason::IOError(error) => error.description(),
            reason => reason.message().unwrap_or_default(),
        }
    }

    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            Reason::IOError(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Reason::IOError(error) => error.fmt(f),
            reason => reason.message().unwrap_or_default().fmt(f),
        }
    }
}
