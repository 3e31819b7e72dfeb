//! Borrowed thread pointers: a task is on the thread that it believes to be on.
//!
//! Tasks run one after the other on the thread of their creator. But what a program keeps by thread
//! (thread-local variables, the handle of the current thread, the caches of an allocator) must be
//! as distinct as in a pool of real threads. So a logical thread has a real thread, its **lender**,
//! which does nothing but wait in the kernel. While a task is on the logical thread, the thread
//! that runs the task has the lender's thread pointer (the base of `fs`) in the place of its own.
//! Everything that code finds by that register is then the lender's. The stack stays.
//!
//! **Exclusion.** A thread pointer is used by one thread at a time. [`Lender::borrower`] says by
//! which, and is taken by compare-and-exchange. It belongs to the lender itself until that waits in
//! the kernel, in a loop that uses neither thread-local variables nor `errno`. The same borrower
//! may borrow again inside of a loan: a thread that waits may take on other tasks. A lender that
//! another thread has is not waited for; then there is no loan. A lender that is to end while it is
//! borrowed ends with the loan.
//!
//! **Who is the checked thread.** [`OWNER`](super::owner::OWNER) has the pointer that the checked
//! thread has now. A loan changes both together. [`this_thread`] tells a thread by its own pointer
//! all the time.
//!
//! **Code that computes a thread-local address once** and uses it on both sides of a change would
//! mix two threads. So a pointer changes only inside of [`visit`], and the body is called through a
//! pointer to a function. Every frame but that of `visit` ends with the pointer it began with.
//!
//! **What code can find by the thread pointer, and why that is right:**
//!
//! | what | on a loan |
//! |---|---|
//! | the stack's canary, and the guard of stored pointers | equal for all threads of a process (glibc copies them to each control block) |
//! | owners of locks: recursive and error-checking mutexes, std's reentrant lock | the lender's number, taken and given back on the same logical thread |
//! | lists of robust mutexes | the lender's, which the kernel looks through when the lender ends |
//! | `errno`, caches of the allocator | the lender's, whom nobody else uses meanwhile |
//! | the area for restartable sequences | the kernel writes to that of the real thread, so the lender's has an old number of a processor. `sched_getcpu` may be out of date at any time anyway |
//!
//! **What is not right**, because the kernel knows the real thread alone: a mutex with priority
//! inheritance that is waited for; restartable sequences of the program's own that are interrupted;
//! `gettid`, which tells the real thread; cancelling a lender. In a copy of the process by `fork`
//! the C library takes the stacks of all threads but the lender's for free, the one in use included
//! unless it is the first thread's. So such a copy must begin no threads.
//!
//! A lender blocks all signals while it waits, so they go to threads that run. The handlers of the
//! program run with the thread's own pointer ([`as_itself`]), wherever they interrupt it. The same
//! holds for questions about the stack.
//!
//! **Without the instruction.** The kernel says whether programs may write the register
//! (`AT_HWCAP2`). If not, there are no loans.

use super::futex::{futex_wait, futex_wake_all};
use super::owner::{self, hand_over, is_checked, take_over, thread_pointer};
use std::arch::asm;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// A thread whose pointer others may borrow.
#[derive(Debug)]
pub(crate) struct Lender {
    /// Of its control block. Written before it waits for the first time.
    pointer: AtomicUsize,
    state: AtomicU32,
    /// Who has the pointer: a thread by its own one, or [`NOBODY`].
    borrower: AtomicUsize,
    /// It is to end as soon as nobody has the pointer.
    ends: AtomicBool,
    /// It was begun for this, and its end is waited for.
    begun_here: bool,
    /// What the checker calls it by, or [`Lender::UNKNOWN`].
    pub(crate) number: AtomicU32,
}

const NOBODY: usize = 0;
/// The lender has its pointer, before it is known.
const ITSELF: usize = 1;

/// It runs.
const RUNS: u32 = 0;
/// It is about to wait.
const COMING: u32 = 1;
const WAITS: u32 = 2;
/// It has been told to go on.
const ENDS: u32 = 3;

thread_local! {
    /// Who has borrowed this thread's pointer.
    static BORROWER: Cell<usize> = const { Cell::new(NOBODY) };
}

/// Where the variable is must not be remembered from before a change of the pointer. So this is not
/// inlined, and has an effect as far as the compiler knows: two calls are not taken for one.
#[inline(never)]
fn borrower_of_this_pointer() -> &'static Cell<usize> {
    // SAFETY: no instruction.
    unsafe { asm!("", options(nostack, preserves_flags)) };
    // SAFETY: the variable has no destructor, and lives as long as the thread whose pointer this
    // is. Nobody keeps the reference.
    BORROWER.with(|borrower| unsafe { &*std::ptr::from_ref(borrower) })
}

