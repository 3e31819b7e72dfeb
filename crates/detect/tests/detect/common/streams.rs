//! Random event streams of depth-first runs: async-finish, with isolated blocks, everything mixed,
//! and Cilk. The tests of the crate `graph` include this file too.

use super::words::{Open, Word};
use finishline_model::{AccessKind, FinishKind};

pub(crate) const LOCATIONS: u64 = 52;

/// What a stream may be made of.
#[derive(Clone, Copy, Debug)]
enum Profile {
    AsyncFinish,
    Isolated,
    /// Few accesses to one location, many empty isolated blocks: what orders them is the blocks.
    Blocks,
    Everything,
    Cilk,
}

impl Profile {
    const ALL: [Profile; 5] = [
        Profile::AsyncFinish,
        Profile::Isolated,
        Profile::Blocks,
        Profile::Everything,
        Profile::Cilk,
    ];

    fn constructs(self) -> &'static [Open] {
        use FinishKind::{Dynamic, Lexical, SyncScope};
        match self {
            Profile::AsyncFinish => &[Open::Async, Open::Finish(Lexical)],
            Profile::Isolated | Profile::Blocks => &[
                Open::Async,
                Open::Finish(Lexical),
                Open::Isolated,
                Open::Isolated,
            ],
            Profile::Everything => &[
                Open::Async,
                Open::Spawn,
                Open::Finish(Lexical),
                Open::Finish(Dynamic),
                Open::Finish(SyncScope),
                Open::Isolated,
            ],
            Profile::Cilk => &[Open::Spawn, Open::Spawn, Open::Finish(SyncScope)],
        }
    }
}

pub(crate) struct Generator {
    random: u64,
    profile: Profile,
    /// Few of them, so that accesses meet.
    places: u64,
    /// Most accesses are to many locations at once.
    wide: bool,
    words: Vec<Word>,
    statements_left: u64,
}

impl Generator {
    pub(crate) fn program(seed: u64) -> Vec<Word> {
        let profile = Profile::ALL[seed as usize % Profile::ALL.len()];
        let mut generator = Generator {
            random: seed,
            profile,
            places: 0,
            wide: false,
            words: Vec::new(),
            statements_left: 0,
        };
        let blocks = matches!(profile, Profile::Blocks);
        generator.wide = !blocks && generator.below(4) == 0;
        generator.places = match (blocks, generator.wide) {
            (true, _) => 1,
            (_, true) => LOCATIONS / 2,
            _ => 1 + generator.below(4),
        };
        generator.statements_left = 4 + generator.below(40);
        let cilk = matches!(profile, Profile::Cilk);
        generator.body(cilk, 0);
        generator.words
    }

    /// Splitmix64.
    fn below(&mut self, n: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn access(&mut self) {
        let kind = if self.below(2) == 0 {
            AccessKind::Read
        } else {
            AccessKind::Write
        };
        let first = self.below(self.places);
        let (count, stride) = if self.wide && self.below(4) != 0 {
            let stride = [1, 1, 1, 2, 3][self.below(5) as usize];
            let most = (LOCATIONS - first).div_ceil(stride);
            (self.below(most + 1), stride)
        } else if self.below(8) == 0 {
            (self.below(4), 1 + self.below(3))
        } else {
            (1, 1)
        };
        self.words.push(Word::Access {
            kind,
            first,
            count,
            stride,
        });
    }

    /// Statements, in a sync scope of their own if `scope`.
    fn body(&mut self, scope: bool, depth: u64) {
        if scope {
            self.words
                .push(Word::Open(Open::Finish(FinishKind::SyncScope)));
        }
        while self.statements_left > 0 && (depth == 0 || self.below(6) != 0) {
            self.statements_left -= 1;
            self.statement(depth);
        }
        if scope {
            self.words.push(Word::Close);
        }
    }

    fn statement(&mut self, depth: u64) {
        let syncs = matches!(self.profile, Profile::Everything | Profile::Cilk);
        let accesses = if matches!(self.profile, Profile::Blocks) {
            2
        } else {
            5
        };
        match self.below(10) {
            chosen if chosen < accesses => self.access(),
            5 if syncs => self.words.push(Word::Sync),
            _ if depth > 8 => self.access(),
            _ => {
                let constructs = self.profile.constructs();
                let chosen = self.below(constructs.len() as u64) as usize;
                self.construct(constructs[chosen], depth);
            }
        }
    }

    fn construct(&mut self, open: Open, depth: u64) {
        let cilk = matches!(self.profile, Profile::Cilk);
        match open {
            Open::Isolated => {
                self.words.push(Word::Open(open));
                let accesses = if matches!(self.profile, Profile::Blocks) {
                    1
                } else {
                    3
                };
                for _ in 0..self.below(accesses) {
                    self.access();
                }
                self.words.push(Word::Close);
            }
            // The body of a Cilk function that spawns is a scope.
            Open::Finish(FinishKind::SyncScope) => self.body(true, depth + 1),
            Open::Spawn if cilk => {
                self.words.push(Word::Open(open));
                self.body(true, depth + 1);
                self.words.push(Word::Close);
            }
            _ => {
                self.words.push(Word::Open(open));
                self.body(false, depth + 1);
                self.words.push(Word::Close);
            }
        }
    }
}
