//! The first pass of DRDP: the last writer of a location, and a list of its readers since.
//!
//! [DRDP Fig. 8, lines 40 to 55]
//!
//! ```text
//! read     races with a parallel writer; is added to the list
//! write    races with a parallel writer and with each parallel reader; empties the list
//! ```
//!
//! DIVERGENCE: a step that reads a location again is not added to the list again.

use crate::Failure;
use crate::findings::{Findings, Found};
use crate::locations::MOST_LOCATIONS;
use crate::order::{LOCKS, NOBODY, Order, Stamp};
use crate::table::{Table, make_room};
use finishline_model::{Access, AccessKind, Event, Location, Observer};

/// A reader, and the number of the next one in the list. 0 is the end.
#[derive(Clone, Copy, Debug)]
struct Reader {
    stamp: Stamp,
    next: u32,
}

#[derive(Debug)]
pub struct Listed<O: Order> {
    order: O,
    /// The writer, and the number of the newest reader.
    cells: Table<[u32; 2]>,
    readers: Vec<Reader>,
    /// The first of the readers that are in no list.
    free: u32,
    found: Found,
}

impl<O: Order> Listed<O> {
    pub fn new() -> Result<Self, Failure> {
        Self::over(O::new()?)
    }

    /// With an order of one's own.
    pub fn over(order: O) -> Result<Self, Failure> {
        let end = Reader {
            stamp: NOBODY,
            next: 0,
        };
        Ok(Listed {
            order,
            cells: Table::reserve("locations", MOST_LOCATIONS)?,
            readers: vec![end],
            free: 0,
            found: Found::new()?,
        })
    }

    /// The order, to ask what its answers took.
    pub fn order(&self) -> &O {
        &self.order
    }

    /// The findings of a run that has ended or was cut short.
    pub fn finish(self) -> Result<Findings, Failure> {
        let readers = self.readers.capacity() * size_of::<Reader>();
        let location_bytes = self.cells.used_bytes() + readers;
        self.found.finish(&self.order, location_bytes)
    }

    fn follow(&mut self, event: &Event) -> Result<(), Failure> {
        self.found.statistics.event(event);
        match event {
            Event::IsolatedBegin { .. } => Err(Failure::Unsupported("isolated")),
            Event::Lock { .. } | Event::Unlock { .. } => Err(Failure::Unsupported(LOCKS)),
            _ => self.order.event(event),
        }
    }

    fn check(&mut self, access: &Access, location: Location) -> Result<(), Failure> {
        let index = location.0 as usize;
        self.cells.grow_to(index.saturating_add(1))?;
        let strand = self.order.strand(access.task);
        let now = self.order.stamp(strand);
        let [writer, newest] = self.cells[index];
        let mut races = self.order.parallel(strand, writer);
        match access.kind {
            AccessKind::Read => {
                if self.readers[newest as usize].stamp != now {
                    self.cells[index][1] = self.add(now, newest)?;
                }
            }
            AccessKind::Write => {
                let mut number = newest;
                while number != 0 {
                    let reader = self.readers[number as usize];
                    races |= self.order.parallel(strand, reader.stamp);
                    self.readers[number as usize].next = self.free;
                    self.free = number;
                    number = reader.next;
                }
                self.cells[index] = [now, 0];
            }
        }
        if races {
            self.found.race(location);
        }
        Ok(())
    }

    fn add(&mut self, stamp: Stamp, next: u32) -> Result<u32, Failure> {
        let mut number = self.free;
        if number == 0 {
            make_room(&mut self.readers, 1, "readers")?;
            number = self.readers.len() as u32;
            self.readers.push(Reader { stamp, next });
        } else {
            self.free = self.readers[number as usize].next;
            self.readers[number as usize] = Reader { stamp, next };
        }
        Ok(number)
    }
}

impl<O: Order> Observer for Listed<O> {
    fn event(&mut self, event: &Event) {
        if self.found.failure.is_none() {
            self.found.failure = self.follow(event).err();
        }
    }

    fn access(&mut self, access: &Access) {
        self.found.statistics.access(access);
        for location in access.locations() {
            if self.found.failure.is_none()
                && let Err(failure) = self.check(access, location)
            {
                self.found.fail(failure);
            }
        }
    }
}
