//! Random programs of tasks that access overlapping bytes, against the oracle byte by byte.
//!
//! The oracle sees each byte as a location of its own, and a byte that was freed as a new one. The checker must find the same
//! racing bytes, and every pair of places that it names must be a race by the definition.
//!
//! `FINISHLINE_SEEDS=n` runs n programs, `FINISHLINE_SEED=s` starts at seed s.

use finishline_detect::oracle::{Mode, Oracle};
use finishline_model::{
    Access, AccessId, AccessKind, Event, FinishId, FinishKind as Waits, Location, Observer, SiteId,
    TaskId, TaskKind as Creation,
};
use finishline_native::checker::{Checker, Here};
use finishline_native::options::Options;
use finishline_native::structure::{FinishKind, TaskKind};
use finishline_native::synchronisation::Operation;
use std::collections::{BTreeMap, BTreeSet};

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
    /// By byte of the window: how often it was freed.
    generation: [u64; WINDOW as usize],
    accesses: u32,
    statements: u32,
}

impl Pair {
    fn new(seed: u64) -> Pair {
        let checker = Checker::new(Options::default(), 0..0, 0..0).unwrap();
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
            generation: [0; WINDOW as usize],
            accesses: 0,
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
            match self.random.below(if depth < 5 { 10 } else { 7 }) {
                0..=5 => self.access(),
                6 => self.free(),
                7 => self.nested_finish(depth),
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
        let suspended = self.checker.begin_task(TaskKind::ScopeSpawn, finish, 0, 0);
        self.block(finish, depth + 1);
        self.checker.end_task(suspended);
        self.oracle.event(&Event::TaskEnd { task });
        self.running = parent;
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
        assert_eq!(self.checker.begin_finish(FinishKind::Scope, 0), finish);
        self.block(finish, depth + 1);
        self.checker.end_finish(finish);
        self.oracle.event(&Event::FinishEnd {
            task,
            finish,
            site: SITE,
        });
    }

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
        self.accesses += 1;
        let id = self.accesses;
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
        if atomic {
            self.oracle.event(&Event::IsolatedEnd { task, site });
            let operation = Operation {
                address: BASE + start,
                before: (kind == AccessKind::Read).then_some(0),
                after: (kind == AccessKind::Write).then_some(0),
                counts: false,
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

    fn free(&mut self) {
        let start = self.random.below(WINDOW);
        let bytes = 1 + self.random.below((WINDOW - start).min(16));
        self.checker.forget(BASE + start, bytes);
        for byte in start..start + bytes {
            self.generation[byte as usize] += 1;
        }
    }

    fn compare(mut self) -> usize {
        self.block(FinishId::ROOT, 0);
        let racing = self.oracle.racing_locations(Mode::Structure);
        let expected: BTreeSet<u64> = racing.iter().map(|location| location.0 % WINDOW).collect();
        let found: BTreeSet<u64> = self
            .checker
            .races
            .addresses()
            .iter()
            .map(|address| address - BASE)
            .collect();
        assert_eq!(found, expected);

        let mut named = BTreeMap::new();
        for race in self.checker.races.iter() {
            for byte in race.addresses.iter().map(|address| address - BASE) {
                let generations = (0..=self.generation[byte as usize])
                    .map(|generation| generation * WINDOW + byte);
                let is_race = generations.map(Location).any(|location| {
                    let recorded = |access: &finishline_native::races::Access| {
                        let all = self.oracle.accesses(location).iter();
                        all.clone()
                            .find(|recorded| u64::from(recorded.access.0) == access.at.place)
                            .copied()
                    };
                    let (Some(first), Some(second)) =
                        (recorded(&race.first), recorded(&race.second))
                    else {
                        return false;
                    };
                    assert_eq!(
                        (first.kind, second.kind),
                        (race.first.kind, race.second.kind)
                    );
                    assert_eq!(
                        (first.isolated, second.isolated),
                        (race.first.atomic, race.second.atomic)
                    );
                    assert_eq!(
                        (first.task, second.task),
                        (race.first.task, race.second.task)
                    );
                    !self.oracle.ordered(Mode::Structure, &first, &second)
                        && (first.kind == AccessKind::Write || second.kind == AccessKind::Write)
                        && !(first.isolated && second.isolated)
                });
                assert!(is_race, "byte {byte} of {race:?}");
                named.insert(byte, ());
            }
        }
        assert_eq!(named.len(), found.len());
        found.len()
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
        number("FINISHLINE_SEEDS", 2000),
    );
    let mut racy = 0;
    for seed in first..first + count {
        let racing = std::panic::catch_unwind(|| Pair::new(seed).compare());
        match racing {
            Ok(racing) => racy += u64::from(racing > 0),
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
}
