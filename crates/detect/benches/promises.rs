//! What joins by promises cost, as programs grow.
//!
//! `cargo bench -p finishline-detect --bench promises`. A row is a pattern of tasks, a column is a
//! number of tasks. A figure is the nanoseconds of an access, with its share of the events of its
//! task, the comparisons of steps a question that limits for stamps did not answer, and the bytes
//! of a task. DRDP is measured beside it, as far as it gets in a few seconds.

use finishline_detect::any_order::AnyOrder;
use finishline_detect::listed::Listed;
use finishline_detect::order::{Drdp, Labelled, Order};
use finishline_model::{
    Access, AccessId, AccessKind, Event, FinishId, FinishKind, Location, Observer, SiteId, TaskId,
    TaskKind,
};
use std::time::Instant;

const SITE: SiteId = SiteId(0);
const TASKS: [usize; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
/// DRDP is not given more tasks once a run took longer.
const PATIENCE_SECONDS: f64 = 2.0;

/// Tells a run. Locations below 2²⁴ are data, the others are promises.
struct Run<'a, O> {
    observer: &'a mut O,
    tasks: u32,
    finishes: u32,
    accesses: u64,
}

const PROMISES: u64 = 1 << 24;

impl<O: Observer> Run<'_, O> {
    fn begin(&mut self, parent: Option<TaskId>, finish: FinishId) -> TaskId {
        let task = TaskId(self.tasks);
        self.tasks += 1;
        self.observer.event(&Event::TaskBegin {
            task,
            parent,
            kind: TaskKind::Async,
            finish,
            site: SITE,
        });
        task
    }

    fn end(&mut self, task: TaskId) {
        self.observer.event(&Event::TaskEnd { task });
    }

    fn begin_finish(&mut self, task: TaskId) -> FinishId {
        let finish = FinishId(self.finishes);
        self.finishes += 1;
        self.observer.event(&Event::FinishBegin {
            task,
            finish,
            kind: FinishKind::Lexical,
            site: SITE,
        });
        finish
    }

    fn end_finish(&mut self, task: TaskId, finish: FinishId) {
        let site = SITE;
        self.observer
            .event(&Event::FinishEnd { task, finish, site });
    }

    fn set(&mut self, task: TaskId, promise: usize) {
        let promise = Location(PROMISES + promise as u64);
        let site = SITE;
        self.observer.event(&Event::PromiseSet {
            task,
            promise,
            site,
        });
    }

    fn get(&mut self, task: TaskId, promise: usize) {
        let promise = Location(PROMISES + promise as u64);
        let site = SITE;
        self.observer.event(&Event::PromiseGet {
            task,
            promise,
            site,
        });
    }

    fn access(&mut self, task: TaskId, kind: AccessKind, location: usize) {
        self.accesses += 1;
        self.observer.access(&Access {
            task,
            kind,
            first: Location(location as u64),
            count: 1,
            stride: 1,
            id: AccessId(0),
        });
    }

    fn read(&mut self, task: TaskId, location: usize) {
        self.access(task, AccessKind::Read, location);
    }

    fn write(&mut self, task: TaskId, location: usize) {
        self.access(task, AccessKind::Write, location);
    }
}

