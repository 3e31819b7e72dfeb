//! In which order the tasks of a parallel run were in isolated and locked blocks.
//!
//! A race may be there in some orders of the blocks alone. Whoever wants to see it again needs the
//! order. So each worker notes when a task is created, takes a lock or gives it up, with a ticket
//! that all workers draw from one counter. A ticket of a lock is drawn while the lock is held, so
//! tickets are in the order of the blocks. A task has no number that is the same in every run, but
//! its path is: whose child it is, and the how-many-eth.

use finishline_model::hash::IdMap;
use finishline_model::{Event, TaskId};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a worker noted.
#[derive(Clone, Copy, Debug)]
struct Note {
    ticket: u64,
    task: TaskId,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    CreatedBy(TaskId),
    Takes,
    GivesUp,
}

/// A worker notes at most so much. Then the order is not known.
const MOST_NOTES: usize = 1 << 24;

/// The notes of a worker.
#[derive(Debug, Default)]
pub(super) struct Notes {
    notes: Vec<Note>,
    is_full: bool,
}

impl Notes {
    #[inline]
    pub(super) fn event(&mut self, tickets: &AtomicU64, event: &Event) {
        let (task, what) = match *event {
            Event::TaskBegin {
                task,
                parent: Some(parent),
                ..
            } => (task, What::CreatedBy(parent)),
            Event::IsolatedBegin { task, .. } | Event::Lock { task, .. } => (task, What::Takes),
            Event::IsolatedEnd { task, .. } | Event::Unlock { task, .. } => (task, What::GivesUp),
            _ => return,
        };
        self.is_full |= self.notes.len() >= MOST_NOTES || self.notes.try_reserve(1).is_err();
        if !self.is_full {
            // A number alone: the lock, or the hand-over of the task, orders the rest.
            let ticket = tickets.fetch_add(1, Ordering::Relaxed);
            self.notes.push(Note { ticket, task, what });
        }
    }
}

/// The paths of the tasks that were in blocks, a block each time, in the order in which the blocks
/// ended. Those that had not ended come last. None if that is not known.
pub(super) fn order(workers: Vec<Notes>) -> Option<Vec<Vec<u32>>> {
    if workers.iter().any(|notes| notes.is_full) {
        return None;
    }
    let mut notes: Vec<Note> = workers.into_iter().flat_map(|it| it.notes).collect();
    notes.sort_unstable_by_key(|note| note.ticket);
    let mut children: IdMap<TaskId, u32> = IdMap::default();
    let mut origins: IdMap<TaskId, (TaskId, u32)> = IdMap::default();
    let mut held: IdMap<TaskId, u32> = IdMap::default();
    let mut blocks = Vec::new();
    let mut open = Vec::new();
    for Note { task, what, .. } in notes {
        match what {
            What::CreatedBy(parent) => {
                let index = children.entry(parent).or_default();
                origins.insert(task, (parent, *index));
                *index += 1;
            }
            What::Takes => {
                let held = held.entry(task).or_default();
                *held += 1;
                if *held == 1 {
                    open.push(task);
                }
            }
            What::GivesUp => {
                let held = held.entry(task).or_default();
                *held = held.saturating_sub(1);
                if *held == 0 {
                    open.retain(|other| *other != task);
                    blocks.push(task);
                }
            }
        }
    }
    blocks.extend(open);
    let path = |task: TaskId| {
        let origin = |(task, _): &(TaskId, u32)| origins.get(task).copied();
        let way = std::iter::successors(origins.get(&task).copied(), origin);
        let mut path: Vec<u32> = way.map(|(_, index)| index).collect();
        path.reverse();
        path
    };
    Some(blocks.into_iter().map(path).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use finishline_model::{FinishId, SiteId, TaskKind};

    #[test]
    fn blocks_are_in_the_order_of_their_ends_and_tasks_have_paths() {
        let (site, tickets) = (SiteId(0), AtomicU64::new(0));
        let mut workers = [Notes::default(), Notes::default()];
        let created = |task, parent| Event::TaskBegin {
            task: TaskId(task),
            parent: Some(TaskId(parent)),
            kind: TaskKind::Async,
            finish: FinishId::ROOT,
            site,
        };
        let takes = |task| Event::IsolatedBegin {
            task: TaskId(task),
            site,
        };
        let gives_up = |task| Event::IsolatedEnd {
            task: TaskId(task),
            site,
        };
        let events = [
            (0, created(7, 0)),
            (0, created(3, 0)),
            (1, created(9, 3)),
            (0, takes(7)),
            (1, takes(9)),
            (1, takes(9)),
            (1, gives_up(9)),
            (1, gives_up(9)),
            (0, gives_up(7)),
            (1, takes(0)),
        ];
        for (worker, event) in events {
            workers[worker].event(&tickets, &event);
        }
        let expected = vec![vec![1, 0], vec![0], vec![]];
        assert_eq!(order(workers.into()), Some(expected));
    }
}
