//! The last writer, and the readers since then that nothing later stands for. Exact for every run
//! that lists the steps in an order of their partial order.
//!
//! The last writer w is enough: if an earlier write does not happen before the current access, then
//! w does not either, or the two writes race and the location is known already. All readers since w
//! are enough, because a read only races with writes. If a reader happens before a later reader, it
//! happens before everything that the later one happens before, so it can be forgotten.
//!
//! Readers are forgotten lazily. A read asks about the latest reader alone, so the reads of one
//! task one after the other take one place. When the list has doubled, a read asks about all of it.
//! A write asks about each reader and forgets all. So an access takes amortised constant time, and
//! the list is at most twice as long as what it is needed for, if the reads since the last cleaning
//! are not counted.

use super::History;
use finishline_detect::order::isolation::StepId;
use finishline_model::AccessKind;

#[derive(Debug, Default)]
pub struct MaximalReaders {
    writer: Option<StepId>,
    latest_reader: Option<StepId>,
    others: Option<Box<Others>>,
}

/// The other readers since the last write.
#[derive(Debug)]
struct Others {
    readers: Vec<StepId>,
    /// The length at which they are asked about.
    clean_at: usize,
}

const CLEAN_FROM: usize = 8;

impl History for MaximalReaders {
    #[inline]
    fn is_known(&self, step: StepId, kind: AccessKind) -> bool {
        self.writer == Some(step) || kind == AccessKind::Read && self.latest_reader == Some(step)
    }

    fn access(
        &mut self,
        step: StepId,
        kind: AccessKind,
        mut before: impl FnMut(StepId) -> bool,
        _: impl Fn(StepId) -> Option<u32>,
    ) -> Option<StepId> {
        let racing_writer = self.writer.filter(|&writer| !before(writer));
        match kind {
            AccessKind::Write => {
                let others = self.others.take();
                let others = others.iter().flat_map(|others| others.readers.iter());
                let mut readers = self.latest_reader.iter().chain(others);
                let racing_reader = readers.find(|&&reader| !before(reader)).copied();
                *self = MaximalReaders {
                    writer: Some(step),
                    ..MaximalReaders::default()
                };
                racing_writer.or(racing_reader)
            }
            AccessKind::Read => {
                let latest = self.latest_reader.replace(step);
                if let Some(latest) = latest.filter(|&latest| !before(latest)) {
                    self.keep(latest, before);
                }
                racing_writer
            }
        }
    }
}

impl MaximalReaders {
    fn keep(&mut self, reader: StepId, mut before: impl FnMut(StepId) -> bool) {
        let others = self.others.get_or_insert_with(|| {
            Box::new(Others {
                readers: Vec::new(),
                clean_at: CLEAN_FROM,
            })
        });
        others.readers.push(reader);
        if others.readers.len() >= others.clean_at {
            others.readers.retain(|&reader| !before(reader));
            others.clean_at = CLEAN_FROM.max(2 * others.readers.len());
        }
    }
}
