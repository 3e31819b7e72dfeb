//! Compiled checks against [`FastPath::decide`], which defines them: every combination of a cell
//! and a fast path, for every kind of access and of location.
//!
//! A program accesses one location three times in each iteration of a loop. The first access
//! decides nothing inline, so the checker is asked, and puts a cell and a fast path of its choice
//! in place. The second access is the one in question. The end of the finish behind it is the
//! occasion to switch the fast path off again, so that the third access shows the cell.

use super::run;
use crate::checker::{Checker, Style};
use finishline_detect::inline::{Change, ELSEWHERE, FastPath, SLOTS};
use finishline_model::{Access, AccessId, AccessKind, Event, Location};
use std::ptr::NonNull;

const SERIAL_BELOW: u32 = 10;
const PARALLEL_ABOVE: u32 = 5;
const ME: u32 = 20;
/// The memo has this stamp in its first place, the next one in the second and so on.
const FIRST_BESIDE: u32 = 30;
const FIRST_SET: u32 = (1 << 31) + 4;

/// Both sides of every border that the fast path draws, below and above those of signed numbers.
const STAMPS: [u32; 20] = [
    0,
    1,
    SERIAL_BELOW - 1,
    SERIAL_BELOW,
    SERIAL_BELOW + PARALLEL_ABOVE - 1,
    SERIAL_BELOW + PARALLEL_ABOVE,
    ME - 1,
    ME,
    ME + 1,
    FIRST_BESIDE,
    FIRST_BESIDE + 1,
    FIRST_BESIDE + 2,
    i32::MAX as u32 - 1,
    i32::MAX as u32,
    i32::MAX as u32 + 1,
    FIRST_SET - 1,
    FIRST_SET,
    u32::MAX - 3,
    u32::MAX - 2,
    u32::MAX,
];

/// As it is between phases with tasks, in the first phase, where all is serial, and in isolated
/// blocks.
fn fast_paths() -> [FastPath; 5] {
    let mut usual = FastPath::IDLE;
    usual.limits.me = ME;
    usual.limits.serial_below = SERIAL_BELOW;
    usual.limits.parallel_above = PARALLEL_ABOVE;
    usual.limits.settled = cell([ME; 2]);
    usual.beside = std::array::from_fn(|slot| FIRST_BESIDE + slot as u32);
    let changed = |change: fn(&mut FastPath)| {
        let mut fast = usual;
        change(&mut fast);
        fast
    };
    [
        changed(|fast| fast.limits.parallel_above = 0),
        changed(|fast| fast.limits.serial_below = 1),
        changed(|fast| (fast.limits.serial_below, fast.limits.parallel_above) = (u32::MAX, 0)),
        FastPath::IDLE,
        usual,
    ]
}

/// As it is in cooperative programs, where a step makes sets and knows what becomes of a cell. The
/// place of the second access in the memo is the second one.
fn cooperative_fast_paths() -> [FastPath; 3] {
    let [_, _, _, idle, usual] = fast_paths();
    let mut of_sets = usual;
    of_sets.limits.first_set = FIRST_SET;
    of_sets.limits.sets = u32::MAX - 2 - FIRST_SET;
    let mut changing = of_sets;
    let change = |before, after| Change {
        before: cell(before),
        after: cell(after),
    };
    let (other, mine) = ([ME - 1; 2], [ME - 1, ME]);
    changing.changed[0][0] = change([SERIAL_BELOW; 2], [7, 7]);
    changing.changed[0][1] = change(other, mine);
    changing.changed[1][1] = change([ME + 1, FIRST_SET - 1], [ME; 2]);
    [idle, of_sets, changing]
}

fn cell([writer, reader]: [u32; 2]) -> u64 {
    u64::from(reader) << 32 | u64::from(writer)
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Expecting {
    First,
    Second,
    Third,
}

/// Goes through the cases, one an iteration of the program.
struct Cases {
    kind: AccessKind,
    cases: Vec<(FastPath, u64)>,
    done: usize,
    expecting: Expecting,
    fast: Option<NonNull<FastPath>>,
    /// The place of the second access in the memo, if it had to ask.
    asked: Option<usize>,
    /// Locations told of the object made last, and where the one in question is.
    object: Location,
    place: u64,
    wrong: Vec<String>,
}

impl Cases {
    fn set_fast_path(&mut self, to: FastPath) {
        let fast = self.fast.expect("attached before the program begins");
        // SAFETY: valid while the program runs, and the program waits for the checker now.
        unsafe { fast.write(to) };
    }

    /// The third access: what the second one left.
    fn compare(&mut self, found: u64) {
        let (fast, before) = &self.cases[self.done];
        // The accesses of the function before it are two, so its place is the third.
        let (expected, slot) = (fast.decide(self.kind, *before, 1), 1);
        let found = match self.asked.take() {
            None => Some(found),
            Some(asked) if asked == slot && found == *before => None,
            Some(asked) => {
                let told = format!("asked with place {asked} of the memo, cell {found:#x}");
                return self.wrong.push(told);
            }
        };
        if found != expected {
            let kind = self.kind;
            let case = format!("{kind:?} of {before:#x} with {fast:?}");
            self.wrong
                .push(format!("{case}: {found:x?} instead of {expected:x?}"));
        }
    }
}

impl Checker for Cases {
    const STYLE: Style = Style::Inline;

    fn attach(&mut self, fast: NonNull<FastPath>) {
        self.fast = Some(fast);
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Alloc { first, .. } => self.object = *first,
            Event::FinishEnd { .. } if self.expecting == Expecting::Second => {
                self.expecting = Expecting::Third;
                self.set_fast_path(FastPath::IDLE);
            }
            _ => {}
        }
    }

    fn access(&mut self, _: &Access) {}

    fn undecided(
        &mut self,
        kind: AccessKind,
        cell: &mut u64,
        slot: usize,
        location: impl Fn() -> Location,
    ) {
        let (location, place) = (location(), Location(self.object.0 + self.place));
        if location != place {
            let told = format!("{kind:?} of {location:?} is told, not of {place:?}");
            self.wrong.push(told);
        }
        match self.expecting {
            Expecting::First => {
                let Some((fast, before)) = self.cases.get(self.done).cloned() else {
                    return;
                };
                *cell = before;
                self.set_fast_path(fast);
                self.expecting = Expecting::Second;
            }
            Expecting::Second => {
                if kind != self.kind {
                    self.wrong.push(format!("{kind:?} is told"));
                }
                self.asked = Some(slot);
            }
            Expecting::Third => {
                self.compare(*cell);
                self.done += 1;
                self.expecting = Expecting::First;
            }
        }
    }

    fn range(&mut self, _: AccessKind, _: &mut [u64], _: isize, _: Location, _: AccessId) {
        self.wrong
            .push("a range, which the program does not have".to_owned());
    }

    fn ended(&mut self, _: u64) {}
}

