//! Depth-first runs of joins: how much work the lists are.

use super::*;
use finishline_model::{FinishKind, SiteId, TaskKind};

const SITE: SiteId = SiteId(0);

struct Run {
    order: Labelled,
    tasks: u32,
    finishes: u32,
}

impl Run {
    fn new() -> Run {
        let mut run = Run {
            order: Labelled::new().unwrap(),
            tasks: 0,
            finishes: 0,
        };
        run.tell(Event::TaskBegin {
            task: TaskId::MAIN,
            parent: None,
            kind: TaskKind::Main,
            finish: FinishId::ROOT,
            site: SITE,
        });
        run.tell(Event::FinishBegin {
            task: TaskId::MAIN,
            finish: FinishId::ROOT,
            kind: FinishKind::Root,
            site: SITE,
        });
        run
    }

    fn tell(&mut self, event: Event) {
        self.order.event(&event).unwrap();
    }

    /// A join by a task, and joins by its halves, down to this level.
    fn join(&mut self, task: TaskId, levels: u32) {
        self.finishes += 1;
        let finish = FinishId(self.finishes);
        self.tell(Event::FinishBegin {
            task,
            finish,
            kind: FinishKind::Lexical,
            site: SITE,
        });
        for _ in 0..2 {
            self.tasks += 1;
            let half = TaskId(self.tasks);
            self.tell(Event::TaskBegin {
                task: half,
                parent: Some(task),
                kind: TaskKind::Async,
                finish,
                site: SITE,
            });
            if levels > 1 {
                self.join(half, levels - 1);
            }
            self.tell(Event::TaskEnd { task: half });
        }
        self.tell(Event::FinishEnd {
            task,
            finish,
            site: SITE,
        });
    }

    fn relabelled_by(count: u32, levels: u32) -> u64 {
        let mut run = Run::new();
        for _ in 0..count {
            run.join(TaskId::MAIN, levels);
        }
        run.order.lists.relabelled()
    }
}

#[test]
fn joins_relabel_nothing() {
    assert_eq!(Run::relabelled_by(1, 14), 0, "a recursion");
    assert_eq!(Run::relabelled_by(10_000, 1), 0, "a loop");
    assert_eq!(Run::relabelled_by(100, 7), 0, "a loop of recursions");
}

/// A depth-first run, and beside it the graph of its steps: which steps each one directly follows.
struct Graph {
    run: Run,
    random: u64,
    /// By stamp.
    follows: Vec<Vec<Stamp>>,
    noted: Vec<Stamp>,
    compared: usize,
}

impl Graph {
    fn below(&mut self, limit: usize) -> usize {
        // The constants of Knuth's MMIX.
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005);
        self.random = self.random.wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % limit
    }

    fn now(&self, task: TaskId) -> Stamp {
        self.run.order.stamp(self.run.order.strand(task))
    }

    /// The task's step follows these.
    fn follow(&mut self, task: TaskId, before: &[Stamp]) {
        let now = self.now(task) as usize;
        if now >= self.follows.len() {
            self.follows.resize(now + 1, Vec::new());
        }
        let before = before.iter().filter(|step| **step as usize != now);
        self.follows[now].extend(before);
    }

    /// All that a step follows.
    fn before(&self, step: Stamp) -> Vec<bool> {
        let mut found = vec![false; self.follows.len()];
        let mut left = vec![step];
        while let Some(step) = left.pop() {
            for &before in &self.follows[step as usize] {
                if !std::mem::replace(&mut found[before as usize], true) {
                    left.push(before);
                }
            }
        }
        found
    }

    fn compare(&mut self, task: TaskId) {
        let strand = self.run.order.strand(task);
        let now = self.now(task);
        let before = self.before(now);
        for earlier in (1..self.follows.len() as Stamp).filter(|earlier| *earlier != now) {
            let known = !self.follows[earlier as usize].is_empty();
            if known && earlier < now {
                let parallel = self.run.order.parallel(strand, earlier);
                assert_eq!(parallel, !before[earlier as usize], "{earlier} and {now}");
                self.compared += 1;
            }
        }
    }

    /// Something happens to the task that ends its step, which may have been noted.
    fn tell(&mut self, task: TaskId, noted: bool, event: Event) {
        if noted {
            self.run.order.note_step(task).unwrap();
            self.noted.push(self.now(task));
        }
        self.run.tell(event);
    }

    /// What a task does. Returns the last steps of the tasks that `finish` waits for.
    fn body(&mut self, task: TaskId, finish: FinishId, depth: u32) -> Vec<Stamp> {
        let mut ends = Vec::new();
        for _ in 0..self.below(4) {
            let here = self.now(task);
            let noted = self.below(2) == 0;
            match self.below(3) {
                0 if depth > 0 => {
                    self.run.tasks += 1;
                    let child = TaskId(self.run.tasks);
                    let begin = Event::TaskBegin {
                        task: child,
                        parent: Some(task),
                        kind: TaskKind::Async,
                        finish,
                        site: SITE,
                    };
                    self.tell(task, noted, begin);
                    self.follow(task, &[here]);
                    self.follow(child, &[here]);
                    ends.extend(self.body(child, finish, depth - 1));
                    ends.push(self.now(child));
                    let noted = self.below(2) == 0;
                    self.tell(child, noted, Event::TaskEnd { task: child });
                }
                1 if depth > 0 => {
                    self.run.finishes += 1;
                    let inner = FinishId(self.run.finishes);
                    let begin = Event::FinishBegin {
                        task,
                        finish: inner,
                        kind: FinishKind::Lexical,
                        site: SITE,
                    };
                    self.tell(task, noted, begin);
                    self.follow(task, &[here]);
                    let joined = self.body(task, inner, depth - 1);
                    let last = self.now(task);
                    let end = Event::FinishEnd {
                        task,
                        finish: inner,
                        site: SITE,
                    };
                    self.tell(task, noted, end);
                    self.follow(task, &[&joined[..], &[last]].concat());
                }
                _ if !self.noted.is_empty() => {
                    let at = self.below(self.noted.len());
                    let step = self.noted[at];
                    self.run.order.learn_of_step(task, step).unwrap();
                    self.follow(task, &[step]);
                }
                _ => {}
            }
            self.compare(task);
        }
        ends
    }
}

/// In random runs, against the paths in the graph of steps.
#[test]
fn steps_that_have_ended_are_learnt_of() {
    let mut compared = 0;
    for seed in 0..2_000 {
        let mut graph = Graph {
            run: Run::new(),
            random: seed,
            follows: Vec::new(),
            noted: Vec::new(),
            compared: 0,
        };
        graph.below(1);
        graph.follow(TaskId::MAIN, &[]);
        graph.body(TaskId::MAIN, FinishId::ROOT, 5);
        compared += graph.compared;
    }
    assert!(compared > 100_000, "{compared}");
}
