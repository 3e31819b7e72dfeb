//! In which order the tasks of a parallel run were in isolated and locked blocks.
//!
//! A race may be there in some orders of the blocks alone. Whoever wants to see it again needs the
//! order: the task of each block, in the order in which the outermost blocks ended. A task has no
//! number that is the same in every run, but its path is: whose child it is, and the how-many-eth.
//! So tasks of programs with blocks have an *origin*, a row with the parent's row and the child's
//! number.
//!
//! **Runs of blocks.** The blocks of one task on one worker are one *run* as long as the task
//! neither waits, gets nor joins anything in between, nor takes a lock that another worker held
//! last. Nothing else has to come between the blocks of a run, so one note stands for all of them.
//! Its ticket, from a counter of all workers, is drawn at the end of the first block, while the
//! lock is held. A block that has to come after one of the run finds the lock given up by this
//! worker, or learns of the task in another way. So it has a later ticket, and the notes in the
//! order of their tickets are an order with the same result.

use super::rows::Rows;
use crate::Failure;
use crate::atomics::{AtomicU64, Ordering};
use finishline_model::hash::IdMap;

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
    /// In how many blocks it is.
    depth: u32,
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
    /// Who has begun blocks here, and ended some that were begun elsewhere.
    begun: Vec<Origin>,
    ended: Vec<Origin>,
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

fn add<T>(list: &mut Vec<T>, most: usize, entry: T) -> bool {
    let has_room = list.len() < most && list.try_reserve(1).is_ok();
    if has_room {
        list.push(entry);
    }
    has_room
}

impl Notes {
    /// A task begins a block.
    #[inline]
    pub(super) fn begin(&mut self, task: &mut InSections) {
        task.depth += 1;
        if task.depth == 1 {
            self.is_full |= !add(&mut self.begun, MOST_RUNS, task.origin);
        }
    }

    /// A task ends a block, and still holds the lock.
    #[inline]
    pub(super) fn end(&mut self, sections: &Sections, task: &mut InSections) {
        task.depth = task.depth.saturating_sub(1);
        if task.depth > 0 {
            return;
        }
        match self.begun.last() {
            Some(last) if *last == task.origin => _ = self.begun.pop(),
            _ => self.is_full |= !add(&mut self.ended, MOST_RUNS, task.origin),
        }
        match self.runs.last_mut() {
            Some(run) if self.goes_on && run.task == task.origin && run.blocks < u32::MAX => {
                run.blocks += 1;
            }
            _ => {
                let run = Run {
                    // A number alone: the lock, or the hand-over of the task, orders the rest.
                    ticket: sections.tickets.fetch_add(1, Ordering::Relaxed),
                    task: task.origin,
                    blocks: 1,
                };
                self.is_full |= !add(&mut self.runs, MOST_RUNS, run);
                self.goes_on = true;
            }
        }
    }

    /// The next block may have to come after those of other workers.
    #[inline]
    pub(super) fn end_run(&mut self) {
        self.goes_on = false;
    }
}

/// The paths of the tasks that were in blocks, a block each time, in the order in which the blocks
/// ended. Those that had not ended come last. None if that is not known.
pub(super) fn order(sections: &Sections, workers: Vec<Notes>) -> Option<Vec<Vec<u32>>> {
    if workers.iter().any(|notes| notes.is_full) {
        return None;
    }
    let mut open: IdMap<Origin, u32> = IdMap::default();
    let mut runs = Vec::new();
    for notes in &workers {
        notes
            .begun
            .iter()
            .for_each(|task| *open.entry(*task).or_default() += 1);
        runs.extend_from_slice(&notes.runs);
    }
    for task in workers.iter().flat_map(|notes| &notes.ended) {
        open.entry(*task)
            .and_modify(|blocks| *blocks = blocks.saturating_sub(1));
    }
    runs.sort_unstable_by_key(|run| run.ticket);
    let mut open: Vec<(Origin, u32)> = open.into_iter().collect();
    open.sort_unstable();
    let ended = runs.iter().map(|run| (run.task, run.blocks));
    let mut blocks = Vec::new();
    for (task, count) in ended.chain(open) {
        let path = sections.path(task)?;
        blocks.extend(std::iter::repeat_n(path, count as usize));
    }
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happens on a worker.
    enum Step {
        Begins(usize),
        Ends(usize),
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
                Step::Begins(task) => notes.begin(&mut tasks[task]),
                Step::Ends(task) => notes.end(&sections, &mut tasks[task]),
                Step::TakesOver => notes.end_run(),
            }
        }
        order(&sections, workers.into())
    }

    use Step::{Begins, Ends, TakesOver};

    #[test]
    fn blocks_are_in_the_order_of_their_ends_and_tasks_have_paths() {
        let steps = [
            (0, Begins(1)),
            (1, Begins(3)),
            // It goes on on another worker.
            (0, Begins(3)),
            (0, Ends(3)),
            (0, Ends(3)),
            (0, Ends(1)),
            (1, Begins(0)),
        ];
        let expected = vec![vec![1, 0], vec![0], vec![]];
        assert_eq!(order_of(&[0, 0, 2], &steps), Some(expected));
    }

    #[test]
    fn a_run_of_blocks_ends_where_another_worker_was_in_between() {
        let block = |worker, task| [(worker, Begins(task)), (worker, Ends(task))];
        let [one, other] = [(0, 1), (1, 2)].map(|(worker, task)| move || block(worker, task));
        let merged = [one(), other(), one()].into_iter().flatten();
        let steps: Vec<_> = merged.collect();
        let expected = vec![vec![0], vec![0], vec![1]];
        assert_eq!(order_of(&[0, 0], &steps), Some(expected));

        let [taken_over, ended] = [[(0, TakesOver)], [(0, Ends(1))]];
        let mut steps: Vec<_> = one().into_iter().chain(other()).collect();
        steps.push((0, Begins(1)));
        steps.extend(taken_over);
        steps.extend(ended);
        let expected = vec![vec![0], vec![1], vec![0]];
        assert_eq!(order_of(&[0, 0], &steps), Some(expected));
    }
}
