//! Blocks that were freed and are kept for a while: the quarantine, as the checker sees it.
//!
//! The process keeps the memory of freed blocks ([`Options::quarantine`] bytes of it) before it
//! gives it back to the allocator, and tells when each block comes and goes. While a block is kept,
//! its memory is nobody's. So an access of it is wrong whoever makes it. If the access is parallel
//! to the free, the two race, as the detector finds. If the free precedes the access, this is a
//! **use after free**: [`Found::after_free`](super::Found::after_free).
//!
//! **Marks.** The cells of a kept block are marked ([`Inline::mark_ended`]), so that the first
//! access of each is not decided by a fast path. That access takes the mark away, so it is the one
//! that is reported, and accesses of live memory cost nothing more. Cells whose history is
//! elsewhere have no mark and never a fast path: their accesses look for a kept block.
//!
//! **Alone.** While nothing runs in parallel, accesses are not checked, so uses are not seen. A
//! block that is freed then is marked when something becomes parallel, if it is still kept. A
//! second free of a block is seen in any case.
//!
//! **Memory.** A mark is a cell, so kept blocks have as many bytes of cells as they have bytes.
//! When a big block is given back its cells are forgotten, since the next owner of its addresses
//! may not be announced.
//!
//! [`Options::quarantine`]: super::options::Options::quarantine
//! [`Inline::mark_ended`]: finishline_detect::inline::Inline::mark_ended

use super::sites::{Site, length};
use super::{Checker, Detection, Detector, GIVEN_BACK, Here};
use crate::facts::heap::KeptBlock;
use crate::facts::races::{ConflictingAccess, Manner, Names, Object};
use finishline_detect::history::Meeting;
use finishline_detect::inline::{ELSEWHERE, is_ended};
use finishline_detect::order::{Order, Running};
use finishline_model::AccessKind;
use finishline_trace::process::Call;
use std::ops::Range;

impl Checker {
    /// The block that was freed last at this address is kept.
    pub fn kept(&mut self, start: u64, place: u64) {
        let Some(block) = self.heap.freed(start) else {
            return;
        };
        self.note(|| Call::Kept { start, place });
        let at = self.position(place);
        let site = Site {
            kind: AccessKind::Write,
            at,
            bytes: length(block.bytes as usize),
            manner: Manner::Free,
        };
        self.note_situation();
        let Detection {
            detector, sites, ..
        } = &mut self.detection;
        let context = match sites.context(site, detector.contexts()) {
            Ok(context) => context,
            Err(failure) => return self.fail(failure),
        };
        let kept = KeptBlock {
            block,
            freed: at,
            task: self.structure.running(),
            holding: self.synchronisation.holding(),
            context,
        };
        self.heap.keep(kept);
        match self.glance.is_alone() {
            true => drop(self.unmarked.insert(start)),
            false => self.mark(&kept),
        }
    }

    /// The memory of a kept block may be allocated again from here on.
    pub fn given_back(&mut self, start: u64) {
        let Some(kept) = self.heap.kept(start) else {
            return;
        };
        self.note(|| Call::GivenBack(start));
        self.heap.give_back(start);
        self.unmarked.remove(&start);
        if kept.block.bytes >= GIVEN_BACK {
            self.forget(start, kept.block.bytes);
        }
    }

    /// A kept block is freed once more.
    pub fn freed_again(&mut self, start: u64, place: u64) {
        let Some(kept) = self.heap.kept(start) else {
            return;
        };
        self.note(|| Call::FreedAgain { start, place });
        if self.is_parallel_to_end(&kept) {
            self.end_of_block(kept.block, place);
            self.mark(&kept);
            return;
        }
        let here = Here {
            place,
            stack_pointer: u64::MAX,
        };
        let bytes = kept.block.bytes as usize;
        let use_of_it = (AccessKind::Write, bytes, Manner::Free);
        self.used_after_free(&kept, kept.block.range(), use_of_it, here);
    }

    /// Something is parallel from now on: marks what was freed before, if it is still kept.
    pub(super) fn mark_all(&mut self) {
        for start in std::mem::take(&mut self.unmarked) {
            if let Some(kept) = self.heap.kept(start) {
                self.mark(&kept);
            }
        }
    }

    fn mark(&mut self, kept: &KeptBlock) {
        let Range { mut start, end } = kept.block.range();
        let Detection {
            detector, shadow, ..
        } = &mut self.detection;
        while start < end {
            match shadow.cells(start, end - start, detector) {
                Ok(cells) => {
                    Detector::mark_ended(cells.cells, kept.context);
                    start += cells.bytes();
                }
                Err(failure) => return self.fail(failure),
            }
        }
    }

    fn is_parallel_to_end(&mut self, kept: &KeptBlock) -> bool {
        let contexts = self.detection.detector.contexts();
        contexts.parallel(Running, kept.context)
    }

    /// What an access used that lies in these ranges of possibly kept memory.
    #[cold]
    pub(super) fn uses_of_kept(
        &mut self,
        ranges: Vec<Range<u64>>,
        access: (AccessKind, usize, Manner),
        here: Here,
    ) {
        for Range { mut start, end } in ranges {
            while let Some(next) = self.heap.next_kept(start..end) {
                let Some(kept) = self.heap.kept(next) else {
                    break;
                };
                let block = kept.block.range();
                let used = start.max(block.start)..end.min(block.end);
                start = used.end;
                if !self.is_parallel_to_end(&kept) {
                    self.used_after_free(&kept, used, access, here);
                }
            }
        }
    }

    fn used_after_free(
        &mut self,
        kept: &KeptBlock,
        used: Range<u64>,
        (kind, bytes, manner): (AccessKind, usize, Manner),
        here: Here,
    ) {
        let block = kept.block;
        let first = ConflictingAccess {
            kind: AccessKind::Write,
            manner: Manner::Free,
            bytes: length(block.bytes as usize),
            at: kept.freed,
            task: kept.task,
            holding: kept.holding,
        };
        let second = ConflictingAccess {
            kind,
            manner,
            bytes: length(bytes),
            at: self.position(here.place),
            task: self.structure.running(),
            holding: self.synchronisation.holding(),
        };
        let names = || Names {
            object: Object::Heap {
                start: block.start,
                bytes: block.bytes,
                allocated: block.allocated,
                task: block.task,
            },
            ordered_by: None,
            locks: [Vec::new(), Vec::new()],
        };
        let known = self.found.after_free.worth_telling();
        // Nothing lies between the two that could keep them from meeting.
        (self.found.after_free).add(first, second, used, Meeting::Race, names);
        if self.found.after_free.worth_telling() > known {
            (self.host.new_race)(self);
        }
    }
}

/// The addresses of those cells that a kept block may have.
pub(super) fn perhaps_kept(cells: &[u64], address: u64, piece: u64) -> Vec<Range<u64>> {
    let is_candidate = |cell: u64| is_ended(cell) | (cell == ELSEWHERE);
    // Without a branch, so that many cells are looked at together.
    let any = cells
        .iter()
        .fold(false, |any, cell| any | is_candidate(*cell));
    let mut found: Vec<Range<u64>> = Vec::new();
    if !any {
        return found;
    }
    for (cell, start) in cells.iter().zip((address..).step_by(piece as usize)) {
        match found.last_mut() {
            _ if !is_candidate(*cell) => {}
            Some(last) if last.end == start => last.end = start + piece,
            _ => found.push(start..start + piece),
        }
    }
    found
}
