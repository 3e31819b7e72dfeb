//! Flat tables that never move. Address space is reserved once, and pages are committed when they
//! are touched.
//!
//! A table grows in place, so an address into it stays valid while the table lives. It asks the
//! operating system and not the global allocator, so it can be used inside an allocator. Fresh
//! elements are all zeros. A [`Zeroed`] type makes that a value.
//!
//! Cost: reserving is one system call. Growing sets a length. A page that was never touched costs
//! nothing. A table bigger than a few huge pages asks for huge pages, because the fault of a small
//! page would cost more than the accesses in it. If the system refuses a reservation (a limit on
//! address space, strict overcommit), smaller ones are tried. A table that then runs out returns a
//! [`TableError`].

use crate::pages;
use finishline_model::hash::IdMap;
use std::fmt;
use std::hash::Hash;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Types for which bytes of zeros are a value.
///
/// # Safety
///
/// All zeros must be a valid value of the type, the one called `ZERO`.
pub unsafe trait Zeroed: Copy {
    const ZERO: Self;
}

// SAFETY: zero is an integer.
unsafe impl Zeroed for u32 {
    const ZERO: u32 = 0;
}
// SAFETY: zero is an integer.
unsafe impl Zeroed for u64 {
    const ZERO: u64 = 0;
}
// SAFETY: an array of valid values is valid, and has nothing between its elements.
unsafe impl<T: Zeroed, const N: usize> Zeroed for [T; N] {
    const ZERO: [T; N] = [T::ZERO; N];
}

/// A table could not be reserved or could not grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableError {
    /// Not even the smallest useful piece of address space was granted.
    Refused { table: &'static str, bytes: usize },
    /// More elements are needed than were reserved.
    Exhausted {
        table: &'static str,
        capacity: usize,
    },
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::Refused { table, bytes } => {
                write!(
                    f,
                    "the system refused {bytes} bytes of address space for the table of {table}"
                )
            }
            TableError::Exhausted { table, capacity } => {
                write!(f, "the table of {table} is full at {capacity} entries")
            }
        }
    }
}

impl std::error::Error for TableError {}

impl TableError {
    /// The error of a table that needs room for this number of entries.
    pub(crate) fn refused<T>(table: &'static str, entries: usize) -> TableError {
        let bytes = entries.saturating_mul(size_of::<T>());
        TableError::Refused { table, bytes }
    }
}

/// Makes room for more entries in a table that may move. Adding them then can't fail.
pub(crate) fn make_room<T>(
    entries: &mut Vec<T>,
    more: usize,
    table: &'static str,
) -> Result<(), TableError> {
    let needed = entries.len().saturating_add(more);
    let refused = |_| TableError::refused::<T>(table, needed);
    entries.try_reserve(more).map_err(refused)
}

/// The same for one more entry of a map.
pub(crate) fn make_room_in<K: Eq + Hash, V>(
    entries: &mut IdMap<K, V>,
    table: &'static str,
) -> Result<(), TableError> {
    let needed = entries.len() + 1;
    let refused = |_| TableError::refused::<(K, V)>(table, needed);
    entries.try_reserve(1).map_err(refused)
}

/// The least that is asked for, and the factor by which a request shrinks after a refusal. Of what
/// is then granted, this part is kept, so that a process with limited address space keeps most of
/// it for its other tables and stacks, however many there are.
const SMALLEST_BYTES: usize = 1 << 16;
const AFTER_REFUSAL_DIVIDE_BY: usize = 8;

/// Tables of at least this size use huge pages.
const HUGE_PAGES_FROM_BYTES: usize = 8 << 20;

/// Memory is given back in pieces of this many bytes, a multiple of all sizes of pages in use but
/// huge ones.
pub const FORGOTTEN_PIECE: usize = 1 << 18;

/// A vector in address space of its own. See the module.
pub struct Table<T: Zeroed> {
    name: &'static str,
    base: NonNull<T>,
    len: usize,
    capacity: usize,
    mapped_bytes: usize,
    /// The bytes at the beginning whose memory was given back.
    forgotten_bytes: usize,
}

