//! SP-bags: which procedures precede the running step of a spawn-sync program, in every schedule.
//!
//! [ESP-bags §3.1, after Feng and Leiserson] Bags belong to **procedure instances**: `main`, each
//! spawned task, and each call of a function that spawns. The life of the latter is its sync scope.
//! Bags for each task would be wrong: in `spawn a(); h(); use(a)` with `fn h() { spawn b(); sync;
//! }` the sync of `h` would join `a` too.
//!
//! ```text
//! instance F begins              S(F) = {F}          P(F) = {}
//! spawned F ends, back in G      P(G) = P(G) ∪ S(F) ∪ P(F)
//! F syncs                        S(F) = S(F) ∪ P(F)  P(F) = {}
//! called F returns to G          F syncs, then S(G) = S(G) ∪ S(F)
//! ```
//!
//! A task whose function has no sync scope spawns nothing, so its P-bag is empty when it ends.
//!
//! SP-bags has rules only for `Main` and `Spawn` tasks and for `Root` and `SyncScope` finishes, and
//! none for isolated blocks. Any other event is a [`Failure::Unsupported`]. A stamp is the
//! instance's element of the forest: 4 bytes an instance for ever, 8 more while it lives. An event
//! costs at most two unions.

use crate::Failure;
use crate::order::bags::{Bags, Kind};
use crate::order::{NOBODY, Order, PROMISES, RELEASES, Running, SUSPENDED, Stamp};
use finishline_model::{Event, FinishKind, TaskId, TaskKind};

/// A live procedure instance.
#[derive(Clone, Copy, Debug)]
struct Instance {
    /// The instance's own element, in its S-bag.
    element: Stamp,
    /// An element of the P-bag.
    p_bag: Stamp,
}

#[derive(Debug)]
pub struct SpBags {
    bags: Bags,
    /// The stack of live instances, the running one on top.
    live: Vec<Instance>,
    now: Stamp,
}

impl SpBags {
    fn enter(&mut self) -> Result<(), Failure> {
        let element = self.bags.singleton()?;
        self.live.push(Instance {
            element,
            p_bag: NOBODY,
        });
        self.now = element;
        Ok(())
    }

    fn leave(&mut self) -> Option<Instance> {
        let left = self.live.pop();
        self.now = self.live.last().map_or(NOBODY, |instance| instance.element);
        left
    }

    fn sync(&mut self) {
        if let Some(running) = self.live.last_mut() {
            self.bags.unite(running.element, running.p_bag, Kind::S);
            running.p_bag = NOBODY;
        }
    }
}

/// The construct of an event that SP-bags has no rule for.
fn unsupported(event: &Event) -> Option<&'static str> {
    match event {
        Event::TaskBegin {
            kind: TaskKind::Async,
            ..
        } => Some("async"),
        Event::FinishBegin {
            kind: FinishKind::Lexical,
            ..
        } => Some("finish"),
        Event::FinishBegin {
            kind: FinishKind::Dynamic,
            ..
        } => Some("begin_finish"),
        Event::IsolatedBegin { .. } => Some("isolated"),
        _ => None,
    }
}

impl Order for SpBags {
    type Strand = Running;

    fn new() -> Result<Self, Failure> {
        Ok(SpBags {
            bags: Bags::new()?,
            live: Vec::new(),
            now: NOBODY,
        })
    }

    #[inline]
    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        if let Some(construct) = unsupported(event) {
            return Err(Failure::Unsupported(construct));
        }
        match event {
            Event::TaskBegin { .. } | Event::FinishBegin { .. } => self.enter()?,
            Event::TaskEnd { .. } => {
                let Some(ended) = self.leave() else {
                    return Ok(());
                };
                if let Some(spawner) = self.live.last_mut() {
                    spawner.p_bag = self.bags.unite(spawner.p_bag, ended.element, Kind::P);
                    if ended.p_bag != NOBODY {
                        spawner.p_bag = self.bags.unite(spawner.p_bag, ended.p_bag, Kind::P);
                    }
                }
            }
            Event::FinishJoin { .. } => self.sync(),
            Event::FinishEnd { .. } => {
                self.sync();
                let Some(returned) = self.leave() else {
                    return Ok(());
                };
                self.bags.unite(self.now, returned.element, Kind::S);
            }
            Event::Release { .. }
            | Event::Acquire { .. }
            | Event::Relay { .. }
            | Event::Glimpse { .. }
            | Event::GlimpseEnd { .. } => {
                return Err(Failure::Unsupported(RELEASES));
            }
            Event::PromiseSet { .. } | Event::PromiseGet { .. } => {
                return Err(Failure::Unsupported(PROMISES));
            }
            Event::Suspend { .. } | Event::Resume { .. } => {
                return Err(Failure::Unsupported(SUSPENDED));
            }
            Event::IsolatedBegin { .. }
            | Event::IsolatedEnd { .. }
            | Event::Lock { .. }
            | Event::Unlock { .. }
            | Event::Alloc { .. } => {}
        }
        Ok(())
    }

    #[inline]
    fn stamp(&self, _: Running) -> Stamp {
        self.now
    }

    #[inline]
    fn stands_for_now(&self, _: Running, _: Stamp) -> bool {
        true
    }

    #[inline]
    fn knows_more(&self, _: Running) -> bool {
        false
    }

    #[inline]
    fn parallel(&mut self, _: Running, earlier: Stamp) -> bool {
        self.bags.in_p_bag(earlier)
    }

    #[inline]
    fn strand(&self, _: TaskId) -> Running {
        Running
    }

    fn clear(&mut self) {
        self.bags.clear();
        self.live.clear();
        self.now = NOBODY;
    }

    fn used_bytes(&self) -> usize {
        self.bags.used_bytes() + self.live.capacity() * size_of::<Instance>()
    }
}
