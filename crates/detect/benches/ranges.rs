//! The cost of a check of many locations, compared with a check of each.
//!
//! `cargo bench -p finishline-detect --bench ranges`. A row is a state of the cells and an access
//! to them. Columns are numbers of cells, from a short loop to more than the near caches hold. Each
//! is measured as ranges and one location at a time, taking turns. The table shows the least
//! picoseconds a location of several rounds, and the ratio of the two. Times of serial cells
//! include the events of a task, because only another task finds them serial again.

use AccessKind::{Read, Write};
use finishline_detect::inline::{FastPath, Inline};
use finishline_detect::order::EspBags;
use finishline_model::{
    AccessKind, Event, FinishId, FinishKind, Location, SiteId, TaskId, TaskKind,
};
use std::hint::black_box;
use std::ptr::NonNull;
use std::time::Instant;

const ROUNDS: usize = 7;
/// The number of locations checked for one figure.
const CHECKED: usize = 1 << 22;
const CELLS: [usize; 4] = [10, 100, 1 << 16, 1 << 20];

const SITE: SiteId = SiteId(0);

/// The task that accessed the cells before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The same task.
    Own,
    /// A task that a join has waited for.
    Serial,
    /// Another task of the same loop.
    Beside,
    /// Alternating between the two.
    OwnAndBeside,
}

struct Case {
    name: &'static str,
    state: State,
    kind: AccessKind,
    stride: usize,
}

const fn case(name: &'static str, state: State, kind: AccessKind, stride: usize) -> Case {
    Case {
        name,
        state,
        kind,
        stride,
    }
}

const CASES: [Case; 8] = [
    case("own, read", State::Own, Read, 1),
    case("own, write", State::Own, Write, 1),
    case("serial, read", State::Serial, Read, 1),
    case("serial, write", State::Serial, Write, 1),
    case("beside, read", State::Beside, Read, 1),
    case("own and beside, read", State::OwnAndBeside, Read, 1),
    case("own, read, stride 3", State::Own, Read, 3),
    case("serial, write, stride 3", State::Serial, Write, 3),
];

/// The parts of compiled code: cells, a fast path, and the detector behind it.
struct Program {
    fast: Box<FastPath>,
    detector: Inline<EspBags>,
    cells: Vec<u64>,
    tasks: u32,
}

impl Program {
    fn new(cells: usize) -> Program {
        let mut fast = Box::new(FastPath::IDLE);
        let mut detector = Inline::new().expect("memory");
        // SAFETY: the box lives as long as the detector and does not move, and is read only between
        // calls of the detector.
        unsafe { detector.attach(NonNull::from(&mut *fast)) };
        let mut program = Program {
            fast,
            detector,
            cells: vec![0; cells],
            tasks: 0,
        };
        program.begin_task();
        program
    }

    fn begin_task(&mut self) {
        self.detector.event(&Event::TaskBegin {
            task: TaskId(self.tasks),
            parent: (self.tasks > 0).then_some(TaskId::MAIN),
            kind: TaskKind::Async,
            finish: FinishId::ROOT,
            site: SITE,
        });
        self.tasks += 1;
    }

    fn end_task(&mut self) {
        let task = TaskId(self.tasks - 1);
        self.detector.event(&Event::TaskEnd { task });
    }

    fn begin_finish(&mut self) {
        self.detector.event(&Event::FinishBegin {
            task: TaskId::MAIN,
            finish: FinishId::ROOT,
            kind: FinishKind::Lexical,
            site: SITE,
        });
    }

    fn end_finish(&mut self) {
        self.detector.event(&Event::FinishEnd {
            task: TaskId::MAIN,
            finish: FinishId::ROOT,
            site: SITE,
        });
    }

    /// Begins the next task. All earlier ones have been waited for.
    fn next_phase(&mut self) {
        self.end_task();
        self.end_finish();
        self.begin_finish();
        self.begin_task();
    }

    /// Checks one location at a time.
    fn each(&mut self, kind: AccessKind, first: usize, stride: usize) {
        for index in (first..self.cells.len()).step_by(stride) {
            let cell = &mut self.cells[index];
            match self.fast.decide(kind, *cell, 0) {
                Some(after) if after == *cell => {}
                Some(after) => *cell = after,
                None => {
                    let location = || Location(index as u64);
                    self.detector.undecided(kind, cell, 0, location);
                }
            }
        }
    }

    /// The time in picoseconds a location.
    fn measure(&mut self, case: &Case, as_range: bool) -> f64 {
        self.cells.fill(0);
        self.begin_finish();
        self.begin_task();
        match case.state {
            State::Own | State::Serial => {}
            State::Beside => self.each(Read, 0, 1),
            State::OwnAndBeside => self.each(Read, 1, 2),
        }
        self.end_task();
        self.begin_task();
        match case.state {
            State::Own => self.each(case.kind, 0, case.stride),
            State::OwnAndBeside => self.each(Write, 0, 2),
            State::Serial | State::Beside => {}
        }
        let locations = self.cells.len().div_ceil(case.stride);
        let times = CHECKED.div_ceil(locations);
        let start = Instant::now();
        for _ in 0..times {
            if as_range {
                let stride = case.stride as isize;
                self.detector
                    .range(case.kind, &mut self.cells, stride, Location(0));
            } else {
                self.each(case.kind, 0, case.stride);
            }
            black_box(&mut self.cells);
            if case.state == State::Serial {
                self.next_phase();
            }
        }
        let picoseconds = start.elapsed().as_nanos() as f64 * 1000.0;
        self.end_task();
        self.end_finish();
        assert!(self.detector.racing().is_empty(), "the cases have no races");
        picoseconds / (times * locations) as f64
    }
}

fn main() {
    println!("picoseconds a location, and how many times faster than one location at a time");
    print!("{:<26}", "cells");
    for cells in CELLS {
        print!("{cells:>18}");
    }
    println!();
    for case in &CASES {
        print!("{:<26}", case.name);
        for cells in CELLS {
            let mut program = Program::new(cells);
            let mut least = [f64::MAX; 2];
            for _ in 0..ROUNDS {
                for (least, as_range) in least.iter_mut().zip([true, false]) {
                    *least = least.min(program.measure(case, as_range));
                }
            }
            let [range, each] = least;
            print!("{:>9.0} {:>6.1} ×", range, each / range);
        }
        println!();
    }
}
