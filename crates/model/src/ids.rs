//! Typed indices. Entities are kept in flat tables and named by 32-bit ids.

use std::fmt;

/// Declares ids that index flat tables.
#[macro_export]
macro_rules! entity {
    ($($(#[$doc:meta])* $name:ident, $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the table entry at `index`. Tables have fewer than 2³² entries.
            #[inline]
            pub fn from_index(index: usize) -> Self {
                $name(u32::try_from(index).expect("a table holds fewer than 2^32 entries"))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    )*};
}

entity! {
    /// One dynamic instance of `main`, `async` or `spawn`, numbered in order of creation.
    TaskId, "task";
    /// One dynamic instance of a finish: lexical, `begin_finish`, a sync scope, or main's own.
    FinishId, "finish";
    /// A place in the source.
    SiteId, "site";
    /// One shared access of the source, numbered during type checking. Front end, IR, detectors and
    /// report name an access by this id.
    AccessId, "acc";
    /// A `new` of the source, or the global variables.
    AllocationId, "alloc";
    /// A lock of the program.
    LockId, "lock";
    /// An object that orders tasks by release and acquire: an atomic variable, a channel.
    ObjectId, "object";
}

impl LockId {
    /// The lock that an atomic access holds.
    pub const ATOMIC: LockId = LockId(u32::MAX);
    /// The lock that an isolated block holds.
    pub const ISOLATED: LockId = LockId(u32::MAX - 1);
    /// The lock that a task holds, shared, during a glimpse. It excludes nobody.
    pub const GLIMPSE: LockId = LockId(u32::MAX - 2);
}

impl TaskId {
    pub const MAIN: TaskId = TaskId(0);
}

impl FinishId {
    /// The finish around the body of `main`.
    pub const ROOT: FinishId = FinishId(0);
}

/// A memory location: one array element, one field, one global variable.
///
/// The locations of an object are consecutive, so an array's elements are a range.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location(pub u64);

impl Location {
    #[inline]
    pub const fn offset(self, by: u64) -> Location {
        Location(self.0 + by)
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "loc{}", self.0)
    }
}
