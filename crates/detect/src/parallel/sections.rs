//! In which order the tasks of a parallel run were in isolated and locked blocks.
//!
//! A race may be there in some orders of the blocks alone. Whoever wants to see it again needs the
//! order: the task of each block, in the order in which the blocks began. Each lock that a task
//! takes begins a block, also inside another one. A task has no number that is the same in every
//! run, but its path is: whose child it is, and the how-many-eth. So tasks of programs with blocks
//! have an *origin*, a row with the parent's row and the child's number.
//!
//! **Tickets.** A ticket, from a counter of all workers, is drawn when a block has begun, while the
//! lock is held. Whoever takes the lock next draws later. So if the blocks begin in the order of
//! their tickets, and each task runs on until its next block, every lock is free when it is taken:
//! its last holder has given it up before it began a block with a later ticket.
//!
//! **Runs of blocks.** The blocks of one task on one worker are one *run* as long as the task
//! neither waits, gets nor joins anything in between, nor takes a lock that another worker held
//! last. Nothing else has to come between the blocks of a run, so one note and the ticket of the
//! first block stand for all of them. A block that has to come after one of the run finds the lock
//! given up by this worker, or learns of the task in another way. So it has a later ticket.

use super::rows::Rows;
use crate::Failure;
use crate::atomics::{AtomicU64, Ordering};

/// The row of a task in the table of origins.
pub(super) type Origin = u32;

/// What all workers share, if the program has blocks.
pub(super) struct Sections {
    /// By origin: that of the parent, and which child of it this is.
    origins: Rows<2>,
    tickets: AtomicU64,
}

/// `main`, and tasks of whom there is no room for a row.
const MAIN: Origin = 0;
const UNKNOWN: Origin = Origin::MAX;

const MOST_TASKS: usize = 1 << 30;
/// A worker notes at most so many runs. Then the order is not known.
const MOST_RUNS: usize = 1 << 24;

/// What a task carries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InSections {
    origin: Origin,
    children: u32,
}

/// Blocks of a task.
#[derive(Clone, Copy, Debug)]
struct Run {
    ticket: u64,
    task: Origin,
    blocks: u32,
}

/// The notes of a worker.
#[derive(Debug, Default)]
pub(super) struct Notes {
    runs: Vec<Run>,
    /// Whether the next block of the task belongs to the latest run.
    goes_on: bool,
    is_full: bool,
}

impl Sections {
    pub(super) fn new() -> Result<Sections, Failure> {
        let origins = Rows::reserve("tasks of programs with blocks", MOST_TASKS)?;
        // The row of `main` has nothing.
        origins.take(1)?;
        Ok(Sections {
            origins,
            tickets: AtomicU64::new(0),
        })
    }

    pub(super) fn child(&self, creator: &mut InSections) -> InSections {
        let row = [creator.origin, creator.children];
        creator.children += 1;
        InSections {
            origin: self.origins.add(row).unwrap_or(UNKNOWN),
            ..InSections::default()
        }
    }

    /// The way from `main` to a task. None if it is not known.
    fn path(&self, task: Origin) -> Option<Vec<u32>> {
        let mut path = Vec::new();
        let mut at = task;
        while at != MAIN {
            if at == UNKNOWN {
                return None;
            }
            let [parent, number] = self.origins.get(at);
            path.push(number);
            at = parent;
        }
        path.reverse();
        Some(path)
    }

    pub(super) fn used_bytes(&self) -> usize {
        self.origins.used_bytes()
    }
}

impl Notes {
    /// A task has begun a block, and holds its lock.
    #[inline]
    pub(super) fn begin(&mut self, sections: &Sections, task: &InSections) {
        match self.runs.last_mut() {
            Some(run) if self.goes_on && run.task == task.origin && run.blocks < u32::MAX => {
                run.blocks += 1;
            }
            _ => self.begin_run(sections, task.origin),
        }
    }

    fn begin_run(&mut self, sections: &Sections, task: Origin) {
        self.goes_on = self.runs.len() < MOST_RUNS && self.runs.try_reserve(1).is_ok();
        if !self.goes_on {
            self.is_full = true;
            return;
        }
        self.runs.push(Run {
            // A number alone: the lock, or the hand-over of the task, orders the rest.
            ticket: sections.tickets.fetch_add(1, Ordering::Relaxed),
            task,
            blocks: 1,
        });
    }

    /// The next block may have to come after those of other workers.
    #[inline]
    pub(super) fn end_run(&mut self) {
        self.goes_on = false;
    }
}

/// The paths of the tasks that were in blocks, a block each time, in the order in which the blocks
/// began. None if that is not known.
pub(super) fn order(sections: &Sections, workers: Vec<Notes>) -> Option<Vec<Vec<u32>>> {
    if workers.iter().any(|notes| notes.is_full) {
        return None;
    }
    let mut runs: Vec<Run> = workers.into_iter().flat_map(|notes| notes.runs).collect();
    runs.sort_unstable_by_key(|run| run.ticket);
    let mut blocks = Vec::new();
    for run in runs {
        let path = sections.path(run.task)?;
        blocks.extend(std::iter::repeat_n(path, run.blocks as usize));
    }
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happens on a worker.
    enum Step {
        Begins(usize),
        /// The task takes a lock that another worker held last.
        TakesOver,
    }

    /// Tasks are numbered as they are created, by these tasks.
    fn order_of(creators: &[usize], steps: &[(usize, Step)]) -> Option<Vec<Vec<u32>>> {
        let sections = Sections::new().unwrap();
        let mut tasks = vec![InSections::default()];
        for creator in creators {
            let child = sections.child(&mut tasks[*creator]);
            tasks.push(child);
        }
        let mut workers = [Notes::default(), Notes::default()];
        for (worker, step) in steps {
            let notes = &mut workers[*worker];
            match *step {
                Step::Begins(task) => notes.begin(&sections, &tasks[task]),
                Step::TakesOver => notes.end_run(),
            }
        }
        order(&sections, workers.into())
    }

    use Step::{Begins, TakesOver};

    #[test]
    fn blocks_are_in_the_order_in_which_they_begin_and_tasks_have_paths() {
        let steps = [
            (0, Begins(1)),
            (1, Begins(3)),
            // It goes on on another worker, inside the block.
            (0, Begins(3)),
            (1, Begins(0)),
        ];
        let expected = vec![vec![0], vec![1, 0], vec![1, 0], vec![]];
        assert_eq!(order_of(&[0, 0, 2], &steps), Some(expected));
    }

    #[test]
    fn a_run_of_blocks_ends_where_another_worker_was_in_between() {
        let (one, other) = (|| (0, Begins(1)), || (1, Begins(2)));
        let expected = vec![vec![0], vec![0], vec![1]];
        assert_eq!(order_of(&[0, 0], &[one(), other(), one()]), Some(expected));

        let steps = [one(), other(), (0, TakesOver), one()];
        let expected = vec![vec![0], vec![1], vec![0]];
        assert_eq!(order_of(&[0, 0], &steps), Some(expected));
    }
}
