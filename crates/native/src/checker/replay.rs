//! A recorded process, checked again outside of it.
//!
//! The recording has what the process told its checker ([`crate::checker::Journal`]). Telling the
//! same to a new checker gives the same findings. The file may have been made by anybody, so a call
//! is passed on only if the checker can follow it.

use crate::checker::findings::{self, Process};
use crate::checker::options::Options;
use crate::checker::{Checker, Here, Journal, Stopped};
use crate::facts::calls::CallNode;
use crate::facts::structure::Position;
use crate::facts::synchronisation::{How, Operation};
use finishline_detect::Failure;
use finishline_model::findings::{FindingsFile, ListedModule};
use finishline_model::hash::IdSet;
use finishline_model::kinds::ConflictClass;
use finishline_model::kinds::rayon::Division;
use finishline_model::{FinishId, ObjectId, TaskId};
use finishline_trace::error::{Error, Wrong};
use finishline_trace::process::{self, Call, Change, End, Follow, ProcessTrace, Start, Told};
use std::fmt;
use std::io::{Read, Seek};

/// Why a recorded process can't be checked.
#[derive(Debug)]
pub enum ReplayError {
    Trace(Error),
    /// The checker could not begin.
    Failure(Failure),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Trace(error) => error.fmt(f),
            ReplayError::Failure(failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for ReplayError {}

/// Tells a checker what the process told its own. Its shadow memory may take this many bytes: a
/// file can say that a process accessed more than there is.
pub fn replay<R: Read + Seek>(
    trace: &mut ProcessTrace<R>,
    memory: usize,
) -> Result<Replayed, ReplayError> {
    let start = &trace.start;
    let options = Options {
        logical_threads: start.logical_threads,
        right_first: start.right_first,
        max_races: usize::try_from(start.max_races).unwrap_or(usize::MAX),
        test_thread: start.is_test,
        most_cells: memory / size_of::<u64>(),
        ..Options::default()
    };
    let checker = Checker::new(options, start.stack.clone(), start.thread_locals.clone());
    let mut replay = Replay {
        checker: checker.map_err(ReplayError::Failure)?,
        ended: IdSet::default(),
    };
    trace.tell(&mut replay).map_err(ReplayError::Trace)?;
    Ok(replay.ended(&trace.start, trace.end.as_ref()))
}

struct Replay {
    checker: Checker,
    /// Finishes that have ended.
    ended: IdSet<FinishId>,
}

/// A process that was checked again.
pub struct Replayed {
    checker: Checker,
    process: Process,
    /// Of the process itself, those that it decided without its checker included.
    accesses: Option<u64>,
}

impl Replayed {
    /// Why the checker could not go on here, if it couldn't.
    pub fn failure(&self) -> Option<Failure> {
        self.checker.failure().copied()
    }

    /// What the process found, and with `determinacy` what locks and atomics order besides: at most
    /// this many pairs of either kind.
    pub fn findings(&mut self, determinacy: bool, max_races: usize) -> FindingsFile {
        self.checker.options.determinacy = determinacy;
        let mut findings = findings::findings(&self.checker, &self.process);
        if let Some(accesses) = self.accesses {
            findings.statistics.accesses = accesses;
        }
        let mut listed = [0, 0, 0];
        findings.races.retain(|pair| {
            let listed = &mut listed[match pair.class {
                ConflictClass::Race => 0,
                ConflictClass::UseAfterFree => 1,
                _ => 2,
            }];
            *listed += 1;
            *listed <= max_races
        });
        findings
    }
}

/// Addresses of programs are lower.
const HIGHEST: u64 = 1 << 47;
/// The longest atomic operation and the longest variable.
const LONGEST: u64 = 16;

fn check(is_possible: bool, otherwise: &'static str) -> Result<(), Wrong> {
    match is_possible {
        true => Ok(()),
        false => Err(Wrong::Impossible(otherwise)),
    }
}

/// That these bytes lie in the memory of a program.
fn check_memory(address: u64, bytes: u64) -> Result<(), Wrong> {
    let end = address.checked_add(bytes);
    check(
        end.is_some_and(|end| end <= HIGHEST),
        "an address is no program's",
    )
}

impl Follow for Replay {
    fn told(&mut self, told: &Told<'_>) -> Result<(), Wrong> {
        let checker = &mut self.checker;
        if let Some(change) = told.stack {
            let own = checker.calls.stack().outside()..=checker.calls.depth();
            let is_possible = own.contains(&change.kept);
            check(is_possible, "a function was left that was not entered")?;
            checker.calls.back_to(change.kept);
            for [place, frame] in change.entered {
                checker.calls.enter(*place, *frame);
            }
        }
        checker.journal = Journal::Repeating(told.answers.iter().copied().collect());
        self.call(told.call)
    }
}

impl Replay {
    fn call(&mut self, call: &Call) -> Result<(), Wrong> {
        let checker = &mut self.checker;
        let is_switch = matches!(call, Call::ThreadRun(_));
        check(is_switch || checker.is_running(), "no thread is running")?;
        match *call {
            Call::Access {
                kind,
                address,
                bytes,
                place,
                is_range,
                lower,
            } => {
                check_memory(address, bytes)?;
                check(bytes > 0, "an access is of nothing")?;
                let here = Here {
                    place,
                    stack_pointer: lower.unwrap_or(u64::MAX),
                };
                let bytes = bytes as usize;
                if is_range {
                    checker.access_range(kind, address, bytes, here);
                } else {
                    check(bytes as u64 <= LONGEST, "a variable is too long")?;
                    checker.access_variable(kind, address, bytes, here);
                }
            }
            Call::Atomic {
                ref operation,
                bytes,
                place,
            } => {
                check_memory(operation.address, bytes)?;
                let is_possible = (1..=LONGEST).contains(&bytes);
                check(is_possible, "an atomic operation is too long")?;
                let here = Here {
                    place,
                    stack_pointer: u64::MAX,
                };
                checker.atomic(&repeated(operation), bytes as usize, here);
            }
            Call::Unseen(ref operation) => {
                check_memory(operation.address, LONGEST)?;
                checker.unseen(&repeated(operation));
            }
            Call::ReliedOn(address) => checker.relied_on(address),
            Call::Published(address) => checker.published(address),
            Call::BarrierArrive(address) => {
                checker.arrives_at_barrier(address);
            }
            Call::BarrierLeave {
                address,
                round,
                last,
            } => {
                let object = u32::try_from(round).map(ObjectId);
                let is_known = object.is_ok_and(|it| checker.synchronisation.has_object(it));
                check(is_known, "a barrier is left that was not reached")?;
                checker.leaves_barrier(address, round, last);
            }
            Call::Fence { acquires, releases } => checker.fence(acquires, releases),
            Call::TaskBegin {
                kind,
                finish,
                place,
                entry,
            } => {
                self.check_open(finish)?;
                check_memory(entry, 0)?;
                self.checker.begin_task(kind, finish, place, entry);
            }
            Call::TaskCreate {
                kind,
                finish,
                place,
            } => {
                self.check_open(finish)?;
                self.checker.create_task(kind, finish, place);
            }
            Call::TaskRun { task, entry } => {
                check(checker.is_created(task), "a task runs that did not wait")?;
                check_memory(entry, 0)?;
                let finish = checker.structure.task(task).finish;
                self.check_open(finish)?;
                self.checker.run_created(task, entry);
            }
            Call::TaskEnd => {
                check(checker.has_inner_task(), "a task ends that did not begin")?;
                checker.end_task();
            }
            Call::FinishBegin { kind, place } => {
                checker.begin_finish(kind, place);
            }
            Call::FinishEnd(finish) => {
                self.check_open(finish)?;
                let whereabouts = self.checker.structure.whereabouts();
                let is_innermost = finish != FinishId::ROOT && finish == whereabouts.innermost;
                let owner = self.checker.structure.finish(finish).task;
                check(
                    is_innermost && owner == whereabouts.running,
                    "a finish ends that is not the innermost",
                )?;
                self.checker.end_finish(finish);
                self.ended.insert(finish);
            }
            Call::ThreadBegin {
                place,
                entry,
                ref stack,
                ref thread_locals,
            } => {
                check_memory(entry, 0)?;
                check_memory(stack.start, stack.end - stack.start)?;
                checker.begin_thread(place, entry, stack.clone(), thread_locals.clone());
            }
            Call::ThreadEnd(name) => {
                check(checker.can_end_thread(), "a thread ends too early")?;
                checker.end_thread(name);
            }
            Call::ThreadJoin(name) => checker.join_thread(name),
            Call::ThreadRun(task) => {
                let is_possible = checker.is_waiting(task) && checker.can_run(task);
                check(is_possible, "a thread goes on that can't")?;
                checker.run_thread(task);
            }
            Call::Allocated {
                start,
                bytes,
                place,
            } => {
                check_memory(start, bytes)?;
                checker.allocated(start, bytes, place);
            }
            Call::Freed { start, place } => checker.freed(start, place),
            Call::Kept { start, place } => checker.kept(start, place),
            Call::GivenBack(start) => checker.given_back(start),
            Call::FreedAgain { start, place } => checker.freed_again(start, place),
            Call::Resized {
                start,
                bytes,
                place,
            } => {
                check_memory(start, bytes)?;
                checker.reallocated(start, start, bytes, place);
            }
            Call::LenderBegin(ref thread_locals) => {
                let bytes = thread_locals.end - thread_locals.start;
                check_memory(thread_locals.start, bytes)?;
                checker.new_thread(thread_locals.clone());
            }
            Call::StayBegin(thread) => {
                check(checker.has_thread(thread), "a task is on no thread")?;
                checker.begin_stay(thread);
            }
            Call::Asks => checker.asks(),
            Call::Readers(address) => checker.are_readers(address),
            Call::StayEnd => {
                check(checker.has_stay(), "a stay ends that did not begin")?;
                checker.end_stay();
            }
            Call::Waits { what, place } => {
                checker.would_stop(what, place);
            }
        }
        Ok(())
    }

    fn check_open(&self, finish: FinishId) -> Result<(), Wrong> {
        let exists = finish.index() < self.checker.structure.finishes();
        let is_open = exists && !self.ended.contains(&finish);
        check(is_open, "a finish is used that is not open")
    }

    fn ended(mut self, start: &Start, end: Option<&End>) -> Replayed {
        let checker = &mut self.checker;
        let stop = end.and_then(|end| end.stopped);
        // A stop that nobody could have told of says nothing.
        let stop = stop.filter(|stop| {
            checker.calls.has(CallNode(stop.calls)) && stop.task.index() < checker.structure.tasks()
        });
        checker.found.stopped = stop.map(|stop| Stopped {
            waits: stop.what,
            at: Position {
                place: stop.place,
                calls: CallNode(stop.calls),
            },
            task: TaskId(stop.task.0),
        });
        let modules = end.map_or(&start.modules, |end| &end.modules);
        let process = Process {
            number: start.process,
            executable: start.executable.clone(),
            arguments: start.arguments.clone(),
            directory: start.directory.clone(),
            modules: modules.iter().map(listed).collect(),
            // Without an end it is not known. Then the findings are not complete anyway.
            drop_in: end.and_then(|end| end.drop_in),
            division: end.map_or_else(Division::default, |end| end.division),
            threads: end.map_or(0, |end| end.unfollowed) + checker.other_threads(),
            goes_on: end.is_none_or(|end| end.failed || end.goes_on),
            // What the process reached without telling is not recorded.
            reached_unseen: None,
        };
        Replayed {
            checker: self.checker,
            process,
            accesses: end.map(|end| end.accesses),
        }
    }
}

fn repeated(operation: &process::Operation) -> Operation {
    Operation {
        address: operation.address,
        before: operation.before,
        after: operation.after,
        how: match operation.change {
            Change::Replaced => How::Replaced,
            Change::Counted => How::Counted,
            Change::Flagged => How::Flagged,
        },
        acquires: operation.acquires,
        releases: operation.releases,
    }
}

fn listed(module: &process::Module) -> ListedModule {
    ListedModule {
        path: module.path.clone(),
        bias: module.bias,
        start: module.start,
        end: module.end,
    }
}
