//! Random programs of tasks that access overlapping bytes, against the oracle byte by byte. A task
//! runs when it is created, or at any time until its finish ends.
//!
//! The oracle sees each byte as a location of its own, a byte that was allocated again as a new
//! one, and the end of a block as a write. The checker must find the same racing bytes, and every
//! pair of places that it names must be a race by the definition.
//!
//! Some freed blocks are kept. A byte of one is used after its free if an access that is checked
//! finds it there and is not parallel to the free. The checker must find each byte at which the
//! first such access is, and may find others.
//!
//! `FINISHLINE_SEEDS=n` runs n programs, `FINISHLINE_SEED=s` starts at seed s.

use finishline_detect::oracle::{Mode, Oracle, Recorded};
use finishline_model::kinds::rayon;
use finishline_model::{
    Access, AccessId, AccessKind, Event, FinishId, FinishKind as Waits, Location, Observer, SiteId,
    TaskId, TaskKind as Creation,
};
use finishline_native::checker::options::Options;
use finishline_native::checker::{Checker, Here};
use finishline_native::facts::races;
use finishline_native::facts::structure::{FinishKind, TaskKind};
use finishline_native::facts::synchronisation::{How, Operation};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

/// A window over the border of two pages.
const BASE: u64 = 0x7000_0000_1000 - 24;
const WINDOW: u64 = 48;

const SITE: SiteId = SiteId(0);

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// Runs the same random program on both.
struct Pair {
    random: Random,
    checker: Checker,
    oracle: Oracle,
    tasks: u32,
    finishes: u32,
    running: TaskId,
    /// Tasks that were created and have not run.
    created: Vec<(TaskId, FinishId, u32)>,
    /// By byte of the window: how often it was allocated.
    generation: [u64; WINDOW as usize],
    /// The blocks that may be freed: where each begins and how long it is.
    blocks: BTreeMap<u64, u64>,
    /// By byte of the window: the free of the kept block that it is in, and whether an access was
    /// checked since.
    kept: [Option<(Recorded, bool)>; WINDOW as usize],
    /// Where kept blocks begin.
    waiting: Vec<u64>,
    /// The bytes that must be found, and that may be found, as used after their free.
    must_be_used: BTreeSet<u64>,
    may_be_used: BTreeSet<u64>,
    accesses: u32,
    /// The places of all accesses of a kind.
    places: HashMap<(AccessKind, u64, bool), Vec<u32>>,
    statements: u32,
}

impl Pair {
    fn new(seed: u64) -> Pair {
        let options = Options {
            max_races: usize::MAX,
            ..Options::default()
        };
        let mut checker = Checker::new(options, 0..0, 0..0).unwrap();
        if seed.is_multiple_of(2) {
            checker.be_brief();
        }
        let mut oracle = Oracle::new(1000);
        oracle.event(&Event::TaskBegin {
            task: TaskId::MAIN,
            parent: None,
            kind: Creation::Main,
            finish: FinishId::ROOT,
            site: SITE,
        });
        oracle.event(&Event::FinishBegin {
            task: TaskId::MAIN,
            finish: FinishId::ROOT,
            kind: Waits::Root,
            site: SITE,
        });
        Pair {
            random: Random(seed),
            checker,
            oracle,
            tasks: 1,
            finishes: 1,
            running: TaskId::MAIN,
            created: Vec::new(),
            generation: [0; WINDOW as usize],
            blocks: BTreeMap::new(),
            kept: [const { None }; WINDOW as usize],
            waiting: Vec::new(),
            must_be_used: BTreeSet::new(),
            may_be_used: BTreeSet::new(),
            accesses: 0,
            places: HashMap::new(),
            statements: 40,
        }
    }

    fn location(&self, byte: u64) -> Location {
        Location(self.generation[byte as usize] * WINDOW + byte)
    }

    fn block(&mut self, finish: FinishId, depth: u32) {
        for _ in 0..1 + self.random.below(5) {
            if self.statements == 0 {
                return;
            }
            self.statements -= 1;
            match self.random.below(if depth < 5 { 15 } else { 10 }) {
                0..=5 => (0..1 + self.random.below(6)).for_each(|_| self.access()),
                6 => self.allocate(),
                7 => self.free(),
                8 => self.reallocate(),
                9 => self.give_back(),
                10..=11 => self.nested_finish(depth),
                12 => drop(self.run_created(None)),
                _ => self.task(finish, depth),
            }
        }
    }

