//! What native programs do beyond tasks in finishes, against the oracle: tasks that escape, locks
//! and atomic accesses, releases and acquires; all small programs and random ones.
//!
//! `FINISHLINE_SEEDS=n` runs n streams instead of 100,000, `FINISHLINE_SEED=s` starts at seed s. A
//! failure prints the seed and the stream after removing whatever can be removed.

use crate::common::inline::ContextChecks;
use crate::common::{
    InlineChecks, Open, RangeChecks, Word, from_environment, parse, show, shrink, tell,
};
use finishline_detect::LocationSet;
use finishline_detect::history::Meeting;
use finishline_detect::oracle::{Mode, Oracle, Recorded};
use finishline_detect::order::{EspBags, Labelled, OneAtATime};
use finishline_model::event::Record;
use finishline_model::{
    AccessId, AccessKind, Event, FinishKind, Location, LockId, LockMode, ObjectId, TaskId,
};
use std::collections::{BTreeSet, HashMap};

const LOCATIONS: u64 = 52;

struct Comparison {
    locations: u64,
    oracle: Oracle,
    structure_only: InlineChecks<EspBags>,
    one_at_a_time: InlineChecks<OneAtATime>,
    in_any_order: InlineChecks<Labelled>,
    ranges: RangeChecks<OneAtATime>,
    contexts: ContextChecks,
    in_brief: ContextChecks,
}

fn set(found: &LocationSet) -> BTreeSet<Location> {
    found.in_order().iter().copied().collect()
}

/// Whether a finish begins in a task that holds a lock.
fn finish_under_lock(records: &[Record]) -> bool {
    let mut held: HashMap<TaskId, u32> = HashMap::new();
    records.iter().any(|record| match record {
        Record::Event(Event::Lock { task, .. }) => {
            *held.entry(*task).or_default() += 1;
            false
        }
        Record::Event(Event::Unlock { task, .. }) => {
            *held.entry(*task).or_default() -= 1;
            false
        }
        Record::Event(Event::FinishBegin { task, .. }) => {
            held.get(task).is_some_and(|held| *held > 0)
        }
        _ => false,
    })
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: {found:?}, the oracle says {expected:?}"))
}

impl Comparison {
    fn new(locations: u64) -> Self {
        Comparison {
            locations,
            oracle: Oracle::new(1000),
            structure_only: InlineChecks::new(locations),
            one_at_a_time: InlineChecks::new(locations),
            in_any_order: InlineChecks::new(locations),
            ranges: RangeChecks::new(locations, false),
            contexts: ContextChecks::new(locations),
            in_brief: ContextChecks::in_brief(locations),
        }
    }

    fn run(&mut self, words: &[Word]) -> Result<(), String> {
        self.oracle.clear();
        tell(words, self.locations, &mut self.oracle);
        if self.oracle.gave_up() {
            return Err("the oracle gave up".into());
        }
        let releases = |word: &Word| {
            matches!(
                word,
                Word::Release { .. }
                    | Word::Acquire(_)
                    | Word::Relay { .. }
                    | Word::Glimpse(_)
                    | Word::GlimpseEnd { .. }
                    | Word::Pause
                    | Word::Resume(_)
            )
        };
        let has_releases = words.iter().any(releases);
        // The order of isolated blocks is observed too; only streams without releases have them.
        let mode = match has_releases {
            true => Mode::Observed,
            false => Mode::Structure,
        };
        let racing = self.oracle.racing_locations(mode);
        let mut excused = self.oracle.excused_locations();
        if !has_releases {
            excused.clear();
        }

        self.one_at_a_time.clear();
        tell(words, self.locations, &mut self.one_at_a_time);
        let detector = &self.one_at_a_time.detector;
        same("races", &set(detector.racing()), &racing)?;
        if racing.is_empty() || detector.synchronised() {
            same(
                "synchronised",
                &detector.synchronised(),
                &!excused.is_empty(),
            )?;
        }
        self.in_any_order.clear();
        tell(words, self.locations, &mut self.in_any_order);
        let detector = &self.in_any_order.detector;
        let mut records: Vec<Record> = Vec::new();
        tell(words, self.locations, &mut records);
        // Where tasks take turns, no finish begins under a lock.
        let applies = !finish_under_lock(&records);
        if applies {
            same("races, in any order", &set(detector.racing()), &racing)?;
        }
        if applies && (racing.is_empty() || detector.synchronised()) {
            same(
                "synchronised, in any order",
                &detector.synchronised(),
                &!excused.is_empty(),
            )?;
        }
        self.ranges.clear();
        tell(words, self.locations, &mut self.ranges);
        self.ranges.agrees(&self.one_at_a_time)?;

        if !has_releases {
            self.structure_only.clear();
            tell(words, self.locations, &mut self.structure_only);
            let found = set(self.structure_only.detector.racing());
            same("races by structure", &found, &racing)?;
        }

        self.contexts.clear();
        tell(words, self.locations, &mut self.contexts);
        let found = set(self.contexts.detector.racing());
        same("races, with contexts", &found, &racing)?;
        self.pairs_agree(mode, &racing, &excused)?;
        self.in_brief.clear();
        tell(words, self.locations, &mut self.in_brief);
        self.brief_pairs_agree(mode, &racing)
    }

