//! The judgement of some locations of a run. Accesses to the others are left out, which does not
//! change what a detector says about these: its order knows no locations, and its history has a
//! cell for each. What the run did in all is counted.

use crate::partition::Part;
use finishline_detect::LocationSet;
use finishline_detect::detectors::Drive;
use finishline_model::{Access, Event, Location, Observer, Statistics};

/// The locations that are judged.
#[derive(Clone, Copy)]
pub(crate) enum Focus<'a> {
    Part(Part),
    Only(&'a LocationSet),
}

impl Focus<'_> {
    fn has(self, location: Location) -> bool {
        match self {
            Focus::Part(part) => part.has_location(location),
            Focus::Only(locations) => locations.contains(location),
        }
    }
}

/// A run, told as far as it is about some locations.
pub(crate) struct About<'a, D> {
    pub(crate) run: D,
    pub(crate) focus: Focus<'a>,
}

impl<D: Drive> Drive for About<'_, D> {
    type Output = Statistics;

    fn drive(self, observer: &mut impl Observer) -> Statistics {
        let mut focused = Focused {
            observer,
            focus: self.focus,
            all: Statistics::default(),
        };
        self.run.drive(&mut focused);
        focused.all
    }
}

struct Focused<'a, O> {
    observer: &'a mut O,
    focus: Focus<'a>,
    all: Statistics,
}

impl<O: Observer> Observer for Focused<'_, O> {
    fn event(&mut self, event: &Event) {
        self.all.event(event);
        self.observer.event(event);
    }

    fn access(&mut self, access: &Access) {
        self.all.access(access);
        for first in access.locations().filter(|it| self.focus.has(*it)) {
            self.observer.access(&Access {
                first,
                count: 1,
                ..*access
            });
        }
    }
}
