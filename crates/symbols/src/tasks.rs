//! Tasks in rayon's words, and why two of them are parallel.
//!
//! A task is created deep inside rayon. The user knows the call that led there: the innermost frame
//! of the user's code on the creation's stack, and the method of rayon that it called. Nested
//! creations with the same call are one step of a path. For example, a parallel iterator divides
//! itself by joins inside joins, and a recursion returns to the same join. If a creation's stack
//! ends before it reaches the user's code, the creation belongs to the call of the task around it.
//! The thread on which a harness runs a test is left out.
//!
//! To say why two accesses are parallel, follow the finishes that wait for the first task. A task
//! is over when its finish ends, in the task that owns the finish. That task is over when its own
//! finish ends, and so on. Stop at an owner that is the second task or one of its ancestors. The
//! last finish is the first point in the past or future of the second access at which the first
//! access is known to be done. The report names the task that this finish waits for. A task may
//! belong to a finish further out than its parent's, so some tasks in between may be skipped. Cost:
//! the depth of the two tasks.

use crate::findings::Findings;
use crate::function_names::method;
use crate::modules::Modules;
use finishline_answer::place::Place;
use finishline_answer::task::{
    Created, Frame, Join, JoinConstruct, Origin, Part, Relation, Step, Task, WhyParallel,
};
use finishline_model::findings::{ListedFinish, ListedTask};
use finishline_model::kinds::NativeTaskKind;
use rustc_hash::FxHashMap;

/// A call from the user's code into rayon.
#[derive(Clone, Debug, PartialEq)]
struct Call {
    /// The called method. None if the stack does not show it.
    operation: Option<String>,
    place: Option<Place>,
}

/// The call that a stack inside rayon comes from. None if the stack does not reach the user's code.
fn call(frames: impl Iterator<Item = Frame>) -> Option<Call> {
    let mut outermost_of_rayon: Option<Frame> = None;
    let mut of_dependency: Option<Call> = None;
    for frame in frames {
        let call = |place: Option<Place>| Call {
            operation: (outermost_of_rayon.as_ref()).and_then(|frame| method(&frame.function)),
            place,
        };
        match frame.origin {
            Origin::User => return Some(call(frame.place)),
            Origin::Rayon => outermost_of_rayon = Some(frame),
            Origin::Dependency(_) if of_dependency.is_none() => {
                of_dependency = Some(call(frame.place));
            }
            Origin::Dependency(_) | Origin::Std | Origin::System => {}
        }
    }
    of_dependency
}

/// Describes tasks. The stack of each creation is read once.
pub(crate) struct Tasks<'f> {
    findings: &'f Findings,
    /// Whether the process is a test. A harness runs a test on a thread.
    is_test: bool,
    calls: FxHashMap<usize, Option<Call>>,
}

