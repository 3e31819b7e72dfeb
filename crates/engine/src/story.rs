//! One more run, to tell about a few tasks: what they captured, and which join first waited for them.
//!
//! Which tasks matter is known only after a race is found, and a program may have millions; so the run is repeated and
//! only the wanted ones are remembered.

use crate::names::{place, shown_captures};
use finishline_ir::Construct;
use finishline_ir::machine::{Machine, TaskInfo};
use finishline_model::source::SourceMap;
use finishline_model::summary::{Creation, Join, TaskPath};
use finishline_model::{Access, Event, FinishId, FinishKind, Observer, SiteId, TaskId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The tasks that led to `task`, itself last, `main` left out.
pub(crate) fn ancestry(task: TaskId, info: impl Fn(TaskId) -> TaskInfo) -> Vec<TaskId> {
    let mut path: Vec<TaskId> = std::iter::successors(Some(task), |task| info(*task).parent)
        .take_while(|task| *task != TaskId::MAIN)
        .collect();
    path.reverse();
    path
}

#[derive(Default)]
pub(crate) struct Story {
    wanted: FxHashSet<TaskId>,
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
    /// Will remember the tasks given.
    pub(crate) fn of(tasks: impl Iterator<Item = TaskId>) -> Self {
        Story {
            wanted: tasks.collect(),
            ..Story::default()
        }
    }

    /// To be called when a task is created, while its captures can be seen.
    pub(crate) fn created(&mut self, machine: &Machine, task: TaskId) {
        if self.wanted.contains(&task) {
            self.captures
                .insert(task, shown_captures(machine.captures(task)));
        }
    }

    pub(crate) fn path(&self, machine: &Machine, task: TaskId) -> TaskPath {
        let source = &machine.module().source;
        let creations = ancestry(task, |task| machine.info(task))
            .into_iter()
            .map(|task| {
                let info = machine.info(task);
                Creation {
                    index: info.index,
                    construct: info.construct.map_or("", Construct::word),
                    line: source.site(info.site).line,
                    captures: self.captures.get(&task).cloned().unwrap_or_default(),
                }
            });
        TaskPath {
            creations: creations.collect(),
        }
    }

    /// The first join that waited for a wanted task.
    pub(crate) fn join(&self, source: &SourceMap, task: TaskId) -> Option<Join> {
        let joined = self.joins.get(&task)?;
        let what = match (joined.by_sync, joined.kind) {
            (true, _) => "sync".to_owned(),
            (false, FinishKind::Root) => "the end of main".to_owned(),
            (false, FinishKind::Lexical) => {
                let begin = source.site(joined.begin);
                format!("the end of {}@{}", source.snippet(joined.begin), begin.line)
            }
            (false, FinishKind::Dynamic) => {
                format!(
                    "the end_finish of begin_finish@{}",
                    source.site(joined.begin).line
                )
            }
            (false, FinishKind::SyncScope) => {
                "the implicit sync where its creator's function ends".to_owned()
            }
        };
        Some(Join {
            what,
            place: place(source, joined.end),
        })
    }

    fn joined(&mut self, finish: FinishId, end: SiteId, by_sync: bool) {
        let Some(&(kind, begin)) = self.open.get(&finish) else {
            return;
        };
        for task in self.waiting.remove(&finish).unwrap_or_default() {
            self.joins.insert(
                task,
                Joined {
                    kind,
                    begin,
                    end,
                    by_sync,
                },
            );
        }
    }
}

impl Observer for Story {
    fn event(&mut self, event: &Event) {
        match *event {
            Event::TaskBegin { task, finish, .. } => {
                if self.wanted.contains(&task) {
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

    fn access(&mut self, _: &Access) {}
}
