//! Lists the accesses to one location in the order of the run.

use finishline_model::{Access, AccessPoint, Event, Location, Observer};

/// The most accesses that are remembered.
const MOST_REMEMBERED: usize = 1000;

#[derive(Default)]
pub(crate) struct Watcher {
    /// None until the location exists.
    pub(crate) location: Option<Location>,
    isolated: bool,
    pub(crate) seen: Vec<AccessPoint>,
    /// The number of all accesses.
    pub(crate) count: u64,
}

impl Observer for Watcher {
    fn event(&mut self, event: &Event) {
        match event {
            Event::IsolatedBegin { .. } => self.isolated = true,
            Event::IsolatedEnd { .. } => self.isolated = false,
            _ => {}
        }
    }

    fn access(&mut self, access: &Access) {
        let watched = |location: &Location| Some(*location) == self.location;
        let times = access.locations().filter(watched).count();
        self.count += times as u64;
        let Access { task, id, kind, .. } = *access;
        let point = AccessPoint {
            task,
            access: id,
            kind,
            isolated: self.isolated,
        };
        let room = MOST_REMEMBERED - self.seen.len();
        self.seen
            .extend(std::iter::repeat_n(point, times.min(room)));
    }
}
