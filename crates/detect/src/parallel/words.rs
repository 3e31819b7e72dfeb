//! The words of a table of rows, in reserved memory. [`super::rows`] has the rules.
//!
//! The tests of memory orderings put words of their own in the place of this file.

use crate::atomics::AtomicU32;
use crate::table::{Table, TableError};

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