/// The thread that runs, by its own pointer.
pub(crate) fn this_thread() -> usize {
    match borrower_of_this_pointer().get() {
        NOBODY => thread_pointer(),
        borrower => borrower,
    }
}

/// Whether a program may write the register.
fn is_possible() -> bool {
    const HARDWARE_CAPABILITIES_2: u64 = 26;
    const FSGSBASE: u64 = 2;
    static ANSWER: OnceLock<bool> = OnceLock::new();
    // SAFETY: looks up a number.
    *ANSWER.get_or_init(|| unsafe { getauxval(HARDWARE_CAPABILITIES_2) } & FSGSBASE != 0)
}

/// Gives the running thread, which has the pointer `from`, the pointer `to`.
fn change_pointer(from: usize, to: usize) {
    debug_assert_eq!(thread_pointer(), from);
    owner::follow(from, to);
    set_pointer(to);
}

#[inline(never)]
fn set_pointer(to: usize) {
    // SAFETY: `to` is the pointer of a thread that does not run, or the thread's own. The kernel
    // allows the instruction. What the compiler has in registers does not depend on the pointer:
    // see above.
    unsafe { asm!("wrfsbase {}", in(reg) to, options(nostack, preserves_flags)) };
}

impl Lender {
    pub(crate) const UNKNOWN: u32 = u32::MAX;

