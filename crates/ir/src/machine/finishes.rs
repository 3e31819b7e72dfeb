//! Finishes and isolated blocks: who waits for whom.
//!
//! Each open finish counts the live tasks whose immediately enclosing finish it is. Its owner
//! passes the end, or a `sync`, when the count is 0. While the owner waits, only counted tasks can
//! add to the count: once it is 0, it stays 0. A closed finish gives its place back: no live task
//! refers to it.
//!
//! At most one task is inside an isolated block.

use super::*;
use crate::cost;
use std::mem::size_of;

#[derive(Clone)]
pub(super) struct Finish {
    pub(super) id: FinishId,
    pub(super) kind: FinishKind,
    pub(super) owner: TaskId,
    pub(super) begin: SiteId,
    /// Live tasks with this as their immediately enclosing finish.
    pub(super) live: u32,
}

const _: () = assert!(size_of::<Finish>() as u64 <= cost::FINISH);

impl Machine<'_> {
    pub(super) fn begin_finish<L: Listener>(
        &mut self,
        slot: usize,
        kind: FinishKind,
        site: SiteId,
        listener: &mut L,
    ) -> Result<Progress, TrapKind> {
        self.may_wait(slot)?;
        if self.finishes_opened >= self.limits.finishes {
            return Err(TrapKind::TooManyFinishes {
                limit: self.limits.finishes,
            });
        }
        self.charge(cost::FINISH)?;
        self.open_finish(slot, kind, site, listener);
        self.tasks[slot].advance();
        Ok(Progress::Continue)
    }

    pub(super) fn open_finish<L: Listener>(
        &mut self,
        slot: usize,
        kind: FinishKind,
        begin: SiteId,
        listener: &mut L,
    ) {
        let owner = self.tasks[slot].id;
        let id = FinishId(self.finishes_opened);
        self.finishes_opened += 1;
        let finish = Finish {
            id,
            kind,
            owner,
            begin,
            live: 0,
        };
        let place = match self.idle_finishes.pop() {
            Some(place) => {
                self.finishes[place as usize] = finish;
                place
            }
            None => {
                self.finishes.push(finish);
                (self.finishes.len() - 1) as u32
            }
        };
        self.tasks[slot].open.push(place);
        listener.event(&Event::FinishBegin {
            task: owner,
            finish: id,
            kind,
            site: begin,
        });
    }

    pub(super) fn end_finish<L: Listener>(
        &mut self,
        slot: usize,
        kind: FinishKind,
        site: SiteId,
        listener: &mut L,
    ) -> Result<Progress, TrapKind> {
        self.may_wait(slot)?;
        let innermost = self.innermost(slot);
        match innermost {
            Some(finish) if finish.kind == kind => {
                if finish.live > 0 {
                    return Ok(Progress::Blocked);
                }
                self.close_finish(slot, site, listener);
                self.stacks -= cost::FINISH;
                self.tasks[slot].advance();
                Ok(Progress::Continue)
            }
            _ if kind == FinishKind::Dynamic => Err(TrapKind::EndFinishWithoutBegin),
            Some(finish) if finish.kind == FinishKind::Dynamic => {
                let begin = finish.begin;
                Err(TrapKind::BeginFinishNeverEnded {
                    begin,
                    ended: Ended::Finish(kind),
                })
            }
            _ => panic!("the module is not verified: the end of a {kind:?} finish"),
        }
    }

    pub(super) fn close_finish<L: Listener>(
        &mut self,
        slot: usize,
        site: SiteId,
        listener: &mut L,
    ) {
        let task = &mut self.tasks[slot];
        let place = task.open.pop().expect("the task has a finish open");
        self.idle_finishes.push(place);
        let finish = self.finishes[place as usize].id;
        listener.event(&Event::FinishEnd {
            task: task.id,
            finish,
            site,
        });
    }

    pub(super) fn sync<L: Listener>(
        &mut self,
        slot: usize,
        site: SiteId,
        listener: &mut L,
    ) -> Result<Progress, TrapKind> {
        self.may_wait(slot)?;
        let finish = self
            .innermost(slot)
            .expect("the module is not verified: sync outside a scope");
        if finish.kind == FinishKind::Dynamic {
            return Err(TrapKind::SyncInsideBeginFinish {
                begin: finish.begin,
            });
        }
        if finish.live > 0 {
            return Ok(Progress::Blocked);
        }
        let (task, finish) = (self.tasks[slot].id, finish.id);
        listener.event(&Event::FinishJoin { task, finish, site });
        self.tasks[slot].advance();
        Ok(Progress::Continue)
    }

    /// The innermost finish the task itself has open.
    pub(super) fn innermost(&self, slot: usize) -> Option<&Finish> {
        self.tasks[slot]
            .open
            .last()
            .map(|&place| &self.finishes[place as usize])
    }

    pub(super) fn enter_isolated<L: Listener>(
        &mut self,
        slot: usize,
        site: SiteId,
        listener: &mut L,
    ) -> Progress {
        let task = self.tasks[slot].id;
        match self.isolated {
            Some(owner) => {
                assert_ne!(
                    owner, task,
                    "the module is not verified: isolated inside isolated"
                );
                Progress::Blocked
            }
            None => {
                self.isolated = Some(task);
                listener.event(&Event::IsolatedBegin { task, site });
                self.tasks[slot].advance();
                Progress::Continue
            }
        }
    }

    pub(super) fn leave_isolated<L: Listener>(
        &mut self,
        slot: usize,
        site: SiteId,
        listener: &mut L,
    ) -> Progress {
        let task = self.tasks[slot].id;
        assert_eq!(
            self.isolated,
            Some(task),
            "the module is not verified: end of isolated"
        );
        self.isolated = None;
        listener.event(&Event::IsolatedEnd { task, site });
        self.tasks[slot].advance();
        Progress::Continue
    }
}