    fn task(&mut self, finish: FinishId, depth: u32) {
        let task = TaskId(self.tasks);
        self.tasks += 1;
        let parent = std::mem::replace(&mut self.running, task);
        self.oracle.event(&Event::TaskBegin {
            task,
            parent: Some(parent),
            kind: Creation::Async,
            finish,
            site: SITE,
        });
        let kind = TaskKind::Rayon(rayon::TaskKind::ScopeSpawn);
        if self.random.below(3) == 0 {
            assert_eq!(self.checker.create_task(kind, finish, 0), task);
            self.created.push((task, finish, depth));
            self.running = parent;
            return;
        }
        self.checker.begin_task(kind, finish, 0, 0);
        self.body(task, finish, depth);
        self.running = parent;
    }

    fn body(&mut self, task: TaskId, finish: FinishId, depth: u32) {
        self.block(finish, depth + 1);
        self.checker.end_task();
        self.oracle.event(&Event::TaskEnd { task });
    }

    /// Runs one of the tasks that wait to run, on top of the running one. Tells whether there was
    /// one, of this finish if one is given.
    fn run_created(&mut self, of: Option<FinishId>) -> bool {
        let waits = |(_, finish, _): &(TaskId, FinishId, u32)| of.is_none_or(|of| of == *finish);
        let number = self.created.iter().filter(|it| waits(it)).count() as u64;
        if number == 0 {
            return false;
        }
        let chosen = self.random.below(number) as usize;
        let mut places = (0..self.created.len()).filter(|at| waits(&self.created[*at]));
        let at = places.nth(chosen).expect("one of those that wait");
        let (task, finish, depth) = self.created.swap_remove(at);
        self.checker.run_created(task, 0);
        let below = std::mem::replace(&mut self.running, task);
        self.body(task, finish, depth);
        self.running = below;
        true
    }

    fn nested_finish(&mut self, depth: u32) {
        let finish = FinishId(self.finishes);
        self.finishes += 1;
        let task = self.running;
        self.oracle.event(&Event::FinishBegin {
            task,
            finish,
            kind: Waits::Lexical,
            site: SITE,
        });
        assert_eq!(
            self.checker
                .begin_finish(FinishKind::Rayon(rayon::FinishKind::Scope), 0),
            finish
        );
        self.block(finish, depth + 1);
        while self.run_created(Some(finish)) {}
        self.checker.end_finish(finish);
        self.oracle.event(&Event::FinishEnd {
            task,
            finish,
            site: SITE,
        });
    }

    /// An access, or the same one of several variables side by side, as a loop makes it.
    fn access(&mut self) {
        let kind = [AccessKind::Read, AccessKind::Write][self.random.below(2) as usize];
        let atomic = self.random.below(4) == 0;
        let bytes = match self.random.below(4) {
            _ if atomic => 1 << self.random.below(4),
            0 => 8,
            1 => 1 << self.random.below(5),
            2 => 4,
            _ => 1 + self.random.below(20),
        };
        let mut start = self.random.below(WINDOW - bytes + 1);
        if atomic || self.random.below(2) == 0 && bytes.is_power_of_two() {
            start -= start % bytes.min(8);
        }
        let id = self.place_of((kind, bytes, atomic));
        let times = match self.random.below(3) {
            0 => 1 + self.random.below(6),
            _ => 1,
        };
        for _ in 0..times {
            if start + bytes <= WINDOW {
                self.access_at(kind, start..start + bytes, atomic, id);
            }
            start += bytes;
        }
    }

    fn access_at(
        &mut self,
        kind: AccessKind,
        Range { start, end }: Range<u64>,
        atomic: bool,
        id: u32,
    ) {
        let bytes = end - start;
        let here = Here {
            place: u64::from(id),
            stack_pointer: u64::MAX,
        };
        let (task, site) = (self.running, SITE);
        if atomic {
            self.oracle.event(&Event::IsolatedBegin { task, site });
        }
        for byte in start..start + bytes {
            self.oracle.access(&Access {
                task,
                kind,
                first: self.location(byte),
                count: 1,
                stride: 1,
                id: AccessId(id),
            });
        }
        self.look_for_kept(start..start + bytes);
        if atomic {
            self.oracle.event(&Event::IsolatedEnd { task, site });
            let operation = Operation {
                address: BASE + start,
                before: (kind == AccessKind::Read).then_some(0),
                after: (kind == AccessKind::Write).then_some(0),
                how: How::Replaced,
                acquires: false,
                releases: false,
            };
            self.checker.atomic(&operation, bytes as usize, here);
        } else if bytes <= 16 && bytes.is_power_of_two() {
            self.checker
                .access(kind, BASE + start, bytes as usize, here);
        } else {
            self.checker
                .access_range(kind, BASE + start, bytes as usize, here);
        }
    }

