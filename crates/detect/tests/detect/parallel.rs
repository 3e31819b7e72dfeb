//! Random parallel runs: the detectors of such runs agree with the oracle, whatever the schedule.
//!
//! A run is made step by step: of the tasks that can go on, any one does anything. So tasks meet in
//! ways that no depth-first run shows.
//!
//! `FINISHLINE_SEEDS` and `FINISHLINE_SEED` run more, or others.

use finishline_detect::oracle::{Mode, Oracle};
use finishline_detect::parallel::{InTurn, Tree, TwoReaders};
use finishline_model::event::{Record, replay};
use finishline_model::{
    Access, AccessId, AccessKind, Event, FinishId, FinishKind, Location, SiteId, TaskId, TaskKind,
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
}

/// A run in the making.
struct Run {
    random: Random,
    live: Vec<LiveTask>,
    /// By finish: how many tasks it waits for.
    waiting: Vec<usize>,
    tasks: u32,
    records: Vec<Record>,
    /// Few locations, so that accesses meet.
    locations: usize,
    writes: usize,
}

const SITE: SiteId = SiteId(0);

impl Run {
    fn new(seed: u64) -> Run {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (locations, writes) = (1 + random.below(3), 2 + random.below(9));
        let mut run = Run {
            random,
            live: Vec::new(),
            waiting: vec![1],
            tasks: 0,
            records: Vec::new(),
            locations,
            writes,
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
        });
    }

    fn access(&mut self, task: TaskId) {
        let kind = match self.random.below(self.writes) {
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
        let own = &mut self.live[at];
        let (task, innermost) = (own.id, own.open.last().copied());
        let finish = innermost.unwrap_or(own.finish);
        match self.random.below(10) {
            0..=3 => self.access(task),
            4..=5 if grows => {
                self.waiting[finish.index()] += 1;
                self.begin(Some(task), finish, TaskKind::Async);
            }
            6 if grows => {
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

    fn records(mut self) -> Vec<Record> {
        let steps = 10 + self.random.below(60);
        let mut step = 0;
        while self.step(step < steps) {
            step += 1;
        }
        self.records
    }
}

fn setting(name: &str, usual: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(usual, |text| text.parse().expect("a number"))
}

#[test]
fn parallel_runs_agree_with_the_oracle() {
    let first = setting("FINISHLINE_SEED", 1);
    let (mut racy, mut clean) = (0, 0);
    for seed in first..first + setting("FINISHLINE_SEEDS", 20_000) {
        let records = Run::new(seed).records();
        let mut oracle = Oracle::new(20_000);
        replay(&records, &mut oracle);
        let expected = oracle.racing_locations(Mode::Structure);
        match expected.is_empty() {
            true => clean += 1,
            false => racy += 1,
        }
        let mut spd3 = InTurn::<Tree, TwoReaders>::new().expect("memory");
        replay(&records, &mut spd3);
        let found = spd3.finish().expect("findings").racing;
        let found: BTreeSet<Location> = found.in_order().iter().copied().collect();
        assert_eq!(found, expected, "seed {seed}: {records:#?}");
    }
    assert!(racy > 100 && clean > 100, "{racy} racy, {clean} clean");
}
