//! What writer and reader both know, and what they expect next.
//!
//! A task is probably the next iteration of the loop that created the task before, with captured
//! values that change as they did last time. Accesses are in `accesses`.
//!
//! Both sides keep the same tables and change them by the same rules. The tables have an entry for
//! each function of the program. Nothing here grows with the number of ended tasks.

use crate::program::Program;
use finishline_model::{Construct, TaskId, TaskKind};

#[derive(Debug)]
pub(crate) struct Predictions {
    /// The running task, and tasks to go on with when it ends: one for each task that has begun and
    /// not ended.
    pub(crate) task: TaskId,
    suspended: Vec<TaskId>,
    /// How many tasks have begun, and how many finishes.
    pub(crate) tasks: u32,
    pub(crate) finishes: u32,
    /// The latest that an event named.
    pub(crate) finish: u32,
    pub(crate) site: u32,
    pub(crate) promise: u64,
    /// The location behind the latest object.
    pub(crate) next_location: u64,
    /// By allocation: how many objects of the same name the next one should have before it.
    pub(crate) earlier: Vec<u64>,
    /// By function: its latest task.
    pub(crate) functions: Vec<Latest>,
    /// What the latest task with a creation was.
    pub(crate) pattern: Option<Pattern>,
}

/// The index and the captures of the latest task of a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latest {
    pub(crate) index: u32,
    pub(crate) captures: Vec<u64>,
    /// How far each capture is from that of the task before.
    pub(crate) steps: Vec<u64>,
}

impl Latest {
    /// The captures that the next task probably has.
    pub(crate) fn next(&self) -> impl Iterator<Item = u64> {
        let captures = self.captures.iter().zip(&self.steps);
        captures.map(|(capture, step)| capture.wrapping_add(*step))
    }

    /// Learns from a task. There must be as many captures as before.
    pub(crate) fn learn(&mut self, index: u32, captures: impl Iterator<Item = u64>) {
        self.index = index;
        let before = self.captures.iter_mut().zip(&mut self.steps);
        for ((capture, step), now) in before.zip(captures) {
            *step = now.wrapping_sub(*capture);
            *capture = now;
        }
    }
}

/// The beginning of a task, and the part of its creation that is not numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pattern {
    pub(crate) begin: Begin,
    pub(crate) function: u32,
    pub(crate) construct: Construct,
}

/// The beginning of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Begin {
    pub(crate) kind: TaskKind,
    pub(crate) finish: u32,
    pub(crate) site: u32,
}

impl Predictions {
    pub(crate) fn new(program: &Program) -> Predictions {
        let functions = (0..).zip(&program.functions);
        Predictions {
            task: TaskId::MAIN,
            suspended: Vec::new(),
            tasks: 0,
            finishes: 0,
            finish: 0,
            site: 0,
            promise: 0,
            next_location: 0,
            earlier: vec![0; program.source.allocations.len()],
            functions: functions
                .map(|(function, _)| {
                    let count = program.shown_captures(function).unwrap_or_default();
                    Latest {
                        index: 0,
                        captures: vec![0; count],
                        steps: vec![0; count],
                    }
                })
                .collect(),
            pattern: None,
        }
    }

    /// The next task begins, and runs.
    pub(crate) fn begin(&mut self) -> TaskId {
        self.suspended.push(self.task);
        self.task = TaskId(self.tasks);
        self.tasks += 1;
        self.task
    }

    /// The latest task of a function is followed by the one that was predicted.
    pub(crate) fn repeat(&mut self, function: u32) {
        if let Some(latest) = self.functions.get_mut(function as usize) {
            let next: Vec<u64> = latest.next().collect();
            latest.learn(latest.index.wrapping_add(1), next.into_iter());
        }
    }

    /// The running task ends.
    pub(crate) fn end(&mut self) {
        self.task = self.suspended.pop().unwrap_or(TaskId::MAIN);
    }
}