impl<T: Zeroed> Table<T> {
    /// An empty table for at most `capacity` elements, or fewer if the system has no room for that
    /// many. `name` says what the elements are, for messages.
    pub fn reserve(name: &'static str, capacity: usize) -> Result<Self, TableError> {
        const { assert!(size_of::<T>() > 0 && align_of::<T>() <= 4096) };
        let wanted_bytes = capacity.saturating_mul(size_of::<T>()).max(SMALLEST_BYTES);
        let smaller = |bytes: usize| (bytes / AFTER_REFUSAL_DIVIDE_BY).max(SMALLEST_BYTES);
        let mut mapped_bytes = wanted_bytes;
        loop {
            if let Some(base) = pages::map(mapped_bytes) {
                let kept_bytes = smaller(mapped_bytes).next_multiple_of(SMALLEST_BYTES);
                if mapped_bytes < wanted_bytes && kept_bytes < mapped_bytes {
                    // SAFETY: the pages were mapped above, and nobody borrows from them.
                    unsafe { pages::unmap(base.add(kept_bytes), mapped_bytes - kept_bytes) };
                    mapped_bytes = kept_bytes;
                }
                let capacity = capacity.min(mapped_bytes / size_of::<T>());
                return Ok(Table {
                    name,
                    base: base.cast(),
                    len: 0,
                    capacity,
                    mapped_bytes,
                    forgotten_bytes: 0,
                });
            }
            if mapped_bytes == SMALLEST_BYTES {
                return Err(TableError::Refused {
                    table: name,
                    bytes: mapped_bytes,
                });
            }
            mapped_bytes = smaller(mapped_bytes);
        }
    }

    /// Makes the table at least `len` long. New elements are zero.
    pub fn grow_to(&mut self, len: usize) -> Result<(), TableError> {
        if len > self.capacity {
            return Err(TableError::Exhausted {
                table: self.name,
                capacity: self.capacity,
            });
        }
        if len > self.len {
            let before = self.used_bytes();
            self.len = len;
            if before < HUGE_PAGES_FROM_BYTES && self.used_bytes() >= HUGE_PAGES_FROM_BYTES {
                self.ask_for_huge_pages();
            }
        }
        Ok(())
    }

    /// Asks for huge pages. A system without them refuses, which does no harm.
    #[cold]
    fn ask_for_huge_pages(&self) {
        // SAFETY: the mapping is this table's own, and the advice changes no contents.
        unsafe { pages::ask_for_huge(self.base.cast(), self.mapped_bytes) };
    }

    /// Appends a zero and returns its index.
    #[inline]
    pub fn push_zero(&mut self) -> Result<usize, TableError> {
        let index = self.len;
        self.grow_to(index + 1)?;
        Ok(index)
    }

    /// Forgets all elements and keeps the memory.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Forgets the elements from `len` on and keeps the memory.
    pub fn truncate(&mut self, len: usize) {
        if let Some(forgotten) = self.get_mut(len..) {
            forgotten.fill(T::ZERO);
            self.len = len;
            self.forgotten_bytes = self.forgotten_bytes.min(len * size_of::<T>());
        }
    }

    /// Makes elements before `end` zero and gives their memory back: all that fill whole pieces of
    /// [`FORGOTTEN_PIECE`] bytes. Those that were forgotten before may have been written since;
    /// they stay. True if anything was done.
    pub fn forget_before(&mut self, end: usize) -> bool {
        let bytes = end.min(self.len) * size_of::<T>() / FORGOTTEN_PIECE * FORGOTTEN_PIECE;
        let from = self.forgotten_bytes;
        if bytes <= from {
            return false;
        }
        // SAFETY: the piece is inside the mapping, which is this table's own, and is not borrowed.
        // It consists of whole pages.
        let done = unsafe { pages::make_zero(self.base.cast().add(from), bytes - from) };
        if done {
            self.forgotten_bytes = bytes;
        }
        done
    }

    /// The first element. Unlike a pointer from a slice it may be written through, by whoever makes
    /// sure that nobody borrows from the table.
    pub fn base(&self) -> *mut T {
        self.base.as_ptr()
    }

    /// The most elements that fit.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The bytes of the elements in use. The memory that the table really takes is at most this, up
    /// to a page.
    pub fn used_bytes(&self) -> usize {
        self.len * size_of::<T>() - self.forgotten_bytes
    }
}

