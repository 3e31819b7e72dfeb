//! Locations of memory, as structure. [`Location`]'s text is what the user would write.

use crate::place::Place;
use crate::task::{Stack, Task};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What both accesses of a finding access.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Location {
    /// A global variable of a Fin program.
    Global(String),
    /// A field of an object: `p.x`.
    Field {
        object: String,
        field: String,
    },
    /// An element of an array: `B[3]`, or `B[i + 1]` in a proof.
    Element {
        object: String,
        indices: Vec<String>,
    },
    /// A promise or a future.
    Promise(String),
    Lock(String),
    /// Something without a name of the user's.
    Unnamed(String),
    /// Bytes of a process.
    Bytes(Bytes),
}

impl Location {
    /// The object that the location is a part of: `B` of `B[3]`. A global variable is its own.
    pub fn object(&self) -> Option<&str> {
        match self {
            Location::Field { object, .. }
            | Location::Element { object, .. }
            | Location::Promise(object)
            | Location::Lock(object) => Some(object),
            Location::Global(_) | Location::Unnamed(_) | Location::Bytes(_) => None,
        }
    }
}

/// `B[3]`, `p.x`, `total`, `bytes 8..16 of hist::TABLE`.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Global(name)
            | Location::Promise(name)
            | Location::Lock(name)
            | Location::Unnamed(name) => f.write_str(name),
            Location::Field { object, field } => write!(f, "{object}.{field}"),
            Location::Element { object, indices } => {
                write!(f, "{object}[{}]", indices.join(", "))
            }
            Location::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

/// Bytes in a row, and what they are a part of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bytes {
    pub object: Object,
    /// The first byte, and how many there are.
    pub address: u64,
    pub bytes: u64,
}

/// What bytes are a part of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Object {
    Heap {
        size: u64,
        offset: u64,
        allocated: Stack,
        task: Task,
    },
    Global {
        /// Demangled.
        name: String,
        size: u64,
        offset: u64,
        defined: Option<Place>,
    },
    /// A variable in a frame of this function.
    Stack {
        function: String,
        place: Option<Place>,
        task: Task,
    },
    /// A thread-local variable of some thread.
    ThreadLocal,
    Unknown,
}

impl Object {
    /// The word of JSON reports.
    pub const fn kind(&self) -> &'static str {
        match self {
            Object::Heap { .. } => "heap",
            Object::Global { .. } => "global",
            Object::Stack { .. } => "stack",
            Object::ThreadLocal => "thread-local",
            Object::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.bytes.max(1);
        let part = |offset: u64| match count {
            1 => format!("byte {offset} of"),
            _ => format!("bytes {offset}..{} of", offset.saturating_add(count)),
        };
        match &self.object {
            Object::Global {
                name, size, offset, ..
            } if (*offset, *size) == (0, count) => f.write_str(name),
            Object::Global { name, offset, .. } => write!(f, "{} {name}", part(*offset)),
            Object::Heap { size, offset, .. } => {
                let size = counted(*size, "byte", "bytes");
                write!(f, "{} a heap block of {size}", part(*offset))
            }
            Object::Stack { function, .. } if function.is_empty() => {
                f.write_str("a local variable")
            }
            Object::Stack { function, .. } => {
                write!(f, "a local variable of {}", shortened(function))
            }
            Object::ThreadLocal => f.write_str("a thread-local variable"),
            Object::Unknown => {
                let bytes = counted(count, "byte", "bytes");
                write!(f, "the {bytes} at {:#x}", self.address)
            }
        }
    }
}

/// `1 byte`, `2 bytes`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// The name of a function, generic arguments included, cut at 100 characters.
pub fn shortened(function: &str) -> String {
    const LONGEST: usize = 100;
    match function.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &function[..end]),
        None => function.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_reads_as_the_user_would_write_it() {
        let element = Location::Element {
            object: "B#2".to_owned(),
            indices: vec!["1".to_owned(), "n - 1".to_owned()],
        };
        let field = Location::Field {
            object: "p.next".to_owned(),
            field: "x".to_owned(),
        };
        assert_eq!(element.to_string(), "B#2[1, n - 1]");
        assert_eq!(field.to_string(), "p.next.x");
        assert_eq!(Location::Global("total".to_owned()).to_string(), "total");
        assert_eq!(element.object(), Some("B#2"));
        assert_eq!(field.object(), Some("p.next"));
        assert_eq!(Location::Global("total".to_owned()).object(), None);
    }
}