    /// Each pair that was told in brief is one. There is one wherever accesses race, and one that
    /// is no race if that is told otherwise.
    fn brief_pairs_agree(&self, mode: Mode, racing: &BTreeSet<Location>) -> Result<(), String> {
        let found = set(self.in_brief.detector.racing());
        same("races, in brief", &found, racing)?;
        let [races, overlaps, excused] = self.told_by(&self.in_brief, mode)?;
        same("places of pairs, in brief", &races, racing)?;
        let [_, all_overlaps, all_excused] = self.told_by(&self.contexts, mode)?;
        if racing.is_empty() {
            same(
                "whether some pair is no race, in brief",
                &(overlaps.is_empty() && excused.is_empty()),
                &(all_overlaps.is_empty() && all_excused.is_empty()),
            )?;
        }
        Ok(())
    }

    /// The locations of the races that were told, of overlaps, and of what was excused. Each pair
    /// is what it was told as.
    fn told_by(
        &self,
        detector: &ContextChecks,
        races_in: Mode,
    ) -> Result<[BTreeSet<Location>; 3], String> {
        let [mut races, mut overlaps, mut told_excused] = [const { BTreeSet::new() }; 3];
        for (earlier, later, conflict) in &detector.told {
            let location = conflict.location;
            let find = |id: AccessId| -> Result<&Recorded, String> {
                let accesses = self.oracle.accesses(location);
                let found = accesses.iter().find(|recorded| recorded.access == id);
                found.ok_or(format!("{conflict:?}: no access {id} there"))
            };
            let (first, second) = (find(*earlier)?, find(*later)?);
            let excluded = matches!(conflict.meeting, Meeting::Overlap(_));
            let mode = match conflict.meeting {
                Meeting::Race => races_in,
                Meeting::Overlap(_) | Meeting::Excused => Mode::Structure,
            };
            if first.kind == AccessKind::Read && second.kind == AccessKind::Read
                || self.oracle.exclude(first, second) != excluded
                || self.oracle.ordered(mode, first, second)
                || conflict.meeting == Meeting::Excused
                    && !self.oracle.ordered(races_in, first, second)
            {
                return Err(format!("{conflict:?} is none: {first:?} {second:?}"));
            }
            match conflict.meeting {
                Meeting::Race => races.insert(location),
                Meeting::Overlap(_) => overlaps.insert(location),
                Meeting::Excused => told_excused.insert(location),
            };
        }
        Ok([races, overlaps, told_excused])
    }

    /// Each pair that was told is one, and there is one wherever there should be.
    fn pairs_agree(
        &self,
        races_in: Mode,
        racing: &BTreeSet<Location>,
        excused: &BTreeSet<Location>,
    ) -> Result<(), String> {
        let [races, overlaps, told_excused] = self.told_by(&self.contexts, races_in)?;
        same("places of pairs", &races, racing)?;
        if racing.is_empty() {
            same(
                "whether some pair is told as excused",
                &!told_excused.is_empty(),
                &!excused.is_empty(),
            )?;
        }
        let expected = self.oracle.overlapping_locations();
        let doubtful: BTreeSet<Location> = racing | excused;
        same(
            "overlaps",
            &(&overlaps - &doubtful),
            &(&expected - &doubtful),
        )?;
        same(
            "overlaps beyond",
            &(&overlaps - &expected),
            &BTreeSet::new(),
        )
    }
}

