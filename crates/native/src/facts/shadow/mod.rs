//! Shadow memory: a cell for every byte of the address space, or one for several bytes where that
//! says the same.
//!
//! A directory has an entry for each 4 KiB page of the 47-bit address space. It is reserved as a
//! whole and comes into memory where it is touched. A page that has been accessed has cells, at
//! first one for each word of 8 bytes. An access that is not of whole words, and changes what is
//! remembered, **divides** its word: the word's cell then holds the number of a block of cells, one
//! for each 4 bytes or for each byte, which begin with the word's cell. When the cells of a block
//! have become equal, the word is one again. A page with many divided words gets finer cells
//! altogether. So an access is always of whole cells, no two addresses share a cell that an access
//! told apart, and data accessed in words costs as much again, not eight times.
//!
//! A cell that is [`ELSEWHERE`] has its history in the detector, by location. The detector is told
//! when such a cell is divided or forgotten.
//!
//! **Locations** are numbered densely, as the detector wants them: the n-th page that was accessed
//! has those from 4096·n on, one for each byte.

use finishline_detect::Failure;
use finishline_detect::inline::{ELSEWHERE, reference, referred};
use finishline_detect::table::{Table, TableError};
use finishline_model::Location;
use std::ops::Range;
use std::slice;

pub const PAGE: usize = 1 << PAGE_BITS;
pub const PAGE_BITS: u32 = 12;
const ADDRESS_BITS: u32 = 47;
pub const PAGES: usize = 1 << (ADDRESS_BITS - PAGE_BITS);
/// A gigabyte.
const REGION_BITS: u32 = 30;
const REGIONS: usize = 1 << (ADDRESS_BITS - REGION_BITS);

/// How many bytes share a cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Grain(u32);

impl Grain {
    pub const BYTE: Grain = Grain(0);
    pub const HALF: Grain = Grain(2);
    pub const WORD: Grain = Grain(3);

    pub const fn bytes(self) -> usize {
        1 << self.0
    }

    const fn cells(self) -> usize {
        PAGE >> self.0
    }
}

/// The bytes of a word, and the words of a page.
const WORD: usize = Grain::WORD.bytes();
const WORDS: usize = Grain::WORD.cells();

/// The cells of a divided word, if they are two only the first two.
type DividedWord = [u64; WORD];

/// How a divided word's cell names its block, and says of which grain that is.
#[derive(Clone, Copy)]
struct Divided {
    block: usize,
    grain: Grain,
}

impl Divided {
    const HALVES: u32 = 1 << 30;

    #[inline]
    fn of(cell: u64) -> Option<Divided> {
        let number = referred(cell)?;
        let grain = match number & Divided::HALVES {
            0 => Grain::BYTE,
            _ => Grain::HALF,
        };
        let block = (number & !Divided::HALVES) as usize;
        Some(Divided { block, grain })
    }

    fn cell(self) -> u64 {
        let halves = match self.grain {
            Grain::HALF => Divided::HALVES,
            _ => 0,
        };
        reference(self.block as u32 | halves)
    }

    /// How many cells.
    fn parts(self) -> usize {
        WORD / self.grain.bytes()
    }
}

/// A page of which more words are divided gets finer cells.
const MOST_DIVIDED: u16 = 64;

/// The cells of a page, as the directory has them: nothing if there are none, and the address of
/// the first one if there is one a word; if they are finer, the highest bit is set and the grain is
/// in the lowest ones.
#[derive(Clone, Copy)]
struct Entry(u64);

/// Of an entry with finer cells.
pub const FINER: u64 = 1 << 63;
/// Where such a one has its grain.
pub const GRAIN: u64 = 7;

impl Entry {
    fn new(cells: *mut u64, grain: Grain) -> Entry {
        match grain {
            Grain::WORD => Entry(cells as u64),
            _ => Entry(cells as u64 | FINER | u64::from(grain.0)),
        }
    }

    #[inline(always)]
    fn get(self) -> Option<(*mut u64, Grain)> {
        match self.0 {
            0 => None,
            cells if cells & FINER == 0 => Some((cells as *mut u64, Grain::WORD)),
            finer => {
                let cells = finer & !(FINER | GRAIN);
                Some((cells as *mut u64, Grain((finer & GRAIN) as u32)))
            }
        }
    }
}

