//! A table that many workers add rows to, and that all of them read.
//!
//! A row is a few 32-bit words. It is written once, by the worker that adds it, and never changes.
//! Rows have numbers from 0 on. Address space is reserved once, so a row never moves. Rows that
//! nobody will read any more can be forgotten: their memory is given back, their numbers are not.
//!
//! **Memory ordering.** Words are written and read with relaxed operations. A worker learns the
//! number of another worker's row from something that was published with a release and read with
//! an acquire: a cell of the shadow memory, or a task that was handed over. That orders the words
//! of the row as well. A number that was made up finds words of a row that may be half written, but
//! no undefined ones.

use super::words::Words;
use crate::atomics::{AtomicUsize, Ordering};
use crate::table::TableError;

pub struct Rows<const N: usize> {
    name: &'static str,
    words: Words<N>,
    used: AtomicUsize,
    /// How many at the beginning are forgotten.
    forgotten: AtomicUsize,
}

impl<const N: usize> Rows<N> {
    /// Reserves room for this many rows. Memory is taken as they are added.
    pub fn reserve(name: &'static str, most: usize) -> Result<Self, TableError> {
        Ok(Rows {
            name,
            words: Words::reserve(name, most)?,
            used: AtomicUsize::new(0),
            forgotten: AtomicUsize::new(0),
        })
    }

    /// Adds a row and returns its number.
    pub fn add(&self, words: [u32; N]) -> Result<u32, TableError> {
        let row = self.take(1)?;
        self.put(row, words);
        Ok(row)
    }

    /// Takes so many rows, all zeros, and returns the number of the first. Whoever takes them
    /// writes them.
    pub fn take(&self, count: usize) -> Result<u32, TableError> {
        let row = self.used.fetch_add(count, Ordering::Relaxed);
        if row + count > self.words.rows() {
            // The count must not wrap around.
            self.used.fetch_sub(count, Ordering::Relaxed);
            return Err(TableError::Exhausted {
                table: self.name,
                capacity: self.words.rows(),
            });
        }
        Ok(row as u32)
    }

    /// Writes a row that was taken, before anybody else knows its number.
    pub fn put(&self, row: u32, words: [u32; N]) {
        for (column, word) in words.into_iter().enumerate() {
            let place = self.words.word(row as usize, column);
            place.store(word, Ordering::Relaxed);
        }
    }

    /// Changes a word of a row that others know, as its owner.
    pub fn put_word(&self, row: u32, column: usize, word: u32) {
        let place = self.words.word(row as usize, column);
        place.store(word, Ordering::Relaxed);
    }

    /// How many rows have been taken.
    pub fn len(&self) -> usize {
        self.used.load(Ordering::Relaxed).min(self.words.rows())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets the rows before this one. No worker may read one of them again.
    pub fn forget_before(&self, row: u32) {
        let before = self.forgotten.swap(row as usize, Ordering::Relaxed);
        self.words.forget(before, row as usize);
    }

    #[inline]
    pub fn get(&self, row: u32) -> [u32; N] {
        debug_assert!(row as usize >= self.forgotten.load(Ordering::Relaxed));
        let word = |column| self.words.word(row as usize, column);
        std::array::from_fn(|column| word(column).load(Ordering::Relaxed))
    }

    pub fn used_bytes(&self) -> usize {
        let forgotten = self.forgotten.load(Ordering::Relaxed);
        self.len().saturating_sub(forgotten) * size_of::<[u32; N]>()
    }
}