fn compare(comparison: &mut Comparison, words: Vec<Word>, origin: impl FnOnce() -> String) {
    if let Err(disagreement) = comparison.run(&words) {
        let small = shrink(words, &mut |candidate| comparison.run(candidate).is_err());
        let small_disagreement = comparison.run(&small).unwrap_err();
        panic!(
            "{}: {disagreement}\nsmaller: {}\n{small_disagreement}",
            origin(),
            show(&small)
        );
    }
}

/// Every program of up to so many statements over some words.
struct World {
    comparison: Comparison,
    single: Vec<Word>,
    around: Vec<Open>,
    words: Vec<Word>,
    open: usize,
    programs: u64,
}

impl World {
    fn visit(&mut self, left: usize) {
        if self.open == 0 {
            self.programs += 1;
            compare(&mut self.comparison, self.words.clone(), String::new);
        } else {
            self.open -= 1;
            self.with(Word::Close, left);
            self.open += 1;
        }
        if left == 0 {
            return;
        }
        for index in 0..self.single.len() {
            self.with(self.single[index], left - 1);
        }
        for index in 0..self.around.len() {
            self.open += 1;
            self.with(Word::Open(self.around[index]), left - 1);
            self.open -= 1;
        }
    }

    fn with(&mut self, word: Word, left: usize) {
        self.words.push(word);
        self.visit(left);
        self.words.pop();
    }
}

/// With n kinds of single statements and m of constructs, a list of size k is empty, or a statement
/// and a list.
fn every_program(statements: usize, single: &str, around: &str) {
    let (single, around) = (parse(single), parse(around));
    let mut lists = vec![1u64];
    for size in 1..=statements {
        let mut count = single.len() as u64 * lists[size - 1];
        for body in 0..size {
            count += around.len() as u64 * lists[body] * lists[size - 1 - body];
        }
        lists.push(count);
    }
    let mut world = World {
        comparison: Comparison::new(1),
        single,
        around: around
            .iter()
            .map(|word| match word {
                Word::Open(open) => *open,
                _ => panic!("not a construct: {word:?}"),
            })
            .collect(),
        words: Vec::new(),
        open: 0,
        programs: 0,
    };
    world.visit(statements);
    assert_eq!(world.programs, lists.iter().sum());
}

#[test]
fn every_small_program_with_tasks_that_escape() {
    every_program(6, "ra wa", "async{ finish{ escape1{");
}

#[test]
fn every_small_program_with_releases() {
    every_program(6, "ra wa release0 acquire0", "async{ finish{");
}

#[test]
fn every_small_program_with_locks() {
    every_program(5, "ra wa", "async{ finish{ lock0{ shared0{ lock1{");
}

#[test]
fn every_small_program_with_glimpses() {
    every_program(
        5,
        "ra wa release0 acquire0 glimpse0 forget keep",
        "async{ finish{",
    );
}

#[test]
fn every_small_program_with_suspended_threads() {
    every_program(7, "wa pause resume0", "thread{");
    every_program(6, "ra wa pause resume0", "thread{ async{");
    every_program(
        5,
        "ra wa pause resume0 release0 acquire0",
        "thread{ finish{",
    );
}

#[test]
fn every_small_program_with_everything() {
    every_program(
        4,
        "ra wa release0 update0 acquire0",
        "async{ finish{ escape1{ lock0{ shared0{",
    );
}

/// What a random stream is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Profile {
    Escapes,
    Locks,
    Releases,
    EscapesAndReleases,
    Glimpses,
    Threads,
    Everything,
}

const PROFILES: [Profile; 7] = [
    Profile::Glimpses,
    Profile::Threads,
    Profile::Escapes,
    Profile::Locks,
    Profile::Releases,
    Profile::EscapesAndReleases,
    Profile::Everything,
];

impl Profile {
    fn escapes(self) -> bool {
        matches!(
            self,
            Profile::Escapes | Profile::EscapesAndReleases | Profile::Everything
        )
    }

    fn locks(self) -> bool {
        matches!(self, Profile::Locks | Profile::Everything)
    }

    fn releases(self) -> bool {
        !matches!(self, Profile::Escapes | Profile::Locks)
    }

