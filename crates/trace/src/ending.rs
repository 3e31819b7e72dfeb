//! How a run ended: what it did, and its failure, if it failed.
//!
//! A failure names places and tasks by ids. Reports name them by the tables and by the close-up,
//! which every failed run has.

use crate::bytes::{Bytes, put_number, put_text};
use crate::error::Wrong;
use crate::program::Program;
use finishline_model::{Location, SiteId, Statistics, TaskId};

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ending {
    /// Counts of the run. All accesses count, also those that the trace leaves out because the same
    /// step had made them before.
    pub statistics: Statistics,
    /// Isolated blocks of parallel tasks conflict by nothing but updates that can be exchanged.
    /// The accesses do not tell, because some are left out.
    pub commutes: bool,
    pub failure: Option<Failure>,
}

/// A failure of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// One of the words that reports use.
    pub kind: String,
    pub message: String,
    /// Where the program failed. Of a deadlock: the tasks that wait, the first one first.
    pub points: Vec<FailurePoint>,
    /// Of a deadlock: tasks each of which waits for the next one.
    pub cycle: Option<Tasks>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailurePoint {
    pub site: SiteId,
    pub task: TaskId,
    pub waits_for: Option<WaitsFor>,
}

/// What a task of a deadlock waits for, and the tasks that could let it go on, if they are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WaitsFor {
    Tasks(Option<Tasks>),
    Promise(Location, Option<Tasks>),
    Lock(Location, Option<Tasks>),
}

/// Some of the points of a failure, by their numbers. There may be more than are shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tasks {
    pub shown: Vec<usize>,
    pub count: usize,
}

impl Ending {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let out = &mut bytes;
        for count in counts(&self.statistics) {
            put_number(out, count);
        }
        out.push(u8::from(self.commutes));
        out.push(u8::from(self.failure.is_some()));
        if let Some(failure) = &self.failure {
            put_text(out, &failure.kind);
            put_text(out, &failure.message);
            put_number(out, failure.points.len() as u64);
            for point in &failure.points {
                put_number(out, u64::from(point.site.0));
                put_number(out, u64::from(point.task.0));
                match &point.waits_for {
                    None => out.push(0),
                    Some(WaitsFor::Tasks(tasks)) => {
                        out.push(1);
                        put_tasks(out, tasks.as_ref());
                    }
                    Some(WaitsFor::Promise(awaited, tasks) | WaitsFor::Lock(awaited, tasks)) => {
                        let is_lock = matches!(point.waits_for, Some(WaitsFor::Lock(..)));
                        out.push(if is_lock { 3 } else { 2 });
                        put_number(out, awaited.0);
                        put_tasks(out, tasks.as_ref());
                    }
                }
            }
            put_tasks(out, failure.cycle.as_ref());
        }
        bytes
    }

    pub(crate) fn decode(contents: &[u8], program: &Program) -> Result<Ending, Wrong> {
        let mut bytes = Bytes::new(contents);
        let mut count = || bytes.number();
        let statistics = Statistics {
            tasks: count()?,
            finishes: count()?,
            isolated_blocks: count()?,
            accesses: count()?,
            locations: count()?,
            ranges: count()?,
            in_ranges: count()?,
        };
        let commutes = bytes.is_there()?;
        let failure = match bytes.is_there()? {
            true => Some(failure(&mut bytes, program)?),
            false => None,
        };
        bytes.end()?;
        Ok(Ending {
            statistics,
            commutes,
            failure,
        })
    }
}

/// The counts in the order of the file.
fn counts(statistics: &Statistics) -> [u64; 7] {
    let Statistics {
        tasks,
        finishes,
        isolated_blocks,
        accesses,
        locations,
        ranges,
        in_ranges,
    } = *statistics;
    [
        tasks,
        finishes,
        isolated_blocks,
        accesses,
        locations,
        ranges,
        in_ranges,
    ]
}

fn failure(bytes: &mut Bytes, program: &Program) -> Result<Failure, Wrong> {
    let (kind, message) = (bytes.text()?, bytes.text()?);
    let points = bytes.list(|bytes| {
        let site = SiteId(bytes.small()?);
        if site.index() >= program.source.sites.len() {
            return Err(Wrong::NoSuch("place"));
        }
        Ok(FailurePoint {
            site,
            task: TaskId(bytes.small()?),
            waits_for: match bytes.byte()? {
                0 => None,
                1 => Some(WaitsFor::Tasks(tasks(bytes)?)),
                2 => {
                    let promise = Location(bytes.number()?);
                    Some(WaitsFor::Promise(promise, tasks(bytes)?))
                }
                3 => {
                    let lock = Location(bytes.number()?);
                    Some(WaitsFor::Lock(lock, tasks(bytes)?))
                }
                _ => return Err(Wrong::NoSuch("reason to wait")),
            },
        })
    })?;
    let cycle = tasks(bytes)?;
    let awaited = points.iter().filter_map(|point| match &point.waits_for {
        Some(WaitsFor::Tasks(tasks) | WaitsFor::Promise(_, tasks) | WaitsFor::Lock(_, tasks)) => {
            tasks.as_ref()
        }
        None => None,
    });
    let mut numbers = awaited.chain(&cycle).flat_map(|tasks| &tasks.shown);
    if points.is_empty() || numbers.any(|number| *number >= points.len()) {
        return Err(Wrong::NoSuch("task of the failure"));
    }
    Ok(Failure {
        kind,
        message,
        points,
        cycle,
    })
}

fn put_tasks(out: &mut Vec<u8>, tasks: Option<&Tasks>) {
    out.push(u8::from(tasks.is_some()));
    if let Some(tasks) = tasks {
        put_number(out, tasks.count as u64);
        put_number(out, tasks.shown.len() as u64);
        for number in &tasks.shown {
            put_number(out, *number as u64);
        }
    }
}

fn tasks(bytes: &mut Bytes) -> Result<Option<Tasks>, Wrong> {
    if !bytes.is_there()? {
        return Ok(None);
    }
    let count = bytes.small()? as usize;
    let shown = bytes.list(|bytes| Ok(bytes.small()? as usize))?;
    match shown.len() <= count {
        true => Ok(Some(Tasks { shown, count })),
        false => Err(Wrong::TooBig),
    }
}
