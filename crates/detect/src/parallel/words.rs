//! The words of a table of rows, in reserved memory. [`super::rows`] has the rules.
//!
//! The tests of memory orderings put words of their own in the place of this file.

use crate::atomics::AtomicU32;
use crate::pages;
use crate::table::{FORGOTTEN_PIECE, Table, TableError};
use std::ptr::NonNull;

pub(super) struct Words<const N: usize>(Table<[u32; N]>);

// SAFETY: the words are only touched by atomic operations, and the table neither grows nor moves.
unsafe impl<const N: usize> Sync for Words<N> {}

impl<const N: usize> Words<N> {
    /// Reserves room for this many rows, all zeros.
    pub(super) fn reserve(name: &'static str, rows: usize) -> Result<Self, TableError> {
        let mut table = Table::reserve(name, rows)?;
        table.grow_to(table.capacity())?;
        Ok(Words(table))
    }

    /// Gives back the memory of rows up to `end`, in whole pieces. Those up to `from` were
    /// forgotten before.
    pub(super) fn forget(&self, from: usize, end: usize) {
        let piece = |row: usize| row * size_of::<[u32; N]>() / FORGOTTEN_PIECE * FORGOTTEN_PIECE;
        let (from, end) = (piece(from), piece(end.min(self.rows())));
        if let Some(base) = NonNull::new(self.0.base().cast::<u8>())
            && from < end
        {
            // SAFETY: whole pages of the table, from which nobody borrows.
            unsafe { pages::make_zero(base.add(from), end - from) };
        }
    }

    #[inline]
    pub(super) fn rows(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(super) fn word(&self, row: usize, column: usize) -> &AtomicU32 {
        assert!(row < self.0.len() && column < N);
        let first: *mut u32 = self.0.base().cast();
        // SAFETY: the word lies in the table, which lives as long as this borrow. Nobody borrows
        // from the table: these atomic operations alone touch it.
        unsafe { AtomicU32::from_ptr(first.add(row * N + column)) }
    }
}
