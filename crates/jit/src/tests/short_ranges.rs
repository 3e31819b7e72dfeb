//! Short ranges against the lines of [`FastPath::decide`] that need no memo: cells in all states,
//! in ranges of all lengths, up and down.
//!
//! The program checks all cells of an array once, so that the checker learns where they are. Then
//! it goes through the cases. Of the events in an iteration, the second is the occasion to put
//! cells in place, and the third to look at what the check between them has left.

use super::{compile, run_module};
use crate::checker::{Checker, Style};
use finishline_detect::inline::FastPath;
use finishline_ir::{Op, Operand};
use finishline_model::{Access, AccessId, AccessKind, Event, Location};
use std::ptr::NonNull;

const SERIAL_BELOW: u32 = 10;
const ME: u32 = 20;
const STAMPS: [u32; 5] = [0, SERIAL_BELOW - 1, SERIAL_BELOW, ME, (1 << 31) + 3];
/// The elements of the array, and the one that the ranges begin with.
const ALL: usize = 40;
const FIRST: usize = 19;
const CASES: usize = 400;

fn cell(writer: u32, reader: u32) -> u64 {
    u64::from(reader) << 32 | u64::from(writer)
}

/// The cell after an access, if a limit decides it.
fn decided(kind: AccessKind, cell_before: u64) -> Option<u64> {
    let (writer, reader) = (cell_before as u32, (cell_before >> 32) as u32);
    let serial = |stamp: u32| stamp < SERIAL_BELOW;
    match kind {
        AccessKind::Read if reader == ME => Some(cell_before),
        AccessKind::Read if serial(reader) && serial(writer) => Some(cell(writer, ME)),
        AccessKind::Write if cell_before == cell(ME, ME) => Some(cell_before),
        AccessKind::Write if serial(writer) && (serial(reader) || reader == ME) => {
            Some(cell(ME, ME))
        }
        _ => None,
    }
}

struct Cases {
    kind: AccessKind,
    /// The cells of the range, as indices.
    range: std::ops::Range<usize>,
    fast: Option<NonNull<FastPath>>,
    cells: Option<NonNull<u64>>,
    before: Vec<u64>,
    /// Whether the detector was asked about the range.
    asked: bool,
    events: usize,
    seed: u64,
    decided: usize,
    spared: u64,
    wrong: Vec<String>,
}

impl Cases {
    fn random(&mut self, below: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1);
        (self.seed >> 33) as usize % below
    }

    fn cells(&mut self) -> &mut [u64] {
        let cells = self.cells.expect("the program has shown them");
        // SAFETY: the array is live while the program runs, and it waits for the checker now.
        unsafe { std::slice::from_raw_parts_mut(cells.as_ptr(), ALL) }
    }

    fn begin(&mut self) {
        // Mostly one state, so that whole ranges are decided.
        let usual = [self.random(5), self.random(5)];
        let mut stamp = |at: usize| match self.random(30) {
            0 => STAMPS[self.random(5)],
            _ => STAMPS[usual[at]],
        };
        let before: Vec<u64> = (0..ALL).map(|_| cell(stamp(0), stamp(1))).collect();
        self.cells().copy_from_slice(&before);
        self.before = before;
        self.asked = false;
        let mut fast = self.fast.expect("attached before the program begins");
        // SAFETY: valid while the program runs, and the program waits for the checker now.
        let limits = unsafe { &mut fast.as_mut().limits };
        (limits.me, limits.settled) = (ME, cell(ME, ME));
        limits.serial_below = SERIAL_BELOW;
        limits.era += 1;
    }

    fn compare(&mut self) {
        let mut expected = self.before.clone();
        let mut all = self.range.len() <= 16;
        for at in self.range.clone() {
            match decided(self.kind, expected[at]) {
                Some(after) if all => expected[at] = after,
                _ => all = false,
            }
        }
        self.decided += usize::from(all);
        let found = self.cells().to_vec();
        if found != expected || self.asked == all {
            let (kind, range, asked) = (self.kind, &self.range, self.asked);
            let told = format!("{kind:?} {range:?}, asked {asked}: {found:x?}, not {expected:x?}");
            self.wrong.push(told);
        }
    }
}

impl Checker for Cases {
    const STYLE: Style = Style::Inline;

    fn attach(&mut self, fast: NonNull<FastPath>) {
        self.fast = Some(fast);
    }

    fn event(&mut self, event: &Event) {
        if let Event::FinishBegin { .. } | Event::FinishEnd { .. } = event
            && self.cells.is_some()
        {
            self.events += 1;
            match self.events % 4 {
                2 => self.begin(),
                3 => self.compare(),
                _ => {}
            }
        }
    }

    fn access(&mut self, _: &Access) {}

    fn undecided(&mut self, _: AccessKind, _: &mut u64, _: usize, _: impl Fn() -> Location) {
        unreachable!("all checks are of ranges");
    }

    fn range(&mut self, _: AccessKind, cells: &mut [u64], _: isize, _: Location, _: AccessId) {
        self.asked = true;
        if self.cells.is_none() && cells.len() == ALL {
            self.cells = NonNull::new(cells.as_mut_ptr());
        }
    }

    fn spared(&mut self, checks: u64, _: u64) {
        self.spared = checks;
    }

    fn ended(&mut self, _: u64) {}
}

fn check(kind: AccessKind, count: usize, rising: bool, more: &str) {
    let access = match kind {
        AccessKind::Read => format!("s += a[{FIRST}];"),
        AccessKind::Write => format!("a[{FIRST}] = i;"),
    };
    let mut module = compile(&format!(
        "{more} fn main() {{
            let a = new int[{ALL}];
            a[0] = 1;
            var s = 0;
            for i in 0..{CASES} {{ finish {{ }} {access} finish {{ }} }}
        }}"
    ));
    let blocks = module.functions.iter_mut().flat_map(|f| &mut f.blocks);
    let mut first = true;
    for instruction in blocks.flat_map(|block| &mut block.instructions) {
        if let Op::Check {
            count: n, stride, ..
        } = &mut instruction.op
        {
            let (long, apart) = match std::mem::take(&mut first) {
                true => (ALL as i64, 1),
                false => (count as i64, if rising { 1 } else { -1 }),
            };
            (*n, *stride) = (Operand::Constant(long), Operand::Constant(apart));
        }
    }
    let range = match rising {
        true => FIRST..FIRST + count,
        false => FIRST + 1 - count..FIRST + 1,
    };
    let mut cases = Cases {
        kind,
        range,
        fast: None,
        cells: None,
        before: Vec::new(),
        asked: false,
        events: 0,
        seed: 1,
        decided: 0,
        spared: 0,
        wrong: Vec::new(),
    };
    run_module(&module, &mut cases);
    let wrong = &cases.wrong[..cases.wrong.len().min(2)];
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(
        cases.spared, cases.decided as u64,
        "{kind:?} {count} {rising}"
    );
    assert_eq!(cases.decided > CASES / 20, count <= 16, "{kind:?} {count}");
}

#[test]
fn short_ranges_are_decided_as_the_definition_says() {
    let waits = "fn wait() { let p = new promise<int>(); p.get(); }";
    for more in ["", waits] {
        for kind in [AccessKind::Read, AccessKind::Write] {
            for count in [2, 3, 5, 15, 16, 17, 20] {
                for rising in [true, false] {
                    check(kind, count, rising, more);
                }
            }
        }
    }
}
