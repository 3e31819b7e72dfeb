//! Do the isolated blocks of parallel tasks conflict, if updates by one operation count as
//! exchangeable?
//!
//! A detector knows reads and writes alone: two blocks that both do `count += 1` conflict for it.
//! If it finds such a conflict, and no race, one more run decides whether it is more than that. Of
//! each location that blocks touch, one access of each kind is kept: a read, a write, an update by
//! each operation. In a depth-first run that is enough, as one reader is for ESP-bags: of two
//! accesses the earlier one is kept if it is parallel to the later one, and then it is parallel to
//! whatever the later one is parallel to afterwards.

use crate::question::{Question, Subject};
use finishline_detect::Failure;
use finishline_detect::order::{EspBags, NOBODY, Order, Stamp};
use finishline_ir::BinaryOp;
use finishline_ir::listener::EventsAlone;
use finishline_ir::updates::updates;
use finishline_model::{Access, AccessId, AccessKind, Event, Location, Observer};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Whether some isolated blocks of parallel tasks conflict in the depth-first run of the program.
/// True if that can't be found out.
pub(crate) fn isolated_blocks_conflict(question: &Question<'_>) -> bool {
    let updates = updates(question.module);
    if updates.is_empty() {
        return true;
    }
    let Ok(order) = EspBags::new() else {
        return true;
    };
    let mut observer = Commuting {
        order,
        updates,
        in_block: false,
        kept: FxHashMap::default(),
        conflict: false,
        failure: None,
    };
    question.again(&mut EventsAlone(&mut observer));
    observer.conflict || observer.failure.is_some()
}

/// What a block does with a location: the index of what is kept of it.
const READ: usize = 0;
const WRITE: usize = 1;
const KINDS: usize = 6;

fn kind_of_update(op: BinaryOp) -> usize {
    match op {
        BinaryOp::Add => 2,
        BinaryOp::And => 3,
        BinaryOp::Or => 4,
        BinaryOp::Xor => 5,
        _ => WRITE,
    }
}

fn conflict(a: usize, b: usize) -> bool {
    a != b || a == WRITE
}

struct Commuting {
    order: EspBags,
    updates: BTreeMap<AccessId, BinaryOp>,
    in_block: bool,
    kept: FxHashMap<Location, [Stamp; KINDS]>,
    conflict: bool,
    failure: Option<Failure>,
}

impl Observer for Commuting {
    fn event(&mut self, event: &Event) {
        match event {
            Event::IsolatedBegin { .. } => self.in_block = true,
            Event::IsolatedEnd { .. } => self.in_block = false,
            _ => {}
        }
        if let Err(failure) = self.order.event(event) {
            self.failure.get_or_insert(failure);
        }
    }

    fn access(&mut self, access: &Access) {
        if !self.in_block || self.conflict || self.failure.is_some() {
            return;
        }
        let kind = match (self.updates.get(&access.id), access.kind) {
            (Some(op), _) => kind_of_update(*op),
            (None, AccessKind::Read) => READ,
            (None, AccessKind::Write) => WRITE,
        };
        let strand = self.order.strand(access.task);
        let now = self.order.stamp(strand);
        for location in access.locations() {
            let kept = self.kept.entry(location).or_insert([NOBODY; KINDS]);
            let mut is_parallel =
                |kept: Stamp| kept != NOBODY && kept != now && self.order.parallel(strand, kept);
            for (other, stamp) in kept.iter().enumerate() {
                self.conflict |= conflict(kind, other) && is_parallel(*stamp);
            }
            if !is_parallel(kept[kind]) {
                kept[kind] = now;
            }
        }
    }
}
