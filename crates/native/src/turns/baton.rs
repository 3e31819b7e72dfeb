//! The baton: of the threads that are followed, the one that has the baton runs.
//!
//! A thread that would wait, for a lock, a message, the end of another thread or for some time,
//! gives the baton away. It waits as the program meant to, and then queues for the baton. So no way
//! of waiting is imitated here, and threads interleave only where they wait. A creator gives the
//! baton to the thread that it creates, and queues at once.
//!
//! **Who is next.** Creators come before others, the latest first, so that a run is depth-first as
//! far as possible. The others follow in the order of creation, round and round. A thread that is
//! being woken is waited for until it arrives in the queue, so the choice does not depend on the
//! kernel. Not every thread in the queue can run ([`Checker::can_run`]).
//!
//! **When nobody can run.** If all threads wait, and none for a limited time only, they wait for
//! ever: the run is stopped. If a thread could go on but for another one that can't be suspended,
//! all go on at once, unchecked.
//!
//! **Memory order.** The queue is used under a lock of its own. The thread that has the baton owns
//! the checker; ownership is handed on under the same lock ([`crate::process`]).

use super::locked::Locked;
use crate::checker::{Checker, Stopped};
use crate::process::{self, Time, futex_wait, futex_wake};
use finishline_model::TaskId;
use finishline_model::kinds::WaitKind;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a thread waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum For {
    /// Until this word is woken, which had this value.
    Word { address: u64, value: u32 },
    /// The end of the thread that is called so.
    Thread(u64),
    /// Something outside, or some time.
    Something,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    what: For,
    /// It ends by itself.
    limited: bool,
    /// It has ended as far as we know.
    coming: bool,
    /// Counts all waits.
    number: u64,
    stopped: Stopped,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Runs,
    Ready {
        /// It has created a thread.
        creator: bool,
    },
    Waits(Wait),
}

#[derive(Debug)]
struct Follower {
    /// What the thread is called by, whatever it borrows ([`process::this_thread`]).
    thread: usize,
    /// Its thread pointer, its own or a borrowed one, as it was when it gave the baton away.
    pointer: usize,
    task: TaskId,
    state: State,
    /// Not zero once it may run.
    turn: &'static AtomicU32,
}

#[derive(Debug)]
struct Baton {
    followers: Vec<Follower>,
    /// Somebody has it, or will as soon as the thread is created.
    taken: bool,
    last: TaskId,
    waits: u64,
}

static BATON: Locked<Baton> = Locked::new(Baton {
    followers: Vec::new(),
    taken: false,
    last: TaskId::MAIN,
    waits: 0,
});

fn with<T>(does: impl FnOnce(&mut Baton) -> T) -> T {
    BATON.with(does)
}

/// How long a woken thread may take to arrive before others go on without it.
const ARRIVAL: Time = Time::milliseconds(100);
/// How many steps it may seem that no thread will ever run again. The machine may be slow, and a
/// thread may have been woken by means that are not seen.
const STEP: Time = Time::milliseconds(1);
const STEPS: u32 = 500;
/// The same if a thread seems to have been woken: two minutes at least, for a machine with much
/// other work.
const STEPS_TO_ARRIVE: u32 = 120_000;

/// Gives the running thread the baton, as this task.
pub(crate) fn begin(task: TaskId) {
    with(|baton| {
        baton.taken = true;
        baton.last = task;
        baton.followers.push(Follower {
            thread: process::this_thread(),
            pointer: process::thread_pointer(),
            task,
            state: State::Runs,
            turn: Box::leak(Box::new(AtomicU32::new(0))),
        });
    });
}

/// Ends the running thread, of this name, and gives its baton away.
pub(crate) fn end(name: u64) {
    let joined = with(|baton| {
        let own = process::this_thread();
        baton.followers.retain(|follower| follower.thread != own);
        let mut joined = false;
        for follower in &mut baton.followers {
            if let State::Waits(wait) = &mut follower.state
                && matches!(wait.what, For::Thread(other) if other == name)
            {
                (wait.coming, joined) = (true, true);
            }
        }
        baton.pass_on();
        joined
    });
    if !joined {
        look_for_others(|| true);
    }
}

/// Gives the baton from the running thread to one that it is about to create; `create` returns
/// whether that failed.
pub(crate) fn create(create: impl FnOnce() -> bool) {
    let turn = with(|baton| {
        process::hand_over();
        baton.own().map(|own| {
            own.state = State::Ready { creator: true };
            own.turn
        })
    });
    let failed = create();
    if failed {
        with(|baton| baton.pass_on());
    }
    if let Some(turn) = turn {
        wait_for_turn(turn);
    }
}