    /// Where such an access is made: often somewhere where one was made before.
    fn place_of(&mut self, access: (AccessKind, u64, bool)) -> u32 {
        let places = self.places.entry(access).or_default();
        if !places.is_empty() && self.random.below(2) == 0 {
            return places[self.random.below(places.len() as u64) as usize];
        }
        self.accesses += 1;
        places.push(self.accesses);
        self.accesses
    }

    /// The running task has just accessed these bytes, and the oracle knows.
    fn look_for_kept(&mut self, bytes: Range<u64>) {
        if self.checker.glance.is_alone() {
            return;
        }
        for byte in bytes {
            let location = self.location(byte);
            let Some((free, seen)) = self.kept[byte as usize].take() else {
                continue;
            };
            let access = self.oracle.accesses(location).last().expect("it was told");
            if self.oracle.ordered(Mode::Structure, &free, access) {
                self.may_be_used.insert(byte);
                if !seen {
                    self.must_be_used.insert(byte);
                }
            }
            self.kept[byte as usize] = Some((free, true));
        }
    }

    /// The block that was freed last at this start is kept.
    fn keep(&mut self, start: u64, bytes: u64, place: u64) {
        self.checker.kept(BASE + start, place);
        self.waiting.push(start);
        for byte in start..start + bytes {
            let free = self.oracle.accesses(self.location(byte)).last();
            self.kept[byte as usize] = Some((*free.expect("it was told"), false));
        }
    }

    fn give_back(&mut self) {
        if !self.waiting.is_empty() {
            let at = self.random.below(self.waiting.len() as u64) as usize;
            let start = self.waiting.swap_remove(at);
            self.checker.given_back(BASE + start);
            self.take_back(start);
        }
    }

    /// What is kept from a start on is kept no more.
    fn take_back(&mut self, start: u64) {
        let Some((free, _)) = self.kept[start as usize] else {
            return;
        };
        for kept in &mut self.kept[start as usize..] {
            match kept {
                Some((other, _)) if other.access == free.access => *kept = None,
                _ => return,
            }
        }
    }

    /// A range of the window that is a new block from now on.
    fn allocate(&mut self) {
        let (mut start, mut bytes) = (self.random.below(WINDOW), 0);
        if self.random.below(2) == 0 {
            // Of whole words.
            start -= start % 8;
            bytes = (8 + 8 * self.random.below(2)).min(WINDOW - start);
        }
        if bytes == 0 {
            bytes = 1 + self.random.below((WINDOW - start).min(16));
        }
        self.checker.allocated(BASE + start, bytes, 0);
        self.renew(start..end_of_word(start, bytes));
        self.note_block(start, bytes);
    }

    /// What was there before can't be freed any more.
    fn note_block(&mut self, start: u64, bytes: u64) {
        self.blocks
            .retain(|other, length| *other >= start + bytes || other + *length <= start);
        self.blocks.insert(start, bytes);
        // No allocator hands out what is kept. If one does, none of that block is kept.
        for byte in start..start + bytes {
            let kept = self.kept[byte as usize].as_ref();
            if let Some(access) = kept.map(|(free, _)| free.access) {
                let of_it = |it: &&u64| {
                    self.kept[**it as usize]
                        .as_ref()
                        .is_some_and(|(free, _)| free.access == access)
                };
                self.waiting.retain(|start| !of_it(&start));
                for kept in &mut self.kept {
                    if kept.as_ref().is_some_and(|(free, _)| free.access == access) {
                        *kept = None;
                    }
                }
            }
        }
    }

    fn renew(&mut self, bytes: Range<u64>) {
        for byte in bytes {
            self.generation[byte as usize] += 1;
            // Its mark is forgotten, too.
            if let Some((_, seen)) = &mut self.kept[byte as usize] {
                *seen = true;
            }
        }
    }

    /// Some block, no more to be freed; the oracle is told of its end. Tells the place of that.
    fn end_of_block(&mut self) -> Option<(u64, u64, u64)> {
        let number = self.random.below(self.blocks.len().max(1) as u64);
        let start = *self.blocks.keys().nth(number as usize)?;
        let bytes = self.blocks.remove(&start)?;
        self.accesses += 1;
        for byte in start..start + bytes {
            self.oracle.access(&Access {
                task: self.running,
                kind: AccessKind::Write,
                first: self.location(byte),
                count: 1,
                stride: 1,
                id: AccessId(self.accesses),
            });
        }
        Some((start, bytes, u64::from(self.accesses)))
    }

    fn free(&mut self) {
        if let Some((start, bytes, place)) = self.end_of_block() {
            self.checker.freed(BASE + start, place);
            if self.random.below(3) > 0 {
                self.keep(start, bytes, place);
            }
        }
    }

