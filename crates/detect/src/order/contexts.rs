//! Stamps that also identify the access within a task.
//!
//! A native program can't be run a second time, because a run has effects. Both accesses of a race
//! must be named from one run. So a cell remembers a **context**: the order's own stamp, and a tag
//! by which the caller identifies the access (its place in the program, the calls that led there).
//! A context is made when an access is about to be remembered, once for each tag and step. It costs
//! 8 bytes.
//!
//! Contexts are numbered as they are made. That suffices for the fast path of cells. The contexts
//! of the running step are those made since it began, an interval up to the newest. (A step of this
//! order extends over acquires and locks, as long as the inner order keeps its stamp.) A context
//! made before the inner order gave out stamp s has an inner stamp below s. So if all stamps below
//! s precede the running step, all those contexts do.

use super::{NOBODY, Order, Running, Stamp};
use crate::Failure;
use crate::table::Table;
use finishline_model::{Event, TaskId};

/// Eight gigabytes. Even twice as many contexts are below the reserved stamps.
const MOST_CONTEXTS: usize = 1 << 30;

#[derive(Debug)]
pub struct Contexts<O: Order<Strand = Running>> {
    inner: O,
    /// The inner stamp and the tag of each context. The first entry is nobody's.
    made: Table<[u32; 2]>,
    /// For each inner stamp, the first context that can belong to it or to a later one.
    first: Table<Stamp>,
    /// The first context of the running step.
    begun: Stamp,
}

impl<O: Order<Strand = Running>> Contexts<O> {
    /// Makes a new context of the running step.
    pub fn make(&mut self, tag: u32) -> Result<Stamp, Failure> {
        let context = self.made.push_zero()?;
        self.made[context] = [self.inner.stamp(Running), tag];
        // The table's capacity is below 2³².
        Ok(context as Stamp)
    }

    /// The inner order's stamp of a context, and its tag.
    pub fn of(&self, context: Stamp) -> [u32; 2] {
        self.made[context as usize]
    }

    /// The first context of the running step. All later ones belong to it too.
    pub fn begun(&self) -> Stamp {
        self.begun
    }

    /// The running step goes on, but contexts that it made so far are not used any more.
    pub fn begin_part(&mut self) {
        self.begun = self.made.len() as Stamp;
    }

    /// Whether everything done so far precedes the running step.
    pub fn nothing_parallel(&self) -> bool {
        self.inner.serial_below(Running) as usize >= self.first.len()
    }

    pub fn inner(&mut self) -> &mut O {
        &mut self.inner
    }
}

impl<O: Order<Strand = Running>> Order for Contexts<O> {
    type Strand = Running;

    fn new() -> Result<Self, Failure> {
        let mut made = Table::reserve("contexts", MOST_CONTEXTS)?;
        made.push_zero()?;
        Ok(Contexts {
            inner: O::new()?,
            made,
            first: Table::reserve("tasks' first contexts", MOST_CONTEXTS)?,
            begun: 1,
        })
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        let before = self.inner.stamp(Running);
        self.inner.event(event)?;
        let goes_on = matches!(
            event,
            Event::Acquire { .. } | Event::Relay { .. } | Event::Lock { .. } | Event::Unlock { .. }
        );
        if !goes_on || self.inner.stamp(Running) != before {
            self.begun = self.made.len() as Stamp;
        }
        let (known, now) = (self.first.len(), self.inner.stamp(Running) as usize);
        if now >= known {
            self.first.grow_to(now + 1)?;
            self.first[known..].fill(self.begun);
        }
        Ok(())
    }

    /// The context of the running step. Nobody's until it is [made](Contexts::make).
    #[inline]
    fn stamp(&self, _: Running) -> Stamp {
        self.begun
    }

    #[inline]
    fn own(&self, _: Running) -> Stamp {
        MOST_CONTEXTS as Stamp
    }

    #[inline]
    fn parallel(&mut self, _: Running, earlier: Stamp) -> bool {
        let [stamp, _] = self.made[earlier as usize];
        stamp != NOBODY && stamp != self.inner.stamp(Running) && self.inner.parallel(Running, stamp)
    }

    #[inline]
    fn structurally_parallel(&mut self, _: Running, earlier: Stamp) -> bool {
        let [stamp, _] = self.made[earlier as usize];
        stamp != NOBODY
            && stamp != self.inner.stamp(Running)
            && self.inner.structurally_parallel(Running, stamp)
    }

    #[inline]
    fn stands_for_now(&self, _: Running, parallel: Stamp) -> bool {
        self.inner
            .stands_for_now(Running, self.made[parallel as usize][0])
    }

    fn stands_for(&mut self, _: Running, earlier: Stamp, later: Stamp) -> bool {
        let [[earlier, _], [later, _]] = [earlier, later].map(|context| self.of(context));
        self.inner.stands_for(Running, earlier, later)
    }

    fn precedes_all(&mut self, _: Running, earlier: Stamp) -> bool {
        self.inner.precedes_all(Running, self.of(earlier)[0])
    }

    #[inline]
    fn knows_more(&self, _: Running) -> bool {
        self.inner.knows_more(Running)
    }

    #[inline]
    fn serial_below(&self, _: Running) -> Stamp {
        let first = self.first.get(self.inner.serial_below(Running) as usize);
        first.copied().unwrap_or(self.begun)
    }

    #[inline]
    fn strand(&self, _: TaskId) -> Running {
        Running
    }

    fn clear(&mut self) {
        self.inner.clear();
        self.made.clear();
        self.first.clear();
        let first = self.made.push_zero();
        debug_assert_eq!(first, Ok(0));
        self.begun = 1;
    }

    fn used_bytes(&self) -> usize {
        self.inner.used_bytes() + self.made.used_bytes() + self.first.used_bytes()
    }
}
