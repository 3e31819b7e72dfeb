//! One more run, to find out about a few tasks: how they were created, what they captured, and
//! which join first waited for them.
//!
//! Only after a race is found are the interesting tasks known, and a program may have millions of
//! tasks. So the run is repeated, and only the wanted tasks and their ancestors are remembered.
//! When a wanted task is created in a depth-first run, all its ancestors are still running. So a
//! stack of the running tasks is enough to find the ancestors. No join has waited for any of them
//! before.

use crate::names::{place, shown_captures};
use crate::question::Question;
use finishline_answer::answer::{Failure, FailurePoint};
use finishline_answer::task::{Created as Made, Creation, Join, JoinConstruct, Step, Task};
use finishline_ir::listener::{self, Listener};
use finishline_ir::machine::{Datum, Trap, TrapKind};
use finishline_ir::{Construct, FunctionId, Module};
use finishline_model::{Access, Event, FinishId, FinishKind, Observer, SiteId, TaskId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The facts about some tasks.
pub(crate) struct Story<'m> {
    module: &'m Module,
    wanted: FxHashSet<TaskId>,
    /// The wanted task that is created last.
    last: Option<TaskId>,
    /// The running tasks, innermost last, without `main`. Kept only while wanted tasks may still
    /// come.
    under_way: Vec<UnderWay>,
    /// The wanted tasks and their ancestors, without `main`.
    tasks: FxHashMap<TaskId, Created>,
    joins: FxHashMap<TaskId, Joined>,
    /// The open finishes: kind, and where they began.
    open: FxHashMap<FinishId, (FinishKind, SiteId)>,
    /// Remembered tasks that no join has waited for yet, by their finish.
    waiting: FxHashMap<FinishId, Vec<TaskId>>,
}

struct UnderWay {
    task: TaskId,
    finish: FinishId,
    /// None once the task is remembered.
    created: Option<Created>,
}

/// How a task was created.
struct Created {
    parent: TaskId,
    index: u32,
    site: SiteId,
    construct: Construct,
    function: FunctionId,
    captures: Vec<Datum>,
}

struct Joined {
    kind: FinishKind,
    begin: SiteId,
    end: SiteId,
    by_sync: bool,
}

impl<'m> Story<'m> {
    /// Runs the program once more, if any task is wanted.
    pub(crate) fn of(question: &Question<'m>, wanted: impl IntoIterator<Item = TaskId>) -> Self {
        let wanted: FxHashSet<TaskId> = wanted.into_iter().collect();
        let mut story = Story {
            module: question.module,
            last: wanted.iter().max().copied(),
            wanted,
            under_way: Vec::new(),
            tasks: FxHashMap::default(),
            joins: FxHashMap::default(),
            open: FxHashMap::default(),
            waiting: FxHashMap::default(),
        };
        // There is nothing to tell about `main`.
        if story.last.is_some_and(|last| last != TaskId::MAIN) {
            question.again(&mut story);
        }
        story
    }

    /// The tasks on the path to `task`, itself last, without `main`.
    pub(crate) fn ancestry(&self, task: TaskId) -> Vec<TaskId> {
        let parent = |task: &TaskId| Some(self.tasks.get(task)?.parent);
        let mut path: Vec<TaskId> = std::iter::successors(Some(task), parent)
            .take_while(|task| *task != TaskId::MAIN)
            .collect();
        path.reverse();
        path
    }

    /// Where a task was created.
    pub(crate) fn site(&self, task: TaskId) -> SiteId {
        self.tasks.get(&task).map_or(SiteId(0), |task| task.site)
    }

    pub(crate) fn path(&self, task: TaskId) -> Task {
        let path = self.ancestry(task);
        let tasks = path.iter().filter_map(|task| self.tasks.get(task));
        let step = |task: &Created| Step {
            operation: task.construct.word().to_owned(),
            place: Some(place(&self.module.source, task.site)),
            created: Made::One(Creation {
                index: task.index,
                captures: shown_captures(self.module.function(task.function), &task.captures),
                told_by_index: false,
            }),
        };
        Task {
            id: 0,
            steps: tasks.map(step).collect(),
        }
    }

