//! Random parallel runs: the detectors of such runs agree with the oracle, whatever the schedule.
//!
//! A run is made step by step: of the tasks that can go on, any one does anything. So tasks meet in
//! ways that no depth-first run shows.
//!
//! `FINISHLINE_SEEDS` and `FINISHLINE_SEED` run more, or others.

use finishline_detect::detectors::{MakeShared, Uses, on_threads};
use finishline_detect::oracle::{Mode, Oracle};
use finishline_detect::parallel::{InTurn, SharedHistory, SharedOrder};
use finishline_detect::{Failure, Findings};
use finishline_model::event::{Record, replay};
use finishline_model::{
    Access, AccessId, AccessKind, Construct, Detector, Event, FinishId, FinishKind, Location,
    LockId, LockMode, SiteId, TaskId, TaskKind,
};
use std::collections::BTreeSet;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

struct LiveTask {
    id: TaskId,
    finish: FinishId,
    open: Vec<FinishId>,
    held: Vec<LockId>,
    isolated: bool,
}

/// A run in the making.
struct Run {
    uses: Uses,
    /// How many promises have been set. They have the locations from [`PROMISES`] on.
    promises: u64,
    random: Random,
    live: Vec<LiveTask>,
    /// By finish: how many tasks it waits for.
    waiting: Vec<usize>,
    tasks: u32,
    records: Vec<Record>,
    /// Few locations, so that accesses meet.
    locations: usize,
    writes: usize,
    /// How much rarer writes are without locks than under them, if tasks take locks often. So one
    /// entry of a history decides about a race, and not any of many.
    careful: Option<usize>,
}

const SITE: SiteId = SiteId(0);
const PROMISES: u64 = 10;
/// Two of them have the same place in tables of 256.
const LOCKS: [LockId; 3] = [LockId(0), LockId(1), LockId(256)];

impl Run {
    fn new(seed: u64) -> Run {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (locations, writes) = (1 + random.below(3), 2 + random.below(9));
        let uses = Uses {
            isolated: random.below(3) == 0,
            promises: random.below(3) == 0,
            locks: random.below(3) == 0,
        };
        let may_be_careful = uses.isolated || uses.locks;
        let careful = (may_be_careful && random.below(3) > 0).then(|| [3, 20][random.below(2)]);
        let mut run = Run {
            uses,
            promises: 0,
            random,
            live: Vec::new(),
            waiting: vec![1],
            tasks: 0,
            records: Vec::new(),
            locations,
            writes,
            careful,
        };
        run.begin(None, FinishId::ROOT, TaskKind::Main);
        run
    }

    fn begin(&mut self, parent: Option<TaskId>, finish: FinishId, kind: TaskKind) {
        let task = TaskId(self.tasks);
        self.tasks += 1;
        self.records.push(Record::Event(Event::TaskBegin {
            task,
            parent,
            kind,
            finish,
            site: SITE,
        }));
        self.live.push(LiveTask {
            id: task,
            finish,
            open: Vec::new(),
            held: Vec::new(),
            isolated: false,
        });
    }

    fn event(&mut self, event: Event) {
        self.records.push(Record::Event(event));
    }

    /// A task sets or gets a promise, takes or gives up a lock, enters or leaves an isolated block.
    fn synchronise(&mut self, at: usize) {
        let LiveTask {
            id: task,
            isolated,
            ref held,
            ..
        } = self.live[at];
        let site = SITE;
        if isolated {
            self.live[at].isolated = false;
            self.event(Event::IsolatedEnd { task, site });
            return;
        }
        let mode = LockMode::Exclusive;
        let may_isolate = held.is_empty() && !self.live.iter().any(|task| task.isolated);
        match self.random.below(3) {
            0 if self.uses.isolated && may_isolate => {
                self.live[at].isolated = true;
                self.event(Event::IsolatedBegin { task, site });
            }
            1 if self.uses.locks => {
                let lock = LOCKS[self.random.below(LOCKS.len())];
                let holds = |task: &LiveTask| task.held.contains(&lock);
                if holds(&self.live[at]) {
                    self.live[at].held.retain(|held| *held != lock);
                    self.event(Event::Unlock { task, lock });
                } else if !self.live.iter().any(holds) {
                    self.live[at].held.push(lock);
                    self.event(Event::Lock { task, lock, mode });
                }
            }
            2 if self.uses.promises => {
                let promise = self.random.below(2 * self.promises as usize + 1) as u64;
                let location = Location(PROMISES + promise.min(self.promises));
                if promise < self.promises {
                    self.event(Event::PromiseGet {
                        task,
                        promise: location,
                        site,
                    });
                } else {
                    self.promises += 1;
                    self.event(Event::PromiseSet {
                        task,
                        promise: location,
                        site,
                    });
                }
            }
            _ => {}
        }
    }