/// Gives the running thread's baton away while that thread waits.
pub(crate) fn wait<T>(what: For, limited: bool, stopped: Stopped, wait: impl FnOnce() -> T) -> T {
    let own = with(|baton| {
        baton.waits += 1;
        let number = baton.waits;
        let own = baton.own()?;
        own.state = State::Waits(Wait {
            what,
            limited,
            coming: false,
            number,
            stopped,
        });
        let (turn, task) = (own.turn, own.task);
        baton.pass_on();
        Some((turn, task))
    });
    look_for_others(|| match what {
        // SAFETY: the program's own variable, which it is about to hand to the kernel.
        For::Word { address, value } => unsafe {
            AtomicU32::from_ptr(address as *mut u32).load(Ordering::Relaxed) == value
        },
        For::Thread(_) | For::Something => true,
    });
    let result = wait();
    if let Some((turn, task)) = own {
        with(|baton| baton.arrives(task));
        wait_for_turn(turn);
    }
    result
}

/// Lets another thread run instead of the running one, if one is ready.
pub(crate) fn give_way() {
    let turn = with(|baton| {
        let others = baton.followers.iter();
        let mut ready = others.filter(|other| other.is_ready());
        let one_can_run = |checker: &mut Checker| ready.any(|other| checker.can_run(other.task));
        process::with_checker(one_can_run).filter(|can_run| *can_run)?;
        let own = baton.own()?;
        own.state = State::Ready { creator: false };
        let turn = own.turn;
        baton.pass_on();
        Some(turn)
    });
    if let Some(turn) = turn {
        wait_for_turn(turn);
    }
}

/// The running thread waits for another value, and all threads that could run as well have had
/// their turn.
pub(crate) fn spins_for_ever(stopped: Stopped) {
    with(|baton| {
        let others = || {
            let own = process::this_thread();
            let others = baton.followers.iter();
            others.filter(move |other| other.thread != own)
        };
        let limited = |other: &Follower| matches!(other.state, State::Waits(wait) if wait.limited);
        if !process::nobody_else_runs() || others().any(limited) {
            return;
        }
        let stuck = process::with_checker(|checker| {
            let mut could_help = others().filter(|other| other.could_help());
            let stuck = could_help.any(|other| !checker.can_run(other.task));
            let waits = if stuck {
                WaitKind::Creator
            } else {
                stopped.waits
            };
            checker.found.stopped = Some(Stopped { waits, ..stopped });
            stuck
        });
        match stuck {
            Some(true) => give_up(baton),
            Some(false) => process::end_unanswered(),
            None => {}
        }
    });
}

/// Notes that some of the threads that wait for a word are woken.
pub(crate) fn wakes(address: u64, count: u64) {
    with(|baton| {
        for _ in 0..count.min(baton.followers.len() as u64) {
            let waits = baton.waits_for_word(address);
            let Some(first) = waits
                .filter(|wait| !wait.coming)
                .min_by_key(|wait| wait.number)
            else {
                return;
            };
            first.coming = true;
        }
    });
}

/// Lets all threads go on, unchecked.
fn give_up(baton: &mut Baton) {
    process::give_up();
    for follower in &baton.followers {
        follower.turn.store(1, Ordering::Release);
        futex_wake(follower.turn);
    }
}

impl Follower {
    fn is_coming(&self) -> bool {
        matches!(self.state, State::Waits(wait) if wait.coming)
    }

    /// Whether the thread is ready, and may do what another one waits for. The thread that created
    /// a test's thread does nothing for it.
    fn could_help(&self) -> bool {
        self.is_ready() && !(process::is_test() && self.task == TaskId::MAIN)
    }

    fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready { .. })
    }
}

impl Baton {
    /// The running thread's follower, with the pointer that the thread has now.
    fn own(&mut self) -> Option<&mut Follower> {
        let thread = process::this_thread();
        let mut followers = self.followers.iter_mut();
        let own = followers.find(|follower| follower.thread == thread)?;
        own.pointer = process::thread_pointer();
        Some(own)
    }

    fn waits_for_word(&mut self, word: u64) -> impl Iterator<Item = &mut Wait> {
        self.followers
            .iter_mut()
            .filter_map(move |follower| match &mut follower.state {
                State::Waits(wait) => match wait.what {
                    For::Word { address, .. } if address == word => Some(wait),
                    _ => None,
                },
                _ => None,
            })
    }

    /// A thread has waited.
    fn arrives(&mut self, task: TaskId) {
        let mut followers = self.followers.iter_mut();
        let Some(own) = followers.find(|follower| follower.task == task) else {
            return;
        };
        let state = std::mem::replace(&mut own.state, State::Ready { creator: false });
        if let State::Waits(wait) = state
            && let For::Word { address, .. } = wait.what
            && !wait.coming
            // Another one was thought to be woken.
            && let Some(other) = self.waits_for_word(address).find(|other| other.coming)
        {
            other.coming = false;
        }
        if !self.taken {
            self.pass_on();
        }
    }