/// What hears that histories move: the detector, which keeps those of cells that are [`ELSEWHERE`].
pub trait Elsewhere {
    fn copy(&mut self, from: Location, to: Location);
    fn forget(&mut self, location: Location);
}

pub struct Shadow {
    directory: Table<u64>,
    /// By region: whether one of its pages has cells. What skips memory that was never accessed
    /// goes by regions, since programs may own far more than they touch.
    regions: Vec<bool>,
    /// By page: its number plus one.
    numbers: Table<u32>,
    /// By number: the page, and how many of its words are divided.
    pages: Vec<(u64, u16)>,
    /// Where cells are taken from. Never moves.
    arena: Table<u64>,
    /// Cells of pages that became finer, by grain.
    spare: [Vec<*mut u64>; 4],
    blocks: Table<DividedWord>,
    spare_blocks: Vec<u32>,
}

/// Cells that lie together.
pub struct Cells<'a> {
    pub cells: &'a mut [u64],
    pub grain: Grain,
    /// Of the first byte.
    pub location: Location,
}

impl Cells<'_> {
    pub fn bytes(&self) -> u64 {
        (self.cells.len() * self.grain.bytes()) as u64
    }
}

/// A terabyte of cells: more than any machine's memory.
pub const MOST_CELLS: usize = 1 << 37;
/// Less than what a cell can refer to.
const MOST_BLOCKS: usize = 1 << 30;

impl Shadow {
    pub fn new(most_cells: usize) -> Result<Shadow, Failure> {
        let whole = |table: &Table<u64>| table.capacity() == PAGES;
        let mut directory = Table::reserve("pages", PAGES)?;
        let mut numbers = Table::reserve("numbers of pages", PAGES)?;
        if !whole(&directory) || numbers.capacity() != PAGES {
            return Err(Failure::from(TableError::Refused {
                table: "pages",
                bytes: PAGES * size_of::<u64>(),
            }));
        }
        directory.grow_to(PAGES)?;
        numbers.grow_to(PAGES)?;
        Ok(Shadow {
            directory,
            regions: vec![false; REGIONS],
            numbers,
            pages: Vec::new(),
            arena: Table::reserve("cells", most_cells)?,
            spare: Default::default(),
            blocks: Table::reserve("cells of divided words", MOST_BLOCKS)?,
            spare_blocks: Vec::new(),
        })
    }

    /// The entries of all pages, by their numbers. Never moves.
    pub fn directory(&self) -> *const u64 {
        self.directory.as_ptr()
    }

    /// Whether this is so of all cells that have some of a variable's bytes, and maybe others; that
    /// of a divided word counts as one. How many bytes is known where this is called, so the number
    /// of cells is, too, for each grain. It says no of a variable that is not aligned.
    #[inline(always)]
    pub fn all_of_variable(&self, address: u64, bytes: usize, is_so: impl Fn(u64) -> bool) -> bool {
        let Some((cells, grain)) = self.page_of(address) else {
            return false;
        };
        let at = address as usize % PAGE;
        let aligned = at.is_multiple_of(bytes.min(WORD));
        if !aligned || bytes > WORD && at + bytes > PAGE {
            return false;
        }
        // Mostly they are all the same, which a few vector instructions tell.
        let holds = |count: usize| {
            // SAFETY: a page has a cell for each piece of its bytes, and the variable lies in it.
            let cells = unsafe { slice::from_raw_parts(cells.add(at >> grain.0), count) };
            let first = cells[0];
            let differences = cells.iter().fold(0, |bits, cell| bits | (cell ^ first));
            is_so(first) && (differences == 0 || cells.iter().all(|cell| is_so(*cell)))
        };
        match grain {
            Grain::WORD => holds(bytes.div_ceil(WORD)),
            Grain::HALF => holds(bytes.div_ceil(Grain::HALF.bytes())),
            _ => holds(bytes),
        }
    }

