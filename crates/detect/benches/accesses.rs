//! The cost of an access under each detector: a million tasks, ten million accesses, and nothing
//! but the detector running.
//!
//! `cargo bench -p finishline-detect --bench accesses`. Times include the events of the tasks, the
//! page faults of fresh cells, and the generation of the accesses. The first rows show the cost of
//! that generation. Times are processor times: the least and the median of several rounds, with the
//! detectors taking turns. `-- --once` does one round of a tenth of the size, for counting
//! instructions under valgrind. A name keeps only the rows that contain it, e.g. `-- esp-bags mix`.

use finishline_detect::detectors::Uses;
use finishline_detect::{Drive, first_pass};
use finishline_model::{
    Access, AccessId, AccessKind, AllocationId, Detector, Event, FinishId, FinishKind, Location,
    Observer, SiteId, TaskId, TaskKind,
};
use std::hint::black_box;
use std::time::Instant;

const ACCESSES_A_TASK: u64 = 10;
const SHARED_LOCATIONS: u64 = 1000;
const SITE: SiteId = SiteId(0);

/// The work of a task: the kind and place of its access number `k`. Each workload is a type, so
/// that generating an access costs little.
trait Workload: Copy {
    fn access(self, task: u64, k: u64) -> (AccessKind, u64);
}

impl<F: Fn(u64, u64) -> (AccessKind, u64) + Copy> Workload for F {
    #[inline]
    fn access(self, task: u64, k: u64) -> (AccessKind, u64) {
        self(task, k)
    }
}

fn own(task: u64, n: u64) -> u64 {
    SHARED_LOCATIONS + task * ACCESSES_A_TASK + n
}

fn shared(task: u64, n: u64) -> u64 {
    (task * 7 + n) % SHARED_LOCATIONS
}

/// Every access is the first to its location.
fn fresh(task: u64, k: u64) -> (AccessKind, u64) {
    (AccessKind::Write, own(task, k))
}

/// Every task writes one location again and again.
fn repeated(task: u64, _k: u64) -> (AccessKind, u64) {
    (AccessKind::Write, own(task, 0))
}

/// All tasks read the same locations.
fn all_shared(task: u64, k: u64) -> (AccessKind, u64) {
    (AccessKind::Read, shared(task, k))
}

/// Two fresh writes, four reads of them, four shared reads.
fn mix(task: u64, k: u64) -> (AccessKind, u64) {
    match k {
        0 | 5 => (AccessKind::Write, own(task, k)),
        1 | 3 | 6 | 8 => (AccessKind::Read, own(task, k / 5 * 5)),
        _ => (AccessKind::Read, shared(task, k)),
    }
}

/// `main` writes the shared data, then creates all tasks in one finish. SP-bags gets spawn and
/// sync.
#[derive(Clone, Copy)]
struct Run<W> {
    workload: W,
    tasks: u64,
    cilk: bool,
}

impl<W: Workload> Drive for Run<W> {
    type Output = ();

    fn drive(self, observer: &mut impl Observer) {
        let (task, parent) = (TaskId::MAIN, Some(TaskId::MAIN));
        let (finish, scope) = (FinishId::ROOT, FinishId(1));
        let (task_kind, scope_kind) = if self.cilk {
            (TaskKind::Spawn, FinishKind::SyncScope)
        } else {
            (TaskKind::Async, FinishKind::Lexical)
        };
        observer.event(&Event::TaskBegin {
            task,
            parent: None,
            kind: TaskKind::Main,
            finish,
            site: SITE,
        });
        observer.event(&Event::FinishBegin {
            task,
            finish,
            kind: FinishKind::Root,
            site: SITE,
        });
        let count = SHARED_LOCATIONS + self.tasks * ACCESSES_A_TASK;
        observer.event(&Event::Alloc {
            task,
            allocation: AllocationId(1),
            first: Location(0),
            count,
        });
        for location in 0..SHARED_LOCATIONS {
            access(observer, task, (AccessKind::Write, location));
        }
        observer.event(&Event::FinishBegin {
            task,
            finish: scope,
            kind: scope_kind,
            site: SITE,
        });
        for number in 0..self.tasks {
            let task = TaskId(number as u32 + 1);
            observer.event(&Event::TaskBegin {
                task,
                parent,
                kind: task_kind,
                finish: scope,
                site: SITE,
            });
            for k in 0..ACCESSES_A_TASK {
                access(observer, task, self.workload.access(number, k));
            }
            observer.event(&Event::TaskEnd { task });
        }
        observer.event(&Event::FinishEnd {
            task,
            finish: scope,
            site: SITE,
        });
        observer.event(&Event::FinishEnd {
            task,
            finish,
            site: SITE,
        });
        observer.event(&Event::TaskEnd { task });
    }
}