    /// Takes the baton from the thread that had it, and gives it to the next one.
    fn pass_on(&mut self) {
        process::hand_over();
        self.taken = false;
        if self.followers.iter().any(Follower::is_coming) {
            return;
        }
        // Nobody has the baton, so nobody owns the checker.
        let next = process::with_unowned_checker(|checker| self.next(checker));
        if let Some(next) = next.flatten() {
            next.state = State::Runs;
            next.turn.store(1, Ordering::Release);
            process::hand_over_to(next.pointer);
            futex_wake(next.turn);
            let task = next.task;
            (self.taken, self.last) = (true, task);
        }
    }

    fn next(&mut self, checker: &Checker) -> Option<&mut Follower> {
        let last = self.last;
        let rank = |follower: &Follower| match follower.state {
            State::Ready { creator: true } => (0, u32::MAX - follower.task.0),
            _ if follower.task > last => (1, follower.task.0),
            _ => (2, follower.task.0),
        };
        self.followers
            .iter_mut()
            .filter(|follower| follower.is_ready())
            .filter(|follower| checker.can_run(follower.task))
            .min_by_key(|follower| rank(follower))
    }
}

fn wait_for_turn(turn: &AtomicU32) {
    while turn.swap(0, Ordering::Acquire) == 0 {
        if process::has_given_up() {
            return;
        }
        if !futex_wait(turn, 0, Some(ARRIVAL)) {
            continue;
        }
        // Too late.
        with(|baton| {
            if baton.taken {
                return;
            }
            for follower in &mut baton.followers {
                if let State::Waits(wait) = &mut follower.state {
                    wait.coming = false;
                }
            }
            baton.pass_on();
        });
    }
    let task = with(|baton| baton.own().map(|own| own.task));
    if let Some(task) = task {
        process::with_checker(|checker| checker.run_thread(task));
    }
}

/// What can become of a run in which nobody has the baton.
enum Outlook {
    /// Somebody runs, or will.
    Good,
    /// All wait, for as long as the one that is asked about it does.
    Hopeless { told: Stopped, coming: bool },
    /// Somebody could run but for another one that can't be suspended.
    Stuck(Stopped),
}

fn outlook(baton: &Baton) -> Outlook {
    let good = baton.taken || process::has_given_up() || !process::nobody_else_runs();
    let waits = baton
        .followers
        .iter()
        .filter_map(|follower| match follower.state {
            State::Waits(wait) => Some((follower.task, wait)),
            _ => None,
        });
    // By the end of a thread nobody learns more than by what that thread waits for.
    let worth_telling = |wait: &Wait| !matches!(wait.what, For::Thread(_));
    let told = waits
        .clone()
        .max_by_key(|(task, wait)| (worth_telling(wait), *task));
    let limited = waits.clone().any(|(_, wait)| wait.limited);
    let coming = baton.followers.iter().any(Follower::is_coming);
    match told {
        Some((_, wait)) if !good && !limited => {
            match baton.followers.iter().any(Follower::could_help) {
                true if coming => Outlook::Good,
                true => Outlook::Stuck(wait.stopped),
                false => Outlook::Hopeless {
                    told: wait.stopped,
                    coming,
                },
            }
        }
        _ => Outlook::Good,
    }
}

/// Ends the run if no thread will ever run again; `still_waits` returns whether the calling thread
/// is going to wait.
fn look_for_others(still_waits: impl Fn() -> bool) {
    for step in 0.. {
        if !still_waits() {
            return;
        }
        let good = with(|baton| match outlook(baton) {
            Outlook::Good => true,
            // The one that asks is woken already.
            _ if baton.own().is_some_and(|own| own.is_coming()) => true,
            Outlook::Stuck(stopped) => {
                stop(Stopped {
                    waits: WaitKind::Creator,
                    ..stopped
                });
                give_up(baton);
                true
            }
            Outlook::Hopeless { told, coming } => {
                if step == if coming { STEPS_TO_ARRIVE } else { STEPS } {
                    stop(told);
                    process::end_unanswered();
                }
                false
            }
        });
        if good {
            return;
        }
        let nobody = AtomicU32::new(0);
        futex_wait(&nobody, 0, Some(STEP));
    }
}

fn stop(stopped: Stopped) {
    // Nobody has the baton, so nobody owns the checker.
    process::with_unowned_checker(|checker| checker.found.stopped = Some(stopped));
}