    fn glimpses(self) -> bool {
        matches!(self, Profile::Glimpses | Profile::Everything)
    }

    fn threads(self) -> bool {
        matches!(self, Profile::Threads | Profile::Everything)
    }
}

struct Generator {
    random: u64,
    profile: Profile,
    places: u64,
    wide: bool,
    /// Fewer accesses, so that fewer of them race.
    orderly: bool,
    /// Some releases and acquires are by way of another object.
    relays: bool,
    words: Vec<Word>,
    statements_left: u64,
}

impl Generator {
    fn program(seed: u64) -> Vec<Word> {
        let profile = PROFILES[seed as usize % PROFILES.len()];
        Generator::of(profile, false, seed)
    }

    fn of(profile: Profile, relays: bool, seed: u64) -> Vec<Word> {
        let mut generator = Generator {
            random: seed,
            profile,
            relays,
            places: 0,
            wide: false,
            orderly: false,
            words: Vec::new(),
            statements_left: 0,
        };
        generator.wide = generator.below(6) == 0;
        generator.places = match generator.wide {
            true => LOCATIONS / 2,
            false => 1 + generator.below(3),
        };
        generator.orderly = generator.below(2) == 0;
        let longest = if generator.orderly { 20 } else { 50 };
        generator.statements_left = 6 + generator.below(longest);
        generator.body(0);
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
        let kind = match self.below(3) {
            0 => AccessKind::Write,
            _ => AccessKind::Read,
        };
        let first = self.below(self.places);
        let (count, stride) = match self.wide && self.below(3) != 0 {
            true => (self.below(LOCATIONS / 2), 1),
            false => (1, 1),
        };
        let access = Word::Access {
            kind,
            first,
            count,
            stride,
        };
        // Mostly under the lock that belongs to the location.
        let lock = [LockId(0), LockId(1), LockId::ATOMIC][first as usize % 3];
        if self.profile.locks() && self.below(8) != 0 {
            let open = Open::Lock(lock, LockMode::Exclusive);
            self.words.extend([Word::Open(open), access, Word::Close]);
        } else {
            self.words.push(access);
        }
    }

    /// Mostly with an access that it is for.
    fn release_or_acquire(&mut self) {
        let object = ObjectId(self.below(if self.orderly { 1 } else { 2 }) as u32);
        if self.relays && self.below(2) == 0 {
            return self.relay(object);
        }
        let passes = self.below(4) != 0;
        match self.below(6) {
            // Handed on from one to the next.
            4 | 5 => {
                self.words.push(Word::Acquire(object));
                self.access();
                let continues = self.below(2) == 0;
                self.words.push(Word::Release { object, continues });
            }
            kind @ (0 | 1) => {
                if passes {
                    self.access();
                }
                let continues = kind == 1;
                self.words.push(Word::Release { object, continues });
            }
            _ => {
                self.words.push(Word::Acquire(object));
                if passes {
                    self.access();
                }
            }
        }
    }

    /// As by a fence: what was done before it is passed on later, or what was found is acquired
    /// later.
    fn relay(&mut self, object: ObjectId) {
        let fence = ObjectId(2);
        let [continues, adds, between] = [2, 2, 4].map(|n| self.below(n) == 0);
        if self.below(2) == 0 {
            self.access();
            self.words.push(Word::Release {
                object: fence,
                continues,
            });
            if between {
                self.access();
            }
            self.words.push(Word::Relay {
                from: fence,
                to: object,
                continues: adds,
            });
        } else {
            self.words.push(Word::Relay {
                from: object,
                to: fence,
                continues,
            });
            if between {
                self.access();
            }
            self.words.push(Word::Acquire(fence));
            self.access();
        }
    }

    fn body(&mut self, depth: u64) {
        while self.statements_left > 0 && (depth == 0 || self.below(6) != 0) {
            self.statements_left -= 1;
            self.statement(depth);
        }
    }

    fn glimpse(&mut self) {
        let object = ObjectId(self.below(if self.orderly { 1 } else { 2 }) as u32);
        match self.below(3) {
            0 => {
                let keep = self.below(3) == 0;
                self.words.push(Word::GlimpseEnd { keep });
            }
            _ => {
                self.words.push(Word::Glimpse(object));
                self.access();
            }
        }
    }

