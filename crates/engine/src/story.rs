//! One more run, to find out about a few tasks: how they were created, what they captured, which
//! join first waited for them, and which promises they wait for in a deadlock.
//!
//! Only after a race is found are the interesting tasks known, and a program may have millions of
//! tasks. So the run is repeated, and only the wanted tasks and their ancestors are remembered. To
//! know the ancestors of a wanted task when it is created, the tasks under way are kept, and those
//! that have ended but have descendants under way. In a depth-first run that is a stack. No join
//! has waited for any of them before: it would have waited for the descendants too.

use crate::failed::{Awaits, Failed, Point};
use crate::names::{Names, place, shown_captures};
use crate::question::Subject;
use finishline_answer::answer::{Failure, FailurePoint, Lock, Promise, WaitsFor};
use finishline_answer::task::{Created as Made, Creation, Join, JoinConstruct, Step, Task};
use finishline_ir::listener::{self, Allocated, Listener};
use finishline_ir::machine::Datum;
use finishline_ir::{Construct, FunctionId, Module};
use finishline_model::{Access, Event, FinishId, FinishKind, Location, Observer, SiteId, TaskId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The facts about some tasks.
pub(crate) struct Story<'m> {
    module: &'m Module,
    wanted: FxHashSet<TaskId>,
    /// The wanted task that is created last.
    last: Option<TaskId>,
    /// The tasks under way and their ancestors, without `main`. Kept only while wanted tasks may
    /// still come.
    under_way: FxHashMap<TaskId, UnderWay>,
    /// The wanted tasks and their ancestors, without `main`.
    tasks: FxHashMap<TaskId, Created>,
    joins: FxHashMap<TaskId, Joined>,
    /// The open finishes: kind, and where they began.
    open: FxHashMap<FinishId, (FinishKind, SiteId)>,
    /// Remembered tasks that no join has waited for yet, by their finish.
    waiting: FxHashMap<FinishId, Vec<TaskId>>,
    /// The names of the promises and locks of a deadlock, if there is one.
    awaited: Option<Names<'m>>,
}

