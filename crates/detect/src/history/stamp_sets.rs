//! Sets of stamps in one word, for locations with more than one reader to remember.
//!
//! A later reader is not remembered if a parallel one stands for it ([`Order::stands_for_now`]). If
//! no earlier reader stands for it, all are kept. That happens if a task may outlast the tasks that
//! it ran beside, or if one of them is known to have ended by other means. A word is nobody, a
//! stamp, or a *set*, with its highest bit set. A set is the newest stamp and the word of the
//! others. Sets never change, so locations with the same readers share one. Data that n tasks read
//! takes n entries of 16 bytes, however much data it is. Within a step two results are remembered
//! for each set: the set after adding the step, and that the step races with none of it. The next
//! cell with the same set reuses them.
//!
//! Stamps are added in the order of the run. Those that precede the running step by structure are
//! of no use any more. The newest ones among them are left out whenever a stamp is added: a task
//! that uses a location in each of its steps leaves one stamp. All of them are removed when the set
//! has doubled since the last time. So adding takes amortised constant time and memory, and threads
//! that use a location in turn leave a few stamps each. Stamps that precede the step only by what
//! was observed stay. The answer then says that it relies on observations.

use crate::order::{NOBODY, Order, Stamp};
use crate::table::{TableError, make_room};

/// Marks the word of a set.
const SET: u32 = 1 << 31;
/// Sets up to this size are not searched for what is of no use.
const SMALL: u32 = 8;

#[derive(Clone, Copy, Debug)]
struct Entry {
    newest: Stamp,
    /// The word of the others.
    others: u32,
    len: u32,
    /// The number of stamps after the last clean-up.
    kept: u32,
}

/// The result of adding this stamp to a word.
#[derive(Clone, Copy, Debug)]
struct Added {
    before: u32,
    stamp: Stamp,
    after: u32,
}

const MEMO: usize = 64;
const NONE_ADDED: Added = Added {
    before: NOBODY,
    stamp: NOBODY,
    after: NOBODY,
};

#[derive(Debug)]
pub struct StampSets {
    entries: Vec<Entry>,
    /// Results of this step, by some bits of the word before.
    added: [Added; MEMO],
    /// Sets that race with the running step nowhere, by some of their bits.
    harmless: [u32; MEMO],
    remembers: bool,
    kept: Vec<Stamp>,
}

impl StampSets {
    pub fn new() -> Self {
        StampSets {
            entries: Vec::new(),
            added: [NONE_ADDED; MEMO],
            harmless: [NOBODY; MEMO],
            remembers: false,
            kept: Vec::new(),
        }
    }

    /// Whether this is the word of a set.
    #[inline]
    pub const fn is_set(word: u32) -> bool {
        word & SET != 0
    }

    /// Begins another step.
    #[inline]
    pub fn begin_step(&mut self) {
        if self.remembers {
            self.remembers = false;
            self.added = [NONE_ADDED; MEMO];
            self.harmless = [NOBODY; MEMO];
        }
    }

    /// The word of the set that is made next. Those that a step adds itself to have this word or a
    /// greater one.
    #[inline]
    pub fn next(&self) -> u32 {
        SET | self.entries.len() as u32
    }

    /// Whether the running step is known to race with none of these stamps.
    #[inline]
    pub fn is_harmless(&self, word: u32) -> bool {
        Self::is_set(word) && self.harmless[word as usize % MEMO] == word
    }

    /// Notes that the running step races with none of these stamps.
    pub fn note_harmless(&mut self, word: u32) {
        if Self::is_set(word) {
            self.harmless[word as usize % MEMO] = word;
            self.remembers = true;
        }
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.begin_step();
    }

    pub fn used_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }

    /// The stamps of a word, the newest first.
    pub fn stamps(&self, word: u32) -> impl Iterator<Item = Stamp> {
        let mut left = word;
        std::iter::from_fn(move || {
            let (newest, others) = self.split(left);
            left = others;
            (newest != NOBODY).then_some(newest)
        })
    }

    /// The newest stamp of a word, and the others.
    #[inline]
    pub fn split(&self, word: u32) -> (Stamp, u32) {
        if Self::is_set(word) {
            let entry = self.entries[(word & !SET) as usize];
            (entry.newest, entry.others)
        } else {
            (word, NOBODY)
        }
    }

    /// The word with `now`, a stamp of the strand, added, unless another stamp stands for it.
    pub fn with<O: Order>(
        &mut self,
        word: u32,
        now: Stamp,
        order: &mut O,
        strand: O::Strand,
    ) -> Result<u32, TableError> {
        let (newest, _) = self.split(word);
        if newest.wrapping_sub(order.stamp(strand)) < order.own(strand) {
            return Ok(word);
        }
        let place = word as usize % MEMO;
        let remembered = self.added[place];
        if (remembered.before, remembered.stamp) == (word, now) {
            return Ok(remembered.after);
        }
        let mut useful = word;
        let newest = loop {
            let (newest, others) = self.split(useful);
            if newest == NOBODY {
                return Ok(now);
            }
            if order.structurally_parallel(strand, newest) {
                break newest;
            }
            useful = others;
        };
        if order.stands_for_now(strand, newest) {
            return Ok(useful);
        }
        let (len, kept) = self.lengths(useful);
        let after = match len < SMALL.max(2 * kept) {
            true => self.add(now, useful, kept)?,
            false => self.with_those_beside(useful, now, order, strand)?,
        };
        self.added[place] = Added {
            before: word,
            stamp: now,
            after,
        };
        self.remembers = true;
        Ok(after)
    }

    fn lengths(&self, word: u32) -> (u32, u32) {
        if Self::is_set(word) {
            let entry = self.entries[(word & !SET) as usize];
            (entry.len, entry.kept)
        } else {
            (1, 1)
        }
    }

    fn add(&mut self, newest: Stamp, others: u32, kept: u32) -> Result<u32, TableError> {
        if others == NOBODY {
            return Ok(newest);
        }
        const TABLE: &str = "sets of readers";
        let index = self.entries.len();
        // The last words are reserved: no set and no stamp may equal them.
        if index >= (SET - 3) as usize {
            return Err(TableError::Exhausted {
                table: TABLE,
                capacity: index,
            });
        }
        make_room(&mut self.entries, 1, TABLE)?;
        let (len, _) = self.lengths(others);
        self.entries.push(Entry {
            newest,
            others,
            len: len + 1,
            kept,
        });
        Ok(SET | index as u32)
    }

    /// A set of `now` and the stamps of `word` that are parallel to the running step, without those
    /// that another one stands for.
    fn with_those_beside<O: Order>(
        &mut self,
        word: u32,
        now: Stamp,
        order: &mut O,
        strand: O::Strand,
    ) -> Result<u32, TableError> {
        let (len, _) = self.lengths(word);
        let mut kept = std::mem::take(&mut self.kept);
        kept.clear();
        make_room(&mut kept, len as usize, "sets of readers")?;
        kept.extend(
            self.stamps(word)
                .filter(|&stamp| order.structurally_parallel(strand, stamp)),
        );
        // Oldest first. Of stamps that share their future only the oldest is kept.
        kept.reverse();
        let mut after = NOBODY;
        let mut last_kept = NOBODY;
        let mut count = 0;
        for &stamp in &kept {
            if last_kept == NOBODY || !order.stands_for(strand, last_kept, stamp) {
                after = self.add(stamp, after, count)?;
                last_kept = stamp;
                count += 1;
            }
        }
        self.kept = kept;
        self.add(now, after, count + 1)
    }
}

impl Default for StampSets {
    fn default() -> Self {
        Self::new()
    }
}
