//! What a process told its checker is told again: the calls, the functions in progress at each, and
//! the answers.

use crate::damage::{Random, Taken};
use finishline_model::kinds::rayon::Division;
use finishline_model::kinds::{NativeFinishKind, NativeTaskKind, WaitKind};
use finishline_model::{AccessKind, FinishId, TaskId};
use finishline_trace::error::Wrong;
use finishline_trace::process::{
    Call, Change, End, Follow, Module, Operation, ProcessTrace, Recorder, Start, Stop, Told,
};
use std::io::{Cursor, Write};
use std::ops::Range;

/// A call as the process made it.
#[derive(PartialEq, Debug)]
struct Made {
    call: Call,
    kept: usize,
    stack: Vec<[u64; 2]>,
    answers: Vec<bool>,
}

/// A thread's functions in progress, and how many have been so since they were last numbered.
#[derive(Default)]
struct Thread {
    stack: Vec<[u64; 2]>,
    kept: usize,
}

/// A process that does anything.
struct Wild {
    random: Random,
    threads: Vec<Thread>,
    running: usize,
    made: Vec<Made>,
    /// What the next access repeats, with another address.
    usual: [(u64, u64); 3],
}

impl Wild {
    fn new(seed: u64) -> Wild {
        Wild {
            random: Random(seed + 1),
            threads: vec![Thread::default()],
            running: 0,
            made: Vec::new(),
            usual: [(101, 0x1000), (102, 0x2000), (103, 0x3000)],
        }
    }

    fn flips(&mut self) -> bool {
        self.random.below(2) == 0
    }

    /// Small and large numbers, equally often.
    fn number(&mut self) -> u64 {
        let bits = self.random.below(64);
        self.random.next() >> bits
    }

    fn small(&mut self) -> u32 {
        self.number() as u32
    }

    fn range(&mut self) -> Range<u64> {
        let start = self.number() >> 1;
        start..start + (self.number() >> 1)
    }

