//! Programs with promises, made at random, and their runs in every kind of interleaving. The tests
//! of the crate `graph` include this file too.
//!
//! Here `release0` sets promise 0 and `acquire0` gets it. A second set of a promise does nothing. A
//! program that deadlocks is run up to there.

use super::words::{Open, Word, closing};
use finishline_model::event::Record;
use finishline_model::{
    Access, AccessId, AccessKind, AllocationId, Event, FinishId, FinishKind, Location, ObjectId,
    SiteId, TaskId, TaskKind,
};
use std::collections::BTreeSet;

const SITE: SiteId = SiteId(0);
pub(crate) const LOCATIONS: u64 = 64;

/// Who goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Policy {
    /// The newest task that can, as in a depth-first run.
    Newest,
    /// The oldest one.
    Oldest,
    /// Any, at each step.
    Random,
    /// Any, until it can't go on.
    Long,
}

pub(crate) const POLICIES: [Policy; 4] =
    [Policy::Newest, Policy::Oldest, Policy::Random, Policy::Long];

struct Task {
    next: usize,
    end: usize,
    open: Vec<Open>,
    finishes: Vec<FinishId>,
    enclosing: FinishId,
}

/// A run under a policy.
struct Run<'a> {
    words: &'a [Word],
    records: Vec<Record>,
    tasks: Vec<Option<Task>>,
    /// By finish: the tasks under way.
    waiting: Vec<usize>,
    set: BTreeSet<u32>,
    accesses: u32,
}

/// Promises lie behind the locations.
fn promise(number: u32) -> Location {
    Location(LOCATIONS + u64::from(number))
}

impl Run<'_> {
    fn event(&mut self, event: Event) {
        self.records.push(Record::Event(event));
    }

    fn begin(&mut self, parent: Option<usize>, next: usize, end: usize) {
        let id = self.tasks.len();
        let finish = parent.map_or(FinishId::ROOT, |parent| {
            let parent = self.tasks[parent].as_ref().unwrap();
            parent.finishes.last().copied().unwrap_or(parent.enclosing)
        });
        if parent.is_some() {
            self.waiting[finish.index()] += 1;
        }
        self.event(Event::TaskBegin {
            task: TaskId(id as u32),
            parent: parent.map(|parent| TaskId(parent as u32)),
            kind: if parent.is_none() {
                TaskKind::Main
            } else {
                TaskKind::Async
            },
            finish,
            site: SITE,
        });
        self.tasks.push(Some(Task {
            next,
            end,
            open: Vec::new(),
            finishes: Vec::new(),
            enclosing: finish,
        }));
    }

    fn begin_finish(&mut self, task: usize, kind: FinishKind) {
        let finish = FinishId(self.waiting.len() as u32);
        self.waiting.push(0);
        self.tasks[task].as_mut().unwrap().finishes.push(finish);
        self.event(Event::FinishBegin {
            task: TaskId(task as u32),
            finish,
            kind,
            site: SITE,
        });
    }

    /// Whether a task is live and does not wait.
    fn can_go_on(&self, id: usize) -> bool {
        let Some(task) = &self.tasks[id] else {
            return false;
        };
        let empty = |finish: Option<&FinishId>| finish.is_none_or(|f| self.waiting[f.index()] == 0);
        if task.next == task.end {
            return empty(task.finishes.last());
        }
        match self.words[task.next] {
            Word::Acquire(object) => self.set.contains(&object.0),
            Word::Close if matches!(task.open.last(), Some(Open::Finish(_))) => {
                empty(task.finishes.last())
            }
            Word::Sync => empty(task.finishes.last()),
            _ => true,
        }
    }

    fn end_finish(&mut self, id: usize) {
        if let Some(finish) = self.tasks[id].as_mut().unwrap().finishes.pop() {
            let task = TaskId(id as u32);
            self.event(Event::FinishEnd {
                task,
                finish,
                site: SITE,
            });
        }
    }

    fn step(&mut self, id: usize) {
        let task = TaskId(id as u32);
        let it = self.tasks[id].as_mut().unwrap();
        if it.next == it.end {
            self.end_finish(id);
            let ended = self.tasks[id].take().unwrap();
            if id != 0 {
                self.waiting[ended.enclosing.index()] -= 1;
            }
            return self.event(Event::TaskEnd { task });
        }
        let at = it.next;
        it.next += 1;
        let site = SITE;
        match self.words[at] {
            Word::Open(Open::Async) => {
                let end = closing(self.words, at);
                it.next = end + 1;
                self.begin(Some(id), at + 1, end);
            }
            Word::Open(open @ Open::Finish(kind)) => {
                it.open.push(open);
                self.begin_finish(id, kind);
            }
            Word::Open(open) => {
                assert_eq!(open, Open::Isolated);
                it.open.push(open);
                self.event(Event::IsolatedBegin { task, site });
                let end = closing(self.words, at);
                while self.tasks[id].as_ref().unwrap().next <= end {
                    self.step(id);
                }
            }
            Word::Close => match it.open.pop() {
                Some(Open::Isolated) => self.event(Event::IsolatedEnd { task, site }),
                _ => self.end_finish(id),
            },
            Word::Sync => {
                if let Some(&finish) = it.finishes.last() {
                    self.event(Event::FinishJoin { task, finish, site });
                }
            }
            Word::Release { object, .. } => {
                if self.set.insert(object.0) {
                    let promise = promise(object.0);
                    self.event(Event::PromiseSet {
                        task,
                        promise,
                        site,
                    });
                }
            }
            Word::Acquire(object) => {
                let promise = promise(object.0);
                self.event(Event::PromiseGet {
                    task,
                    promise,
                    site,
                });
            }
            Word::Access {
                kind,
                first,
                count,
                stride,
            } => {
                let id = AccessId(self.accesses);
                self.accesses += 1;
                // Allocations belong to no step.
                if id.0.is_multiple_of(3) {
                    self.event(Event::Alloc {
                        task,
                        allocation: AllocationId(0),
                        first: Location(0),
                        count: 0,
                    });
                }
                self.records.push(Record::Access(Access {
                    task,
                    kind,
                    first: Location(first),
                    count,
                    stride,
                    id,
                }));
            }
            word => unreachable!("{word:?}"),
        }
    }
}

