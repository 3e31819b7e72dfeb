//! The runtime's own allocator. Its memory comes from the operating system, never from the
//! program's allocator, which may be the caller.
//!
//! Sizes are rounded up to powers of two. Freed pieces are kept in a list for each size and used
//! again. Pieces of more than a megabyte are mapped one by one.

use finishline_detect::pages;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};

const SMALLEST: usize = 16;
const LARGEST: usize = 1 << 20;
const SIZES: usize = (LARGEST / SMALLEST).ilog2() as usize + 1;
/// What small pieces are cut from.
const CHUNK: usize = 4 << 20;

struct Pieces {
    /// By size: the first free piece, whose first word is the next one.
    free: [*mut u8; SIZES],
    chunk: *mut u8,
    left: usize,
}

pub(crate) struct Allocator {
    busy: AtomicBool,
    pieces: UnsafeCell<Pieces>,
}

// SAFETY: the pieces are used by one thread at a time, by the flag.
unsafe impl Sync for Allocator {}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator {
    busy: AtomicBool::new(false),
    pieces: UnsafeCell::new(Pieces {
        free: [null_mut(); SIZES],
        chunk: null_mut(),
        left: 0,
    }),
};

impl Allocator {
    fn with<R>(&self, action: impl FnOnce(&mut Pieces) -> R) -> R {
        while self.busy.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        // SAFETY: the flag was free, and is given back below.
        let result = action(unsafe { &mut *self.pieces.get() });
        self.busy.store(false, Ordering::Release);
        result
    }
}

/// The bytes of a piece for this layout, and the index of its list.
fn class(layout: Layout) -> (usize, usize) {
    let bytes = layout
        .size()
        .max(layout.align())
        .max(SMALLEST)
        .next_power_of_two();
    (bytes, (bytes / SMALLEST).ilog2() as usize)
}

// SAFETY: pieces of a power of two are cut from aligned chunks so that each is aligned to its size
// up to a page; a piece is in a list or in use, never both.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (bytes, list) = class(layout);
        if bytes > LARGEST {
            return pages::map(bytes).map_or(null_mut(), NonNull::as_ptr);
        }
        self.with(|pieces| {
            let first = pieces.free[list];
            if !first.is_null() {
                // SAFETY: a free piece holds the address of the next one.
                pieces.free[list] = unsafe { first.cast::<*mut u8>().read() };
                return first;
            }
            // Cut from the end of what is left, at a multiple of the size.
            let start = pieces.left.saturating_sub(bytes) & !(bytes - 1);
            if pieces.left < bytes {
                let Some(chunk) = pages::map(CHUNK) else {
                    return null_mut();
                };
                (pieces.chunk, pieces.left) = (chunk.as_ptr(), CHUNK - bytes);
                // SAFETY: inside the chunk.
                return unsafe { pieces.chunk.add(pieces.left) };
            }
            pieces.left = start;
            // SAFETY: inside the chunk.
            unsafe { pieces.chunk.add(start) }
        })
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        let (bytes, list) = class(layout);
        if bytes > LARGEST {
            if let Some(piece) = NonNull::new(piece) {
                // SAFETY: it was mapped as one piece of this size.
                unsafe { pages::unmap(piece, bytes) };
            }
            return;
        }
        self.with(|pieces| {
            // SAFETY: the piece is at least as big as an address, aligned, and nobody's.
            unsafe { piece.cast::<*mut u8>().write(pieces.free[list]) };
            pieces.free[list] = piece;
        });
    }
}
