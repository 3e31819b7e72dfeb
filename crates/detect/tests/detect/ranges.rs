//! A check of a range is a check of each of its locations: every length, place and stride, over
//! cells in every state that a fast path tells apart, and in mixtures of them.

use crate::common::{Comparison, InlineChecks, Open, RangeChecks, Word, show, tell};
use AccessKind::{Read, Write};
use finishline_detect::order::EspBags;
use finishline_model::{AccessKind, FinishKind};

const LOCATIONS: u64 = 52;

/// Who accessed a location before the range did, as the task of the range sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    /// A task that has been waited for.
    Earlier,
    /// Tasks of the same loop.
    Beside,
    /// The same in an isolated block.
    BesideIsolated,
    /// The task that created it, next to those of the loop: its stamp is the first behind theirs.
    Parent,
    /// Its own children: parallel, but not to be told by a comparison of stamps.
    Child,
    OtherChild,
    Itself,
    ItselfIsolated,
}

impl Who {
    /// In the order of the run.
    const ALL: [Who; 8] = [
        Who::Earlier,
        Who::Beside,
        Who::BesideIsolated,
        Who::Parent,
        Who::Child,
        Who::OtherChild,
        Who::Itself,
        Who::ItselfIsolated,
    ];
}

/// What happened to a location, by which its cell comes into a state.
type State = &'static [(Who, AccessKind)];

const STATES: [State; 21] = [
    &[],
    &[(Who::Earlier, Write)],
    &[(Who::Earlier, Read)],
    &[(Who::Earlier, Write), (Who::Beside, Read)],
    &[(Who::Beside, Read)],
    &[(Who::Beside, Write)],
    &[(Who::BesideIsolated, Read)],
    &[(Who::BesideIsolated, Write)],
    &[(Who::Parent, Read)],
    &[(Who::Parent, Write)],
    &[(Who::Earlier, Write), (Who::Parent, Read)],
    &[(Who::Child, Read)],
    &[(Who::Child, Write)],
    &[(Who::Earlier, Write), (Who::OtherChild, Read)],
    &[(Who::Beside, Read), (Who::OtherChild, Read)],
    &[(Who::Itself, Read)],
    &[(Who::Itself, Write)],
    &[(Who::Earlier, Write), (Who::Itself, Read)],
    &[(Who::Beside, Read), (Who::Itself, Read)],
    &[(Who::Beside, Write), (Who::Itself, Read)],
    &[(Who::ItselfIsolated, Write)],
];

/// The accesses that bring all locations into their states, then the range.
fn program(states: &[State], range: Word, isolated: bool) -> Vec<Word> {
    let mut words = Vec::new();
    let open = |construct| Word::Open(construct);
    let finish = open(Open::Finish(FinishKind::Lexical));
    for who in Who::ALL {
        let before: &[Word] = match who {
            Who::Earlier => &[finish, open(Open::Async)],
            Who::Beside => &[Word::Close, Word::Close, finish, open(Open::Async)],
            Who::BesideIsolated => &[Word::Close, open(Open::Async), open(Open::Isolated)],
            Who::Parent => &[Word::Close, Word::Close, open(Open::Async)],
            Who::Child => &[open(Open::Async), open(Open::Async)],
            Who::OtherChild => &[Word::Close, open(Open::Async)],
            Who::Itself => &[Word::Close],
            Who::ItselfIsolated => &[open(Open::Isolated)],
        };
        words.extend_from_slice(before);
        for (location, state) in states.iter().enumerate() {
            let own = state.iter().filter(|(by, _)| *by == who);
            words.extend(own.map(|(_, kind)| Word::access(*kind, location as u64)));
        }
    }
    words.push(Word::Close);
    if isolated {
        words.extend([open(Open::Isolated), range, Word::Close]);
    } else {
        words.push(range);
    }
    words.extend([Word::Close; 3]);
    words
}