/// A pattern of about so many tasks. None of them has a race.
type Pattern<O> = fn(&mut Run<'_, O>, TaskId, FinishId, usize);

fn side(tasks: usize) -> usize {
    tasks.isqrt()
}

/// Each task of a grid waits for its upper and its left neighbour and reads what three of them
/// wrote.
fn wavefront<O: Observer>(run: &mut Run<'_, O>, main: TaskId, finish: FinishId, tasks: usize) {
    let n = side(tasks);
    for i in 0..n {
        for j in 0..n {
            let task = run.begin(Some(main), finish);
            let at = |i: usize, j: usize| i * n + j;
            if i > 0 {
                run.get(task, at(i - 1, j));
                run.read(task, at(i - 1, j));
            }
            if j > 0 {
                run.get(task, at(i, j - 1));
                run.read(task, at(i, j - 1));
            }
            if i > 0 && j > 0 {
                run.read(task, at(i - 1, j - 1));
            }
            run.write(task, at(i, j));
            run.set(task, at(i, j));
            run.end(task);
        }
    }
}

/// The same, created in the opposite order, so that all tasks but one are blocked at first.
fn blocked<O: Observer>(run: &mut Run<'_, O>, main: TaskId, finish: FinishId, tasks: usize) {
    let n = side(tasks);
    let at = |i: usize, j: usize| i * n + j;
    let mut made = vec![TaskId::MAIN; n * n];
    for i in (0..n).rev() {
        for j in (0..n).rev() {
            made[at(i, j)] = run.begin(Some(main), finish);
        }
    }
    for i in 0..n {
        for j in 0..n {
            let task = made[at(i, j)];
            for (earlier, there) in [(i > 0, (i.max(1) - 1, j)), (j > 0, (i, j.max(1) - 1))] {
                if earlier {
                    run.get(task, at(there.0, there.1));
                    run.read(task, at(there.0, there.1));
                }
            }
            run.write(task, at(i, j));
            run.set(task, at(i, j));
            run.end(task);
        }
    }
}

/// Futures whose creator gets all of them in order and then reads what they wrote.
fn collected<O: Observer>(run: &mut Run<'_, O>, main: TaskId, finish: FinishId, tasks: usize) {
    for future in 0..tasks {
        let task = run.begin(Some(main), finish);
        run.write(task, future);
        run.set(task, future);
        run.end(task);
    }
    for future in 0..tasks {
        run.get(main, future);
    }
    for future in 0..tasks {
        run.read(main, future);
    }
}

/// A binary tree of futures, each got by its creator. In the end main reads all.
fn tree<O: Observer>(run: &mut Run<'_, O>, main: TaskId, finish: FinishId, tasks: usize) {
    fn grow<O: Observer>(
        run: &mut Run<'_, O>,
        creator: TaskId,
        finish: FinishId,
        range: std::ops::Range<usize>,
    ) -> usize {
        let task = run.begin(Some(creator), finish);
        let middle = range.start.midpoint(range.end);
        run.write(task, middle);
        let halves = [range.start..middle, middle + 1..range.end];
        let futures = halves.map(|half| (!half.is_empty()).then(|| grow(run, task, finish, half)));
        for future in futures.into_iter().flatten() {
            run.get(task, future);
            run.read(task, future);
        }
        run.set(task, middle);
        run.end(task);
        middle
    }
    let root = grow(run, main, finish, 0..tasks);
    run.get(main, root);
    for location in 0..tasks {
        run.read(main, location);
    }
}

/// Each task waits for the one before it and all read the same table.
fn chain<O: Observer>(run: &mut Run<'_, O>, main: TaskId, finish: FinishId, tasks: usize) {
    const TABLE: usize = 8;
    for location in 0..TABLE {
        run.write(main, location);
    }
    for link in 0..tasks {
        let task = run.begin(Some(main), finish);
        if link > 0 {
            run.get(task, link - 1);
        }
        for location in 0..TABLE {
            run.read(task, location);
        }
        run.set(task, link);
        run.end(task);
    }
    run.get(main, tasks - 1);
    for location in 0..TABLE {
        run.write(main, location);
    }
}

/// Tasks that wait for nothing and read the same table. Each is got before the table is written.
fn shared<O: Observer>(run: &mut Run<'_, O>, main: TaskId, finish: FinishId, tasks: usize) {
    const TABLE: usize = 8;
    for location in 0..TABLE {
        run.write(main, location);
    }
    for number in 0..tasks {
        let task = run.begin(Some(main), finish);
        for location in 0..TABLE {
            run.read(task, location);
        }
        run.set(task, number);
        run.end(task);
    }
    for number in 0..tasks {
        run.get(main, number);
    }
    for location in 0..TABLE {
        run.write(main, location);
    }
}

/// Tells a pattern. The seconds and the accesses.
fn tell<O: Observer>(pattern: Pattern<O>, tasks: usize, observer: &mut O) -> (f64, u64) {
    let start = Instant::now();
    let mut run = Run {
        observer,
        tasks: 0,
        finishes: 1,
        accesses: 0,
    };
    let main = run.begin(None, FinishId::ROOT);
    // The tasks lie in a finish beside which another task is never joined, so that no limit for
    // stamps helps.
    let beside = run.begin(Some(main), FinishId::ROOT);
    run.end(beside);
    let finish = run.begin_finish(main);
    pattern(&mut run, main, finish, tasks);
    run.end_finish(main, finish);
    let accesses = run.accesses;
    (start.elapsed().as_secs_f64(), accesses)
}

fn row(name: &str, ours: Pattern<AnyOrder<Labelled>>, theirs: Pattern<Listed<Drdp>>) {
    print!("{name:<10}");
    for tasks in TASKS {
        let mut detector = AnyOrder::new().expect("memory");
        let (seconds, accesses) = tell(ours, tasks, &mut detector);
        let effort = detector.order().effort();
        let findings = detector.finish().expect("a verdict");
        assert!(findings.racing.is_empty(), "{name} has no races");
        let comparisons = effort.comparisons as f64 / effort.questions.max(1) as f64;
        print!(
            " {:>7.0} ns {comparisons:>6.2} {:>5.0} B",
            seconds * 1e9 / accesses as f64,
            findings.task_bytes as f64 / tasks as f64
        );
    }
    print!("\n{:<10}", "  drdp");
    for tasks in TASKS {
        let mut detector = Listed::<Drdp>::new().expect("memory");
        let (seconds, accesses) = tell(theirs, tasks, &mut detector);
        let findings = detector.finish().expect("a verdict");
        assert!(findings.racing.is_empty(), "{name} has no races");
        print!(
            " {:>7.0} ns {:>6} {:>5.0} B",
            seconds * 1e9 / accesses as f64,
            "",
            findings.task_bytes as f64 / tasks as f64
        );
        if seconds > PATIENCE_SECONDS / 10.0 {
            break;
        }
    }
    println!();
}

fn main() {
    print!("{:<10}", "tasks");
    for tasks in TASKS {
        print!(" {tasks:>25}");
    }
    println!();
    row("wavefront", wavefront, wavefront);
    row("blocked", blocked, blocked);
    row("collected", collected, collected);
    row("tree", tree, tree);
    row("chain", chain, chain);
    row("shared", shared, shared);
}