    fn maybe(&mut self) -> Option<u64> {
        self.flips().then(|| self.number())
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len())]
    }

    fn calls_and_returns(&mut self) {
        for _ in 0..self.random.below(4) {
            let call = [self.number() % 5, self.number()];
            let (leaves, repeats) = (self.flips(), self.flips());
            let own = &mut self.threads[self.running];
            let left = own.stack.pop_if(|_| leaves);
            own.kept = own.kept.min(own.stack.len());
            own.stack.push(left.filter(|_| repeats).unwrap_or(call));
        }
    }

    /// Mostly the same accesses again, at the next addresses.
    fn access(&mut self) -> Call {
        let kind = self.pick(&[AccessKind::Read, AccessKind::Write]);
        let at = self.random.below(3);
        let (place, address) = self.usual[at];
        self.usual[at].1 += 8;
        let is_wild = self.random.below(4) == 0;
        Call::Access {
            kind,
            address: if is_wild { self.number() } else { address },
            bytes: if is_wild { self.number() } else { 8 },
            place: if is_wild { self.number() } else { place },
            is_range: is_wild && self.flips(),
            lower: self.maybe().filter(|_| is_wild),
        }
    }

    fn operation(&mut self) -> Operation {
        Operation {
            address: self.number(),
            before: self.maybe(),
            after: self.maybe(),
            change: self.pick(&[Change::Replaced, Change::Counted, Change::Flagged]),
            acquires: self.flips(),
            releases: self.flips(),
        }
    }

    fn call(&mut self) -> Call {
        match self.random.below(40) {
            0 => Call::Atomic {
                operation: self.operation(),
                bytes: self.number(),
                place: self.number(),
            },
            1 => Call::Unseen(self.operation()),
            2 => Call::ReliedOn(self.number()),
            3 => Call::Published(self.number()),
            4 => Call::BarrierArrive(self.number()),
            5 => Call::BarrierLeave {
                address: self.number(),
                round: self.number(),
                last: self.flips(),
            },
            6 => Call::Fence {
                acquires: self.flips(),
                releases: self.flips(),
            },
            7 => Call::TaskBegin {
                kind: self.pick(&NativeTaskKind::all().collect::<Vec<_>>()),
                finish: FinishId(self.small()),
                place: self.number(),
                entry: self.number(),
            },
            8 => Call::TaskEnd,
            9 => Call::FinishBegin {
                kind: self.pick(&NativeFinishKind::all().collect::<Vec<_>>()),
                place: self.number(),
            },
            10 => Call::FinishEnd(FinishId(self.small())),
            11 => Call::ThreadBegin {
                place: self.number(),
                entry: self.number(),
                stack: self.range(),
                thread_locals: self.range(),
            },
            12 => Call::ThreadEnd(self.number()),
            13 => Call::ThreadJoin(self.number()),
            14 => Call::ThreadRun(TaskId(self.random.below(self.threads.len()) as u32)),
            15 => Call::Allocated {
                start: self.number(),
                bytes: self.number(),
                place: self.number(),
            },
            16 => Call::Freed {
                start: self.number(),
                place: self.number(),
            },
            17 => Call::Resized {
                start: self.number(),
                bytes: self.number(),
                place: self.number(),
            },
            18 => Call::Waits {
                what: self.pick(&WaitKind::ALL),
                place: self.number(),
            },
            19 => Call::LenderBegin(self.range()),
            20 => Call::StayBegin(self.small()),
            21 => Call::StayEnd,
            22 => Call::Asks,
            23 => Call::Readers(self.number()),
            24 => Call::Kept {
                start: self.number(),
                place: self.number(),
            },
            25 => Call::GivenBack(self.number()),
            26 => Call::FreedAgain {
                start: self.number(),
                place: self.number(),
            },
            _ => self.access(),
        }
    }

    fn step(&mut self, recorder: &mut Recorder<impl Write>) {
        if self.random.below(3) == 0 {
            self.calls_and_returns();
        }
        let call = self.call();
        let Thread { stack, kept } = &self.threads[self.running];
        recorder.call(&call, *kept, stack);
        let mut made = Made {
            kept: *kept,
            stack: stack.clone(),
            answers: Vec::new(),
            call,
        };
        while self.random.below(8) == 0 {
            let answer = self.flips();
            recorder.answer(answer);
            made.answers.push(answer);
        }
        if self.random.below(50) == 0 {
            let so_far = End {
                goes_on: true,
                ..self.end()
            };
            recorder.save(&so_far);
        }
        if self.flips() {
            let own = &mut self.threads[self.running];
            own.kept = own.stack.len();
        }
        match made.call {
            Call::ThreadBegin { .. } => {
                self.running = self.threads.len();
                self.threads.push(Thread::default());
            }
            Call::ThreadRun(thread) => self.running = thread.index(),
            _ => {}
        }
        self.made.push(made);
    }

    fn modules(&mut self) -> Vec<Module> {
        let count = self.random.below(3);
        let module = |_| {
            let range = self.range();
            Module {
                path: "/lib/é".to_owned(),
                bias: self.number(),
                start: range.start,
                end: range.end,
            }
        };
        (0..count).map(module).collect()
    }

    fn start(&mut self) -> Start {
        Start {
            process: self.small(),
            began: self.number(),
            executable: "/bin/program".to_owned(),
            arguments: vec!["7".to_owned(), String::new()],
            directory: "/".to_owned(),
            modules: self.modules(),
            stack: self.range(),
            thread_locals: self.range(),
            logical_threads: self.small(),
            right_first: self.flips(),
            max_races: self.number(),
            is_test: self.flips(),
        }
    }

    fn end(&mut self) -> End {
        End {
            goes_on: false,
            modules: self.modules(),
            accesses: self.number(),
            unfollowed: self.number(),
            drop_in: self.flips().then(|| self.small()),
            failed: self.flips(),
            stopped: self.flips().then(|| Stop {
                what: self.pick(&WaitKind::ALL),
                place: self.number(),
                calls: self.small(),
                task: TaskId(self.small()),
            }),
            division: self.pick(&Division::ALL),
        }
    }
}

/// Compares what is told with what was made.
struct Compare<'a> {
    made: std::slice::Iter<'a, Made>,
    threads: Vec<Vec<[u64; 2]>>,
    running: usize,
}

