//! The first pass over a run in which tasks take turns. It finds the exact set of racing locations.
//!
//! The rules are those of compiled code ([`Inline`]). Here the cells are a dense table, and every
//! access says which task makes it.

use crate::Failure;
use crate::findings::Findings;
use crate::inline::Inline;
use crate::locations::{LocationSet, MOST_LOCATIONS};
use crate::order::Order;
use crate::table::{Table, TableError};
use finishline_model::{Access, Event, Observer, TaskId};

#[derive(Debug)]
pub struct AnyOrder<O: Order> {
    inline: Inline<O>,
    cells: Table<u64>,
    running: TaskId,
    accesses: u64,
    full: Option<TableError>,
}

impl<O: Order> AnyOrder<O> {
    pub fn new() -> Result<Self, Failure> {
        Ok(AnyOrder {
            inline: Inline::new()?,
            cells: Table::reserve("locations", MOST_LOCATIONS)?,
            running: TaskId::MAIN,
            accesses: 0,
            full: None,
        })
    }

    /// The order, to ask what its answers took.
    pub fn order(&self) -> &O {
        self.inline.order()
    }

    /// The racing locations so far.
    pub fn racing(&self) -> &LocationSet {
        self.inline.racing()
    }

    /// Why the detector can't go on, if it can't.
    pub fn failure(&self) -> Option<Failure> {
        let full = self.full.map(Failure::from);
        full.or_else(|| self.inline.failure().cloned())
    }

    /// Starts over for another run, and keeps the memory.
    pub fn clear(&mut self) {
        self.inline.clear();
        self.cells.clear();
        (self.running, self.accesses, self.full) = (TaskId::MAIN, 0, None);
    }

    /// The findings of a run that has ended or was cut short.
    pub fn finish(self) -> Result<Findings, Failure> {
        if let Some(full) = self.full {
            return Err(full.into());
        }
        let mut findings = self.inline.finish(self.accesses)?;
        findings.location_bytes += self.cells.used_bytes();
        Ok(findings)
    }
}

impl<O: Order> Observer for AnyOrder<O> {
    fn event(&mut self, event: &Event) {
        // An allocation begins no step, so the detector does not look at its task.
        if !matches!(event, Event::Alloc { .. }) {
            self.running = event.task();
        }
        self.inline.event(event);
    }

    fn access(&mut self, access: &Access) {
        if access.task != self.running {
            self.running = access.task;
            self.inline.resume(access.task);
        }
        self.accesses += access.count;
        for location in access.locations() {
            let index = location.0 as usize;
            if index >= self.cells.len()
                && let Err(full) = self.cells.grow_to(index.saturating_add(1))
            {
                self.full.get_or_insert(full);
                return;
            }
            let cell = &mut self.cells[index];
            self.inline.undecided(access.kind, cell, 0, || location);
        }
    }
}