    fn pause_or_resume(&mut self) {
        let word = match self.below(4) {
            0 => Word::Pause,
            _ => Word::Resume(self.below(3) as usize),
        };
        self.words.push(word);
    }

    fn statement(&mut self, depth: u64) {
        if self.profile.glimpses() && self.below(8) == 0 {
            return self.glimpse();
        }
        if self.profile.threads() && self.below(6) == 0 {
            return self.pause_or_resume();
        }
        let construct = match self.below(20) {
            0..=2 if self.profile.releases() && self.orderly => return self.release_or_acquire(),
            0..=2 if self.orderly => return,
            0..=6 => return self.access(),
            7..=9 if self.profile.releases() => return self.release_or_acquire(),
            10 => return self.words.push(Word::Sync),
            11..=12 if self.profile.locks() => {
                let lock = [LockId(0), LockId(1), LockId::ATOMIC][self.below(3) as usize];
                if !self.profile.releases() && self.below(4) == 0 {
                    self.words.push(Word::Open(Open::Isolated));
                    self.access();
                    return self.words.push(Word::Close);
                }
                let mode = match lock != LockId::ATOMIC && self.below(3) == 0 {
                    true => LockMode::Shared,
                    false => LockMode::Exclusive,
                };
                Open::Lock(lock, mode)
            }
            13..=14 if self.profile.escapes() => Open::Escape(1 + self.below(2) as u32),
            17..=19 if self.profile.threads() && depth < 4 => Open::Thread,
            _ if depth > 8 => return self.access(),
            15..=16 => {
                let kinds = [FinishKind::Lexical, FinishKind::SyncScope];
                Open::Finish(kinds[usize::from(self.below(4) == 0)])
            }
            _ => Open::Async,
        };
        self.words.push(Word::Open(construct));
        if construct == Open::Lock(LockId::ATOMIC, LockMode::Exclusive) {
            self.access();
        } else {
            self.body(depth + 1);
        }
        if construct == Open::Thread {
            for _ in 0..self.below(3) {
                self.words.push(Word::Pause);
                self.body(depth + 1);
            }
        }
        self.words.push(Word::Close);
    }
}

#[test]
fn random_streams_agree_with_the_oracle() {
    let start = from_environment("FINISHLINE_SEED", 0);
    let mut comparison = Comparison::new(LOCATIONS);
    for seed in start..start + from_environment("FINISHLINE_SEEDS", 20_000) {
        compare(&mut comparison, Generator::program(seed), || {
            format!("FINISHLINE_SEED={seed} FINISHLINE_SEEDS=1")
        });
    }
}

#[test]
fn random_streams_with_relays_agree_with_the_oracle() {
    let start = from_environment("FINISHLINE_SEED", 0);
    let mut comparison = Comparison::new(LOCATIONS);
    let (mut racing, mut excused) = (0, 0);
    let count = from_environment("FINISHLINE_SEEDS", 8_000);
    for seed in start..start + count {
        let profile = [Profile::Releases, Profile::EscapesAndReleases][seed as usize % 2];
        compare(&mut comparison, Generator::of(profile, true, seed), || {
            format!("FINISHLINE_SEED={seed} FINISHLINE_SEEDS=1")
        });
        let oracle = &comparison.oracle;
        let races = !oracle.racing_locations(Mode::Observed).is_empty();
        racing += u64::from(races);
        excused += u64::from(!races && !oracle.excused_locations().is_empty());
    }
    assert!(count < 1000 || racing.min(excused) > count / 100);
}

/// The streams are worth something: each kind of answer is frequent.
#[test]
fn random_streams_have_every_answer() {
    let mut comparison = Comparison::new(LOCATIONS);
    let (mut racing, mut clean, mut excused, mut overlapping) = (0, 0, 0, 0);
    for seed in 0..3000 {
        comparison.run(&Generator::program(seed)).unwrap();
        let oracle = &comparison.oracle;
        let races = !oracle.racing_locations(Mode::Observed).is_empty();
        racing += usize::from(races);
        clean += usize::from(!races);
        excused += usize::from(!races && !oracle.excused_locations().is_empty());
        overlapping += usize::from(!races && !oracle.overlapping_locations().is_empty());
    }
    let often = [racing, clean, excused, overlapping];
    assert!(often.iter().all(|&count| count > 50), "{often:?}");
}