#[inline]
fn access(observer: &mut impl Observer, task: TaskId, (kind, location): (AccessKind, u64)) {
    let first = Location(location);
    observer.access(&Access {
        task,
        kind,
        first,
        count: 1,
        stride: 1,
        id: AccessId(0),
    });
}

/// Hears everything and does nothing.
struct Nobody;

impl Observer for Nobody {
    fn event(&mut self, event: &Event) {
        black_box(event);
    }

    #[inline]
    fn access(&mut self, access: &Access) {
        black_box((access.kind, access.first));
    }
}

/// Runs a workload under a detector, or without one. Returns the bytes for each task.
type Measured = fn(Option<Detector>, bool, u64) -> f64;

fn measured<W: Workload>(
    workload: W,
    detector: Option<Detector>,
    isolated: bool,
    tasks: u64,
) -> f64 {
    let run = Run {
        workload,
        tasks,
        cilk: detector == Some(Detector::SpBags),
    };
    let Some(detector) = detector else {
        run.drive(&mut Nobody);
        return 0.0;
    };
    let uses = Uses {
        isolated,
        ..Uses::default()
    };
    let ((), findings) = first_pass(detector, uses, run).expect("memory");
    assert!(findings.racing.is_empty(), "the workloads have no races");
    findings.task_bytes as f64 / tasks as f64
}

/// A row of the table: a workload under a detector, or without one.
struct Row {
    name: String,
    detector: Option<Detector>,
    isolated: bool,
    run: Measured,
    nanoseconds: Vec<f64>,
    bytes_a_task: f64,
}

impl Row {
    fn all() -> Vec<Row> {
        let workloads: [(&str, Measured); 4] = [
            ("fresh", |d, isolated, tasks| {
                measured(fresh, d, isolated, tasks)
            }),
            ("repeated", |d, isolated, tasks| {
                measured(repeated, d, isolated, tasks)
            }),
            ("shared", |d, isolated, tasks| {
                measured(all_shared, d, isolated, tasks)
            }),
            ("mix", |d, isolated, tasks| {
                measured(mix, d, isolated, tasks)
            }),
        ];
        let detectors = [
            (None, false, "nobody"),
            (Some(Detector::SpBags), false, "sp-bags"),
            (Some(Detector::EspBags), false, "esp-bags"),
            (Some(Detector::EspBags), true, "esp-bags, isolated"),
        ];
        let row = |(detector, isolated, name)| {
            workloads.map(|(workload, run)| Row {
                name: format!("{name:<20}{workload:<10}"),
                detector,
                isolated,
                run,
                nanoseconds: Vec::new(),
                bytes_a_task: 0.0,
            })
        };
        detectors.into_iter().flat_map(row).collect()
    }

    fn measure(&mut self, tasks: u64, since: Instant) {
        let before = processor_nanoseconds(since);
        self.bytes_a_task = (self.run)(self.detector, self.isolated, tasks);
        let time = processor_nanoseconds(since) - before;
        self.nanoseconds
            .push(time as f64 / (tasks * ACCESSES_A_TASK) as f64);
    }
}

/// The processor time of this thread. Other processes disturb it less than wall-clock time. If the
/// system does not report it, wall-clock time.
fn processor_nanoseconds(since: Instant) -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let first = told
        .as_deref()
        .and_then(|line| line.split(' ').next()?.parse().ok());
    first.unwrap_or_else(|| since.elapsed().as_nanos() as u64)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let once = arguments.iter().any(|argument| argument == "--once");
    let (rounds, tasks) = if once { (1, 100_000) } else { (7, 1_000_000) };
    let wanted = |row: &Row| {
        let mut names = arguments
            .iter()
            .filter(|argument| !argument.starts_with("--"));
        names.all(|name| row.name.contains(name.as_str()))
    };
    let mut rows: Vec<Row> = Row::all().into_iter().filter(wanted).collect();
    let start = Instant::now();
    for _ in 0..rounds {
        for row in &mut rows {
            row.measure(tasks, start);
        }
    }
    println!(
        "{tasks} tasks, {} accesses, {rounds} rounds",
        tasks * ACCESSES_A_TASK
    );
    println!(
        "{:<30}{:>14}{:>14}{:>14}",
        "", "ns/access min", "median", "bytes/task"
    );
    for row in &mut rows {
        row.nanoseconds.sort_by(f64::total_cmp);
        let (least, median) = (row.nanoseconds[0], row.nanoseconds[rounds / 2]);
        println!(
            "{:<30}{least:>14.2}{median:>14.2}{:>14.1}",
            row.name, row.bytes_a_task
        );
    }
}
