//! How a program failed, by ids: the message, the places, the tasks, and what these wait for.
//!
//! Another run or a trace then gives the names ([`crate::story`]).

use crate::deadlock::Deadlock;
use crate::question::Question;
use finishline_answer::answer::Tasks;
use finishline_ir::machine::{Trap, TrapKind, WaitsFor};
use finishline_model::{Location, SiteId, TaskId};

pub(crate) struct Failed {
    /// One of the words that reports use.
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    /// Where the program failed. Of a deadlock: tasks that wait, the first one first.
    pub(crate) points: Vec<Point>,
    pub(crate) cycle: Option<Tasks>,
}

pub(crate) struct Point {
    pub(crate) site: SiteId,
    pub(crate) task: TaskId,
    pub(crate) awaits: Option<Awaits>,
}

/// What a task of a deadlock waits for, and who could let it go on, if that is known.
pub(crate) enum Awaits {
    Tasks(Option<Tasks>),
    Promise(Location, Option<Tasks>),
    Lock(Location, Option<Tasks>),
}

impl Failed {
    /// The failure of a run of this program.
    pub(crate) fn of(question: &Question<'_>, trap: &Trap) -> Failed {
        let source = &question.module.source;
        let mut message = trap.kind.message();
        if let TrapKind::SyncInsideBeginFinish { begin } = trap.kind {
            let begin = source.site(begin);
            message.push_str(&format!(", opened at {}:{}", begin.line, begin.column));
        }
        if let TrapKind::SetTwice { first } = trap.kind {
            let first = source.site(first);
            message.push_str(&format!(", set at {}:{}", first.line, first.column));
        }
        if let TrapKind::WaitUnderLock { acquired } = trap.kind {
            let acquired = source.site(acquired);
            let (line, column) = (acquired.line, acquired.column);
            message.push_str(&format!(", acquired at {line}:{column}"));
        }
        let deadlock = Deadlock::of(question, trap);
        let points = match &deadlock {
            None => vec![Point {
                site: trap.site,
                task: trap.task,
                awaits: None,
            }],
            Some(deadlock) => waiting(deadlock).collect(),
        };
        Failed {
            kind: trap.kind.word(),
            message,
            points,
            cycle: deadlock.as_ref().and_then(Deadlock::cycle),
        }
    }

    pub(crate) fn is_deadlock(&self) -> bool {
        self.kind == DEADLOCK
    }

    /// The tasks to be named.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = TaskId> {
        self.points.iter().map(|point| point.task)
    }

    /// The promises and locks to be named.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = Location> {
        self.points.iter().filter_map(|point| match point.awaits {
            Some(Awaits::Promise(awaited, _) | Awaits::Lock(awaited, _)) => Some(awaited),
            Some(Awaits::Tasks(_)) | None => None,
        })
    }
}

const DEADLOCK: &str = "deadlock";

/// The tasks of a deadlock that are shown.
fn waiting(deadlock: &Deadlock) -> impl Iterator<Item = Point> {
    deadlock.shown.iter().map(|number| {
        let waiting = deadlock.waiting[*number];
        let awaited = deadlock.awaited(*number);
        Point {
            site: waiting.site,
            task: waiting.task,
            awaits: Some(match waiting.waits_for {
                WaitsFor::Finish(_) => Awaits::Tasks(awaited),
                WaitsFor::Promise(promise) => Awaits::Promise(promise, awaited),
                WaitsFor::Lock { lock, .. } => Awaits::Lock(lock, awaited),
            }),
        }
    })
}
