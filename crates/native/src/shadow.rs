//! Shadow memory: a cell for every byte of the address space, and one for several bytes where that says the same.
//!
//! A directory has an entry for each page of 4 KiB of the 47-bit address space; it is reserved as a whole and comes into
//! memory where it is touched. A page that has been accessed has its cells: one for each word of 8 bytes at first. The first access
//! that is not of whole words makes them finer, one for each 4 bytes or for each byte, each with what the coarser one
//! remembered. So an access is always of whole cells, no two addresses share one that an access told apart, and data that is accessed
//! in words costs as much again, not eight times.
//!
//! A cell that lies [`ELSEWHERE`] has its history in the detector, by its location; it is told when cells are
//! divided or forgotten.
//!
//! **Locations** are numbered densely, as the detector wants them: the n-th page that was accessed has those from 4096·n on, one a byte.

use finishline_detect::Failure;
use finishline_detect::inline::ELSEWHERE;
use finishline_detect::table::{Table, TableError};
use finishline_model::Location;
use std::ops::Range;
use std::slice;

pub const PAGE: usize = 1 << PAGE_BITS;
const PAGE_BITS: u32 = 12;
const ADDRESS_BITS: u32 = 47;
const PAGES: usize = 1 << (ADDRESS_BITS - PAGE_BITS);

/// How many bytes share a cell in a page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Grain(u32);

impl Grain {
    pub const BYTE: Grain = Grain(0);
    pub const HALF: Grain = Grain(2);
    pub const WORD: Grain = Grain(3);

    /// The coarsest that tells this range of addresses from its neighbours.
    #[inline]
    pub fn of(address: u64, bytes: usize) -> Grain {
        match (address | bytes as u64) & 7 {
            0 => Grain::WORD,
            4 => Grain::HALF,
            _ => Grain::BYTE,
        }
    }

    pub fn bytes(self) -> usize {
        1 << self.0
    }

    fn cells(self) -> usize {
        PAGE >> self.0
    }
}

/// Where the cells of a page are, aligned, with the grain in the low bits plus one; or zero.
#[derive(Clone, Copy)]
struct Entry(u64);

impl Entry {
    fn new(cells: *mut u64, grain: Grain) -> Entry {
        Entry(cells as u64 | u64::from(grain.0 + 1))
    }

    #[inline]
    fn get(self) -> Option<(*mut u64, Grain)> {
        let grain = (self.0 & 7) as u32;
        Some(((self.0 & !7) as *mut u64, Grain(grain.checked_sub(1)?)))
    }
}

/// What hears that histories move: the detector, which keeps those of cells that are [`ELSEWHERE`].
pub trait Elsewhere {
    fn copy(&mut self, from: Location, to: Location);
    fn forget(&mut self, location: Location);
}

pub struct Shadow {
    directory: Table<u64>,
    /// By page: its number plus one.
    numbers: Table<u32>,
    /// By number: the page.
    pages: Vec<u64>,
    /// Where cells are taken from. Never moves.
    arena: Table<u64>,
    /// Cells of pages that became finer, by grain.
    spare: [Vec<*mut u64>; 4],
}

/// Cells of a range inside one page.
pub struct Cells<'a> {
    pub cells: &'a mut [u64],
    pub grain: Grain,
    /// Of the first byte.
    pub location: Location,
}

/// A terabyte of cells: more than any machine's memory.
const MOST_CELLS: usize = 1 << 37;