    /// The same of any bytes, one at least. It says no if they are not of one page.
    #[inline]
    pub fn all(&self, address: u64, bytes: usize, is_so: impl Fn(u64) -> bool) -> bool {
        let Some((cells, grain)) = self.page_of(address) else {
            return false;
        };
        let first = address as usize % PAGE;
        let last = first.saturating_add(bytes - 1);
        // SAFETY: a page has a cell for each piece of its bytes; they are looked at if the last one
        // lies in it.
        let mut all =
            (first >> grain.0..=last >> grain.0).map(|index| unsafe { *cells.add(index) });
        last < PAGE && all.all(is_so)
    }

    /// The cells of a variable, if it is aligned and has whole ones that lie together. That of a
    /// divided word counts as one.
    #[inline(always)]
    pub fn whole_cells(&mut self, address: u64, bytes: usize) -> Option<&mut [u64]> {
        let (cells, grain) = self.page_of(address)?;
        let at = address as usize % PAGE;
        let is_whole = (at | bytes).is_multiple_of(grain.bytes());
        if !is_whole || at + bytes > PAGE {
            return None;
        }
        let (first, count) = (at >> grain.0, bytes >> grain.0);
        // SAFETY: a page has a cell for each piece of its bytes, and the variable lies in it.
        Some(unsafe { slice::from_raw_parts_mut(cells.add(first), count) })
    }

    #[inline(always)]
    fn page_of(&self, address: u64) -> Option<(*mut u64, Grain)> {
        let entry = self.directory.get((address >> PAGE_BITS) as usize)?;
        Entry(*entry).get()
    }