struct UnderWay {
    parent: TaskId,
    finish: FinishId,
    has_ended: bool,
    /// Its children that are kept.
    children: u32,
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
    /// Runs the program once more, if any task is wanted, or what the tasks of a failure wait for.
    pub(crate) fn of(
        subject: &impl Subject<'m>,
        wanted: impl IntoIterator<Item = TaskId>,
        failed: Option<&Failed>,
    ) -> Self {
        let mut wanted: FxHashSet<TaskId> = wanted.into_iter().collect();
        wanted.extend(failed.into_iter().flat_map(Failed::tasks));
        let awaited: Vec<Location> = failed.into_iter().flat_map(Failed::awaited).collect();
        let module = subject.module();
        let awaited = match awaited.is_empty() {
            true => None,
            false => Some(Names::new(module, &awaited, None)),
        };
        let mut story = Story {
            module,
            last: wanted.iter().max().copied(),
            wanted,
            under_way: FxHashMap::default(),
            tasks: FxHashMap::default(),
            joins: FxHashMap::default(),
            open: FxHashMap::default(),
            waiting: FxHashMap::default(),
            awaited,
        };
        // There is nothing to tell about `main`.
        if story.last.is_some_and(|last| last != TaskId::MAIN) || story.awaited.is_some() {
            subject.again(&mut story);
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
        Task {
            id: 0,
            steps: path
                .into_iter()
                .filter_map(|task| self.step(task))
                .collect(),
        }
    }

    /// How a wanted task or an ancestor of one was created. None for `main`.
    pub(crate) fn step(&self, task: TaskId) -> Option<Step> {
        let task = self.tasks.get(&task)?;
        Some(Step {
            operation: task.construct.word().to_owned(),
            place: Some(place(&self.module.source, task.site)),
            created: Made::One(Creation {
                index: task.index,
                captures: shown_captures(self.module.function(task.function), &task.captures),
                told_by_index: false,
            }),
        })
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

    /// The failure of the story, in words.
    pub(crate) fn failure(&self, failed: &Failed) -> Failure {
        let mut points = failed.points.iter().map(|point| self.point(point));
        Failure {
            kind: failed.kind,
            message: failed.message.clone(),
            at: points.next(),
            near: None,
            unchecked: None,
            waiting: points.collect(),
            cycle: failed.cycle.clone(),
            schedule: None,
        }
    }

    fn point(&self, point: &Point) -> FailurePoint {
        let waits_for = match (&point.awaits, &self.awaited) {
            (Some(Awaits::Tasks(tasks)), _) => Some(WaitsFor::Tasks(tasks.clone())),
            (Some(Awaits::Promise(promise, setters)), Some(names)) => {
                Some(WaitsFor::Promise(Promise {
                    name: names.location(*promise),
                    made: names.allocated_at(*promise),
                    setters: setters.clone(),
                }))
            }
            (Some(Awaits::Lock(lock, holder)), Some(names)) => Some(WaitsFor::Lock(Lock {
                name: names.location(*lock),
                made: names.allocated_at(*lock),
                holder: holder.clone(),
            })),
            (Some(Awaits::Promise(..) | Awaits::Lock(..)), None) | (None, _) => None,
        };
        FailurePoint {
            place: place(&self.module.source, point.site),
            task: self.path(point.task),
            waits_for,
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

    /// Remembers a task under way and its ancestors. If a task is remembered, so are its ancestors.
    fn remember(&mut self, mut task: TaskId) {
        while let Some(under_way) = self.under_way.get_mut(&task)
            && let Some(created) = under_way.created.take()
        {
            self.tasks.insert(task, created);
            let waiting = self.waiting.entry(under_way.finish).or_default();
            waiting.push(task);
            task = under_way.parent;
        }
    }

    /// Drops a task that has ended, and then its ancestors, as far as nothing under way descends
    /// from them.
    fn drop_ended(&mut self, mut task: TaskId) {
        while let Some(under_way) = self.under_way.get(&task)
            && under_way.has_ended
            && under_way.children == 0
        {
            let parent = under_way.parent;
            self.under_way.remove(&task);
            if let Some(parent) = self.under_way.get_mut(&parent) {
                parent.children -= 1;
            }
            task = parent;
        }
    }
}

impl Observer for Story<'_> {
    fn event(&mut self, event: &Event) {
        match *event {
            Event::TaskBegin {
                task,
                parent: Some(parent),
                finish,
                ..
            } => {
                if Some(task) <= self.last {
                    if let Some(parent) = self.under_way.get_mut(&parent) {
                        parent.children += 1;
                    }
                    let under_way = UnderWay {
                        parent,
                        finish,
                        has_ended: false,
                        children: 0,
                        created: None,
                    };
                    self.under_way.insert(task, under_way);
                }
            }
            Event::TaskBegin { parent: None, .. } => {}
            Event::TaskEnd { task } => {
                if let Some(ended) = self.under_way.get_mut(&task) {
                    ended.has_ended = true;
                    self.drop_ended(task);
                }
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
            | Event::PromiseSet { .. }
            | Event::PromiseGet { .. }
            | Event::Suspend { .. }
            | Event::Resume { .. }
            | Event::Alloc { .. } => {}
        }
    }

    fn access(&mut self, _: &Access) {}
}

impl Listener for Story<'_> {
    fn created(&mut self, task: TaskId, creation: &listener::Creation<'_>) {
        let Some(under_way) = self.under_way.get_mut(&task) else {
            return;
        };
        under_way.created = Some(Created {
            parent: creation.parent,
            index: creation.index,
            site: creation.site,
            construct: creation.construct,
            function: creation.function,
            captures: (creation.captures)(),
        });
        if self.wanted.contains(&task) {
            self.remember(task);
        }
    }
    fn allocated(&mut self, object: &Allocated<'_>) {
        if let Some(names) = &mut self.awaited {
            names.allocated(object);
        }
    }
}