impl Shadow {
    pub fn new() -> Result<Shadow, Failure> {
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
            numbers,
            pages: Vec::new(),
            arena: Table::reserve("cells", MOST_CELLS)?,
            spare: Default::default(),
        })
    }

    /// Whether this is so of all cells that have some of a variable's bytes, and maybe others. How many bytes is known where this is
    /// called, so the number of cells is, too, for each grain. It says no of a variable that is not aligned.
    #[inline(always)]
    pub fn all_of_variable(
        &self,
        address: u64,
        bytes: usize,
        is_so: impl Fn(u64) -> bool,
    ) -> bool {
        let Some((cells, grain)) = self.page_of(address) else {
            return false;
        };
        let at = address as usize % PAGE;
        let aligned = at % bytes.min(Grain::WORD.bytes()) == 0;
        if !aligned || bytes > Grain::WORD.bytes() && at + bytes > PAGE {
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
            Grain::WORD => holds(bytes.div_ceil(Grain::WORD.bytes())),
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
        // SAFETY: a page has a cell for each piece of its bytes; they are looked at if the last one lies in it.
        let mut all = (first >> grain.0..=last >> grain.0).map(|index| unsafe { *cells.add(index) });
        last < PAGE && all.all(is_so)
    }

    #[inline(always)]
    fn page_of(&self, address: u64) -> Option<(*const u64, Grain)> {
        let entry = self.directory.get((address >> PAGE_BITS) as usize)?;
        let (cells, grain) = Entry(*entry).get()?;
        Some((cells, grain))
    }

    /// The cells of a range, which lies in one page. Divides them if the range isn't of whole ones.
    #[inline]
    pub fn cells(
        &mut self,
        address: u64,
        bytes: usize,
        elsewhere: &mut impl Elsewhere,
    ) -> Result<Cells<'_>, Failure> {
        let page = address >> PAGE_BITS;
        let wanted = Grain::of(address, bytes);
        let entry = self.directory.get(page as usize).copied().unwrap_or(0);
        let (cells, grain) = match Entry(entry).get() {
            Some((cells, grain)) if grain <= wanted => (cells, grain),
            _ => self.make(page, wanted, elsewhere)?,
        };
        let first = (address as usize % PAGE) >> grain.0;
        let count = bytes >> grain.0;
        debug_assert!(first + count <= grain.cells());
        // SAFETY: a page has as many cells as its grain says, and the range lies in the page.
        let cells = unsafe { slice::from_raw_parts_mut(cells.add(first), count) };
        let number = u64::from(self.numbers[page as usize]) - 1;
        let location = Location((number << PAGE_BITS) + address % PAGE as u64);
        Ok(Cells {
            cells,
            grain,
            location,
        })
    }

    /// The addresses of the cell that begins at a location.
    pub fn cell_at(&self, location: Location) -> Range<u64> {
        let page = self.pages[(location.0 >> PAGE_BITS) as usize];
        let start = (page << PAGE_BITS) + location.0 % PAGE as u64;
        let grain = Entry(self.directory[page as usize]).get();
        start..start + grain.map_or(1, |(_, grain)| grain.bytes() as u64)
    }

    /// Gives a page cells, or finer ones.
    #[cold]
    fn make(
        &mut self,
        page: u64,
        wanted: Grain,
        elsewhere: &mut impl Elsewhere,
    ) -> Result<(*mut u64, Grain), Failure> {
        let outside = Failure::from(TableError::Exhausted {
            table: "pages",
            capacity: PAGES,
        });
        let entry = *self.directory.get(page as usize).ok_or(outside)?;
        let made = match Entry(entry).get() {
            None => {
                self.pages.push(page);
                self.numbers[page as usize] = self.pages.len() as u32;
                // Words first: most pages stay so.
                let cells = self.fresh(Grain::WORD)?;
                (cells, Grain::WORD)
            }
            Some(made) => made,
        };
        let (cells, grain) = if made.1 > wanted {
            self.divide(page, made, wanted, elsewhere)?
        } else {
            made
        };
        self.directory[page as usize] = Entry::new(cells, grain).0;
        Ok((cells, grain))
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

    fn divide(
        &mut self,
        page: u64,
        (coarse, from): (*mut u64, Grain),
        to: Grain,
        elsewhere: &mut impl Elsewhere,
    ) -> Result<(*mut u64, Grain), Failure> {
        let fine = self.fresh(to)?;
        let parts = from.bytes() / to.bytes();
        let number = u64::from(self.numbers[page as usize]) - 1;
        for index in 0..from.cells() {
            // SAFETY: both have as many cells as their grains say.
            let cell = unsafe { *coarse.add(index) };
            if cell == 0 {
                continue;
            }
            for part in 0..parts {
                // SAFETY: as above.
                unsafe { *fine.add(index * parts + part) = cell };
                if cell == ELSEWHERE && part > 0 {
                    let first = (number << PAGE_BITS) + (index * from.bytes()) as u64;
                    let location = first + (part * to.bytes()) as u64;
                    elsewhere.copy(Location(first), Location(location));
                }
            }
        }
        self.spare[from.0 as usize].push(coarse);
        Ok((fine, to))
    }

    /// Forgets what happened at these addresses: they are something new from now on.
    pub fn forget(
        &mut self,
        address: u64,
        bytes: u64,
        elsewhere: &mut impl Elsewhere,
    ) -> Result<(), Failure> {
        let end = address.saturating_add(bytes);
        let mut at = address;
        while at < end {
            let next = (at | (PAGE as u64 - 1)).saturating_add(1).min(end);
            let entry = self.directory.get((at >> PAGE_BITS) as usize);
            if entry.is_some_and(|entry| *entry != 0) {
                let here = self.cells(at, (next - at) as usize, elsewhere)?;
                let locations = (0..).step_by(here.grain.bytes());
                for (cell, offset) in here.cells.iter_mut().zip(locations) {
                    if *cell == ELSEWHERE {
                        elsewhere.forget(here.location.offset(offset));
                    }
                    *cell = 0;
                }
            }
            at = next;
        }
        Ok(())
    }

    pub fn used_bytes(&self) -> usize {
        self.arena.used_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log(Vec<(u64, Option<u64>)>);

    impl Elsewhere for Log {
        fn copy(&mut self, from: Location, to: Location) {
            self.0.push((from.0, Some(to.0)));
        }
        fn forget(&mut self, location: Location) {
            self.0.push((location.0, None));
        }
    }

    const BASE: u64 = 0x7f12_3456_7000;

    /// The cells that are gone through for a variable, if there are any.
    fn seen(shadow: &Shadow, address: u64, bytes: usize) -> Option<Vec<u64>> {
        let seen = std::cell::RefCell::new(Vec::new());
        let all = shadow.all_of_variable(address, bytes, |cell| {
            seen.borrow_mut().push(cell);
            true
        });
        all.then(|| seen.into_inner())
    }

    #[test]
    fn cells_get_as_fine_as_the_accesses() {
        let mut shadow = Shadow::new().unwrap();
        let log = &mut Log::default();
        let word = shadow.cells(BASE + 8, 8, log).unwrap();
        assert_eq!((word.cells.len(), word.grain), (1, Grain::WORD));
        word.cells[0] = 7;
        assert_eq!(seen(&shadow, BASE + 8, 8), Some(vec![7]));
        assert_eq!(seen(&shadow, BASE + 12, 2), Some(vec![7]));
        assert_eq!(seen(&shadow, BASE, 16), Some(vec![0, 7]));
        assert_eq!(seen(&shadow, BASE + 4, 8), None);
        // Four bytes of the word remember what the word did.
        let half = shadow.cells(BASE + 12, 4, log).unwrap();
        assert_eq!((&*half.cells, half.grain), (&[7][..], Grain::HALF));
        half.cells[0] = 8;
        let byte = shadow.cells(BASE + 13, 1, log).unwrap();
        assert_eq!((&*byte.cells, byte.grain), (&[8][..], Grain::BYTE));
        byte.cells[0] = 9;
        let all = shadow.cells(BASE + 8, 8, log).unwrap();
        let all_of_them = all.cells.to_vec();
        assert_eq!(all_of_them, [7, 7, 7, 7, 8, 9, 8, 8]);
        assert_eq!(seen(&shadow, BASE + 12, 2), Some(vec![8, 9]));
        assert_eq!(seen(&shadow, BASE + 8, 8), Some(all_of_them));
        assert_eq!(seen(&shadow, BASE + 4088, 16), None, "two pages");
        assert_eq!(seen(&shadow, BASE + 8192, 4), None, "there are none yet");
        assert!(shadow.all(BASE + 11, 2, |cell| [7, 8].contains(&cell)));
        assert!(!shadow.all(BASE + 11, 3, |cell| [7, 8].contains(&cell)));
        assert!(!shadow.all(BASE + 4095, 2, |_| true), "two pages");
        // Another page is still coarse.
        assert_eq!(shadow.cells(BASE + 4096, 16, log).unwrap().cells.len(), 2);
    }

    #[test]
    fn no_two_addresses_share_a_location() {
        let mut shadow = Shadow::new().unwrap();
        let log = &mut Log::default();
        let mut seen = std::collections::HashSet::new();
        for address in [0, 1, 4095, 4096, BASE, BASE + 1, (1 << 47) - 1] {
            let location = shadow.cells(address, 1, log).unwrap().location;
            assert!(seen.insert(location.0));
            assert_eq!(shadow.cell_at(location), address..address + 1);
        }
        assert!(shadow.cells(1 << 47, 1, log).is_err());
        assert!(shadow.cells(u64::MAX - 7, 8, log).is_err());
    }

    #[test]
    fn what_is_forgotten_is_fresh_and_its_neighbours_are_not() {
        let mut shadow = Shadow::new().unwrap();
        let log = &mut Log::default();
        for address in (BASE..BASE + 3 * 4096).step_by(8) {
            shadow.cells(address, 8, log).unwrap().cells[0] = address;
        }
        shadow.forget(BASE + 4092, 4100, log).unwrap();
        for address in BASE..BASE + 3 * 4096 {
            let forgotten = (BASE + 4092..BASE + 8192).contains(&address);
            let expected = if forgotten { 0 } else { address & !7 };
            assert_eq!(
                shadow.cells(address, 1, log).unwrap().cells[0],
                expected,
                "{address:x}"
            );
        }
        shadow.forget(BASE + (1 << 20), 1 << 30, log).unwrap();
    }

    #[test]
    fn histories_elsewhere_are_told() {
        let mut shadow = Shadow::new().unwrap();
        let log = &mut Log::default();
        shadow.cells(BASE + 8, 8, log).unwrap().cells[0] = ELSEWHERE;
        shadow.cells(BASE + 16, 4, log).unwrap();
        assert_eq!(log.0, [(8, Some(12))]);
        log.0.clear();
        shadow.forget(BASE, 32, log).unwrap();
        assert_eq!(log.0, [(8, None), (12, None)]);
    }
}
