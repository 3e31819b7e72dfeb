//! The shadow by itself: words that are divided and made one, pages that get finer, and each byte
//! against what was done with it.

use super::*;
use std::collections::BTreeMap;

/// Histories elsewhere, by location.
#[derive(Default)]
struct Histories(BTreeMap<u64, u64>);

impl Elsewhere for Histories {
    fn copy(&mut self, from: Location, to: Location) {
        let history = self.0[&from.0];
        assert_eq!(self.0.insert(to.0, history), None);
    }
    fn forget(&mut self, location: Location) {
        assert!(self.0.remove(&location.0).is_some());
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
    let mut seen = seen.into_inner();
    // The first one is looked at twice if they differ.
    if seen.len() > 1 {
        seen.remove(0);
    }
    all.then_some(seen)
}

#[test]
fn a_word_is_divided_for_as_long_as_it_must() {
    let mut shadow = Shadow::new(MOST_CELLS).unwrap();
    let none = &mut Histories::default();
    let word = shadow.cells(BASE + 8, 8, none).unwrap();
    assert_eq!((word.cells.len(), word.grain), (1, Grain::WORD));
    word.cells[0] = 7;
    assert_eq!(seen(&shadow, BASE + 8, 8), Some(vec![7]));
    assert_eq!(seen(&shadow, BASE + 12, 2), Some(vec![7]));
    assert_eq!(seen(&shadow, BASE, 16), Some(vec![0, 7]));
    assert_eq!(seen(&shadow, BASE + 4, 8), None, "not aligned");
    assert!(shadow.all(BASE + 9, 7, |cell| cell == 7));
    assert!(!shadow.all(BASE + 7, 2, |cell| cell == 7));

    let half = shadow.cells(BASE + 12, 8, none).unwrap();
    assert_eq!((&*half.cells, half.grain), (&[7][..], Grain::HALF));
    let byte = shadow.cells(BASE + 13, 8, none).unwrap();
    assert_eq!((&*byte.cells, byte.grain), (&[7; 3][..], Grain::BYTE));
    byte.cells[0] = 8;
    let all = shadow.cells(BASE + 8, 100, none).unwrap();
    assert_eq!(*all.cells, [7, 7, 7, 7, 7, 8, 7, 7]);
    assert!(!shadow.all(BASE + 8, 8, |cell| referred(cell).is_none()));
    let next = shadow.cells(BASE + 16, 100, none).unwrap();
    assert_eq!((next.cells.len(), next.grain), (100 / 8, Grain::WORD));
    let before = shadow.cells(BASE, 100, none).unwrap();
    assert_eq!(
        (before.cells.len(), before.grain),
        (1, Grain::WORD),
        "not beyond it"
    );
    shadow.merge(BASE + 8);
    assert_eq!(shadow.cells(BASE + 8, 8, none).unwrap().cells.len(), 8);
    shadow.cells(BASE + 13, 1, none).unwrap().cells[0] = 7;
    shadow.merge(BASE + 8);
    assert_eq!(*shadow.cells(BASE + 8, 8, none).unwrap().cells, [7]);
}

#[test]
fn pages_get_as_fine_as_most_of_their_words() {
    for (bytes, grain) in [(4, Grain::HALF), (1, Grain::BYTE)] {
        let mut shadow = Shadow::new(MOST_CELLS).unwrap();
        let none = &mut Histories::default();
        for part in 0..2 * u64::from(MOST_DIVIDED) {
            let cells = shadow.cells(BASE + 8 * part, bytes, none).unwrap();
            cells.cells.fill(part + 1);
        }
        for part in 0..2 * u64::from(MOST_DIVIDED) {
            let cells = shadow.cells(BASE + 8 * part, 8, none).unwrap();
            let in_part = (bytes / cells.grain.bytes() as u64) as usize;
            assert_eq!(cells.grain, grain);
            assert!(cells.cells[..in_part].iter().all(|cell| *cell == part + 1));
            assert!(cells.cells[in_part..].iter().all(|cell| *cell == 0));
        }
        assert_eq!(seen(&shadow, BASE + 8, 8).unwrap().len(), 8 / grain.bytes());
        assert_eq!(seen(&shadow, BASE + 4088, 16), None, "two pages");
        assert_eq!(seen(&shadow, BASE + 4096, 4), None, "there are none yet");
        assert_eq!(shadow.spare_blocks.len(), MOST_DIVIDED.into());
    }
}

#[test]
fn no_two_addresses_share_a_location() {
    let mut shadow = Shadow::new(MOST_CELLS).unwrap();
    let none = &mut Histories::default();
    let mut seen = std::collections::HashSet::new();
    for address in [0, 1, 4095, 4096, BASE, BASE + 1, (1 << 47) - 1] {
        let location = shadow.cells(address, 1, none).unwrap().location;
        assert!(seen.insert(location.0));
        assert_eq!(shadow.cell_at(location), address..address + 1);
    }
    assert!(shadow.cells(1 << 47, 1, none).is_err());
    assert!(shadow.cells(u64::MAX - 7, 8, none).is_err());
    shadow.forget(BASE + (1 << 20), 1 << 30, none).unwrap();
}

/// Random ranges are written and forgotten, some of the values with histories elsewhere, and each
/// byte remembers its own.
#[test]
fn each_byte_remembers_what_was_its_own() {
    const WINDOW: u64 = 1600;
    const START: u64 = BASE + 4096 - WINDOW / 2;
    let mut seed = 1u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
        (seed >> 33) % below
    };
    for _ in 0..30 {
        let mut shadow = Shadow::new(MOST_CELLS).unwrap();
        let histories = &mut Histories::default();
        let mut expected = [0; WINDOW as usize];
        for step in 1..600 {
            let bytes = [1, 2, 4, 8, 8, 16, 100][random(7) as usize];
            let grid = [1, 4, 8, 8][random(4) as usize];
            let start = random(WINDOW - bytes) / grid * grid;
            expected[start as usize..(start + bytes) as usize].fill(step);
            let forgotten = random(4) == 0;
            if forgotten {
                expected[start as usize..(start + bytes) as usize].fill(0);
                shadow.forget(START + start, bytes, histories).unwrap();
            }
            let is_elsewhere = random(8) == 0;
            let mut done = if forgotten { bytes } else { 0 };
            while done < bytes {
                let at = START + start + done;
                let cells = shadow.cells(at, bytes - done, histories).unwrap();
                let (first, piece) = (cells.location, cells.grain.bytes() as u64);
                assert!(cells.bytes() <= bytes - done);
                for (offset, cell) in (0..).step_by(piece as usize).zip(&mut *cells.cells) {
                    let location = first.offset(offset);
                    if *cell == ELSEWHERE {
                        histories.forget(location);
                    }
                    *cell = if is_elsewhere { ELSEWHERE } else { step };
                    if is_elsewhere {
                        histories.0.insert(location.0, step);
                    }
                }
                done += cells.bytes();
                assert_eq!(shadow.cell_at(first), at..at + piece);
                if piece < 8 {
                    shadow.merge(at);
                }
            }
        }
        for byte in 0..WINDOW {
            let cell = shadow.cells(START + byte, 1, histories).unwrap();
            let found = match cell.cells[0] {
                ELSEWHERE => histories.0[&cell.location.0],
                found => found,
            };
            assert_eq!(found, expected[byte as usize], "{byte}");
        }
    }
}