    fn new(begun_here: bool, pointer: usize, state: u32) -> &'static Lender {
        Box::leak(Box::new(Lender {
            pointer: AtomicUsize::new(pointer),
            state: AtomicU32::new(state),
            borrower: AtomicUsize::new(if pointer == 0 { ITSELF } else { pointer }),
            ends: AtomicBool::new(false),
            begun_here,
            number: AtomicU32::new(Lender::UNKNOWN),
        }))
    }

    /// The running thread, which keeps its pointer until it [waits](Lender::wait).
    pub(crate) fn this() -> &'static Lender {
        Lender::new(false, this_thread(), RUNS)
    }

    /// A thread that `spawn` begins, which must [wait](Lender::wait). It is none of the program's.
    /// What is allocated for it is heard of, since it may lie where a task has freed something.
    pub(crate) fn begin(spawn: impl FnOnce(&'static Lender) -> bool) -> Option<&'static Lender> {
        if !is_possible() {
            return None;
        }
        let lender = Lender::new(true, 0, COMING);
        let before = BEGINS.swap(thread_pointer(), Ordering::Relaxed);
        let begun = spawn(lender);
        BEGINS.store(before, Ordering::Relaxed);
        if begun {
            lender.expect();
        }
        begun.then_some(lender)
    }

    pub(crate) fn pointer(&self) -> usize {
        self.pointer.load(Ordering::Relaxed)
    }

    /// Where the lender waits for its end, and the value that is there until it waits.
    pub(crate) fn word(&self) -> (u64, u32) {
        (self.state.as_ptr() as u64, COMING)
    }

    /// The running thread is about to wait.
    pub(crate) fn comes(&self) {
        self.state.store(COMING, Ordering::Relaxed);
    }

    /// The running thread lends its pointer until [`Lender::end`].
    pub(crate) fn wait(&self) {
        let mask = set_signal_mask(u64::MAX);
        let own = thread_pointer();
        self.pointer.store(own, Ordering::Relaxed);
        self.state.store(WAITS, Ordering::Relaxed);
        // Releases what the thread did before, to who borrows its pointer.
        self.borrower.store(NOBODY, Ordering::SeqCst);
        futex_wake_all(&self.state);
        // It may have been told to end before it came here.
        if !(self.ends.load(Ordering::SeqCst) && self.take_back()) {
            while self.state.load(Ordering::Acquire) == WAITS {
                futex_wait(&self.state, WAITS, None);
            }
        }
        set_signal_mask(mask);
    }

    /// Waits until the lender does, if it is about to.
    fn expect(&self) {
        while self.state.load(Ordering::Acquire) == COMING {
            futex_wait(&self.state, COMING, None);
        }
    }

    /// Lets the lender go on, now or at the end of the loan.
    pub(crate) fn end(&self) {
        self.expect();
        // Whoever gives the pointer back looks at the two variables in the other order, so one of
        // both threads finds that it is time.
        self.ends.store(true, Ordering::SeqCst);
        self.go_on_if_free();
    }

    /// Takes the pointer for the lender itself, if nobody has it.
    fn take_back(&self) -> bool {
        let (now, then) = (Ordering::SeqCst, Ordering::SeqCst);
        let taken = (self.borrower).compare_exchange(NOBODY, ITSELF, now, then);
        taken.is_ok()
    }

    /// Lets the lender go on, if nobody has its pointer.
    fn go_on_if_free(&self) {
        if !self.take_back() {
            return;
        }
        self.state.store(ENDS, Ordering::Release);
        futex_wake_all(&self.state);
        if self.begun_here {
            let was_checked = is_checked();
            hand_over();
            wait_for_end(self.pointer());
            if was_checked {
                take_over();
            }
        }
    }

    /// Borrows the pointer for the running thread, unless another one has it.
    fn borrow(&'static self) -> Option<Loan> {
        self.expect();
        if !is_possible() || self.ends.load(Ordering::Relaxed) {
            return None;
        }
        let (before, borrower) = (thread_pointer(), this_thread());
        let (now, then) = (Ordering::SeqCst, Ordering::Relaxed);
        let taken = (self.borrower).compare_exchange(NOBODY, borrower, now, then);
        let is_outermost = match taken {
            Ok(_) => true,
            Err(other) if other == borrower => false,
            Err(_) => return None,
        };
        change_pointer(before, self.pointer());
        if is_outermost {
            borrower_of_this_pointer().set(borrower);
        }
        Some(Loan {
            lender: self,
            before,
            is_outermost,
        })
    }
}

/// A borrowed pointer.
struct Loan {
    lender: &'static Lender,
    before: usize,
    is_outermost: bool,
}

impl Loan {
    fn give_back(self) {
        if self.is_outermost {
            borrower_of_this_pointer().set(NOBODY);
        }
        change_pointer(self.lender.pointer(), self.before);
        if self.is_outermost {
            // Releases what was done on the thread, to who borrows next.
            self.lender.borrower.store(NOBODY, Ordering::SeqCst);
            if self.lender.ends.load(Ordering::SeqCst) {
                self.lender.go_on_if_free();
            }
        }
    }
}

/// Calls `body` on the lender's thread, or where it is if there is no loan. `body` learns whether
/// there is one, and must not unwind.
#[inline(never)]
pub(crate) fn visit(lender: Option<&'static Lender>, body: &mut dyn FnMut(Option<&Lender>)) {
    let loan = lender.and_then(Lender::borrow);
    body(loan.as_ref().map(|loan| loan.lender));
    if let Some(loan) = loan {
        loan.give_back();
    }
}

/// Calls `body` with the running thread's own pointer. The checked thread is not known by that one
/// while it has borrowed another.
#[inline(never)]
pub(crate) fn as_itself(body: impl FnOnce()) {
    let (borrowed, own) = (thread_pointer(), this_thread());
    if borrowed == own {
        return body();
    }
    set_pointer(own);
    body();
    set_pointer(borrowed);
}

/// The thread that begins a lender right now.
static BEGINS: AtomicUsize = AtomicUsize::new(NOBODY);

/// Whether the running thread begins a lender: a thread that it creates is none of the program's.
pub(crate) fn begins_lender() -> bool {
    BEGINS.load(Ordering::Relaxed) == thread_pointer()
}

/// How long the destructors of a lender's thread-local variables may take before they are not
/// waited for any more. They may wait for a lock of their own.
const SECONDS_TO_END: i64 = 2;

unsafe extern "C" {
    fn getauxval(kind: u64) -> u64;
    fn clock_gettime(clock: c_int, time: *mut [i64; 2]) -> c_int;
    fn pthread_timedjoin_np(
        thread: usize,
        result: *mut *mut c_void,
        until: *const [i64; 2],
    ) -> c_int;
    fn pthread_detach(thread: usize) -> c_int;
}

/// Waits for the end of a thread that nobody joins.
fn wait_for_end(thread: usize) {
    const REALTIME: c_int = 0;
    let mut until = [0, 0];
    // SAFETY: the thread, which is called by its pointer, is joinable, and nobody else joins it.
    unsafe {
        clock_gettime(REALTIME, &mut until);
        until[0] += SECONDS_TO_END;
        if pthread_timedjoin_np(thread, null_mut(), &until) != 0 {
            pthread_detach(thread);
        }
    }
}

/// Sets the thread's mask of signals, and returns the one before. Not by the C library, which
/// leaves some signals out.
fn set_signal_mask(mask: u64) -> u64 {
    const RT_SIGPROCMASK: i64 = 14;
    const SET: i64 = 2;
    let mut before = 0u64;
    // SAFETY: the kernel reads one word and writes the other.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") RT_SIGPROCMASK => _,
            in("rdi") SET,
            in("rsi") &raw const mask,
            in("rdx") &raw mut before,
            in("r10") size_of::<u64>(),
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    before
}
