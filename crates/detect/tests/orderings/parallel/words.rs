//! The words of a small table, which loom follows. In the place of `parallel/words.rs`.

use crate::table::TableError;
use loom::sync::atomic::AtomicU32;

/// Enough for every test.
const ROWS: usize = 8;

pub(super) struct Words<const N: usize>(Vec<[AtomicU32; N]>);

impl<const N: usize> Words<N> {
    pub(super) fn reserve(_: &'static str, rows: usize) -> Result<Self, TableError> {
        let row = |_| std::array::from_fn(|_| AtomicU32::new(0));
        Ok(Words((0..rows.min(ROWS)).map(row).collect()))
    }

    pub(super) fn forget(&self, _from: usize, _end: usize) {}

    pub(super) fn rows(&self) -> usize {
        self.0.len()
    }

    pub(super) fn word(&self, row: usize, column: usize) -> &AtomicU32 {
        &self.0[row][column]
    }
}
