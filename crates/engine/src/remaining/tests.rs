//! Experiments with deadlocks: promises get values from outside, so that tasks go on. Whatever they
//! set then must be foreseen.

use super::*;
use crate::cooperative::Cooperative;
use crate::run::until_all_wait;
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::rng::Rng;
use finishline_generate::small::{Small, Vocabulary};
use finishline_generate::{Settings, program, render};
use finishline_ir::listener::{Creation, Listener};
use finishline_ir::machine::{Limits, Progress, Status, TrapKind, WaitsFor};
use finishline_model::{Access, Event, Location, Observer};
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAMS: u64 = 6_000;
const EXPERIMENTS: u64 = 12;
const STEPS: usize = 5_000;

/// What happens in an experiment.
struct Seen {
    /// By task: the task of the deadlock that it descends from.
    of: FxHashMap<TaskId, TaskId>,
    sets: Vec<(TaskId, Location)>,
}

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        if let Event::PromiseSet { task, promise, .. } = *event {
            self.sets.push((self.of[&task], promise));
        }
    }

    fn access(&mut self, _: &Access) {}
}

impl Listener for Seen {
    fn created(&mut self, task: TaskId, creation: &Creation<'_>) {
        self.of.insert(task, self.of[&creation.parent]);
    }
}

/// A deadlock, with the promises that tasks wait for.
struct Stuck<'m> {
    module: &'m Module,
    machine: Machine<'m>,
    waiting: Vec<TaskId>,
    promises: FxHashMap<Location, Handle>,
}

impl<'m> Stuck<'m> {
    fn of(module: &'m Module) -> Option<Self> {
        let limits = Limits::default();
        let fuel = 1_000_000;
        let machine = until_all_wait(fuel, module, &[], limits, &mut Cooperative::default())?;
        let TrapKind::Deadlock { waiting } = machine.deadlock()?.kind else {
            return None;
        };
        let awaited = waiting.iter().filter_map(|waiting| {
            let WaitsFor::Promise(location) = waiting.waits_for else {
                return None;
            };
            let frame = machine.suspended(waiting.task).last()?;
            let block = module.function(frame.function).block(frame.block);
            let Op::PromiseGet(promise) = block.instructions[frame.next].op else {
                panic!("it waits at a get");
            };
            let Datum::Ref(Some(promise)) = frame.registers[promise.index()] else {
                panic!("it waits for a promise");
            };
            Some((location, promise))
        });
        Some(Stuck {
            module,
            promises: awaited.collect(),
            waiting: waiting.iter().map(|waiting| waiting.task).collect(),
            machine,
        })
    }

    /// By task: which of the promises it may set.
    fn foreseen(&self) -> FxHashMap<TaskId, BTreeSet<Location>> {
        let tasks = self.waiting.iter().copied();
        let remaining = Remaining::of(self.module, &self.machine, tasks.clone());
        let mut remaining = remaining.expect("little work");
        let sets = tasks.map(|task| {
            let sets = remaining.sets(task).expect("little work");
            let promises = self.promises.iter();
            let set = promises.filter(|(_, promise)| sets.contain(**promise, &self.machine));
            (task, set.map(|(location, _)| *location).collect())
        });
        sets.collect()
    }

    /// Lets tasks go on, in some order: what those of the deadlock set, or try to.
    fn experiment(&self, random: &mut Rng) -> BTreeSet<(TaskId, Location)> {
        let mut machine = self.machine.clone();
        let mut seen = Seen {
            of: self.waiting.iter().map(|task| (*task, *task)).collect(),
            sets: Vec::new(),
        };
        let mut failed: FxHashSet<TaskId> = FxHashSet::default();
        let mut current = None;
        for _ in 0..STEPS {
            let all = (0..machine.tasks_created()).map(TaskId::from_index);
            let live = all.filter(|task| !failed.contains(task));
            let runs = |task: &TaskId| machine.status(*task) == Status::Runnable;
            let stays = current.filter(|task| runs(task) && !random.percent(10));
            let Some(task) = stays.or_else(|| {
                let ready: Vec<TaskId> = live.filter(runs).collect();
                (!ready.is_empty()).then(|| random.pick(&ready))
            }) else {
                match self.force_one(&mut machine, random) {
                    true => continue,
                    false => break,
                }
            };
            current = Some(task);
            match machine.step(task, &mut seen) {
                Ok(Progress::Ended) => current = None,
                Ok(_) => {}
                Err(trap) => {
                    // A task that fails goes no further. The others do not mind.
                    failed.insert(task);
                    current = None;
                    if let TrapKind::SetTwice { .. } = trap.kind {
                        let promise = at_a_set(self.module, &machine, task);
                        seen.sets.push((seen.of[&task], promise));
                    }
                }
            }
        }
        let sets = seen.sets.into_iter();
        sets.filter(|(_, promise)| self.promises.contains_key(promise))
            .collect()
    }

