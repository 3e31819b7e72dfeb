//! One more run, to tell about a few tasks: what they captured, and which join first waited for them.
//!
//! Which tasks matter is known only after a race is found, and a program may have millions; so the run is repeated and
//! only the wanted ones are remembered. [`Genealogy`] keeps of an earlier run what is needed to know the wanted ones.

use crate::names::{place, shown_captures};
use crate::question::Question;
use finishline_ir::Construct;
use finishline_ir::machine::{Machine, TaskInfo};
use finishline_model::source::SourceMap;
use finishline_model::summary::{Creation, Join, TaskPath};
use finishline_model::{Access, Event, FinishId, FinishKind, Observer, SiteId, TaskId};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::io;

/// The paths of a report have about so many tasks at most, all together: one path alone can have a million.
const MOST_ON_PATHS: usize = 100_000;

/// Some tasks of a run and all their ancestors.
#[derive(Default)]
pub(crate) struct Genealogy {
    tasks: FxHashMap<TaskId, TaskInfo>,
    /// How many tasks are on the paths admitted.
    on_paths: usize,
}

impl Genealogy {
    /// Remembers the tasks if there is room for their paths in a report. There always is for the first ones.
    pub(crate) fn admit(&mut self, machine: &Machine, tasks: &[TaskId]) -> bool {
        if self.on_paths > MOST_ON_PATHS {
            return false;
        }
        for task in tasks {
            self.add(machine, *task);
            self.on_paths += self.ancestry(*task).len();
        }
        true
    }

    /// Remembers a task and its ancestors.
    pub(crate) fn add(&mut self, machine: &Machine, task: TaskId) {
        let mut next = Some(task);
        while let Some(task) = next {
            let info = machine.info(task);
            if self.tasks.insert(task, info).is_some() {
                return;
            }
            next = info.parent;
        }
    }

    fn info(&self, task: TaskId) -> Option<&TaskInfo> {
        self.tasks.get(&task)
    }

    /// The tasks that led to `task`, itself last, `main` left out.
    pub(crate) fn ancestry(&self, task: TaskId) -> Vec<TaskId> {
        let parent = |task: &TaskId| self.info(*task).and_then(|info| info.parent);
        let mut path: Vec<TaskId> = std::iter::successors(Some(task), parent)
            .take_while(|task| *task != TaskId::MAIN)
            .collect();
        path.reverse();
        path
    }

    /// Where a task was created.
    pub(crate) fn site(&self, task: TaskId) -> SiteId {
        self.info(task).map_or(SiteId(0), |info| info.site)
    }
}

/// What is told about the tasks of a genealogy.
#[derive(Default)]
pub(crate) struct Story {
    pub(crate) tasks: Genealogy,
    captures: FxHashMap<TaskId, Vec<(String, String)>>,
    joins: FxHashMap<TaskId, Joined>,
    /// Finishes that are open: their kind, and where they began.
    open: FxHashMap<FinishId, (FinishKind, SiteId)>,
    /// Wanted tasks that no join has waited for yet, by their finish.
    waiting: FxHashMap<FinishId, Vec<TaskId>>,
}

struct Joined {
    kind: FinishKind,
    begin: SiteId,
    end: SiteId,
    by_sync: bool,
}

impl Story {
    /// Runs the program once more and remembers the tasks of the genealogy.
    pub(crate) fn of(question: &Question, tasks: Genealogy) -> Story {
        let story = RefCell::new(Story {
            tasks,
            ..Story::default()
        });
        if !story.borrow().tasks.tasks.is_empty() {
            let created = |machine: &Machine, task| story.borrow_mut().created(machine, task);
            question.run(&mut Shared(&story), &mut io::sink(), created);
        }
        story.into_inner()
    }

    /// A task was created, and its captures can be seen.
    fn created(&mut self, machine: &Machine, task: TaskId) {
        if self.tasks.info(task).is_some() {
            let captures = shown_captures(machine.captures(task));
            self.captures.insert(task, captures);
        }
    }

    pub(crate) fn path(&self, source: &SourceMap, task: TaskId) -> TaskPath {
        let creation = |task: TaskId| {
            let info = self.tasks.info(task)?;
            Some(Creation {
                index: info.index,
                construct: info.construct.map_or("", Construct::word),
                line: source.site(info.site).line,
                captures: self.captures.get(&task).cloned().unwrap_or_default(),
                told_by_index: false,
            })
        };
        let path = self.tasks.ancestry(task);
        TaskPath {
            creations: path.into_iter().filter_map(creation).collect(),
        }
    }

    /// The first join that waited for a wanted task.
    pub(crate) fn join(&self, source: &SourceMap, task: TaskId) -> Option<Join> {
        let joined = self.joins.get(&task)?;
        let line = source.site(joined.begin).line;
        let what = match (joined.by_sync, joined.kind) {
            (true, _) => "sync".to_owned(),
            (false, FinishKind::Root) => "the end of main".to_owned(),
            (false, FinishKind::Lexical) => {
                format!("the end of {}@{line}", source.snippet(joined.begin))
            }
            (false, FinishKind::Dynamic) => format!("the end_finish of begin_finish@{line}"),
            (false, FinishKind::SyncScope) => {
                "the implicit sync at the end of its creator's body".to_owned()
            }
        };
        let place = place(source, joined.end);
        Some(Join { what, place })
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

    fn event(&mut self, event: &Event) {
        match *event {
            Event::TaskBegin { task, finish, .. } => {
                if self.tasks.info(task).is_some() {
                    self.waiting.entry(finish).or_default().push(task);
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
            Event::TaskEnd { .. }
            | Event::IsolatedBegin { .. }
            | Event::IsolatedEnd { .. }
            | Event::Alloc { .. } => {}
        }
    }
}

/// A story hears of a run from two sides: events, and captures at the creation of tasks.
struct Shared<'a>(&'a RefCell<Story>);

impl Observer for Shared<'_> {
    fn event(&mut self, event: &Event) {
        self.0.borrow_mut().event(event);
    }

    fn access(&mut self, _: &Access) {}
}