/// The run of a program under a policy, up to its end or a deadlock.
pub(crate) fn recorded(words: &[Word], policy: Policy, seed: u64) -> Vec<Record> {
    let mut run = Run {
        words,
        records: Vec::new(),
        tasks: Vec::new(),
        waiting: Vec::new(),
        set: BTreeSet::new(),
        accesses: 0,
    };
    let mut random = Random(seed);
    run.begin(None, 0, words.len());
    run.begin_finish(0, FinishKind::Root);
    let mut current = 0;
    loop {
        let able: Vec<usize> = (0..run.tasks.len())
            .filter(|&task| run.can_go_on(task))
            .collect();
        let [oldest, .., newest] = match able[..] {
            [] => return run.records,
            [one] => [one, one],
            [oldest, .., newest] => [oldest, newest],
        };
        let any = able[random.below(able.len() as u64) as usize];
        current = match policy {
            Policy::Newest => newest,
            Policy::Oldest => oldest,
            Policy::Random => any,
            Policy::Long if able.contains(&current) => current,
            Policy::Long => any,
        };
        run.step(current);
    }
}

struct Random(u64);

impl Random {
    /// Splitmix64.
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

pub(crate) struct Generator {
    random: Random,
    words: Vec<Word>,
    left: u64,
    places: u64,
    promises: u64,
    /// How many promises are set, if each is set once and before it is got in the text. Such
    /// programs do not deadlock.
    orderly: Option<u64>,
    isolated: bool,
    /// How deep tasks may nest.
    deepest: u32,
}

impl Generator {
    pub(crate) fn program(seed: u64) -> Vec<Word> {
        let mut random = Random(seed);
        let mut generator = Generator {
            words: Vec::new(),
            left: 4 + random.below(60),
            // In few places almost everything races. In many a single wrong answer shows.
            places: match random.below(2) {
                0 => 1 + random.below(3),
                _ => 8 + random.below(16),
            },
            promises: 1 + random.below(6),
            orderly: (random.below(3) != 0).then_some(0),
            isolated: random.below(3) == 0,
            deepest: [4, 4, 16][random.below(3) as usize],
            random,
        };
        while generator.left > 0 {
            generator.statement(0, false);
        }
        generator.words
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    fn block(&mut self, open: Open, depth: u32, isolated: bool) {
        self.words.push(Word::Open(open));
        for _ in 0..self.below(6) {
            self.statement(depth + 1, isolated);
        }
        self.words.push(Word::Close);
    }

    /// The promise that a set or a get is about.
    fn promise(&mut self, sets: bool) -> ObjectId {
        let number = match &mut self.orderly {
            None => self.random.below(self.promises),
            Some(set) if sets => {
                *set += 1;
                *set - 1
            }
            // The latest ones make long chains.
            Some(set) => *set - 1 - self.random.below((*set).min(4)),
        };
        ObjectId(number as u32)
    }

    fn statement(&mut self, depth: u32, isolated: bool) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let (first, many) = (self.below(self.places), self.below(8));
        let nests = depth < self.deepest && !isolated;
        let kind = match self.below(20) {
            // Chains of tasks that each learn something.
            15 if self.deepest > 4 => 0,
            kind => kind,
        };
        match kind {
            0..=3 if nests => self.block(Open::Async, depth, false),
            4..=5 if nests => {
                let kind = [FinishKind::Lexical, FinishKind::SyncScope][(many % 2) as usize];
                self.block(Open::Finish(kind), depth, false);
            }
            6 if nests && self.isolated => self.block(Open::Isolated, depth, true),
            11..=13 if !isolated && self.orderly != Some(0) => {
                let object = self.promise(false);
                self.words.push(Word::Acquire(object));
            }
            7..=10 => {
                let object = self.promise(true);
                self.words.push(Word::Release {
                    object,
                    continues: false,
                });
            }
            14 if !isolated => {
                self.words.push(Word::Sync);
            }
            kind => self.words.push(Word::Access {
                kind: [AccessKind::Read, AccessKind::Write][usize::from(kind > 17)],
                first,
                // The longest have whole blocks of cells that are decided together.
                count: [5, 20, 20].get(many as usize).copied().unwrap_or(1),
                stride: 1 + many % 2,
            }),
        }
    }
}
