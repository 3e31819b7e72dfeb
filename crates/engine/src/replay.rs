//! A run that repeats another one, turn by turn.
//!
//! A [`Script`] says how a run went: which task made how many steps, then which one, and so on. The
//! machine is deterministic, so the same turns give the same events and the same output, and tasks
//! and objects have the same numbers. Any schedule can be [recorded](Recorded). A step that only
//! finds that the task must wait is none.
//!
//! A script that does not fit the program is refused where it departs from what the program can do
//! ([`Departure`]). A written script is one line: `0:12 1:3 0:7`, each turn as task and steps.

use crate::run::{self, Outcome, Program, Schedule};
use finishline_ir::listener::Listener;
use finishline_ir::machine::{Machine, Progress, Status, TrapKind};
use finishline_model::TaskId;
use std::fmt;
use std::io::Write;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::sync::atomic::AtomicU64;

/// Some steps of one task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    pub task: TaskId,
    pub steps: NonZeroU64,
}

/// How a run goes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Script {
    turns: Vec<Turn>,
}

impl Script {
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Notes a step.
    fn add(&mut self, task: TaskId) {
        match self.turns.last_mut() {
            Some(last) if last.task == task => last.steps = last.steps.saturating_add(1),
            _ => self.turns.push(Turn {
                task,
                steps: NonZeroU64::MIN,
            }),
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (turn, Turn { task, steps }) in self.turns.iter().enumerate() {
            let space = if turn > 0 { " " } else { "" };
            write!(f, "{space}{}:{steps}", task.0)?;
        }
        Ok(())
    }
}

/// What is not a turn in a written script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotATurn(pub String);

impl fmt::Display for NotATurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a turn: a task and its steps, as in 0:12",
            self.0
        )
    }
}

impl std::error::Error for NotATurn {}

impl FromStr for Script {
    type Err = NotATurn;

    fn from_str(written: &str) -> Result<Script, NotATurn> {
        let turn = |word: &str| {
            let (task, steps) = word.split_once(':')?;
            Some(Turn {
                task: TaskId(task.parse().ok()?),
                steps: steps.parse().ok()?,
            })
        };
        let turns = written
            .split_whitespace()
            .map(|word| turn(word).ok_or_else(|| NotATurn(word.to_owned())));
        Ok(Script {
            turns: turns.collect::<Result<_, _>>()?,
        })
    }
}

/// Another schedule, and how the run went so far.
pub struct Recorded<S> {
    schedule: S,
    script: Script,
}

impl<S> Recorded<S> {
    pub fn new(schedule: S) -> Recorded<S> {
        Recorded {
            schedule,
            script: Script::default(),
        }
    }

    /// How the run went that ended like this. A step that fails is the last one.
    pub fn into_script(mut self, outcome: &Outcome) -> Script {
        let failed = outcome.trap();
        if let Some(trap) = failed.filter(|it| !matches!(it.kind, TrapKind::Deadlock { .. })) {
            self.script.add(trap.task);
        }
        self.script
    }
}

impl<S: Schedule> Schedule for Recorded<S> {
    fn next(
        &mut self,
        current: TaskId,
        progress: Progress,
        machine: &Machine<'_>,
    ) -> Option<TaskId> {
        if progress != Progress::Blocked {
            self.script.add(current);
        }
        self.schedule.next(current, progress, machine)
    }
}

/// Where a script departs from what the program can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// The turn, counted from 0.
    pub turn: usize,
    pub why: Why,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// `main` makes the first step.
    MainIsFirst,
    /// There is no such task yet, or it has ended.
    NotLive(TaskId),
    /// The task must wait.
    Waits(TaskId),
    /// After the last turn this task could go on.
    Unfinished(TaskId),
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turn = self.turn + 1;
        match self.why {
            Why::MainIsFirst => write!(f, "turn {turn}: main (task 0) makes the first step"),
            Why::NotLive(task) => write!(f, "turn {turn}: task {} is not live", task.0),
            Why::Waits(task) => write!(f, "turn {turn}: task {} must wait", task.0),
            Why::Unfinished(task) => {
                write!(f, "the schedule ends, but task {} can go on", task.0)
            }
        }
    }
}

impl std::error::Error for Departure {}

struct Replay<'a> {
    turns: &'a [Turn],
    /// The turn under way.
    turn: usize,
    /// The steps that it has made.
    made: u64,
    departs: Option<Why>,
}

impl Replay<'_> {
    fn depart(&mut self, why: Why) -> Option<TaskId> {
        self.departs = Some(why);
        None
    }
}

impl Schedule for Replay<'_> {
    fn next(
        &mut self,
        current: TaskId,
        progress: Progress,
        machine: &Machine<'_>,
    ) -> Option<TaskId> {
        if progress == Progress::Blocked {
            return self.depart(Why::Waits(current));
        }
        self.made += 1;
        if self.made == self.turns[self.turn].steps.get() {
            (self.turn, self.made) = (self.turn + 1, 0);
        }
        let created = machine.tasks_created();
        match self.turns.get(self.turn) {
            Some(&Turn { task, .. }) => {
                let live = task.index() < created && machine.status(task) != Status::Done;
                match live {
                    true => Some(task),
                    false => self.depart(Why::NotLive(task)),
                }
            }
            None => {
                let mut tasks = (0..created).map(TaskId::from_index);
                let goes_on = tasks.find(|&task| machine.status(task) == Status::Runnable);
                goes_on.and_then(|task| self.depart(Why::Unfinished(task)))
            }
        }
    }
}

/// Repeats a run.
pub fn replay(
    script: &Script,
    program: Program<'_>,
    listener: &mut impl Listener,
    output: &mut (dyn Write + Send),
    progress: &AtomicU64,
) -> Result<Outcome, Departure> {
    let first = script.turns.first();
    if first.is_none_or(|turn| turn.task != TaskId::MAIN) {
        return Err(Departure {
            turn: 0,
            why: Why::MainIsFirst,
        });
    }
    let mut replay = Replay {
        turns: &script.turns,
        turn: 0,
        made: 0,
        departs: None,
    };
    let outcome = run::run_for(u64::MAX, program, &mut replay, listener, output, progress);
    match replay.departs {
        Some(why) => Err(Departure {
            turn: replay.turn,
            why,
        }),
        None => Ok(outcome),
    }
}
