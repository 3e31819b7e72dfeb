//! The quarantine: freed blocks that the C library does not get back yet.
//!
//! Memory that is used again at once hides mistakes: a pointer to a freed block then points to a
//! block of somebody else. So a freed block waits here, and its memory is nobody's meanwhile. The
//! checker tells uses of it (`checker/kept.rs`). The oldest blocks are given back when more bytes
//! wait than the budget allows, and all of them when the C library has no memory left.
//!
//! **Budget.** A block counts as its bytes, at least [`LEAST`]: that bounds their number, too. A
//! block bigger than the budget does not wait. Whole pages of a big block are returned to the
//! system while it waits, and their addresses stay reserved.
//!
//! **Other allocators.** Only blocks wait that come back to the C library's `free`. A program's own
//! allocator is told at once of each block that is freed, as without checks. If it passes the block
//! on to the system's allocator then, the block waits ([`expect`]). If it keeps the block for its
//! next owner, nothing waits.

use crate::checker::Checker;
use crate::process::{with_checker, with_unowned_checker};
use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

unsafe extern "C" {
    fn __libc_free(block: *mut c_void);
    fn madvise(at: *mut c_void, bytes: usize, advice: c_int) -> c_int;
}

/// What the smallest block counts as.
const LEAST: u64 = 256;
/// Blocks from this size on return their pages while they wait.
const BIG: u64 = 128 << 10;
const PAGE: u64 = 4096;
const NOT_NEEDED: c_int = 4;

struct Quarantine {
    /// Where each block begins, and what it counts as. The oldest comes first.
    waiting: VecDeque<(usize, u64)>,
    bytes: u64,
}

/// Never waited for: it is free unless the program forks or gets a signal at the wrong moment.
static QUARANTINE: Mutex<Quarantine> = Mutex::new(Quarantine {
    waiting: VecDeque::new(),
    bytes: 0,
});

/// The block that an allocator is being asked to free, and its bytes.
static EXPECTED: (AtomicUsize, AtomicU64) = (AtomicUsize::new(0), AtomicU64::new(0));

/// The bytes of a live block, if it is to wait when it is freed.
pub(super) fn bytes_to_keep(checker: &Checker, block: *mut c_void) -> Option<u64> {
    let bytes = checker.heap.live(block as u64)?.bytes;
    (bytes.max(LEAST) <= checker.options.quarantine).then_some(bytes)
}

/// If this block comes to [`catches`] next, it is to wait.
pub(super) fn expect(block: *mut c_void, bytes: u64) {
    EXPECTED.1.store(bytes, Ordering::Relaxed);
    EXPECTED.0.store(block as usize, Ordering::Relaxed);
}

/// Ends what [`expect`] began. Tells whether the block has come.
pub(super) fn has_come(block: *mut c_void) -> bool {
    let was_expected = EXPECTED.0.swap(0, Ordering::Relaxed);
    was_expected != block as usize
}

#[inline]
pub(super) fn expects(block: *mut c_void) -> bool {
    !block.is_null() && EXPECTED.0.load(Ordering::Relaxed) == block as usize
}

/// Takes the expected block, which is freed now. Fails if that is not possible.
pub(super) fn catches(block: *mut c_void) -> bool {
    let put = put(block, EXPECTED.1.load(Ordering::Relaxed));
    if put {
        EXPECTED.0.store(0, Ordering::Relaxed);
    }
    put
}

/// Lets a block wait. Fails if that is not possible now.
pub(super) fn put(block: *mut c_void, bytes: u64) -> bool {
    let Ok(mut quarantine) = QUARANTINE.try_lock() else {
        return false;
    };
    let counts = bytes.max(LEAST);
    quarantine.waiting.push_back((block as usize, counts));
    quarantine.bytes += counts;
    drop(quarantine);
    if bytes >= BIG {
        let first = (block as u64).next_multiple_of(PAGE);
        let end = (block as u64 + bytes) & !(PAGE - 1);
        // SAFETY: the pages lie in a block that the program has given up, and that the C library
        // has not got back. The call changes nothing else.
        unsafe { madvise(first as *mut c_void, (end - first) as usize, NOT_NEEDED) };
    }
    true
}

/// Gives the oldest blocks back until the budget is kept.
pub(super) fn trim(budget: u64) {
    give_back_down_to(budget);
}

/// Gives everything back. Tells whether anything was.
#[cold]
pub(super) fn drain() -> bool {
    give_back_down_to(0)
}

fn give_back_down_to(budget: u64) -> bool {
    let mut any = false;
    loop {
        let Ok(mut quarantine) = QUARANTINE.try_lock() else {
            return any;
        };
        if quarantine.bytes <= budget {
            return any;
        }
        let Some((block, counts)) = quarantine.waiting.pop_front() else {
            return any;
        };
        quarantine.bytes -= counts;
        drop(quarantine);
        let tell = |checker: &mut Checker| checker.given_back(block as u64);
        let told = with_checker(tell).or_else(|| with_unowned_checker(tell));
        if told.is_none() {
            // Another thread has the checker, which would go on to take the block for kept.
            put_first(block, counts);
            return any;
        }
        // SAFETY: the program has given the block up, once, and the C library gets it once.
        unsafe { __libc_free(block as *mut c_void) };
        any = true;
    }
}

fn put_first(block: usize, counts: u64) {
    if let Ok(mut quarantine) = QUARANTINE.try_lock() {
        quarantine.waiting.push_front((block, counts));
        quarantine.bytes += counts;
    }
}