    fn access(&mut self, task: TaskId, is_locked: bool) {
        let writes = match self.careful {
            Some(rarer) if !is_locked => rarer * self.writes,
            _ => self.writes,
        };
        let kind = match self.random.below(writes) {
            0 => AccessKind::Write,
            _ => AccessKind::Read,
        };
        self.records.push(Record::Access(Access {
            task,
            kind,
            first: Location(self.random.below(self.locations) as u64),
            count: 1,
            stride: 1,
            id: AccessId(0),
        }));
    }

    /// Some task does something. False if only `main` was left, and has ended.
    fn step(&mut self, grows: bool) -> bool {
        let at = self.random.below(self.live.len());
        let is_last = self.live.len() == 1;
        let seldom = if self.careful.is_some() { 2 } else { 4 };
        if self.random.below(seldom) == 0 {
            self.synchronise(at);
            return true;
        }
        let own = &mut self.live[at];
        // Nobody waits, creates tasks or ends in an isolated block, or waits or ends under a lock.
        let may_wait = !own.isolated && own.held.is_empty();
        let may_create = !own.isolated;
        let (task, innermost) = (own.id, own.open.last().copied());
        let finish = innermost.unwrap_or(own.finish);
        match self.random.below(10) {
            0..=3 => self.access(task, !may_wait),
            4..=5 if grows && may_create => {
                self.waiting[finish.index()] += 1;
                self.begin(Some(task), finish, TaskKind::Async);
            }
            6 if grows && may_wait => {
                let finish = FinishId(self.waiting.len() as u32);
                self.waiting.push(0);
                own.open.push(finish);
                self.records.push(Record::Event(Event::FinishBegin {
                    task,
                    finish,
                    kind: FinishKind::Lexical,
                    site: SITE,
                }));
            }
            _ if !may_wait => {}
            _ => match innermost {
                Some(finish) if self.waiting[finish.index()] == 0 => {
                    let site = SITE;
                    let event = match self.random.below(4) {
                        // It stays open.
                        0 if grows => Event::FinishJoin { task, finish, site },
                        _ => {
                            own.open.pop();
                            Event::FinishEnd { task, finish, site }
                        }
                    };
                    self.records.push(Record::Event(event));
                }
                None if task != TaskId::MAIN || is_last => {
                    let finish = own.finish;
                    self.waiting[finish.index()] -= 1;
                    self.records.push(Record::Event(Event::TaskEnd { task }));
                    self.live.remove(at);
                }
                _ => {}
            },
        }
        !self.live.is_empty()
    }

    fn records(&mut self) -> Vec<Record> {
        let steps = 10 + self.random.below(60);
        let mut step = 0;
        while self.step(step < steps) {
            step += 1;
        }
        std::mem::take(&mut self.records)
    }
}

/// What a detector finds in a recorded run.
struct Judge<'a>(Uses, &'a [Record]);

impl MakeShared for Judge<'_> {
    type Output = Result<Findings, Failure>;

    fn shared<O: SharedOrder, H: SharedHistory<O>>(self) -> Self::Output {
        let Judge(uses, records) = self;
        let mut detector = InTurn::<O, H>::new(uses)?;
        replay(records, &mut detector);
        detector.finish()
    }
}

fn judges(detector: Detector, uses: Uses) -> bool {
    [
        (uses.isolated, Construct::Isolated),
        (uses.locks, Construct::Lock),
        (uses.promises, Construct::Promise),
    ]
    .into_iter()
    .all(|(used, construct)| !used || detector.judges(construct))
}

fn setting(name: &str, usual: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(usual, |text| text.parse().expect("a number"))
}

#[test]
fn parallel_runs_agree_with_the_oracle() {
    let first = setting("FINISHLINE_SEED", 1);
    let (mut racy, mut clean) = (0, 0);
    for seed in first..first + setting("FINISHLINE_SEEDS", 5_000) {
        let mut run = Run::new(seed);
        let records = run.records();
        let mut oracle = Oracle::new(20_000);
        replay(&records, &mut oracle);
        let expected = oracle.racing_locations(Mode::Structure);
        match expected.is_empty() {
            true => clean += 1,
            false => racy += 1,
        }
        for detector in Detector::ALL {
            let Some(found) = on_threads(detector, Judge(run.uses, &records)) else {
                continue;
            };
            let said = || format!("{detector}, seed {seed}, {:?}: {records:#?}", run.uses);
            if !judges(detector, run.uses) {
                continue;
            }
            let found = found.expect("findings");
            let racing: BTreeSet<Location> = found.racing.in_order().iter().copied().collect();
            if detector.orders_by_locks() && (run.uses.locks || run.uses.isolated) {
                assert!(racing.is_subset(&expected), "{}", said());
                continue;
            }
            assert_eq!(racing, expected, "{}", said());
            let overlaps = found.overlap || found.isolated_conflict;
            let overlap = !oracle.overlapping_locations().is_empty();
            // Where there is a race, accesses that may overlap with others are forgotten.
            assert!(overlaps == overlap || !racing.is_empty(), "{}", said());
            assert_eq!(found.lock_cycle, oracle.locks_form_a_cycle(), "{}", said());
        }
    }
    assert!(racy > 100 && clean > 100, "{racy} racy, {clean} clean");
}
