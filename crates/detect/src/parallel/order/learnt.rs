//! What strands of a parallel run have learnt by promises.
//!
//! A promise orders what its setter did before everything after a get. A strand *learns* of the
//! sets that it gets, and each set knows its step and what the setter had learnt. So an earlier
//! step precedes the present one iff it does so by structure, or it precedes or is the step of a
//! set that the strand has learnt of, or that such a setter had learnt of, and so on.
//!
//! ```text
//! p gets a set        p learns of the set
//! p creates c         c has learnt what p has
//! a finish ends       its owner learns what each of its tasks has learnt
//! ```
//!
//! Knowledge is a number: a row with a set or with what somebody else has learnt, and the number of
//! what was known before. Rows are added without locks and never change.
//!
//! **The search** goes from the present knowledge backwards. Sets are numbered as they are made. A
//! set made before an earlier step began does not come after it, so rows that lead to smaller
//! numbers alone are left out. The answer for a step is remembered by the worker that asked.

use super::super::rows::Rows;
use crate::atomics::{AtomicU32, Ordering};
use crate::order::Stamp;
use crate::table::TableError;
use finishline_model::hash::IdSet;

/// What a strand has learnt.
pub(super) type Knowledge = u32;
pub(super) const NOTHING: Knowledge = 0;

/// The number of a set. The first is 1.
type SetNumber = u32;

const MOST: usize = 1 << 31;
const MEMO: usize = 64;

pub(super) struct Learnt {
    /// By set: its step, and what the setter had learnt.
    sets: Rows<2>,
    /// By knowledge: a set or 0, what somebody else has learnt, what was known before, and the
    /// greatest set that it leads to.
    known: Rows<4>,
}

/// What the tasks of a finish have learnt that have ended.
///
/// **Memory ordering.** A task that ends looks at the rows of those that ended before it, so it
/// acquires what they released. The swap itself need not acquire: the task has acquired the same
/// knowledge before, and its rows never change.
#[derive(Debug)]
pub(super) struct Joined(AtomicU32);

impl Joined {
    pub(super) fn nothing() -> Joined {
        Joined(AtomicU32::new(NOTHING))
    }

    /// A task ends with this knowledge.
    pub(super) fn add(&self, learnt: &Learnt, knows: Knowledge) -> Result<(), TableError> {
        let mut before = self.0.load(Ordering::Acquire);
        loop {
            let after = learnt.join(before, knows)?;
            let added =
                self.0
                    .compare_exchange(before, after, Ordering::Release, Ordering::Acquire);
            match added {
                Ok(_) => return Ok(()),
                Err(now) => before = now,
            }
        }
    }

    /// What all have learnt. The end of the finish is between their ends and this look, and orders
    /// them.
    pub(super) fn all(&self) -> Knowledge {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a worker remembers of its searches.
pub(super) struct Searches {
    /// Knowledge, a step, and whether the step precedes what has this knowledge.
    answers: [(Knowledge, Stamp, bool); MEMO],
    open: Vec<Knowledge>,
    visited: IdSet<Knowledge>,
}

impl Default for Searches {
    fn default() -> Self {
        Searches {
            answers: [(NOTHING, 0, false); MEMO],
            open: Vec::new(),
            visited: IdSet::default(),
        }
    }
}

impl Learnt {
    pub(super) fn new() -> Result<Learnt, TableError> {
        let (sets, known) = (Rows::reserve("sets", MOST)?, Rows::reserve("joins", MOST)?);
        sets.add([0, NOTHING])?;
        known.add([0, NOTHING, NOTHING, 0])?;
        Ok(Learnt { sets, known })
    }

    /// The number that the next set will have at least.
    pub(super) fn next_set(&self) -> SetNumber {
        self.sets.len() as SetNumber
    }

    /// A set in this step.
    pub(super) fn set(&self, step: Stamp, knows: Knowledge) -> Result<SetNumber, TableError> {
        self.sets.add([step, knows])
    }

    pub(super) fn get(&self, knows: Knowledge, set: SetNumber) -> Result<Knowledge, TableError> {
        let newest = self.newest(knows).max(set);
        self.known.add([set, NOTHING, knows, newest])
    }

    pub(super) fn join(&self, one: Knowledge, other: Knowledge) -> Result<Knowledge, TableError> {
        if one == NOTHING || one == other {
            return Ok(other);
        }
        if other == NOTHING {
            return Ok(one);
        }
        let newest = self.newest(one).max(self.newest(other));
        self.known.add([0, other, one, newest])
    }

    fn newest(&self, knows: Knowledge) -> SetNumber {
        self.known.get(knows)[3]
    }

    /// Whether an earlier step precedes one with this knowledge, other than by structure. The step
    /// began when `since` was the next set. `reaches` says whether it precedes or is another step
    /// by structure.
    pub(super) fn leads_to(
        &self,
        searches: &mut Searches,
        knows: Knowledge,
        (earlier, since): (Stamp, SetNumber),
        reaches: impl Fn(Stamp) -> bool,
    ) -> bool {
        if self.newest(knows) < since {
            return false;
        }
        let place = (knows ^ earlier.rotate_left(3)) as usize % MEMO;
        if let (known, step, answer) = searches.answers[place]
            && (known, step) == (knows, earlier)
        {
            return answer;
        }
        let answer = self.search(searches, knows, since, reaches);
        searches.answers[place] = (knows, earlier, answer);
        answer
    }

    fn search(
        &self,
        searches: &mut Searches,
        knows: Knowledge,
        since: SetNumber,
        reaches: impl Fn(Stamp) -> bool,
    ) -> bool {
        let Searches { open, visited, .. } = searches;
        open.clear();
        visited.clear();
        open.push(knows);
        while let Some(at) = open.pop() {
            let [set, others, before, newest] = self.known.get(at);
            if newest < since || !visited.insert(at) {
                continue;
            }
            if set >= since.max(1) {
                let [step, learnt] = self.sets.get(set);
                if reaches(step) {
                    return true;
                }
                open.push(learnt);
            }
            open.extend([before, others]);
        }
        false
    }

    pub(super) fn used_bytes(&self) -> usize {
        self.sets.used_bytes() + self.known.used_bytes()
    }
}