    /// The first join that waited for a wanted task or an ancestor of one.
    pub(crate) fn join(&self, task: TaskId) -> Option<Join> {
        let source = &self.module.source;
        let joined = self.joins.get(&task)?;
        let line = source.site(joined.begin).line;
        let construct = match (joined.by_sync, joined.kind) {
            (true, _) => JoinConstruct::Sync,
            (false, FinishKind::Root) => JoinConstruct::EndOfMain,
            (false, FinishKind::Lexical) => JoinConstruct::EndOf {
                construct: source.snippet(joined.begin),
                line,
            },
            (false, FinishKind::Dynamic) => JoinConstruct::EndFinish { line },
            (false, FinishKind::SyncScope) => JoinConstruct::ImplicitSync,
        };
        let place = Some(place(source, joined.end));
        Some(Join { construct, place })
    }

    /// A failure of the program. Its task must be a wanted one.
    pub(crate) fn failure(&self, trap: &Trap) -> Failure {
        let source = &self.module.source;
        let mut message = trap.kind.message();
        if let TrapKind::SyncInsideBeginFinish { begin } = trap.kind {
            let begin = source.site(begin);
            message.push_str(&format!(", opened at {}:{}", begin.line, begin.column));
        }
        Failure {
            kind: trap.kind.word(),
            message,
            at: Some(FailurePoint {
                place: place(source, trap.site),
                task: self.path(trap.task),
            }),
        }
    }

    fn joined(&mut self, finish: FinishId, end: SiteId, by_sync: bool) {
        let Some(&(kind, begin)) = self.open.get(&finish) else {
            return;
        };
        for task in self.waiting.remove(&finish).unwrap_or_default() {
            let joined = Joined {
                kind,
                begin,
                end,
                by_sync,
            };
            self.joins.insert(task, joined);
        }
    }

    /// Remembers the innermost task and its ancestors. If a task is remembered, so are its
    /// ancestors.
    fn remember_those_under_way(&mut self) {
        for under_way in self.under_way.iter_mut().rev() {
            let Some(created) = under_way.created.take() else {
                return;
            };
            self.tasks.insert(under_way.task, created);
            let waiting = self.waiting.entry(under_way.finish).or_default();
            waiting.push(under_way.task);
        }
    }
}

impl Observer for Story<'_> {
    fn event(&mut self, event: &Event) {
        match *event {
            Event::TaskBegin { task, finish, .. } => {
                if task != TaskId::MAIN && Some(task) <= self.last {
                    self.under_way.push(UnderWay {
                        task,
                        finish,
                        created: None,
                    });
                }
            }
            Event::TaskEnd { task } => {
                self.under_way.pop_if(|innermost| innermost.task == task);
            }
            Event::FinishBegin {
                finish, kind, site, ..
            } => {
                self.open.insert(finish, (kind, site));
            }
            Event::FinishJoin { finish, site, .. } => self.joined(finish, site, true),
            Event::FinishEnd { finish, site, .. } => {
                self.joined(finish, site, false);
                self.open.remove(&finish);
            }
            Event::IsolatedBegin { .. }
            | Event::IsolatedEnd { .. }
            | Event::Lock { .. }
            | Event::Unlock { .. }
            | Event::Release { .. }
            | Event::Acquire { .. }
            | Event::Relay { .. }
            | Event::Glimpse { .. }
            | Event::GlimpseEnd { .. }
            | Event::Suspend { .. }
            | Event::Resume { .. }
            | Event::Alloc { .. } => {}
        }
    }

    fn access(&mut self, _: &Access) {}
}

impl Listener for Story<'_> {
    fn created(&mut self, task: TaskId, creation: &listener::Creation<'_>) {
        let innermost = self.under_way.last_mut();
        let Some(innermost) = innermost.filter(|innermost| innermost.task == task) else {
            return;
        };
        innermost.created = Some(Created {
            parent: creation.parent,
            index: creation.index,
            site: creation.site,
            construct: creation.construct,
            function: creation.function,
            captures: (creation.captures)(),
        });
        if self.wanted.contains(&task) {
            self.remember_those_under_way();
        }
    }
}
