//! An allocator as fast ones are: each thread keeps the blocks that were freed on it for itself, and hands them out again without
//! asking anybody.
//!
//! Blocks come from an arena and are never given back. In a checked run all tasks are on one thread, so one task after the other gets the same
//! block, and nothing orders them; that is the allocator's affair.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Blocks have a power of two of bytes, up to 64 KiB.
const CLASSES: usize = 17;
const ARENA: usize = 64 << 20;

#[repr(align(65536))]
struct Arena(#[allow(dead_code)] [u8; ARENA]);

static mut ARENA_BYTES: Arena = Arena([0; ARENA]);
static USED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// By class: the first free block, whose first word is the next one.
    static FREE: Cell<[*mut u8; CLASSES]> = const { Cell::new([null_mut(); CLASSES]) };
}

pub struct ThreadCaches;

fn class(layout: Layout) -> usize {
    let bytes = layout.size().max(layout.align()).max(size_of::<usize>());
    bytes.next_power_of_two().ilog2() as usize
}

// SAFETY: a block is as long as its class says and aligned to that, since pieces of the arena begin at multiples of their length; it is
// in a list or in use, never both.
unsafe impl GlobalAlloc for ThreadCaches {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = class(layout);
        let mut free = FREE.get();
        let Some(first) = free.get_mut(class) else {
            return null_mut();
        };
        if first.is_null() {
            let bytes = 1 << class;
            // Room for the piece wherever its multiple begins.
            let start = USED
                .fetch_add(2 * bytes, Ordering::Relaxed)
                .next_multiple_of(bytes);
            if start + bytes > ARENA {
                return null_mut();
            }
            // SAFETY: inside the arena.
            return unsafe { (&raw mut ARENA_BYTES).cast::<u8>().add(start) };
        }
        let block = *first;
        // SAFETY: a free block holds the address of the next one.
        *first = unsafe { block.cast::<*mut u8>().read() };
        FREE.set(free);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let mut free = FREE.get();
        let first = &mut free[class(layout)];
        // SAFETY: the block is nobody's, and has room for an address.
        unsafe { block.cast::<*mut u8>().write(*first) };
        *first = block;
        FREE.set(free);
    }
}
