//! The stack that a compiled program runs on: address space for the deepest nesting that its budget
//! allows, committed page by page as it is used.
//!
//! Calls and creations of tasks are counted against the memory budget before they happen, so the
//! stack can't overflow. Its size is the budget times the most bytes that a frame of compiled code
//! takes for each byte the budget counts for it. Where the system has no room for that, the stack
//! is smaller, and the program may nest less deeply: it then fails for want of the system's memory,
//! not of its budget. The lowest page is never accessible, should that reasoning ever be wrong.

use corosensei::stack::{Stack, StackPointer};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::num::NonZeroUsize;
use std::ops::Range;

const PAGE: usize = 4096;

/// The least that is asked for, and how much less is asked for after a refusal. Of what is then
/// granted, this part is kept: a process whose address space is limited keeps most of it for the
/// heap.
const SMALLEST_BYTES: usize = 4 << 20;
const AFTER_REFUSAL_DIVIDE_BY: usize = 8;

pub(crate) struct ProgramStack {
    bounds: Range<usize>,
}

impl ProgramStack {
    /// A stack of `bytes`, or fewer if the system has no room. None if it has no room at all.
    pub(crate) fn new(wanted: usize) -> Option<ProgramStack> {
        let smaller = |bytes: usize| (bytes / AFTER_REFUSAL_DIVIDE_BY).max(SMALLEST_BYTES);
        let mut bytes = wanted;
        loop {
            match ProgramStack::exactly(bytes) {
                Some(stack) if bytes == wanted => return Some(stack),
                Some(granted) => {
                    drop(granted);
                    return ProgramStack::exactly(smaller(bytes).min(bytes));
                }
                None if bytes <= SMALLEST_BYTES => return None,
                None => bytes = smaller(bytes),
            }
        }
    }

    fn exactly(bytes: usize) -> Option<ProgramStack> {
        let bytes = bytes.checked_next_multiple_of(PAGE)?.checked_add(PAGE)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let (read, write) = (ProtFlags::READ, ProtFlags::WRITE);
        // SAFETY: a new anonymous mapping at an address of the system's choice overlaps nothing.
        let lowest = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, read | write, flags) };
        let lowest = lowest.ok()?;
        let stack = ProgramStack {
            bounds: lowest as usize..lowest as usize + bytes,
        };
        // SAFETY: the page is the stack's own, and nothing uses it yet.
        unsafe { mprotect(lowest, PAGE, MprotectFlags::empty()) }.ok()?;
        Some(stack)
    }

    /// Bytes that can be used.
    pub(crate) fn bytes(&self) -> usize {
        self.bounds.len() - PAGE
    }

    /// One past its highest address, where it begins.
    pub(crate) fn base_address(&self) -> usize {
        self.bounds.end
    }
}

impl Drop for ProgramStack {
    fn drop(&mut self) {
        // SAFETY: the mapping is the stack's own, and nothing runs on it any more.
        let _ = unsafe { munmap(self.bounds.start as *mut _, self.bounds.len()) };
    }
}

fn pointer(address: usize) -> StackPointer {
    NonZeroUsize::new(address).expect("the system maps nothing at 0")
}

// SAFETY: the range is mapped for as long as the value lives, page-aligned, and has a guard page at
// its low end.
unsafe impl Stack for ProgramStack {
    fn base(&self) -> StackPointer {
        pointer(self.bounds.end)
    }

    fn limit(&self) -> StackPointer {
        pointer(self.bounds.start)
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE, ProgramStack};

    /// What the system says of the memory at an address: `rw-p`, or `---p` if nobody may touch it.
    fn rights(address: usize) -> Option<String> {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("the list of mappings");
        maps.lines().find_map(|line| {
            let (range, rest) = line.split_once(' ')?;
            let (from, to) = range.split_once('-')?;
            let number = |text| usize::from_str_radix(text, 16).ok();
            let inside = (number(from)?..number(to)?).contains(&address);
            inside.then(|| rest.split(' ').next().unwrap_or_default().to_owned())
        })
    }

    #[test]
    fn all_bytes_but_the_lowest_page_can_be_used() {
        let stack = ProgramStack::new(10 * PAGE + 1).expect("a small stack");
        assert_eq!(stack.bytes(), 11 * PAGE);
        let lowest = stack.base_address() - stack.bytes();
        assert_eq!(rights(lowest).as_deref(), Some("rw-p"));
        assert_eq!(rights(stack.base_address() - 1).as_deref(), Some("rw-p"));
        assert_eq!(rights(lowest - 1).as_deref(), Some("---p"));
        assert_eq!(rights(lowest - PAGE).as_deref(), Some("---p"));
    }

    /// More of them than the address space holds, one after the other.
    #[test]
    fn a_stack_is_given_back() {
        for _ in 0..2000 {
            assert!(ProgramStack::exactly(1 << 38).is_some());
        }
    }
}
