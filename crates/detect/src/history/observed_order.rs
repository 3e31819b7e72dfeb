//! The last writer and two readers: exact for the order in which the isolated blocks of this run
//! happened to run.
//!
//! A race by task structure is only *apparent* if that order separates its two accesses. The
//! structural histories keep too little to tell whether all races of a location are apparent: in
//! `async {r; isolated {}} async {r} isolated {} w` the first reader stands for the second, yet the
//! blocks order only the first before the write. This history keeps
//!
//! - the last writer, as ever;
//! - of the readers since, an *open* one, which no isolated block has followed yet in its own
//!   order, and the *closed* one followed latest: of two closed readers, the one with the lesser
//!   first block happens before whatever the other happens before, unless by structure.
//!
//! On a read, readers that happen before it go. If an open one remains, it stands for this one too.
//! Otherwise the latest closed one and this one stay. Which reader is open or closed changes with
//! time, so the order is asked anew. Two isolated accesses are always ordered.
//!
//! For depth-first runs. Compared with the oracle on every small program and on random ones, not
//! proved; no such run is known in which keeping the other one of two closed readers would be
//! wrong. Used for the watched locations of the second pass; constant time for each access.

use crate::order::Stamp;
use crate::order::isolation::StepId;
use finishline_model::{AccessKind, AccessPoint};

/// An access as the second pass remembers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remembered {
    pub point: AccessPoint,
    pub stamp: Stamp,
    pub step: StepId,
}

/// What is remembered of one location.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObservedOrder {
    writer: Option<Remembered>,
    /// At most one is open.
    readers: [Option<Remembered>; 2],
}

impl ObservedOrder {
    /// The remembered accesses that race with this one. `before` tells whether one happens before
    /// it in this run, `first_block` the first isolated block that follows one by task structure.
    pub fn access(
        &mut self,
        now: Remembered,
        mut before: impl FnMut(&Remembered) -> bool,
        first_block: impl Fn(&Remembered) -> Option<u32>,
    ) -> [Option<Remembered>; 3] {
        let writer = self.writer.filter(|writer| !before(writer));
        let [a, b] = self
            .readers
            .map(|reader| reader.filter(|reader| !before(reader)));
        match now.point.kind {
            AccessKind::Write => {
                *self = ObservedOrder {
                    writer: Some(now),
                    readers: [None; 2],
                };
                [writer, a, b]
            }
            AccessKind::Read => {
                let is_open = |reader: &Remembered| first_block(reader).is_none();
                self.readers = if a.iter().chain(&b).any(is_open) {
                    [a, b]
                } else {
                    let latest = a
                        .into_iter()
                        .chain(b)
                        .max_by_key(|reader| first_block(reader));
                    [latest, Some(now)]
                };
                [writer, None, None]
            }
        }
    }
}