    /// Gives some promise that a task waits for a value. False if each has one.
    fn force_one(&self, machine: &mut Machine<'m>, random: &mut Rng) -> bool {
        let all = (0..machine.tasks_created()).map(TaskId::from_index);
        let gets = |task: &TaskId| matches!(machine.status(*task), Status::WaitingForPromise(_));
        let waiting: Vec<TaskId> = all.filter(gets).collect();
        if waiting.is_empty() {
            return false;
        }
        let task = random.pick(&waiting);
        let frame = machine.suspended(task).last().expect("it waits");
        let block = self.module.function(frame.function).block(frame.block);
        let Op::PromiseGet(promise) = block.instructions[frame.next].op else {
            panic!("it waits at a get");
        };
        let Datum::Ref(Some(promise)) = frame.registers[promise.index()] else {
            panic!("it waits for a promise");
        };
        let value = match machine.heap().object(promise).get(0) {
            Datum::Int(_) => Datum::Int(random.between(-2, 6)),
            Datum::Bool(_) => Datum::Bool(random.percent(50)),
            other => other,
        };
        machine.force(promise, value);
        true
    }
}

/// The promise that a task is about to set.
fn at_a_set(module: &Module, machine: &Machine<'_>, task: TaskId) -> Location {
    let frame = machine.suspended(task).last().expect("it is live");
    let block = module.function(frame.function).block(frame.block);
    let Op::PromiseSet { promise, .. } = block.instructions[frame.next].op else {
        panic!("it fails at a set");
    };
    let Datum::Ref(Some(promise)) = frame.registers[promise.index()] else {
        panic!("it fails at a second set");
    };
    machine.heap().object(promise).first()
}

/// How many sets were foreseen, and how many of them some experiment showed.
fn try_out(source: &str, seed: u64) -> (u64, u64) {
    let program = finishline_fin::compile("p.fin", source.as_bytes());
    let module = program.expect("a program").module;
    let Some(stuck) = Stuck::of(&module) else {
        return (0, 0);
    };
    let foreseen = stuck.foreseen();
    let mut random = Rng::new(seed);
    let mut shown = BTreeSet::new();
    for _ in 0..EXPERIMENTS {
        shown.extend(stuck.experiment(&mut random));
    }
    for (task, promise) in &shown {
        assert!(
            foreseen[task].contains(promise),
            "seed {seed}: {task:?} sets {promise:?}, which was not foreseen\n{source}"
        );
    }
    let foreseen = foreseen.values().map(|sets| sets.len() as u64).sum();
    (foreseen, shown.len() as u64)
}

#[test]
fn what_tasks_of_generated_programs_set_is_foreseen() {
    let first = setting("FINISHLINE_SEED", 1);
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    let (foreseen, shown) = (AtomicU64::new(0), AtomicU64::new(0));
    in_parallel(first..first + count, |seed| {
        let program = program(seed, &Settings::promises(seed));
        let (some, of_them) = try_out(&render(&program), seed);
        foreseen.fetch_add(some, Ordering::Relaxed);
        shown.fetch_add(of_them, Ordering::Relaxed);
    });
    let (foreseen, shown) = (foreseen.into_inner(), shown.into_inner());
    assert!(
        count < 1000 || shown > 50 && foreseen < 2 * shown,
        "{shown} of {foreseen} sets were seen"
    );
}

#[test]
fn what_tasks_of_small_programs_set_is_foreseen() {
    let statements = setting("FINISHLINE_STATEMENTS", 4) as usize;
    let (foreseen, shown) = (AtomicU64::new(0), AtomicU64::new(0));
    for statements in 0..=statements {
        let small = Small::over(Vocabulary::Promises, statements);
        in_parallel(0..small.count(), |number| {
            let (some, of_them) = try_out(&render(&small.program(number)), number);
            foreseen.fetch_add(some, Ordering::Relaxed);
            shown.fetch_add(of_them, Ordering::Relaxed);
        });
    }
    let (foreseen, shown) = (foreseen.into_inner(), shown.into_inner());
    assert!(
        statements < 4 || shown > 100 && foreseen < 2 * shown,
        "{shown} of {foreseen} sets were seen"
    );
}

