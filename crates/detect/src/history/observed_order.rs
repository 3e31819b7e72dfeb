//! The last writer and two readers. Exact for the order in which the isolated blocks of this run
//! happened to run.
//!
//! A race by task structure is only *apparent* if that order separates its two accesses. The
//! structural histories keep too little to tell whether all races of a location are apparent. In
//! `async {r; isolated {}} async {r} isolated {} w` the first reader stands for the second, but the
//! blocks order only the first before the write. This history keeps
//!
//! - the last writer, like the others;
//! - an *open* reader since then: no isolated block has followed it yet in its own order;
//! - the *closed* reader that was followed latest. Of two closed readers, the one with the lesser
//!   first block happens before everything that the other happens before, unless by structure.
//!
//! A read removes the readers that happen before it. If an open reader remains, it stands for the
//! new one too. Otherwise the latest closed reader and the new one stay. A reader can become closed
//! later, so the order is asked each time. Two isolated accesses are always ordered.
//!
//! The history is for depth-first runs. It is compared with the oracle on every small program and
//! on random ones, but not proved. No such run is known in which keeping the other one of two
//! closed readers would be wrong. The second pass uses it for watched locations, and the crate
//! `graph` for all. An access takes constant time.

use finishline_model::AccessKind;

/// The history of one location. What is remembered of an access is the driver's choice.
#[derive(Clone, Copy, Debug)]
pub struct ObservedOrder<R> {
    writer: Option<R>,
    /// At most one of them is open.
    readers: [Option<R>; 2],
}

impl<R> Default for ObservedOrder<R> {
    fn default() -> Self {
        ObservedOrder {
            writer: None,
            readers: [None, None],
        }
    }
}

impl<R: Copy + PartialEq> ObservedOrder<R> {
    /// Whether this access, or a write like it, is remembered. Then it changes and finds nothing.
    #[inline]
    pub fn remembers(&self, now: R, kind: AccessKind) -> bool {
        self.writer == Some(now) || kind == AccessKind::Read && self.readers.contains(&Some(now))
    }

    /// The remembered accesses that race with this one. `before` says whether an access happens
    /// before it in this run. `first_block` gives the first isolated block that follows an access
    /// by task structure.
    pub fn access(
        &mut self,
        now: R,
        kind: AccessKind,
        mut before: impl FnMut(&R) -> bool,
        first_block: impl Fn(&R) -> Option<u32>,
    ) -> [Option<R>; 3] {
        let writer = self.writer.filter(|writer| !before(writer));
        let [a, b] = self
            .readers
            .map(|reader| reader.filter(|reader| !before(reader)));
        match kind {
            AccessKind::Write => {
                *self = ObservedOrder {
                    writer: Some(now),
                    readers: [None; 2],
                };
                [writer, a, b]
            }
            AccessKind::Read => {
                let is_open = |reader: &R| first_block(reader).is_none();
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