    /// In place or somewhere else.
    fn reallocate(&mut self) {
        let Some((from, old, place)) = self.end_of_block() else {
            return;
        };
        let in_place = self.random.below(2) == 0;
        let to = if in_place {
            from
        } else {
            self.random.below(WINDOW)
        };
        let bytes = 1 + self.random.below((WINDOW - to).min(16));
        self.checker
            .reallocated(BASE + from, BASE + to, bytes, place);
        if to == from {
            self.renew(from + old.min(bytes)..from + bytes);
        } else {
            self.renew(to..end_of_word(to, bytes));
        }
        self.note_block(to, bytes);
    }

    /// The accesses of a location from the place of one that is named.
    fn recorded(&self, location: Location, access: &races::ConflictingAccess) -> Vec<Recorded> {
        let all = self.oracle.accesses(location).iter();
        let from_there: Vec<Recorded> = all
            .filter(|recorded| u64::from(recorded.access.0) == access.at.place)
            .copied()
            .collect();
        for recorded in &from_there {
            let done = (recorded.kind, recorded.isolated);
            assert_eq!(done, (access.kind, access.manner == races::Manner::Atomic));
        }
        from_there
    }

    fn is_race(&self, first: &Recorded, second: &Recorded) -> bool {
        !self.oracle.ordered(Mode::Structure, first, second)
            && (first.kind == AccessKind::Write || second.kind == AccessKind::Write)
            && !(first.isolated && second.isolated)
    }

    fn compare(mut self) -> (usize, usize) {
        self.block(FinishId::ROOT, 0);
        while self.run_created(None) {}
        let racing = self.oracle.racing_locations(Mode::Structure);
        let expected: BTreeSet<u64> = racing.iter().map(|location| location.0 % WINDOW).collect();
        let found: BTreeSet<u64> = self
            .checker
            .found
            .races
            .addresses()
            .iter()
            .map(|address| address - BASE)
            .collect();
        assert_eq!(found, expected);

        let used = self.checker.found.after_free.addresses().iter();
        let used: BTreeSet<u64> = used.map(|address| address - BASE).collect();
        assert!(
            self.must_be_used.is_subset(&used),
            "{used:?} of {:?}",
            self.must_be_used
        );
        assert!(
            used.is_subset(&self.may_be_used),
            "{used:?} of {:?}",
            self.may_be_used
        );

        let mut named = BTreeSet::new();
        for race in self.checker.found.races.iter() {
            // Those of the tasks that are named, and those of others from the same places.
            let mut of_those_tasks = false;
            for byte in race.addresses.iter().map(|address| address - BASE) {
                let generations = 0..=self.generation[byte as usize];
                let locations = generations.map(|generation| Location(generation * WINDOW + byte));
                let pairs = locations.flat_map(|location| {
                    let [first, second] =
                        [&race.first, &race.second].map(|access| self.recorded(location, access));
                    let pairs = first.into_iter().flat_map(move |first| {
                        let second = second.clone().into_iter();
                        second.map(move |second| (first, second))
                    });
                    pairs.filter(|(first, second)| self.is_race(first, second))
                });
                let tasks: Vec<_> = pairs
                    .map(|(first, second)| (first.task, second.task))
                    .collect();
                assert!(!tasks.is_empty(), "byte {byte} of {race:?}");
                of_those_tasks |= tasks.contains(&(race.first.task, race.second.task));
                named.insert(byte);
            }
            assert!(of_those_tasks, "{race:?}");
        }
        assert_eq!(named.len(), found.len());
        (found.len(), used.len())
    }
}

/// Up to where a block is new: what is left of the last word belongs to nobody, unless blocks are
/// packed so that they begin inside words.
fn end_of_word(start: u64, bytes: u64) -> u64 {
    match start % 8 {
        0 => (start + bytes).next_multiple_of(8).min(WINDOW),
        _ => start + bytes,
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn bytes_race_as_the_oracle_says() {
    let (first, count) = (
        number("FINISHLINE_SEED", 1),
        number("FINISHLINE_SEEDS", 5000),
    );
    let (mut racy, mut using) = (0, 0);
    for seed in first..first + count {
        let racing = std::panic::catch_unwind(|| Pair::new(seed).compare());
        match racing {
            Ok((racing, used)) => {
                racy += u64::from(racing > 0);
                using += u64::from(used > 0);
            }
            Err(panic) => {
                eprintln!("seed {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    assert!(
        count < 100 || (count / 4..count).contains(&racy),
        "{racy} of {count} race"
    );
    assert!(
        count < 100 || (count / 50..count).contains(&using),
        "{using} of {count} use memory after its free"
    );
}