struct Pair {
    locations: u64,
    one_at_a_time: InlineChecks<EspBags>,
    ranges: [RangeChecks<EspBags>; 2],
    all: Comparison,
    compared: u64,
}

impl Pair {
    fn new(locations: u64) -> Pair {
        Pair {
            locations,
            one_at_a_time: InlineChecks::new(locations),
            ranges: [false, true].map(|falling| RangeChecks::new(locations, falling)),
            all: Comparison::new(locations),
            compared: 0,
        }
    }

    /// Compares with checks one at a time, and now and then with every detector and the oracle.
    fn compare(&mut self, words: &[Word]) {
        self.compared += 1;
        let mut result = Ok(());
        self.one_at_a_time.clear();
        tell(words, self.locations, &mut self.one_at_a_time);
        for ranges in &mut self.ranges {
            ranges.clear();
            tell(words, self.locations, ranges);
            result = result.and_then(|()| ranges.agrees(&self.one_at_a_time));
        }
        if self.compared.is_multiple_of(97) {
            result = result.and_then(|()| self.all.run(words));
        }
        if let Err(disagreement) = result {
            panic!("{disagreement}\nin: {}", show(words));
        }
    }

    /// Both kinds of access, in isolated blocks and out of them.
    fn compare_accesses(&mut self, states: &[State], first: u64, count: u64, stride: u64) {
        for kind in [Read, Write] {
            for isolated in [false, true] {
                let range = Word::Access {
                    kind,
                    first,
                    count,
                    stride,
                };
                self.compare(&program(states, range, isolated));
            }
        }
    }
}

#[test]
fn every_length_and_place_over_cells_of_one_state() {
    let mut pair = Pair::new(LOCATIONS);
    for state in STATES {
        let states = [state; LOCATIONS as usize];
        for count in 0..=40 {
            for first in 0..9 {
                pair.compare_accesses(&states, first, count, 1);
            }
        }
    }
    assert_eq!(pair.compared, 21 * 41 * 9 * 4);
}

#[test]
fn every_stride_over_cells_of_one_state() {
    let mut pair = Pair::new(LOCATIONS);
    for state in STATES {
        let states = [state; LOCATIONS as usize];
        for stride in 2..=LOCATIONS {
            for first in [0, 1, 5] {
                for count in 0..=(LOCATIONS - first).div_ceil(stride) {
                    pair.compare_accesses(&states, first, count, stride);
                }
            }
        }
    }
}

/// One cell of another state anywhere in a range of three blocks: each state beside each.
#[test]
fn one_cell_that_differs() {
    let mut pair = Pair::new(LOCATIONS);
    for most in STATES {
        for other in STATES {
            for place in 0..48 {
                let mut states = [most; LOCATIONS as usize];
                states[2 + place] = other;
                pair.compare_accesses(&states, 2, 48, 1);
            }
        }
    }
}

/// Runs of a few states each, as where the parts of an array belong to several tasks.
fn compare_mixtures(pair: &mut Pair, times: usize, longest_runs: [usize; 4]) {
    let mut random = 7u64;
    let mut below = |n: usize| {
        random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (random >> 33) as usize % n
    };
    for _ in 0..times {
        let longest = longest_runs[below(4)];
        let mut states = Vec::new();
        while states.len() < pair.locations as usize {
            let (state, run) = (STATES[below(STATES.len())], 1 + below(longest));
            states.extend(std::iter::repeat_n(state, run));
        }
        states.truncate(pair.locations as usize);
        let (first, stride) = (below(8) as u64, [1, 1, 1, 2][below(4)]);
        let most = (pair.locations - first).div_ceil(stride) as usize;
        pair.compare_accesses(&states, first, below(most + 1) as u64, stride);
    }
}

#[test]
fn mixtures_of_states() {
    compare_mixtures(&mut Pair::new(LOCATIONS), 10_000, [1, 3, 10, 30]);
}

#[test]
fn long_ranges() {
    compare_mixtures(&mut Pair::new(10_000), 50, [20, 200, 2000, 20_000]);
}