    /// The cells of a range, as far as they lie together from its beginning on. Divides what the
    /// range isn't whole ones of.
    #[inline]
    pub fn cells(
        &mut self,
        address: u64,
        bytes: u64,
        elsewhere: &mut impl Elsewhere,
    ) -> Result<Cells<'_>, Failure> {
        let page = address >> PAGE_BITS;
        let at = address as usize % PAGE;
        let end = bytes.saturating_add(at as u64).min(PAGE as u64) as usize;
        let (number, found) = loop {
            let Some((cells, grain)) = self.page_of(address) else {
                self.make(page)?;
                continue;
            };
            let number = self.number(page);
            if grain != Grain::WORD {
                if (at | end).is_multiple_of(grain.bytes()) {
                    break (number, (cells, grain, at, end));
                }
                self.refine(page, Grain::BYTE, elsewhere)?;
                continue;
            }
            // SAFETY: the page has a cell for each of its words, borrowed with the shadow.
            let words = unsafe { slice::from_raw_parts(cells, WORDS) };
            let first = at / WORD;
            let until = (at + 1).next_multiple_of(WORD).min(end);
            let wanted = match at | until {
                whole if whole.is_multiple_of(WORD) => Grain::WORD,
                halves if halves.is_multiple_of(Grain::HALF.bytes()) => Grain::HALF,
                _ => Grain::BYTE,
            };
            match Divided::of(words[first]) {
                Some(Divided { block, grain }) if grain <= wanted => {
                    let cells = self.blocks[block].as_mut_ptr();
                    break (number, (cells, grain, at % WORD, until - first * WORD));
                }
                None if wanted == Grain::WORD => {
                    let (_, divided) = self.pages[number];
                    let is_whole = |cell: &&u64| divided == 0 || referred(**cell).is_none();
                    let all = &words[first..end / WORD];
                    let count = all.iter().take_while(is_whole).count();
                    break (number, (cells, Grain::WORD, at, at + count * WORD));
                }
                _ => self.divide(page, first, wanted, elsewhere)?,
            }
        };
        let (cells, grain, from, to) = found;
        let count = (to - from) >> grain.0;
        // SAFETY: a page and a block have as many cells as their grains say, and the range lies in
        // them.
        let cells = unsafe { slice::from_raw_parts_mut(cells.add(from >> grain.0), count) };
        Ok(Cells {
            cells,
            grain,
            location: location(number, at),
        })
    }

    /// Of a page that has cells.
    fn number(&self, page: u64) -> usize {
        self.numbers[page as usize] as usize - 1
    }

    /// The addresses of the cell that begins at a location.
    pub fn cell_at(&self, location: Location) -> Range<u64> {
        let (page, _) = self.pages[(location.0 >> PAGE_BITS) as usize];
        let at = location.0 as usize % PAGE;
        let start = (page << PAGE_BITS) + at as u64;
        let Some((cells, grain)) = self.page_of(start) else {
            return start..start + 1;
        };
        // SAFETY: the page has a cell for each of its pieces.
        let cell = unsafe { *cells.add(at >> grain.0) };
        let divided = Divided::of(cell).filter(|_| grain == Grain::WORD);
        let grain = divided.map_or(grain, |divided| divided.grain);
        start..start + grain.bytes() as u64
    }

    /// Gives a page cells, one a word: most pages stay so.
    #[cold]
    fn make(&mut self, page: u64) -> Result<(), Failure> {
        if page as usize >= PAGES {
            return Err(Failure::from(TableError::Exhausted {
                table: "pages",
                capacity: PAGES,
            }));
        }
        let cells = self.fresh(Grain::WORD)?;
        self.pages.push((page, 0));
        self.numbers[page as usize] = self.pages.len() as u32;
        self.directory[page as usize] = Entry::new(cells, Grain::WORD).0;
        self.regions[(page >> (REGION_BITS - PAGE_BITS)) as usize] = true;
        Ok(())
    }

    /// Cells of zeros.
    fn fresh(&mut self, grain: Grain) -> Result<*mut u64, Failure> {
        if let Some(cells) = self.spare[grain.0 as usize].pop() {
            // SAFETY: they were cells of this grain, and belong to no page now.
            unsafe { cells.write_bytes(0, grain.cells()) };
            return Ok(cells);
        }
        let at = self.arena.len();
        self.arena.grow_to(at + grain.cells())?;
        Ok(self.arena[at..].as_mut_ptr())
    }

    /// The words of a page that has a cell for each.
    fn words(&mut self, page: u64) -> Option<&mut [u64]> {
        let (cells, grain) = self.page_of(page << PAGE_BITS)?;
        // SAFETY: the page has a cell for each of its words, borrowed with the shadow.
        (grain == Grain::WORD).then(|| unsafe { slice::from_raw_parts_mut(cells, WORDS) })
    }

    /// Gives the parts of a word a cell each, or finer ones than they have.
    #[cold]
    fn divide(
        &mut self,
        page: u64,
        index: usize,
        grain: Grain,
        elsewhere: &mut impl Elsewhere,
    ) -> Result<(), Failure> {
        let number = self.number(page);
        let Some(words) = self.words(page) else {
            return Ok(());
        };
        let cell = words[index];
        let before = Divided::of(cell);
        if before.is_none() && self.pages[number].1 >= MOST_DIVIDED {
            let grain = self.finer_grain(page);
            return self.refine(page, grain, elsewhere);
        }
        let block = match (before, self.spare_blocks.pop()) {
            (Some(before), _) => before.block,
            (None, Some(block)) => block as usize,
            (None, None) => self.blocks.push_zero()?,
        };
        let divided = Divided { block, grain };
        if let Some(words) = self.words(page) {
            words[index] = divided.cell();
        }
        self.pages[number].1 += u16::from(before.is_none());
        let whole = Grain::WORD;
        let (coarse, from) = match before {
            Some(before) => (self.blocks[block], before.grain),
            None => ([cell; WORD], whole),
        };
        for part in 0..divided.parts() {
            let at = part * grain.bytes();
            let begins = at & !(from.bytes() - 1);
            self.blocks[block][part] = coarse[at >> from.0];
            if coarse[at >> from.0] == ELSEWHERE && at != begins {
                let first = index * WORD;
                elsewhere.copy(
                    location(number, first + begins),
                    location(number, first + at),
                );
            }
        }
        Ok(())
    }

    /// The coarsest that tells all cells of a page's divided words apart.
    fn finer_grain(&mut self, page: u64) -> Grain {
        let words = self.words(page).into_iter().flatten();
        let divided = words.filter_map(|cell| Divided::of(*cell));
        divided
            .map(|divided| divided.grain)
            .min()
            .unwrap_or(Grain::HALF)
    }

    /// Gives a page cells of a finer grain, each with what the coarser one remembered.
    #[cold]
    fn refine(
        &mut self,
        page: u64,
        to: Grain,
        elsewhere: &mut impl Elsewhere,
    ) -> Result<(), Failure> {
        let fine = self.fresh(to)?;
        let Some((coarse, from)) = self.page_of(page << PAGE_BITS) else {
            return Ok(());
        };
        let number = self.number(page);
        for index in 0..to.cells() {
            let at = index * to.bytes();
            // SAFETY: both have as many cells as their grains say.
            let (old, new) = unsafe { (*coarse.add(at >> from.0), &mut *fine.add(index)) };
            let divided = Divided::of(old).filter(|_| from == Grain::WORD);
            let (source, grain) = match divided {
                Some(Divided { block, grain }) => {
                    (self.blocks[block][(at % WORD) >> grain.0], grain)
                }
                None => (old, from),
            };
            *new = source;
            let begins = at & !(grain.bytes() - 1);
            if source == ELSEWHERE && at != begins {
                elsewhere.copy(location(number, begins), location(number, at));
            }
            let is_last = (at + to.bytes()).is_multiple_of(WORD);
            let spare = divided.filter(|_| is_last);
            self.spare_blocks
                .extend(spare.map(|divided| divided.block as u32));
        }
        self.pages[number].1 = 0;
        self.spare[from.0 as usize].push(coarse);
        self.directory[page as usize] = Entry::new(fine, to).0;
        Ok(())
    }

    /// Makes a divided word one again if its cells are equal.
    pub fn merge(&mut self, address: u64) {
        let page = address >> PAGE_BITS;
        let index = address as usize % PAGE / WORD;
        let Some(&mut cell) = self.words(page).map(|words| &mut words[index]) else {
            return;
        };
        let Some(divided) = Divided::of(cell) else {
            return;
        };
        let cells = &self.blocks[divided.block][..divided.parts()];
        let first = cells[0];
        if first == ELSEWHERE || cells.iter().any(|cell| *cell != first) {
            return;
        }
        if let Some(words) = self.words(page) {
            words[index] = first;
        }
        let number = self.number(page);
        self.pages[number].1 -= 1;
        self.spare_blocks.push(divided.block as u32);
    }

    /// If the page of an address has never been accessed: until where nothing was.
    pub fn without_cells(&self, address: u64) -> Option<u64> {
        let end = |bits: u32| (address | ((1 << bits) - 1)).saturating_add(1);
        match self.regions.get((address >> REGION_BITS) as usize) {
            Some(true) => self.page_of(address).is_none().then_some(end(PAGE_BITS)),
            Some(false) => Some(end(REGION_BITS)),
            None => Some(u64::MAX),
        }
    }

    /// Forgets what happened at these addresses.
    pub fn forget(
        &mut self,
        address: u64,
        bytes: u64,
        elsewhere: &mut impl Elsewhere,
    ) -> Result<(), Failure> {
        let end = address.saturating_add(bytes);
        let mut at = address;
        while at < end {
            if let Some(next) = self.without_cells(at) {
                at = next;
                continue;
            }
            let here = self.cells(at, end - at, elsewhere)?;
            let (forgotten, grain) = (here.bytes(), here.grain);
            let locations = (0..).step_by(grain.bytes());
            for (cell, offset) in here.cells.iter_mut().zip(locations) {
                if *cell == ELSEWHERE {
                    elsewhere.forget(here.location.offset(offset));
                }
                *cell = 0;
            }
            if grain != Grain::WORD {
                self.merge(at);
            }
            at += forgotten;
        }
        Ok(())
    }

    pub fn used_bytes(&self) -> usize {
        self.arena.used_bytes() + self.blocks.used_bytes()
    }
}

fn location(page_number: usize, at: usize) -> Location {
    Location(((page_number as u64) << PAGE_BITS) + at as u64)
}

#[cfg(test)]
mod tests;
