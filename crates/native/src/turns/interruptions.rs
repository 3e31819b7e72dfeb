//! Tasks that begin in the midst of another one: where that is about to make an atomic operation,
//! or to wait.
//!
//! A task may await its turn on the stack of a thread: it was created, and runs when its creator
//! comes to it. Until then it is *offered*. In some orders the checker lets it begin earlier
//! ([`Checker::is_interrupted`]), on top of the running task. It runs to its end, and then the
//! interrupted task goes on with its operation. So what needs two tasks that alternate is seen
//! without a second stack. Whoever offers a task has it run, and may find that it can't run now.
//!
//! Only code of the program makes atomic operations that come here, while the checker is not in
//! use. So the task begins where a call of the program's could have been.
//!
//! [`ANY`] says whether there are offers, so that other programs pay for one load. It is changed
//! under the lock of the offers, and orders nothing: a thread looks for offers of its own.

use super::locked::Locked;
use crate::checker::Checker;
use crate::process::{self, with_checker};
use finishline_model::TaskId;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

/// Has a task run, and answers 1, or answers 0 if it can't run now.
pub(crate) type Begin = unsafe extern "C" fn(task: u64, data: *mut c_void) -> u32;

#[derive(Clone, Copy, Debug)]
struct Offer {
    /// The thread on whose stack it may run, by its own pointer.
    thread: usize,
    task: TaskId,
    begin: Begin,
    data: *mut c_void,
}

// SAFETY: the data is used on the thread that offers it.
unsafe impl Send for Offer {}

#[derive(Debug)]
struct Offers {
    open: Vec<Offer>,
    /// Interruptions that are not over.
    under_way: usize,
}

static OFFERS: Locked<Offers> = Locked::new(Offers {
    open: Vec::new(),
    under_way: 0,
});

static ANY: AtomicBool = AtomicBool::new(false);

/// Each has its frames on the stack, and holds a thread of its pool.
const MOST_UNDER_WAY: usize = 8;

impl Offers {
    fn note(&self) {
        ANY.store(!self.open.is_empty(), Ordering::Relaxed);
    }

    fn own(&self) -> impl Iterator<Item = usize> {
        let own = process::this_thread();
        let open = self.open.iter().enumerate();
        open.filter_map(move |(at, offer)| (offer.thread == own).then_some(at))
    }
}

/// Lets this task begin on this thread until it is withdrawn.
///
/// # Safety
///
/// `begin` must be sound to call with the task and `data` on this thread until then, as long as it
/// answers 0, and must not unwind.
pub(crate) unsafe fn offer(task: TaskId, begin: Begin, data: *mut c_void) {
    let thread = process::this_thread();
    OFFERS.with(|offers| {
        offers.open.push(Offer {
            thread,
            task,
            begin,
            data,
        });
        offers.note();
    });
}

pub(crate) fn withdraw(task: TaskId) {
    OFFERS.with(|offers| {
        if let Some(at) = offers.open.iter().rposition(|offer| offer.task == task) {
            offers.open.remove(at);
            offers.note();
        }
    });
}

/// The running task is about to make an atomic operation on this address, which may write it.
#[inline(always)]
pub(crate) fn before_operation(address: u64, writes: bool) {
    if ANY.load(Ordering::Relaxed) {
        interrupt(address, writes);
    }
}

/// The running thread is about to wait, perhaps for what is offered. Answers whether a task has
/// run.
#[inline]
pub(crate) fn before_wait() -> bool {
    ANY.load(Ordering::Relaxed) && begin(|_| Some(0))
}

/// The program's own part of the running thread is over.
pub(crate) fn before_end() {
    while before_wait() {}
}

#[cold]
#[inline(never)]
fn interrupt(address: u64, writes: bool) {
    let here = 0u8;
    let stack_pointer = &raw const here as u64;
    begin(|checker| checker.is_interrupted(address, writes, stack_pointer));
}

/// Has one of the thread's tasks begin, if `choose` says which, as a number that is taken modulo
/// those that are there. Answers whether one has run.
#[cold]
fn begin(choose: impl FnOnce(&mut Checker) -> Option<u64>) -> bool {
    let taken = OFFERS.with(|offers| {
        let own = offers.own().count();
        if own == 0 || offers.under_way >= MOST_UNDER_WAY {
            return None;
        }
        let chosen = with_checker(choose).flatten()?;
        let at = offers.own().nth(chosen as usize % own)?;
        let offer = offers.open.remove(at);
        offers.note();
        offers.under_way += 1;
        Some((at, offer))
    });
    let Some((at, offer)) = taken else {
        return false;
    };
    // SAFETY: it was offered on this thread, and not withdrawn.
    let begun = unsafe { (offer.begin)(u64::from(offer.task.0), offer.data) } != 0;
    OFFERS.with(|offers| {
        offers.under_way -= 1;
        if !begun {
            offers.open.insert(at.min(offers.open.len()), offer);
            offers.note();
        }
    });
    begun
}
