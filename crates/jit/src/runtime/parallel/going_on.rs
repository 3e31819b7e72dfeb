//! What a worker does between two strands: it suspends one, heeds signals, finds work, and resumes.

use super::super::Runtime;
use super::super::context::Current;
use super::super::memory::preserved_registers;
use super::super::schedule::Schedule;
use super::super::switch::{self, Passed};
use super::super::{locks, promises};
use super::crew::{Item, Woken};
use super::signals::{OVER, STOP};
use super::strand::{Awaits, Strand};
use super::{BUDGETS_KEPT, LOOKS, Parallel, YIELDS};
use crate::End;
use crate::checker::Checker;
use finishline_ir::machine::{Trap, TrapKind, Waiting, WaitsFor};
use finishline_model::SiteId;
use std::hint::{black_box, spin_loop};
use std::ptr::{NonNull, null};
use std::sync::atomic::Ordering;
use std::thread;

impl<C: Checker> Runtime<'_, C, Parallel<'_>> {
    /// Looks at the signals.
    #[inline]
    pub(super) fn poll(&mut self) {
        if self.schedule.crew.signals.raised() != 0 {
            self.heed_signals();
        }
    }

    #[cold]
    fn heed_signals(&mut self) {
        if self.schedule.crew.signals.raised() & OVER != 0 {
            self.leave_program();
        }
        self.rest();
        // Memory may have been collected.
        Parallel::begin_era(self);
    }

    /// Rests until the signal to stop is lowered.
    #[cold]
    #[inline(never)]
    fn rest(&mut self) {
        let (preserved, pointer) = preserved_registers();
        let worker = &self.schedule;
        let references = pointer..worker.pointer as usize;
        worker.crew.rest_while_stopped(worker.number, references);
        // The registers are kept on the stack until here.
        black_box(&preserved);
    }

    /// Goes back to where the worker began. Never returns.
    pub(super) fn leave_program(&mut self) -> ! {
        // SAFETY: functions of the runtime call this, on the worker's stack, and they own nothing
        // where they leave.
        unsafe { switch::leave(self.schedule.pointer) }
    }

    /// The running strand stops. It still belongs to the worker, which has no strand now.
    pub(super) fn suspend(&mut self, awaits: Awaits, site: SiteId) -> NonNull<Strand> {
        let bytes = self.context.stack;
        let Some(place) = self.schedule.strand.take() else {
            unreachable!("compiled code runs on a strand")
        };
        let mut suspended = place;
        // SAFETY: the strand is the worker's own until it is given to somebody.
        let strand = unsafe { suspended.as_mut() };
        (strand.awaits, strand.site, strand.bytes) = (awaits, site, bytes);
        strand
            .room
            .suspend(strand.context.strand_pointer as usize, bytes);
        self.budget_left -= bytes;
        self.go_home();
        place
    }

    /// No code runs.
    pub(super) fn go_home(&mut self) {
        let home = NonNull::from(&mut *self.schedule.home);
        // SAFETY: it lives as long as the schedule, and no code runs with it.
        self.context = unsafe { Current::new(home) };
    }

    /// A strand of the worker goes on when the runtime's function returns.
    pub(super) fn resume(&mut self, strand: NonNull<Strand>) -> Passed {
        let mut resumed = strand;
        // SAFETY: the strand is the worker's own.
        let resumed = unsafe { resumed.as_mut() };
        let Strand {
            context,
            bytes,
            room,
            awaits,
            ..
        } = resumed;
        *awaits = Awaits::Nothing;
        context.runtime = (&raw mut *self).cast();
        context.seen = &raw mut *self.seen;
        context.outcomes = self.checker.outcomes();
        let span = self.checker.span();
        context.opened_spans = span.map_or(null(), |own| own.spans.opened());
        context.worker_pointer = self.schedule.pointer;
        let pointer = &raw mut *context;
        self.schedule
            .crew
            .signals
            .runs(self.schedule.number, pointer);
        self.budget_left += *bytes;
        self.stack_room = room.bytes;
        // SAFETY: the context is the strand's, which belongs to the worker as long as it runs.
        self.context = unsafe { Current::new(NonNull::from(context)) };
        self.schedule.strand = Some(strand);
        self.checker.meets_others();
        Parallel::begin_era(self);
        self.return_budget();
        self.limit_stack();
        Passed::not_yet(pointer)
    }