impl Follow for Compare<'_> {
    fn told(&mut self, told: &Told<'_>) -> Result<(), Wrong> {
        let made = self.made.next().expect("no more is told than was made");
        let stack = &mut self.threads[self.running];
        match told.stack {
            Some(change) => {
                assert_eq!(change.kept, made.kept);
                stack.truncate(change.kept);
                stack.extend(change.entered);
            }
            None => assert_eq!(stack.len(), made.kept, "nothing was left or entered"),
        }
        assert_eq!(*stack, made.stack);
        assert_eq!(*told.call, made.call);
        assert_eq!(told.answers, made.answers);
        match made.call {
            Call::ThreadBegin { .. } => {
                self.running = self.threads.len();
                self.threads.push(Vec::new());
            }
            Call::ThreadRun(thread) => self.running = thread.index(),
            _ => {}
        }
        Ok(())
    }
}

#[test]
fn what_was_told_is_told_again() {
    for seed in 0..400 {
        let mut process = Wild::new(seed);
        let start = process.start();
        let mut file = Vec::new();
        let mut recorder = Recorder::new(&mut file, &start).expect("it can be written");
        for _ in 0..10 + process.random.below(3000) {
            process.step(&mut recorder);
        }
        let end = process.end();
        recorder.end(&end).expect("it can be written");

        let mut trace = ProcessTrace::open(Cursor::new(file)).expect("a trace");
        assert_eq!((&trace.start, &trace.end), (&start, &Some(end)));
        assert_eq!(trace.names, None);
        trace.add_names("names, näme").expect("it can be written");
        // Twice: what is read does not wear out.
        for _ in 0..2 {
            let mut compare = Compare {
                made: process.made.iter(),
                threads: vec![Vec::new()],
                running: 0,
            };
            let told = trace.tell(&mut compare);
            told.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert_eq!(compare.made.next(), None, "seed {seed}");
        }
    }
}

/// Hears how much there is.
struct Count(u64);

impl Follow for Count {
    fn told(&mut self, _: &Told<'_>) -> Result<(), Wrong> {
        self.0 += 1;
        Ok(())
    }
}

#[test]
fn damage_gives_an_error_or_other_calls() {
    let (mut whole, mut wrong) = (0, 0);
    for seed in 0..200 {
        let mut process = Wild::new(seed);
        let mut file = Vec::new();
        let start = process.start();
        let mut recorder = Recorder::new(&mut file, &start).expect("it can be written");
        for _ in 0..300 {
            process.step(&mut recorder);
        }
        recorder.end(&process.end()).expect("it can be written");
        let mut taken = Taken::apart(&file);
        taken.damage(&mut process.random);
        let damaged = taken.sealed();
        let most = damaged.len() as u64 * 128;
        let mut count = Count(0);
        let trace = ProcessTrace::open(Cursor::new(damaged));
        match trace.and_then(|mut trace| trace.tell(&mut count)) {
            Ok(()) => whole += 1,
            Err(_) => wrong += 1,
        }
        assert!(count.0 <= most, "seed {seed}: {} calls", count.0);
    }
    assert!(whole > 10 && wrong > 10, "{whole} whole, {wrong} wrong");
}

/// A process that is killed leaves a trace up to some call.
#[test]
fn a_part_tells_the_first_calls() {
    let mut process = Wild::new(7);
    let mut file = Vec::new();
    let start = process.start();
    let mut recorder = Recorder::new(&mut file, &start).expect("it can be written");
    for _ in 0..2000 {
        process.step(&mut recorder);
    }
    recorder.end(&process.end()).expect("it can be written");
    let taken = Taken::apart(&file);
    let mut before = 0;
    for chunks in 1..taken.chunks.len() {
        let mut trace = ProcessTrace::open(Cursor::new(taken.cut(chunks))).expect("a trace");
        assert!(trace.end.as_ref().is_none_or(|end| end.goes_on));
        let mut compare = Compare {
            made: process.made.iter(),
            threads: vec![Vec::new()],
            running: 0,
        };
        trace.tell(&mut compare).expect("the first calls");
        let told = process.made.len() - compare.made.len();
        assert!(told >= before);
        before = told;
    }
    assert_eq!(before, process.made.len());
}
