//! Random processes, recorded and checked again: the findings must be the same. Damaged recordings
//! must give an error or an answer, and nothing else.
//!
//! A process has tasks, threads, blocks of the heap, locks, fences and barriers. Functions are
//! entered and left all the time, by the same calls again and again. The host's answers are
//! arbitrary, since the checker must repeat them, whatever they are.
//!
//! `FINISHLINE_SEEDS=n` runs n processes, `FINISHLINE_SEED=s` starts at seed s.

use finishline_model::kinds::WaitKind;
use finishline_model::kinds::rayon::{self, Division, INTERFACE_VERSION};
use finishline_model::{AccessKind, FinishId, TaskId};
use finishline_native::checker::findings::{Process, findings};
use finishline_native::checker::options::Options;
use finishline_native::checker::replay::replay;
use finishline_native::checker::{Checker, Here, Journal};
use finishline_native::facts::structure::{FinishKind, TaskKind};
use finishline_native::facts::synchronisation::{How, Operation};
use finishline_trace::process::{End, ProcessTrace, Recorder, Start};
use std::cell::RefCell;
use std::io::{self, Cursor, Write};
use std::ops::Range;
use std::rc::Rc;

const STACK: u64 = 0x7f00_0000_0000;
const STACK_BYTES: u64 = 1 << 20;
/// Of the shadow, when a recording is checked again.
const MEMORY: usize = 64 << 20;
const HEAP: u64 = 0x5000_0000_0000;
const GLOBALS: u64 = 0x4000_0000_0ff0;
const THREAD_LOCALS: Range<u64> = 0x7e00_0000_0000..0x7e00_0000_0040;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn flips(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// A file in memory, which the test keeps.
#[derive(Clone, Default)]
struct Kept(Rc<RefCell<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct ThreadOfProcess {
    task: TaskId,
    stack: Range<u64>,
    /// The stack pointer outside of each function in progress.
    frames: Vec<u64>,
    /// Where its own tasks and finishes were begun, as they must end.
    open: Vec<Open>,
}

enum Open {
    Task {
        frames: usize,
    },
    Finish(FinishId),
    /// A stay on some thread.
    Stay,
}

struct ProcessUnderTest {
    random: Random,
    checker: Checker,
    file: Kept,
    threads: Vec<ThreadOfProcess>,
    running: usize,
    ended: Vec<u64>,
    rounds: Vec<u64>,
    blocks: Vec<u64>,
    finishes: Vec<FinishId>,
    /// Tasks that wait to run, and their finishes.
    created: Vec<(TaskId, FinishId)>,
    /// How many threads tasks can be on.
    variables: u64,
}

/// What is written when a race is found.
const END: End = End {
    goes_on: true,
    modules: Vec::new(),
    accesses: 0,
    unfollowed: 0,
    drop_in: None,
    failed: false,
    stopped: None,
    division: Division::Threads,
};

/// The thread-local variables of a thread that tasks can be on.
fn variables_of(number: u64) -> Range<u64> {
    let start = THREAD_LOCALS.start + 4096 * number;
    start..start + 64
}

fn start() -> Start {
    Start {
        process: 1234,
        began: 5,
        executable: "/bin/program".to_owned(),
        arguments: vec!["7".to_owned()],
        directory: "/".to_owned(),
        modules: Vec::new(),
        stack: STACK..STACK + STACK_BYTES,
        thread_locals: THREAD_LOCALS,
        logical_threads: 16,
        right_first: false,
        max_races: 5,
        is_test: false,
    }
}

impl ProcessUnderTest {
    fn new(seed: u64) -> ProcessUnderTest {
        let start = start();
        let options = Options {
            max_races: start.max_races as usize,
            ..Options::default()
        };
        let mut checker =
            Checker::new(options, start.stack.clone(), start.thread_locals.clone()).unwrap();
        checker.host.new_race = |checker| {
            if let Journal::Recording(recorder) = &mut checker.journal {
                recorder.save(&END);
            }
        };
        checker.host.is_drop_slow = |address| address.is_multiple_of(2);
        let file = Kept::default();
        let out: Box<dyn Write> = Box::new(file.clone());
        let recorder = Recorder::new(out, &start).unwrap();
        checker.journal = Journal::Recording(Box::new(recorder));
        ProcessUnderTest {
            random: Random(seed.wrapping_mul(2).wrapping_add(1) | 1 << 40),
            checker,
            file,
            threads: vec![ThreadOfProcess {
                task: TaskId::MAIN,
                frames: vec![start.stack.end],
                stack: start.stack,
                open: Vec::new(),
            }],
            running: 0,
            ended: Vec::new(),
            rounds: Vec::new(),
            blocks: Vec::new(),
            finishes: vec![FinishId::ROOT],
            created: Vec::new(),
            variables: 1,
        }
    }

    fn own(&mut self) -> &mut ThreadOfProcess {
        &mut self.threads[self.running]
    }

    fn stack_pointer(&mut self) -> u64 {
        *self.own().frames.last().unwrap()
    }

    fn place(&mut self) -> u64 {
        100 + self.random.below(6)
    }

    fn enter(&mut self) {
        let (place, size) = (self.place(), 16 * (1 + self.random.below(3)));
        let frame = self.stack_pointer() - size;
        if frame > self.own().stack.start + 4096 {
            self.own().frames.push(frame);
            self.checker.calls.enter(place, frame);
        }
    }

    /// The depth that the innermost task must not leave.
    fn least_frames(&mut self) -> usize {
        let tasks = self.own().open.iter().rev();
        let mut innermost = tasks.filter_map(|open| match open {
            Open::Task { frames } => Some(*frames),
            Open::Finish(_) | Open::Stay => None,
        });
        innermost.next().unwrap_or(1)
    }

    fn leave(&mut self) {
        if self.own().frames.len() > self.least_frames() {
            self.own().frames.pop();
            self.checker.calls.leave();
        }
    }

    fn address(&mut self, bytes: u64) -> u64 {
        let within = |random: &mut Random, most: u64| random.below(most - bytes + 1);
        match self.random.below(8) {
            0 => self.thread_locals().start + within(&mut self.random, 64),
            1 => self.stack_pointer() + within(&mut self.random, 64),
            2..=3 => GLOBALS + within(&mut self.random, 32),
            _ => {
                let block = self.random.below(self.blocks.len().max(1) as u64);
                let start = self.blocks.get(block as usize).copied().unwrap_or(HEAP);
                start + within(&mut self.random, 32)
            }
        }
    }

    fn access(&mut self) {
        let kind = [AccessKind::Read, AccessKind::Write][self.random.below(2) as usize];
        let here = Here {
            place: self.place(),
            stack_pointer: self.stack_pointer(),
        };
        if self.random.below(5) == 0 {
            let bytes = 1 + self.random.below(20);
            let address = self.address(bytes);
            self.checker
                .access_range(kind, address, bytes as usize, here);
        } else {
            let bytes = 1 << self.random.below(4);
            let address = self.address(bytes);
            self.checker
                .access(kind, address - address % bytes, bytes as usize, here);
        }
    }

    fn operation(&mut self) -> Operation {
        let values = [self.random.below(2), self.random.below(2)];
        Operation {
            address: GLOBALS + 64 + 8 * self.random.below(3),
            before: self.random.flips().then_some(values[0]),
            after: self.random.flips().then_some(values[1]),
            how: [How::Replaced, How::Counted, How::Flagged][self.random.below(3) as usize],
            acquires: self.random.flips(),
            releases: self.random.flips(),
        }
    }

    fn atomic(&mut self) {
        let operation = self.operation();
        let here = Here {
            place: self.place(),
            stack_pointer: u64::MAX,
        };
        self.checker.atomic(&operation, 8, here);
    }

    fn synchronise(&mut self) {
        let address = GLOBALS + 64 + 8 * self.random.below(3);
        match self.random.below(8) {
            0 => {
                let operation = self.operation();
                self.checker.unseen(&operation);
            }
            1 => self.checker.relied_on(address),
            2 => self.checker.published(address),
            3 => self.checker.done_once(address),
            4 => {
                let round = self.checker.arrives_at_barrier(address);
                self.rounds.push(round);
            }
            5 => {
                if let Some(round) = self.rounds.pop() {
                    let last = self.random.flips();
                    self.checker.leaves_barrier(address, round, last);
                }
            }
            _ => {
                let (acquires, releases) = (self.random.flips(), self.random.flips());
                self.checker.fence(acquires, releases);
            }
        }
    }

    fn heap(&mut self) {
        let place = self.place();
        let start = HEAP + 64 * self.random.below(6);
        match self.random.below(6) {
            0 => {
                let bytes = 8 + self.random.below(25);
                self.checker.allocated(start, bytes, place);
                self.blocks.push(start);
            }
            1 => self.checker.freed(start, place),
            2 => {
                self.checker.freed(start, place);
                self.checker.kept(start, place);
            }
            3 => self.checker.given_back(start),
            4 => self.checker.freed_again(start, place),
            _ => {
                let to = HEAP + 64 * self.random.below(6);
                let bytes = 8 + self.random.below(25);
                self.checker.reallocated(start, to, bytes, place);
            }
        }
    }

    /// Of some thread.
    fn thread_locals(&mut self) -> Range<u64> {
        let number = self.random.below(self.variables);
        variables_of(number)
    }

    /// A task is on some thread.
    fn stay(&mut self) {
        if self.random.below(3) == 0 {
            let number = self.checker.new_thread(variables_of(self.variables));
            assert_eq!(u64::from(number), self.variables);
            self.variables += 1;
        }
        let number = self.random.below(self.variables);
        self.checker.begin_stay(number as u32);
        self.own().open.push(Open::Stay);
    }

    fn begin(&mut self) {
        let place = self.place();
        if self.random.below(3) == 0 {
            self.stay();
        } else if self.random.flips() {
            let finish = self
                .checker
                .begin_finish(FinishKind::Rayon(rayon::FinishKind::Scope), place);
            self.finishes.push(finish);
            self.own().open.push(Open::Finish(finish));
        } else {
            let at = self.random.below(self.finishes.len() as u64) as usize;
            let (finish, entry) = (self.finishes[at], self.stack_pointer());
            let kind = TaskKind::Rayon(rayon::TaskKind::ScopeSpawn);
            match self.random.below(4) {
                0 => {
                    let task = self.checker.create_task(kind, finish, place);
                    self.created.push((task, finish));
                    return;
                }
                1 if !self.created.is_empty() => {
                    let at = self.random.below(self.created.len() as u64) as usize;
                    let (task, _) = self.created.swap_remove(at);
                    self.checker.run_created(task, entry);
                }
                _ => self.checker.begin_task(kind, finish, place, entry),
            }
            let frames = self.own().frames.len();
            self.own().open.push(Open::Task { frames });
        }
    }

    fn end(&mut self) {
        match self.own().open.pop() {
            Some(Open::Task { frames }) => {
                // As after unwinding, functions may have been left without being told.
                self.checker.end_task();
                self.own().frames.truncate(frames);
            }
            Some(Open::Finish(finish)) => {
                self.checker.end_finish(finish);
                self.finishes.retain(|other| *other != finish);
                self.created.retain(|(_, of)| *of != finish);
            }
            Some(Open::Stay) => self.checker.end_stay(),
            None => {}
        }
    }

    fn thread(&mut self) {
        match self.random.below(5) {
            0 if self.threads.len() < 4 => {
                let number = self.threads.len() as u64 + self.ended.len() as u64 + 1;
                let first = STACK + 2 * STACK_BYTES * number;
                let stack = first..first + STACK_BYTES;
                let (place, entry) = (self.place(), stack.end - 64);
                let thread_locals = variables_of(self.variables);
                self.variables += 1;
                let task = self
                    .checker
                    .begin_thread(place, entry, stack.clone(), thread_locals);
                self.threads.push(ThreadOfProcess {
                    task,
                    frames: vec![entry],
                    stack,
                    open: Vec::new(),
                });
                self.running = self.threads.len() - 1;
            }
            1 if self.running > 0 && self.own().open.is_empty() => {
                if self.checker.can_end_thread() {
                    let name = u64::from(self.own().task.0);
                    self.checker.end_thread(name);
                    self.ended.push(name);
                    self.threads.remove(self.running);
                    self.running = usize::MAX;
                    self.switch();
                }
            }
            2 => {
                let name = self.random.below(5);
                self.checker.join_thread(name);
            }
            3 => {
                let (what, place) = (WaitKind::Futex, self.place());
                self.checker.would_stop(what, place);
            }
            _ => self.switch(),
        }
    }

    /// Another thread runs, if one can.
    fn switch(&mut self) {
        let able: Vec<usize> = (0..self.threads.len())
            .filter(|at| *at != self.running && self.checker.can_run(self.threads[*at].task))
            .collect();
        if !able.is_empty() {
            self.running = able[self.random.below(able.len() as u64) as usize];
            self.checker.run_thread(self.threads[self.running].task);
        }
    }

    fn run(&mut self, statements: u64) {
        for _ in 0..statements {
            if self.running == usize::MAX {
                // Whoever could go on waits for a thread that has ended in its place.
                return;
            }
            match self.random.below(24) {
                0..=2 => self.enter(),
                3..=4 => self.leave(),
                5..=13 => self.access(),
                14 => self.atomic(),
                15..=16 if self.random.below(5) == 0 => self.checker.asks(),
                15..=16 => self.synchronise(),
                17 => self.heap(),
                18..=19 => self.begin(),
                20..=21 => self.end(),
                _ => self.thread(),
            }
        }
    }

    /// What the process found, without and with determinacy, and its recording.
    fn ended(mut self) -> ([String; 2], Vec<u8>) {
        let about = start();
        let process = Process {
            number: about.process,
            executable: about.executable,
            arguments: about.arguments,
            directory: about.directory,
            drop_in: Some(INTERFACE_VERSION),
            division: Division::Partly,
            threads: self.checker.other_threads(),
            ..Process::default()
        };
        let end = End {
            goes_on: false,
            accesses: self.checker.glance.accesses(),
            drop_in: process.drop_in,
            division: process.division,
            failed: self.checker.failure().is_some(),
            ..END
        };
        let Journal::Recording(recorder) = std::mem::take(&mut self.checker.journal) else {
            panic!("it was recording")
        };
        recorder.end(&end).unwrap();
        let found = [false, true].map(|determinacy| {
            self.checker.options.determinacy = determinacy;
            findings(&self.checker, &process).text()
        });
        (found, self.file.0.take())
    }
}

fn recorded(seed: u64) -> ([String; 2], Vec<u8>) {
    let mut process = ProcessUnderTest::new(seed);
    let statements = 20 + process.random.below(200);
    process.run(statements);
    process.ended()
}

fn seeds(usual: u64) -> Range<u64> {
    let number = |name: &str, usual| {
        let set = std::env::var(name).ok();
        set.map_or(usual, |text| text.parse().expect("a number"))
    };
    let first = number("FINISHLINE_SEED", 0);
    first..first + number("FINISHLINE_SEEDS", usual)
}

#[test]
fn a_recording_gives_what_the_process_found() {
    let (mut racy, mut ordered, mut asked) = (0, 0, 0);
    for seed in seeds(1500) {
        let (found, file) = recorded(seed);
        let mut trace = ProcessTrace::open(Cursor::new(&file)).unwrap();
        assert_eq!(trace.start, start());
        let mut replayed =
            replay(&mut trace, MEMORY).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        for (determinacy, found) in [false, true].into_iter().zip(&found) {
            let again = replayed.findings(determinacy, usize::MAX).text();
            assert_eq!(again, *found, "seed {seed}, determinacy {determinacy}");
        }
        racy += u32::from(found[0].contains(r#""class":"race""#));
        ordered += u32::from(found[1].contains("-ordered\""));
        asked += u32::from(trace_has_answers(&mut trace));
    }
    if std::env::var_os("FINISHLINE_SEEDS").is_none() {
        assert!(
            racy > 500 && ordered > 500 && asked > 10,
            "{racy} racy, {ordered} with ordered conflicts, {asked} with answers"
        );
    }
}

fn trace_has_answers(trace: &mut ProcessTrace<Cursor<&Vec<u8>>>) -> bool {
    struct Answers(bool);
    impl finishline_trace::process::Follow for Answers {
        fn told(
            &mut self,
            told: &finishline_trace::process::Told<'_>,
        ) -> Result<(), finishline_trace::error::Wrong> {
            self.0 |= !told.answers.is_empty();
            Ok(())
        }
    }
    let mut answers = Answers(false);
    trace.tell(&mut answers).unwrap();
    answers.0
}

/// Changes some bytes of a recording's chunks, whose checksums are right again.
fn damaged(file: &[u8], random: &mut Random) -> Vec<u8> {
    const HEADER: usize = 16;
    const FRAME: usize = 9;
    let mut damaged = file[..HEADER].to_vec();
    let (mut rest, mut number) = (&file[HEADER..], 0u64);
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[1..5].try_into().unwrap()) as usize;
        let mut contents = rest[FRAME..FRAME + length].to_vec();
        for _ in 0..random.below(3) {
            let at = random.below(length.max(1) as u64) as usize;
            match random.below(5) {
                0 => contents.insert(at.min(contents.len()), random.below(256) as u8),
                1 if at < contents.len() => {
                    contents.remove(at);
                }
                2 if at < contents.len() => contents[at] = random.below(32) as u8,
                _ if at < contents.len() => contents[at] ^= 1 << random.below(8),
                _ => {}
            }
        }
        let mut frame = vec![rest[0]];
        frame.extend((contents.len() as u32).to_le_bytes());
        let sum = finishline_trace::checksum::checksum(&[&number.to_le_bytes(), &frame, &contents]);
        damaged.extend(frame);
        damaged.extend(sum.to_le_bytes());
        damaged.extend(contents);
        rest = &rest[FRAME + length..];
        number += 1;
    }
    damaged
}

#[test]
fn a_damaged_recording_gives_an_error_or_an_answer() {
    let (mut wrong, mut answers) = (0, 0);
    for seed in seeds(1000) {
        let (_, file) = recorded(seed);
        let mut random = Random(seed + 1);
        for _ in 0..3 {
            let file = damaged(&file, &mut random);
            let replayed = ProcessTrace::open(Cursor::new(&file)).ok();
            match replayed.and_then(|mut trace| replay(&mut trace, MEMORY).ok()) {
                Some(mut replayed) => {
                    replayed.findings(true, 3);
                    answers += 1;
                }
                None => wrong += 1,
            }
        }
    }
    assert!(
        wrong > answers / 10 && answers > 0,
        "{wrong} errors, {answers} answers"
    );
}
