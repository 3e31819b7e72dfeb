//! What a second run finds besides the racing accesses: names of locations, the accesses to a
//! watched location, and the nesting depth of tasks. The depth decides how many paths of tasks fit
//! into a report.

use crate::names::Names;
use crate::watch::Watcher;
use finishline_ir::Module;
use finishline_ir::listener::{Allocated, Listener};
use finishline_model::{Access, Event, Location, Observer, TaskId};

/// Listens to a second run.
pub(crate) struct Rerun<'m> {
    pub(crate) names: Names<'m>,
    pub(crate) watcher: Option<Watcher>,
    pub(crate) depths: Depths,
}

impl<'m> Rerun<'m> {
    /// Names these locations, and lists the accesses to the location called `watch`.
    pub(crate) fn new(module: &'m Module, to_name: &[Location], watch: Option<&str>) -> Self {
        Rerun {
            names: Names::new(module, to_name, watch),
            watcher: watch.map(|_| Watcher::default()),
            depths: Depths::default(),
        }
    }
}

impl Observer for Rerun<'_> {
    fn event(&mut self, event: &Event) {
        if let Event::TaskBegin { parent, .. } = event {
            self.depths.begin(*parent);
        }
        if let Some(watcher) = &mut self.watcher {
            watcher.event(event);
        }
    }

    #[inline]
    fn access(&mut self, access: &Access) {
        if let Some(watcher) = &mut self.watcher {
            watcher.access(access);
        }
    }
}

impl Listener for Rerun<'_> {
    fn allocated(&mut self, object: &Allocated<'_>) {
        self.names.allocated(object);
        if let Some(watcher) = &mut self.watcher {
            // Nothing can access the location before it exists.
            watcher.location = self.names.found();
        }
    }
}

/// The number of tasks on the path to each task, without `main`. Four bytes a task.
#[derive(Default)]
pub(crate) struct Depths(Vec<u32>);

impl Depths {
    /// Tasks are numbered in the order in which they begin.
    fn begin(&mut self, parent: Option<TaskId>) {
        let depth = parent.map_or(0, |parent| self.0[parent.index()] + 1);
        self.0.push(depth);
    }

    pub(crate) fn of(&self, task: TaskId) -> usize {
        self.0.get(task.index()).map_or(0, |depth| *depth as usize)
    }
}
