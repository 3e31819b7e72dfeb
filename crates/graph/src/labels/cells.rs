//! A cell for each location, wherever locations are.
//!
//! Locations are numbers up to 2⁶⁴. Neighbours are used together, so cells come in pages, made when
//! one of their locations is accessed first. The page used last is found without a look-up.

use crate::graph::make_room;
use finishline_detect::Failure;
use finishline_model::Location;
use finishline_model::hash::IdMap;

/// The cells of a page.
const PAGE: usize = 1 << 9;

#[derive(Debug)]
pub(super) struct Cells<Cell> {
    /// One page after the other, in the order in which they were made.
    cells: Vec<Box<[Cell]>>,
    /// By the number of a page, its place.
    places: IdMap<u64, usize>,
    /// The page used last, and its place.
    latest: (u64, usize),
}

/// Locations have smaller numbers of pages.
const NO_PAGE: u64 = u64::MAX;

impl<Cell> Default for Cells<Cell> {
    fn default() -> Self {
        Cells {
            cells: Vec::new(),
            places: IdMap::default(),
            latest: (NO_PAGE, 0),
        }
    }
}

impl<Cell: Default> Cells<Cell> {
    #[inline]
    pub(super) fn at(&mut self, location: Location) -> Result<&mut Cell, Failure> {
        let (page, index) = (location.0 / PAGE as u64, location.0 % PAGE as u64);
        if self.latest.0 != page {
            self.latest = (page, self.find(page)?);
        }
        Ok(&mut self.cells[self.latest.1][index as usize])
    }

    fn find(&mut self, page: u64) -> Result<usize, Failure> {
        if let Some(&place) = self.places.get(&page) {
            return Ok(place);
        }
        let mut cells = Vec::new();
        make_room(&mut cells, PAGE)?;
        cells.resize_with(PAGE, Cell::default);
        make_room(&mut self.cells, 1)?;
        self.cells.push(cells.into_boxed_slice());
        let place = self.cells.len() - 1;
        self.places.insert(page, place);
        Ok(place)
    }

    pub(super) fn used_bytes(&self) -> usize {
        self.cells.len() * PAGE * size_of::<Cell>()
            + self.places.capacity() * size_of::<(u64, usize)>()
    }
}