#[test]
fn compiled_checks_decide_as_the_definition_says() {
    decide_as_the_definition_says(&fast_paths(), "");
}

#[test]
fn so_do_those_of_cooperative_programs() {
    let waits = "fn wait() { let p = new promise<int>(); p.get(); }";
    decide_as_the_definition_says(&fast_paths(), waits);
    decide_as_the_definition_says(&cooperative_fast_paths(), waits);
}

fn decide_as_the_definition_says(fast_paths: &[FastPath], more: &str) {
    let mut cells: Vec<u64> = Vec::new();
    for writer in STAMPS {
        cells.extend(STAMPS.map(|reader| cell([writer, reader])));
    }
    assert!(cells.contains(&ELSEWHERE));
    let pair = |fast: &FastPath| -> Vec<_> { cells.iter().map(|c| (*fast, *c)).collect() };
    let cases: Vec<(FastPath, u64)> = fast_paths.iter().flat_map(pair).collect();

    let kinds = [
        (AccessKind::Read, "let seen = PLACE;"),
        (AccessKind::Write, "PLACE = 3;"),
    ];
    let places = [
        ("", "x", 1),
        ("let p = new Pair();", "p.second", 1),
        ("let a = new int[5];", "a[0]", 0),
        ("let a = new int[5];", "a[4]", 4),
        ("let m = new int[3, 4];", "m[2, 1]", 9),
    ];
    for (kind, access) in kinds {
        for (object, place, number) in places {
            let iterations = cases.len();
            let source = format!(
                "{more}
                struct Pair {{ first: int, second: int }}
                var w: int;
                var x: int;
                fn main() {{
                    {object}
                    for i in 0..{iterations} {{
                        PLACE = 1;
                        finish {{ {access} }}
                        PLACE = 2;
                    }}
                }}"
            );
            let mut checker = Cases {
                kind,
                cases: cases.clone(),
                done: 0,
                expecting: Expecting::First,
                fast: None,
                asked: None,
                object: Location(0),
                place: number,
                wrong: Vec::new(),
            };
            run(&source.replace("PLACE", place), &mut checker);
            let wrong = &checker.wrong[..checker.wrong.len().min(3)];
            assert!(wrong.is_empty(), "{kind:?} of {place}: {wrong:#?}");
            assert_eq!(checker.done, iterations, "{kind:?} of {place}");
        }
    }
}

/// Asked of every access; notes the places in the memo.
struct Places(Vec<usize>);

impl Checker for Places {
    const STYLE: Style = Style::Inline;

    fn attach(&mut self, _: NonNull<FastPath>) {}

    fn event(&mut self, _: &Event) {}

    fn access(&mut self, _: &Access) {}

    fn undecided(&mut self, _: AccessKind, _: &mut u64, slot: usize, _: impl Fn() -> Location) {
        self.0.push(slot);
    }

    fn range(&mut self, _: AccessKind, _: &mut [u64], _: isize, _: Location, _: AccessId) {
        unreachable!("the program has no ranges");
    }

    fn ended(&mut self, _: u64) {}
}

#[test]
fn sites_that_lie_together_have_places_of_their_own_in_the_memo() {
    let reads = "sum += x; ".repeat(2 * SLOTS);
    let source = format!("var x: int; fn main() {{ var sum = 0; {reads} }}");
    let mut checker = Places(Vec::new());
    run(&source, &mut checker);
    assert_eq!(checker.0.len(), 2 * SLOTS);
    for together in checker.0.windows(SLOTS) {
        let mut places = together.to_vec();
        places.sort_unstable();
        assert!(places.into_iter().eq(0..SLOTS), "{together:?}");
    }
}