impl<T: Zeroed> Deref for Table<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `len <= capacity` elements are mapped from `base`, page-aligned, initialised by
        // the system to zeros, which are a `T`, and changed only through `deref_mut`.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl<T: Zeroed> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the table owns the mapping and is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.len) }
    }
}

impl<T: Zeroed> Drop for Table<T> {
    fn drop(&mut self) {
        // SAFETY: the table made this mapping and owns it; nothing can borrow from it any more.
        unsafe { pages::unmap(self.base.cast(), self.mapped_bytes) };
    }
}

// SAFETY: the table owns its memory as a `Vec` does.
unsafe impl<T: Zeroed + Send> Send for Table<T> {}

impl<T: Zeroed> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({}, {} of {})", self.name, self.len, self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_in_place_with_zeros() {
        let mut table = Table::<[u32; 2]>::reserve("pairs", 1 << 24).unwrap();
        table.grow_to(3).unwrap();
        table[2] = [7, 8];
        let address = table.as_ptr();
        table.grow_to(1 << 24).unwrap();
        assert_eq!(table.as_ptr(), address);
        assert_eq!(
            (table[2], table[3], table[(1 << 24) - 1]),
            ([7, 8], [0, 0], [0, 0])
        );
        assert_eq!(table.used_bytes(), 8 << 24);
        table.grow_to(1).unwrap();
        assert_eq!(table.len(), 1 << 24, "growing never shrinks");
    }

    #[test]
    fn a_full_table_says_so() {
        let mut table = Table::<u32>::reserve("things", 2).unwrap();
        assert_eq!((table.push_zero(), table.push_zero()), (Ok(0), Ok(1)));
        let full = table.push_zero().unwrap_err();
        assert_eq!(
            full,
            TableError::Exhausted {
                table: "things",
                capacity: 2
            }
        );
        assert_eq!(full.to_string(), "the table of things is full at 2 entries");
        assert_eq!(table.len(), 2);
    }

    #[test]
    fn a_refused_reservation_becomes_a_smaller_one() {
        // More than any processor's address space.
        let mut table = Table::<u64>::reserve("numbers", usize::MAX).unwrap();
        assert!(table.capacity() >= SMALLEST_BYTES / 8 && table.capacity() < usize::MAX / 8);
        table.grow_to(1000).unwrap();
        table[999] = 1;
        assert!(matches!(
            table.grow_to(usize::MAX),
            Err(TableError::Exhausted { .. })
        ));
    }

    /// What a refusal leaves is shared: the first tables do not take all of it.
    #[test]
    fn many_refused_reservations_leave_room() {
        let reserve = |_| Table::<u64>::reserve("numbers", usize::MAX).unwrap();
        let tables: Vec<_> = (0..50).map(reserve).collect();
        let last = tables.last().expect("some").capacity();
        assert!(last > 1 << 20, "{last} entries");
    }

    #[test]
    fn a_forgotten_beginning_is_zero_again() {
        let piece = FORGOTTEN_PIECE / 4;
        let mut table = Table::<u32>::reserve("things", 1 << 20).unwrap();
        table.grow_to(3 * piece + 10).unwrap();
        table.fill(5);
        assert!(!table.forget_before(piece - 1), "not a whole piece");
        assert!(table.forget_before(2 * piece + 7));
        assert!(!table.forget_before(2 * piece + 7), "nothing new");
        assert_eq!(table.used_bytes(), FORGOTTEN_PIECE + 40);
        let zeros = table.iter().take_while(|&&it| it == 0).count();
        assert_eq!(zeros, 2 * piece);
        assert!(table[zeros..].iter().all(|&it| it == 5));
        table[3] = 1;
        assert!(table.forget_before(usize::MAX), "up to the end");
        assert_eq!(table[3], 1, "written since");
        table.clear();
        assert_eq!(table.used_bytes(), 0);
        table.grow_to(2).unwrap();
        assert_eq!(table.used_bytes(), 8);
    }

    #[test]
    fn a_cleared_table_is_empty_and_zero_again() {
        let mut table = Table::<u32>::reserve("things", 100).unwrap();
        table.grow_to(10).unwrap();
        table.fill(5);
        table.clear();
        assert_eq!((table.len(), table.used_bytes()), (0, 0));
        table.grow_to(10).unwrap();
        assert!(table.iter().all(|&x| x == 0));
    }
}