    /// Leaves a large budget to others.
    fn return_budget(&mut self) {
        let kept = self.schedule.budget_at_once * BUDGETS_KEPT + self.schedule.strand().bytes;
        if self.budget_left > kept {
            let crew = self.schedule.crew;
            // An amount alone: nothing is ordered by it.
            crew.budget
                .fetch_add(self.budget_left - kept, Ordering::Relaxed);
            self.budget_left = kept;
        }
    }

    /// Goes on with something else. The worker has no strand.
    pub(super) fn go_on(&mut self) -> Passed {
        match self.find_work() {
            Some(passed) => passed,
            None => self.leave_program(),
        }
    }

    /// Finds something to go on with, and resumes it. None if the run is over. The worker has no
    /// strand, and may not have begun.
    pub(super) fn find_work(&mut self) -> Option<Passed> {
        let mut looks = 0;
        loop {
            let signals = self.schedule.crew.signals.raised();
            if signals & OVER != 0 {
                return None;
            }
            if signals & STOP != 0 {
                self.rest();
            }
            match self.schedule.find() {
                Some(Item::Strand(strand)) => return Some(self.resume(strand)),
                Some(Item::Task(record)) => match self.begin_on_strand(record) {
                    Ok(passed) => return Some(passed),
                    Err(trap) => self.schedule.crew.end(Some(End::Trapped(trap))),
                },
                None if looks < LOOKS => spin_loop(),
                None if looks < LOOKS + YIELDS => thread::yield_now(),
                None => match self.schedule.crew.sleep(looks - LOOKS - YIELDS) {
                    Woken::Look => {}
                    Woken::Deadlock => {
                        let trap = self.deadlock();
                        self.schedule.crew.end(Some(End::Trapped(trap)));
                    }
                },
            }
            looks += 1;
        }
    }

    /// All workers sleep.
    fn deadlock(&self) -> Trap {
        let mut waiting = Vec::new();
        let mut holders = Vec::new();
        let crew = self.schedule.crew;
        crew.strands.each(|strand| {
            holders.extend(strand.held.iter().map(|held| (held.lock, held.holder)));
        });
        crew.strands.each(|strand| {
            let waits_for = match strand.awaits {
                Awaits::Nothing => return,
                Awaits::Promise(promise) => {
                    // SAFETY: the promise is live: a suspended strand refers to it.
                    WaitsFor::Promise(unsafe { promises::location(promise) })
                }
                // SAFETY: the finish is open, as its owner waits for it.
                Awaits::Finish(finish) => WaitsFor::Finish(unsafe { finish.as_ref() }.open.id),
                Awaits::Lock(address) => {
                    // SAFETY: the lock is live: a suspended strand refers to it.
                    let (number, lock) = unsafe {
                        let number = locks::number(std::ptr::with_exposed_provenance(address));
                        (number, promises::location(address))
                    };
                    let held = holders.iter().find(|(lock, _)| *lock == number);
                    let Some((_, holder)) = held.copied() else {
                        unreachable!("a strand waits for a lock that is held")
                    };
                    WaitsFor::Lock { lock, holder }
                }
            };
            waiting.push(Waiting {
                task: strand.task().id,
                site: strand.site,
                waits_for,
            });
        });
        waiting.sort_unstable_by_key(|waiting| waiting.task);
        let reason = |waiting: &&Waiting| !matches!(waiting.waits_for, WaitsFor::Finish(_));
        let Some(&Waiting { site, task, .. }) = waiting.iter().find(reason) else {
            unreachable!("a finish alone waits for tasks that can go on")
        };
        Trap::new(TrapKind::Deadlock { waiting }, site, task)
    }
}