impl<'f> Tasks<'f> {
    pub(crate) fn new(findings: &'f Findings, is_test: bool) -> Tasks<'f> {
        Tasks {
            findings,
            is_test,
            calls: FxHashMap::default(),
        }
    }

    /// The steps that led to a task.
    pub(crate) fn task(&mut self, id: u64, modules: &mut Modules) -> Task {
        let mut steps: Vec<Step> = Vec::new();
        for (depth, task) in self.findings.path(id).into_iter().enumerate() {
            let part = Part {
                task: task.id,
                kind: task.kind,
            };
            let call = self.call(task.stack, modules);
            let has_place = call.as_ref().is_some_and(|call| call.place.is_some());
            let of_harness = self.is_test && depth == 0 && !has_place;
            if of_harness && task.kind == NativeTaskKind::Thread {
                continue;
            }
            match steps.last_mut() {
                Some(Step {
                    operation,
                    place,
                    created: Created::Nested(parts),
                }) if continues((operation, place, parts), &call, task.kind) => parts.push(part),
                _ => {
                    let (operation, place) = operation(call, task.kind.operation());
                    steps.push(Step {
                        operation,
                        place,
                        created: Created::Nested(vec![part]),
                    });
                }
            }
        }
        Task { id, steps }
    }

    /// Why no order exists between an access of one task and a later access of another.
    pub(crate) fn why(&mut self, first: u64, second: u64, modules: &mut Modules) -> WhyParallel {
        let (of_first, of_second) = (
            self.waited_for(first, second),
            self.waited_for(second, first),
        );
        let (relation, culprit, other) = match (of_first, of_second) {
            (None, None) => {
                return WhyParallel {
                    relation: Relation::SameTask,
                    promises: false,
                    task: self.task(first, modules),
                    spawned: None,
                    other_spawned: None,
                    join: None,
                };
            }
            (Some(culprit), Some(other))
                if culprit.finish == other.finish && culprit.finish != 0 =>
            {
                let halves = culprit.kind.half().is_some() && other.kind.half().is_some();
                let relation = if halves {
                    Relation::Halves
                } else {
                    Relation::Siblings
                };
                (relation, culprit, Some(other))
            }
            (Some(culprit), _) => (Relation::FirstOutlives, culprit, None),
            (None, Some(culprit)) => (Relation::SecondOutlives, culprit, None),
        };
        let place = |call: Option<Call>| call.and_then(|call| call.place);
        let join = self.findings.finish(culprit.finish);
        WhyParallel {
            relation,
            promises: false,
            task: self.task(culprit.id, modules),
            spawned: place(self.call(culprit.stack, modules)),
            other_spawned: other.and_then(|other| place(self.call(other.stack, modules))),
            join: join.map(|finish| self.join(finish, modules)),
        }
    }

    fn join(&mut self, finish: &ListedFinish, modules: &mut Modules) -> Join {
        let call = self.call(finish.stack, modules);
        let (operation, place) = operation(call, &finish.kind.operation());
        Join {
            construct: JoinConstruct::Operation(operation),
            place,
        }
    }

    /// Follows the finishes that wait for `task` up to `other` or one of its ancestors. Returns the
    /// task that the last of these finishes waits for. None if `task` itself is `other` or an
    /// ancestor.
    fn waited_for(&self, task: u64, other: u64) -> Option<&'f ListedTask> {
        let around = self.findings.path(other);
        let is_around = |id: u64| {
            let main = self
                .findings
                .task(id)
                .is_some_and(|task| task.kind == NativeTaskKind::Main);
            main || around.iter().any(|task| task.id == id)
        };
        let mut at = self
            .findings
            .task(task)
            .filter(|task| !is_around(task.id))?;
        // In a damaged file a finish may be owned by a task that it waits for. So the number of
        // steps is limited by the number of tasks.
        for _ in 0..self.findings.tasks.len() {
            let owner = self.findings.finish(at.finish).map(|finish| finish.task);
            match owner.and_then(|owner| self.findings.task(owner)) {
                Some(owner) if !is_around(owner.id) => at = owner,
                _ => break,
            }
        }
        Some(at)
    }

    fn call(&mut self, stack: Option<usize>, modules: &mut Modules) -> Option<Call> {
        let stack = stack?;
        let addresses = &self.findings.stacks[stack];
        let known = self.calls.entry(stack);
        known
            .or_insert_with(|| call(addresses.iter().flat_map(|pc| modules.frames(*pc))))
            .clone()
    }
}

fn operation(call: Option<Call>, otherwise: &str) -> (String, Option<Place>) {
    let (operation, place) = call.map_or((None, None), |call| (call.operation, call.place));
    (operation.unwrap_or_else(|| otherwise.to_owned()), place)
}

/// Whether a task created by this call is a further part of the step.
fn continues(
    (operation, place, parts): (&String, &Option<Place>, &[Part]),
    call: &Option<Call>,
    kind: NativeTaskKind,
) -> bool {
    let of_a_kind = parts.iter().all(|part| {
        let halves = part.kind.half().is_some() && kind.half().is_some();
        halves || part.kind == kind
    });
    of_a_kind
        && call.as_ref().is_none_or(|call| {
            let called = call.operation.as_deref().unwrap_or(kind.operation());
            operation == called && *place == call.place
        })
}
