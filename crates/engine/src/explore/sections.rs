//! Critical sections: what tasks do under locks, and which earlier sections that comes after.
//!
//! A *hold* is one taking of a lock. What is done under a hold of a lock comes after all that was
//! done under the earlier holds of the same lock. As with isolated blocks, this orders accesses
//! only if the sections conflict. So an access under locks comes after an earlier one that it
//! conflicts with: it *acquires* the holds of the earlier access of the locks that both have. A
//! hold is *released* where the lock is given up.
//!
//! If the beginning of a hold happens before that of another hold of the same lock, all of the
//! first one does: the lock is given up in between.
//!
//! A hold is *long* if another block of its task begins meanwhile. Then others may run in between,
//! and wait for the lock. So a long hold comes after all earlier ones of its lock, and all later
//! ones come after it, whatever is accessed.
//!
//! What a section does before its first conflicting access is not ordered by that. It did not
//! depend on the earlier section, so in some schedule the sections come in the other order, and
//! what races here races there.

use super::blocks::BlockSet;
use super::footprint::Touch;
use finishline_model::{Event, Location, LockId, ObjectId, Observer, TaskId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// A lock that a task holds or held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hold {
    pub(super) lock: LockId,
    number: u32,
    /// The block that began with it.
    pub(super) block: usize,
}

impl Hold {
    /// Blocks are the objects with small numbers.
    fn object(self) -> ObjectId {
        ObjectId(u32::MAX - self.number)
    }
}

/// The holds of a lock that a later one may come after.
#[derive(Default)]
struct Holds {
    /// The latest long one.
    long: Option<Hold>,
    /// The others since, as far as they are over.
    short: Vec<Hold>,
}

/// An access under locks.
struct Guarded {
    touch: Touch,
    holds: Rc<[Hold]>,
}

#[derive(Default)]
pub(super) struct Sections {
    taken: u32,
    /// The holds of each task that has any, in the order in which it took the locks.
    held: FxHashMap<TaskId, Rc<[Hold]>>,
    holds: FxHashMap<LockId, Holds>,
    /// By location, the accesses under locks that a later one can conflict with.
    guarded: FxHashMap<Location, Vec<Guarded>>,
    /// Which holds a task has acquired in its section.
    acquired: FxHashSet<(TaskId, ObjectId)>,
}

impl Sections {
    /// The locks that a task holds.
    pub(super) fn held(&self, task: TaskId) -> &[Hold] {
        self.held.get(&task).map_or(&[], |held| held)
    }

    /// The task that holds a lock, and its hold.
    pub(super) fn holder(&self, lock: LockId) -> Option<(TaskId, Hold)> {
        self.held.iter().find_map(|(task, held)| {
            let hold = held.iter().find(|hold| hold.lock == lock)?;
            Some((*task, *hold))
        })
    }

    /// The task takes a lock, with which a block begins, after those `before`.
    pub(super) fn take(
        &mut self,
        task: TaskId,
        lock: LockId,
        (block, before): (usize, &BlockSet),
        detector: &mut impl Observer,
    ) {
        let Holds { long, short } = self.holds.entry(lock).or_default();
        let begun_before = short.iter().filter(|hold| before.contains(hold.block));
        for hold in long.iter().chain(begun_before) {
            let object = hold.object();
            detector.event(&Event::Acquire { task, object });
        }
        let hold = Hold {
            lock,
            number: self.taken,
            block,
        };
        self.taken += 1;
        let before = self.held(task).iter().copied();
        let held = before.chain([hold]).collect();
        self.held.insert(task, held);
    }

    /// The task gives up a lock.
    pub(super) fn give_up(&mut self, task: TaskId, lock: LockId, detector: &mut impl Observer) {
        let Some(held) = self.held.get(&task).cloned() else {
            return;
        };
        let Some(hold) = held.iter().find(|hold| hold.lock == lock) else {
            return;
        };
        detector.event(&Event::Release {
            task,
            object: hold.object(),
            continues: false,
        });
        let holds = self.holds.entry(lock).or_default();
        if holds.long != Some(*hold) {
            holds.short.push(*hold);
        }
        let rest: Rc<[Hold]> = (held.iter().copied())
            .filter(|hold| hold.lock != lock)
            .collect();
        match rest.is_empty() {
            true => self.held.remove(&task),
            false => self.held.insert(task, rest),
        };
    }

    /// The task stands before another block, or nobody goes on: the locks that it has are held
    /// long.
    pub(super) fn carry(&mut self, task: TaskId, detector: &mut impl Observer) {
        let Some(held) = self.held.get(&task) else {
            return;
        };
        for hold in &**held {
            let holds = self.holds.entry(hold.lock).or_default();
            if holds.long != Some(*hold) {
                holds.long = Some(*hold);
                for short in holds.short.drain(..) {
                    let object = short.object();
                    detector.event(&Event::Acquire { task, object });
                }
            }
        }
    }

    /// An access under the locks of the task. The detector hears what it comes after.
    pub(super) fn access(
        &mut self,
        task: TaskId,
        location: Location,
        touch: Touch,
        detector: &mut impl Observer,
    ) {
        let Some(held) = self.held.get(&task).cloned() else {
            return;
        };
        let guarded = self.guarded.entry(location).or_default();
        for earlier in guarded.iter().filter(|it| touch.conflicts(it.touch)) {
            for hold in &*earlier.holds {
                let is_common = held
                    .iter()
                    .any(|own| own.lock == hold.lock && own.number != hold.number);
                let object = hold.object();
                if is_common && self.acquired.insert((task, object)) {
                    detector.event(&Event::Acquire { task, object });
                }
            }
        }
        if matches!(touch, Touch::Write { .. }) {
            // What conflicts with an earlier access conflicts with this one.
            guarded.clear();
        }
        let known = guarded.iter_mut().find(|it| it.holds == held);
        match known {
            Some(known) => known.touch = known.touch.and(touch),
            None => guarded.push(Guarded { touch, holds: held }),
        }
    }
}
