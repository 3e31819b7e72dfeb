//! What never ends, and who waits for it.
//!
//! A loop that never ends keeps its task for ever, and so does a join that waits for such a task.
//! Nothing behind it happens: neither what follows in the task, nor later iterations of the loops
//! around it, nor what waits for the task. A creator goes on, whatever becomes of its tasks.
//!
//! Only what surely never ends is left out, so no access that may happen is lost.

use super::Walker;
use crate::sets::{Result, Set};

/// The tasks that a finish waits for in vain.
pub(super) struct Endless {
    /// Where the path of the finish ends: the scope of its `sync`.
    scope: usize,
    /// One set of instances for each creation in the text.
    tasks: Vec<Set>,
}

impl Walker<'_> {
    /// Control does not come further in these instances.
    pub(super) fn stay(&mut self, instances: &Set) -> Result<()> {
        let staying = self.domain.intersect(instances)?;
        if staying.is_empty()? {
            return Ok(());
        }
        self.facts.may_stop = true;
        if !self.is_known(&staying)? {
            return Ok(());
        }
        self.domain = self.domain.subtract(&staying)?;
        if let Some(jumps) = self.jumps.last_mut() {
            jumps.stays = jumps.stays.union(&staying)?;
        }
        Ok(())
    }

    /// Does what a task does. Its creator goes on, in the same domain.
    pub(super) fn detached(&mut self, run: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let creator = self.domain.clone();
        let jumps = std::mem::take(&mut self.jumps);
        run(self)?;
        self.jumps = jumps;
        let ended = std::mem::replace(&mut self.domain, creator);
        let endless = self.domain.subtract(&ended)?;
        if let Some(finish) = self.endless.last_mut() {
            finish.tasks.push(endless);
        }
        Ok(())
    }

    /// The number of creations in the innermost finish so far.
    pub(super) fn endless_so_far(&self) -> usize {
        self.endless.last().map_or(0, |finish| finish.tasks.len())
    }

    /// Leaves only those tasks of the creations since then for which a condition holds.
    pub(super) fn narrow_endless(&mut self, since: usize, condition: &Set) -> Result<()> {
        if let Some(finish) = self.endless.last_mut() {
            for tasks in &mut finish.tasks[since..] {
                *tasks = tasks.intersect(condition)?;
            }
        }
        Ok(())
    }

    /// A finish begins.
    pub(super) fn begin_waiting(&mut self) {
        self.endless.push(Endless {
            scope: self.path.len() + 1,
            tasks: Vec::new(),
        });
    }

    /// A finish ends, if all its tasks do.
    pub(super) fn end_waiting(&mut self) -> Result<()> {
        match self.endless.pop() {
            Some(finish) => self.stay_for(&finish.tasks),
            None => Ok(()),
        }
    }

    /// A `sync` waits for the tasks of its scope so far.
    pub(super) fn wait(&mut self, scope: usize) -> Result<()> {
        match self.endless.last() {
            Some(finish) if finish.scope == scope => {
                let tasks = finish.tasks.clone();
                self.stay_for(&tasks)
            }
            _ => Ok(()),
        }
    }

    /// Waits for tasks that never end.
    fn stay_for(&mut self, tasks: &[Set]) -> Result<()> {
        for tasks in tasks {
            self.stay(&self.in_some_iteration(tasks)?)?;
        }
        Ok(())
    }
}
