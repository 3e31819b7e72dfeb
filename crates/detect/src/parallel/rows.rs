//! A table that many workers add rows to, and that all of them read.
//!
//! A row is a few 32-bit words. It is written once, by the worker that adds it, and never changes.
//! Rows have numbers from 0 on. Address space is reserved once, so a row never moves.
//!
//! **Memory ordering.** Words are written and read with relaxed operations. A worker learns the
//! number of another worker's row from something that was published with a release and read with
//! an acquire: a cell of the shadow memory, or a task that was handed over. That orders the words
//! of the row as well. A number that was made up finds words of a row that may be half written, but
//! no undefined ones.

use crate::table::{Table, TableError};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

pub struct Rows<const N: usize> {
    name: &'static str,
    table: Table<[u32; N]>,
    used: AtomicUsize,
}

// SAFETY: the words are only touched by atomic operations, and the table neither grows nor moves.
unsafe impl<const N: usize> Sync for Rows<N> {}

impl<const N: usize> Rows<N> {
    /// Reserves room for this many rows. Memory is taken as they are added.
    pub fn reserve(name: &'static str, most: usize) -> Result<Self, TableError> {
        let mut table = Table::reserve(name, most)?;
        table.grow_to(table.capacity())?;
        Ok(Rows {
            name,
            table,
            used: AtomicUsize::new(0),
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
        if row + count > self.table.len() {
            // The count must not wrap around.
            self.used.fetch_sub(count, Ordering::Relaxed);
            return Err(TableError::Exhausted {
                table: self.name,
                capacity: self.table.len(),
            });
        }
        Ok(row as u32)
    }

    /// Writes a row that was taken, before anybody else knows its number.
    pub fn put(&self, row: u32, words: [u32; N]) {
        for (column, word) in words.into_iter().enumerate() {
            self.word(row as usize, column)
                .store(word, Ordering::Relaxed);
        }
    }

    /// Changes a word of a row that others know, as its owner.
    pub fn put_word(&self, row: u32, column: usize, word: u32) {
        self.word(row as usize, column)
            .store(word, Ordering::Relaxed);
    }

    /// How many rows have been taken.
    pub fn len(&self) -> usize {
        self.used.load(Ordering::Relaxed).min(self.table.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn get(&self, row: u32) -> [u32; N] {
        std::array::from_fn(|column| self.word(row as usize, column).load(Ordering::Relaxed))
    }

    #[inline]
    fn word(&self, row: usize, column: usize) -> &AtomicU32 {
        assert!(row < self.table.len() && column < N);
        let first: *mut u32 = self.table.base().cast();
        // SAFETY: the word lies in the table, which lives as long as this borrow. Nobody borrows
        // from the table: these atomic operations alone touch it.
        unsafe { AtomicU32::from_ptr(first.add(row * N + column)) }
    }

    pub fn used_bytes(&self) -> usize {
        self.len() * size_of::<[u32; N]>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_several_workers_are_kept_apart() {
        const WORKERS: u32 = 4;
        const EACH: u32 = 5_000;
        let rows: Rows<2> = Rows::reserve("rows", 1 << 20).unwrap();
        let add = |worker: u32| {
            let one = |number| rows.add([worker, number]).unwrap();
            (0..EACH).map(one).collect::<Vec<u32>>()
        };
        let numbers: Vec<Vec<u32>> = std::thread::scope(|scope| {
            let workers = (0..WORKERS).map(|worker| scope.spawn(move || add(worker)));
            let workers: Vec<_> = workers.collect();
            workers.into_iter().map(|it| it.join().unwrap()).collect()
        });
        for (worker, numbers) in numbers.iter().enumerate() {
            for (number, row) in numbers.iter().enumerate() {
                assert_eq!(rows.get(*row), [worker as u32, number as u32]);
            }
        }
        let mut all = numbers.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..WORKERS * EACH));
    }

    #[test]
    fn a_full_table_says_so_and_stays_as_it_is() {
        let rows: Rows<1> = Rows::reserve("rows", 3).unwrap();
        for word in 5..8 {
            rows.add([word]).unwrap();
        }
        assert!(rows.add([9]).is_err() && rows.add([9]).is_err());
        assert_eq!([0, 1, 2].map(|row| rows.get(row)), [[5], [6], [7]]);
    }
}