/// Each for a way on which a promise comes to a `set`. `true`: every set that is foreseen happens.
const PROGRAMS_BY_HAND: &[(&str, bool)] = &[
    // In a register, through calls under way and calls to come.
    (
        "fn give(p: promise<int>, v: int) { p.set(v); }
        fn take(p: promise<int>, q: promise<int>) { let v = p.get(); give(q, v); }
        fn main() {
            let p = new promise<int>();
            let q = new promise<int>();
            async { take(p, q); }
            take(q, p);
        }",
        true,
    ),
    // Returned by a call under way.
    (
        "fn second(p: promise<int>, q: promise<int>): promise<int> { p.get(); return q; }
        fn main() {
            let p = new promise<int>();
            let q = new promise<int>();
            async { second(p, q).set(1); }
            second(q, p).set(2);
        }",
        true,
    ),
    // In an array that nobody changes, at an index known or not.
    (
        "fn main() {
            let n = 3;
            let p = new promise<int>[n];
            for i in 0..n { p[i] = new promise<int>(); }
            for i in 0..n { async { p[(i + 1) % n].get(); p[i].set(i); } }
            async { let i = p[0].get(); if i >= 0 { if i < n { p[i].set(1); } } }
        }",
        true,
    ),
    // In an array, a field and a global variable that a task changes before.
    (
        "struct Box { p: promise<int> }
        var g: promise<int>;
        fn main() {
            let p = new promise<int>();
            let q = new promise<int>();
            let a = new promise<int>[2];
            let b = new Box();
            a[0] = p; b.p = p; g = p;
            async { q.get(); a[0] = q; b.p = q; g = q; a[0].set(1); }
            async { p.get(); b.p.set(2); }
            async { p.get(); g.set(2); }
            p.get();
        }",
        false,
    ),
    // In an object that is new, or not.
    (
        "struct Box { p: promise<int> }
        fn main() {
            let p = new promise<int>();
            let q = new promise<int>();
            let old = new Box();
            old.p = p;
            async {
                var box = old;
                if q.get() > 0 { box = new Box(); box.p = q; }
                box.p.set(1);
            }
            p.get();
        }",
        true,
    ),
    // In a promise that is set, and in one that is not.
    (
        "fn main() {
            let p = new promise<int>();
            let q = new promise<int>();
            let known = new promise<promise<int>>();
            known.set(p);
            async { q.get(); known.get().set(1); }
            async { p.get(); q.set(1); }
        }",
        true,
    ),
    // By a task that is created later, and by its future.
    (
        "fn main() {
            let p = new promise<int>();
            let q = new promise<int>();
            async { p.get(); async { finish { async { q.set(1); } } } }
            let f = future { q.get() + 1 };
            f.get();
            p.set(1);
        }",
        true,
    ),
    // New promises of the same place are others.
    (
        "fn make(): promise<int> { return new promise<int>(); }
        fn main() {
            let p = make();
            for i in 0..3 { async { p.get(); let q = make(); q.set(1); } }
        }",
        true,
    ),
    // Values that change in the loop around the get.
    (
        "fn main() {
            let n = 4;
            let p = new promise<int>[n];
            for i in 0..n { p[i] = new promise<int>(); }
            async { for i in 0..n { p[i].get(); if i > 0 { p[i - 1].set(1); } } }
            for i in 0..n { p[n - 1 - i].get(); p[i].set(1); }
        }",
        false,
    ),
    // Deep recursion under way.
    (
        "fn deep(n: int, p: promise<int>, q: promise<int>) {
            if n == 0 { p.get(); return; }
            deep(n - 1, q, p);
            if n == 7 { q.set(1); }
        }
        fn main() {
            let p = new promise<int>();
            let q = new promise<int>();
            async { deep(8, p, q); }
            deep(9, p, q);
        }",
        true,
    ),
];

#[test]
fn every_way_to_a_set_is_foreseen() {
    for (source, exactly) in PROGRAMS_BY_HAND {
        let (mut foreseen, mut shown) = (0, 0);
        for seed in 0..8 {
            let (some, of_them) = try_out(source, seed);
            foreseen = some;
            shown = of_them.max(shown);
        }
        assert!(
            !exactly || foreseen == shown,
            "{shown} of {foreseen}\n{source}"
        );
    }
}
